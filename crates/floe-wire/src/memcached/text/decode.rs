//! Requests, from lines.

use std::fmt;

use super::reply;
use crate::memcached::KEY_BYTES;

/// What a client may ask for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of one request: its line, and the data that follows the line.
    pub request_bytes: usize,
}

/// Reads one connection's requests. Between two calls it keeps how far it has looked, nothing else.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    state: State,
}

/// How far the request at the front has been read. Positions count from that request's first byte.
#[derive(Clone, Copy, Debug)]
enum State {
    /// There is no line end before `searched`.
    Line { searched: usize },
    /// A storage command's line has been read; its data begins at `start`.
    Data { start: usize, length: usize, noreply: bool },
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// `get` or `gets` with at least one key; each is answered by a value, and then comes `END`.
    Get {
        /// The keys, in the order in which they came.
        keys: Keys<'a>,
        /// `gets`: each value is to carry a cas number.
        cas: bool,
    },
    /// `stats`, and of what, if the client said it (`stats settings`).
    Stats(Option<&'a [u8]>),
    /// `version`.
    Version,
    /// `verbosity`, which is answered with `OK`, unless the client wants no reply.
    Verbosity {
        /// Whether the client waits for no reply.
        noreply: bool,
    },
    /// `quit`: the connection is to be closed without a reply.
    Quit,
    /// A command that would store or change something, whose data has been read. It is to be refused, unless the
    /// client wants no reply: that client would take one for the answer to its next request.
    Refused {
        /// Whether the client waits for no reply.
        noreply: bool,
    },
    /// A command whose argument can not be served: `CLIENT_ERROR`.
    Invalid(Invalid),
    /// Anything else: `ERROR`.
    Unknown,
}

/// Why a command that was understood can not be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// A key of more than [`KEY_BYTES`] bytes.
    KeyTooLong,
    /// A control character in a key.
    KeyControl,
}

/// The keys of a `get`, each from 1 to [`KEY_BYTES`] bytes without control characters.
#[derive(Clone)]
pub struct Keys<'a>(Words<'a>);

/// Why a stream of requests can not go on. The reply to it is [`Error::encode`]'s; then the connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A line, or a line with its data, of more bytes than this limit.
    TooLarge(usize),
    /// A storage command that does not say how much data follows it: what comes next can not be told from commands.
    Storage,
    /// Data of another length than the storage command said.
    Data,
}

const START: State = State::Line { searched: 0 };

impl Decoder {
    /// A decoder at the beginning of a connection.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: START }
    }

    /// The request at the front of `bytes`, and how many bytes of them it takes (at least one); `None` while it has
    /// not come whole.
    ///
    /// After `None`, the next call's bytes begin with these again, and more have come.
    ///
    /// # Errors
    /// [`Error`] if what has come can not become a request, whatever follows. Data over the limit is refused when its
    /// length has been read, before it has come.
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<(Request<'a>, usize)>, Error> {
        match std::mem::replace(&mut self.state, START) {
            State::Line { searched } => self.line(bytes, searched),
            State::Data { start, length, noreply } => self.data(bytes, start, length, noreply),
        }
    }

    fn line<'a>(&mut self, bytes: &'a [u8], searched: usize) -> Result<Option<(Request<'a>, usize)>, Error> {
        let within = bytes.get(..self.limits.request_bytes).unwrap_or(bytes);
        let found = within.iter().skip(searched).position(|&byte| byte == b'\n');
        let Some(end) = found.map(|offset| searched + offset) else {
            if bytes.len() >= self.limits.request_bytes {
                return Err(Error::TooLarge(self.limits.request_bytes));
            }
            self.state = State::Line { searched: bytes.len() };
            return Ok(None);
        };
        let line = bytes.get(..end).unwrap_or_default();
        match parse(line.strip_suffix(b"\r").unwrap_or(line))? {
            Line::Whole(request) => Ok(Some((request, end + 1))),
            Line::BeforeData { length, noreply } => self.data(bytes, end + 1, length, noreply),
        }
    }

    /// A storage command whose data begins at `start`.
    fn data<'a>(
        &mut self,
        bytes: &'a [u8],
        start: usize,
        length: usize,
        noreply: bool,
    ) -> Result<Option<(Request<'a>, usize)>, Error> {
        let end = start.saturating_add(length);
        if end.saturating_add(2) > self.limits.request_bytes {
            return Err(Error::TooLarge(self.limits.request_bytes));
        }
        match bytes.get(end..) {
            Some([b'\r', b'\n', ..]) => Ok(Some((Request::Refused { noreply }, end + 2))),
            None | Some([] | [b'\r']) => {
                self.state = State::Data { start, length, noreply };
                Ok(None)
            }
            Some(_) => Err(Error::Data),
        }
    }
}

/// What a line asks for.
enum Line<'a> {
    Whole(Request<'a>),
    BeforeData { length: usize, noreply: bool },
}

fn parse(line: &[u8]) -> Result<Line<'_>, Error> {
    let mut words = Words(line);
    let Some(command) = words.next() else { return Ok(Line::Whole(Request::Unknown)) };
    let mut lower = [0; LONGEST_COMMAND];
    let command = match lower.get_mut(..command.len()) {
        Some(lower) => {
            lower.copy_from_slice(command);
            lower.make_ascii_lowercase();
            &*lower
        }
        None => return Ok(Line::Whole(Request::Unknown)),
    };
    let request = match command {
        b"get" | b"gets" => get(words, command == b"gets"),
        b"set" | b"add" | b"replace" | b"append" | b"prepend" => return storage(words, false),
        b"cas" => return storage(words, true),
        b"incr" | b"decr" | b"delete" | b"touch" | b"flush_all" => {
            Request::Refused { noreply: words.last() == Some(b"noreply") }
        }
        b"verbosity" => match words.next() {
            Some(_) => Request::Verbosity { noreply: words.last() == Some(b"noreply") },
            None => Request::Unknown,
        },
        b"stats" => Request::Stats(words.next()),
        b"version" => Request::Version,
        b"quit" => Request::Quit,
        _ => Request::Unknown,
    };
    Ok(Line::Whole(request))
}

/// The length of `verbosity` and `flush_all`.
const LONGEST_COMMAND: usize = 9;

fn get(keys: Words<'_>, cas: bool) -> Request<'_> {
    let mut none = true;
    for key in keys.clone() {
        none = false;
        if key.len() > KEY_BYTES {
            return Request::Invalid(Invalid::KeyTooLong);
        }
        if key.iter().any(u8::is_ascii_control) {
            return Request::Invalid(Invalid::KeyControl);
        }
    }
    // As memcached answers a `get` of nothing.
    if none { Request::Unknown } else { Request::Get { keys: Keys(keys), cas } }
}

/// `<key> <flags> <expires> <bytes> [<cas>] [noreply]`, of which only the length matters.
fn storage(mut words: Words<'_>, cas: bool) -> Result<Line<'_>, Error> {
    let length = words.nth(3).and_then(number).ok_or(Error::Storage)?;
    if cas && words.next().is_none() {
        return Err(Error::Storage);
    }
    let noreply = match (words.next(), words.next()) {
        (None, _) => false,
        (Some(b"noreply"), None) => true,
        _ => return Err(Error::Storage),
    };
    Ok(Line::BeforeData { length, noreply })
}

fn number(digits: &[u8]) -> Option<usize> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What stands between the spaces of a line.
#[derive(Clone)]
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&byte| byte != b' ')?;
        let (_, rest) = self.0.split_at_checked(start)?;
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (word, rest) = rest.split_at_checked(end)?;
        self.0 = rest;
        Some(word)
    }
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.next()
    }
}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.clone().map(|key| key.escape_ascii().to_string())).finish()
    }
}

/// The text after `CLIENT_ERROR`.
impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong => write!(formatter, "a key has at most {KEY_BYTES} bytes"),
            Self::KeyControl => formatter.write_str("a key has no control characters"),
        }
    }
}

impl Error {
    /// Appends the reply that the client is owed before the connection is closed.
    ///
    /// ```
    /// let mut output = Vec::new();
    /// floe_wire::memcached::text::Error::Data.encode(&mut output);
    /// assert_eq!(output, b"CLIENT_ERROR bad data chunk\r\n");
    /// ```
    pub fn encode(&self, output: &mut Vec<u8>) {
        match self {
            Self::TooLarge(_) => reply::server_error(output, &self.to_string()),
            Self::Storage | Self::Data => reply::client_error(output, &self.to_string()),
        }
    }
}

/// In memcached's own words where it has some.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) => write!(formatter, "a request of more than {limit} bytes"),
            Self::Storage => formatter.write_str("bad command line format"),
            Self::Data => formatter.write_str("bad data chunk"),
        }
    }
}

impl std::error::Error for Error {}
