//! The numbers that a segment has in hand: what the node and the minting side share.

use crate::clock::Stamp;
use crate::cursor::Draw;
use crate::ledger::MAX_MARK;
use crate::shared_cursor::SharedCursor;
use crate::sync::{AtomicU64, Ordering};

/// What the node and the minting side share about a segment.
pub(crate) struct SegmentSupply {
    pub(crate) line: SharedCursor,
    pub(crate) increment: u64,
    pub(crate) offset: u64,
    /// The first position whose number would pass 2^63 - 1.
    pub(crate) end: u64,
    /// The node wants to know when fewer than this many are left.
    pub(crate) low: AtomicU64,
}

impl SegmentSupply {
    pub(crate) fn new(increment: u64, offset: u64, line: SharedCursor) -> Self {
        let end = ((MAX_MARK - offset) / increment + 1).min(MAX_MARK);
        Self { line, increment, offset, end, low: AtomicU64::new(0) }
    }

    /// The number at a position below `end`.
    #[inline]
    pub(crate) fn number_at(&self, position: u64) -> u64 {
        self.offset + self.increment * position
    }

    /// Draws one number, if that needs no wait.
    #[inline(always)]
    pub(crate) fn draw_one(&self, stamp: Stamp) -> Option<u64> {
        match self.line.cursor.draw_leased(stamp) {
            Some((position, _)) => Some(position),
            None => self.draw_and_lease(stamp),
        }
    }

    #[cold]
    fn draw_and_lease(&self, stamp: Stamp) -> Option<u64> {
        match self.draw(stamp.era(), 1) {
            Draw::Got(drawn) => {
                self.line.cursor.grant(stamp, 0, MAX_MARK, self.low.load(Ordering::Relaxed));
                Some(drawn.start)
            }
            Draw::Later(_) | Draw::NeedRange => None,
        }
    }

    /// Draws numbers that follow one another.
    #[inline]
    pub(crate) fn draw(&self, era: u64, count: u64) -> Draw {
        let draw = self.line.cursor.draw(era, count, true, MAX_MARK, |next| next);
        match draw {
            // The spare has come into use: the next one is reserved before it is needed.
            Draw::Got(drawn) if drawn.left < self.low.load(Ordering::Relaxed) => self.line.want(0),
            Draw::Got(_) => {}
            Draw::Later(_) | Draw::NeedRange => self.line.want(count),
        }
        draw
    }
}
