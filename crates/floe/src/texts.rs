//! Texts that were minted in one step, and the trait that mints them.

use std::any::Any;
use std::fmt::{self, Write};
use std::sync::Arc;

use crate::error::MintError;

/// Texts that were minted in one step. It is an iterator over them; [`next_text`](Self::next_text) borrows them one by
/// one instead, without an allocation for each. It cannot be cloned, since a clone would hand out the same IDs:
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
    /// How many numbers a form could not write.
    pub(crate) left_out: u64,
    #[expect(dead_code, reason = "it is dropped with them")]
    guard: Option<Arc<dyn Any + Send + Sync>>,
}

/// Mints IDs that are texts.
pub(crate) trait MintTexts: Send + Sync {
    /// Mints `count` IDs and gives each to `each`.
    fn mint_each(&self, count: u64, each: Each<'_>) -> Result<(), MintError>;
}

/// Takes an ID, and its number if a form can write one.
pub(crate) type Each<'e> = &'e mut dyn FnMut(&dyn fmt::Display, Option<u128>) -> Result<(), MintError>;

impl Texts {
    /// Returns how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// Attaches a value that is dropped together with the texts, such as their share of a limit on memory.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use floe::{Floe, Name, TextMinter, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let users = floe.define(&Name::new("users")?, &"ulid".parse()?, &Default::default())?;
    /// let share = Arc::new(());
    /// let texts = users.get::<TextMinter>().ok_or("its IDs are texts")?.mint_many(10)?.with_guard(share.clone());
    /// assert_eq!(Arc::strong_count(&share), 2);
    /// drop(texts);
    /// assert_eq!(Arc::strong_count(&share), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_guard(self, guard: impl Any + Send + Sync) -> Self {
        Self { guard: Some(Arc::new(guard)), ..self }
    }

    /// Returns the next text without allocating; `None` after the last one.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, TextMinter, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let short = Definition::SEGMENT.in_form("base36 width=13".parse()?)?;
    /// let tickets = floe.define(&Name::new("tickets")?, &short, &Default::default())?;
    /// let mut texts = tickets.get::<TextMinter>().ok_or("its IDs are texts")?.mint_many(1)?;
    /// assert_eq!(texts.next_text(), Some("0000000000001"));
    /// assert_eq!(texts.next_text(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_text(&mut self) -> Option<&str> {
        let end = *self.ends.get(self.next)?;
        let begun =
            self.next.checked_sub(1).map_or(0, |last| self.ends.get(last).copied().unwrap_or_default());
        self.next += 1;
        self.text.get(begun..end)
    }

    /// Adds a text.
    pub(crate) fn put_str(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    /// Writes an ID after the texts that are there, and returns its text.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn their_bytes_are_those_of_the_texts_and_of_their_ends() {
        let mut texts = Texts::default();
        assert_eq!(texts.bytes(), 0);
        for count in 1..100 {
            texts.put_str("0123456789");
            assert!(texts.bytes() >= count * (10 + size_of::<usize>()), "{count}: {}", texts.bytes());
            let room = texts.text.capacity() + texts.ends.capacity() * size_of::<usize>();
            assert_eq!(texts.bytes(), room, "memory that no text fills yet is theirs, too");
        }
        // Room for twice as many at most.
        assert!(texts.bytes() <= 2 * 128 * (10 + size_of::<usize>()), "{}", texts.bytes());
    }

    #[test]
    fn what_is_attached_to_them_lasts_as_long_as_they_do() {
        let share = Arc::new(());
        let mut texts = Texts::default();
        texts.put(&7);
        let mut texts = texts.with_guard(Arc::clone(&share));
        assert_eq!((texts.next().as_deref(), texts.next()), (Some("7"), None));
        assert_eq!(Arc::strong_count(&share), 2);
        drop(texts);
        assert_eq!(Arc::strong_count(&share), 1);
    }
}
