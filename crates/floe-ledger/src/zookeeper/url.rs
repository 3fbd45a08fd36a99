//! The URL and the environment.

use crate::OpenError;
use crate::options::{self, Environment};
use crate::remote::endpoint::Endpoint;
use crate::remote::url::{COMMON, Form, OWN, Reach};

/// The path if the URL names none.
const PATH: &str = "floe";

static FORM: Form = Form {
    of: "a ZooKeeper ensemble",
    example: "zookeeper://user:password@host:port,host:port/path",
    schemes: &["zookeeper"],
    port: 2181,
    unescaped: Some(&['@']),
    // No client can see the settings that endanger ranges, so there is no option `unsafe`.
    options: &[COMMON, OWN],
    modes: &["disable", "prefer", "require", "verify-ca", "verify-full"],
    timeout: options::connect_timeout,
};

pub(super) struct Settings {
    pub(super) hosts: Vec<Endpoint>,
    /// Begins with a slash and does not end with one.
    pub(super) path: String,
    /// `user:password`, as in ZooKeeper's digest scheme.
    pub(super) credentials: Option<String>,
    pub(super) reach: Reach,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let asked = |text: &str| Err(OpenError::Asked(text.to_owned()));
        let url = FORM.read(url)?;
        let hosts = url.hosts()?;
        let path = match url.path.trim_end_matches('/') {
            "" => PATH,
            path => path,
        };
        if !path.split('/').all(is_plain) || path.split('/').next() == Some("zookeeper") || path.len() > 511 {
            return asked(
                "the path in the URL takes parts of a-z, A-Z, 0-9, and -_.:+= between slashes, and does not begin with \
                 /zookeeper, which is ZooKeeper's own: write zookeeper://host:port/floe",
            );
        }
        let user = if url.credentials.is_some() { url.user()? } else { environment("ZOOKEEPER_USER") };
        // A password in the URL comes before all others.
        let password = match url.password()? {
            Some(password) => Some(password),
            None => url.secret("password_file", || environment("ZOOKEEPER_PASSWORD"))?,
        };
        let credentials = match (user.filter(|user| !user.is_empty()), password) {
            (Some(user), Some(_)) if user.contains(':') => {
                return asked("the name of a user of ZooKeeper cannot have a :");
            }
            (Some(user), Some(password)) => Some(format!("{user}:{password}")),
            (None, None) => None,
            (Some(_), None) => {
                return asked(
                    "there is a user for ZooKeeper and no password: write it in the URL, in ZOOKEEPER_PASSWORD or in a file \
                     (password_file=FILE)",
                );
            }
            (None, Some(_)) => {
                return asked(
                    "there is a password for ZooKeeper and no user: write it in the URL or in ZOOKEEPER_USER",
                );
            }
        };
        // If the URL has a certificate and no `sslmode`, floe shows it to a server with TLS. Roots without `sslmode` are
        // refused: `prefer` checks nothing.
        let mode = url.has_files().then(|| "prefer".to_owned());
        let path = format!("/{path}");
        let reach = url.reach(&hosts, &path, [mode, None])?;
        Ok(Self { hosts, path, credentials, reach })
    }
}

/// Whether a part of a path means the same to floe and to ZooKeeper's own tools.
fn is_plain(part: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:+=".contains(&byte);
    !part.is_empty() && part != "." && part != ".." && part.bytes().all(known)
}
