//! The words of a definition's text, and the numbers of IDs.

use floe_id::inspect::number;

use super::ReadIdError;
use crate::{Id, WideId};

/// The words of a canonical text, in their order.
pub(super) struct Words<'t>(std::str::Split<'t, char>);

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self(text.split(' '))
    }

    /// The text after `key` in the next word; `None` if the word does not begin with it.
    pub(super) fn value(&mut self, key: &str) -> Option<&'t str> {
        self.0.next()?.strip_prefix(key)
    }
}

/// The number that `text` writes, of whatever width.
pub(super) fn wide(text: &str) -> Result<WideId, ReadIdError> {
    number(text).map_err(|error| ReadIdError::Number { text: text.to_owned(), error })
}

pub(super) fn narrow(text: &str) -> Result<u64, ReadIdError> {
    let id = Id::try_from(wide(text)?);
    Ok(id.map_err(|error| ReadIdError::Number { text: text.to_owned(), error })?.get())
}
