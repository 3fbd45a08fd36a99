//! The URL and the environment.

use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::login::Account;
use crate::OpenError;
use crate::remote::Bounds;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT};
use crate::remote::ssl_mode::{self, Use, Verify};

/// The default port.
const PORT: u16 = 3306;

/// The known options.
const KNOWN: &str = "connect_timeout, max_wait, password_file, sslmode, sslrootcert and unsafe";

pub(super) struct Settings {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) account: Account,
    pub(super) use_tls: Use,
    pub(super) verify: Verify,
    pub(super) bounds: Bounds,
    pub(super) allow_unsafe: bool,
    /// The URL without credentials and options.
    pub(super) shown: String,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let Place { scheme, credentials, host, port, database, query } =
            Place::split(url).ok_or_else(no_url)?;
        let (mut allow_unsafe, mut password_file) = (false, None);
        let mut bounds = Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT };
        let (mut mode, mut roots) = ("prefer".to_owned(), None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = decode(raw)?;
            match key {
                "connect_timeout" => bounds.connect = connect_timeout(key, &value)?,
                "max_wait" => bounds.max_wait = options::max_wait(key, &value)?,
                "password_file" => password_file = Some(value),
                "sslmode" => mode = value,
                "sslrootcert" => roots = Some(value),
                "unsafe" => allow_unsafe = options::allows_unsafe(key, &value)?,
                _ => {
                    return Err(OpenError::Asked(format!(
                        "`{key}` is no option of a MySQL ledger: there are {KNOWN}"
                    )));
                }
            }
        }
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (credentials, None),
        };
        let user = decode(user)?;
        if user.is_empty() {
            return Err(OpenError::Asked(format!(
                "the URL names no user: write {scheme}://user@host/database"
            )));
        }
        let password = match (password, password_file) {
            (Some(_), Some(_)) => {
                return Err(OpenError::Asked(
                    "the URL has a password and a password_file: leave one of them out".to_owned(),
                ));
            }
            (Some(password), None) => password,
            (None, Some(file)) => options::password_from(Path::new(&file))?,
            (None, None) => environment("MYSQL_PWD").unwrap_or_default(),
        };
        let host = match host {
            "" => environment("MYSQL_HOST").filter(|host| !host.is_empty()).ok_or_else(|| {
                OpenError::Asked(format!("the URL names no host: write {scheme}://user@host/database"))
            })?,
            host => decode(host)?,
        };
        let port = match port {
            Some(port) => port,
            None => match environment("MYSQL_TCP_PORT") {
                Some(port) => port.parse().map_err(|_| options::takes("MYSQL_TCP_PORT", &port, "a port"))?,
                None => PORT,
            },
        };
        let database = decode(database)?;
        if database.is_empty() {
            return Err(OpenError::Asked(format!(
                "the URL names no database: write {scheme}://user@host/database"
            )));
        }
        if [&user, &password, &database].iter().any(|text| text.contains('\0')) {
            return Err(no_url());
        }
        let (use_tls, verify) = ssl_mode::asked_for(&mode, roots)?;
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let shown = format!("{scheme}://{bracketed}:{port}/{database}");
        bounds.connect = bounds.connect.min(bounds.max_wait);
        let account = Account { user, password, database };
        Ok(Self { host, port, account, use_tls, verify, bounds, allow_unsafe, shown })
    }
}

/// The parts of a URL as they are written.
struct Place<'a> {
    scheme: &'a str,
    credentials: &'a str,
    host: &'a str,
    port: Option<u16>,
    database: &'a str,
    query: &'a str,
}

impl<'a> Place<'a> {
    /// `None` if a part cannot be told from the next. Then no part is shown, because one may be a password.
    fn split(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (credentials, rest) = match rest.find(['@', '/']) {
            Some(end) if rest[end..].starts_with('@') => (&rest[..end], &rest[end + 1..]),
            _ => ("", rest),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        if rest.contains('@') {
            return None;
        }
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = match authority.strip_prefix('[') {
            Some(address) => {
                let (host, port) = address.split_once(']')?;
                (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = port.map(str::parse).transpose().ok()?;
        let is_plain = !database.contains('/') && !host.contains(',');
        is_plain.then_some(Self { scheme, credentials, host, port, database, query })
    }
}

fn no_url() -> OpenError {
    OpenError::Asked(
        "this is no URL of a MySQL database: write mysql://user:password@host:port/database?option=value, with %40 for \
         @, %3A for :, %2F for / and %3F for ? in a user, a password or an option"
            .to_owned(),
    )
}

fn decode(text: &str) -> Result<String, OpenError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| no_url())?;
    Ok(decoded.into_owned())
}

/// Whole seconds, as for PostgreSQL, or a time with its unit.
fn connect_timeout(key: &str, value: &str) -> Result<Duration, OpenError> {
    match value.parse() {
        Ok(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => options::max_wait(key, value),
    }
}
