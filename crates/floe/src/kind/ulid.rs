//! Minting ULIDs, each one more than the one before within a millisecond.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe_id::kind::Ulid;

use super::origin::Origin;
use super::{Mint, MintError, as_texts, check_count};
use crate::clock::Stamp;
use crate::definition::{LedgerlessRules, Row, Rules};
use crate::sync::lock_std;

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
#[derive(Clone, Debug)]
pub struct UlidGenerator {
    origin: Arc<Origin>,
    state: Arc<Mutex<State>>,
}

/// The last ID, and the generation of the randomness that it begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    last: Ulid,
    generation: u64,
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
        let state = State { last: Ulid::from_u128(0), generation: origin.random.generation() };
        Self { origin, state: Arc::new(Mutex::new(state)) }
    }

    /// The next `count` IDs begin with this one, and each is one more.
    #[inline]
    fn draw(&self, count: u64) -> Result<Ulid, MintError> {
        let now = self.origin.millis()?;
        let mut state = lock_std(&self.state);
        // Read before the random bits are drawn: if an invalidation overtakes them, they are of before it.
        let generation = self.origin.random.generation();
        let first = self.next(&state, generation, now)?;
        // The end may not be in the next millisecond, which could begin below it.
        if LARGEST_RANDOM - first.random() < u128::from(count - 1) {
            return Err(overflow());
        }
        *state = State { last: after(first, count - 1), generation };
        Ok(first)
    }

    #[inline]
    fn next(&self, state: &State, generation: u64, now: u64) -> Result<Ulid, MintError> {
        let last = state.last;
        if now > millis(last) {
            return self.begin(now);
        }
        if state.generation != generation {
            // A copy of this process would continue from the same number, so take another millisecond, with other random bits.
            return self.begin_after(last);
        }
        match last.random() {
            LARGEST_RANDOM => Err(overflow()),
            _ => Ok(after(last, 1)),
        }
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
        Ulid::from_u128(u128::from(self.high) << 64 | u128::from(low))
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

/// The ID that is `more` larger.
#[inline]
fn after(id: Ulid, more: u64) -> Ulid {
    Ulid::from_u128(id.get() + u128::from(more))
}

#[cold]
fn overflow() -> MintError {
    MintError::Busy { retry: Duration::from_millis(1) }
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
        self.draw(1)
    }

    fn mint_many(&self, count: u64) -> Result<Vec<Ulid>, MintError> {
        let first = self.draw(check_count(count)?)?;
        Ok((0..count).map(|more| after(first, more)).collect())
    }
}
