//! A record as text, so that a person can read the store's content.

use std::fmt::Write;

use crate::ledger::{LedgerError, MAX_MARK, Mark, Token};

/// The version of this format.
const FORMAT: u32 = 1;

/// The last line of a record.
const END: &str = "end\n";

/// The beginning of every record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    /// The id of the realm that it belongs to.
    pub(super) realm: String,
    /// The number that was drawn when the record was made. A realm has none.
    pub(super) made: Option<Token>,
}

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Content {
    pub(super) realm: String,
    /// The number that was drawn for this write.
    pub(super) written: Token,
    /// The number that was drawn when the record was made.
    pub(super) made: Token,
    pub(super) body: Body,
}

/// The content of a record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Body {
    /// The definition of a name. `None` for a slot, and for a name with a mark that is not bound yet.
    pub definition: Option<String>,
    /// `None` for a name of a kind without marks.
    pub mark: Option<Mark>,
}

/// Why a text is not a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Newer(u32),
    Damaged,
}

impl Fault {
    pub(super) fn at(self, key: &str, store: &str) -> LedgerError {
        LedgerError::Unfit(match self {
            Self::Newer(found) => format!(
                "the ledger at {store} was written by a newer floe: the record {key} has format {found}, and this floe knows \
                 formats up to {FORMAT}; run the newer floe"
            ),
            Self::Damaged => format!(
                "the ledger at {store} holds a record {key} that no floe has written: restore it from a backup, then raise its \
                 marks above every ID in use (`floe marks raise NAME --to N`)"
            ),
        })
    }
}

fn token(text: &str) -> Option<Token> {
    let digits = text.as_bytes();
    if digits.len() != 32 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    Token::from_bytes(u128::from_str_radix(text, 16).ok()?.to_be_bytes())
}

/// The record of a realm.
pub(super) fn write_header(realm: &str) -> String {
    format!("floe {FORMAT}\nrealm {realm}\n")
}

/// The note of a record that was made.
pub(super) fn write_made(realm: &str, made: &Token) -> String {
    format!("{}made {}\n", write_header(realm), made.hex())
}

/// The beginning of any record.
pub(super) fn header(text: &str) -> Result<Header, Fault> {
    let (realm, rest) = read_header(text)?;
    let made = rest
        .lines()
        .find_map(|line| line.strip_prefix("made "))
        .map(|text| token(text).ok_or(Fault::Damaged));
    Ok(Header { realm: realm.to_owned(), made: made.transpose()? })
}

fn read_header(text: &str) -> Result<(&str, &str), Fault> {
    let (first, rest) = text.split_once('\n').ok_or(Fault::Damaged)?;
    let format: u32 = first.strip_prefix("floe ").and_then(|text| text.parse().ok()).ok_or(Fault::Damaged)?;
    match format {
        FORMAT => {}
        0 => return Err(Fault::Damaged),
        newer => return Err(Fault::Newer(newer)),
    }
    let (second, rest) = rest.split_once('\n').ok_or(Fault::Damaged)?;
    let realm = second.strip_prefix("realm ").filter(|id| !id.is_empty()).ok_or(Fault::Damaged)?;
    Ok((realm, rest))
}

impl Content {
    pub(super) fn write(&self) -> String {
        let Self { realm, written, made, body: Body { definition, mark } } = self;
        let mut text = write_header(realm);
        // Writing to a string cannot fail.
        let _written = writeln!(text, "written {}\nmade {}", written.hex(), made.hex());
        if let Some(Mark { previous, start, mark, token, .. }) = mark {
            let _written = writeln!(text, "mark {mark} start {start} previous {previous}");
            if let Some(token) = token {
                let _written = writeln!(text, "token {}", token.hex());
            }
        }
        let note = mark.as_ref().and_then(|mark| mark.note.as_ref());
        for (word, value) in [("definition", definition.as_ref()), ("note", note)] {
            if let Some(value) = value {
                let _written = writeln!(text, "{word} {}", escape(value));
            }
        }
        text.push_str(END);
        text
    }

    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        let (realm, rest) = read_header(text)?;
        // A text that was cut off, by hand or by a disk, is not a record.
        let rest = rest.strip_suffix(END).filter(|rest| rest.ends_with('\n')).ok_or(Fault::Damaged)?;
        let mut lines = Lines(rest.split_terminator('\n').peekable());
        let number = |found: Option<&str>| found.and_then(token);
        let written = number(lines.next("written ")).ok_or(Fault::Damaged)?;
        let made = number(lines.next("made ")).ok_or(Fault::Damaged)?;
        let mark = lines.next("mark ").map(|line| positions(line).ok_or(Fault::Damaged)).transpose()?;
        let reserved = lines.next("token ").map(|text| token(text).ok_or(Fault::Damaged)).transpose()?;
        let definition =
            lines.next("definition ").map(|text| unescape(text).ok_or(Fault::Damaged)).transpose()?;
        let note = lines.next("note ").map(|text| unescape(text).ok_or(Fault::Damaged)).transpose()?;
        // A token and a note belong to a mark.
        if !lines.is_over() || (mark.is_none() && (reserved.is_some() || note.is_some())) {
            return Err(Fault::Damaged);
        }
        let mark = mark.map(|mark| Mark { token: reserved, note, ..mark });
        Ok(Self { realm: realm.to_owned(), written, made, body: Body { definition, mark } })
    }
}

/// The lines of a record, each of which may be missing, in their order.
struct Lines<'a, I: Iterator<Item = &'a str>>(std::iter::Peekable<I>);

impl<'a, I: Iterator<Item = &'a str>> Lines<'a, I> {
    fn next(&mut self, word: &str) -> Option<&'a str> {
        self.0.next_if(|line| line.starts_with(word)).and_then(|line| line.strip_prefix(word))
    }

    fn is_over(&mut self) -> bool {
        self.0.peek().is_none()
    }
}

fn positions(line: &str) -> Option<Mark> {
    let (mark, rest) = line.split_once(" start ")?;
    let (start, previous) = rest.split_once(" previous ")?;
    // As it was written: without a sign and leading zeros.
    let exact = |text: &str| text.parse::<u64>().ok().filter(|number| number.to_string() == text);
    let (mark, start, previous) = (exact(mark)?, exact(start)?, exact(previous)?);
    let is_in_order = previous <= start && start <= mark && mark <= MAX_MARK;
    is_in_order.then_some(Mark { previous, start, mark, token: None, note: None })
}

/// In one line, whatever the text holds.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            '\r' => return None,
            other => other,
        });
    }
    Some(plain)
}
