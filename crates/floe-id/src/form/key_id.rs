//! The ids of keys.

use core::fmt;

/// The id of a key. A form's text names this id, and never the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub(super) u16);

impl KeyId {
    /// Makes the key id of a number. [`Keys`](super::Keys) has an example.
    pub const fn new(id: u16) -> Self {
        Self(id)
    }

    /// Returns the number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
