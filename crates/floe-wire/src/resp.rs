//! The Redis protocol, server side: commands in, replies in version 2 or 3 out.
//!
//! A client sends an array of bulk strings (`*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n`), or one line as people type it
//! (`INCR orders\r\n`, quoted as in redis-cli). It may send any number of them without waiting. Commands are the same
//! in both versions of the protocol. The client chooses the version with `HELLO`; it changes only the replies.
//!
//! Source: the [protocol's specification](https://redis.io/docs/latest/develop/reference/protocol-spec/); for lines,
//! the rules of Redis' own `sdssplitargs`; for errors in broken input, its `processMultibulkBuffer`.
//!
//! # What it does not do
//! It knows no commands. The server knows how many arguments `INCR` takes, and that a web page's `POST` gets no answer.
//! It reads no replies, and writes no pushes.
//!
//! ```
//! use floe_wire::resp::{Decoder, Encoder, Limits, Version};
//!
//! let mut decoder = Decoder::new(Limits { request_bytes: 65_536, arguments: 1_024 });
//! let input = b"*2\r\n$4\r\nINCR\r\n$6\r\norders\r\nPING\r\n*1\r\n$4";
//! let mut at = 0;
//! let mut output = Vec::new();
//! while let Some((request, consumed)) = decoder.decode(&input[at..])? {
//!     at += consumed;
//!     let mut reply = Encoder::new(&mut output, Version::Two);
//!     match request.command() {
//!         Some(command) if command.eq_ignore_ascii_case(b"INCR") => reply.integer(1),
//!         Some(command) if command.eq_ignore_ascii_case(b"PING") => reply.simple("PONG"),
//!         Some(_) => reply.error("ERR", "unknown command"),
//!         None => {} // an empty line: Redis answers nothing
//!     }
//! }
//! assert_eq!(&input[at..], b"*1\r\n$4", "the third one has not come yet");
//! assert_eq!(output, b":1\r\n+PONG\r\n");
//! # Ok::<(), floe_wire::resp::Error>(())
//! ```
mod decode;
mod encode;
mod error;
mod line;

use crate::protocol::{Begins, Protocol};

pub use decode::{Decoder, Limits, Request};
pub use encode::{Encoder, Version};
pub use error::Error;

/// Redis' protocol, in both versions.
pub const PROTOCOL: Protocol =
    Protocol { word: "resp", name: "Redis", port: 6379, server_begins: false, begins };

/// Arrays; empty lines, which Redis skips; and words that a person types, some of which other protocols have too.
fn begins(bytes: &[u8]) -> Begins {
    match bytes {
        [] => Begins::Unsure,
        [b'*' | b'\r' | b'\n', ..] => Begins::Yes,
        [first, ..] if first.is_ascii_alphabetic() => Begins::Yes,
        _ => Begins::No,
    }
}

#[cfg(test)]
mod tests;
