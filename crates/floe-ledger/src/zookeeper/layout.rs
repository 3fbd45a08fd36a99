//! Where things are in the tree, and how they are written.
//!
//! ```text
//! /floe                            the path in the URL
//! /floe/shop                       a realm: `version=1 id=9f86…`
//! /floe/shop/9f86…/clock           written to read the leader's clock
//! /floe/shop/9f86…/marks/a3/n%2Forders
//!                                  a record: `mark=500 start=400 previous=400 token=5e88…`, then the note
//! /floe/shop/9f86…/made/12/s%2F10%2F7
//!                                  empty: this slot's record was made, whether or not it is still there
//! /floe/shop/9f86…/definitions/1c/orders
//!                                  what the name is bound to
//! ```
//! The realm's id is in every path: a realm that is removed and made anew under a running ledger has other paths, and
//! nothing of the old one can be read or written by mistake. Records are spread over [`BUCKETS`] parents, since
//! ZooKeeper gives the names of all children at once and its own tools take a mebibyte at most.

use floe::ledger::{MAX_MARK, Mark, Token};

/// How many parents share the records, and the definitions. At names of 20 bytes each has room for about 40,000.
pub(super) const BUCKETS: usize = 256;

/// The version of the layout.
pub(super) const VERSION: i64 = 1;

/// The paths of one realm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// The realm's id, and the parent of everything in it.
    pub(super) root: String,
    pub(super) marks: String,
    pub(super) made: String,
    pub(super) definitions: String,
    pub(super) clock: String,
}

/// The place of one record or definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) bucket: usize,
    /// The path of the bucket.
    pub(super) parent: String,
    pub(super) path: String,
}

impl Layout {
    pub(super) fn new(realm_path: &str, id: &str) -> Self {
        let root = format!("{realm_path}/{id}");
        let [marks, made, definitions, clock] =
            ["marks", "made", "definitions", "clock"].map(|child| format!("{root}/{child}"));
        Self { root, marks, made, definitions, clock }
    }
}

impl Place {
    /// Where `text` is among the children of the children of `directory`.
    pub(super) fn of(directory: &str, text: &str) -> Self {
        let bucket = bucket(text);
        let parent = format!("{directory}/{bucket:02x}");
        let path = format!("{parent}/{}", escaped(text));
        Self { bucket, parent, path }
    }
}

/// The path of a realm.
pub(super) fn realm_path(path: &str, realm: &str) -> String {
    format!("{path}/{}", escaped(realm))
}

/// FNV-1a, folded to a byte. It is part of the layout: another hash would not find what is there.
pub(super) fn bucket(text: &str) -> usize {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::from(hash.to_be_bytes().into_iter().fold(0, |folded, byte| folded ^ byte))
}

/// A name as ZooKeeper takes it: what is not printable ASCII, `/`, `%` and a dot at the beginning as `%` and two
/// digits. No two texts become one.
pub(super) fn escaped(text: &str) -> String {
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'.' if name.is_empty() => name.push_str("%2E"),
            _ if byte.is_ascii_graphic() && !b"/%".contains(&byte) => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

/// The text that was escaped; `None` for what nobody has escaped.
pub(super) fn unescaped(name: &str) -> Option<String> {
    let text = percent_encoding::percent_decode_str(name).decode_utf8().ok()?.into_owned();
    (escaped(&text) == name).then_some(text)
}

/// What a realm's node holds.
pub(super) fn realm_text(id: &str) -> String {
    format!("version={VERSION} id={id}")
}

/// The version of the layout, and the realm's id where this version has one.
pub(super) fn parse_realm(data: &[u8]) -> Option<(i64, Option<&str>)> {
    let (version, rest) = std::str::from_utf8(data).ok()?.strip_prefix("version=")?.split_once(' ')?;
    let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = rest.strip_prefix("id=").filter(is_id);
    Some((version.parse().ok()?, id))
}

/// A record as text: its numbers and its token in one line, and its note after that.
pub(super) fn record_text(record: &Mark) -> String {
    let Mark { previous, start, mark, token, note } = record;
    let mut text = format!("mark={mark} start={start} previous={previous} token=");
    match token {
        Some(token) => text.push_str(&format!("{:032x}", u128::from_be_bytes(*token.as_bytes()))),
        None => text.push('-'),
    }
    if let Some(note) = note {
        text.push('\n');
        text.push_str(note);
    }
    text
}

/// The record in a text, to the letter: what no floe has written is `None`.
pub(super) fn parse_record(data: &[u8]) -> Option<Mark> {
    let text = std::str::from_utf8(data).ok()?;
    let (line, note) =
        text.split_once('\n').map_or((text, None), |(line, note)| (line, Some(note.to_owned())));
    let mut fields = line.split(' ');
    let mut field = |name: &str| fields.next()?.strip_prefix(name)?.strip_prefix('=');
    let position = |text: &str| text.parse().ok().filter(|position| *position <= MAX_MARK);
    let (mark, start) = (position(field("mark")?)?, position(field("start")?)?);
    let previous = position(field("previous")?)?;
    let token = match field("token")? {
        "-" => None,
        token => Some(Token::from_bytes(u128::from_str_radix(token, 16).ok()?.to_be_bytes())?),
    };
    let record = Mark { previous, start, mark, token, note };
    (record_text(&record) == text).then_some(record)
}
