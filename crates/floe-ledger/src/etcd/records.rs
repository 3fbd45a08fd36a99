//! What is kept under which key, as text that etcdctl shows and a person can read.
//!
//! ```text
//! PREFIX/version                  1
//! PREFIX/realm/REALM              the realm's id
//! PREFIX/mark/REALM/n/NAME        mark=1500 start=1000 previous=1000 token=0f… note=…
//! PREFIX/mark/REALM/s/BITS/ID     the same, of a slot
//! PREFIX/made/REALM/s/BITS/ID     says that this slot's record was made, whether or not it is still there
//! PREFIX/definition/REALM/NAME    the definition
//! ```
//! Neither a realm nor a name has a `/` in it, so no two of these keys can meet. A note is the rest of the text,
//! whatever is in it.

use floe::Name;
use floe::ledger::{Key, MAX_MARK, Mark, Token};

/// The version of this layout.
pub(super) const VERSION: i64 = 1;

/// Where a realm keeps what.
pub(super) struct Place {
    /// The key of the layout's version.
    pub(super) version: Vec<u8>,
    /// The prefix of the keys of all realm ids.
    pub(super) realms: String,
    /// The key of this realm's id.
    pub(super) realm: Vec<u8>,
    marks: String,
    made: String,
    definitions: String,
}

impl Place {
    pub(super) fn new(prefix: &str, realm: &str) -> Self {
        Self {
            version: format!("{prefix}/version").into_bytes(),
            realms: format!("{prefix}/realm/"),
            realm: format!("{prefix}/realm/{realm}").into_bytes(),
            marks: format!("{prefix}/mark/{realm}/"),
            made: format!("{prefix}/made/{realm}/"),
            definitions: format!("{prefix}/definition/{realm}/"),
        }
    }

    /// Another realm of the same prefix.
    pub(super) fn beside(&self, realm: &str) -> Self {
        Self::new(self.realms.strip_suffix("/realm/").unwrap_or_default(), realm)
    }

    pub(super) fn mark(&self, key: &Key) -> Vec<u8> {
        format!("{}{key}", self.marks).into_bytes()
    }

    /// Where it is remembered that the record was made.
    pub(super) fn made(&self, key: &Key) -> Vec<u8> {
        format!("{}{key}", self.made).into_bytes()
    }

    pub(super) fn definition(&self, name: &Name) -> Vec<u8> {
        format!("{}{name}", self.definitions).into_bytes()
    }

    /// The records whose key starts with `prefix`.
    pub(super) fn marks(&self, prefix: &str) -> Span {
        Span::below(&self.marks, prefix)
    }

    /// All definitions.
    pub(super) fn definitions(&self) -> Span {
        Span::below(&self.definitions, "")
    }
}

/// Keys from `start` on and before `end`, that all begin with `base`.
pub(super) struct Span {
    base: String,
    pub(super) start: Vec<u8>,
    pub(super) end: Vec<u8>,
}

impl Span {
    pub(super) fn below(base: &str, prefix: &str) -> Self {
        let start = format!("{base}{prefix}").into_bytes();
        let mut end = start.clone();
        // The next key that does not begin with it. Text has no byte 255, so there is room to add one.
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        Self { base: base.to_owned(), start, end }
    }

    /// Leaves out everything up to `after`, itself included.
    pub(super) fn after(&mut self, after: &str) {
        if !after.is_empty() {
            self.start = format!("{}{after}\0", self.base).into_bytes().max(std::mem::take(&mut self.start));
        }
    }

    /// What stands behind the base in a key; `None` where that is no text.
    pub(super) fn rest(&self, key: &[u8]) -> Option<String> {
        String::from_utf8(key.strip_prefix(self.base.as_bytes())?.to_vec()).ok()
    }
}

/// A record as it is stored.
pub(super) fn write(mark: &Mark) -> Vec<u8> {
    let Mark { previous, start, mark, token, note } = mark;
    let mut text = format!("mark={mark} start={start} previous={previous}");
    if let Some(token) = token {
        text.push_str(" token=");
        text.push_str(&token.hex());
    }
    if let Some(note) = note {
        text.push_str(" note=");
        text.push_str(note);
    }
    text.into_bytes()
}

/// The record that was stored; `None` where no floe can have written it.
pub(super) fn read(value: &[u8]) -> Option<Mark> {
    let text = std::str::from_utf8(value).ok()?;
    let (text, note) = match text.split_once(" note=") {
        Some((text, note)) => (text, Some(note.to_owned())),
        None => (text, None),
    };
    let mut fields = text.split(' ');
    let mut number = |name: &str| fields.next()?.strip_prefix(name)?.parse::<u64>().ok();
    let (mark, start, previous) = (number("mark=")?, number("start=")?, number("previous=")?);
    let token = match fields.next() {
        Some(token) => Some(read_token(token.strip_prefix("token=")?)?),
        None => None,
    };
    let in_order = previous <= start && start <= mark && mark <= MAX_MARK;
    (in_order && fields.next().is_none()).then_some(Mark { previous, start, mark, token, note })
}

fn read_token(text: &str) -> Option<Token> {
    let mut bytes = [0; 16];
    let digits = text.as_bytes();
    if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Token::from_bytes(bytes)
}
