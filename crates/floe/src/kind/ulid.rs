//! Minting ULIDs, each one more than the one before within a millisecond.
//!
//! All threads share a [`Cursor`], whose positions have no meaning but their order. The first ID of a millisecond draws
//! one position, and the ID at a later position is so much larger as the position is ([`Base`]). Who begins a
//! millisecond has the lock, and does three things in this order: it revokes the cursor's lease, draws a position, and
//! grants a lease for the new base. So a draw by a lease takes both halves of its ID from one base: if it has read the
//! cursor before the position was drawn, it fails to move the cursor, and otherwise it sees that the lease was revoked,
//! or the new one (see [`crate::cursor`]).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use floe_id::kind::Ulid;

use super::origin::Origin;
use super::{Mint, MintError, as_texts, check_count};
use crate::clock::Stamp;
use crate::cursor::{Cursor, Draw, Owned};
use crate::definition::{LedgerlessRules, Row, Rules};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// The bits of the random part.
const RANDOM_BITS: u32 = 80;
const LARGEST_RANDOM: u128 = (1 << RANDOM_BITS) - 1;
/// How far IDs may run ahead of the clock, if randomness is discarded several times within a millisecond.
const AHEAD_MS: u64 = 10;

pub(crate) static ROW: Row = Row {
    word: "ulid",
    aliases: &[],
    settings: &[],
    options: &[],
    has_time: true,
    rules: Rules::Ledgerless(LedgerlessRules {
        bits: Some(128),
        write: |number| Ulid::from_bytes(number.to_be_bytes()).to_string(),
        ..LedgerlessRules::plain(
            |_, text| Ok(text.parse::<Ulid>()?.into()),
            |_| Ok(as_texts(UlidGenerator::new(), |id| Some(u128::from_be_bytes(id.to_bytes())))),
        )
    }),
};

/// Mints ULIDs, each larger than the one before (ulid/spec, "Monotonicity").
///
/// The first ID of a millisecond has 80 random bits. Each further one in that millisecond, or while the clock is behind
/// it, is one larger. If that would need an 81st bit, minting fails until the millisecond is over. This takes 2^80 IDs
/// or very bad luck.
///
/// From one ID, anybody can tell the next ones of that millisecond. [`UuidV7Generator`](super::UuidV7Generator) has
/// fresh random bits in each.
///
/// ```
/// use floe::kind::{Mint, UlidGenerator};
/// let ids = UlidGenerator::new();
/// assert!(ids.mint()? < ids.mint()?);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone)]
pub struct UlidGenerator {
    origin: Arc<Origin>,
    shared: Arc<Shared>,
}

/// What all clones of a generator share.
struct Shared {
    cursor: Cursor,
    /// The high half of the IDs of the cursor's lease. Its key is the low half at position 0.
    high: AtomicU64,
    base: Mutex<Base>,
}

/// Makes IDs of positions, from the one that began a millisecond.
#[derive(Clone, Copy)]
struct Base {
    first: Ulid,
    /// The position of the first ID.
    position: u64,
    /// The generation of the randomness that the first ID has.
    generation: u64,
    /// The clock's era in which the cursor's positions are owned.
    era: u64,
}

/// Positions are below this: a thousand million IDs a second take 292 years to get there.
const END: u64 = 1 << 63;

impl Base {
    /// The ID at a position of this base.
    #[inline]
    fn at(&self, position: u64) -> Ulid {
        after(self.first, position - self.position)
    }

    /// The first position whose ID would need an 81st random bit.
    fn end(&self) -> u64 {
        self.position_after(LARGEST_RANDOM - self.first.random())
    }

    /// The first position at which the low half of the ID begins again at 0.
    fn half_end(&self) -> u64 {
        let [_, low] = words(self.first);
        self.position_after((u64::MAX - low).into())
    }

    /// The position behind the one whose ID is so much larger than the first, or the end of all.
    fn position_after(&self, larger: u128) -> u64 {
        let position = u128::from(self.position) + larger + 1;
        u64::try_from(position).map_or(END, |position| position.min(END))
    }
}

impl Shared {
    fn new(generation: u64) -> Self {
        // It is not used: the clock is past its millisecond.
        let first = Ulid::from_u128(0);
        let base = Base { first, position: 0, generation, era: 0 };
        Self { cursor: Cursor::new(0), high: AtomicU64::new(0), base: Mutex::new(base) }
    }

    /// One ID by the cursor's lease: the path of nearly every call.
    #[inline(always)]
    fn draw_leased(&self, stamp: Stamp) -> Option<Ulid> {
        let high = || self.high.load(Ordering::Acquire);
        let (position, key, high) = self.cursor.draw_leased_with(stamp, high)?;
        Some(of_words(high, key.wrapping_add(position)))
    }

    /// Begins a new base with `count` IDs, and returns the position of the first one.
    ///
    /// # Errors
    /// If so many do not fit into the millisecond.
    fn begin(
        &self,
        base: &mut Base,
        first: Ulid,
        generation: u64,
        era: u64,
        count: u64,
    ) -> Result<u64, MintError> {
        // The last ID may not be in the next millisecond, which could begin below it.
        if LARGEST_RANDOM - first.random() < u128::from(count - 1) {
            return Err(overflow());
        }
        // Revokes the lease, and opens the cursor before the first ID of all.
        self.cursor.publish(&Owned { current: 0..END, era, ..Owned::default() }, 0);
        let position = self.draw_below(END, era, count)?;
        *base = Base { first, position, generation, era };
        Ok(position)
    }

    /// # Errors
    /// If fewer positions are left.
    fn draw_below(&self, end: u64, era: u64, count: u64) -> Result<u64, MintError> {
        match self.cursor.draw(era, count, true, end, |next| next) {
            Draw::Got(drawn) => Ok(drawn.start),
            Draw::Later(_) | Draw::NeedRange => Err(overflow()),
        }
    }

    /// Lets draws of one ID at `stamp` take the short path.
    fn lease(&self, base: &Base, stamp: Stamp) {
        let [high, low] = words(base.first);
        self.high.store(high, Ordering::Release);
        let key = low.wrapping_sub(base.position);
        self.cursor.grant(stamp, base.position, 0, |_, _| (base.half_end(), key));
    }
}

impl UlidGenerator {
    /// Makes a generator with the operating system's clock and randomness. A clone is the same generator, with the same
    /// order.
    pub fn new() -> Self {
        Self::of(Origin::system())
    }

    /// Returns a minter for one thread, which mints several times as fast. [`UlidMinter`] has an example.
    pub fn minter(&self) -> UlidMinter {
        UlidMinter { generator: self.clone(), high: 0, low: 0, left: 0, stamp: Stamp::default() }
    }

    pub(super) fn of(origin: Arc<Origin>) -> Self {
        let shared = Arc::new(Shared::new(origin.random.generation()));
        Self { origin, shared }
    }

    /// The next `count` IDs begin with this one, and each is one more.
    #[inline(never)]
    fn draw(&self, count: u64) -> Result<Ulid, MintError> {
        let stamp = self.origin.stamp()?;
        let shared = &*self.shared;
        let mut base = lock(&shared.base);
        // Read before the random bits are drawn: if an invalidation overtakes them, they are of before it.
        let generation = self.origin.random.generation();
        let start = match self.begun(&base, generation, stamp.millis())? {
            Some(first) => shared.begin(&mut base, first, generation, stamp.era(), count)?,
            None => shared.draw_below(base.end(), base.era, count)?,
        };
        shared.lease(&base, stamp);
        Ok(base.at(start))
    }

    /// The first ID of a millisecond, if another one has begun.
    fn begun(&self, base: &Base, generation: u64, now: u64) -> Result<Option<Ulid>, MintError> {
        if now > millis(base.first) {
            return self.begin(now).map(Some);
        }
        if base.generation != generation {
            // A copy of this process would continue from the same number, so take another millisecond, with other random bits.
            return self.begin_after(base.first).map(Some);
        }
        Ok(None)
    }

    #[cold]
    fn begin_after(&self, last: Ulid) -> Result<Ulid, MintError> {
        let next = millis(last) + 1;
        let ahead = next.saturating_sub(self.origin.look()?);
        match ahead <= AHEAD_MS {
            true => self.begin(next),
            false => Err(MintError::Busy { retry: Duration::from_millis(ahead - AHEAD_MS) }),
        }
    }

    /// The first ID of a millisecond.
    fn begin(&self, millis: u64) -> Result<Ulid, MintError> {
        if millis >> 48 != 0 {
            return Err(MintError::Exhausted(
                "the 48 bits of a ULID's time end in the year 10889".to_owned(),
            ));
        }
        let [high, low] = self.origin.random.words()?;
        let random = u128::from(high >> 48) << 64 | u128::from(low);
        Ok(Ulid::from_u128(u128::from(millis) << RANDOM_BITS | random))
    }
}

/// Mints from a [`UlidGenerator`] for one thread, several times as fast.
///
/// It takes 32 places in the generator's order at once, for as long as the millisecond lasts. Its own IDs are strictly
/// increasing, and differ from those of the generator and of other minters. But if the generator mints
/// an ID in between, the minter's further IDs of this millisecond are smaller than that ID.
///
/// ```
/// use floe::kind::UlidGenerator;
/// let ids = UlidGenerator::new();
/// let mut mine = ids.minter();
/// assert!(mine.mint()? < mine.mint()?);
/// # Ok::<(), floe::MintError>(())
/// ```
///
/// It cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// fn again(minter: floe::kind::UlidMinter) -> floe::kind::UlidMinter {
///     minter.clone()
/// }
/// ```
#[derive(Debug)]
pub struct UlidMinter {
    generator: UlidGenerator,
    /// The last ID's words: a sum of 128 bits costs several times as much, in being stored by halves and read as a
    /// whole.
    high: u64,
    low: u64,
    left: u64,
    /// When they were drawn: in another millisecond, or after an invalidation, they are no longer used.
    stamp: Stamp,
}

/// The IDs that a minter draws at once.
const CHUNK: u64 = 32;

impl UlidMinter {
    /// Mints one ID.
    ///
    /// # Errors
    /// As for [`Mint::mint`] of the generator.
    #[inline]
    pub fn mint(&mut self) -> Result<Ulid, MintError> {
        match self.left > 0 && self.generator.origin.at_hand() == Some(self.stamp) {
            true => Ok(self.take()),
            false => self.draw(),
        }
    }

    #[inline]
    fn take(&mut self) -> Ulid {
        self.left -= 1;
        let (low, carry) = self.low.overflowing_add(1);
        self.low = low;
        // The last of a draw is at most the largest of its millisecond.
        self.high += u64::from(carry);
        of_words(self.high, low)
    }

    #[inline(never)]
    fn draw(&mut self) -> Result<Ulid, MintError> {
        let stamp = self.generator.origin.stamp()?;
        if self.left > 0 && self.stamp == stamp {
            return Ok(self.take());
        }
        // If this many no longer fit the millisecond, one may still fit.
        let (first, count) = match self.generator.draw(CHUNK) {
            Ok(first) => (first, CHUNK),
            Err(_) => (self.generator.draw(1)?, 1),
        };
        let [high, low] = words(first);
        self.high = high;
        self.low = low;
        self.left = count - 1;
        self.stamp = stamp;
        Ok(first)
    }
}

/// Its milliseconds since 1970.
#[inline]
fn millis(id: Ulid) -> u64 {
    let [high, _] = words(id);
    high >> (RANDOM_BITS - u64::BITS)
}

#[inline]
fn words(id: Ulid) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = id.to_bytes();
    [u64::from_be_bytes([a, b, c, d, e, f, g, h]), u64::from_be_bytes([i, j, k, l, m, n, o, p])]
}

#[inline]
fn of_words(high: u64, low: u64) -> Ulid {
    Ulid::from_u128(u128::from(high) << 64 | u128::from(low))
}

/// The ID that is `more` larger.
#[inline]
fn after(id: Ulid, more: u64) -> Ulid {
    Ulid::from_u128(id.get() + u128::from(more))
}

#[cold]
fn overflow() -> MintError {
    MintError::Busy { retry: Duration::from_millis(1) }
}

impl fmt::Debug for UlidGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UlidGenerator").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Default for UlidGenerator {
    fn default() -> Self {
        Self::new()
    }
}

impl Mint for UlidGenerator {
    type Id = Ulid;

    #[inline]
    fn mint(&self) -> Result<Ulid, MintError> {
        let leased = self.origin.at_hand().and_then(|stamp| self.shared.draw_leased(stamp));
        match leased {
            Some(id) => Ok(id),
            None => self.draw(1),
        }
    }

    fn mint_many(&self, count: u64) -> Result<Vec<Ulid>, MintError> {
        let first = self.draw(check_count(count)?)?;
        Ok((0..count).map(|more| after(first, more)).collect())
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The short path, which takes no lock.
    #[test]
    fn one_ulid_leaves_a_lease_for_the_next_ones_of_its_millisecond() {
        let ids = UlidGenerator::of(Origin::standing());
        let (first, stamp) = (ids.mint().unwrap(), ids.origin.at_hand().unwrap());
        for more in 1..10 {
            let next = ids.shared.draw_leased(stamp).map(|id| id.get());
            assert_eq!(next, Some(first.get() + more));
        }
    }

    /// A copy of the process has it, too.
    #[test]
    fn a_minter_whose_draw_failed_in_a_new_era_mints_nothing_of_what_it_drew_before() {
        let ids = UlidGenerator::of(Origin::standing());
        let mut minter = ids.minter();
        minter.mint().unwrap();
        // Each takes another millisecond.
        for _ in 0..AHEAD_MS {
            ids.origin.invalidate();
            ids.mint().unwrap();
        }
        ids.origin.invalidate();
        for _ in 0..2 {
            assert!(matches!(minter.mint(), Err(MintError::Busy { .. })));
        }
    }
}
