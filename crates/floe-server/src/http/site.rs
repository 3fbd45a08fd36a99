//! Which web pages may ask: those of this server alone.
//!
//! A browser sends a request wherever the page that it shows tells it to, also to a server that listens for its own machine
//! alone. The page cannot read the answer, but an ID is minted and a name made. Three things tell:
//! - `Sec-Fetch-Site` (W3C, Fetch Metadata Request Headers): what a browser says of the page. Older ones say it nowhere, and
//!   none does to `http://` addresses that are not of the machine itself.
//! - `Origin` (RFC 6454), which comes with `POST` at least, and has to be the `Host`.
//! - `Host`, where a name of the page's own site leads here ("DNS rebinding"): then the page and this server are one site to the
//!   browser. A listener that only this machine reaches has no business under a name that somebody may have registered.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, Method, Uri, Version, header};

use super::HttpProblem;
use crate::access::Caller;

/// Names that nobody can register, besides those of a single label: RFC 6761, RFC 6762, and `internal` by ICANN's resolution of
/// 2024-07-29, under which containers find their host.
const PRIVATE: [&str; 4] = ["localhost", "local", "internal", "test"];

/// Refuses a request that a browser sends for a page of another site, and one that says wrongly, or twice, to whom it is.
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
    // HTTP/2 has it in `:authority`, and HTTP/1.1 where the target is a whole URI: then it is that which counts.
    let whole = uri.authority().map(|whole| whole.as_str());
    let asked = whole.into_iter().chain(host.as_deref()).find(|host| !is_home(host, hosts));
    if let Some(host) = asked.filter(|_| caller.is_at_home()) {
        let shown = host.chars().take(100).collect::<String>().escape_debug().to_string();
        return Err(HttpProblem::ForeignSite(format!(
            "this server listens for its own machine, and \"{shown}\" is no name of that: a web page may have sent this; ask for localhost or an address, or list the name under hosts in the configuration"
        )));
    }
    // A link to a page that only shows something is none of anybody's business.
    let is_visit = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
        && *method == Method::GET
        && is_page(path);
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        Some(b"same-origin" | b"none") => Ok(()),
        Some(_) if is_visit => Ok(()),
        Some(_) => Err(foreign()),
        None => match headers.get(header::ORIGIN).filter(|_| caller.is_at_home()) {
            Some(origin) if !is_origin(origin.as_bytes(), whole.or(host.as_deref())) => Err(foreign()),
            _ => Ok(()),
        },
    }
}

fn foreign() -> HttpProblem {
    HttpProblem::ForeignSite(
        "a browser has sent this for a web page of another site, which may not mint here: ask from a program, or from the server of that site".to_owned(),
    )
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
