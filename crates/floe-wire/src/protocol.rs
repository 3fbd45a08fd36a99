//! A protocol as a whole: its words, and how a connection of it begins.

/// A protocol, as settings, metrics and listeners know it.
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
    /// The word for it in settings and metrics: lower case and unique.
    pub word: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// The port that its own servers usually listen on, for examples.
    pub port: u16,
    /// Whether the server speaks first. Only its port identifies such a client, so the server listens for it on `port`
    /// unless a setting says otherwise.
    pub server_begins: bool,
    /// How a connection's first bytes look. More may follow, but [`FIRST_BYTES`] have to be enough.
    pub begins: fn(&[u8]) -> Begins,
}

/// Whether a connection speaks a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// Too few bytes have arrived.
    Unsure,
}

/// The most bytes that are needed to recognise a protocol.
pub const FIRST_BYTES: usize = 24;

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Protocol {}

/// The word at the front of a line and the bytes after it. `Err` says what is known if the word has not arrived completely.
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
