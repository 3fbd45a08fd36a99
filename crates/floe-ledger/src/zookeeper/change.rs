//! How a record changes, and why it is linearizable and durable.
//!
//! Four properties of ZooKeeper carry the argument:
//!
//! 1. A **write** is agreed on by a quorum and flushed by each of it (`forceSync`) before any server applies it, and a
//!    server shows only what it has applied. So what is read anywhere is durable, and what a write answered is so too.
//! 2. All servers apply the same writes in the same order. A write that **fails** (`BadVersion`, `NodeExists`, a
//!    transaction whose condition is false) has its place in that order like any other: the leader proposes the
//!    failure itself.
//! 3. A server answers the requests of one session in the order in which they were sent, and answers a write when it
//!    has applied it. So a read that is sent **behind a write** in one session, whether or not the write succeeds, sees
//!    that write and all before it. It may be sent at once, without waiting for the write's answer. (A read alone may
//!    be answered by a server that lags behind; so may one behind a `sync`, by a leader that does not know yet that it
//!    was deposed.)
//! 4. A server closes the connections of its clients when it stops, and when it stops following its leader.
//!
//! A change is a pure step from a record to the next. It is taken on a record that was **seen**, and written on the
//! condition that the node's version is still the one that was seen. Where the write succeeds, the node had not
//! changed in between: the step was taken on the newest record, at the moment of the write, and is durable (1, 2).
//! Where it fails, the read behind it brings the record as it was at some moment after the write was sent (3), so
//! within this call, and the step is taken anew. Where a step writes nothing (a refusal, the same token again, a
//! record that is missing), it is an answer only if its record was read behind a write that was sent within this
//! call; and where nothing was written yet, a transaction without effect is that write.
//!
//! What is seen first is a **guess**: the record as this process last wrote it, or where it wrote none, that there is
//! none. A guess that is right makes the change one round trip. It needs one more thing, since versions alone do not
//! make a node: a node that was deleted and made again, or restored from an older backup, may have the same version and
//! another record. Nobody deletes nodes but people; a write shows the transaction that made its node, and where
//! that is another one, floe stops. For the backup, every server has to stop and start again; so a guess is used
//! on such connections alone as stood already when the guess was asked for (4).
//!
//! A record is made in one transaction with an empty node that stays. Where that node is there, the transaction fails, and
//! where the read behind it finds no record, somebody has deleted it since: it is not made anew.
//!
//! Who loses tries again at once, and does not back off: the answer that tells of the loss brings the newest record, so
//! the losers stand in line behind the winner, whose own next write has to come in behind theirs. With 32 processes on
//! one record the luckiest got 2.4 times what the unluckiest got, and nobody waited for a second; with a random pause
//! after each loss, of any length that was tried, one process won alone for seconds, since its guess stays right.
//!
//! A reply that is lost leaves the outcome unknown: the call is unavailable, its connection is closed, and its request
//! may take effect later, on the condition that nobody has written in between. The same token again finds its record,
//! or makes that condition false.

use std::sync::Arc;

use floe::ledger::{Key, LedgerError, Mark};

use super::Trouble;
use super::layout::Place;
use super::link::{Link, Put, Records, Seen};
use crate::remote::realm::RAISE;

/// What a step answers, and the record that is to be written first.
pub(super) type Step<T> = Result<(T, Option<Mark>), LedgerError>;

/// Takes `step` on the record of `key`, whose bucket's turn it is.
pub(super) async fn change<T>(
    link: &mut Link,
    records: &mut Records,
    key: &Key,
    step: impl Fn(Option<&Mark>) -> Step<T>,
) -> Result<T, Trouble> {
    let place = Place::of(&link.layout.marks, key.as_str());
    let made = Place::of(&link.layout.made, key.as_str());
    let known = Arc::clone(&link.line.known);
    let (mut seen, mut is_certain) = (records.take(key.as_str(), link), false);
    loop {
        match step(seen.as_ref().map(|seen| &seen.record)) {
            Ok((answer, Some(record))) => {
                let stood = known.births();
                match link.put(&place, &made, seen.as_ref(), &record).await? {
                    Put::Done(new) => {
                        let made = |seen: &Seen| seen.made;
                        if seen.is_some() && seen.as_ref().map(made) != new.as_ref().map(made) {
                            return Err(was_made_anew(link, &place));
                        }
                        if let Some(new) = new {
                            records.remember(key.as_str(), new, stood);
                        }
                        return Ok(answer);
                    }
                    Put::Lost(found) => seen = found,
                    Put::Eaten => return Err(LedgerError::Missing(key.clone()).into()),
                }
            }
            outcome if is_certain => return Ok(outcome?.0),
            _ => seen = link.read(&place).await?,
        }
        is_certain = true;
    }
}

fn was_made_anew(link: &Link, place: &Place) -> Trouble {
    LedgerError::Unfit(format!(
        "the record {} at {} was deleted and made again while floe ran, so its mark may be too low: {RAISE}, then \
         start floe again",
        place.path, link.line.shown
    ))
    .into()
}
