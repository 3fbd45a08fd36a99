//! Texts that were minted in one step, and what mints them.

use std::any::Any;
use std::fmt::{self, Write};
use std::sync::Arc;

use crate::error::MintError;

/// Texts that were minted in one step: an iterator over them, and [`next_text`](Self::next_text) for who needs none to keep.
/// It cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// fn again(texts: floe::Texts) -> floe::Texts {
///     texts.clone()
/// }
/// ```
#[derive(Default, Debug)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
    next: usize,
    /// Numbers that a form could not write.
    pub(crate) left_out: u64,
    #[expect(dead_code, reason = "it is dropped with them")]
    guard: Option<Arc<dyn Any + Send + Sync>>,
}

/// Mints IDs that are texts.
pub(crate) trait MintTexts: Send + Sync {
    /// Mints `count` IDs and gives each to `each`.
    fn mint_each(&self, count: u64, each: Each<'_>) -> Result<(), MintError>;
}

/// Takes an ID, and the number that it is where a form can write one.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&dyn fmt::Display, Option<u128>) -> Result<(), MintError>;

impl Texts {
    /// How many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The same, with something that is dropped when they are: their part of what may be held at once.
    #[must_use]
    pub fn with_guard(self, guard: impl Any + Send + Sync) -> Self {
        Self { guard: Some(Arc::new(guard)), ..self }
    }

    /// The next one.
    pub fn next_text(&mut self) -> Option<&str> {
        let end = *self.ends.get(self.next)?;
        let begun =
            self.next.checked_sub(1).map_or(0, |last| self.ends.get(last).copied().unwrap_or_default());
        self.next += 1;
        self.text.get(begun..end)
    }

    /// Notes a text that is written already.
    pub(crate) fn put_str(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    /// Writes one behind those that are there, and returns what was written.
    pub(crate) fn put(&mut self, id: &dyn fmt::Display) -> &str {
        let begun = self.text.len();
        // Writing to memory does not fail.
        let _ = write!(self.text, "{id}");
        self.ends.push(self.text.len());
        self.text.get(begun..).unwrap_or_default()
    }
}

impl Iterator for Texts {
    type Item = Box<str>;

    fn next(&mut self) -> Option<Box<str>> {
        self.next_text().map(Box::from)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ends.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Texts {}
