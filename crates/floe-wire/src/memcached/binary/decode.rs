//! Requests, from packets.

use std::fmt;

use crate::cursor::Cursor;
use crate::memcached::KEY_BYTES;

/// Limits on a client's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of one request: its header and its body.
    pub request_bytes: usize,
}

/// Reads one connection's requests. It keeps nothing between two calls: the header alone gives a request's length.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    limits: Limits,
}

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The operation that the client asks for.
    pub operation: Operation,
    /// The operation's number, which the reply repeats.
    pub opcode: u8,
    /// The client's own number for this request, which the reply repeats.
    pub opaque: [u8; 4],
    /// In each kind of get: 1 to [`KEY_BYTES`] bytes without control characters. In `stat`: empty for all figures. In
    /// an operation that is not served: as the client sent it.
    pub key: &'a [u8],
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The value of a key.
    Get,
    /// The same, without a reply if there is no such key.
    GetQuietly,
    /// The value of a key, and the key.
    GetWithKey,
    /// The same, without a reply if there is no such key.
    GetWithKeyQuietly,
    /// A reply, by which a client knows that the quiet requests before it have been served.
    Noop,
    /// The server's version.
    Version,
    /// Figures, one reply each, then an empty one.
    Stat,
    /// A reply, and then the end of the connection.
    Quit,
    /// The end of the connection.
    QuitQuietly,
    /// A served operation whose key, extras or value do not belong to it: [`Status::InvalidArguments`](super::Status).
    Invalid,
    /// Any other operation, such as one that would store something: [`Status::UnknownCommand`](super::Status).
    Unknown,
}

/// Why a stream of requests cannot continue. Reply with [`Error::encode`], then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A request begins with a byte other than 0x80. No reply is possible.
    Magic(u8),
    /// The key and the extras are longer than the body that they are in.
    Header {
        /// The request's, for the reply.
        opcode: u8,
        /// The request's, for the reply.
        opaque: [u8; 4],
    },
    /// A request is longer than the limit.
    TooLarge {
        /// The request's, for the reply.
        opcode: u8,
        /// The request's, for the reply.
        opaque: [u8; 4],
        /// The limit.
        limit: usize,
    },
}

const REQUEST: u8 = 0x80;
pub(super) const HEADER_BYTES: usize = 24;

impl Decoder {
    /// A decoder of one connection's requests.
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }

    /// The request at the front of `bytes`, and its length in bytes (at least 24); `None` until it has arrived
    /// completely.
    ///
    /// # Errors
    /// [`Error`] if these bytes cannot become a request, whatever follows. A body over the limit is refused as soon as
    /// its header has arrived.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Result<Option<(Request<'a>, usize)>, Error> {
        match bytes.first() {
            None | Some(&REQUEST) => {}
            Some(&other) => return Err(Error::Magic(other)),
        }
        let mut cursor = Cursor::new(bytes);
        let Some(header) = cursor.array::<HEADER_BYTES>() else { return Ok(None) };
        // floe ignores the data type, the partition and the cas.
        let [_, opcode, key0, key1, extras_bytes, _, _, _, body @ .., b0, b1, b2, b3, _, _, _, _, _, _, _, _] =
            header;
        let opaque = [b0, b1, b2, b3];
        let limit = self.limits.request_bytes;
        let Ok(body_bytes) = usize::try_from(u32::from_be_bytes(body)) else {
            return Err(Error::TooLarge { opcode, opaque, limit });
        };
        let (key_bytes, extras_bytes) =
            (usize::from(u16::from_be_bytes([key0, key1])), usize::from(extras_bytes));
        if key_bytes + extras_bytes > body_bytes {
            return Err(Error::Header { opcode, opaque });
        }
        if body_bytes.saturating_add(HEADER_BYTES) > limit {
            return Err(Error::TooLarge { opcode, opaque, limit });
        }
        let Some(body) = cursor.take(body_bytes) else { return Ok(None) };
        let key = body.get(extras_bytes..).and_then(|rest| rest.get(..key_bytes)).unwrap_or_default();
        let operation = operation(opcode, key, body.len() > key.len());
        Ok(Some((Request { operation, opcode, opaque, key }, cursor.position())))
    }
}

/// `more`: whether the body has extras or a value. No served operation has either.
fn operation(opcode: u8, key: &[u8], more: bool) -> Operation {
    let operation = match opcode {
        0x00 => Operation::Get,
        0x07 => Operation::Quit,
        0x09 => Operation::GetQuietly,
        0x0a => Operation::Noop,
        0x0b => Operation::Version,
        0x0c => Operation::GetWithKey,
        0x0d => Operation::GetWithKeyQuietly,
        0x10 => Operation::Stat,
        0x17 => Operation::QuitQuietly,
        _ => return Operation::Unknown,
    };
    let usable = key.len() <= KEY_BYTES && !key.iter().any(u8::is_ascii_control);
    let fits = match operation {
        Operation::Get | Operation::GetQuietly | Operation::GetWithKey | Operation::GetWithKeyQuietly => {
            usable && !key.is_empty()
        }
        Operation::Stat => usable,
        _ => key.is_empty(),
    };
    if fits && !more { operation } else { Operation::Invalid }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic(byte) => write!(formatter, "a request begins with 0x80, not {byte:#04x}"),
            Self::Header { .. } => formatter.write_str("a key and extras that are longer than their body"),
            Self::TooLarge { limit, .. } => write!(formatter, "a request of more than {limit} bytes"),
        }
    }
}

impl std::error::Error for Error {}
