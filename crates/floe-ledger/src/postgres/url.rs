//! The URL, the environment and the passfile, as users of libpq expect them.

use std::error::Error as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::OpenError;
use crate::remote::Bounds;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT, is_open_to_others};
use crate::remote::ssl_mode::{self, Use, Verify};

/// When a silent connection is probed. libpq leaves that to the system, which takes two hours.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The other known options, as in libpq.
const OF_LIBPQ: &[&str] = &[
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "connect_timeout",
    "application_name",
    "options",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "tcp_user_timeout",
    "target_session_attrs",
    "load_balance_hosts",
    "sslnegotiation",
    "channel_binding",
];

/// The default port.
const PORT: u16 = 5432;

pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) schema: String,
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    pub(super) verify: Verify,
    pub(super) bounds: Bounds,
    pub(super) allow_unsafe: bool,
    /// The URL without credentials and options.
    pub(super) shown: String,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let (base, query) = split(url);
        if query.contains('@') {
            // This may be the end of a password that was not escaped: show no part of it.
            return Err(no_url(""));
        }
        let (mut schema, mut allow_unsafe) = ("floe".to_owned(), false);
        let mut bounds = Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT };
        let (mut mode, mut roots) = (environment("PGSSLMODE"), environment("PGSSLROOTCERT"));
        let (mut rest, mut password_file) = (Vec::new(), None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = percent_decode_str(raw).decode_utf8_lossy().into_owned();
            match key {
                "schema" => schema = schema_name(value)?,
                "max_wait" => bounds.max_wait = options::max_wait(key, &value)?,
                "unsafe" => allow_unsafe = options::allows_unsafe(key, &value)?,
                "sslmode" => mode = Some(value),
                "sslrootcert" => roots = Some(value),
                "password_file" => password_file = Some(PathBuf::from(value)),
                _ if OF_LIBPQ.contains(&key) => rest.push(option),
                _ => {
                    return Err(OpenError::Asked(format!(
                        "`postgres://` has no option `{key}`: it has schema, max_wait, unsafe, password_file, sslmode, \
                         sslrootcert, and {}",
                        OF_LIBPQ.join(", ")
                    )));
                }
            }
        }
        let mut config: Config =
            format!("{base}?{}", rest.join("&")).parse().map_err(|error: tokio_postgres::Error| {
                no_url(&error.source().map_or(String::new(), |source| format!(" ({source})")))
            })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(OpenError::Asked(
                "the URL names no host: write postgres://user@host/database (a socket is written \
                 ?host=/var/run/postgresql)"
                    .to_owned(),
            ));
        }
        let (use_tls, verify) = ssl_mode::asked_for(mode.as_deref().unwrap_or("prefer"), roots)?;
        config.ssl_mode(match use_tls {
            Use::Never => SslMode::Disable,
            Use::WherePossible => SslMode::Prefer,
            Use::Always => SslMode::Require,
        });
        if let Some(file) = password_file {
            if config.get_password().is_some() {
                return Err(OpenError::Asked(
                    "the URL has a password and names a password_file: leave one out".to_owned(),
                ));
            }
            config.password(options::password_from(&file)?);
        }
        complete(&mut config, environment)?;
        let shown = shown(&config, &schema);
        bounds.connect = config.get_connect_timeout().copied().unwrap_or(bounds.connect).min(bounds.max_wait);
        config.connect_timeout(bounds.connect);
        Ok(Self { config, schema, verify, bounds, allow_unsafe, shown })
    }
}

fn no_url(part: &str) -> OpenError {
    OpenError::Asked(format!(
        "this is no URL of a PostgreSQL database{part}: write postgres://user:password@host:port/database?option=value, \
         with %40 for @, %2F for / and %3F for ? in a password or an option"
    ))
}

/// The URL up to its options, and the options. As in libpq, a `?` before the `@` belongs to the password.
fn split(url: &str) -> (&str, &str) {
    let authority = url.find("//").map_or(0, |slashes| slashes + 2);
    let credentials = match url[authority..].find(['@', '/']) {
        Some(end) if url[authority + end..].starts_with('@') => end,
        _ => 0,
    };
    match url[authority + credentials..].split_once('?') {
        Some((base, query)) => (&url[..authority + credentials + base.len()], query),
        None => (url, ""),
    }
}

/// Adds what the URL leaves out.
fn complete(config: &mut Config, environment: Environment<'_>) -> Result<(), OpenError> {
    if config.get_user().is_none()
        && let Some(user) = environment("PGUSER")
    {
        config.user(user);
    }
    if config.get_application_name().is_none() {
        config.application_name("floe");
    }
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(KEEPALIVE);
    }
    if config.get_password().is_none() {
        let password = match environment("PGPASSWORD") {
            Some(password) => Some(password),
            None => from_passfile(config, environment)?,
        };
        if let Some(password) = password {
            config.password(password);
        }
    }
    Ok(())
}

/// The first matching line `host:port:database:user:password`; `*` matches anything.
fn from_passfile(config: &Config, environment: Environment<'_>) -> Result<Option<String>, OpenError> {
    let file = match environment("PGPASSFILE") {
        Some(file) => PathBuf::from(file),
        None => match environment("HOME") {
            Some(home) => PathBuf::from(home).join(".pgpass"),
            None => return Ok(None),
        },
    };
    // If the file is missing or unreadable, libpq reports no error either: the server may want no password.
    let Ok(text) = fs::read_to_string(&file) else { return Ok(None) };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        // libpq writes `localhost` for a socket.
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(PORT).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let wanted = [host.as_str(), port.as_str(), database, user];
    let password = text.lines().find_map(|line| password_in(line, wanted));
    if password.is_some() && is_open_to_others(&file) {
        return Err(OpenError::Asked(format!(
            "the passfile {} can be read by others: chmod 600 it, or no password is taken from it",
            file.display()
        )));
    }
    Ok(password)
}

fn password_in(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    // A backslash protects a following colon or backslash.
    let (mut fields, mut characters) = (vec![String::new()], line.chars());
    while let Some(character) = characters.next() {
        match (character, fields.len()) {
            (':', 1..=4) => fields.push(String::new()),
            ('\\', _) => fields.last_mut()?.extend(characters.next()),
            _ => fields.last_mut()?.push(character),
        }
    }
    let password = fields.pop().filter(|_| fields.len() == 4)?;
    let matches = fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
    matches.then_some(password)
}

fn shown(config: &Config, schema: &str) -> String {
    let ports = config.get_ports();
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(PORT);
    let mut hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(index, host)| match host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]:{}", port(index)),
            Host::Tcp(host) => format!("{host}:{}", port(index)),
            #[cfg(unix)]
            Host::Unix(path) => format!("{}:{}", path.display(), port(index)),
        })
        .collect();
    if hosts.is_empty() {
        hosts = config.get_hostaddrs().iter().map(ToString::to_string).collect();
    }
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    shown_at(&hosts.join(","), database, schema)
}

/// A database without credentials: `postgres://db:5432/ids`.
pub(super) fn shown_at(hosts: &str, database: &str, schema: &str) -> String {
    let place = format!("postgres://{hosts}/{database}");
    if schema == "floe" { place } else { format!("{place}?schema={schema}") }
}

/// A name that needs no quotes, so it is the same in floe and in psql.
pub(super) fn schema_name(name: String) -> Result<String, OpenError> {
    let first = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_');
    let rest = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if first && rest && name.len() <= 63 && !name.starts_with("pg_") {
        return Ok(name);
    }
    Err(OpenError::Asked(format!(
        "{name:?} cannot be floe's schema: take a-z, 0-9 and _, at most 63, not beginning with a digit or pg_"
    )))
}
