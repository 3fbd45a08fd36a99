//! The URL and the environment.

use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::OpenError;
use crate::options::{self, Environment};
use crate::remote::http::Servers;
use crate::remote::url::{EITHER, Form, OWN};

/// The environment variable that holds a token, as for Consul's own commands.
const TOKEN: &str = "CONSUL_HTTP_TOKEN";

static FORM: Form = Form {
    of: "Consul agents",
    example: "consul://:token@host:port,host:port/prefix",
    schemes: &["consul"],
    port: 8500,
    unescaped: Some(&['/', '@']),
    options: &[
        &["max_wait", "connect_timeout", "unsafe", "datacenter", "token_file", "sslmode", "sslrootcert"],
        OWN,
    ],
    modes: EITHER,
    timeout: options::connect_timeout,
};

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
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let url = FORM.read(url)?;
        let all = url.plain_hosts()?;
        let prefix = match url.path.trim_end_matches('/') {
            "" => "floe",
            path if path.split('/').all(is_plain) => path,
            path => {
                let takes = "cannot be the prefix of the keys: write letters, digits, - and _ between any /";
                return Err(asked(&format!("`{path}` {takes}")));
            }
        };
        let datacenter = url.option("datacenter", |key, value| match is_plain(value) {
            true => Ok(value.to_owned()),
            false => Err(options::takes(key, value, "the name of a datacenter, such as dc1")),
        })?;
        let query = datacenter.map_or("consistent".to_owned(), |name| format!("consistent&dc={name}"));
        // Consul has no users.
        if url.credentials.is_some_and(|text| text.len() < 2 || !text.starts_with(':')) {
            return Err(FORM.no_url());
        }
        let reach = url.reach(&all, &format!("/{prefix}"), [None, None])?;
        let token = url.secret("token_file", || environment(TOKEN))?.filter(|token| !token.is_empty());
        let token = token.map(|token| {
            let header = HeaderValue::from_str(&token).ok().filter(|_| !token.contains([' ', '\t']));
            // The token itself is not shown.
            let mut header =
                header.ok_or_else(|| asked("the token is not one of Consul's: copy its SecretID alone"))?;
            header.set_sensitive(true);
            Ok::<_, OpenError>(header)
        });
        let agents = Servers::new("Consul", all, reach)?;
        Ok(Self { agents, prefix: prefix.to_owned(), token: token.transpose()?, query })
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

/// Whether a text needs no escape in a path.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
