//! Why a text or bytes are not an ID of a kind, and the checks that all kinds share.
//!
//! A text is looked at no further than its kind's length, and none is kept: 10 MB are refused as fast as 40 bytes.

use core::fmt;

/// Why a text or bytes are not an ID of a kind.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// No text at all.
    Empty {
        /// What was asked for.
        kind: &'static str,
        /// What its text looks like.
        rule: &'static str,
    },
    /// A character that has no place there, or none in this kind's texts.
    Character {
        /// What was asked for.
        kind: &'static str,
        /// What its text looks like.
        rule: &'static str,
        /// What is there.
        character: char,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// Too few or too many characters, or bytes.
    Length {
        /// What was asked for.
        kind: &'static str,
        /// What its text looks like.
        rule: &'static str,
        /// How many bytes there are.
        found: usize,
    },
    /// A text of the right length that stands for a number of more bits than the kind has.
    TooLarge {
        /// What was asked for.
        kind: &'static str,
        /// The text of the largest.
        largest: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { kind, rule } => write!(f, "an empty text is no {kind}: {rule}"),
            Self::Character { kind, rule, character, at } => {
                write!(f, "{character:?} at byte {at} cannot be there in a {kind}: {rule}")
            }
            Self::Length { kind, rule, found } => write!(f, "{found} bytes are no {kind}: {rule}"),
            Self::TooLarge { kind, largest } => write!(f, "the text is past the largest {kind}, {largest}"),
        }
    }
}

crate::__error!(ReadError);

/// What texts of a kind look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
    pub(crate) bytes: &'static str,
}

impl Rule {
    /// The values of the `N` characters that the text has to have, as `value` tells them by place and byte.
    pub(crate) fn digits<const N: usize>(
        &self,
        text: &str,
        value: impl Fn(usize, u8) -> Option<u8>,
    ) -> Result<[u8; N], ReadError> {
        let Self { kind, text: rule, .. } = *self;
        if text.is_empty() {
            return Err(ReadError::Empty { kind, rule });
        }
        let mut digits = [0; N];
        for (at, (digit, byte)) in digits.iter_mut().zip(text.bytes()).enumerate() {
            // What comes before is ASCII, so a character begins here.
            *digit = value(at, byte).ok_or_else(|| ReadError::Character {
                kind,
                rule,
                character: text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default(),
                at,
            })?;
        }
        match text.len() {
            found if found == N => Ok(digits),
            found => Err(ReadError::Length { kind, rule, found }),
        }
    }

    /// The bytes, if there are as many as there have to be.
    pub(crate) fn bytes<const N: usize>(&self, bytes: &[u8]) -> Result<[u8; N], ReadError> {
        bytes.try_into().map_err(|_| ReadError::Length {
            kind: self.kind,
            rule: self.bytes,
            found: bytes.len(),
        })
    }
}

/// The value of a hexadecimal digit of either case.
pub(crate) fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Writes `bytes` as lower-case hexadecimal digits, two to each.
pub(crate) fn write_hex<'a>(bytes: &[u8], text: impl Iterator<Item = &'a mut u8>) {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]);
    for (place, digit) in text.zip(digits) {
        *place = digit;
    }
}
