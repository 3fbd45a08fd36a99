//! The IDs that one minter holds: the short path of every minter.
//!
//! They were drawn from a cursor, so no other minter has them. Two things can make them stale: the cursor's ranges
//! change or are closed, which changes its version; and the clock's time or era moves on, which changes its word.
//! Each of these beats the floe's [`Pulse`]. Nearly every ID finds the pulse of the ID before, so the earlier decision
//! still holds. Then an ID costs one comparison and an addition. If the pulse has beaten, the minter takes the long
//! path, which reads the pulse, then the clock, and then the version.

use std::sync::Arc;

use crate::IdRepr;
use crate::cursor::Cursor;
use crate::layout::IdRun;
use crate::mutation::mutate;
use crate::pulse::{Beat, Pulse};

/// See the module.
#[derive(Debug)]
pub(crate) struct InHand<I> {
    run: IdRun<I>,
    pulse: Arc<Pulse>,
    /// The pulse with which they were found good.
    seen: Beat,
    /// Of the draw.
    version: u64,
}

impl<I: IdRepr> InHand<I> {
    /// Nothing.
    pub(crate) fn new(cursor: &Cursor) -> Self {
        Self {
            run: IdRun::default(),
            pulse: Arc::clone(cursor.pulse()),
            seen: Beat::NEVER,
            version: cursor.version(),
        }
    }

    /// The IDs of a draw with this version take the place of the earlier ones.
    pub(crate) fn drawn(&mut self, run: IdRun<I>, version: u64) {
        (self.run, self.seen, self.version) = (run, Beat::NEVER, version);
    }

    /// The pulse, to be read before the clock, for [`take`](Self::take).
    pub(crate) fn pulse(&self) -> Beat {
        self.pulse.read()
    }

    /// The next run of the same draw.
    pub(crate) fn go_on(&mut self, run: IdRun<I>) {
        self.run = run;
    }

    /// The next ID, if nothing has changed since the earlier IDs were checked.
    #[inline(always)]
    pub(crate) fn take_again(&mut self) -> Option<I> {
        if mutate!(self.pulse.is_still(self.seen), PulseIgnored => true) { self.run.next() } else { None }
    }

    /// The next ID, which the caller has checked. With `seen`, that holds for the following IDs too, while the pulse is
    /// this one.
    pub(crate) fn take(&mut self, seen: Option<Beat>) -> Option<I> {
        self.seen = seen.unwrap_or(Beat::NEVER);
        self.run.next()
    }

    /// Whether nothing was published or closed since they were drawn.
    pub(crate) fn is_current(&self, cursor: &Cursor) -> bool {
        mutate!(self.version == cursor.version(), StaleChunkUsed => true)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.run.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> u64 {
        self.run.size_hint().0 as u64
    }
}

/// The most that a minter draws at once, so that it loses little when they go stale, or when a segment gets another range.
const MOST: u64 = 256;

/// How many to draw next from a tick or a range of `whole` positions: twice as many if all were minted, half if some
/// went stale. At most a sixteenth of the whole, so that a few minters do not use it up.
pub(crate) fn next_size(size: u64, used: bool, whole: u64) -> u64 {
    if used { (size * 2).min((whole / 16).clamp(1, MOST)) } else { (size / 2).max(1) }
}
