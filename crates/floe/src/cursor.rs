//! The lock-free heart: one cursor that hands out positions, each at most once, only inside owned ranges (I3, I5).
//!
//! The cursor is a single word, and it only ever grows. A draw reads which ranges are owned and where the cursor
//! stands, decides on a position, and takes it with one compare-and-swap:
//!
//! - Two draws never get the same position, since both would have to swap the same value out.
//! - A thread that sleeps between deciding and swapping finds the cursor moved, and decides again. It cannot mint in
//!   a gap that came up meanwhile: its position lies in the ranges that it read, which are owned for ever unless
//!   they are given back, and before that the cursor is closed.
//! - Opening again after closing puts the cursor strictly past where it ever stood, so a swap that was decided before
//!   cannot succeed after (no ABA).
//!
//! The owned ranges are kept twice. A writer fills the copy that nobody is told to read, then counts the version up;
//! a reader takes the copy that the version names and looks at the version again. Neither waits for the other.
//!
//! # The lease
//! Most draws are of one position, by the same word of the clock as the draw before: nothing that was decided then has changed. So a
//! draw of one that succeeded leaves a **lease** behind ([`Cursor::grant`]): the clock's word, and the position below which
//! all are owned, due, and of one worker. By that word a draw takes the next position below it at once ([`Cursor::draw_leased`]); any
//! other goes the long way. That repeats nothing, and mints nothing that is not owned:
//!
//! 1. A lease is granted under the writer's lock, of an open cursor, from `next` on, which lies in a range that is owned in the
//!    clock's era, up to the end of that range and of what is due. A renewal takes the lease away, so that the next draw looks for the
//!    new range; who has read it before still draws what is owned. A close takes away the positions too.
//! 2. A leased draw reads `next`, then `below`, and swaps `next` for the next one. Whoever sees `below` sees the `next` for which it
//!    was granted, so the swap succeeds from there on alone. A gap that a draw has skipped since lies under `next`; one that lies
//!    ahead is past `below`.
//! 3. A close swaps `next` out, then takes the lease away, and the cursor opens again strictly above. Whoever reads a `next` of
//!    after that sees that the lease was taken away, since it reads `next` first; whoever has read an older one fails to swap.
//! 4. The worker id is written before the clock's word and read after it. It changes only across a close, which takes the clock's word
//!    away first.
//! 5. A call that begins after the era has ended has another word of the clock, and finds no lease for it: none is granted by a word
//!    of another era than the ranges'. One clock's word allows what any later one of its era does, so a lease of one word with
//!    the end of another's allows nothing that is not due.

use std::ops::Range;

use crate::clock::Stamp;
use crate::mutation::mutate;
use crate::sync::{AtomicU64, Mutex, Ordering, fence, lock, pause, try_lock};

/// What the cursor holds while nothing may be drawn. Positions stay below 2^63.
const CLOSED: u64 = u64::MAX;

/// The ranges that may be minted from, lower one first, and what goes with their positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Owned {
    pub(crate) current: Range<u64>,
    /// Empty, or wholly above `current`.
    pub(crate) spare: Range<u64>,
    /// The worker id of a window; nothing for numbers.
    pub(crate) tag: u64,
    /// The clock's era in which the ranges were reserved: in a later one they are not used (see `clock`).
    pub(crate) era: u64,
}

impl Owned {
    /// How many of the positions from `next` on are owned.
    fn left(&self, next: u64) -> u64 {
        [&self.current, &self.spare].iter().map(|range| range.end.saturating_sub(next.max(range.start))).sum()
    }
}

/// Positions that were drawn: they belong to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drawn {
    pub(crate) start: u64,
    pub(crate) count: u64,
    pub(crate) tag: u64,
    /// Changes with every change of the owned ranges.
    pub(crate) version: u64,
    /// How many owned positions are left behind these.
    pub(crate) left: u64,
}

/// What a draw came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Draw {
    Got(Drawn),
    /// The next position that could be drawn is at or past the limit.
    Later(u64),
    /// No owned range reaches there.
    NeedRange,
}

/// See the module.
pub(crate) struct Cursor {
    next: CacheLine<AtomicU64>,
    lease: Lease,
    version: AtomicU64,
    copies: [Copy; 2],
    writer: Mutex<Writer>,
}

/// A cache line of its own (two on machines that fetch them in pairs): each draw writes it, and whoever reads the words beside it
/// need not wait for that.
#[repr(align(128))]
struct CacheLine<T>(T);

/// See the module.
#[derive(Default)]
struct Lease {
    /// The clock's word by which it was granted.
    stamp: AtomicU64,
    /// The first position that it does not reach.
    below: AtomicU64,
    tag: AtomicU64,
}

#[derive(Default)]
struct Copy {
    current: [AtomicU64; 2],
    spare: [AtomicU64; 2],
    tag: AtomicU64,
    era: AtomicU64,
}

struct Writer {
    owned: Owned,
    /// Above every value that the cursor has had since it was last closed.
    floor: u64,
    open: bool,
    /// What the version is. It is counted here and never loaded: loom keeps the last access of a word alone, so a load right
    /// before the store would hide the loads of other threads that the store has to be tried before.
    version: u64,
}

impl Cursor {
    /// A cursor that owns nothing. Nothing below `floor` is ever drawn.
    pub(crate) fn new(floor: u64) -> Self {
        Self {
            next: CacheLine(AtomicU64::new(CLOSED)),
            lease: Lease::default(),
            version: AtomicU64::new(0),
            copies: [Copy::default(), Copy::default()],
            writer: Mutex::new(Writer { owned: Owned::default(), floor, open: false, version: 0 }),
        }
    }

    /// Draws one position by the lease that was granted at `stamp`, and its tag. `None` where there is none, or it is used up.
    #[inline(always)]
    pub(crate) fn draw_leased(&self, stamp: Stamp) -> Option<(u64, u64)> {
        let next = self.next.0.load(Ordering::Acquire);
        let (tag, after) = self.leased(stamp, next)?;
        match self.next.0.compare_exchange(next, after, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Some((next, tag)),
            Err(_) => self.draw_leased_again(stamp),
        }
    }

    /// What the lease says of the position `next`: its tag, and what follows it. It was read before.
    #[inline(always)]
    fn leased(&self, stamp: Stamp, next: u64) -> Option<(u64, u64)> {
        let below = self.lease.below.load(Ordering::Acquire);
        let granted = Stamp::from_word(self.lease.stamp.load(Ordering::Acquire));
        let tag = self.lease.tag.load(Ordering::Acquire);
        let below = mutate!(below, WindowCheckRemoved => if below == 0 { 0 } else { CLOSED >> 1 });
        let ended = mutate!(mutate!(granted != stamp, EraIgnored => granted.millis() != stamp.millis()), DrawnInAnOldEra => granted.millis() != stamp.millis());
        (next < below && !ended).then(|| (tag, next + mutate!(1, CursorNotMoved => 0)))
    }

    /// Out of the way of the first try.
    #[cold]
    fn draw_leased_again(&self, stamp: Stamp) -> Option<(u64, u64)> {
        let mut pauses = FIRST_PAUSES;
        loop {
            back_off(&mut pauses);
            let next = self.next.0.load(Ordering::Acquire);
            let (tag, after) = self.leased(stamp, next)?;
            if self.next.0.compare_exchange(next, after, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some((next, tag));
            }
        }
    }

    /// Lets draws of one at `stamp` go the short way: from `from` on, below `limit`, and while at least `low` are left. Whoever finds that
    /// the ranges are being written does without.
    pub(crate) fn grant(&self, stamp: Stamp, from: u64, limit: u64, low: u64) {
        let Some(writer) = try_lock(&self.writer) else { return };
        let Owned { current, spare, tag, era } = &writer.owned;
        if !writer.open || *era != stamp.era() {
            return;
        }
        let next = self.next.0.load(Ordering::Acquire);
        let Some(range) = [current, spare].into_iter().find(|range| range.contains(&next)) else { return };
        let left = writer.owned.left(next);
        let below = range.end.min(limit).min(next.saturating_add(left.saturating_sub(low)));
        if from <= next && next < below {
            self.lease.tag.store(*tag, Ordering::Release);
            self.lease.below.store(below, Ordering::Release);
            self.lease.stamp.store(stamp.word(), Ordering::Release);
        }
    }

    /// Draws up to `count` positions that follow one another: from `wish(cursor)`, moved up to where a range is
    /// owned, and below `limit`. At least one, and all of `count` where `whole`.
    #[inline(always)]
    pub(crate) fn draw(
        &self,
        era: u64,
        count: u64,
        whole: bool,
        limit: u64,
        wish: impl Fn(u64) -> u64 + std::marker::Copy,
    ) -> Draw {
        let mut draw = self.try_draw(era, count, whole, limit, wish);
        let mut pauses = FIRST_PAUSES;
        loop {
            if let Some(draw) = draw {
                return draw;
            }
            back_off(&mut pauses);
            draw = self.try_draw_again(era, count, whole, limit, wish);
        }
    }

    /// Out of the way of the first try, which is compiled into the caller for what it asks.
    #[cold]
    fn try_draw_again(
        &self,
        era: u64,
        count: u64,
        whole: bool,
        limit: u64,
        wish: impl Fn(u64) -> u64,
    ) -> Option<Draw> {
        self.try_draw(era, count, whole, limit, wish)
    }

    /// `None` where another draw or a change of the ranges came between.
    #[inline(always)]
    fn try_draw(
        &self,
        era: u64,
        count: u64,
        whole: bool,
        limit: u64,
        wish: impl Fn(u64) -> u64,
    ) -> Option<Draw> {
        let version = self.version.load(Ordering::Acquire);
        let owned = &self.copies[usize::from(version % 2 == 1)];
        let ranges = [owned.current.each_ref().map(load), owned.spare.each_ref().map(load)];
        let (tag, owned_era) = (load(&owned.tag), load(&owned.era));
        let next = self.next.0.load(Ordering::Acquire);
        fence(Ordering::Acquire);
        if load(&self.version) != version {
            return None;
        }
        let ended = mutate!(mutate!(owned_era != era, EraIgnored => false), DrawnInAnOldEra => false);
        if next == CLOSED || ended {
            return Some(Draw::NeedRange);
        }
        let wanted = wish(next).max(next);
        let need = if whole { count } else { 1 };
        let fits = |[start, end]: [u64; 2]| {
            let end = mutate!(end, WindowCheckRemoved => if start < end { CLOSED >> 1 } else { end });
            let from = wanted.max(start);
            (from < end && end - from >= need).then_some((from, end))
        };
        let Some((start, end)) = fits(ranges[0]).or_else(|| fits(ranges[1])) else {
            return Some(Draw::NeedRange);
        };
        let room = end.min(limit).saturating_sub(start);
        if room < need {
            return Some(Draw::Later(start));
        }
        let count = count.min(room);
        let after = start + mutate!(count, CursorNotMoved => 0);
        self.next.0.compare_exchange(next, after, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        // Saturating, so that where nobody asks for it nothing is computed: a check would have to be.
        let rest = |[start, end]: [u64; 2]| end.saturating_sub(after.max(start));
        let left = rest(ranges[0]).saturating_add(rest(ranges[1]));
        Some(Draw::Got(Drawn { start, count, tag, version, left }))
    }

    /// The version of the owned ranges; a draw from before it changed is stale.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// The next position, or `None` while closed.
    pub(crate) fn next(&self) -> Option<u64> {
        Some(self.next.0.load(Ordering::Acquire)).filter(|&next| next != CLOSED)
    }

    /// Where a closed cursor will open at the earliest: above every position that was ever drawn.
    pub(crate) fn floor(&self) -> u64 {
        lock(&self.writer).floor
    }

    /// Says which ranges are owned from now on. The caller keeps owning what it said before, or has closed first.
    /// Where the cursor is closed it opens, strictly above `floor` and all that was drawn before.
    pub(crate) fn publish(&self, owned: &Owned, floor: u64) {
        let mut writer = lock(&self.writer);
        self.write(&mut writer, owned);
        if !writer.open {
            writer.open = true;
            let next = mutate!(writer.floor.max(floor), SequenceResetOnReacquire => owned.current.start);
            self.next.0.store(next, Ordering::Release);
        }
    }

    /// Stops all draws and gives the first position that was never drawn, `None` where it was closed already. When it
    /// returns no draw can succeed until [`Cursor::publish`].
    pub(crate) fn close(&self) -> Option<u64> {
        let mut writer = lock(&self.writer);
        let next = self.next.0.swap(CLOSED, Ordering::AcqRel);
        if !std::mem::take(&mut writer.open) {
            return None;
        }
        assert_ne!(next, CLOSED, "an open cursor is never at the closed mark (I3)");
        writer.floor = next + 1;
        // Chunks that were drawn before are stale from here on.
        self.write(&mut writer, &Owned::default());
        Some(next)
    }

    /// What was last published.
    pub(crate) fn owned(&self) -> Owned {
        lock(&self.writer).owned.clone()
    }

    /// How many owned positions have not been drawn.
    pub(crate) fn left(&self) -> u64 {
        let writer = lock(&self.writer);
        self.next().map_or(0, |next| writer.owned.left(next))
    }

    fn write(&self, writer: &mut Writer, owned: &Owned) {
        assert!(
            owned.spare.is_empty() || owned.current.end <= owned.spare.start,
            "the spare lies above the current range (I2): {owned:?}"
        );
        self.lease.stamp.store(0, Ordering::Release);
        self.lease.below.store(0, Ordering::Release);
        let version = writer.version;
        let copy = &self.copies[usize::from(version.is_multiple_of(2))];
        // Pairs with the reader's fence: who sees any store below also sees that the version has moved on before.
        fence(Ordering::Release);
        let store = |word: &AtomicU64, value| word.store(value, Ordering::Relaxed);
        store(&copy.current[0], owned.current.start);
        store(&copy.current[1], owned.current.end);
        store(&copy.spare[0], owned.spare.start);
        store(&copy.spare[1], owned.spare.end);
        store(&copy.tag, owned.tag);
        store(&copy.era, owned.era);
        writer.version = version + 1;
        self.version.store(writer.version, Ordering::Release);
        writer.owned = owned.clone();
    }
}

/// Measured with two threads on two cores: 6 ns a draw with these, 17 ns without.
const FIRST_PAUSES: u32 = if cfg!(loom) { 1 } else { 64 };
const MOST_PAUSES: u32 = if cfg!(loom) { 1 } else { 1024 };

/// Somebody else drew. A short, growing pause lets one thread draw several times in a row while the line is in its cache: for two
/// threads that doubles the rate of both.
fn back_off(pauses: &mut u32) {
    for _ in 0..*pauses {
        pause();
    }
    *pauses = (*pauses * 2).min(MOST_PAUSES);
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
