//! The URL, the environment and the files that it names.

use std::path::Path;
use std::sync::Arc;

use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::OpenError;
use crate::remote::endpoint::{Endpoint, Turn};
use crate::remote::http::Servers;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT};
use crate::remote::ssl_mode::{self, Use, Verify};
use crate::remote::{Bounds, tls};

/// The default port.
const PORT: u16 = 8500;

/// The environment variable that holds a token, as for Consul's own commands.
const TOKEN: &str = "CONSUL_HTTP_TOKEN";

const OPTIONS: &str = "max_wait, connect_timeout, unsafe, datacenter, token_file, sslmode and sslrootcert";

/// What the name of a key does not keep as it is: Consul has the name in a path, and cleans and unescapes that.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');

pub(super) struct Settings {
    pub(super) agents: Servers,
    /// The beginning of all keys, without a slash at its end.
    prefix: String,
    /// The header that identifies the caller.
    pub(super) token: Option<HeaderValue>,
    /// What each request says behind `?`.
    pub(super) query: String,
    pub(super) allow_unsafe: bool,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let rest = url.strip_prefix("consul://").ok_or_else(no_url)?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, place) =
            address.rsplit_once('@').map_or((None, address), |(user, place)| (Some(user), place));
        if query.contains('@') || url.contains('#') {
            // This may be the end of a token that was not escaped: show no part of it.
            return Err(no_url());
        }
        let (agents, path) = place.split_once('/').unwrap_or((place, ""));
        let all: Option<Vec<_>> = agents.split(',').map(|agent| Endpoint::parse(agent, PORT)).collect();
        let all = all.ok_or_else(no_url)?;
        let prefix = match path.trim_end_matches('/') {
            "" => "floe".to_owned(),
            path if path.split('/').all(is_plain) => path.to_owned(),
            path => {
                let takes = "cannot be the prefix of the keys: write letters, digits, - and _ between any /";
                return Err(asked(&format!("`{path}` {takes}")));
            }
        };
        let mut bounds = Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT };
        let (mut token_file, mut mode, mut roots) = (None, None, None);
        let (mut query_of_all, mut allow_unsafe) = ("consistent".to_owned(), false);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(raw)?;
            match key {
                "max_wait" => bounds.max_wait = options::max_wait(key, &value)?,
                "connect_timeout" => bounds.connect = options::connect_timeout(key, &value)?,
                "unsafe" => allow_unsafe = options::allows_unsafe(key, &value)?,
                "datacenter" if is_plain(&value) => query_of_all = format!("consistent&dc={value}"),
                "datacenter" => {
                    return Err(options::takes(key, &value, "the name of a datacenter, such as dc1"));
                }
                "token_file" => token_file = Some(value),
                "sslmode" => mode = Some(value),
                "sslrootcert" => roots = Some(value),
                _ => return Err(asked(&format!("a consul: URL has no option `{key}`: it has {OPTIONS}"))),
            }
        }
        let tls = tls_of(mode.as_deref(), roots)?;
        let tls = tls.map(|verify| tls::client(&verify).map(Arc::new)).transpose()?;
        let token = match (token_file, user.map(|user| user.strip_prefix(':').map(decoded))) {
            (None, Some(Some(token))) => Some(token?),
            (_, Some(None)) => return Err(no_url()),
            (Some(_), Some(_)) => return Err(asked("the URL has a token and a token_file: leave one out")),
            (Some(file), None) => Some(options::password_from(Path::new(&file))?),
            (None, None) => environment(TOKEN),
        };
        let token = token.filter(|token| !token.is_empty()).map(|token| {
            let header = HeaderValue::from_str(&token).ok().filter(|_| !token.contains([' ', '\t']));
            // The token itself is not shown.
            let mut header =
                header.ok_or_else(|| asked("the token is not one of Consul's: copy its SecretID alone"))?;
            header.set_sensitive(true);
            Ok::<_, OpenError>(header)
        });
        let token = token.transpose()?;
        let names: Vec<_> = all.iter().map(ToString::to_string).collect();
        let shown = format!("consul://{}/{prefix}", names.join(","));
        let agents = Servers { what: "Consul", all, shown, bounds, tls, turn: Turn::anywhere() };
        Ok(Self { agents, prefix, token, query: query_of_all, allow_unsafe })
    }

    /// The name of a key in Consul. A name begins with another one if the key does.
    pub(super) fn name_of(&self, key: &str) -> String {
        let escaped = utf8_percent_encode(key, ESCAPED).to_string().replace('%', "=").replace("/.", "/=2E");
        format!("{}/{escaped}", self.prefix)
    }

    /// The key with a name; `None` if floe would not name a key so.
    pub(super) fn key_of(&self, name: &str) -> Option<String> {
        let escaped = name.strip_prefix(&self.prefix)?.strip_prefix('/')?.replace('=', "%");
        let key = percent_decode_str(&escaped).decode_utf8().ok()?.into_owned();
        (self.name_of(&key) == name).then_some(key)
    }
}

fn asked(text: &str) -> OpenError {
    OpenError::Asked(text.to_owned())
}

fn no_url() -> OpenError {
    asked(
        "this is no URL of Consul agents: write consul://:token@host:port,host:port/prefix?option=value, with %40 for @, %2F for / \
         and %3F for ? in a token or an option",
    )
}

fn decoded(text: &str) -> Result<String, OpenError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| no_url())
}

/// Whether a text needs no escape in a path.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// An agent's port speaks TLS or does not: there is no asking first.
fn tls_of(mode: Option<&str>, roots: Option<String>) -> Result<Option<Verify>, OpenError> {
    match mode {
        None if roots.is_some() => Err(asked("sslrootcert needs TLS: say sslmode=verify-full")),
        None => Ok(None),
        Some(mode) => match ssl_mode::asked_for(mode, roots)? {
            (Use::Never, _) => Ok(None),
            (Use::Always, verify) => Ok(Some(verify)),
            (Use::WherePossible, _) => Err(asked(
                "Consul has no sslmode=prefer, because its port speaks either TLS or plaintext: say disable or verify-full",
            )),
        },
    }
}
