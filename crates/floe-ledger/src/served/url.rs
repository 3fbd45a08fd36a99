//! The URL, the environment and the files that it names.

use std::net::IpAddr;

use http::HeaderValue;

use crate::OpenError;
use crate::options::{self, Environment};
use crate::remote::endpoint::Endpoint;
use crate::remote::url::{EITHER, Form, Reach};

/// The environment variable that holds a token.
const TOKEN: &str = "FLOE_TOKEN";

/// With `sslmode=prefer` the token would be shown to anyone who claims that TLS is not possible.
static FORM: Form = Form {
    of: "floe servers",
    example: "floe://:token@host:port,host:port",
    schemes: &["floe"],
    port: 7600,
    unescaped: Some(&['/', '@']),
    options: &[&["max_wait", "connect_timeout", "token_file", "sslmode", "sslrootcert"]],
    modes: EITHER,
    timeout: options::connect_timeout,
};

pub(super) struct Settings {
    pub(super) servers: Vec<Endpoint>,
    /// The header that identifies the caller.
    pub(super) authorization: HeaderValue,
    pub(super) reach: Reach,
}

impl Settings {
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Self, OpenError> {
        let asked = |text: String| OpenError::Asked(text);
        let url = FORM.read(url)?;
        let servers = url.plain_hosts()?;
        let names_no_token =
            url.credentials.is_some() && url.password()?.is_none_or(|token| token.is_empty());
        if names_no_token || !url.path.trim_end_matches('/').is_empty() {
            return Err(FORM.no_url());
        }
        let reach = url.reach(&servers, "", [None, None])?;
        // A token that opens a whole realm is sent in plain text only to this machine, unless the URL says so.
        if !url.has("sslmode") && !servers.iter().all(is_here) {
            return Err(asked(
                "without TLS, anyone who listens on the way could use the token: say sslmode=verify-full&sslrootcert=FILE (or \
                 sslrootcert=system), or sslmode=disable if the network is yours"
                    .to_owned(),
            ));
        }
        let token = url.secret("token_file", || environment(TOKEN))?.filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            asked(format!(
                "a floe server offers its ledger only to a token: write floe://:TOKEN@host, name a file with it \
                 (token_file=FILE), or set {TOKEN} (`floe token new` makes one, and docs/ledgers.md says what the server needs)"
            ))
        })?;
        let is_token = token.bytes().all(|byte| byte.is_ascii_graphic());
        let authorization =
            is_token.then(|| HeaderValue::from_str(&format!("Bearer {token}")).ok()).flatten();
        // The token itself is not shown.
        let mut authorization = authorization.ok_or_else(|| {
            asked(
                "this is not a token of floe: a token is the first line that `floe token new` prints; copy only that line"
                    .to_owned(),
            )
        })?;
        authorization.set_sensitive(true);
        Ok(Self { servers, authorization, reach })
    }
}

fn is_here(server: &Endpoint) -> bool {
    server.host == "localhost" || server.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::ssl_mode::{Use, Verify};
    use crate::remote::tests::golden;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(url, &|_| None).map_err(|error| error.to_string())
    }

    #[test]
    fn urls_are_read() {
        let settings = parse("floe://:floe_1@127.0.0.1,[::1]:7/?max_wait=2s&connect_timeout=9").unwrap();
        assert_eq!(settings.reach.shown, "floe://127.0.0.1:7600,[::1]:7");
        assert_eq!((settings.reach.tls.wanted, settings.reach.bounds.max_wait.as_secs()), (Use::Never, 2));
        assert_eq!(settings.authorization, "Bearer floe_1");
        assert!(!format!("{:?}", settings.authorization).contains("floe_1"));
        let settings = parse("floe://any:a%40b@db.example?sslmode=verify-full&sslrootcert=ca.pem").unwrap();
        assert_eq!(settings.reach.tls.verify, Verify::Full("ca.pem".into()));
        assert_eq!(settings.authorization, "Bearer a@b");
        assert_eq!(parse("floe://:floe_1@db.example?sslmode=disable").unwrap().reach.tls.wanted, Use::Never);
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
            ("floe://:@localhost", "no URL of floe servers"),
            ("floe://:s3cr3t@localhost?a=b@c", "no URL of floe servers"),
            ("floe://:s3cr3t%20@localhost", "not a token of floe"),
            ("floe://:s3cr3t%0d%0aHost:x@localhost", "not a token of floe"),
            ("floe://localhost", "only to a token"),
            ("floe://:s3cr3t@localhost?token_file=/nowhere", "leave one out"),
            ("floe://localhost?token_file=/nowhere", "/nowhere cannot be read"),
            ("floe://:s3cr3t@localhost?user=x", "no option `user`"),
            ("floe://:s3cr3t@localhost?sslmode=prefer", "one of disable, require, verify-ca, verify-full"),
            ("floe://:s3cr3t@localhost?sslrootcert=a", "need TLS"),
            ("floe://:s3cr3t@localhost,db.example", "say sslmode=verify-full"),
            ("floe://:s3cr3t@10.0.0.1:7600", "say sslmode=verify-full"),
            ("floe://:s3cr3t@localhost?sslmode=verify-full", "needs sslrootcert"),
        ] {
            let refused = parse(url).map(|settings| settings.reach.shown).unwrap_err();
            assert!(refused.contains(words) && !refused.contains("s3cr3t"), "{url}: {refused}");
        }
    }

    #[test]
    fn every_url_means_what_it_meant() {
        golden("served", |url, environment| {
            let Settings { servers, authorization, reach } = Settings::parse(url, environment)?;
            let Reach { shown, bounds, tls, .. } = reach;
            let rest = format!(
                "at={servers:?} authorization={:?} tls={:?} wait={:?} connect={:?}",
                authorization.to_str().unwrap(),
                (tls.wanted == Use::Always).then_some(tls.verify),
                bounds.max_wait,
                bounds.connect.min(bounds.max_wait)
            );
            Ok((shown, rest))
        });
    }
}
