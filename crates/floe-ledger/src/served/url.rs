//! The URL, the environment and the files that it names.

use std::net::IpAddr;
use std::path::PathBuf;

use http::HeaderValue;
use percent_encoding::percent_decode_str;

use crate::OpenError;
use crate::remote::Bounds;
use crate::remote::endpoint::Endpoint;
use crate::remote::options::{self, CONNECT_TIMEOUT, Environment, MAX_WAIT};
use crate::remote::ssl_mode::{self, Use, Verify};

/// The default port.
const PORT: u16 = 7600;

/// The environment variable that holds a token.
const TOKEN: &str = "FLOE_TOKEN";

pub(super) struct Settings {
    pub(super) servers: Vec<Endpoint>,
    /// The header that identifies the caller.
    pub(super) authorization: HeaderValue,
    /// How to check a server's certificate; `None` for no TLS.
    pub(super) tls: Option<Verify>,
    pub(super) bounds: Bounds,
    /// The URL without the token and options.
    pub(super) shown: String,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let rest = url.strip_prefix("floe://").ok_or_else(no_url)?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains('@') {
            // This may be the end of a token that was not escaped: show no part of it.
            return Err(no_url());
        }
        let (user, servers) = match address.rsplit_once('@') {
            Some((user, servers)) => (Some(user), servers),
            None => (None, address),
        };
        let servers = servers.trim_end_matches('/').split(',');
        let servers: Option<Vec<_>> = servers.map(|server| Endpoint::parse(server, PORT)).collect();
        let servers = servers.ok_or_else(no_url)?;
        let mut bounds = Bounds { max_wait: MAX_WAIT, connect: CONNECT_TIMEOUT };
        let (mut token_file, mut mode, mut roots) = (None, None, None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(raw)?;
            match key {
                "max_wait" => bounds.max_wait = options::max_wait(key, &value)?,
                "connect_timeout" => bounds.connect = options::connect_timeout(key, &value)?,
                "token_file" => token_file = Some(PathBuf::from(value)),
                "sslmode" => mode = Some(value),
                "sslrootcert" => roots = Some(value),
                _ => {
                    return Err(OpenError::Asked(format!(
                        "`floe:` has no option `{key}`: it has max_wait, connect_timeout, token_file, sslmode and sslrootcert"
                    )));
                }
            }
        }
        let tls = tls_of(mode.as_deref(), roots, &servers)?;
        let written = match user.map(|user| user.split_once(':').map_or("", |(_, token)| token)) {
            Some("") => return Err(no_url()),
            written => written.map(decoded).transpose()?,
        };
        let token = match (token_file, written) {
            (Some(_), Some(_)) => {
                return Err(OpenError::Asked(
                    "the URL has a token and a token_file: leave one out".to_owned(),
                ));
            }
            (Some(file), None) => Some(options::password_from(&file)?),
            (None, written) => written.or_else(|| environment(TOKEN)),
        };
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Err(OpenError::Asked(format!(
                "a floe server offers its ledger only to a token: write floe://:TOKEN@host, name a file with it \
                 (token_file=FILE), or set {TOKEN} (`floe token new` makes one, and docs/ledgers.md says what the server needs)"
            )));
        };
        let is_token = token.bytes().all(|byte| byte.is_ascii_graphic());
        let authorization =
            is_token.then(|| HeaderValue::from_str(&format!("Bearer {token}")).ok()).flatten();
        // The token itself is not shown.
        let mut authorization = authorization.ok_or_else(|| {
            OpenError::Asked(
                "this is not a token of floe: a token is the first line that `floe token new` prints; copy only that line"
                    .to_owned(),
            )
        })?;
        authorization.set_sensitive(true);
        let names: Vec<_> = servers.iter().map(ToString::to_string).collect();
        let shown = format!("floe://{}", names.join(","));
        Ok(Self { servers, authorization, tls, bounds, shown })
    }
}

fn no_url() -> OpenError {
    OpenError::Asked(
        "this is no URL of floe servers: write floe://:token@host:port,host:port?option=value, with %40 for @, %2F for / and \
         %3F for ? in a token or an option"
            .to_owned(),
    )
}

fn decoded(text: &str) -> Result<String, OpenError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| no_url())
}

/// Without a mode there is no TLS. A token that opens a whole realm is then sent only to this machine.
fn tls_of(
    mode: Option<&str>,
    roots: Option<String>,
    servers: &[Endpoint],
) -> Result<Option<Verify>, OpenError> {
    let asked = |text: &str| Err(OpenError::Asked(text.to_owned()));
    let is_here = |server: &Endpoint| {
        server.host == "localhost" || server.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    let Some(mode) = mode else {
        if roots.is_some() {
            return asked("sslrootcert needs TLS: say sslmode=verify-full");
        }
        if !servers.iter().all(is_here) {
            return asked(
                "without TLS, anyone who listens on the way could use the token: say sslmode=verify-full&sslrootcert=FILE (or \
                 sslrootcert=system), or sslmode=disable if the network is yours",
            );
        }
        return Ok(None);
    };
    match ssl_mode::asked_for(mode, roots)? {
        (Use::Never, _) => Ok(None),
        (Use::Always, verify) => Ok(Some(verify)),
        (Use::WherePossible, _) => asked(
            "sslmode=prefer would show the token to anyone who claims that TLS is not possible: say disable or verify-full",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::tests::golden;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(url, &|_| None).map_err(|error| error.to_string())
    }

    #[test]
    fn urls_are_read() {
        let settings = parse("floe://:floe_1@127.0.0.1,[::1]:7/?max_wait=2s&connect_timeout=9").unwrap();
        assert_eq!(settings.shown, "floe://127.0.0.1:7600,[::1]:7");
        assert_eq!((settings.tls.as_ref(), settings.bounds.max_wait.as_secs()), (None, 2));
        assert_eq!(settings.authorization, "Bearer floe_1");
        assert!(!format!("{:?}", settings.authorization).contains("floe_1"));
        let settings = parse("floe://any:a%40b@db.example?sslmode=verify-full&sslrootcert=ca.pem").unwrap();
        assert_eq!(settings.tls, Some(Verify::Full("ca.pem".into())));
        assert_eq!(settings.authorization, "Bearer a@b");
        assert!(parse("floe://:floe_1@db.example?sslmode=disable").unwrap().tls.is_none());
        let told = Settings::parse("floe://localhost", &|name| (name == TOKEN).then(|| "floe_2".to_owned()));
        assert!(told.is_ok_and(|settings| settings.authorization == "Bearer floe_2"));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_token() {
        for (url, words) in [
            ("floe:localhost", "no URL of floe servers"),
            ("floe://:s3cr3t@", "no URL of floe servers"),
            ("floe://:s3cr3t@a/b", "no URL of floe servers"),
            ("floe://s3cr3t@localhost", "no URL of floe servers"),
            ("floe://:s3cr3t@localhost?a=b@c", "no URL of floe servers"),
            ("floe://:s3cr3t%20@localhost", "not a token of floe"),
            ("floe://:s3cr3t%0d%0aHost:x@localhost", "not a token of floe"),
            ("floe://localhost", "only to a token"),
            ("floe://:s3cr3t@localhost?token_file=/nowhere", "leave one out"),
            ("floe://localhost?token_file=/nowhere", "/nowhere cannot be read"),
            ("floe://:s3cr3t@localhost?user=x", "no option `user`"),
            ("floe://:s3cr3t@localhost?sslmode=prefer", "say disable or verify-full"),
            ("floe://:s3cr3t@localhost?sslrootcert=a", "needs TLS"),
            ("floe://:s3cr3t@localhost,db.example", "say sslmode=verify-full"),
            ("floe://:s3cr3t@10.0.0.1:7600", "say sslmode=verify-full"),
            ("floe://:s3cr3t@localhost?sslmode=verify-full", "needs sslrootcert"),
        ] {
            let refused = parse(url).map(|settings| settings.shown).unwrap_err();
            assert!(refused.contains(words) && !refused.contains("s3cr3t"), "{url}: {refused}");
        }
    }

    #[test]
    fn every_url_means_what_it_meant() {
        golden("served", |url, environment| {
            let Settings { servers, authorization, tls, bounds, shown } = Settings::parse(url, environment)?;
            let rest = format!(
                "at={servers:?} authorization={:?} tls={tls:?} wait={:?} connect={:?}",
                authorization.to_str().unwrap(),
                bounds.max_wait,
                bounds.connect.min(bounds.max_wait)
            );
            Ok((shown, rest))
        });
    }
}
