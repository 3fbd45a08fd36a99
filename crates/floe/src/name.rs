//! Names: each one is a family of IDs of the application.

use std::fmt;

/// The name of a family of IDs, such as a table or what Leaf calls a biz tag: 1 to 128 bytes of printable UTF-8 without
/// white space, slashes or asterisks.
///
/// ```
/// use floe::Name;
/// assert!(Name::new("orders").is_ok());
/// assert!(Name::new("two words").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text cannot be a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NameError {
    /// The text is empty.
    Empty,
    /// The text is longer than [`Name::MAX_BYTES`]; it has this many bytes.
    TooLong(usize),
    /// This character, at this byte, is not allowed: it would not survive in a URL, a log line or a pattern.
    Character(char, usize),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                write!(f, "a name cannot be empty: give it 1 to {max} bytes", max = Name::MAX_BYTES)
            }
            Self::TooLong(bytes) => {
                write!(f, "a name has at most {max} bytes, and this one has {bytes}", max = Name::MAX_BYTES)
            }
            Self::Character(character, at) => write!(
                f,
                "the character {character:?} at byte {at} cannot be in a name: use printable ones, without white space, '/' or '*'"
            ),
        }
    }
}

floe_id::__error!(NameError);

impl Name {
    /// The longest name, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 128;

    /// Makes a name from a text.
    ///
    /// ```
    /// use floe::{Name, NameError};
    /// assert_eq!(Name::new("user-7:eu")?.as_str(), "user-7:eu");
    /// assert_eq!(Name::new("a/b"), Err(NameError::Character('/', 1)));
    /// assert_eq!(Name::new(&"a".repeat(129)), Err(NameError::TooLong(129)));
    /// # Ok::<_, NameError>(())
    /// ```
    ///
    /// # Errors
    /// [`NameError`] says which rule the text breaks.
    pub fn new(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(NameError::TooLong(text.len()));
        }
        let refused =
            |c: char| c.is_control() || c.is_whitespace() || c == '/' || c == '*' || is_invisible(c);
        if let Some((at, c)) = text.char_indices().find(|&(_, c)| refused(c)) {
            return Err(NameError::Character(c, at));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of the ledger's record for a key of this name's sealed form. It is not a name, so nothing can mint under
    /// it.
    ///
    /// # Errors
    /// `TooLong` if it is longer than a name may be.
    pub(crate) fn of_key(&self, id: impl fmt::Display) -> Result<Self, NameError> {
        let text = format!("{self}{NOTE}{id}");
        if text.len() > Self::MAX_BYTES { Err(NameError::TooLong(text.len())) } else { Ok(Self(text)) }
    }

    /// The key of the ledger's record that the name was retired ([`retire`](crate::ledger::retire)). These keys sort
    /// together, so they can be listed without all names.
    ///
    /// # Errors
    /// `TooLong` if it is longer than a name may be.
    pub(crate) fn of_retirement(&self) -> Result<Self, NameError> {
        let text = format!("{NOTE}{self}");
        if text.len() > Self::MAX_BYTES { Err(NameError::TooLong(text.len())) } else { Ok(Self(text)) }
    }

    /// The key of the ledger's record of the day on which the name ends ([`end_on`](crate::ledger::end_on)).
    ///
    /// # Errors
    /// `TooLong` if it is longer than a name may be.
    pub(crate) fn of_end(&self) -> Result<Self, NameError> {
        self.of_key(END)
    }

    /// Makes a name, or a note about one ([`is_note`](Self::is_note)), from the text that another process gave its
    /// ledger. It is for ledgers that carry calls from one process to another.
    ///
    /// ```
    /// use floe::Name;
    /// assert_eq!(Name::of_ledger("*orders")?.as_str(), "*orders");
    /// assert!(Name::of_ledger("two words").is_err() && Name::new("*orders").is_err());
    /// # Ok::<_, floe::NameError>(())
    /// ```
    ///
    /// # Errors
    /// [`NameError`], as for [`new`](Self::new), except that a note's asterisk is allowed.
    pub fn of_ledger(text: &str) -> Result<Self, NameError> {
        Self::new(&text.replace(NOTE, "_")).map(|_| Self(text.to_owned()))
    }

    /// Returns whether `text`, from a ledger's list of names, is a note about a name and not a name. A note is the
    /// check of a key of its sealed form, its retirement, or the day on which it ends.
    ///
    /// ```
    /// use floe::Name;
    /// assert!(Name::is_note("*orders") && !Name::is_note("orders"));
    /// ```
    pub fn is_note(text: &str) -> bool {
        text.contains(NOTE)
    }
}

/// Marks a note; no name contains it.
pub(crate) const NOTE: char = '*';

/// Stands behind the mark of the note of a name's last day, where the note of a key has the key's number.
pub(crate) const END: &str = "until";

/// Whether a character is invisible, or reverses the order of the text after it: two names would look alike, and a log
/// line would mislead. These are Unicode's format characters and its default-ignorable ones, as far as text has them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
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

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, HirKind};

    use super::*;

    #[test]
    fn a_name_can_be_read_and_stands_in_a_line_and_in_a_path() {
        for name in ["orders", "user-7:eu.west_2", "Bestellungen-\u{fc}", "\u{8ba2}\u{5355}", "...", ".a"] {
            assert_eq!(Name::new(name).unwrap().as_str(), name);
        }
        for (name, at) in [
            ("a b", 1),
            ("a/b", 1),
            ("a*", 1),
            ("a\u{202e}b", 1),
            ("\u{feff}a", 0),
            ("ab\u{200b}", 2),
            ("a\u{7f}", 1),
        ] {
            assert!(
                matches!(Name::new(name), Err(NameError::Character(_, found)) if found == at),
                "{name:?}"
            );
        }
        assert!(Name::new(&"a".repeat(128)).is_ok());
        assert_eq!(Name::new(&"a".repeat(129)), Err(NameError::TooLong(129)));
        assert_eq!(Name::new(""), Err(NameError::Empty));
    }

    /// Against Unicode's own tables.
    #[test]
    fn no_name_has_a_character_that_does_not_show() {
        let class = |class: &str| match regex_syntax::parse(class).unwrap().into_kind() {
            HirKind::Class(Class::Unicode(class)) => class,
            other => panic!("{other:?}"),
        };
        let mut unseen = class(r"\p{Default_Ignorable_Code_Point}");
        // Characters that change the text around them and show themselves.
        let shown = class(r"[\p{Prepended_Concatenation_Mark}\p{Egyptian_Hieroglyphs}]");
        let mut format = class(r"\p{Format}");
        format.difference(&shown);
        unseen.union(&format);
        let is_unseen =
            |c: char| unseen.ranges().iter().any(|range| (range.start()..=range.end()).contains(&c));
        for c in '\0'..=char::MAX {
            let is_refused = Name::new(&format!("orders{c}")).is_err();
            let is_other = c.is_control() || c.is_whitespace() || c == '/' || c == NOTE;
            assert_eq!(is_refused, is_other || is_unseen(c), "{c:?}");
        }
    }

    #[test]
    fn a_note_about_a_name_has_as_many_bytes_as_a_name_may_have() {
        let notes = |bytes| {
            let name = Name::new(&"a".repeat(bytes)).unwrap();
            (name.of_end().is_ok(), name.of_key(7).is_ok(), name.of_retirement().is_ok())
        };
        assert_eq!(notes(122), (true, true, true), "of 128 bytes");
        assert_eq!(notes(123), (false, true, true));
        assert_eq!(
            (notes(126), notes(127), notes(128)),
            ((false, true, true), (false, false, true), (false, false, false))
        );
    }

    #[test]
    fn a_note_comes_through_a_ledger_as_it_was_sent() {
        for text in ["orders", "*orders", "orders*until", "orders*7"] {
            assert_eq!(Name::of_ledger(text).unwrap().as_str(), text);
        }
        for text in ["", "two words", "*a/b", &"a".repeat(129)] {
            assert!(Name::of_ledger(text).is_err(), "{text:?}");
        }
    }
}
