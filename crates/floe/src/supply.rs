//! The numbers that a segment has reserved: what the node and the minting side share.

use crate::Id;
use crate::batch::number;
use crate::clock::Stamp;
use crate::cursor::{Draw, Drawn, Owned};
use crate::in_hand::{InHand, next_size};
use crate::layout::IdRun;
use crate::ledger::MAX_MARK;
use crate::mutation::mutate;
use crate::shared_cursor::SharedCursor;
use crate::sync::{AtomicU64, Ordering};

/// What the node and the minting side share about a segment.
pub(crate) struct SegmentSupply {
    pub(crate) shared: SharedCursor,
    pub(crate) increment: u64,
    pub(crate) offset: u64,
    /// The first position whose number would pass 2^63 - 1.
    pub(crate) end: u64,
    /// The node wants to know when fewer than this many are left.
    pub(crate) low: AtomicU64,
}

impl SegmentSupply {
    pub(crate) fn new(increment: u64, offset: u64, shared: SharedCursor) -> Self {
        let end = ((MAX_MARK - offset) / increment + 1).min(MAX_MARK);
        Self { shared, increment, offset, end, low: AtomicU64::new(0) }
    }

    /// Shows what is owned from now on. Whoever leaves fewer than `low` of it asks for more.
    pub(crate) fn publish(&self, owned: &Owned, low: u64) {
        // First: a lease of the range goes to where they are so few, or to the end.
        self.low.store(low, Ordering::Relaxed);
        self.shared.cursor.publish(owned, owned.current.start);
    }

    /// The number at a position below `end`.
    #[inline(always)]
    pub(crate) fn number_at(&self, position: u64) -> u64 {
        // Most segments have an increment of 1. The multiplication would delay the next draw of one number by a third.
        let far = if self.increment == 1 { position } else { self.increment * position };
        self.offset + far
    }

    /// Draws one number, if that needs no wait.
    #[inline(always)]
    pub(crate) fn draw_one(&self, stamp: Stamp) -> Option<u64> {
        match self.shared.cursor.draw_leased(stamp) {
            Some((position, _)) => Some(position),
            None => self.draw_and_lease(stamp),
        }
    }

    #[cold]
    fn draw_and_lease(&self, stamp: Stamp) -> Option<u64> {
        match self.draw(stamp.era(), 1, true) {
            Draw::Got(drawn) => {
                self.shared.cursor.grant(stamp, 0, self.low.load(Ordering::Relaxed), |_, _| (MAX_MARK, 0));
                Some(drawn.start)
            }
            Draw::Later(_) | Draw::NeedRange => None,
        }
    }

    /// Draws consecutive numbers: all of `count` if `whole`, otherwise at least one.
    #[inline]
    pub(crate) fn draw(&self, era: u64, count: u64, whole: bool) -> Draw {
        let draw = self.shared.cursor.draw(era, count, whole, MAX_MARK, |next| next);
        match &draw {
            // The spare is now in use. The next spare is reserved before it is needed.
            Draw::Got(drawn) if drawn.left < self.low.load(Ordering::Relaxed) => self.shared.want(0),
            Draw::Got(_) => {}
            Draw::Later(_) | Draw::NeedRange => self.shared.want(count),
        }
        draw
    }
}

/// Numbers that one minter has drawn ahead of need.
#[derive(Debug)]
pub(crate) struct NumberChunk {
    in_hand: InHand<Id>,
    era: u64,
    size: u64,
}

impl NumberChunk {
    pub(crate) fn new(supply: &SegmentSupply) -> Self {
        Self { in_hand: InHand::new(&supply.shared.cursor), era: 0, size: 1 }
    }

    /// See [`InHand::take_again`].
    #[inline(always)]
    pub(crate) fn take_again(&mut self) -> Option<Id> {
        self.in_hand.take_again()
    }

    /// The next number, if there is no need to wait. `now` reads the era, and says whether the clock keeps a stamp of it at
    /// hand.
    pub(crate) fn take(&mut self, supply: &SegmentSupply, now: impl FnOnce() -> (u64, bool)) -> Option<Id> {
        // Before the clock.
        let pulse = self.in_hand.pulse();
        let (era, kept) = now();
        let seen = kept.then_some(pulse);
        let is_good = mutate!(self.era == era, ChunkOutlivesItsEra => true)
            && self.in_hand.is_current(&supply.shared.cursor);
        if is_good && let Some(id) = self.in_hand.take(seen) {
            return Some(id);
        }
        let step = supply.low.load(Ordering::Relaxed);
        self.size = next_size(self.size, self.in_hand.is_empty(), step);
        match supply.draw(era, self.size, false) {
            Draw::Got(Drawn { start, count, version, .. }) => {
                let [first, step] = [supply.number_at(start), supply.increment].map(number);
                self.in_hand.drawn(IdRun::new(first, step, count), version);
                self.era = era;
                self.in_hand.take(seen)
            }
            Draw::Later(_) | Draw::NeedRange => None,
        }
    }
}
