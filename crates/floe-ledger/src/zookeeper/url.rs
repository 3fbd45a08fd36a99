//! The URL and the environment.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::OpenError;
use crate::remote::Bounds;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT};
use crate::remote::ssl_mode::{self, Use, Verify};

/// The port where none is named.
const PORT: u16 = 2181;

/// The path where none is named.
const PATH: &str = "/floe";

/// Every option, for who asks for another one.
const OPTIONS: &str =
    "max_wait, connect_timeout, password_file, unsafe, sslmode, sslrootcert, sslcert and sslkey";

pub(super) struct Settings {
    pub(super) hosts: Vec<Host>,
    /// Begins with a slash and does not end with one.
    pub(super) path: String,
    /// `user:password`, as ZooKeeper's digest scheme has it.
    pub(super) credentials: Option<String>,
    pub(super) use_tls: Use,
    pub(super) verify: Verify,
    /// The files of a certificate to show and of its key.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
    pub(super) bounds: Bounds,
    /// The URL without credentials and options.
    pub(super) shown: String,
}

/// One server of the ensemble.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let rest = url.strip_prefix("zookeeper://").ok_or_else(no_url)?;
        // As in the other URLs, a `?` or `/` before the `@` would belong to a password that is not escaped.
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = base.split_at(base.find('/').unwrap_or(base.len()));
        if query.contains('@') || path.contains('@') {
            return Err(no_url());
        }
        let (login, hosts) =
            authority.rsplit_once('@').map_or((None, authority), |(login, hosts)| (Some(login), hosts));
        let options = Options::parse(query)?;
        let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
        let path = path_of(path)?;
        let credentials = credentials(login, options.password_file, environment)?;
        // Without a word, no TLS: a port of ZooKeeper's speaks it or does not, and the usual one does not. A root
        // without a word would check nothing, and is refused by what `prefer` means.
        let mode = options.mode.unwrap_or_else(|| {
            let is_bare = options.roots.is_none() && options.identity == (None, None);
            if is_bare { "disable" } else { "prefer" }.to_owned()
        });
        let (use_tls, verify) = ssl_mode::asked_for(&mode, options.roots)?;
        let identity = match options.identity {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(OpenError::Asked("sslcert=FILE and sslkey=FILE go together".to_owned())),
        };
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let shown = format!("zookeeper://{}{path}", names.join(","));
        Ok(Self { hosts, path, credentials, use_tls, verify, identity, bounds: options.bounds, shown })
    }
}

struct Options {
    bounds: Bounds,
    password_file: Option<PathBuf>,
    mode: Option<String>,
    roots: Option<String>,
    identity: (Option<PathBuf>, Option<PathBuf>),
}

impl Options {
    fn parse(query: &str) -> Result<Self, OpenError> {
        let bounds = Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT };
        let mut options =
            Self { bounds, password_file: None, mode: None, roots: None, identity: (None, None) };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = percent_decode_str(raw).decode_utf8_lossy().into_owned();
            match key {
                "max_wait" => options.bounds.max_wait = options::max_wait(key, &value)?,
                "connect_timeout" => options.bounds.connect = options::connect_timeout(key, &value)?,
                // What endangers ranges here, no client can see: there is nothing that it would allow.
                "unsafe" => drop(options::allows_unsafe(key, &value)?),
                "password_file" => options.password_file = Some(value.into()),
                "sslmode" => options.mode = Some(value),
                "sslrootcert" => options.roots = Some(value),
                "sslcert" => options.identity.0 = Some(value.into()),
                "sslkey" => options.identity.1 = Some(value.into()),
                _ => {
                    return Err(OpenError::Asked(format!(
                        "a ledger on ZooKeeper has no option `{key}`: it has {OPTIONS}"
                    )));
                }
            }
        }
        options.bounds.connect = options.bounds.connect.min(options.bounds.max_wait);
        Ok(options)
    }
}

fn no_url() -> OpenError {
    OpenError::Asked(
        "this is no URL of a ZooKeeper ensemble: write zookeeper://user:password@host:port,host:port/path?option=value, \
         with %40 for @, %2F for /, %3F for ? and %25 for % in a user or a password"
            .to_owned(),
    )
}

fn host(text: &str) -> Result<Host, OpenError> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']').ok_or_else(no_url)?;
            (name, if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or_else(no_url)?) })
        }
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| no_url())?,
        None => PORT,
    };
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(no_url());
    }
    Ok(Host { name: name.to_owned(), port })
}

/// A path that reads the same here and in ZooKeeper's own tools.
fn path_of(text: &str) -> Result<String, OpenError> {
    let path = text.trim_end_matches('/');
    if path.is_empty() {
        return Ok(PATH.to_owned());
    }
    let is_plain = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+=".contains(&byte);
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(known)
    };
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    if !parts.iter().all(|part| is_plain(part)) || parts.first() == Some(&"zookeeper") || path.len() > 512 {
        return Err(OpenError::Asked(
            "the path in the URL takes parts of a-z, A-Z, 0-9, and -_.:+= between slashes, and does not begin with \
             /zookeeper, which is ZooKeeper's own: write zookeeper://host:port/floe"
                .to_owned(),
        ));
    }
    Ok(path.to_owned())
}

/// `user:password` from the URL, and what it leaves out from a file or the environment.
fn credentials(
    login: Option<&str>,
    password_file: Option<PathBuf>,
    environment: Environment<'_>,
) -> Result<Option<String>, OpenError> {
    let (user, password) =
        match login.map(|login| login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)))) {
            Some((user, password)) => (Some(decoded(user)?), password.map(decoded).transpose()?),
            None => (environment("ZOOKEEPER_USER"), None),
        };
    let password = match (password, password_file) {
        (Some(password), _) => Some(password),
        (None, Some(file)) => Some(options::password_from(&file)?),
        (None, None) => environment("ZOOKEEPER_PASSWORD"),
    };
    let asked = |text: &str| Err(OpenError::Asked(text.to_owned()));
    match (user.filter(|user| !user.is_empty()), password) {
        (Some(user), Some(_)) if user.contains(':') => {
            asked("the name of a user of ZooKeeper cannot have a :")
        }
        (Some(user), Some(password)) => Ok(Some(format!("{user}:{password}"))),
        (None, None) => Ok(None),
        (Some(_), None) => asked(
            "there is a user for ZooKeeper and no password: write it in the URL, in ZOOKEEPER_PASSWORD or in a file \
             (password_file=FILE)",
        ),
        (None, Some(_)) => {
            asked("there is a password for ZooKeeper and no user: write it in the URL or in ZOOKEEPER_USER")
        }
    }
}

fn decoded(text: &str) -> Result<String, OpenError> {
    Ok(percent_decode_str(text).decode_utf8().map_err(|_| no_url())?.into_owned())
}
