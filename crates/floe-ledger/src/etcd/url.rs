//! The URL, the environment and the files that it names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::OpenError;
use crate::remote::Bounds;
pub(super) use crate::remote::endpoint::Endpoint;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT, takes};
use crate::remote::ssl_mode::{self, Use, Verify};
use crate::remote::tls;

/// The port where none is named.
const PORT: u16 = 2379;

/// What all keys begin with where the URL says nothing.
const PREFIX: &str = "/floe";

pub(super) struct Settings {
    pub(super) endpoints: Vec<Endpoint>,
    /// `/floe`, without a slash at its end.
    pub(super) prefix: String,
    pub(super) login: Option<Login>,
    pub(super) tls: Option<Tls>,
    pub(super) bounds: Bounds,
    pub(super) allow_unsafe: bool,
    /// The URL without credentials and options.
    pub(super) shown: String,
}

/// A user and its password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) name: String,
    pub(super) password: String,
}

/// What of a member's certificate is checked, and what is shown to it.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Tls {
    verify: Verify,
    /// The files of a certificate and its key.
    own: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// This side of TLS.
    ///
    /// # Errors
    /// `Asked` where a file cannot be used.
    pub(super) fn client(&self) -> Result<ClientConfig, OpenError> {
        let mut config = tls::client(&self.verify)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        if let Some((certificate, key)) = &self.own {
            config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified(certificate, key)?));
        }
        Ok(config)
    }
}

impl Settings {
    /// Where the cluster keeps what the store has under `key`.
    pub(super) fn path(&self, key: &str) -> Vec<u8> {
        format!("{}/{key}", self.prefix).into_bytes()
    }

    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let rest = url.strip_prefix("etcd://").ok_or_else(no_url)?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (members, prefix) = match address.find('/') {
            Some(slash) => address.split_at(slash),
            None => (address, ""),
        };
        if prefix.contains('@') || query.contains('@') {
            // Perhaps the end of a password that was not escaped: no part of it is shown.
            return Err(no_url());
        }
        let (user, members) = match members.rsplit_once('@') {
            Some((user, members)) => (Some(user), members),
            None => (None, members),
        };
        let endpoints = members
            .split(',')
            .map(|member| Endpoint::parse(member, PORT))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(no_url)?;
        let prefix = prefix_of(prefix)?;
        let mut bounds = Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT };
        let (mut allow_unsafe, mut password_file) = (false, None);
        let (mut mode, mut roots, mut certificate, mut key_file) = (None, None, None, None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(raw)?;
            match key {
                "max_wait" => bounds.max_wait = options::max_wait(key, &value)?,
                "connect_timeout" => bounds.connect = seconds(key, &value)?,
                "unsafe" => allow_unsafe = options::allows_unsafe(key, &value)?,
                "password_file" => password_file = Some(PathBuf::from(value)),
                "sslmode" => mode = Some(value),
                "sslrootcert" => roots = Some(value),
                "sslcert" => certificate = Some(PathBuf::from(value)),
                "sslkey" => key_file = Some(PathBuf::from(value)),
                _ => {
                    return Err(OpenError::Asked(format!(
                        "`etcd:` has no option `{key}`: it has max_wait, connect_timeout, unsafe, password_file, sslmode, \
                         sslrootcert, sslcert and sslkey"
                    )));
                }
            }
        }
        bounds.connect = bounds.connect.min(bounds.max_wait);
        let own = match (certificate, key_file) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                return Err(OpenError::Asked(
                    "sslcert and sslkey need each other: name both files".to_owned(),
                ));
            }
        };
        let tls = tls_of(mode.as_deref(), roots, own)?;
        let login = login(user, password_file.as_deref(), environment)?;
        let members: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        let shown = format!("etcd://{}{prefix}", members.join(","));
        Ok(Self { endpoints, prefix, login, tls, bounds, allow_unsafe, shown })
    }
}

fn no_url() -> OpenError {
    OpenError::Asked(
        "this is no URL of an etcd cluster: write etcd://user:password@host:port,host:port/prefix?option=value, with %40 \
         for @, %2F for / and %3F for ? in a password or an option"
            .to_owned(),
    )
}

fn decoded(text: &str) -> Result<String, OpenError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| no_url())
}

fn prefix_of(path: &str) -> Result<String, OpenError> {
    let prefix = decoded(path.trim_end_matches('/'))?;
    if let Some(odd) = prefix.chars().find(|c| c.is_control() || c.is_whitespace()) {
        return Err(OpenError::Asked(format!(
            "the prefix of the keys cannot hold {odd:?}: use printable characters without white space"
        )));
    }
    Ok(if prefix.is_empty() { PREFIX.to_owned() } else { prefix })
}

fn seconds(key: &str, value: &str) -> Result<Duration, OpenError> {
    let seconds = value.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| takes(key, value, "a number of seconds from 1 to 3600"))
}

/// etcd's port speaks TLS or does not, and does not say which: there is no asking first.
fn tls_of(
    mode: Option<&str>,
    roots: Option<String>,
    own: Option<(PathBuf, PathBuf)>,
) -> Result<Option<Tls>, OpenError> {
    let asked = |text: &str| Err(OpenError::Asked(text.to_owned()));
    let Some(mode) = mode else {
        if roots.is_some() || own.is_some() {
            return asked("sslrootcert, sslcert and sslkey need TLS: say sslmode=verify-full");
        }
        return Ok(None);
    };
    match ssl_mode::asked_for(mode, roots)? {
        (Use::Never, _) if own.is_some() => asked("sslcert and sslkey need TLS: say sslmode=verify-full"),
        (Use::Never, _) => Ok(None),
        (Use::Always, verify) => Ok(Some(Tls { verify, own })),
        (Use::WherePossible, _) => asked(
            "etcd has no sslmode=prefer, because its port speaks either TLS or plaintext: say disable or verify-full",
        ),
    }
}

/// Who logs in, from the URL, the file and the environment, in this order.
fn login(
    user: Option<&str>,
    password_file: Option<&Path>,
    environment: Environment<'_>,
) -> Result<Option<Login>, OpenError> {
    let (name, password) = match user {
        Some(user) => match user.split_once(':') {
            Some((name, password)) => (decoded(name)?, Some(decoded(password)?)),
            None => (decoded(user)?, None),
        },
        None => match environment("ETCDCTL_USER") {
            None if password_file.is_none() => return Ok(None),
            None => {
                return Err(OpenError::Asked(
                    "a password_file needs a user: etcd://user@host/prefix".to_owned(),
                ));
            }
            Some(user) => match user.split_once(':') {
                Some((name, password)) => (name.to_owned(), Some(password.to_owned())),
                None => (user, None),
            },
        },
    };
    let password = match (password_file, password) {
        (Some(_), Some(_)) if user.is_some_and(|user| user.contains(':')) => {
            return Err(OpenError::Asked(
                "the URL has a password and a password_file: leave one out".to_owned(),
            ));
        }
        (Some(file), _) => Some(options::password_from(file)?),
        (None, password) => password.or_else(|| environment("ETCDCTL_PASSWORD")),
    };
    match password.filter(|password| !password.is_empty()) {
        Some(password) => Ok(Some(Login { name, password })),
        None => Err(OpenError::Asked(format!(
            "no password for the user {name}: write it in the URL, in ETCDCTL_PASSWORD, or into a file (password_file=FILE)"
        ))),
    }
}

fn certified(certificate: &Path, key: &Path) -> Result<CertifiedKey, OpenError> {
    let failed = |option: &str, file: &Path, what: &dyn fmt::Display| {
        OpenError::Asked(format!("{option}: {} cannot be used ({what}): name a PEM file", file.display()))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed("sslcert", certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed("sslkey", key, &error))?;
    CertifiedKey::from_der(chain, private, &ring::default_provider())
        .map_err(|error| failed("sslcert", certificate, &error))
}
