//! Why a form rejects a text or a number, and why a form is invalid.

use alloc::string::String;
use core::fmt;

use super::key_id::KeyId;

/// Why a text is not an ID in a form, or a number cannot be written in it. Positions are byte indexes into the text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormError {
    /// The text is empty.
    Empty,
    /// The text is longer or shorter than any that the form writes. It is rejected before it is read.
    Length {
        /// The bytes of the text.
        bytes: usize,
        /// The smallest number of bytes allowed.
        least: usize,
        /// The largest number of bytes allowed.
        most: usize,
    },
    /// The text does not begin with the form's prefix.
    Prefix {
        /// Where the text first differs from the prefix.
        at: usize,
        /// The prefix.
        prefix: String,
    },
    /// The text has a character that the form never writes: a separator, a symbol of another alphabet, or one that only
    /// looks alike.
    Symbol {
        /// The character.
        character: char,
        /// Where it begins.
        at: usize,
    },
    /// The text has a letter that the form writes in the other case.
    Case {
        /// The character.
        character: char,
        /// Where it is.
        at: usize,
    },
    /// The number has a leading zero, which the form does not write.
    LeadingZero {
        /// Where the zero is.
        at: usize,
    },
    /// The symbols are right, but their number has more bits than the form.
    TooLarge {
        /// The largest number of bits of the form's numbers.
        bits: u32,
    },
    /// The number has more bits than the requested type of ID.
    NoId {
        /// The number.
        number: u128,
    },
    /// The text is not the one that libraries write for its number, although some read it.
    NotCanonical {
        /// Where the text first differs from the one that the form writes.
        at: usize,
    },
    /// The text has no key id in front of its number.
    NoKey {
        /// Where the key id must stand.
        at: usize,
    },
    /// The form has no key to seal with; [`Form::with_keys`](super::Form::with_keys) adds it.
    NoKeyToSeal,
    /// The text was sealed with a key that the form does not have.
    UnknownKey(KeyId),
    /// The number has more bits than the form.
    DoesNotFit {
        /// The number.
        number: u128,
        /// The largest number of bits of the form's numbers.
        bits: u32,
    },
    /// Sqids only: every text for this number contains a word of the block list.
    Blocked {
        /// The number.
        number: u128,
    },
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text is empty"),
            Self::Length { bytes, least, most } => {
                write!(f, "the text has {bytes} bytes, and this form writes {least} to {most}")
            }
            Self::Prefix { at, prefix } => {
                write!(f, "the text has to begin with {prefix:?}, and differs from it at byte {at}")
            }
            Self::Symbol { character, at } => {
                write!(f, "{character:?} at byte {at} is not among the symbols of this form")
            }
            Self::Case { character, at } => write!(
                f,
                "{character:?} at byte {at} is in the wrong case: in this form the case of a letter matters"
            ),
            Self::LeadingZero { at } => {
                write!(f, "the zero at byte {at} is one too many: this form writes numbers without it")
            }
            Self::TooLarge { bits } => write!(f, "the number needs more than the {bits} bits of this form"),
            Self::NoId { number } => {
                write!(f, "{number} has more than the 63 bits of an Id: read it as a WideId")
            }
            Self::NotCanonical { at } => {
                write!(
                    f,
                    "this form never writes this text: its own text for the number differs from byte {at} on"
                )
            }
            Self::NoKey { at } => {
                write!(f, "at byte {at} there must be the id of a key and a hyphen, as in 3-5HrT1zZ")
            }
            Self::NoKeyToSeal => f.write_str("this form has no key to seal with"),
            Self::UnknownKey(key) => write!(
                f,
                "the key {key} is unknown here: add it to the keys of the form, unless another service wrote the text"
            ),
            Self::DoesNotFit { number, bits } => {
                write!(f, "{number} does not fit the {bits} bits of this form")
            }
            Self::Blocked { number } => write!(
                f,
                "every text for {number} contains a word of the block list: take a longer alphabet or a shorter list"
            ),
        }
    }
}

crate::__error!(FormError);

impl FormError {
    /// The same, of a text that begins `bytes` later than the one that was read.
    pub(super) fn later(mut self, bytes: usize) -> Self {
        match &mut self {
            Self::Prefix { at, .. }
            | Self::Symbol { at, .. }
            | Self::Case { at, .. }
            | Self::LeadingZero { at }
            | Self::NoKey { at }
            | Self::NotCanonical { at } => *at += bytes,
            Self::Length { bytes: length, least, most } => {
                for count in [length, least, most] {
                    *count += bytes;
                }
            }
            Self::Empty
            | Self::TooLarge { .. }
            | Self::NoId { .. }
            | Self::NoKeyToSeal
            | Self::UnknownKey(_)
            | Self::DoesNotFit { .. }
            | Self::Blocked { .. } => {}
        }
        self
    }

    /// For the character of `text` that begins at `at`, which lies behind ASCII alone.
    #[cold]
    pub(super) fn symbol(text: &str, at: usize) -> Self {
        let character = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\0');
        Self::Symbol { character, at }
    }
}

/// Why a form is invalid.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormDefinitionError {
    /// floe does not know a form of this name.
    UnknownForm(String),
    /// The form does not have this word, or the word comes twice, or it contradicts another word.
    Word {
        /// The form.
        form: String,
        /// The word.
        word: String,
    },
    /// A value is out of its range; the text says which one and what it may be.
    Value(String),
    /// The key that a sealed form seals with is not among the keys that it was given.
    MissingKey(KeyId),
    /// The key has the right id, but is not the key that the form was used with before.
    AnotherKey(KeyId),
}

impl fmt::Display for FormDefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownForm(word) => write!(
                f,
                "unknown form {word:?}: there are decimal, hex, base32, base36, base58, base62, typeid, uuid8, hashids, sqids and sealed"
            ),
            Self::Word { form, word } => write!(f, "the form {form} cannot have {word:?} here"),
            Self::Value(text) => write!(f, "{text}"),
            Self::MissingKey(key) => write!(f, "the key {key} is missing: this form seals with it"),
            Self::AnotherKey(key) => write!(
                f,
                "by its check value, the key {key} is not the one that this form has sealed with before: two keys under one id would write one text for two numbers"
            ),
        }
    }
}

crate::__error!(FormDefinitionError);

impl FormDefinitionError {
    pub(super) fn value(reason: impl Into<String>) -> Self {
        Self::Value(reason.into())
    }
}
