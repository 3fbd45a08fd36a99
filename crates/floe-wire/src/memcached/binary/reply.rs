//! Writes replies as packets. Each function appends one reply to a connection's output, with its request's opcode and opaque.

use super::decode::{Error, HEADER_BYTES, Operation, Request};

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// A request over a limit.
    TooLarge = 0x03,
    /// A key, extras or a value that do not belong to the operation.
    InvalidArguments = 0x04,
    /// The client lacks the right, or has not authenticated.
    Authentication = 0x20,
    /// An operation that is not served.
    UnknownCommand = 0x81,
    /// The server failed.
    Internal = 0x84,
    /// The server is too busy now.
    Busy = 0x85,
    /// The same request may succeed later.
    Temporary = 0x86,
}

const REPLY: u8 = 0x81;
const KEY_NOT_FOUND: u16 = 0x01;

/// A value, the reply to each kind of get. It includes the key if the operation asks for it.
///
/// # Panics
/// If key and value together are of 2^32 bytes or more.
pub fn value(output: &mut Vec<u8>, request: &Request<'_>, value: &[u8], cas: u64) {
    packet(output, request, 0, Parts { flags: &[0; 4], key: asked_for(request), value, cas });
}

/// No such key: the reply to [`Operation::Get`] and [`Operation::GetWithKey`]. The quiet operations get no reply then.
/// As in memcached, it holds the key if the operation asks for it, and a text otherwise.
pub fn not_found(output: &mut Vec<u8>, request: &Request<'_>) {
    let key = asked_for(request);
    let value: &[u8] = if key.is_empty() { b"Not found" } else { b"" };
    packet(output, request, KEY_NOT_FOUND, Parts { key, value, ..Parts::default() });
}

/// An empty reply: to [`Operation::Noop`] and [`Operation::Quit`], and after the last figure of [`Operation::Stat`].
pub fn done(output: &mut Vec<u8>, request: &Request<'_>) {
    packet(output, request, 0, Parts::default());
}

/// The version, to [`Operation::Version`].
///
/// # Panics
/// If the version is of 2^32 bytes or more.
pub fn version(output: &mut Vec<u8>, request: &Request<'_>, version: &str) {
    packet(output, request, 0, Parts { value: version.as_bytes(), ..Parts::default() });
}

/// One figure, to [`Operation::Stat`]; after the last one comes [`done`].
///
/// # Panics
/// If the name is empty, which would end the figures, or of 2^16 bytes or more; or the value of 2^32 or more.
pub fn stat(output: &mut Vec<u8>, request: &Request<'_>, name: &str, value: &str) {
    assert!(!name.is_empty(), "a figure without a name would end the figures");
    packet(output, request, 0, Parts { key: name.as_bytes(), value: value.as_bytes(), ..Parts::default() });
}

/// An error and its text.
///
/// # Panics
/// If the message is of 2^32 bytes or more.
pub fn error(output: &mut Vec<u8>, request: &Request<'_>, status: Status, message: &str) {
    packet(output, request, status as u16, Parts { value: message.as_bytes(), ..Parts::default() });
}

/// The key, if the operation asks for it.
fn asked_for<'a>(request: &Request<'a>) -> &'a [u8] {
    match request.operation {
        Operation::GetWithKey | Operation::GetWithKeyQuietly => request.key,
        _ => &[],
    }
}

#[derive(Default)]
struct Parts<'a> {
    flags: &'a [u8],
    key: &'a [u8],
    value: &'a [u8],
    cas: u64,
}

fn packet(output: &mut Vec<u8>, request: &Request<'_>, status: u16, parts: Parts<'_>) {
    let Parts { flags, key, value, cas } = parts;
    let body_bytes = flags.len() + key.len() + value.len();
    let key_bytes = u16::try_from(key.len()).expect("a key is shorter than 2^16 bytes");
    let flags_bytes = u8::try_from(flags.len()).expect("there are none, or four");
    output.reserve(HEADER_BYTES + body_bytes);
    output.extend_from_slice(&[REPLY, request.opcode]);
    output.extend_from_slice(&key_bytes.to_be_bytes());
    output.extend_from_slice(&[flags_bytes, 0]);
    output.extend_from_slice(&status.to_be_bytes());
    output.extend_from_slice(
        &u32::try_from(body_bytes).expect("a body is shorter than 2^32 bytes").to_be_bytes(),
    );
    output.extend_from_slice(&request.opaque);
    output.extend_from_slice(&cas.to_be_bytes());
    output.extend_from_slice(flags);
    output.extend_from_slice(key);
    output.extend_from_slice(value);
}

impl Error {
    /// Appends the last reply before the connection is closed. Appends nothing if the client did not send a request.
    ///
    /// ```
    /// let mut output = Vec::new();
    /// floe_wire::memcached::binary::Error::Header { opcode: 1, opaque: *b"abcd" }.encode(&mut output);
    /// assert_eq!(&output[..8], b"\x81\x01\0\0\0\0\0\x04");
    /// ```
    pub fn encode(&self, output: &mut Vec<u8>) {
        let (status, opcode, opaque) = match *self {
            Self::Magic(_) => return,
            Self::Header { opcode, opaque } => (Status::InvalidArguments, opcode, opaque),
            Self::TooLarge { opcode, opaque, .. } => (Status::TooLarge, opcode, opaque),
        };
        let request = Request { operation: Operation::Invalid, opcode, opaque, key: &[] };
        error(output, &request, status, &self.to_string());
    }
}
