//! Reads the nodes that version 1 of the layout left, and says why a floe of version 1 that still runs does no harm.
//!
//! Version 1 kept a mark as text of another format, a definition in a node of its own, and an empty node for each record
//! that was made:
//!
//! ```text
//! /floe/shop                        version=1 id=9f86…
//! /floe/shop/9f86…/marks/a3/n%2Forders
//!                                   mark=500 start=400 previous=400 token=5e88…, and its note in further lines
//! /floe/shop/9f86…/made/12/s%2F10%2F7   empty
//! /floe/shop/9f86…/definitions/1c/orders
//!                                   the name's definition, for ever
//! ```
//!
//! A large realm does not fit into one transaction, and a floe of version 1 checks only the nodes that it writes. So floe
//! moves nothing. **A record stays in its node.** Its first reader rewrites it there, in one transaction of its own. Each
//! write of a floe of version 1 has a condition on that node, whichever floe wrote the node last:
//!
//! - It **writes a mark** if the node still has the version that it read. The rewriting and every later write of this floe
//!   raise that version. So the older floe's write fails; it reads a record that it does not know, and stops. When it
//!   connects again, it reads version 2 in the realm's node, and reports that a newer floe is needed. If the older floe
//!   wrote first, the rewriting fails, and this floe reads again.
//! - It **makes a mark** together with its node below `made`, if neither exists. This floe makes the record in the same
//!   node, so one of the two fails.
//! - It **binds a name** by making the node below `definitions`, if that does not exist. When this floe makes or rewrites
//!   a name's record, the same transaction writes [`STOP`] to that node, on the condition that the node has not changed
//!   since it was read. So a name has one definition: the former one, which the new record repeats, or the new record's.
//!   A floe of version 1 takes [`STOP`] for another definition, and refuses the name.
//! - It **gives back** and **raises** like a write of a mark.
//!
//! So floes of both versions reserve each range on the one record that exists. A floe may be killed between any two
//! transactions, and many floes may rewrite at once: at any moment each record is one of version 1 or one of version 2.
//!
//! A floe that connects updates the realm's node to version 2 before it rewrites any record. This only tells older floes
//! why they stop; the argument does not need it.

use floe::ledger::MAX_MARK;

use crate::remote::stored::{self, FORMER_NUMBER, header};

/// The text that an older floe reads as the definition of a name.
pub(super) const STOP: &str = "a newer floe keeps this name: run the newer floe";

/// The beginning of every text that this floe writes.
const CURRENT: &str = "floe ";

/// Whether a text is not of this version: a mark or a note of version 1, or one that no floe wrote.
pub(super) fn is_former(text: &str) -> bool {
    !text.starts_with(CURRENT)
}

/// The record of a former mark and a former definition; `None` if version 1 did not write them. `written` is the number
/// of this write; `None` if the record is only read.
pub(super) fn record(
    mark: Option<&str>,
    definition: Option<&str>,
    realm: &str,
    written: Option<&str>,
) -> Option<String> {
    let written = written.unwrap_or(FORMER_NUMBER);
    let mut text = format!("{}written {written}\nmade {FORMER_NUMBER}\n", header(realm));
    let mut line = |word: &str, value: &str| text.push_str(&stored::line(word, value));
    let mut note = None;
    if let Some(mark) = mark {
        let (numbers, rest) = mark.split_once('\n').map_or((mark, None), |(line, note)| (line, Some(note)));
        note = rest;
        let mut fields = numbers.split(' ');
        let mut field = |name: &str| fields.next()?.strip_prefix(name)?.strip_prefix('=');
        let (mark, start) = (position(field("mark")?)?, position(field("start")?)?);
        let (previous, token) = (position(field("previous")?)?, field("token")?);
        if fields.next().is_some() {
            return None;
        }
        // Someone may have set a mark by hand. If the start is above the mark, it becomes the mark.
        let start = start.min(mark);
        line("mark", &format!("{mark} start {start} previous {}", previous.min(start)));
        if token != "-" {
            line("token", Some(token).filter(|token| is_number(token))?);
        }
    }
    for (word, value) in [("definition", definition), ("note", note)] {
        if let Some(value) = value {
            line(word, value);
        }
    }
    text.push_str("end\n");
    Some(text)
}

/// A number as version 1 wrote it.
fn position(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| *number <= MAX_MARK && number.to_string() == text)
}

/// Whether this is a token, as both versions write it.
fn is_number(text: &str) -> bool {
    let digits = text.as_bytes();
    digits.len() == 32
        && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        && digits.iter().any(|digit| *digit != b'0')
}
