//! Names: what an application calls a family of IDs.

use std::fmt;

/// The name of a family of IDs (biz tag, key, table): 1 to 128 bytes of printable UTF-8 without white space,
/// slashes or asterisks.
///
/// ```
/// use floe::Name;
/// assert!(Name::new("orders").is_ok());
/// assert!(Name::new("two words").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text cannot be a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// No text at all.
    #[error("a name cannot be empty: give it 1 to {max} bytes", max = Name::MAX_BYTES)]
    Empty,
    /// Too long.
    #[error("a name has at most {max} bytes, and this one has {0}", max = Name::MAX_BYTES)]
    TooLong(usize),
    /// A character that would not survive a URL, a log line or a pattern.
    #[error(
        "the character {0:?} at byte {1} cannot be in a name: use printable ones, without white space, '/' or '*'"
    )]
    Character(char, usize),
}

impl Name {
    /// The longest name, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 128;

    /// A name of this text.
    ///
    /// # Errors
    /// [`NameError`] says which rule it breaks.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(NameError::TooLong(text.len()));
        }
        match text.char_indices().find(|&(_, c)| c.is_control() || c.is_whitespace() || c == '/' || c == '*')
        {
            Some((at, c)) => Err(NameError::Character(c, at)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
