//! TLS by rustls: the server's certificate, which may be replaced while the server runs, and the names in a client's.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Decode, Tag, Tagged};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// A certificate, whether or not it keeps those rules of RFC 5280 that do not concern floe.
type Certificate = CertificateInner<Raw>;

/// The common name in a subject (RFC 5280, appendix A.1).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// What TLS costs a connection, in bytes.
pub(crate) const BYTES: usize = 20 << 10;

/// How often the files are looked at.
pub(crate) const LOOK: Duration = Duration::from_secs(2);

/// The answer to a TLS hello on a server without TLS: a fatal alert, handshake_failure (RFC 8446, section 6.2).
pub(crate) const NO_TLS: &[u8] = &[21, 3, 1, 0, 2, 2, 40];

/// TLS on every listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsSettings {
    /// The server's certificate and those of its issuers, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
    /// The certificates that sign those of clients; `None` asks clients for none.
    pub client_ca: Option<PathBuf>,
    /// Whether a listener that other machines can reach also serves clients without TLS.
    pub plain: bool,
}

/// See the module.
pub(crate) struct Tls {
    settings: TlsSettings,
    current: RwLock<Arc<ServerConfig>>,
    /// What `current` was made of.
    files: Files,
}

/// What stands in the files.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// Checks the files that a server would start with.
///
/// # Errors
/// A text that names the file, what is wrong with it, and the way out.
pub(crate) fn check(settings: &TlsSettings) -> Result<(), String> {
    let files = Files::read(settings)?;
    files.config(settings)?;
    files.in_date(settings)
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// A text that names the file, what is wrong with it, and the way out.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Self, String> {
        let files = Files::read(settings)?;
        let current = RwLock::new(Arc::new(files.config(settings)?));
        if let Err(problem) = files.in_date(settings) {
            tracing::warn!("{problem}; this server uses it anyway, and clients that check it disconnect");
        }
        Ok(Self { settings: settings.clone(), current, files })
    }

    /// Whether clients from other machines may do without.
    pub(crate) fn plain(&self) -> bool {
        self.settings.plain
    }

    /// Shakes hands within this time; with the names in the client's certificate.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        within: Duration,
    ) -> io::Result<(TlsStream<S>, Vec<String>)> {
        let current = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake did not end in time");
        let stream = timeout(within, TlsAcceptor::from(current).accept(stream)).await.map_err(late)??;
        let names = names(stream.get_ref().1);
        Ok((stream, names))
    }

    /// Uses new files from now on, unless they cannot be used, or are not valid today.
    fn take_up(&self, files: &Files) -> Result<(), String> {
        files.in_date(&self.settings)?;
        let config = Arc::new(files.config(&self.settings)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Takes up the files whenever they change; never ends. If new files cannot be used, the earlier ones stay in use.
    pub(crate) async fn watch(&self) {
        let mut seen = Ok(self.files.clone());
        loop {
            tokio::time::sleep(LOOK).await;
            let settings = self.settings.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || Files::read(&settings)).await else {
                continue;
            };
            if read == seen {
                continue;
            }
            match read.clone().and_then(|files| self.take_up(&files)) {
                Ok(()) => tracing::info!("the files of tls have changed, and are used from now on"),
                Err(problem) => {
                    tracing::error!(
                        "the files of tls have changed and cannot be used; the previous ones stay in use: {problem}"
                    );
                }
            }
            seen = read;
        }
    }
}

impl Files {
    fn read(settings: &TlsSettings) -> Result<Self, String> {
        let read = |setting: &str, file: &Path| {
            std::fs::read(file).map_err(|error| {
                format!(
                    "tls.{setting}: {} cannot be read ({error}): name a file of PEM that floe may read",
                    file.display()
                )
            })
        };
        own_alone(&settings.key)?;
        Ok(Self {
            certificate: read("certificate", &settings.certificate)?,
            key: read("key", &settings.key)?,
            client_ca: settings.client_ca.as_ref().map(|file| read("client_ca", file)).transpose()?,
        })
    }

    /// Whether today lies within the dates of the server's certificate.
    fn in_date(&self, settings: &TlsSettings) -> Result<(), String> {
        let Ok(first) = CertificateDer::from_pem_slice(&self.certificate) else { return Ok(()) };
        let Ok(certificate) = Certificate::from_der(&first) else { return Ok(()) };
        let validity = certificate.tbs_certificate().validity();
        let (from, until) = (validity.not_before.to_unix_duration(), validity.not_after.to_unix_duration());
        match (from.as_secs()..=until.as_secs()).contains(&UnixTime::now().as_secs()) {
            true => Ok(()),
            false => Err(format!(
                "tls.certificate: {} is valid from {} to {}, and not today: put a new certificate and its key there",
                settings.certificate.display(),
                validity.not_before,
                validity.not_after
            )),
        }
    }

    fn config(&self, settings: &TlsSettings) -> Result<ServerConfig, String> {
        let wrong = |setting: &str, file: &Path, why: &dyn std::fmt::Display, should: &str| {
            format!("tls.{setting}: {} cannot be used ({why}): {should}", file.display())
        };
        let (certificate, key) = (&settings.certificate, &settings.key);
        let chain = "it should hold the server's certificate in PEM, then those of its issuers";
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("tls: {error}"))?;
        let builder = match (&settings.client_ca, &self.client_ca) {
            (Some(file), Some(authorities)) => {
                let should = "it should hold the certificates in PEM that sign those of clients";
                let failed = |why: &dyn std::fmt::Display| wrong("client_ca", file, why, should);
                let mut roots = RootCertStore::empty();
                for authority in CertificateDer::pem_slice_iter(authorities) {
                    let authority = authority.map_err(|error| failed(&unread(&error)))?;
                    roots.add(authority).map_err(|error| failed(&error))?;
                }
                // A client without a certificate may have a token.
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| failed(&error))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => builder.with_no_client_auth(),
        };
        let certificates = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong("certificate", certificate, &unread(&error), chain))?;
        if certificates.is_empty() {
            return Err(wrong("certificate", certificate, &"it holds no certificate", chain));
        }
        let secret = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| {
            wrong(
                "key",
                key,
                &unread(&error),
                "it should hold the certificate's private key in PEM, without a password",
            )
        })?;
        let mut config = builder.with_single_cert(certificates, secret).map_err(|error| {
            wrong(
                "certificate",
                certificate,
                &error,
                &format!("it and the key in {} should belong together", key.display()),
            )
        })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Refuses a private key that every user of this machine can read, or replace. Its group may: a key is often one of several
/// services'.
#[cfg(unix)]
fn own_alone(key: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;

    // If it cannot be checked, reading it reports the error.
    let Ok(file) = std::fs::metadata(key) else { return Ok(()) };
    let mode = file.permissions().mode() & 0o777;
    if mode & 0o006 == 0 {
        return Ok(());
    }
    Err(format!(
        "tls.key: every user of this machine can {} {} (its mode is {mode:04o}): chmod o-rw it, and make a new key if others may have seen it (a secret in Kubernetes needs defaultMode: 0440)",
        if mode & 0o004 == 0 { "write to" } else { "read" },
        key.display()
    ))
}

#[cfg(not(unix))]
fn own_alone(_: &Path) -> Result<(), String> {
    Ok(())
}

/// What is wrong with a file of PEM. Its own words for that are lists of bytes, and may hold a part of a key.
fn unread(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            format!("the line -----END {}----- is missing", String::from_utf8_lossy(end_marker).trim())
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line begins with -----BEGIN and does not end with -----".to_owned()
        }
        pem::Error::Base64Decode(_) => "the text between BEGIN and END is not base64".to_owned(),
        pem::Error::NoItemsFound => "it holds nothing of that sort".to_owned(),
        other => other.to_string(),
    }
}

/// The names in a client's certificate, which was checked: its common names, then its DNS names.
pub(crate) fn names(connection: &ServerConnection) -> Vec<String> {
    let Some([certificate, ..]) = connection.peer_certificates() else { return Vec::new() };
    let Ok(certificate) = Certificate::from_der(certificate) else { return Vec::new() };
    let certificate = certificate.tbs_certificate();
    let common = certificate.subject().iter().filter(|part| part.oid == COMMON_NAME);
    let texts = common.filter(|part| {
        let text = [Tag::Utf8String, Tag::PrintableString, Tag::Ia5String, Tag::NumericString];
        text.contains(&part.value.tag())
    });
    let mut names: Vec<String> =
        texts.filter_map(|part| String::from_utf8(part.value.value().to_vec()).ok()).collect();
    if let Ok(Some((_, SubjectAltName(alternatives)))) = certificate.get_extension() {
        names.extend(alternatives.iter().filter_map(|name| match name {
            GeneralName::DnsName(name) => Some(name.to_string()),
            _ => None,
        }));
    }
    names
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    /// Writes a file that its owner alone reads.
    fn write(file: &Path, text: &str) {
        std::fs::write(file, text).unwrap();
        #[cfg(unix)]
        mode(file, 0o600);
    }

    #[cfg(unix)]
    fn mode(file: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_every_user_can_read_is_refused_at_the_start_and_later() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([]).unwrap().self_signed(&key).unwrap().pem();
        write(&file("server.pem"), &certificate);
        write(&file("server.key"), &key.serialize_pem());
        let settings = TlsSettings {
            certificate: file("server.pem"),
            key: file("server.key"),
            client_ca: None,
            plain: false,
        };
        for fine in [0o600, 0o400, 0o640, 0o440] {
            mode(&file("server.key"), fine);
            check(&settings).unwrap();
        }
        for (wrong, does) in [(0o644, "read"), (0o604, "read"), (0o602, "write to")] {
            mode(&file("server.key"), wrong);
            let why = check(&settings).unwrap_err();
            let mode = format!("{wrong:04o}");
            for word in ["server.key", does, mode.as_str(), "chmod", "defaultMode"] {
                assert!(why.contains(word), "{word}: {why}");
            }
            assert!(Tls::load(&settings).is_err() && Files::read(&settings).is_err());
        }
    }

    #[test]
    fn what_is_no_pem_is_said_in_words_and_without_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            write(&directory.path().join(name), text);
            directory.path().join(name)
        };
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([]).unwrap().self_signed(&key).unwrap().pem();
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        let whole = key.serialize_pem();
        for (text, expected) in [
            (whole.replace(end, ""), end),
            (whole.replace(begin, "-----BEGIN PRIVATE KEY"), "does not end with -----"),
            (format!("{begin}\n!!!!\n{end}\n"), "not base64"),
            (String::new(), "nothing of that sort"),
        ] {
            let settings = TlsSettings {
                certificate: file("server.pem", &certificate),
                key: file("server.key", &text),
                client_ca: None,
                plain: false,
            };
            let why = check(&settings).unwrap_err();
            assert!(why.contains("server.key") && why.contains(expected), "{why}");
            assert!(!why.contains(", 45, 45"), "{why}");
        }
    }

    #[test]
    fn a_certificate_out_of_its_dates_is_no_reason_not_to_start_and_never_taken_up() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let settings = TlsSettings {
            certificate: file("server.pem"),
            key: file("server.key"),
            client_ca: None,
            plain: false,
        };
        let sign = |until: i32| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(until, 1, 1);
            std::fs::write(file("server.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
            write(&file("server.key"), &key.serialize_pem());
            Files::read(&settings).unwrap()
        };
        let old = sign(2002);
        let why = check(&settings).unwrap_err();
        assert!(why.contains("server.pem") && why.contains("not today"), "{why}");
        let tls = Tls::load(&settings).unwrap();
        let current = || Arc::clone(&tls.current.read().unwrap());
        let new = sign(4000);
        check(&settings).unwrap();
        let before = current();
        tls.take_up(&new).unwrap();
        let after = current();
        assert!(!Arc::ptr_eq(&before, &after));
        tls.take_up(&old).unwrap_err();
        assert!(Arc::ptr_eq(&after, &current()));
    }
}
