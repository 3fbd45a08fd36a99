//! Why a text or a number is refused, and why a form cannot be.

use alloc::string::String;
use core::fmt;

use super::sealed::KeyId;

/// Why a text is no ID in a form, or a number cannot be written in it. Positions are byte indexes into the text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormError {
    /// No text at all.
    Empty,
    /// The text is longer or shorter than any that the form writes. It is refused before anything else is read.
    Length {
        /// How many bytes the text has.
        bytes: usize,
        /// The fewest that it may have.
        least: usize,
        /// The most that it may have.
        most: usize,
    },
    /// The form's prefix is not where it has to be.
    Prefix {
        /// Where the text differs first.
        at: usize,
        /// What it has to begin with.
        prefix: String,
    },
    /// A character that the form never writes: a separator, a symbol of another alphabet, one that only looks alike.
    Symbol {
        /// The character.
        character: char,
        /// Where it begins.
        at: usize,
    },
    /// A letter that the form writes in the other case.
    Case {
        /// The character.
        character: char,
        /// Where it is.
        at: usize,
    },
    /// A second spelling of a number that has one.
    LeadingZero {
        /// Where the zero is.
        at: usize,
    },
    /// The symbols are right, and the number that they mean is not one of this form.
    TooLarge {
        /// How many bits a number of this form has at most.
        bits: u32,
    },
    /// A number of this form with more bits than the type of ID that was asked for.
    NoId {
        /// The number.
        number: u128,
    },
    /// Other libraries read a number out of this text, but none writes it so.
    NotCanonical {
        /// Where the text differs first from what the form writes for the same number.
        at: usize,
    },
    /// The text does not say, in front of its number, which key it was sealed with.
    NoKey {
        /// Where they have to stand.
        at: usize,
    },
    /// The form has no key to seal with; [`Form::with_keys`](super::Form::with_keys) brings it.
    NoKeyToSeal,
    /// The text says that it was sealed with a key that the form does not have.
    UnknownKey(KeyId),
    /// Not a number of this form.
    DoesNotFit {
        /// The number.
        number: u128,
        /// How many bits a number of this form has at most.
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
                write!(f, "this form never writes this text: what it writes differs from byte {at} on")
            }
            Self::NoKey { at } => {
                write!(f, "at byte {at} the id of a key and a hyphen have to stand, as in 3-5HrT1zZ")
            }
            Self::NoKeyToSeal => f.write_str("this form has no key to seal with"),
            Self::UnknownKey(key) => write!(
                f,
                "the key {key} is unknown here: add it to the keys of the form, or the text is of another service"
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

/// Why a form cannot be.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormDefinitionError {
    /// None that floe knows.
    UnknownForm(String),
    /// A word that the form does not have, that is said twice, or that contradicts another.
    Word {
        /// The form.
        form: String,
        /// The word.
        word: String,
    },
    /// A value out of its range; the text says which and what it may be.
    Value(String),
    /// The key that a sealed form seals with is not among those that it was given.
    MissingKey(KeyId),
    /// The key has the right id, and is not the one that the form was used with before.
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
                "the key {key} is not the one that this form has sealed with before, by its check value: two keys under one id would write one text for two numbers"
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
