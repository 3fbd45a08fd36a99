//! The memcached protocol, server side, as far as a server of IDs needs it: it reads, and refuses all writes.
//!
//! It has two forms, [`text`] and [`binary`]. A connection's first byte decides its form: 0x80 begins a binary request
//! and cannot begin a line of text.

use crate::protocol::{Begins, Protocol, first_word};

pub mod binary;
pub mod text;

/// The most bytes in a key, in both forms.
pub const KEY_BYTES: usize = 250;

/// memcached's protocol, in both forms.
pub const PROTOCOL: Protocol =
    Protocol { word: "memcached", name: "memcached", port: 11211, server_begins: false, begins };

/// The first byte of a request of the binary form.
pub const MAGIC: u8 = 0x80;

/// Words that begin a request in the text form. Redis has some of them too (`GET`, `INCR`), but Redis clients send them
/// in arrays. Only a person at a terminal types them as a line; the protocol's own port understands that person.
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
        // The magic byte, then an opcode; or Thrift's version, then the message type and the name's length. Opcode 1
        // (set) has eight bytes of extras, where a name's length has its highest byte.
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
