//! Thrift's binary protocol, server side, as far as a service of plain calls needs it: Twitter Snowflake's.
//!
//! A client may frame its messages (a length before each) or not. It may write them strictly (version and type first)
//! or not (the name first). [`Decoder`] recognises the four forms by each message's first five bytes. It puts the form
//! into a [`Header`], and the reply has the same form, name and sequence id.
//!
//! | first word | fifth byte | the message is |
//! |---|---|---|
//! | top bit set | any | unframed, strict |
//! | a length | a letter or `_` | unframed, not strict: the length is the name's |
//!  a length | anything else | framed; strict if the fifth byte has its top bit set |
//!
//! A name's length has a zero in its first byte, so no frame begins with a letter.
//!
//! Source: Apache Thrift, `doc/specs/thrift-binary-protocol.md` and `doc/specs/thrift-rpc.md` ("Framed vs. unframed
//! transport", "Message exchange"); Twitter Snowflake 2010, `src/main/thrift/Snowflake.thrift`.
//!
//! # Example
//! ```
//! use floe_wire::thrift::{self, Decoder, Limits};
//!
//! let call = b"\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x07\x0b\x00\x01\x00\x00\x00\x03app\x00";
//! let (request, consumed) = Decoder::new(Limits::default()).decode(call)?.expect("a whole message");
//! assert_eq!(consumed, call.len());
//! assert_eq!((request.header.name, request.header.sequence), (&b"get_id"[..], 7));
//! assert!(request.arguments?.string(1).is_some_and(thrift::is_useragent));
//!
//! let mut reply = Vec::new();
//! thrift::reply_i64(&mut reply, &request.header, 42);
//! assert_eq!(reply, b"\x80\x01\x00\x02\x00\x00\x00\x06get_id\x00\x00\x00\x07\x0a\x00\x00\0\0\0\0\0\0\0\x2a\0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use self::skip::Skip;
use crate::cursor::Cursor;
use crate::protocol::{Begins, Protocol};

mod skip;

/// Thrift's binary protocol, framed or not.
pub const PROTOCOL: Protocol =
    Protocol { word: "thrift", name: "Thrift", port: 7609, server_begins: false, begins };

fn begins(bytes: &[u8]) -> Begins {
    match bytes {
        // A frame's length, or the name's length if unframed and not strict; or the version, the type and the name's length.
        [0, ..] | [0x80, 1, 0, _, 0, ..] => Begins::Yes,
        [] | [0x80] | [0x80, 1] | [0x80, 1, 0] | [0x80, 1, 0, _] => Begins::Unsure,
        _ => Begins::No,
    }
}

/// Limits on a message. A message beyond one is refused as soon as the length that says so has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message with its header, without the frame's own length. Default: 16 KiB.
    pub message: usize,
    /// Bytes of a method's name. Default: 128.
    pub name: usize,
    /// Nested structs, lists, sets and maps, including the arguments' struct. Empty ones, and those that hold only
    /// numbers, are skipped at once and not counted. Default: 32.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { message: 16 << 10, name: 128, depth: 32 }
    }
}

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call, which gets one answer.
    Call,
    /// A call that gets no answer, not even an error.
    Oneway,
    /// A type that no client sends to a server: answer [`Exception::InvalidMessageType`].
    Other(u8),
}

/// How a message began. Its answer begins the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Whether a length stands before each message.
    pub framed: bool,
    /// Whether version and type stand before the name.
    pub strict: bool,
    /// The message's type.
    pub kind: Kind,
    /// The method's name: any bytes, at most [`Limits::name`]. Empty if an [`Error`] came before it.
    pub name: &'a [u8],
    /// The client's number for its call: any integer. Zero if an [`Error`] came before it.
    pub sequence: i32,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// How it began.
    pub header: Header<'a>,
    /// The method's arguments; or what is wrong with them, if a frame says where the next message begins.
    pub arguments: Result<Arguments<'a>, Fault>,
}

/// A method's arguments: a struct that is known to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl<'a> Arguments<'a> {
    /// The string in field `id`. As in Thrift's generated code, a field with that number and another type is skipped,
    /// and the last of several counts.
    #[must_use]
    pub fn string(&self, id: i16) -> Option<&'a [u8]> {
        let mut found = None;
        let mut skip = Skip::default();
        let mut cursor = Cursor::new(self.bytes);
        while let Some((kind, field)) = skip::field(&mut cursor) {
            let value = cursor.take(skip.value(kind, cursor.rest(), self.depth)?)?;
            if kind == skip::STRING && field == id {
                found = value.split_at_checked(4).map(|(_length, text)| text);
            }
        }
        found
    }
}

/// The fault of a message. Its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The message is longer than [`Limits::message`], given here.
    TooLong(usize),
    /// The method's name is longer than [`Limits::name`], given here.
    NameTooLong(usize),
    /// The nesting is deeper than [`Limits::depth`], given here.
    TooDeep(usize),
    /// A length or a count is negative.
    Negative,
    /// A value goes past the end of its frame.
    Short,
    /// Bytes remain in the frame after the message.
    Trailing,
    /// A version other than 1.
    Version,
    /// A value has a type that Thrift does not have.
    Type(u8),
}

impl fmt::Display for Fault {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(text, "a message has at most {limit} bytes"),
            Self::NameTooLong(limit) => write!(text, "a method's name has at most {limit} bytes"),
            Self::TooDeep(limit) => write!(text, "a message nests at most {limit} values"),
            Self::Negative => text.write_str("a length is negative"),
            Self::Short => text.write_str("a value goes past the end of its frame"),
            Self::Trailing => text.write_str("a frame holds more than one message"),
            Self::Version => text.write_str("the message is not of version 1 of Thrift's binary protocol"),
            Self::Type(kind) => write!(text, "there is no type {kind}"),
        }
    }
}

impl std::error::Error for Fault {}

/// Why the stream cannot continue: nobody knows where the next message begins. Answer with [`exception`] and
/// [`Exception::Protocol`], then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error<'a> {
    /// What is wrong.
    pub fault: Fault,
    /// How the message began, as far as it was read.
    pub header: Header<'a>,
}

impl fmt::Display for Error<'_> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(text)
    }
}

impl std::error::Error for Error<'_> {}

/// The arguments after the header, and the message's length.
type Whole<'a> = (Result<Arguments<'a>, Fault>, usize);

/// Reads the messages of one connection. Between two calls it keeps its position in an unframed message.
#[derive(Clone, Debug)]
pub struct Decoder {
    limits: Limits,
    skip: Skip,
    resumes: bool,
}

impl Decoder {
    /// A decoder for a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, skip: Skip::default(), resumes: false }
    }

    /// The message at the front of `bytes` and its length; `None` until it has arrived completely. After `None`, the
    /// next call gets the same bytes and the new ones. Bytes that were read are not read again.
    ///
    /// # Errors
    /// The message exceeds a limit, or the start of the next one cannot be found.
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<(Request<'a>, usize)>, Error<'a>> {
        let mut header = Header { framed: false, strict: true, kind: Kind::Call, name: b"", sequence: 0 };
        let decoded = self.message(bytes, &mut header);
        self.resumes &= matches!(decoded, Ok(None));
        match decoded {
            Ok(whole) => Ok(whole.map(|(arguments, consumed)| (Request { header, arguments }, consumed))),
            Err(fault) => Err(Error { fault, header }),
        }
    }

    fn message<'a>(&mut self, bytes: &'a [u8], header: &mut Header<'a>) -> Result<Option<Whole<'a>>, Fault> {
        let limits = self.limits;
        let mut cursor = Cursor::new(bytes);
        let Some(word) = cursor.array().map(i32::from_be_bytes) else { return Ok(None) };
        if word >= 0 {
            header.framed = true;
            let Some(length) = usize::try_from(word).ok().filter(|length| *length <= limits.message) else {
                return Err(Fault::TooLong(limits.message));
            };
            if length == 0 {
                return Err(Fault::Short);
            }
            let Some(fifth) = cursor.rest().first() else { return Ok(None) };
            header.framed = !(fifth.is_ascii_alphabetic() || *fifth == b'_');
            if header.framed {
                return self.frame(&mut cursor, length, header);
            }
        }
        let mut cursor = Cursor::new(bytes);
        if !head(&mut cursor, header, limits.name)? {
            return Ok(None);
        }
        let start = cursor.position();
        if !self.resumes {
            self.skip.begin();
            self.resumes = true;
        }
        let room = limits.message.saturating_sub(start);
        let skipped = self.skip.go_on(cursor.rest(), room, limits.depth);
        if !skipped.map_err(|fault| {
            if let Fault::TooLong(_) = fault { Fault::TooLong(limits.message) } else { fault }
        })? {
            return Ok(None);
        }
        Ok(cursor.take(self.skip.position()).map(|bytes| {
            let arguments = Arguments { bytes, depth: limits.depth };
            (Ok(arguments), cursor.position())
        }))
    }

    /// A frame, once it is complete. Nothing of an incomplete one is examined.
    fn frame<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        length: usize,
        header: &mut Header<'a>,
    ) -> Result<Option<Whole<'a>>, Fault> {
        let Some(frame) = cursor.take(length) else { return Ok(None) };
        let mut inside = Cursor::new(frame);
        if !head(&mut inside, header, self.limits.name)? {
            return Err(Fault::Short);
        }
        let bytes = inside.rest();
        self.skip.begin();
        let arguments = match self.skip.go_on(bytes, bytes.len(), self.limits.depth) {
            Ok(true) if self.skip.position() == bytes.len() => {
                Ok(Arguments { bytes, depth: self.limits.depth })
            }
            Ok(true) => Err(Fault::Trailing),
            Ok(false) | Err(Fault::TooLong(_)) => Err(Fault::Short),
            Err(fault) => Err(fault),
        };
        Ok(Some((arguments, cursor.position())))
    }
}

/// Reads the part before the arguments; `false` if it has not arrived completely.
fn head<'a>(cursor: &mut Cursor<'a>, header: &mut Header<'a>, limit: usize) -> Result<bool, Fault> {
    let Some(word) = cursor.array::<4>() else { return Ok(false) };
    let mut kind = None;
    let mut length = i32::from_be_bytes(word);
    header.strict = length < 0;
    if header.strict {
        let [high, low, _, code] = word;
        if (high, low) != (0x80, 0x01) {
            return Err(Fault::Version);
        }
        kind = Some(code);
        let Some(next) = cursor.array().map(i32::from_be_bytes) else { return Ok(false) };
        length = next;
    }
    let length = usize::try_from(length).map_err(|_| Fault::Negative)?;
    if length > limit {
        return Err(Fault::NameTooLong(limit));
    }
    let Some(name) = cursor.take(length) else { return Ok(false) };
    let Some(kind) = kind.or_else(|| cursor.byte()) else { return Ok(false) };
    let Some(sequence) = cursor.array().map(i32::from_be_bytes) else { return Ok(false) };
    header.name = name;
    header.sequence = sequence;
    header.kind = match kind {
        CALL => Kind::Call,
        ONEWAY => Kind::Oneway,
        other => Kind::Other(other),
    };
    Ok(true)
}

/// Whether Twitter's server accepts this user agent: `[a-zA-Z][a-zA-Z\-0-9]*`, the whole text.
///
/// Source: Twitter Snowflake 2010, `IdWorker.scala`, `AgentParser`.
///
/// ```
/// use floe_wire::thrift::is_useragent;
/// assert!(is_useragent(b"tweet-store2"));
/// assert!(!is_useragent(b"2nd") && !is_useragent(b"") && !is_useragent(b"app\n"));
/// ```
#[must_use]
pub fn is_useragent(text: &[u8]) -> bool {
    match text {
        [first, rest @ ..] => {
            first.is_ascii_alphabetic()
                && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        }
        [] => false,
    }
}

/// The number of a TApplicationException.
///
/// Source: Apache Thrift, `doc/specs/thrift-rpc.md`, "Response struct".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Exception {
    /// The service has no such method.
    UnknownMethod = 1,
    /// The message is not a call.
    InvalidMessageType = 2,
    /// The reply would belong to another method.
    WrongMethodName = 3,
    /// There is no result.
    MissingResult = 5,
    /// The server failed to do the call.
    Internal = 6,
    /// The message's bytes break the protocol.
    Protocol = 7,
}

/// Answers a call with an integer. Writes nothing if the call was oneway.
pub fn reply_i64(out: &mut Vec<u8>, header: &Header<'_>, value: i64) {
    // Field 0, an i64; its value; the end of the struct.
    if begin(out, header, REPLY, 3 + 8 + 1) {
        out.extend_from_slice(&[skip::I64, 0, 0]);
        out.extend_from_slice(&value.to_be_bytes());
        out.push(skip::STOP);
    }
}

/// Answers a call with a TApplicationException. Writes nothing if the call was oneway. At most the first 4 KiB of the
/// message are sent; an empty message is left out.
pub fn exception(out: &mut Vec<u8>, header: &Header<'_>, exception: Exception, message: &str) {
    let end = (0..=message.len().min(4 << 10)).rev().find(|at| message.is_char_boundary(*at));
    let shown = end.and_then(|end| message.get(..end)).unwrap_or_default();
    let text = if shown.is_empty() { 0 } else { 3 + 4 + shown.len() };
    if begin(out, header, EXCEPTION, text + 3 + 4 + 1) {
        if !shown.is_empty() {
            out.extend_from_slice(&[skip::STRING, 0, 1]);
            push_length(out, shown.len());
            out.extend_from_slice(shown.as_bytes());
        }
        out.extend_from_slice(&[skip::I32, 0, 2]);
        out.extend_from_slice(&(exception as i32).to_be_bytes());
        out.push(skip::STOP);
    }
}

// Types of messages: thrift-binary-protocol.md, "Message".
const CALL: u8 = 1;
const REPLY: u8 = 2;
const EXCEPTION: u8 = 3;
const ONEWAY: u8 = 4;

/// Writes the part before a body of that length, unless the call was oneway.
fn begin(out: &mut Vec<u8>, header: &Header<'_>, kind: u8, body: usize) -> bool {
    if header.kind == Kind::Oneway {
        return false;
    }
    let head = if header.strict { 4 + 4 + 4 } else { 4 + 1 + 4 };
    out.reserve(4 + head + header.name.len() + body);
    if header.framed {
        push_length(out, head + header.name.len() + body);
    }
    if header.strict {
        out.extend_from_slice(&[0x80, 0x01, 0, kind]);
    }
    push_length(out, header.name.len());
    out.extend_from_slice(header.name);
    if !header.strict {
        out.push(kind);
    }
    out.extend_from_slice(&header.sequence.to_be_bytes());
    true
}

/// The length is at most that of a decoded name, or of a message cut above.
fn push_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests;
