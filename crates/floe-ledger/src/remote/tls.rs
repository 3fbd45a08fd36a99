//! TLS by rustls.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::ssl_mode::{SYSTEM, Tls, Verify};
use crate::OpenError;
use crate::options::{STRANGERS, is_open_to};

impl Tls {
    /// The client's TLS configuration, with the client's own certificate if there is one.
    ///
    /// # Errors
    /// `Asked` if a file cannot be used, or if others can read the key.
    pub(crate) fn client(&self) -> Result<ClientConfig, OpenError> {
        let mut config = client(&self.verify)?;
        if let Some((certificate, key)) = &self.own {
            let refused = |option: &str, file: &Path, what: &dyn Display, way_out: &str| {
                OpenError::Asked(format!("{option}: {} cannot be used ({what}): {way_out}", file.display()))
            };
            // A secret that Kubernetes mounts belongs to root, and a server's user reads it by its group.
            if is_open_to(STRANGERS, key) {
                return Err(refused("sslkey", key, &"others can read the key", "chmod 600 it"));
            }
            let failed = |option, file, what: &dyn Display| refused(option, file, what, "name a PEM file");
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| failed("sslcert", certificate, &error))?;
            let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed("sslkey", key, &error))?;
            let certified = CertifiedKey::from_der(chain, private, config.crypto_provider())
                .map_err(|error| failed("sslcert", certificate, &error))?;
            config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
        }
        Ok(config)
    }
}

/// The client's TLS configuration, which checks as much as `verify` says.
///
/// # Errors
/// `Asked` if the roots cannot be used.
pub(crate) fn client(verify: &Verify) -> Result<ClientConfig, OpenError> {
    let provider = Arc::new(ring::default_provider());
    let failed = |error: Error| OpenError::Asked(format!("TLS cannot be set up: {error}"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let chain = match verify {
        Verify::Full(file) => {
            return Ok(builder.with_root_certificates(roots(file)?).with_no_client_auth());
        }
        Verify::Chain(file) => {
            let roots = Arc::new(roots(file)?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(built.map_err(|error| OpenError::Asked(format!("sslrootcert: {error}")))?)
        }
        Verify::Nothing => None,
    };
    let verifier = Arc::new(Lenient { provider, chain });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn roots(file: &Path) -> Result<RootCertStore, OpenError> {
    let failed = |what: &dyn Display| {
        OpenError::Asked(format!(
            "sslrootcert: {} cannot be used ({what}): name a file of PEM certificates",
            file.display()
        ))
    };
    if file == Path::new(SYSTEM) {
        return roots_of_the_system();
    }
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))? {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    if roots.is_empty() {
        return Err(failed(&"it holds no certificate"));
    }
    Ok(roots)
}

/// Leaves out roots of the system that rustls cannot read, as the system's other programs do. It is enough that one of
/// the others has signed the server's certificate.
fn roots_of_the_system() -> Result<RootCertStore, OpenError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
        return Err(OpenError::Asked(format!(
            "sslrootcert=system: this system has no certificates to trust{why}: install them (on Debian: \
             ca-certificates), or name a file of PEM certificates"
        )));
    }
    Ok(roots)
}

/// Checks less than rustls does, as the URL asks.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        // rustls checks the name last, so if it reports the name, only the name is wrong.
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::env;
    use std::process::Command;
    use std::time::Duration;

    use floe_testbed::{Certificates, Home};
    use rustls::version::{TLS12, TLS13};
    use rustls::{ClientConnection, ServerConfig, ServerConnection};

    use super::*;

    /// `verify-ca` does not check the name. It checks everything else.
    #[test]
    fn a_chain_is_held_to_its_signer_and_its_time_whatever_the_name() {
        let home = Home::new("chain");
        let made = Certificates::for_host("db.example", &home);
        let certificate = CertificateDer::from_pem_file(&made.server).unwrap();
        let verdict = |signer: &Path, year: u64| {
            let provider = Arc::new(ring::default_provider());
            let roots = Arc::new(roots(signer).unwrap());
            let chain = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let lenient = Lenient { provider, chain: Some(chain.unwrap()) };
            let name = ServerName::try_from("other.example").unwrap();
            let now = UnixTime::since_unix_epoch(Duration::from_secs((year - 1_970) * 31_556_952));
            lenient.verify_server_cert(&certificate, &[], &name, &[], now)
        };
        verdict(&made.signer, 2_026).unwrap();
        for (signer, year) in [(&made.stranger, 2_026), (&made.signer, 1_971), (&made.signer, 5_000)] {
            assert!(matches!(verdict(signer, year), Err(Error::InvalidCertificate(_))), "{year}");
        }
    }

    /// Whoever is in between has only that: the server's certificate goes to every client.
    #[test]
    fn a_certificate_without_its_key_is_no_server_whatever_is_checked() {
        let home = Home::new("signature");
        let made = Certificates::for_host("db.example", &home);
        let certificate = CertificateDer::from_pem_file(&made.server).unwrap();
        let provider = Arc::new(ring::default_provider());
        let shake = |verify: &Verify, key: &Path, version| {
            let key = PrivateKeyDer::from_pem_file(key).unwrap();
            let key = provider.key_provider.load_private_key(key).unwrap();
            let certified = SingleCertAndKey::from(CertifiedKey::new(vec![certificate.clone()], key));
            let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(certified));
            let mut server = ServerConnection::new(Arc::new(server)).unwrap();
            let name = ServerName::try_from("db.example").unwrap();
            let mut client = ClientConnection::new(Arc::new(client(verify).unwrap()), name).unwrap();
            while client.is_handshaking() {
                let (mut asked, mut answered) = (Vec::new(), Vec::new());
                client.write_tls(&mut asked).unwrap();
                server.read_tls(&mut &*asked).unwrap();
                server.process_new_packets().unwrap();
                server.write_tls(&mut answered).unwrap();
                client.read_tls(&mut &*answered).unwrap();
                client.process_new_packets()?;
            }
            Ok(())
        };
        for verify in [Verify::Nothing, Verify::Chain(made.signer.clone()), Verify::Full(made.signer.clone())]
        {
            for version in [&TLS12, &TLS13] {
                assert_eq!(shake(&verify, &made.key, version), Ok(()), "{verify:?} {version:?}");
                let stolen = shake(&verify, &made.client_key, version);
                let refused = Err(Error::InvalidCertificate(CertificateError::BadSignature));
                assert_eq!(stolen, refused, "{verify:?} {version:?}");
            }
        }
    }

    #[test]
    fn a_file_of_roots_without_a_certificate_is_refused_by_its_name() {
        let home = Home::new("roots");
        let file = home.write("ca.pem", "# the certificates come here\n");
        let Err(OpenError::Asked(text)) = client(&Verify::Full(file.clone())).map(drop) else {
            panic!("no server could be right")
        };
        for part in ["sslrootcert", &file.display().to_string(), "holds no certificate", "PEM"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    /// It is the environment that says where the system has them, so a process of its own looks.
    #[test]
    fn a_system_without_certificates_is_told_what_to_install() {
        const NOWHERE: &str = "/dev/null";
        if env::var_os("SSL_CERT_FILE").is_some_and(|file| file == NOWHERE) {
            let Err(OpenError::Asked(text)) = client(&Verify::Full(SYSTEM.into())).map(drop) else {
                panic!("no server could be right")
            };
            assert!(text.contains("sslrootcert=system") && text.contains("ca-certificates"), "{text}");
            return;
        }
        let (_, module) = module_path!().split_once("::").unwrap();
        let name = format!("{module}::a_system_without_certificates_is_told_what_to_install");
        let mut looks = Command::new(env::current_exe().unwrap());
        looks.args(["--exact", &name]).env("SSL_CERT_FILE", NOWHERE).env_remove("SSL_CERT_DIR");
        let looked = looks.output().unwrap();
        let told = String::from_utf8_lossy(&looked.stdout);
        assert!(looked.status.success() && told.contains("1 passed"), "{told}");
    }
}
