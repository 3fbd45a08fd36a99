//! Reads commands from bytes.

use std::fmt;

use super::error::Error;
use super::line::{self, Span};
use crate::cursor::Cursor;

/// Limits on a client's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in a request, from its first byte to its last line end.
    pub request_bytes: usize,
    /// Most arguments in a request, including its command.
    pub arguments: usize,
}

/// Reads one connection's requests.
///
/// Between two calls it keeps its position in an incomplete request, so a request that arrives byte by byte is not read
/// again from its front with each byte. It also keeps buffers for the next request.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    state: State,
    arguments: Vec<Span>,
    /// The arguments of a line without their quotes and escapes, one after the other.
    unquoted: Vec<u8>,
}

/// A command and its arguments, in order. It borrows from the decoded bytes, and from the decoder until the decoder's
/// next call.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    source: &'a [u8],
    arguments: &'a [Span],
}

/// How far the request at the front has been read. Positions count from that request's first byte.
#[derive(Clone, Copy, Debug)]
enum State {
    Start,
    /// A line; there is no line end before `searched`.
    Line {
        searched: usize,
    },
    /// An array; its next argument begins at `at`.
    Array {
        at: usize,
        missing: usize,
    },
}

/// The most that a decoder keeps allocated between requests, so that one large request does not hold memory for ever.
const KEPT_ARGUMENTS: usize = 64;
const KEPT_BYTES: usize = 1_024;

/// A sign and the digits of 2^63: the longest length that Redis reads.
const LENGTH_BYTES: usize = 20;

impl Decoder {
    /// A decoder at the beginning of a connection.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Start, arguments: Vec::new(), unquoted: Vec::new() }
    }

    /// The request at the front of `bytes`, and its length in bytes (at least one); `None` until it has arrived
    /// completely.
    ///
    /// After `None`, the next call's bytes must begin with these and hold more. A request may have no arguments (`*0`,
    /// or an empty line): skip it without a reply.
    ///
    /// # Errors
    /// [`Error`] if these bytes cannot become a request, whatever follows. A length over a limit is refused when it has
    /// been read, before the bytes that it announces arrive.
    pub fn decode<'a>(&'a mut self, bytes: &'a [u8]) -> Result<Option<(Request<'a>, usize)>, Error> {
        match (self.state, bytes.first()) {
            (State::Start, None) => {
                // The connection may now be idle for long, and there may be many.
                self.forget();
                Ok(None)
            }
            (_, None) => Ok(None),
            (State::Start, Some(b'*')) => {
                self.forget();
                let mut cursor = Cursor::new(bytes);
                cursor.byte();
                match number(&mut cursor).ok_or(Error::ArrayLength)? {
                    None => Ok(None),
                    // Redis treats a negative count as an empty array.
                    Some(count) => self.array(cursor, usize::try_from(count).unwrap_or(0)),
                }
            }
            (State::Start, Some(_)) => {
                self.forget();
                self.line(bytes, 0)
            }
            (State::Line { searched }, Some(_)) => self.line(bytes, searched),
            (State::Array { at, missing }, Some(_)) => {
                let mut cursor = Cursor::new(bytes);
                if cursor.take(at).is_none() {
                    return Ok(None);
                }
                self.array(cursor, missing)
            }
        }
    }

    fn forget(&mut self) {
        self.arguments.clear();
        self.arguments.shrink_to(KEPT_ARGUMENTS);
        self.unquoted.clear();
        self.unquoted.shrink_to(KEPT_BYTES);
    }

    /// The rest of an array: `missing` arguments from the cursor.
    fn array<'a>(
        &'a mut self,
        mut cursor: Cursor<'a>,
        missing: usize,
    ) -> Result<Option<(Request<'a>, usize)>, Error> {
        self.state = State::Start;
        if missing.saturating_add(self.arguments.len()) > self.limits.arguments {
            return Err(Error::TooManyArguments(self.limits.arguments));
        }
        for missing in (1..=missing).rev() {
            let at = cursor.position();
            match argument(&mut cursor, self.limits.request_bytes)? {
                Some(span) => self.arguments.push(span),
                None => {
                    self.state = State::Array { at, missing };
                    return Ok(None);
                }
            }
        }
        let request = Request { source: cursor.bytes(), arguments: &self.arguments };
        Ok(Some((request, cursor.position())))
    }

    fn line<'a>(
        &'a mut self,
        bytes: &'a [u8],
        searched: usize,
    ) -> Result<Option<(Request<'a>, usize)>, Error> {
        self.state = State::Start;
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
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line::split(line, self.limits.arguments, &mut self.arguments, &mut self.unquoted)?;
        Ok(Some((Request { source: &self.unquoted, arguments: &self.arguments }, end + 1)))
    }
}

#[cfg(test)]
impl Decoder {
    /// How many bytes stay allocated.
    pub(super) fn kept_bytes(&self) -> usize {
        self.arguments.capacity() * size_of::<Span>() + self.unquoted.capacity()
    }

    /// How many of the first `come` bytes will be read again when more arrive.
    pub(super) fn unread(&self, come: usize) -> usize {
        match self.state {
            State::Start => come,
            State::Line { searched } => come - searched,
            State::Array { at, .. } => come - at,
        }
    }
}

/// One bulk string: `$`, its length, a line end, that many bytes, a line end.
fn argument(cursor: &mut Cursor<'_>, request_bytes: usize) -> Result<Option<Span>, Error> {
    match cursor.byte() {
        None => return Ok(None),
        Some(b'$') => {}
        Some(other) => return Err(Error::NotBulk(other)),
    }
    let Some(length) = number(cursor).ok_or(Error::BulkLength)? else { return Ok(None) };
    let length = usize::try_from(length).map_err(|_| Error::BulkLength)?;
    let start = cursor.position();
    let end = start.saturating_add(length);
    if end.saturating_add(2) > request_bytes {
        return Err(Error::TooLarge(request_bytes));
    }
    if cursor.take(length).is_none() {
        return Ok(None);
    }
    match cursor.rest() {
        [b'\r', b'\n', ..] => {
            cursor.take(2);
            Ok(Some(Span { start, end }))
        }
        [] | [b'\r'] => Ok(None),
        _ => Err(Error::BulkEnd),
    }
}

/// A decimal number and its line end. The outer `None`: this is no number. The inner `None`: it has not arrived
/// completely. As in Redis, it has no plus sign and no leading zeros.
fn number(cursor: &mut Cursor<'_>) -> Option<Option<i64>> {
    let rest = cursor.rest();
    // Almost every length that clients send has one digit.
    if let [digit @ b'0'..=b'9', b'\r', b'\n', ..] = rest {
        cursor.take(3);
        return Some(Some(i64::from(digit - b'0')));
    }
    let Some(length) = rest.iter().take(LENGTH_BYTES + 1).position(|&byte| byte == b'\r') else {
        return if rest.len() > LENGTH_BYTES { None } else { Some(None) };
    };
    let (text, end) = rest.split_at_checked(length)?;
    match end {
        [_, b'\n', ..] => {}
        [_] => return Some(None),
        _ => return None,
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = matches!(digits, [b'1'..=b'9', ..]) || text == b"0";
    if !canonical || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(text).ok()?.parse().ok()?;
    cursor.take(length + 2);
    Some(Some(number))
}

impl<'a> Request<'a> {
    /// The first argument, in the client's case; `None` if the request is empty.
    pub fn command(&self) -> Option<&'a [u8]> {
        self.get(0)
    }

    /// The argument at `index`; the command is at 0.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let span = self.arguments.get(index)?;
        self.source.get(span.start..span.end)
    }

    /// How many arguments there are, including the command.
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Whether there is no command: then skip the request without a reply.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// The command, and then its arguments.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let source = self.source;
        self.arguments.iter().map(move |span| source.get(span.start..span.end).unwrap_or_default())
    }
}

/// Shows how many arguments there are, but not their text: a password may be among them.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Request").field("arguments", &self.len()).finish_non_exhaustive()
    }
}
