//! How HTTP begins. hyper reads the rest; nothing else is decoded here.
//!
//! Source: RFC 9110, section 16.1.1 ("Method Registry"), and IANA's registry of methods; RFC 9112, section 3.2 ("Request
//! Target"); RFC 9113, section 3.4 ("HTTP/2 Connection Preface").

use crate::protocol::{Begins, FIRST_BYTES, Protocol, first_word};

/// HTTP/1 and HTTP/2, including gRPC.
pub const PROTOCOL: Protocol =
    Protocol { word: "http", name: "HTTP", port: 8080, server_begins: false, begins };

/// All registered methods, and `QUERY`, which some clients already send. A target that begins with `/`, `*` or a scheme
/// follows each. A method missing here would be taken for a Redis command.
const METHODS: [&str; 40] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

/// Whether the first line ends as a request of HTTP/1 does, whatever its method. A web page chooses the method that a browser
/// sends, so a method may be a command of another protocol.
///
/// ```
/// use floe_wire::http::is_request_line;
///
/// assert!(is_request_line(b"gets / HTTP/1.1\r\nHost: a\r\n"));
/// assert!(!is_request_line(b"gets orders\r\n"));
/// ```
pub fn is_request_line(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    version.len() < line.len() && version.starts_with(b"HTTP/")
}

fn begins(bytes: &[u8]) -> Begins {
    let (word, rest) = match first_word(bytes) {
        Ok(word) => word,
        Err(known) => return known,
    };
    if !METHODS.iter().any(|method| word == method.as_bytes()) {
        return Begins::No;
    }
    let early = if bytes.len() < FIRST_BYTES { Begins::Unsure } else { Begins::No };
    // Several spaces are not valid HTTP, but hyper should say so.
    let target = rest.trim_ascii_start();
    match (rest, target) {
        ([b' ', ..], []) => early,
        ([b' ', ..], [b'/' | b'*', ..]) => Begins::Yes,
        ([b' ', ..], [b'h', ..]) if b"http".starts_with(&target[..target.len().min(4)]) => match target.len()
        {
            4.. => Begins::Yes,
            _ => early,
        },
        _ => Begins::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_line_has_its_version_at_its_end() {
        for line in ["gets / HTTP/1.1\r\n", "GET / HTTP/1.0\n", "get / HTTP/1.1 \r\n", "stats x HTTP/2"] {
            assert!(is_request_line(line.as_bytes()), "{line:?}");
        }
        for line in [
            "",
            "HTTP/1.1\r\n",
            "gets HTTP\r\n",
            "gets HTTP/1.1 orders\r\n",
            "gets orders\r\nGET / HTTP/1.1\r\n",
        ] {
            assert!(!is_request_line(line.as_bytes()), "{line:?}");
        }
    }

    #[test]
    fn a_method_is_one_of_http_once_its_target_begins() {
        for method in METHODS {
            for (after, expected) in [
                ("", Begins::Unsure),
                (" ", Begins::Unsure),
                (" /", Begins::Yes),
                (" *", Begins::Yes),
                ("  /", Begins::Yes),
                (" http:", Begins::Yes),
                (" key", Begins::No),
                (" hkey", Begins::No),
                ("\r\n", Begins::No),
                ("X /", Begins::No),
            ] {
                assert_eq!(begins(format!("{method}{after}").as_bytes()), expected, "{method}{after:?}");
            }
        }
        assert_eq!(begins(b"GET htt"), Begins::Unsure);
        for (count, expected) in [(FIRST_BYTES - 1, Begins::Unsure), (FIRST_BYTES, Begins::No)] {
            assert_eq!(begins(format!("{:count$}", "GET").as_bytes()), expected);
            assert_eq!(begins(&b"A".repeat(count)), expected);
        }
        assert_eq!(begins(b"get /"), Begins::No);
    }
}
