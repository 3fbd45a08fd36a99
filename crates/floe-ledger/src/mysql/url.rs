//! The URL and the environment.

use std::time::Duration;

use crate::OpenError;
use crate::options::{self, Environment};
use crate::remote::endpoint::Endpoint;
use crate::remote::url::{ASKED, COMMON, Form, Reach};

static FORM: Form = Form {
    of: "a MySQL database",
    example: "mysql://user:password@host:port/database",
    schemes: &["mysql", "mariadb"],
    port: 3306,
    unescaped: Some(&['?']),
    options: &[COMMON],
    modes: ASKED,
    timeout: connect_timeout,
};

/// The user, the database, and the password.
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
}

pub(super) struct Settings {
    pub(super) at: Endpoint,
    pub(super) account: Account,
    pub(super) reach: Reach,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let url = FORM.read(url)?;
        let (host, port) = match url.places().as_deref() {
            Some(&[place]) => place,
            _ => return Err(FORM.no_url()),
        };
        let host = match host {
            "" => environment("MYSQL_HOST").unwrap_or_default(),
            host => url.decoded(host)?,
        };
        let port = match (port, environment("MYSQL_TCP_PORT")) {
            (Some(port), _) => port,
            (None, Some(port)) => {
                port.parse().map_err(|_| options::takes("MYSQL_TCP_PORT", &port, "a port"))?
            }
            (None, None) => FORM.port,
        };
        let account = Account {
            user: url.user()?.unwrap_or_default(),
            password: url.secret("password_file", || environment("MYSQL_PWD"))?.unwrap_or_default(),
            database: url.decoded(url.path)?,
        };
        let Account { user, password, database } = &account;
        for (what, text) in [("user", user), ("host", &host), ("database", database)] {
            if text.is_empty() {
                return Err(OpenError::Asked(format!("the URL names no {what}: write {}", FORM.example)));
            }
        }
        if url.path.contains('/') || [user, password, database].iter().any(|text| text.contains('\0')) {
            return Err(FORM.no_url());
        }
        let at = Endpoint { host, port };
        let reach = url.reach(std::slice::from_ref(&at), &format!("/{database}"), [None, None])?;
        Ok(Self { at, account, reach })
    }
}

/// Whole seconds, as for PostgreSQL, or a time with its unit.
fn connect_timeout(key: &str, value: &str) -> Result<Duration, OpenError> {
    options::connect_timeout(key, value).or_else(|_| options::max_wait(key, value))
}
