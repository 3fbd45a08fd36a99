//! The example's codec: bytes to requests. It would be a module of `floe-wire`.
//!
//! A request is a line, `@mint orders` and a line feed.

use floe_wire::{Begins, Protocol};

/// The protocol as a whole. No other protocol begins with an `@`.
pub(crate) const PROTOCOL: Protocol = Protocol {
    word: "lines",
    name: "lines",
    port: 7699,
    server_begins: false,
    begins: |bytes| match bytes {
        [] => Begins::Unsure,
        [b'@', ..] => Begins::Yes,
        _ => Begins::No,
    },
};

/// The longest line, with its end.
const LONGEST: usize = 256;

/// Why a line is not a request.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Error {
    /// It is longer than any request.
    TooLong,
    /// It is unknown.
    Unknown,
}

/// The name in the request at the front of the bytes, and the request's length in bytes; `None` until it is complete.
pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(&str, usize)>, Error> {
    let within = bytes.get(..LONGEST).unwrap_or(bytes);
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        return if within.len() < LONGEST { Ok(None) } else { Err(Error::TooLong) };
    };
    let (line, _) = within.split_at(end);
    let name = line.strip_prefix(b"@mint ").and_then(|name| std::str::from_utf8(name).ok());
    name.map(|name| Some((name, end + 1))).ok_or(Error::Unknown)
}
