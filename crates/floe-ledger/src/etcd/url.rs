//! The URL and the environment.

use crate::OpenError;
use crate::options::{self, Environment};
pub(super) use crate::remote::endpoint::Endpoint;
use crate::remote::url::{COMMON, EITHER, Form, OWN, Reach};

/// The beginning of all keys if the URL names none.
const PREFIX: &str = "/floe";

static FORM: Form = Form {
    of: "an etcd cluster",
    example: "etcd://user:password@host:port,host:port/prefix",
    schemes: &["etcd"],
    port: 2379,
    unescaped: Some(&['@']),
    options: &[COMMON, OWN],
    modes: EITHER,
    timeout: options::connect_timeout,
};

pub(super) struct Settings {
    pub(super) endpoints: Vec<Endpoint>,
    /// `/floe`, without a slash at its end.
    pub(super) prefix: String,
    pub(super) login: Option<Login>,
    pub(super) reach: Reach,
}

/// A user and its password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) name: String,
    pub(super) password: String,
}

impl Settings {
    /// The cluster's key for the store's `key`.
    pub(super) fn path(&self, key: &str) -> Vec<u8> {
        format!("{}/{key}", self.prefix).into_bytes()
    }

    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let asked = |text: String| Err(OpenError::Asked(text));
        let url = FORM.read(url)?;
        let endpoints = url.plain_hosts()?;
        let prefix = match url.decoded(url.path.trim_end_matches('/'))?.as_str() {
            "" => PREFIX.to_owned(),
            prefix => format!("/{prefix}"),
        };
        if let Some(odd) = prefix.chars().find(|c| c.is_control() || c.is_whitespace()) {
            return asked(format!(
                "the prefix of the keys cannot hold {odd:?}: use printable characters without white space"
            ));
        }
        let reach = url.reach(&endpoints, &prefix, [None, None])?;
        // `user:password`, as in etcdctl.
        let known = environment("ETCDCTL_USER").filter(|_| url.credentials.is_none());
        let (known, its) = match known.as_deref().map(|known| (known, known.split_once(':'))) {
            Some((_, Some((user, password)))) => (Some(user.to_owned()), Some(password.to_owned())),
            known => (known.map(|(user, _)| user.to_owned()), None),
        };
        let user = url.user()?.or(known);
        if user.is_none() && url.has("password_file") {
            return asked("a password_file needs a user: etcd://user@host/prefix".to_owned());
        }
        let elsewhere = || its.or_else(|| environment("ETCDCTL_PASSWORD"));
        let password = url.secret("password_file", elsewhere)?.filter(|password| !password.is_empty());
        let login = match (user, password) {
            (Some(name), Some(password)) => Some(Login { name, password }),
            (Some(name), None) => {
                return asked(format!(
                    "no password for the user {name}: write it in the URL, in ETCDCTL_PASSWORD, or into a file \
                     (password_file=FILE)"
                ));
            }
            (None, _) => None,
        };
        Ok(Self { endpoints, prefix, login, reach })
    }
}
