//! The paths of the nodes in the tree.
//!
//! ```text
//! /floe                            the path in the URL
//! /floe/shop                       a realm: `version=2 ` and its record
//! /floe/shop/9f86…/clock           written to read the leader's clock
//! /floe/shop/9f86…/marks/a3/n%2Forders
//!                                  the record `mark/shop/n/orders`
//! /floe/shop/9f86…/marks/a3/n%2Forders/77c1…
//!                                  empty: the number of that record's last write
//! /floe/shop/9f86…/made/12/s%2F10%2F7
//!                                  the note `made/shop/s/10/7`
//! /floe/shop/9f86…/definitions/1c/orders
//!                                  stops older floes on a name; see `former.rs`
//! ```
//! The realm's id is in every path. If a realm is removed and made again under a running ledger, its paths change, so no
//! floe reads or writes the old one by mistake. Records are spread over 256 parents: ZooKeeper returns the names of all
//! children at once, and its own tools read a mebibyte at most. With names of 20 bytes, each parent has room for about
//! 40,000.

use crate::remote::stored;

/// The version of the layout. Version 1 kept a mark and a definition as nodes of their own.
pub(super) const VERSION: i64 = 2;

/// The directories of a realm, and the node that is written to read the clock.
pub(super) const MARKS: &str = "marks";
pub(super) const MADE: &str = "made";
pub(super) const DEFINITIONS: &str = "definitions";
pub(super) const CLOCK: &str = "clock";

/// The path of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Its parent.
    pub(super) bucket: String,
    pub(super) path: String,
}

impl Place {
    /// The place of the node for `text`, in one of the parents of a directory below `root`.
    pub(super) fn of(root: &str, directory: &str, text: &str) -> Self {
        let bucket = format!("{root}/{directory}/{:02x}", bucket(text));
        let path = format!("{bucket}/{}", escaped(text));
        Self { bucket, path }
    }
}

/// The path of a realm.
pub(super) fn realm_path(path: &str, realm: &str) -> String {
    format!("{path}/{}", escaped(realm))
}

/// The parts of a store's key: its sort, its realm, and the rest. The key of a realm itself has no third part.
pub(super) fn split(key: &str) -> (&str, &str, Option<&str>) {
    let (sort, rest) = key.split_once('/').unwrap_or((key, ""));
    match rest.split_once('/') {
        Some((realm, rest)) => (sort, realm, Some(rest)),
        None => (sort, rest, None),
    }
}

/// The directory of a sort of keys.
pub(super) fn directory(sort: &str) -> &'static str {
    if sort == "made" { MADE } else { MARKS }
}

/// FNV-1a, folded to a byte. It is part of the layout: with another hash, floe would not find existing records.
pub(super) fn bucket(text: &str) -> usize {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::from(hash.to_be_bytes().into_iter().fold(0, |folded, byte| folded ^ byte))
}

/// A name that ZooKeeper accepts. `/`, `%`, a dot at the beginning and every byte that is not printable ASCII become `%`
/// and two digits. Different texts have different names.
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

/// The text of an escaped name; `None` if [`escaped`] does not write this name.
pub(super) fn unescaped(name: &str) -> Option<String> {
    let text = percent_encoding::percent_decode_str(name).decode_utf8().ok()?.into_owned();
    (escaped(&text) == name).then_some(text)
}

/// The text of a realm's node.
pub(super) fn realm_text(record: &str) -> String {
    format!("version={VERSION} {record}")
}

/// The version of the layout, and the realm's record if this floe knows the version.
pub(super) fn parse_realm(text: &str) -> Option<(i64, Option<String>)> {
    let (version, rest) = text.strip_prefix("version=")?.split_once(' ')?;
    let version = version.parse().ok()?;
    let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let record = match version {
        1 => rest.strip_prefix("id=").filter(is_id).map(stored::header),
        VERSION => id_in(rest).map(|_| rest.to_owned()),
        _ => None,
    };
    Some((version, record))
}

/// The id in a realm's record.
pub(super) fn id_in(record: &str) -> Option<&str> {
    record
        .lines()
        .find_map(|line| line.strip_prefix("realm "))
        .filter(|id| !id.is_empty() && !id.contains('/'))
}
