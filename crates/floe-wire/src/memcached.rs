//! The memcached protocol, server side, as far as a server of IDs needs it: reading, and refusing to be written to.
//!
//! It has two forms, [`text`] and [`binary`]. A connection speaks one of them from its first byte on: 0x80 begins a
//! binary request and can not begin a line of text.

use crate::protocol::{Begins, Protocol, first_word};

pub mod binary;
pub mod text;

/// Bytes at most of a key, in both forms.
pub const KEY_BYTES: usize = 250;

/// memcached's protocol, in both forms.
pub const PROTOCOL: Protocol =
    Protocol { word: "memcached", name: "memcached", port: 11211, server_begins: false, begins };

/// The first byte of a request of the binary form.
pub const MAGIC: u8 = 0x80;

/// Words that begin a request of lines. Redis' protocol has some of them as well (`GET`, `INCR`), but its clients send them
/// as arrays; only a person at a terminal types them there, and is understood on the port of its own.
const WORDS: [&str; 26] = [
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

fn begins(bytes: &[u8]) -> Begins {
    match bytes {
        // The magic, then an opcode; or Thrift's version, then the message's type and its name's length. The opcode 1 (set)
        // comes with eight bytes of extras, where a name's length has its highest byte.
        [MAGIC, 1, 0, _, 0, ..] => Begins::No,
        [MAGIC] | [MAGIC, 1] | [MAGIC, 1, 0] | [MAGIC, 1, 0, _] => Begins::Unsure,
        [MAGIC, ..] => Begins::Yes,
        _ => match first_word(bytes) {
            Ok((word, _)) if WORDS.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())) => {
                Begins::Yes
            }
            Ok(_) => Begins::No,
            Err(known) => known,
        },
    }
}
