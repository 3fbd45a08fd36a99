//! Splits a command on one line, as people type it: words between spaces, in quotes if needed.

use super::error::Error;

/// The place of an argument in a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Appends the words of `line` to `unquoted`, one after the other, and the span of each to `words`.
///
/// Between double quotes, `\n \r \t \b \a \xff` and a backslash before any other byte are escapes. Between single
/// quotes, only `\'` is one. A quote may begin inside a word, but must end it.
pub(super) fn split(
    line: &[u8],
    limit: usize,
    words: &mut Vec<Span>,
    unquoted: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        if words.len() >= limit {
            return Err(Error::TooManyArguments(limit));
        }
        let start = unquoted.len();
        rest = word(rest, unquoted)?;
        words.push(Span { start, end: unquoted.len() });
        rest = rest.trim_ascii_start();
    }
    Ok(())
}

/// Takes the word at the front of `rest`, and returns the rest after it.
fn word<'a>(mut rest: &'a [u8], unquoted: &mut Vec<u8>) -> Result<&'a [u8], Error> {
    loop {
        rest = match rest {
            [] => return Ok(rest),
            [byte, ..] if byte.is_ascii_whitespace() => return Ok(rest),
            [b'"', after @ ..] => return ended(double_quoted(after, unquoted)?),
            [b'\'', after @ ..] => return ended(single_quoted(after, unquoted)?),
            [byte, after @ ..] => {
                unquoted.push(*byte);
                after
            }
        }
    }
}

fn ended(rest: &[u8]) -> Result<&[u8], Error> {
    match rest.first() {
        Some(byte) if !byte.is_ascii_whitespace() => Err(Error::Quotes),
        _ => Ok(rest),
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], unquoted: &mut Vec<u8>) -> Result<&'a [u8], Error> {
    loop {
        let (byte, after) = match rest {
            [] => return Err(Error::Quotes),
            [b'"', after @ ..] => return Ok(after),
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                ((hex(*high) << 4) | hex(*low), after)
            }
            [b'\\', escaped, after @ ..] => {
                let byte = match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                };
                (byte, after)
            }
            [byte, after @ ..] => (*byte, after),
        };
        unquoted.push(byte);
        rest = after;
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], unquoted: &mut Vec<u8>) -> Result<&'a [u8], Error> {
    loop {
        let (byte, after) = match rest {
            [] => return Err(Error::Quotes),
            [b'\'', after @ ..] => return Ok(after),
            [b'\\', b'\'', after @ ..] => (b'\'', after),
            [byte, after @ ..] => (*byte, after),
        };
        unquoted.push(byte);
        rest = after;
    }
}

/// The value of a byte that is known to be a hexadecimal digit.
fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
