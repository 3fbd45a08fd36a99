//! The URL, the environment and the passfile, as users of libpq expect them.

use std::error::Error as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::OpenError;
use crate::options::{CONNECT_TIMEOUT, Environment, OTHERS, is_open_to, password_from};
use crate::remote::ssl_mode::Use;
use crate::remote::url::{ASKED, Form, Reach, clash, pair};

/// When a silent connection is probed. libpq leaves that to the system, which takes two hours.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// The options that the client reads, with the hosts.
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

static FORM: Form = Form {
    of: "a PostgreSQL database",
    example: "postgres://user:password@host:port/database",
    schemes: &["postgres", "postgresql"],
    port: 5432,
    unescaped: Some(&['/', '?']),
    options: &[&["schema", "max_wait", "unsafe", "password_file", "sslmode", "sslrootcert"], OF_LIBPQ],
    modes: ASKED,
    // As in libpq, no time, or a negative one, is none.
    timeout: |_, text| {
        let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
        Ok(seconds.map_or(CONNECT_TIMEOUT, Duration::from_secs))
    },
};

pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) reach: Reach,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let url = FORM.read(url)?;
        let is_libpqs = |option: &&str| OF_LIBPQ.contains(&pair(option).0);
        let rest: Vec<_> = url.options.iter().copied().filter(is_libpqs).collect();
        let read: Result<Config, _> = format!("{}?{}", url.base, rest.join("&")).parse();
        let mut config = read.map_err(|error: tokio_postgres::Error| match error.source() {
            Some(source) => OpenError::Asked(format!("{} ({source})", FORM.no_url())),
            None => FORM.no_url(),
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(OpenError::Asked(
                "the URL names no host: write postgres://user@host/database (a socket is written \
                 ?host=/var/run/postgresql)"
                    .to_owned(),
            ));
        }
        let mut reach = url.reach(&[], "", ["PGSSLMODE", "PGSSLROOTCERT"].map(environment))?;
        config.ssl_mode(match reach.tls.wanted {
            Use::Never => SslMode::Disable,
            Use::WherePossible => SslMode::Prefer,
            Use::Always => SslMode::Require,
        });
        if let Some(password) = url.option("password_file", |_, file| password_from(file.as_ref()))? {
            if config.get_password().is_some() {
                return Err(clash("password_file"));
            }
            config.password(password);
        }
        let schema = url.option("schema", |_, name| schema_name(name.to_owned()))?;
        let schema = schema.unwrap_or_else(|| "floe".to_owned());
        complete(&mut config, environment)?;
        // So that a host that does not answer leaves time for the next.
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
        config.connect_timeout(reach.bounds.connect / u32::try_from(hosts).unwrap_or(u32::MAX));
        reach.shown = shown(&config, &schema);
        Ok(Self { config, schema, reach })
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
    let port = config.get_ports().first().copied().unwrap_or(FORM.port).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let wanted = [host.as_str(), port.as_str(), database, user];
    let password = text.lines().find_map(|line| password_in(line, wanted));
    if password.is_some() && is_open_to(OTHERS, &file) {
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
    let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(FORM.port);
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
