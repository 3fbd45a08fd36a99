//! Which protocol a client speaks, told from its first bytes.

use crate::config::Spoken;

/// What a client may speak.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Protocol {
    /// HTTP/1 and HTTP/2, gRPC among it.
    Http,
    /// Redis' protocol.
    Resp,
    /// memcached's protocol of lines.
    MemcachedText,
    /// memcached's binary protocol.
    MemcachedBinary,
    /// Thrift's binary protocol, framed or not.
    Thrift,
    /// The hello of a client that wants TLS.
    Tls,
    /// MySQL's protocol. Its clients wait for the server to speak first, so nothing tells them but their port.
    Mysql,
}

impl Protocol {
    /// What people call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Resp => "Redis' protocol",
            Self::MemcachedText | Self::MemcachedBinary => "memcached's protocol",
            Self::Thrift => "Thrift",
            Self::Mysql => "MySQL's protocol",
            Self::Tls => "TLS",
        }
    }
}

/// How many bytes tell it at most.
pub(super) const ENOUGH: usize = 16;

/// What is known of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Detected {
    Known(Protocol),
    /// Too little has come.
    Unsure,
    /// No protocol begins like that.
    Nothing,
}

/// Words that begin a request of memcached's. Redis' protocol has some of them as well (`GET`, `INCR`), but its clients
/// send them as arrays; only a person at a terminal types them there, and is understood on the port of its own.
const MEMCACHED: [&str; 26] = [
    "get",
    "gets",
    "gat",
    "gats",
    "set",
    "add",
    "replace",
    "append",
    "prepend",
    "cas",
    "delete",
    "touch",
    "stats",
    "version",
    "verbosity",
    "quit",
    "mg",
    "ms",
    "md",
    "ma",
    "me",
    "mn",
    "flush_all",
    "watch",
    "slabs",
    "lru",
];

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

/// Tells the protocol from the first bytes of a connection to a port where `spoken` is spoken.
pub(super) fn detect(spoken: Spoken, bytes: &[u8]) -> Detected {
    let protocol = match (spoken, bytes) {
        (Spoken::Any, _) => return of_any(bytes),
        (Spoken::Mysql, _) => Protocol::Mysql,
        (_, []) => return Detected::Unsure,
        // None of them begins so.
        (_, [0x16, ..]) => Protocol::Tls,
        (Spoken::Http, _) => Protocol::Http,
        // A browser that a web page has sent here: what follows is no command.
        (Spoken::Resp | Spoken::Memcached, [first, ..]) if first.is_ascii_alphabetic() => {
            match of_line(bytes) {
                Detected::Known(Protocol::Http) => return Detected::Nothing,
                Detected::Unsure => return Detected::Unsure,
                _ if spoken == Spoken::Resp => Protocol::Resp,
                _ => Protocol::MemcachedText,
            }
        }
        (Spoken::Resp, _) => Protocol::Resp,
        (Spoken::Memcached, [0x80, ..]) => Protocol::MemcachedBinary,
        (Spoken::Memcached, _) => Protocol::MemcachedText,
        (Spoken::Thrift, _) => Protocol::Thrift,
    };
    Detected::Known(protocol)
}

fn of_any(bytes: &[u8]) -> Detected {
    let known = Detected::Known;
    match bytes {
        [] => Detected::Unsure,
        [0x16, ..] => known(Protocol::Tls),
        // A frame's length or, unframed and not strict, a method name's.
        [0, ..] => known(Protocol::Thrift),
        // memcached's magic, then an opcode; or Thrift's version, then the message's type and its name's length. The
        // opcode 1 (set) comes with eight bytes of extras, where a name's length has its highest byte.
        [0x80, 1, 0, _, 0, ..] => known(Protocol::Thrift),
        [0x80, 1, 0, _, ..] if bytes.len() > 4 => known(Protocol::MemcachedBinary),
        [0x80] | [0x80, 1] | [0x80, 1, 0] | [0x80, 1, 0, _] => Detected::Unsure,
        [0x80, ..] => known(Protocol::MemcachedBinary),
        [b'*' | b'\r' | b'\n', ..] => known(Protocol::Resp),
        [first, ..] if first.is_ascii_alphabetic() => of_line(bytes),
        _ => Detected::Nothing,
    }
}

/// A line of words: HTTP's, memcached's, or one that somebody types to Redis.
fn of_line(bytes: &[u8]) -> Detected {
    let end = bytes.iter().position(|byte| !byte.is_ascii_alphabetic() && *byte != b'_');
    let Some(end) = end else {
        return if bytes.len() < ENOUGH { Detected::Unsure } else { Detected::Known(Protocol::Resp) };
    };
    let (word, rest) = bytes.split_at(end);
    let is = |other: &&str| word.eq_ignore_ascii_case(other.as_bytes());
    if METHODS.iter().any(|method| word == method.as_bytes()) || word == b"PRI" {
        // More than one space is no HTTP, and still its error.
        let target = rest.trim_ascii_start();
        match (rest, target) {
            ([b' ', ..], []) if bytes.len() < ENOUGH => return Detected::Unsure,
            ([b' ', ..], [b'/' | b'*', ..]) => return Detected::Known(Protocol::Http),
            ([b' ', ..], [b'h', ..]) if b"http".starts_with(&target[..target.len().min(4)]) => {
                match target.len() {
                    4.. => return Detected::Known(Protocol::Http),
                    _ if bytes.len() < ENOUGH => return Detected::Unsure,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Detected::Known(if MEMCACHED.iter().any(is) { Protocol::MemcachedText } else { Protocol::Resp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_is_told_by_how_it_begins() {
        let cases: [(&[u8], Protocol); 27] = [
            (b"GET / HTTP/1.1\r\n", Protocol::Http),
            (b"GET  / HTTP/1.1\r\n", Protocol::Http),
            (b"PROPFIND /a HTTP/1.1\r\n", Protocol::Http),
            (b"GET  a\r\n", Protocol::MemcachedText),
            (b"GET http://a/ HTTP/1.1", Protocol::Http),
            (b"OPTIONS * HTTP/1.1", Protocol::Http),
            (b"PRI * HTTP/2.0\r\n", Protocol::Http),
            (b"DELETE /v1", Protocol::Http),
            (b"*1\r\n$4\r\nPING\r\n", Protocol::Resp),
            (b"PING\r\n", Protocol::Resp),
            (b"INCR a\r\n", Protocol::Resp),
            (b"incrby a 5\r\n", Protocol::Resp),
            (b"\r\n", Protocol::Resp),
            (b"get a b\r\n", Protocol::MemcachedText),
            (b"GET a\r\n", Protocol::MemcachedText),
            (b"gets ht\r\n", Protocol::MemcachedText),
            (b"version\r\n", Protocol::MemcachedText),
            (b"QUIT\r\n", Protocol::MemcachedText),
            (b"mg orders v\r\n", Protocol::MemcachedText),
            (b"mn\r\n", Protocol::MemcachedText),
            (b"\x80\x00\x00\x01\x00\x00", Protocol::MemcachedBinary),
            (b"\x80\x0b\x00\x00\x00\x00", Protocol::MemcachedBinary),
            (b"\x80\x01\x00\x01\x08\x00", Protocol::MemcachedBinary),
            (b"\x80\x01\x00\x01\x00\x00\x00\x06get_id", Protocol::Thrift),
            (b"\x00\x00\x00\x2a\x80\x01", Protocol::Thrift),
            (b"\x00\x00\x00\x06get_id\x01", Protocol::Thrift),
            (b"\x16\x03\x01\x02\x00", Protocol::Tls),
        ];
        for (bytes, protocol) in cases {
            assert_eq!(detect(Spoken::Any, bytes), Detected::Known(protocol), "{}", bytes.escape_ascii());
            // A byte at a time it comes to the same, and never to another answer on the way.
            for end in 0..bytes.len() {
                let early = detect(Spoken::Any, &bytes[..end]);
                assert!([Detected::Unsure, Detected::Known(protocol)].contains(&early), "{early:?} at {end}");
            }
        }
    }

    #[test]
    fn a_port_of_one_protocol_takes_every_client_for_one_of_its_own_save_tls() {
        let (hello, line) = (&b"\x16\x03\x01"[..], &b"get /a\r\n"[..]);
        for (spoken, protocol) in [
            (Spoken::Http, Protocol::Http),
            (Spoken::Resp, Protocol::Resp),
            (Spoken::Memcached, Protocol::MemcachedText),
            (Spoken::Thrift, Protocol::Thrift),
        ] {
            assert_eq!(detect(spoken, b""), Detected::Unsure);
            assert_eq!(detect(spoken, line), Detected::Known(protocol));
            assert_eq!(detect(spoken, hello), Detected::Known(Protocol::Tls));
        }
        assert_eq!(detect(Spoken::Memcached, b"\x80"), Detected::Known(Protocol::MemcachedBinary));
        // The server speaks first, and nothing that its client says is waited for.
        assert_eq!(detect(Spoken::Mysql, b""), Detected::Known(Protocol::Mysql));
    }

    #[test]
    fn what_begins_like_nothing_is_told_at_once() {
        for bytes in
            [&b"\xff"[..], b"$4\r\n", b" GET /", b"{\"a\":1}", b"\x01", b"SSH-2.0-x".get(3..).unwrap()]
        {
            assert_eq!(detect(Spoken::Any, bytes), Detected::Nothing, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn enough_bytes_always_tell() {
        for first in 0..=u8::MAX {
            for rest in [b'a', b'/', b' ', 0, 0x80] {
                let mut bytes = [rest; ENOUGH];
                bytes[0] = first;
                assert_ne!(detect(Spoken::Any, &bytes), Detected::Unsure, "{first} {rest}");
            }
        }
    }
}
