//! Which protocol a client speaks, told from its first bytes.

use floe_wire::{Begins, Protocol, http};

use crate::fronts::{FRONTS, Front};

/// What is known of a client.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Detected {
    /// It speaks a protocol.
    Known(&'static Front),
    /// It wants TLS.
    Tls,
    /// Too little has come.
    Unsure,
    /// No protocol begins like that.
    Nothing,
}

/// The first byte of a TLS client's hello. No protocol begins with it.
const HELLO: u8 = 0x16;

/// Tells the protocol from the first bytes of a connection to a port of this `protocol` alone, or of all of them.
pub(super) fn detect(protocol: Option<&Protocol>, bytes: &[u8]) -> Detected {
    let own = protocol.and_then(Front::of);
    match (own, bytes) {
        // Its clients wait for the server.
        (Some(own), _) if own.protocol.server_begins => Detected::Known(own),
        (_, []) => Detected::Unsure,
        (_, [HELLO, ..]) => Detected::Tls,
        (Some(own), _) if own.protocol == &http::PROTOCOL => Detected::Known(own),
        (Some(own), [first, ..]) if first.is_ascii_alphabetic() => match (http::PROTOCOL.begins)(bytes) {
            // A browser, sent here by a web page. What follows is not a command.
            Begins::Yes => Detected::Nothing,
            Begins::Unsure => Detected::Unsure,
            Begins::No => Detected::Known(own),
        },
        (Some(own), _) => Detected::Known(own),
        (None, _) => begins(bytes),
    }
}

/// The first front that takes the bytes for its own.
fn begins(bytes: &[u8]) -> Detected {
    for front in FRONTS {
        match (front.protocol.begins)(bytes) {
            Begins::Yes => return Detected::Known(front),
            Begins::Unsure => return Detected::Unsure,
            Begins::No => {}
        }
    }
    Detected::Nothing
}

#[cfg(test)]
mod tests {
    use floe_wire::FIRST_BYTES;

    use super::*;

    /// What the front of a word is told as.
    fn known(word: &str) -> Detected {
        Detected::Known(own(word).and_then(Front::of).unwrap())
    }

    fn own(word: &str) -> Option<&'static Protocol> {
        crate::protocols::protocol(word)
    }

    #[test]
    fn each_protocol_is_told_by_how_it_begins() {
        let cases: [(&[u8], Detected); 30] = [
            (b"GET / HTTP/1.1\r\n", known("http")),
            (b"GET  / HTTP/1.1\r\n", known("http")),
            (b"PROPFIND /a HTTP/1.1\r\n", known("http")),
            (b"QUERY /v1/ledger/0 HTTP/1.1\r\n", known("http")),
            (b"UPDATEREDIRECTREF /a HTTP/1.1\r\n", known("http")),
            (b"VERSION-CONTROL /a HTTP/1.1\r\n", known("http")),
            (b"GET  a\r\n", known("memcached")),
            (b"GET http://a/ HTTP/1.1", known("http")),
            (b"OPTIONS * HTTP/1.1", known("http")),
            (b"PRI * HTTP/2.0\r\n", known("http")),
            (b"DELETE /v1", known("http")),
            (b"*1\r\n$4\r\nPING\r\n", known("resp")),
            (b"PING\r\n", known("resp")),
            (b"INCR a\r\n", known("resp")),
            (b"incrby a 5\r\n", known("resp")),
            (b"\r\n", known("resp")),
            (b"get a b\r\n", known("memcached")),
            (b"GET a\r\n", known("memcached")),
            (b"gets ht\r\n", known("memcached")),
            (b"version\r\n", known("memcached")),
            (b"QUIT\r\n", known("memcached")),
            (b"mg orders v\r\n", known("memcached")),
            (b"mn\r\n", known("memcached")),
            (b"\x80\x00\x00\x01\x00\x00", known("memcached")),
            (b"\x80\x0b\x00\x00\x00\x00", known("memcached")),
            (b"\x80\x01\x00\x01\x08\x00", known("memcached")),
            (b"\x80\x01\x00\x01\x00\x00\x00\x06get_id", known("thrift")),
            (b"\x00\x00\x00\x2a\x80\x01", known("thrift")),
            (b"\x00\x00\x00\x06get_id\x01", known("thrift")),
            (b"\x16\x03\x01\x02\x00", Detected::Tls),
        ];
        for (bytes, protocol) in cases {
            assert_eq!(detect(None, bytes), protocol, "{}", bytes.escape_ascii());
            // A byte at a time it comes to the same, and never to another answer on the way.
            for end in 0..bytes.len() {
                let early = detect(None, &bytes[..end]);
                assert!([Detected::Unsure, protocol].contains(&early), "{early:?} at {end}");
            }
        }
    }

    #[test]
    fn a_port_of_one_protocol_takes_every_client_for_one_of_its_own_save_tls() {
        let (hello, line) = (&b"\x16\x03\x01"[..], &b"get /a\r\n"[..]);
        for (spoken, protocol) in [
            (own("http"), known("http")),
            (own("resp"), known("resp")),
            (own("memcached"), known("memcached")),
            (own("thrift"), known("thrift")),
        ] {
            assert_eq!(detect(spoken, b""), Detected::Unsure);
            assert_eq!(detect(spoken, line), protocol);
            assert_eq!(detect(spoken, hello), Detected::Tls);
        }
        assert_eq!(detect(own("memcached"), b"\x80"), known("memcached"));
        // The server speaks first, and nothing that its client says is waited for.
        assert_eq!(detect(own("mysql"), b""), known("mysql"));
    }

    #[test]
    fn what_begins_like_nothing_is_told_at_once() {
        for bytes in
            [&b"\xff"[..], b"$4\r\n", b" GET /", b"{\"a\":1}", b"\x01", b"SSH-2.0-x".get(3..).unwrap()]
        {
            assert_eq!(detect(None, bytes), Detected::Nothing, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn enough_bytes_always_tell() {
        for first in 0..=u8::MAX {
            for rest in [b'a', b'/', b' ', 0, 0x80] {
                let mut bytes = [rest; FIRST_BYTES];
                bytes[0] = first;
                assert_ne!(detect(None, &bytes), Detected::Unsure, "{first} {rest}");
            }
        }
    }
}
