//! What the layout before this one, version 1, left in the tree, and why a floe that still runs on it does no harm.
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
//!                                   what the name is bound to, for ever
//! ```
//!
//! A large realm does not fit into one transaction, and version 1 looks at nothing but the nodes that it writes. So nothing
//! is moved. **A record stays in its node**, and is rewritten there when it is first read, in one transaction of its own. Each
//! write of version 1 has a condition on that node, whichever floe wrote it last:
//!
//! - It **writes a mark** where the node has the version that it has read. The rewriting and every later write of this floe
//!   raise that version. So it fails, finds a record that it cannot read, and stops; when it connects again, it finds
//!   version 2 in the realm's node, and says that a newer floe is needed. Where it was first, the rewriting fails, and this
//!   floe reads what it wrote.
//! - It **makes a mark** together with its node below `made`, where neither is there. This floe makes the record in the same
//!   node, and so one of the two fails.
//! - It **binds a name** by making the node below `definitions`, where that is not there. Each write of this floe that makes a
//!   name's record, or rewrites one, leaves [`STOP`] in that node in the same transaction, on the condition that the node is
//!   still as it was read. So a name has one definition: the former one, which the new record then has, or the new record's.
//!   Version 1 takes [`STOP`] for a definition that is not its own, and refuses the name.
//! - It **gives back** and **raises** as it writes.
//!
//! So each range is reserved on the one record that there is, by a floe of either version. A floe may be killed between any
//! two transactions, and many may rewrite at once: each record is one of version 1 or one of version 2 at any moment.
//!
//! The realm's node is brought to version 2 when a floe connects, before any record is rewritten. It tells older floes; nothing
//! rests on it.

use floe::ledger::MAX_MARK;

use crate::remote::stored::{self, FORMER_NUMBER, header};

/// What an older floe takes for the definition of a name.
pub(super) const STOP: &str = "a newer floe keeps this name: run the newer floe";

/// The beginning of what this floe writes.
const CURRENT: &str = "floe ";

/// Whether a text is a mark or a note of version 1, or what nobody wrote.
pub(super) fn is_former(text: &str) -> bool {
    !text.starts_with(CURRENT)
}

/// The record of a former mark and a former definition. `written` is the number of this writing, 1 where it is only read.
/// `None` for what version 1 has not written.
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
        // Somebody may have set a mark by hand: what begins above its end begins there.
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
