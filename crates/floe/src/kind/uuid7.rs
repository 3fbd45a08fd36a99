//! UUID v7: a time, an order within it, and random bits.

use std::sync::Arc;
use std::time::Duration;

use super::origin::{Late, Origin};
use super::run::{PastLimit, Run};
use super::{Mint, MintError, Uuid, as_texts, check_count, read_uuid, uuid_number, with_room, write_uuid};
use crate::clock::Stamp;
use crate::definition::{DefinitionError, LedgerlessRules, Properties, Row, Rules, Setting, Takes};

/// The bits that are random in every ID.
const RANDOM_BITS: u32 = 54;
/// The bits between the milliseconds and the random ones: the counter, or parts of a millisecond and a counter.
const ORDER_BITS: u32 = 20;
/// The bits of the parts of a millisecond.
const PART_BITS: u32 = 12;
/// How far IDs may run ahead of the clock when the counter is used up: 10 ms, that is ten million IDs.
const AHEAD_MS: u64 = 10;

pub(crate) static ROW: Row = Row {
    word: "uuid7",
    aliases: &["uuidv7"],
    settings: &[Setting::new(
        "precise",
        Takes::Flag,
        "Give a uuid7 the time to a quarter of a microsecond instead of a millisecond",
    )],
    options: &[],
    has_time: true,
    rules: Rules::Ledgerless(LedgerlessRules {
        keys: &["time"],
        define: |given, complain| match given.read("precise", false, complain)? {
            true => Properties::new().with("time", "precise").ok(),
            false => Some(Properties::new()),
        },
        check: |properties| match properties.get("time") {
            None | Some("precise") => Ok(()),
            Some(other) => {
                Err(DefinitionError::Value(format!("a uuid7 cannot have time={other}: write time=precise")))
            }
        },
        bits: Some(128),
        write: write_uuid,
        ..LedgerlessRules::plain(
            |of, text| read_uuid(of, text, 7),
            |properties| {
                Ok(match properties.get("time") {
                    Some(_) => as_texts(UuidV7Generator::precise(), uuid_number),
                    None => as_texts(UuidV7Generator::new(), uuid_number),
                })
            },
        )
    }),
};

/// Mints UUIDs of version 7 (RFC 9562, section 5.7), each larger than the one before.
///
/// ```text
/// 127 ............................ 80 79 ... 76 75 ....... 64 63 62 61 ... 54 53 .......... 0
///  Unix time in milliseconds, 48 bits | version | counter, 12 | var | counter, 8 | random, 54   |   new()
///  Unix time in milliseconds, 48 bits | version | part of ms  | var | counter, 8 | random, 54   |   precise()
/// ```
/// The order is that of section 6.2, method 1: a counter of fixed length. In each millisecond it begins at 19 random
/// bits (its highest bit is 0, so that it has room), and it is incremented by one. With [`UuidV7Generator::precise`],
/// method 3 comes before it: twelve bits give the time within the millisecond, to a quarter of a microsecond.
///
/// If the clock goes back, however far, the counter goes on. If the counter is used up, the ID has the time of the next
/// millisecond, at most 10 ms ahead of the clock. Beyond that, minting returns [`MintError::Busy`].
///
/// IDs of two generators are equal only if millisecond, counter and 54 random bits are all equal.
///
/// ```
/// use floe::kind::{Mint, UuidV7Generator};
/// let ids = UuidV7Generator::new();
/// let many = ids.mint_many(1_000)?;
/// assert!(many.is_sorted_by(|one, next| one < next));
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UuidV7Generator {
    origin: Arc<Origin>,
    run: Arc<Run>,
    precise: bool,
}

impl UuidV7Generator {
    /// Makes a generator with the operating system's clock and randomness. A clone is the same generator, with the same
    /// order.
    pub fn new() -> Self {
        Self::of(Origin::system(), false)
    }

    /// Makes a generator as [`new`](Self::new) does, with the time to a quarter of a microsecond instead of a
    /// millisecond. It reads the clock for every ID, and so takes several times as long.
    ///
    /// ```
    /// use floe::kind::{Mint, UuidV7Generator};
    /// let ids = UuidV7Generator::precise();
    /// assert!(ids.mint()? < ids.mint()?);
    /// # Ok::<(), floe::MintError>(())
    /// ```
    pub fn precise() -> Self {
        Self::of(Origin::system(), true)
    }

    /// Returns a minter for one thread, which mints faster.
    pub fn minter(&self) -> UuidV7Minter {
        UuidV7Minter { generator: self.clone(), next: 0, end: 0, stamp: Stamp::default() }
    }

    pub(super) fn of(origin: Arc<Origin>, precise: bool) -> Self {
        Self { origin, run: Arc::new(Run::after(0)), precise }
    }

    /// Draws one position, if its time has begun and it needs no look at the clock.
    #[inline(always)]
    fn draw_at_once(&self) -> Option<u64> {
        let now = self.origin.millis_at_hand().filter(|_| !self.precise)? << ORDER_BITS;
        self.run.next(now, now.checked_add(((AHEAD_MS + 1) << ORDER_BITS) - 1)?)
    }

    #[cold]
    fn draw_one(&self) -> Result<u64, MintError> {
        self.draw(1)
    }

    /// Draws `count` consecutive positions: a position is the 48 bits of the time and the 20 of the order.
    #[inline]
    fn draw(&self, count: u64) -> Result<u64, MintError> {
        let now = if self.precise { self.origin.parts()? } else { self.origin.millis()? };
        self.draw_at(now, count)?.or_else(|_| self.draw_late(count))
    }

    /// [`UuidV7Generator::draw`] for when too many IDs have been minted for the cached time.
    #[cold]
    fn draw_late(&self, count: u64) -> Result<u64, MintError> {
        let units = |millis: u64| if self.precise { millis << PART_BITS } else { millis };
        let drawn = self.origin.draw_late(|millis| self.draw_at(units(millis), count))?;
        drawn.map_err(|Late { last, millis }| {
            let ahead = (last >> self.shift()).saturating_sub(units(millis));
            let millis = if self.precise { ahead >> PART_BITS } else { ahead };
            MintError::Busy { retry: Duration::from_millis(millis.saturating_sub(AHEAD_MS).max(1)) }
        })
    }

    /// The bits of the counter.
    #[inline]
    const fn shift(&self) -> u32 {
        if self.precise { ORDER_BITS - PART_BITS } else { ORDER_BITS }
    }

    /// `now` is in milliseconds, or in parts of one.
    #[inline]
    fn draw_at(&self, now: u64, count: u64) -> Result<Result<u64, PastLimit>, MintError> {
        let shift = self.shift();
        let ahead = if self.precise { AHEAD_MS << PART_BITS } else { AHEAD_MS };
        let latest = now + ahead;
        if latest >> (u64::BITS - shift) != 0 {
            return Err(MintError::Exhausted(
                "the time of a UUID v7 goes to the year 2527 here: set the clock right".to_owned(),
            ));
        }
        let limit = latest << shift | ((1 << shift) - 1);
        // A time that has begun does not begin again, so a counter is needed only here.
        let first = match now > self.run.last() >> shift {
            true => now << shift | self.origin.random.word()? >> (u64::BITS - (shift - 1)),
            false => 0,
        };
        Ok(self.run.draw(count, limit, |last| if now > last >> shift { first } else { 0 }))
    }
}

/// Mints from a [`UuidV7Generator`] for one thread, faster.
///
/// It takes 32 places in the generator's order at once, for as long as the millisecond lasts. Its own IDs are strictly
/// increasing, and differ from those of the generator and of other minters. But if the generator mints
/// an ID in between, the minter's further IDs of this millisecond are smaller than that ID.
///
/// ```
/// use floe::kind::UuidV7Generator;
/// let ids = UuidV7Generator::new();
/// let mut mine = ids.minter();
/// assert!(mine.mint()? < mine.mint()?);
/// # Ok::<(), floe::MintError>(())
/// ```
///
/// It cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// fn again(minter: floe::kind::UuidV7Minter) -> floe::kind::UuidV7Minter {
///     minter.clone()
/// }
/// ```
#[derive(Debug)]
pub struct UuidV7Minter {
    generator: UuidV7Generator,
    next: u64,
    end: u64,
    /// When they were drawn: in another millisecond, or after an invalidation, they are no longer used.
    stamp: Stamp,
}

/// The positions that a minter draws at once.
const CHUNK: u64 = 32;

impl UuidV7Minter {
    /// Mints one ID.
    ///
    /// # Errors
    /// As for [`Mint::mint`] of the generator.
    #[inline]
    pub fn mint(&mut self) -> Result<Uuid, MintError> {
        if self.next == self.end || self.generator.origin.at_hand() != Some(self.stamp) {
            self.draw()?;
        }
        // After the look at the clock: bits from before it are a copy's, too, where the clock tells of one.
        let random = self.generator.origin.random.word()?;
        let position = self.next;
        self.next += 1;
        Ok(place(position, random))
    }

    #[inline(never)]
    fn draw(&mut self) -> Result<(), MintError> {
        let stamp = self.generator.origin.stamp()?;
        if self.next < self.end && self.stamp == stamp {
            return Ok(());
        }
        // A precise time is another one for each ID.
        let count = if self.generator.precise { 1 } else { CHUNK };
        self.next = self.generator.draw(count)?;
        self.end = self.next + count;
        self.stamp = stamp;
        Ok(())
    }
}

/// The UUID of a position, and 54 of the random bits.
#[inline]
fn place(position: u64, random: u64) -> Uuid {
    let counter = position & ((1 << (ORDER_BITS - PART_BITS)) - 1);
    let middle = position >> (ORDER_BITS - PART_BITS) & ((1 << PART_BITS) - 1);
    let millis = position >> ORDER_BITS;
    assert!(millis >> 48 == 0, "the time does not fit a UUID");
    Uuid::v7([millis << 16 | middle, counter << RANDOM_BITS | random >> (u64::BITS - RANDOM_BITS)])
}

impl Default for UuidV7Generator {
    fn default() -> Self {
        Self::new()
    }
}

impl Mint for UuidV7Generator {
    type Id = Uuid;

    #[inline(always)]
    fn mint(&self) -> Result<Uuid, MintError> {
        // Its random bits after the look at the clock, as in `UuidV7Minter::mint`.
        let position = match self.draw_at_once() {
            Some(position) => position,
            None => self.draw_one()?,
        };
        Ok(place(position, self.origin.random.word()?))
    }

    fn mint_many(&self, count: u64) -> Result<Vec<Uuid>, MintError> {
        let first = self.draw(check_count(count)?)?;
        let mut ids = with_room(count);
        for position in first..first + count {
            ids.push(place(position, self.origin.random.word()?));
        }
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::clock::{Clock, TimeSource};
    use crate::kind::random::Random;
    use crate::time::{MonoMillis, Reading, UnixMillis};

    /// A clock on a machine so busy that the thread that has read it must wait, while other threads mint on. They do so
    /// after each of the first `waits` looks, for 50 ms.
    struct Busy {
        now: AtomicU64,
        waits: AtomicU64,
        others: Arc<OnceLock<UuidV7Generator>>,
    }

    impl TimeSource for Busy {
        fn read(&self) -> Reading {
            let now = self.now.load(Ordering::Relaxed);
            let waits = |left: u64| left.checked_sub(1);
            if let Some(others) = self.others.get()
                && self.waits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, waits).is_ok()
            {
                let later = self.now.fetch_add(50, Ordering::Relaxed) + 50;
                others.run.draw(1, u64::MAX - 1, |_| (1_772_366_400_000 + later) << ORDER_BITS).unwrap();
            }
            let wall = UnixMillis::from_position(1_772_366_400_000 + now);
            Reading { wall, mono: MonoMillis::new(now) }
        }
    }

    /// The short path, which is one swap.
    #[test]
    fn the_next_id_of_a_time_at_hand_is_drawn_at_once_where_it_needs_no_look_at_the_clock() {
        for precise in [false, true] {
            let ids = UuidV7Generator::of(Origin::standing(), precise);
            assert_eq!(ids.draw_at_once(), None, "the counter begins at random");
            let first = ids.draw(1).unwrap();
            assert_eq!(ids.draw_at_once(), (!precise).then_some(first + 1));
        }
    }

    #[test]
    fn a_counter_begins_in_the_lower_half_of_its_range() {
        for (precise, half) in [(false, 1 << 19), (true, 1 << 7)] {
            for (random, begun) in [(u64::MAX, half - 1), (0, 0)] {
                let stands =
                    Busy { now: AtomicU64::new(0), waits: AtomicU64::new(0), others: Arc::default() };
                let origin = Origin::given(stands, || None, Random::given(move || random));
                let ids = UuidV7Generator::of(origin, precise);
                assert_eq!(ids.draw(1).unwrap() % (2 * half), begun, "precise: {precise}");
            }
        }
    }

    #[test]
    fn it_is_precise_where_that_is_asked_for() {
        assert_eq!(
            [UuidV7Generator::new(), UuidV7Generator::precise()].map(|ids| ids.precise),
            [false, true]
        );
    }

    /// The last place within reach is minted, and who wants the next one is told to wait for the next millisecond.
    #[test]
    fn ids_run_ahead_to_the_end_of_ten_milliseconds_and_not_by_one_more() {
        const LAST: u64 = 1_772_366_400_000 + AHEAD_MS;
        // To a quarter of a microsecond, the end is that of the part of a millisecond which is ten milliseconds ahead.
        for (precise, order) in [(false, (1 << ORDER_BITS) - 1), (true, (1 << (ORDER_BITS - PART_BITS)) - 1)]
        {
            for at_hand in [false, true] {
                let stands =
                    Busy { now: AtomicU64::new(0), waits: AtomicU64::new(0), others: Arc::default() };
                let clock = Arc::new(Clock::new(crate::ClockPolicy::default(), Box::new(stands)));
                if at_hand {
                    clock.tick();
                }
                let origin = Origin::with_clock(clock, || None, Random::given(|| 7));
                let ids = UuidV7Generator::of(origin, precise);
                let last = LAST << ORDER_BITS | order;
                ids.run.draw(1, u64::MAX - 1, |_| last - 1).unwrap();
                let minted = ids.mint().unwrap();
                assert_eq!(minted, place(last, 7), "precise: {precise}, at hand: {at_hand}");
                let busy = |millis| MintError::Busy { retry: Duration::from_millis(millis) };
                assert_eq!(ids.mint(), Err(busy(1)), "precise: {precise}, at hand: {at_hand}");
                // Further ahead, the wait is for all of it but ten milliseconds.
                ids.run.draw(1, u64::MAX - 1, |last| last + (15 << ORDER_BITS)).unwrap();
                assert_eq!(ids.mint(), Err(busy(15)), "precise: {precise}, at hand: {at_hand}");
            }
        }
    }

    /// Otherwise it would begin again at 0.
    #[test]
    fn a_time_that_leaves_no_bits_for_the_order_is_refused() {
        for (precise, end) in [(false, 1 << 44), (true, 1 << 56)] {
            let stands = Busy { now: AtomicU64::new(0), waits: AtomicU64::new(0), others: Arc::default() };
            let ids = UuidV7Generator::of(Origin::given(stands, || None, Random::given(|| 7)), precise);
            let ahead = if precise { AHEAD_MS << PART_BITS } else { AHEAD_MS };
            assert!(matches!(ids.draw_at(end - ahead, 1), Err(MintError::Exhausted(_))));
            assert!(matches!(ids.draw_at(end - ahead - 1, 1), Ok(Ok(_))));
        }
    }

    /// A copy of the process has it, too.
    #[test]
    fn a_minter_whose_draw_failed_in_a_new_era_mints_nothing_of_what_it_drew_before() {
        let ids = UuidV7Generator::of(Origin::standing(), false);
        let mut minter = ids.minter();
        minter.mint().unwrap();
        ids.run.draw(1, u64::MAX - 1, |last| last + (20 << ORDER_BITS)).unwrap();
        ids.origin.invalidate();
        for _ in 0..2 {
            assert!(matches!(minter.mint(), Err(MintError::Busy { .. })));
        }
    }

    #[test]
    fn a_thread_that_had_to_wait_behind_its_look_at_the_clock_looks_again() {
        for precise in [false, true] {
            for waits in 0..5 {
                let others = Arc::new(OnceLock::new());
                let busy = Busy {
                    now: AtomicU64::new(0),
                    waits: AtomicU64::new(waits),
                    others: Arc::clone(&others),
                };
                let origin = Origin::given(busy, || None, Random::given(|| 7));
                let ids = UuidV7Generator::of(origin, precise);
                others.set(ids.clone()).unwrap();
                assert!(ids.mint().is_ok(), "precise: {precise}, {waits} waits");
            }
        }
    }
}
