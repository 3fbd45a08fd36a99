//! URLs and the names of keys, without a server.

use floe_testbed::http_stub;
use proptest::prelude::*;

use super::*;
use crate::remote::http::Servers;
use crate::remote::ssl_mode::Use;
use crate::remote::tests::{golden, kind};
use crate::remote::url::Reach;

fn parse(url: &str) -> Result<Settings, String> {
    Settings::parse(url, &|_| None).map_err(|error| error.to_string())
}

#[test]
fn urls_are_read() {
    let settings = parse("consul://:a%40b@127.0.0.1,[::1]:7/ids/prod/?max_wait=2s&datacenter=dc-1").unwrap();
    assert_eq!(settings.agents.reach.shown, "consul://127.0.0.1:8500,[::1]:7/ids/prod");
    assert_eq!(settings.token.as_ref().map(|token| token.as_bytes()), Some(&b"a@b"[..]));
    assert!(!format!("{:?}", settings.token).contains("a@b"));
    assert_eq!(
        (settings.agents.reach.bounds.max_wait.as_secs(), settings.query.as_str()),
        (2, "consistent&dc=dc-1")
    );
    assert_eq!(settings.agents.reach.tls.wanted, Use::Never);
    let settings = parse("consul://consul.example?sslmode=require").unwrap();
    assert_eq!((settings.agents.reach.tls.wanted, settings.token), (Use::Always, None));
    assert_eq!(settings.query, "consistent");
    let told =
        Settings::parse("consul://localhost", &|name| (name == "CONSUL_HTTP_TOKEN").then(|| "t".into()));
    assert!(told.is_ok_and(|settings| settings.token.is_some()));
}

#[test]
fn what_is_wrong_is_told_without_the_token() {
    for (url, words) in [
        ("consul:localhost", "no URL of Consul agents"),
        ("consul://", "no URL of Consul agents"),
        ("consul://:s3cr3t@", "no URL of Consul agents"),
        ("consul://s3cr3t@localhost", "no URL of Consul agents"),
        ("consul://:s3cr3t@localhost?a=b@c", "no URL of Consul agents"),
        ("consul://:s3cr3t@localhost#a", "no URL of Consul agents"),
        ("consul://:s3cr3t@localhost:no", "no URL of Consul agents"),
        ("consul://:s3cr3t%20@localhost", "not one of Consul's"),
        ("consul://:s3cr3t%0d%0aHost:x@localhost", "not one of Consul's"),
        ("consul://:s3cr3t@localhost?token_file=/nowhere", "leave one out"),
        ("consul://localhost?token_file=/nowhere", "/nowhere cannot be read"),
        ("consul://localhost/a/../b", "cannot be the prefix"),
        ("consul://localhost/50%25", "cannot be the prefix"),
        ("consul://localhost?datacenter=a%26stale", "the name of a datacenter"),
        ("consul://localhost?datacenter=", "the name of a datacenter"),
        ("consul://:s3cr3t@localhost?user=x", "no option `user`"),
        ("consul://localhost?sslmode=prefer", "one of disable, require, verify-ca, verify-full"),
        ("consul://localhost?sslrootcert=a", "need TLS"),
        ("consul://localhost?sslmode=verify-full", "needs sslrootcert"),
        ("consul://localhost?unsafe=yes", "allow or refuse"),
    ] {
        let refused = parse(url).map(|settings| settings.agents.reach.shown).unwrap_err();
        assert!(refused.contains(words) && !refused.contains("s3cr3t"), "{url}: {refused}");
    }
}

#[test]
fn every_url_means_what_it_meant() {
    golden("consul", |url, environment| {
        let settings = Settings::parse(url, environment)?;
        let (prefix, Servers { all, reach, .. }) = (settings.name_of(""), settings.agents);
        let Reach { shown, bounds, tls, allows_unsafe } = reach;
        let rest = format!(
            "at={all:?} prefix={prefix:?} token={:?} query={:?} tls={:?} wait={:?} connect={:?} unsafe={allows_unsafe}",
            settings.token.as_ref().map(|token| String::from_utf8_lossy(token.as_bytes())),
            settings.query,
            (tls.wanted == Use::Always).then_some((tls.verify, tls.own)),
            bounds.max_wait,
            bounds.connect
        );
        Ok((shown, rest))
    });
}

proptest! {
    /// Each URL is read or refused, and no error shows a token.
    #[test]
    fn no_url_is_too_odd(place in ".{0,20}", option in "(datacenter|token_file|max_wait|unsafe|.{0,9})", value in ".{0,20}") {
        let _outcome = check_url(&format!("consul://{place}?{option}={value}"));
        if let Err(told) = check_url(&format!("consul://:s3cr3t@{place}?{option}={value}")) {
            prop_assert!(!told.to_string().contains("s3cr3t"));
        }
    }

    /// A name of a key keeps the key, its beginnings, and the folders; and a path of HTTP is not cleaned or unescaped.
    #[test]
    fn a_key_has_a_name(realm in "[^/*\\s\\pC]{1,9}", name in "[^/*\\s\\pC]{1,9}", cut in 0..9_usize) {
        let settings = parse("consul://localhost/ids").unwrap();
        let key = format!("mark/{realm}/n/{name}");
        let named = settings.name_of(&key);
        prop_assert_eq!(settings.key_of(&named), Some(key));
        let part: String = name.chars().take(cut).collect();
        let beginning = settings.name_of(&format!("mark/{realm}/n/{part}"));
        prop_assert!(named.starts_with(&beginning));
        prop_assert!(named.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=".contains(&byte)));
        prop_assert!(named.split('/').all(|part| !part.is_empty() && !part.starts_with('.')));
    }
}

#[test]
fn names_of_others_are_no_keys() {
    let settings = parse("consul://localhost/ids").unwrap();
    for name in
        ["ids", "idsmark/a", "other/mark/a", "ids/mark/a=2E", "ids/mark/=zz", "ids/mark/ü", "ids/mark/=ff"]
    {
        assert_eq!(settings.key_of(name), None, "{name}");
    }
}

#[test]
fn what_an_agent_says_at_an_opening_is_the_callers_to_mend_or_may_pass() {
    let page = "<html>log in, please</html>";
    let verb = r#"{"Results":null,"Errors":[{"OpIndex":0,"What":"unknown KV verb \"get-or-empty\""}]}"#;
    let answers = [
        ("403 Forbidden", "ACL not found", "asked"),
        ("403 Forbidden", "Permission denied: token lacks it", "asked"),
        ("500 Internal Server Error", "No path to datacenter", "asked"),
        ("400 Bad Request", "Client sent an HTTP request to an HTTPS server.", "asked"),
        ("409 Conflict", verb, "asked"),
        ("500 Internal Server Error", "No cluster leader", "unavailable"),
        ("429 Too Many Requests", "rate limit exceeded", "unavailable"),
        ("413 Request Entity Too Large", "Request body too large", "unavailable"),
        ("502 Bad Gateway", page, "unavailable"),
        ("200 OK", page, "unavailable"),
    ];
    let answers = answers.map(|(status, body, expected)| {
        (format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()), expected)
    });
    let of_another = ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "unavailable");
    for (said, expected) in answers.into_iter().chain([of_another]) {
        let answer = said.clone().into_bytes();
        let port = http_stub(move |_, _| answer.clone());
        let error = open_url(&format!("consul://127.0.0.1:{port}"), &Opening::of("test")).err().unwrap();
        assert_eq!(kind(&error), expected, "{said}: {error}");
    }
}
