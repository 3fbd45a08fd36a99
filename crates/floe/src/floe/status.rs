//! What a [`Floe`] says of itself.

use std::cell::LazyCell;

use super::{Floe, lock};
use crate::clock::Now;
use crate::driver::Shared;
use crate::handle::{Handle, TextMinter};
use crate::kind::Origin;
use crate::segment::Segment;
use crate::shared_cursor::BlockReason;
use crate::status::{ClockStatus, NameState, NameStatus, State, Status};
use crate::time::UnixMillis;

impl Floe {
    /// Takes a snapshot of the clock, the slots, the names and the calls to the ledger, for metrics and for people.
    ///
    /// ```
    /// use floe::{Floe, NameState, State, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// floe.segment("tickets")?.mint()?;
    /// let status = floe.status();
    /// assert_eq!((status.state, status.names.len()), (State::Running, 1));
    /// assert_eq!(status.names[0].state, NameState::Ready);
    /// assert!(status.calls.granted >= 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn status(&self) -> Status {
        let shared = &self.inner.shared;
        let now = shared.clock.look();
        let steady = now.stamp.time();
        let names: Vec<_> = lock(&self.inner.names).values().cloned().collect();
        // One look at the clock for all names, and none if no name needs it.
        let own_clock = LazyCell::new(|| Origin::system().look().err().map(NameState::barred));
        let mut names: Vec<_> =
            names.iter().map(|handle| status_of(handle, &now, &own_clock, shared)).collect();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        // The ledger may take its time, and nobody waits for the node meanwhile.
        let (realm_id, ledger) = (self.realm_id(), shared.ledger.describe());
        let node = shared.node();
        Status {
            realm_id,
            ledger,
            state: node.stopped().map_or(State::Running, |cause| State::Stopped(cause.to_owned())),
            clock: ClockStatus {
                steady,
                wall: now.wall,
                state: now.state,
                refused: now.refusal(),
                ledger_offset_ms: now.ledger_offset_ms(),
                apart: node.apart(&now),
            },
            slots: node.slots(steady),
            names,
            calls: shared.ledger_calls(),
        }
    }
}

/// `own_clock` is why the kinds that have a time and need no ledger cannot mint.
fn status_of(
    handle: &Handle,
    now: &Now,
    own_clock: &LazyCell<Option<NameState>, impl FnOnce() -> Option<NameState>>,
    shared: &Shared,
) -> NameStatus {
    let (name, definition) = (handle.name().clone(), handle.definition().clone());
    let stamp = now.stamp;
    let refused = || now.refusal().map(NameState::ClockRefused);
    let (mut left, mut ahead_ms, mut horizon) = (0, 0, None);
    let (trouble, barred) = if let Some(stream) = handle.stream() {
        let (layout, cursor) = (&stream.layout, &stream.shared.cursor);
        let end = cursor.owned().current.end;
        let until = if end == 0 { UnixMillis::EPOCH } else { layout.time_of(layout.tick_of(end)) };
        let after = |time: UnixMillis| u64::try_from(time.since(stamp.time())).unwrap_or(0);
        left = after(until);
        ahead_ms = cursor.next().map_or(0, |next| after(layout.time_of(layout.tick_of(next))));
        horizon = Some(layout.horizon());
        (stream.shared.trouble(), refused().or_else(|| stream.barred(stamp).map(NameState::barred)))
    } else if let Some(segment) = handle.numbers().get::<Segment>() {
        let numbers = &segment.numbers.shared;
        left = numbers.cursor.left();
        let least = numbers.cursor.next().unwrap_or_else(|| numbers.cursor.floor());
        (numbers.trouble(), form_ended(handle, least))
    } else if definition.kind().is_counted() {
        queue_trouble(handle, now, shared)
    } else {
        // The kinds that need no ledger take the time from their own clock, which holds through every rollback.
        let own_clock = || Option::clone(own_clock);
        (None, definition.kind().has_time().then(own_clock).flatten())
    };
    let state = match (trouble, barred) {
        (Some(BlockReason::Stopped(stopped)), _) => NameState::Stopped(stopped.cause),
        (_, Some(barred)) => barred,
        (trouble, None) => NameState::of(trouble, left),
    };
    NameStatus { name, definition, state, left, ahead_ms, horizon }
}

/// The trouble with the ledger, and why the time or the remaining numbers forbid a mint.
fn queue_trouble(handle: &Handle, now: &Now, shared: &Shared) -> (Option<BlockReason>, Option<NameState>) {
    let node = shared.node();
    let down = node.down();
    let Some(queue) = node.queue(handle.name()) else { return (None, None) };
    let trouble = match queue.stopped() {
        Some(stopped) => Some(BlockReason::Stopped(stopped.clone())),
        None => {
            down.filter(|_| queue.waits()).map(|(since, cause)| BlockReason::Unavailable { since, cause })
        }
    };
    let barred = queue.barred(now).map(NameState::barred);
    (trouble, barred.or_else(|| form_ended(handle, queue.last_end())))
}

/// Whether the name's form is too short for its number at `least`, and so for all later ones.
fn form_ended(handle: &Handle, least: u64) -> Option<NameState> {
    let minter: &TextMinter = handle.get()?;
    minter.ended_before(handle.definition().number_at(least)?).map(NameState::barred)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Memory;
    use crate::{Name, NameOptions};

    /// Its own clock is the system's, whatever the floe's shows.
    #[test]
    fn a_kind_that_has_a_time_and_needs_no_ledger_is_barred_by_its_own_clock_and_no_other_kind_looks_at_it() {
        let floe = Floe::open(Memory::default()).unwrap();
        let shared = &floe.inner.shared;
        let refused = NameState::ClockRefused("its own clock".to_owned());
        for (word, is_barred) in
            [("uuid7", true), ("ulid", true), ("uuid4", false), ("nanoid", false), ("counter", false)]
        {
            let kind: crate::Kind = word.parse().unwrap();
            let definition = kind.define(&crate::Given::default(), &mut |_, _| ()).unwrap();
            let name = Name::new(word).unwrap();
            let handle = floe.define(&name, &definition, &NameOptions::default()).unwrap();
            let own_clock = LazyCell::new(|| {
                assert!(is_barred, "{word} has no clock of its own");
                Some(refused.clone())
            });
            let state = status_of(&handle, &shared.clock.look(), &own_clock, shared).state;
            assert_eq!(state, if is_barred { refused.clone() } else { NameState::Ready }, "{word}");
        }
    }
}
