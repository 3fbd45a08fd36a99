//! Which web pages may ask: only those of this server.
//!
//! A browser sends requests to any address that a page names, also to a server that listens only for its own machine.
//! The page cannot read the answer, but an ID is minted, or a name made. Three headers show such requests:
//! - `Sec-Fetch-Site` (W3C, Fetch Metadata Request Headers): what a browser says of the page. Older ones say it nowhere, and
//!   none does to `http://` addresses that are not of the machine itself.
//! - `Origin` (RFC 6454), which comes with `POST` at least, and has to be the `Host`.
//! - `Host`, where a name of the page's own site leads here ("DNS rebinding"): then the page and this server are one site to the
//!   browser. A listener that only this machine can reach must not be used under a name that somebody may have registered.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, Method, Uri, Version, header};

use super::HttpProblem;
use crate::access::Caller;

/// Names that nobody can register, besides those of a single label: RFC 6761, RFC 6762, and `internal` by ICANN's resolution of
/// 2024-07-29, under which containers find their host.
const PRIVATE: [&str; 4] = ["localhost", "local", "internal", "test"];

/// Refuses a request that a browser sends for a page of another site, and one with a wrong or repeated host.
///
/// # Errors
/// `Host` and `ForeignSite`.
pub(super) fn check(
    caller: &Caller,
    hosts: &[String],
    (version, method, uri, path): (Version, &Method, &Uri, &str),
    headers: &HeaderMap,
) -> Result<(), HttpProblem> {
    let mut given = headers.get_all(header::HOST).iter();
    let (host, second) = (given.next(), given.next());
    if second.is_some() || (version == Version::HTTP_11 && host.is_none()) {
        return Err(HttpProblem::Host);
    }
    let host = host.map(|host| String::from_utf8_lossy(host.as_bytes()));
    if host.as_deref().is_some_and(|host| !is_host(host)) {
        return Err(HttpProblem::Host);
    }
    // HTTP/2 has it in `:authority`, and HTTP/1.1 where the target is a whole URI: then it is that which counts.
    let whole = uri.authority().map(|whole| whole.as_str());
    let asked = whole.into_iter().chain(host.as_deref()).find(|host| !is_home(host, hosts));
    if let Some(host) = asked.filter(|_| caller.is_at_home()) {
        let shown = host.chars().take(100).collect::<String>().escape_debug().to_string();
        return Err(HttpProblem::ForeignSite(format!(
            "this server listens for its own machine, and \"{shown}\" is not a name of it: a web page may have sent this; ask for localhost or an address, or list the name under hosts in the configuration"
        )));
    }
    // A link to a page that only shows something is allowed.
    let mut modes = headers.get_all("sec-fetch-mode").iter();
    let is_visit = modes.next().is_some_and(|mode| mode == "navigate")
        && modes.all(|mode| mode == "navigate")
        && *method == Method::GET
        && is_page(path);
    // Of several the worst counts: a browser sends one.
    let mut sites = headers.get_all("sec-fetch-site").iter().map(|site| site.as_bytes());
    let is_said = headers.contains_key("sec-fetch-site");
    let is_own = sites.all(|site| matches!(site, b"same-origin" | b"none"));
    match is_said {
        true if is_own || is_visit => Ok(()),
        true => Err(foreign("")),
        false => match headers
            .get_all(header::ORIGIN)
            .iter()
            .all(|origin| !caller.is_at_home() || is_origin(origin.as_bytes(), whole.or(host.as_deref())))
        {
            true => Ok(()),
            false => Err(foreign(
                " (its Origin is not the Host that was asked for: a proxy in between has to pass on its client's Host)",
            )),
        },
    }
}

fn foreign(why: &str) -> HttpProblem {
    HttpProblem::ForeignSite(format!(
        "a browser sent this for a web page of another site, which may not mint here{why}: ask from a program, or from that site's server"
    ))
}

/// Whether a `Host` is one: `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2), or nothing.
fn is_host(host: &str) -> bool {
    let (is_name, port) = if let Some(literal) = host.strip_prefix('[') {
        let Some((address, port)) = literal.split_once(']') else { return false };
        let address = address.split_once('%').map_or(address, |(address, _)| address);
        (address.parse::<Ipv6Addr>().is_ok(), port)
    } else {
        let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte);
        (name.bytes().all(is_sign) && (port.is_empty() || !name.is_empty()), port)
    };
    let is_port = |port: &str| {
        port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
    };
    is_name && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// The pages for people, which change nothing.
fn is_page(path: &str) -> bool {
    path == "/"
        || path == "/openapi.json"
        || ["/docs", "/problems/"].iter().any(|begin| path.starts_with(begin))
}

/// Whether a `Host` is an address, a name that leads to no other machine, or one of the `hosts` of the configuration.
pub(super) fn is_home(host: &str, hosts: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let last = name.rsplit('.').next().unwrap_or(name);
    name.parse::<Ipv4Addr>().is_ok()
        || address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
        || !name.contains('.')
        || PRIVATE.iter().any(|private| last.eq_ignore_ascii_case(private))
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether an `Origin` is that of this server, by the `Host` it was asked for.
fn is_origin(origin: &[u8], host: Option<&str>) -> bool {
    let origin = String::from_utf8_lossy(origin);
    let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    place.is_some_and(|place| host.is_some_and(|host| host.eq_ignore_ascii_case(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_somebody_may_have_registered_are_no_home() {
        let hosts = ["ids.example.com".to_owned()];
        for home in [
            "localhost",
            "localhost:7600",
            "LOCALHOST.",
            "127.0.0.1:7600",
            "127.0.0.1",
            "10.0.0.7:80",
            "[::1]:7600",
            "[::1]",
            "floe",
            "floe:7600",
            "host.docker.internal:7600",
            "floe.default.svc.cluster.local",
            "a.localhost",
            "x.test",
            "ids.example.com",
            "IDS.example.com:443",
            "",
        ] {
            assert!(is_home(home, &hosts), "{home}");
        }
        for foreign in [
            "example.com",
            "evil.example:7600",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "ids.example.com.evil.example",
            "[::1].evil.example",
            "1.2.3.4.5",
            "evil.example.",
            "evil.example:",
            "a.b:c",
        ] {
            assert!(!is_home(foreign, &hosts), "{foreign}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_a_port() {
        for host in [
            "",
            "a",
            "a:",
            "a:7600",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:7600",
            "[fe80::1%25eth0]:80",
            "a_b.example",
            "ex%C3%A4.de",
        ] {
            assert!(is_host(host), "{host}");
        }
        for none in [
            "[::1",
            "::1",
            "::1]",
            "[::1]7600",
            "[::1]:x",
            "[a]",
            "[]",
            "a:b",
            "a:1:2",
            ":80",
            "a b",
            "a/b",
            "a@b",
            "a:65536",
            "a:+1",
            "\u{fffd}",
        ] {
            assert!(!is_host(none), "{none}");
        }
    }

    #[test]
    fn an_origin_is_the_host() {
        assert!(is_origin(b"http://localhost:7600", Some("localhost:7600")));
        assert!(is_origin(b"https://Localhost:7600", Some("localhost:7600")));
        for (origin, host) in [
            (&b"null"[..], Some("localhost:7600")),
            (b"http://localhost", Some("localhost:7600")),
            (b"http://evil.example", Some("localhost:7600")),
            (b"http://localhost:7600", None),
            (b"file://", Some("")),
        ] {
            assert!(!is_origin(origin, host), "{}", origin.escape_ascii());
        }
    }
}
