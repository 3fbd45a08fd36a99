//! What is told of a protocol as a whole: its words, and how a connection of it begins.

/// A protocol, as settings, metrics and listeners tell it from others.
///
/// ```
/// use floe_wire::{Begins, http::PROTOCOL};
///
/// assert_eq!(PROTOCOL.name, "HTTP");
/// assert_eq!((PROTOCOL.begins)(b"GET /v1/mint/orders HTTP/1.1\r\n"), Begins::Yes);
/// assert_eq!((PROTOCOL.begins)(b"GET"), Begins::Unsure);
/// assert_eq!((PROTOCOL.begins)(b"*1\r\n$4\r\nPING\r\n"), Begins::No);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// The word for it in settings and metrics: lower case, and one of its kind.
    pub word: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// The port that its own servers listen on by habit, for examples.
    pub port: u16,
    /// Whether the server speaks first. Nothing tells such a client but its port, so it is listened for on `port` where
    /// nothing else is said.
    pub server_begins: bool,
    /// How the first bytes of a connection look, of which there may be more: 16 have to be enough.
    pub begins: fn(&[u8]) -> Begins,
}

/// Whether a connection is one of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// Too little has come.
    Unsure,
}

/// How many bytes tell a protocol at most.
pub const FIRST_BYTES: usize = 24;

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Protocol {}

/// The word at the front of a line and what follows it: `Err` tells what is known where it has not come whole.
pub(crate) fn first_word(bytes: &[u8]) -> Result<(&[u8], &[u8]), Begins> {
    match bytes {
        [] => return Err(Begins::Unsure),
        [first, ..] if !first.is_ascii_alphabetic() => return Err(Begins::No),
        _ => {}
    }
    match bytes.iter().position(|byte| !byte.is_ascii_alphabetic() && !b"_-".contains(byte)) {
        Some(end) => Ok(bytes.split_at(end)),
        None if bytes.len() < FIRST_BYTES => Err(Begins::Unsure),
        None => Err(Begins::No),
    }
}
