//! What stands before every text of a form.

use alloc::{borrow::ToOwned, format, string::String};

use super::buffer::Buffer;
use super::error::{FormDefinitionError, FormError};

/// A text of ASCII without white space, the same before every number.
#[derive(Clone, Default, Debug)]
pub(super) struct Prefix(String);

/// A TypeID's type with its separator.
pub(super) const MAX_BYTES: usize = 64;

impl Prefix {
    pub(super) fn new(text: &str) -> Result<Self, FormDefinitionError> {
        if text.len() > MAX_BYTES || text.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(FormDefinitionError::Value(format!(
                "the prefix {text:?} must have at most {MAX_BYTES} characters of ASCII, without white space or control characters"
            )));
        }
        Ok(Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn put(&self, buffer: &mut Buffer) {
        if !self.0.is_empty() {
            buffer.put_all(self.0.as_bytes());
        }
    }

    /// What of `text` comes after the prefix.
    pub(super) fn strip<'t>(&self, text: &'t str) -> Result<&'t str, FormError> {
        // Comparing nothing is slow where an empty string's address is not one of memory.
        if self.0.is_empty() {
            return Ok(text);
        }
        text.strip_prefix(&self.0).ok_or_else(|| {
            let same = text.bytes().zip(self.0.bytes()).take_while(|(read, wanted)| read == wanted).count();
            FormError::Prefix { at: same, prefix: self.0.clone() }
        })
    }
}
