//! The URL and the environment.

use crate::OpenError;
use crate::options::{self, Environment};
use crate::remote::endpoint::Endpoint;
use crate::remote::ssl_mode::SYSTEM;
use crate::remote::url::{COMMON, Form, Reach};

/// The scheme says whether there is TLS: Redis has no way to ask on the same port.
const PLAIN: Form = Form {
    of: "a Redis server",
    example: "redis://user:password@host:port/database",
    schemes: &["redis"],
    port: 6379,
    unescaped: Some(&['@']),
    options: &[COMMON],
    modes: &["disable"],
    timeout: options::connect_timeout,
};

const ENCRYPTED: Form =
    Form { schemes: &["rediss"], modes: &["verify-full", "require", "verify-ca"], ..PLAIN };

pub(super) struct Settings {
    pub(super) at: Endpoint,
    pub(super) database: u32,
    /// Redis calls a user without a name `default`.
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) reach: Reach,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let form: &Form = if url.starts_with("rediss:") { &ENCRYPTED } else { &PLAIN };
        // For other clients of Redis a `#` ends the URL.
        if url.contains('#') {
            return Err(form.no_url());
        }
        let url = form.read(url)?;
        let hosts = url.hosts()?;
        let [at] = hosts.as_slice() else {
            return Err(OpenError::Asked(
                "the URL names several hosts: name the master, or an address that leads to it (floe does not ask \
                 Sentinels)"
                    .to_owned(),
            ));
        };
        let database = if url.path.is_empty() { "0" } else { url.path };
        let database: u32 = database.parse().map_err(|_| {
            OpenError::Asked(format!(
                "`{database}` is not a database of Redis: write a number (redis://{at}/0), or nothing for 0"
            ))
        })?;
        let mode = url.text("sslmode")?;
        if url.scheme == "redis"
            && (url.has("sslrootcert") || mode.as_ref().is_some_and(|mode| mode != "disable"))
        {
            return Err(OpenError::Asked(
                "redis:// is without TLS: write rediss:// to use sslmode or sslrootcert".to_owned(),
            ));
        }
        let roots = mode.is_none_or(|mode| mode == "verify-full").then(|| SYSTEM.to_owned());
        Ok(Self {
            at: at.clone(),
            database,
            user: url.user()?.filter(|user| !user.is_empty()),
            password: url.secret("password_file", || environment("REDISCLI_AUTH"))?,
            reach: url.reach(&hosts, &format!("/{database}"), [None, roots])?,
        })
    }
}
