//! The version of the layout, and the step from version 1.
//!
//! ```text
//! PREFIX/version      2
//! PREFIX/KEY          the store's record of KEY
//! ```
//! Version 1 had three keys for a name, and two for a slot:
//! ```text
//! PREFIX/realm/REALM              the realm's id
//! PREFIX/mark/REALM/n/NAME        mark=1500 start=1000 previous=1000 token=0f… note=…
//! PREFIX/mark/REALM/s/BITS/ID     the same, of a slot
//! PREFIX/made/REALM/s/BITS/ID     empty: this slot's record was made, whether or not it is still there
//! PREFIX/definition/REALM/NAME    the definition
//! ```
//! # Why no range is handed out twice by the step
//! A realm may have more records than etcd writes at once, so the step has three parts. The realm's key shows which part
//! is next. Several processes may do the step at once; each is a mover.
//!
//! 1. **Every floe of version 1 is stopped.** Each of its writes (a reserve, a give back, a raise, a bind) has the
//!    condition that the realm's key holds the realm's id. One transaction replaces this id with `moving ID`, and version
//!    1 with 2. A floe of version 1 refuses version 2 when it connects, and the condition of its later writes is false.
//! 2. **Each mover moves all records**, some at a time. It reads all of them first. The first part is over by then, so
//!    only other movers write them. Each transaction has the condition that the realm's key still holds `moving ID`. One
//!    transaction writes a record and the note that it was made. Their texts follow from the texts that were read, so
//!    all movers write the same. The former definitions stay, so a mover never reads half a record.
//! 3. **The realm's key becomes the realm's record.** A mover writes it after it has moved all records that it read,
//!    which are all that exist. Only now can a floe of version 2 enter the realm. From here on, the condition of a slow
//!    mover is false.
//!
//! If a mover ends anywhere in between, nobody reserves, and the next mover begins with the second part. It skips the
//! records that are already moved: no text of version 1 begins like them or like their notes.

use std::collections::{BTreeMap, BTreeSet};

use floe::ledger::{LedgerError, MAX_MARK};
use floe::store::Store;

use super::messages::{Compare, Operation, TxnRequest};
use super::{Etcd, words};
use crate::Opening;
use crate::remote::stored::{FORMER_NUMBER, former_note, header, line};

/// The key of the version.
pub(super) const KEY: &str = "version";

/// The version that this floe writes. Version 2 compares and swaps records.
pub(super) const VERSION: i64 = 2;

/// The beginning of every record.
const FIRST: &str = "floe ";

/// The beginning of a realm's key while its records are moved; the realm's id follows.
const MOVING: &str = "moving ";

/// How many records one transaction moves. Two operations are needed for each, and etcd takes 128 operations and 1.5 MiB
/// unless it is told otherwise; a record has at most 64 KiB.
const AT_ONCE: usize = 16;

/// The kinds of names that have a mark, by the first word of their definition.
const MARKED: [&str; 3] = ["segment", "counter", "dated"];

/// # Errors
/// `Unfit` if a newer floe wrote the version, or if it is not a version.
pub(super) fn check_version(version: Option<&str>, shown: &str) -> Result<(), LedgerError> {
    match version.map(str::parse::<i64>) {
        None | Some(Ok(1..=VERSION)) => Ok(()),
        Some(Ok(newer)) if newer > VERSION => Err(words::is_newer(shown, newer, VERSION)),
        Some(_) => Err(words::is_damaged(shown, &format!("the version `{}`", version.unwrap_or_default()))),
    }
}

/// Updates a realm of version 1. If a realm is about to be made, writes the version.
///
/// # Errors
/// Those of the cluster; `Unfit` if the realm is not the pinned one, or may not be changed.
pub(super) fn enter(etcd: &Etcd, opening: &Opening) -> Result<(), LedgerError> {
    let (shown, realm) = (&etcd.settings.reach.shown, opening.realm());
    let current = VERSION.to_string();
    let (version_key, realm_key) = (etcd.path(KEY), etcd.path(&format!("realm/{realm}")));
    loop {
        let mut found = etcd.run(TxnRequest::look([version_key.clone(), realm_key.clone()]))?.found();
        let (version, now) = (found.next().flatten(), found.next().flatten());
        check_version(version.as_deref(), shown)?;
        let success = match now.as_deref() {
            Some(text) if !text.starts_with(FIRST) => {
                let id = text.strip_prefix(MOVING).unwrap_or(text);
                if id.is_empty() || id.contains(char::is_whitespace) {
                    return Err(words::is_damaged(shown, &format!("an id of the realm {realm}")));
                }
                let records = format!("the records of the realm {realm}");
                opening.may_change(&records, 1, shown)?;
                opening.check_id(id, shown)?;
                if id == text {
                    vec![
                        Operation::put(&version_key, &current),
                        Operation::put(&realm_key, &format!("{MOVING}{id}")),
                    ]
                } else if move_over(etcd, realm, id)? {
                    vec![Operation::put(&realm_key, &header(id))]
                } else {
                    continue;
                }
            }
            None if is_left_behind(etcd, realm)? => {
                return Err(LedgerError::Unfit(format!(
                    "{shown} holds records of an older floe, and the key of their realm ({}/realm/{realm}) is gone: \
                     restore all from a backup, then {}",
                    etcd.settings.prefix,
                    words::RAISE
                )));
            }
            _ if version.as_ref() == Some(&current) || !opening.may_make() => return Ok(()),
            _ => vec![Operation::put(&version_key, &current)],
        };
        // If another process came in between, the next round reads again.
        let compare =
            vec![Compare::new(&version_key, version.as_deref()), Compare::new(&realm_key, now.as_deref())];
        etcd.run(TxnRequest { compare, success, failure: Vec::new() })?;
    }
}

/// Whether a realm without a key has records of version 1. Records of version 2 name their realm themselves.
fn is_left_behind(etcd: &Etcd, realm: &str) -> Result<bool, LedgerError> {
    for sort in ["mark", "definition"] {
        if let Some((_, text)) = etcd.list(&format!("{sort}/{realm}/"), "", 1)?.first() {
            return Ok(!text.starts_with(FIRST));
        }
    }
    Ok(false)
}

/// The second part of the step. Returns `false` if the realm's key has changed meanwhile.
fn move_over(etcd: &Etcd, realm: &str, id: &str) -> Result<bool, LedgerError> {
    let all = |sort: &str| -> Result<BTreeMap<String, String>, LedgerError> {
        let base = format!("{sort}/{realm}/");
        let found = etcd.list(&base, "", usize::MAX)?.into_iter();
        Ok(found.filter_map(|(key, text)| Some((key.strip_prefix(&base)?.to_owned(), text))).collect())
    };
    let (marks, made, definitions) = (all("mark")?, all("made")?, all("definition")?);
    let names = definitions.keys().map(|name| format!("n/{name}"));
    let is_former = |text: Option<&String>| text.is_none_or(|text| !text.starts_with(FIRST));
    let keys: BTreeSet<_> = marks.keys().chain(made.keys()).cloned().chain(names).collect();
    let keys: Vec<_> =
        keys.into_iter().filter(|key| is_former(marks.get(key)) && is_former(made.get(key))).collect();
    for keys in keys.chunks(AT_ONCE) {
        let compare =
            vec![Compare::new(&etcd.path(&format!("realm/{realm}")), Some(&format!("{MOVING}{id}")))];
        let mut success = Vec::new();
        for key in keys {
            let definition = key.strip_prefix("n/").and_then(|name| definitions.get(name));
            let note = former_note(id);
            success.push(Operation::put(&etcd.path(&format!("made/{realm}/{key}")), &note));
            if let Some(text) = record(id, marks.get(key), definition) {
                success.push(Operation::put(&etcd.path(&format!("mark/{realm}/{key}")), &text));
            }
        }
        if !etcd.run(TxnRequest { compare, success, failure: Vec::new() })?.succeeded {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The new record for one of version 1; `None` if it was deleted, or if no floe has written it. Such a text stays, and
/// readers refuse it.
pub(super) fn record(id: &str, mark: Option<&String>, definition: Option<&String>) -> Option<String> {
    let lines = match mark {
        Some(mark) => read(mark)?,
        // Such a name had a mark once.
        None if MARKED.contains(&definition?.split(' ').next()?) => return None,
        None => [String::new(), String::new()],
    };
    let [mark, note] = lines;
    let definition = definition.map(|text| line("definition", text)).unwrap_or_default();
    Some(format!(
        "{}written {FORMER_NUMBER}\nmade {FORMER_NUMBER}\n{mark}{definition}{note}end\n",
        header(id)
    ))
}

/// The lines of a mark before the definition, and the line after it.
fn read(text: &str) -> Option<[String; 2]> {
    let (text, note) = match text.split_once(" note=") {
        Some((text, note)) => (text, line("note", note)),
        None => (text, String::new()),
    };
    let mut fields = text.split(' ');
    let mut number = |name: &str| fields.next()?.strip_prefix(name)?.parse::<u64>().ok();
    let (mark, start, previous) = (number("mark=")?, number("start=")?, number("previous=")?);
    let mut lines = format!("mark {mark} start {start} previous {previous}\n");
    if let Some(token) = fields.next() {
        let is_hex = |token: &&str| token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
        let token = token.strip_prefix("token=").filter(is_hex)?;
        lines += &format!("token {:032x}\n", u128::from_str_radix(token, 16).ok()?);
    }
    let is_in_order = previous <= start && start <= mark && mark <= MAX_MARK;
    (is_in_order && fields.next().is_none()).then_some([lines, note])
}
