//! Why a client's bytes are no requests.

use std::fmt;

use super::encode::{Encoder, Version};

/// Why a stream of requests cannot continue. Reply with [`Error::encode`], then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The text after `*` is no number of arguments.
    ArrayLength,
    /// The text after `$` is no length.
    BulkLength,
    /// An argument begins with this byte and not with `$`. An array inside an array gives this error.
    NotBulk(u8),
    /// An argument is longer than it said: no line end follows it.
    BulkEnd,
    /// More arguments than this limit.
    TooManyArguments(usize),
    /// A request, or a line, is longer than this limit.
    TooLarge(usize),
    /// A quote in a line is not closed, or is closed in the middle of a word.
    Quotes,
}

impl Error {
    /// Appends the last reply before the connection is closed; it is the same in both versions.
    ///
    /// ```
    /// let mut output = Vec::new();
    /// floe_wire::resp::Error::Quotes.encode(&mut output);
    /// assert_eq!(output, b"-ERR Protocol error: unbalanced quotes in request\r\n");
    /// ```
    pub fn encode(&self, output: &mut Vec<u8>) {
        Encoder::new(output, Version::Two).error("ERR", &self.to_string());
    }
}

/// In Redis' own words if it has some, because clients are known to match them.
impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Protocol error: ")?;
        match self {
            Self::ArrayLength => formatter.write_str("invalid multibulk length"),
            Self::BulkLength => formatter.write_str("invalid bulk length"),
            Self::NotBulk(got) => write!(formatter, "expected '$', got '{}'", got.escape_ascii()),
            Self::BulkEnd => {
                formatter.write_str("no line end after a bulk string of the length that it named")
            }
            Self::TooManyArguments(limit) => write!(formatter, "more than {limit} arguments in a request"),
            Self::TooLarge(limit) => write!(formatter, "a request of more than {limit} bytes"),
            Self::Quotes => formatter.write_str("unbalanced quotes in request"),
        }
    }
}

impl std::error::Error for Error {}
