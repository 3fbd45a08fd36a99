//! Why a text or bytes are not an ID of a kind, and the checks that all kinds share.
//!
//! A text is looked at no further than its kind's length, and none is kept: 10 MB are refused as fast as 40 bytes.

use core::fmt;

/// Why a text or bytes are not an ID of a kind.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is empty.
    Empty {
        /// The kind.
        kind: &'static str,
        /// The rule for its texts.
        rule: &'static str,
    },
    /// The text has a character that is not allowed there, or nowhere in this kind's texts.
    Character {
        /// The kind.
        kind: &'static str,
        /// The rule for its texts.
        rule: &'static str,
        /// The character.
        character: char,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// There are too few or too many characters or bytes.
    Length {
        /// The kind.
        kind: &'static str,
        /// The rule for its texts.
        rule: &'static str,
        /// The number of bytes.
        found: usize,
    },
    /// The text has the right length, but its number has more bits than the kind.
    TooLarge {
        /// The kind.
        kind: &'static str,
        /// The text of the largest ID.
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

/// The rules for the texts and the bytes of a kind.
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

    /// The bytes, if their number is right.
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
