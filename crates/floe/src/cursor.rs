//! The lock-free core: one cursor that hands out positions, each at most once, and only inside owned ranges (I3, I5).
//!
//! The cursor is a single word that only grows. A draw reads which ranges are owned and where the cursor
//! stands, decides on a position, and takes it with one compare-and-swap:
//!
//! - Two draws never get the same position, because both would have to swap out the same value.
//! - A thread that sleeps between the decision and the swap finds the cursor moved, and decides again. It cannot mint in
//!   a gap that appeared meanwhile: its position lies in the ranges that it read. These are owned for ever unless
//!   they are given back, and the cursor is closed before that.
//! - When a closed cursor opens again, it starts strictly past every earlier position. So a swap that was decided
//!   before cannot succeed after (no ABA).
//!
//! The owned ranges are kept twice. A writer fills the copy that is not in use, then increments the version. A reader
//! takes the copy that the version names, and checks the version again. Neither waits for the other.
//!
//! # The lease
//! Most draws take one position and see the same clock word as the draw before, so the earlier decision still holds.
//! A successful draw of one position therefore leaves a **lease** ([`Cursor::grant`]): the clock's word, and a limit;
//! all positions below the limit are owned, due, and of one tick and worker. A draw with the same clock word takes the
//! next position below the limit at once ([`Cursor::draw_leased`]), with the word that makes an ID of it. Any other draw
//! takes the long path. This repeats nothing, and mints only what is owned:
//!
//! 1. A lease is granted under the writer's lock, on an open cursor. It begins at `next`, which lies in a range that
//!    is owned in the clock's era, and ends at the end of that range or of what is due. A renewal revokes the lease, so
//!    that the next draw looks for the new range; a draw that has read the lease before still draws what is owned. A
//!    close revokes the positions too.
//! 2. A leased draw reads `next`, then `below`, and swaps `next` for the next one. A draw that sees `below` also sees
//!    the `next` for which it was granted, so the swap can succeed only from there on. A gap that a draw has skipped
//!    since lies below `next`. A gap ahead is past `below`.
//! 3. A close swaps `next` out, then revokes the lease, and the cursor opens again strictly above. A draw that reads
//!    a later `next` sees that the lease was revoked, because it reads `next` first. A draw that has read an earlier one
//!    fails to swap.
//! 4. The word for the ID is written before `below` and read after it, so a draw reads the word of its `below`, or a
//!    later lease's. A later lease with another word begins in another tick or after a close, and `next` has moved there
//!    before it was granted. So the swap of a draw that mixes the two fails.
//! 5. A call that begins after the era has ended has another clock word, and finds no lease for it: a lease is
//!    granted only with a word of the ranges' era. What one clock word allows, every later word of its era allows too.
//!    So a lease that mixes one word with the limit of another allows nothing that is not due.

use std::ops::Range;
use std::sync::Arc;

use crate::clock::Stamp;
use crate::mutation::mutate;
use crate::pulse::Pulse;
use crate::sync::{AtomicU64, Mutex, Ordering, fence, lock, pause, try_lock};

/// The cursor's value while it is closed. Positions stay below 2^63.
const CLOSED: u64 = u64::MAX;

/// The ranges that may be minted from, lower one first, and the data of their positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Owned {
    pub(crate) current: Range<u64>,
    /// Empty, or entirely above `current`.
    pub(crate) spare: Range<u64>,
    /// The worker id of a window; unused for numbers.
    pub(crate) tag: u64,
    /// The clock's era in which the ranges were reserved. A later era does not use them (see `clock`).
    pub(crate) era: u64,
}

impl Owned {
    /// How many of the positions from `next` on are owned.
    fn left(&self, next: u64) -> u64 {
        [&self.current, &self.spare].iter().map(|range| range.end.saturating_sub(next.max(range.start))).sum()
    }
}

/// Positions that were drawn: they belong to the caller. A copy would mint them a second time.
#[derive(PartialEq, Eq, Debug)]
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
#[derive(PartialEq, Eq, Debug)]
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
    /// Beaten after each change of the version.
    pulse: Arc<Pulse>,
}

/// Its own cache line (two on machines that fetch lines in pairs). Each draw writes it, and readers of other words
/// must not wait for that.
#[repr(align(128))]
struct CacheLine<T>(T);

/// See the module.
#[derive(Default)]
struct Lease {
    /// The clock's word by which it was granted.
    stamp: AtomicU64,
    /// The first position that it does not reach.
    below: AtomicU64,
    /// What makes IDs of its positions.
    key: AtomicU64,
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
    /// Greater than every value that the cursor has had up to its last close.
    floor: u64,
    open: bool,
    /// The current version. It is counted here and never loaded: loom keeps only the last access of a word, so a load
    /// right before the store would hide other threads' loads, and loom would not try the store before them.
    version: u64,
}

impl Cursor {
    /// A cursor that owns nothing. Nothing below `floor` is ever drawn.
    pub(crate) fn new(floor: u64) -> Self {
        Self::with_pulse(floor, Arc::default())
    }

    /// [`Cursor::new`] with the pulse of its floe.
    pub(crate) fn with_pulse(floor: u64, pulse: Arc<Pulse>) -> Self {
        Self {
            pulse,
            next: CacheLine(AtomicU64::new(CLOSED)),
            lease: Lease::default(),
            version: AtomicU64::new(0),
            copies: [Copy::default(), Copy::default()],
            writer: Mutex::new(Writer { owned: Owned::default(), floor, open: false, version: 0 }),
        }
    }

    /// Draws one position, with its key, by the lease that was granted at `stamp`. `None` if there is no lease, or it is used up.
    #[inline(always)]
    pub(crate) fn draw_leased(&self, stamp: Stamp) -> Option<(u64, u64)> {
        self.draw_leased_with(stamp, || ()).map(|(position, key, ())| (position, key))
    }

    /// [`Cursor::draw_leased`] for an owner whose key does not fit one word: `more` reads the rest, which was written
    /// before the lease was granted.
    #[inline(always)]
    pub(crate) fn draw_leased_with<M>(&self, stamp: Stamp, more: impl Fn() -> M) -> Option<(u64, u64, M)> {
        let next = self.next.0.load(Ordering::Acquire);
        let (key, after) = self.leased(stamp, next)?;
        let read = more();
        match self.next.0.compare_exchange(next, after, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Some((next, key, read)),
            Err(_) => self.draw_leased_again(stamp, more),
        }
    }

    /// What the lease says about the position `next`, which was read before: its key, and the position after it.
    #[inline(always)]
    fn leased(&self, stamp: Stamp, next: u64) -> Option<(u64, u64)> {
        let below = self.lease.below.load(Ordering::Acquire);
        let granted = Stamp::from_word(self.lease.stamp.load(Ordering::Acquire));
        let key = self.lease.key.load(Ordering::Acquire);
        let below = mutate!(below, WindowCheckRemoved => if below == 0 { 0 } else { CLOSED >> 1 });
        let ended = mutate!(mutate!(granted != stamp, EraIgnored => granted.millis() != stamp.millis()), DrawnInAnOldEra => granted.millis() != stamp.millis());
        (next < below && !ended).then(|| (key, next + mutate!(1, CursorNotMoved => 0)))
    }

    /// Kept apart from the first try.
    #[cold]
    fn draw_leased_again<M>(&self, stamp: Stamp, more: impl Fn() -> M) -> Option<(u64, u64, M)> {
        let mut pauses = FIRST_PAUSES;
        loop {
            back_off(&mut pauses);
            let next = self.next.0.load(Ordering::Acquire);
            let (key, after) = self.leased(stamp, next)?;
            let read = more();
            if self.next.0.compare_exchange(next, after, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some((next, key, read));
            }
        }
    }

    /// Lets draws of one position at `stamp` take the short path, from `from` on, until fewer than `low` positions are
    /// left, so that the next draw sees that. If they are fewer already, a draw has seen it, and the lease goes to the
    /// end. `lease` says, given the first position and the tag, how far, and with which key. If the ranges are being
    /// written, it grants no lease.
    pub(crate) fn grant(
        &self,
        stamp: Stamp,
        from: u64,
        low: u64,
        lease: impl FnOnce(u64, u64) -> (u64, u64),
    ) {
        let Some(writer) = try_lock(&self.writer) else { return };
        let Owned { current, spare, tag, era } = &writer.owned;
        if !writer.open || *era != stamp.era() {
            return;
        }
        let next = self.next.0.load(Ordering::Acquire);
        let Some(range) = [current, spare].into_iter().find(|range| range.contains(&next)) else { return };
        let left = writer.owned.left(next);
        let (limit, key) = lease(next, *tag);
        let until_low = left.checked_sub(low).unwrap_or(left);
        let below = range.end.min(limit).min(next.saturating_add(until_low));
        if from <= next && next < below {
            self.lease.key.store(key, Ordering::Release);
            self.lease.below.store(below, Ordering::Release);
            self.lease.stamp.store(stamp.word(), Ordering::Release);
        }
    }

    /// Draws up to `count` consecutive positions below `limit`: from `wish(cursor)`, or the next owned position above
    /// it. Draws at least one, and all of `count` if `whole`.
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

    /// Kept apart from the first try, which is inlined into each caller for its own arguments.
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

    /// `None` if another draw or a change of the ranges came between.
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
        // Saturating, so that the compiler can leave it out if the caller does not use it. A check would have to stay.
        let rest = |[start, end]: [u64; 2]| end.saturating_sub(after.max(start));
        let left = rest(ranges[0]).saturating_add(rest(ranges[1]));
        Some(Draw::Got(Drawn { start, count, tag, version, left }))
    }

    /// The version of the owned ranges. A draw with an older version is stale.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// It beats when the version changes.
    pub(crate) fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// The next position, or `None` while closed.
    pub(crate) fn next(&self) -> Option<u64> {
        Some(self.next.0.load(Ordering::Acquire)).filter(|&next| next != CLOSED)
    }

    /// The lowest position at which a closed cursor can open: above every position that was ever drawn.
    pub(crate) fn floor(&self) -> u64 {
        lock(&self.writer).floor
    }

    /// Sets the ranges that are owned from now on. The caller must still own the earlier ranges, or must have closed
    /// the cursor first. A closed cursor opens, strictly above `floor` and all that was drawn before.
    pub(crate) fn publish(&self, owned: &Owned, floor: u64) {
        let mut writer = lock(&self.writer);
        self.write(&mut writer, owned);
        if !writer.open {
            writer.open = true;
            let next = mutate!(writer.floor.max(floor), SequenceResetOnReacquire => owned.current.start);
            self.next.0.store(next, Ordering::Release);
        }
    }

    /// Stops all draws. Returns the first position that was never drawn; `None` if the cursor was already closed.
    /// After it returns, no draw can succeed until [`Cursor::publish`].
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
        // Pairs with the reader's fence: a reader that sees a store below also sees the new version.
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
        self.pulse.beat();
        writer.owned = owned.clone();
    }
}

/// One pause takes some 27 ns. Measured with two threads on two cores, a draw and the 99.9th percentile of one: 17 ns
/// without a pause; 4.2 ns and 2.1 µs if it begins with 64 and doubles up to 1,024; 5 ns and about 1 µs with these.
const FIRST_PAUSES: u32 = if cfg!(loom) { 1 } else { 12 };
const MOST_PAUSES: u32 = if cfg!(loom) { 1 } else { 24 };

/// Another thread drew first. A short pause lets one thread draw several times in a row while it has the cache line. With
/// two threads, this doubles the rate of both.
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
pub(crate) mod models;
#[cfg(all(test, not(loom)))]
mod tests;
