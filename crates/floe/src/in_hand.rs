//! The IDs that one minter has in hand: the short way of every minter.
//!
//! They were drawn from a cursor, so they are nobody else's. Two things end them before they are minted: the cursor's ranges change
//! or are closed, which its version tells, and the clock's time or era moves on, which its word tells. Nearly every ID finds both as the
//! one before found them, and then nothing that was decided for that one has changed. So an ID costs two comparisons and an
//! addition; whoever finds another version or word goes the long way.

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

    /// What a draw with this version got.
    pub(crate) fn drawn(run: IdRun<I>, version: u64) -> Self {
        Self { run, seen: Stamp::NEVER, version }
    }

    /// The next run of the same draw.
    pub(crate) fn go_on(&mut self, run: IdRun<I>) {
        self.run = run;
    }

    /// The next ID by the clock's word `word`, where that is the one by which the ones before were found good.
    #[inline(always)]
    pub(crate) fn take_again(&mut self, cursor: &Cursor, word: Stamp) -> Option<I> {
        let same = mutate!(mutate!(word == self.seen, OldChunkUsed => true), ChunkOutlivesItsEra => word.millis() == self.seen.millis());
        if same && self.is_current(cursor) { self.run.next() } else { None }
    }

    /// The next ID, which the caller has found good: by a stamp, after which those that follow are good too, or without one.
    pub(crate) fn take(&mut self, stamp: Option<Stamp>) -> Option<I> {
        self.seen = stamp.unwrap_or(Stamp::NEVER);
        self.run.next()
    }

    /// Whether nothing was published and nothing was closed since they were drawn.
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

/// A minter draws so many at most: what it gives up when they grow old, or when a segment has another range, is small.
const MOST: u64 = 256;

/// How many to draw next of a tick or a range that has `whole`: twice as many where all were minted, and half where some grew old. A
/// sixteenth of the whole at most, so that few minters do not use it up between them.
pub(crate) fn next_size(size: u64, used: bool, whole: u64) -> u64 {
    if used { (size * 2).min((whole / 16).clamp(1, MOST)) } else { (size / 2).max(1) }
}
