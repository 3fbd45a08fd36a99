//! Requests, from lines.

use std::fmt;

use super::reply;
use crate::memcached::KEY_BYTES;

/// Limits on a client's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in a request: its line, and the data after the line.
    pub request_bytes: usize,
}

/// Reads one connection's requests. Between two calls it keeps only how far it has searched.
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

/// A client's request.
#[derive(Clone, Debug)]
pub enum Request<'a> {
    /// `get` or `gets` with at least one key. The reply is one value for each key, then `END`.
    Get {
        /// The keys, in the order in which they came.
        keys: Keys<'a>,
        /// Whether the command was `gets`: then each value carries a cas number.
        cas: bool,
    },
    /// `stats`, with its argument if there is one (`stats settings`).
    Stats(Option<&'a [u8]>),
    /// `version`.
    Version,
    /// `verbosity`. The reply is `OK`, unless the client wants no reply.
    Verbosity {
        /// Whether the client wants no reply.
        noreply: bool,
    },
    /// `quit`: close the connection without a reply.
    Quit,
    /// A command that would store or change something; its data has been read. Refuse it, unless the client wants no
    /// reply: it would take that reply for the answer to its next request.
    Refused {
        /// Whether the client wants no reply.
        noreply: bool,
    },
    /// A command whose argument cannot be served: `CLIENT_ERROR`.
    Invalid(Invalid),
    /// Anything else: `ERROR`.
    Unknown,
}

/// Why a command that was understood cannot be served.
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

/// Why a stream of requests cannot continue. Reply with [`Error::encode`], then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A line, or a line with its data, is longer than this limit.
    TooLarge(usize),
    /// A storage command does not say how much data follows it, so data and commands cannot be told apart.
    Storage,
    /// The data's length is not the one that the storage command gave.
    Data,
}

const START: State = State::Line { searched: 0 };

impl Decoder {
    /// A decoder at the beginning of a connection.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: START }
    }

    /// The request at the front of `bytes`, and its length in bytes (at least one); `None` until it has arrived
    /// completely.
    ///
    /// After `None`, the next call's bytes must begin with these and hold more.
    ///
    /// # Errors
    /// [`Error`] if these bytes cannot become a request, whatever follows. Data over the limit is refused when its
    /// length has been read, before the data arrives.
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

    /// A storage command with data from `start` on.
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

/// The request in one line.
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
    // memcached also answers a `get` without keys with an error.
    if none { Request::Unknown } else { Request::Get { keys: Keys(keys), cas } }
}

/// `<key> <flags> <expires> <bytes> [<cas>] [noreply]`. Only the length matters.
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

/// The words between the spaces of a line.
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
    /// Appends the last reply before the connection is closed.
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

/// In memcached's own words if it has some.
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
