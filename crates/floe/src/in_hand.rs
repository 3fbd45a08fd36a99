//! The IDs that one minter holds: the short path of every minter.
//!
//! They were drawn from a cursor, so no other minter has them. Two things can make them stale: the cursor's ranges
//! change or are closed, which changes its version; and the clock's time or era moves on, which changes its word.
//! Nearly every ID finds both unchanged since the ID before, so the earlier decision still holds. Then an ID costs
//! two comparisons and an addition. If the version or the word has changed, the minter takes the long path.

use crate::IdRepr;
use crate::clock::Stamp;
use crate::cursor::Cursor;
use crate::layout::IdRun;
use crate::mutation::mutate;

/// See the module.
#[derive(Debug)]
pub(crate) struct InHand<I> {
    run: IdRun<I>,
    /// The clock's word by which they were found good.
    seen: Stamp,
    /// Of the draw.
    version: u64,
}

impl<I: IdRepr> InHand<I> {
    /// Nothing.
    pub(crate) fn new(cursor: &Cursor) -> Self {
        Self::drawn(IdRun::default(), cursor.version())
    }

    /// The IDs of a draw with this version.
    pub(crate) fn drawn(run: IdRun<I>, version: u64) -> Self {
        Self { run, seen: Stamp::NEVER, version }
    }

    /// The next run of the same draw.
    pub(crate) fn go_on(&mut self, run: IdRun<I>) {
        self.run = run;
    }

    /// The next ID, if `word` is the clock's word with which the earlier IDs were checked.
    #[inline(always)]
    pub(crate) fn take_again(&mut self, cursor: &Cursor, word: Stamp) -> Option<I> {
        let same = mutate!(mutate!(word == self.seen, OldChunkUsed => true), ChunkOutlivesItsEra => word.millis() == self.seen.millis());
        if same && self.is_current(cursor) { self.run.next() } else { None }
    }

    /// The next ID, which the caller has checked: by a stamp, which then holds for the following IDs too, or without one.
    pub(crate) fn take(&mut self, stamp: Option<Stamp>) -> Option<I> {
        self.seen = stamp.unwrap_or(Stamp::NEVER);
        self.run.next()
    }

    /// Whether nothing was published or closed since they were drawn.
    #[inline(always)]
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
