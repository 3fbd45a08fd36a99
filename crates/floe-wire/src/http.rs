//! How HTTP begins. What follows is hyper's to read, and is not decoded here.
//!
//! Source: RFC 9110, section 9 ("Methods"), and the methods of its extensions (WebDAV); RFC 9112, section 3.2 ("Request
//! Target"); RFC 9113, section 3.4 ("HTTP/2 Connection Preface").

use crate::protocol::{Begins, FIRST_BYTES, Protocol, first_word};

/// HTTP/1 and HTTP/2, gRPC among it.
pub const PROTOCOL: Protocol =
    Protocol { word: "http", name: "HTTP", port: 8080, server_begins: false, begins };

/// The methods of HTTP and of its extensions, each followed by a target that begins with `/`, `*` or a scheme.
const METHODS: [&str; 18] = [
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "SEARCH",
];

fn begins(bytes: &[u8]) -> Begins {
    let (word, rest) = match first_word(bytes) {
        Ok(word) => word,
        Err(known) => return known,
    };
    if !METHODS.iter().any(|method| word == method.as_bytes()) && word != b"PRI" {
        return Begins::No;
    }
    let early = if bytes.len() < FIRST_BYTES { Begins::Unsure } else { Begins::No };
    // More than one space is no HTTP, and still its error.
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
