//! The URL and the environment.

use std::path::Path;

use percent_encoding::percent_decode_str;

use crate::OpenError;
use crate::remote::Bounds;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT, password_from, takes};
use crate::remote::ssl_mode::{self, Verify};

/// The default port.
const PORT: u16 = 6379;

const OPTIONS: &str =
    "max_wait, connect_timeout, unsafe, password_file, and for rediss:// sslmode and sslrootcert";

pub(super) struct Settings {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: u32,
    /// Redis calls a user without a name `default`.
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    /// How to check the server's certificate; `None` for no TLS.
    pub(super) verify: Option<Verify>,
    pub(super) bounds: Bounds,
    pub(super) allow_unsafe: bool,
    /// The URL without credentials and options.
    pub(super) shown: String,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(no_url)?;
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = base.split_once('/').unwrap_or((base, ""));
        if path.contains('@') || query.contains('@') || url.contains('#') {
            // This may be the end of a password that was not escaped: show no part of it.
            return Err(no_url());
        }
        let (credentials, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (host, port) = host_and_port(place)?;
        let database = if path.is_empty() { "0" } else { path };
        let database = database.parse().map_err(|_| {
            OpenError::Asked(format!(
                "`{path}` is not a database of Redis: write a number (redis://{place}/0), or nothing for 0"
            ))
        })?;
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (decoded(user)?, Some(decoded(password)?)),
            None => (decoded(credentials)?, None),
        };
        let options = Options::parse(query)?;
        let password = match (password, options.password_file) {
            (Some(_), Some(_)) => {
                return Err(OpenError::Asked(
                    "the URL has a password and names a password_file: take one of them out".to_owned(),
                ));
            }
            (None, Some(file)) => Some(password_from(Path::new(&file))?),
            (password, None) => password.or_else(|| environment("REDISCLI_AUTH")),
        };
        let verify = verify(scheme, options.sslmode, options.sslrootcert)?;
        let bounds =
            Bounds { connect: options.bounds.connect.min(options.bounds.max_wait), ..options.bounds };
        let place = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let shown = format!("{scheme}://{place}/{database}");
        let user = Some(user).filter(|user| !user.is_empty());
        let allow_unsafe = options.allow_unsafe;
        Ok(Self { host, port, database, user, password, verify, bounds, allow_unsafe, shown })
    }
}

struct Options {
    bounds: Bounds,
    allow_unsafe: bool,
    password_file: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
}

impl Options {
    fn parse(query: &str) -> Result<Self, OpenError> {
        let mut options = Self {
            bounds: Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT },
            allow_unsafe: false,
            password_file: None,
            sslmode: None,
            sslrootcert: None,
        };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(raw)?;
            match key {
                "max_wait" => options.bounds.max_wait = options::max_wait(key, &value)?,
                "connect_timeout" => options.bounds.connect = options::connect_timeout(key, &value)?,
                "unsafe" => options.allow_unsafe = options::allows_unsafe(key, &value)?,
                "password_file" => options.password_file = Some(value),
                "sslmode" => options.sslmode = Some(value),
                "sslrootcert" => options.sslrootcert = Some(value),
                _ => {
                    return Err(OpenError::Asked(format!(
                        "a redis: URL has no option `{key}`: it has {OPTIONS}"
                    )));
                }
            }
        }
        Ok(options)
    }
}

/// The scheme says whether there is TLS: Redis has no way to ask on the same port.
fn verify(scheme: &str, mode: Option<String>, roots: Option<String>) -> Result<Option<Verify>, OpenError> {
    if scheme == "redis" {
        return match (mode.as_deref(), roots) {
            (None | Some("disable"), None) => Ok(None),
            _ => Err(OpenError::Asked(
                "redis:// is without TLS: write rediss:// to use sslmode or sslrootcert".to_owned(),
            )),
        };
    }
    let mode = mode.unwrap_or_else(|| "verify-full".to_owned());
    if mode == "disable" || mode == "prefer" {
        return Err(takes("sslmode", &mode, "require, verify-ca or verify-full with rediss://"));
    }
    let roots = roots.or_else(|| (mode == "verify-full").then(|| ssl_mode::SYSTEM.to_owned()));
    Ok(Some(ssl_mode::asked_for(&mode, roots)?.1))
}

fn host_and_port(place: &str) -> Result<(String, u16), OpenError> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(no_url)?;
            match port {
                "" => (host, None),
                port => (host, Some(port.strip_prefix(':').ok_or_else(no_url)?)),
            }
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err(OpenError::Asked(
            "the URL names no host: write redis://host:port/0 (sockets of a file system are not supported)"
                .to_owned(),
        ));
    }
    if place.contains(',') {
        return Err(OpenError::Asked(
            "the URL names several hosts: name the master, or an address that leads to it (floe does not ask \
             Sentinels)"
                .to_owned(),
        ));
    }
    let port = port.map_or(Ok(PORT), |port| port.parse().map_err(|_| no_url()))?;
    Ok((host.to_owned(), port))
}

fn decoded(text: &str) -> Result<String, OpenError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| no_url())
}

fn no_url() -> OpenError {
    OpenError::Asked(
        "this is no URL of a Redis server: write redis://user:password@host:port/database?option=value, with %40 for \
         @, %2F for /, %3F for ? and %23 for # in a password or an option"
            .to_owned(),
    )
}
