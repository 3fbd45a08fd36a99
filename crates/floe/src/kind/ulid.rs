//! ULIDs: a time and a number that begins at random and is counted up within a millisecond.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::convert::{ascii, conversions, number};
use super::origin::Origin;
use super::read::{ReadError, Rule};
use super::{Mint, MintError, Uuid, check_count};
use crate::clock::Stamp;
use crate::sync::lock_std;
use crate::time::UnixMillis;

const RULE: Rule = Rule {
    kind: "ULID",
    text: "a ULID is 26 characters of Crockford's base32, digits and letters without I, L, O and U",
    bytes: "a ULID has 16 bytes",
};

/// Crockford's digits (ulid/spec, "Encoding").
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The value of each byte as a digit of either case, and `NONE` of those that are none.
const VALUES: [u8; 256] = values();
const NONE: u8 = u8::MAX;
/// The bits of the random part.
const RANDOM_BITS: u32 = 80;
const LARGEST_RANDOM: u128 = (1 << RANDOM_BITS) - 1;
/// How far IDs may run ahead of the clock, where randomness is dropped several times within a millisecond.
const AHEAD_MS: u64 = 10;

/// A ULID (github.com/ulid/spec): milliseconds since 1970 in 48 bits, and 80 bits that are random or one more than the
/// last one's.
///
/// Its text is 26 digits of Crockford's base32 in upper case. Lower case is read as well, as the specification says.
/// `I`, `L`, `O` and `U` are refused, as the specification's own implementation does: Crockford reads the first three as
/// 1, 1 and 0, but a ULID has no such letter, and hyphens neither. What is past `7ZZZZZZZZZZZZZZZZZZZZZZZZZ`, the largest
/// number of 128 bits, is refused too. Order is that of the bytes, of the numbers and of the texts, which are the same.
///
/// ```
/// use floe::kind::Ulid;
/// let id: Ulid = "01arz3ndektsv4rrffq69g5fav".parse()?;
/// assert_eq!(id.to_string(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
/// assert_eq!(id.time().to_string(), "2016-07-30T23:54:10.259Z");
/// assert!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<Ulid>().is_err());
/// # Ok::<(), floe::kind::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid(u128);

impl Ulid {
    /// The largest.
    pub const MAX: Self = Self(u128::MAX);

    /// When it was minted, by the clock of whoever did.
    pub fn time(self) -> UnixMillis {
        UnixMillis::from_position(self.millis())
    }

    /// The 80 bits that are not the time.
    pub const fn random(self) -> u128 {
        self.0 & LARGEST_RANDOM
    }

    fn millis(self) -> u64 {
        let [a, b, c, d, e, f, ..] = self.to_bytes();
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    fn words(self) -> [u64; 2] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.to_bytes();
        [u64::from_be_bytes([a, b, c, d, e, f, g, h]), u64::from_be_bytes([i, j, k, l, m, n, o, p])]
    }

    /// The text, written into `buffer`.
    pub fn encode(self, buffer: &mut [u8; 26]) -> &str {
        // In words, since 128 bits are shifted slowly: 10 digits of the time, and twice 8 of 40 random bits.
        let [.., a, b, c, d, e, f, g, h, i, j] = self.to_bytes();
        let high = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
        let low = u64::from_be_bytes([0, 0, 0, f, g, h, i, j]);
        let mut places = buffer.iter_mut().rev();
        for (mut bits, digits) in [(low, 8), (high, 8), (self.millis(), 10)] {
            for place in places.by_ref().take(digits) {
                *place = digit(bits);
                bits >>= 5;
            }
        }
        ascii(buffer)
    }

    fn read(text: &str) -> Result<Self, ReadError> {
        let digits: [u8; 26] = RULE
            .digits(text, |_, byte| VALUES.get(usize::from(byte)).copied().filter(|value| *value != NONE))?;
        match digits {
            // 26 digits have 130 bits.
            [8..=u8::MAX, ..] => {
                Err(ReadError::TooLarge { kind: RULE.kind, largest: "7ZZZZZZZZZZZZZZZZZZZZZZZZZ" })
            }
            _ => Ok(Self(digits.iter().fold(0, |number, digit| number << 5 | u128::from(*digit)))),
        }
    }
}

/// The digit of the lowest five bits.
fn digit(bits: u64) -> u8 {
    let [.., lowest] = bits.to_be_bytes();
    ALPHABET.get(usize::from(lowest & 31)).copied().unwrap_or_default()
}

const fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < 32 {
        let byte = ALPHABET[value as usize];
        values[byte as usize] = value;
        values[byte.to_ascii_lowercase() as usize] = value;
        value += 1;
    }
    values
}

conversions!(Ulid, 16, 26);
number!(Ulid, Uuid);

/// Mints ULIDs, each larger than the one before (ulid/spec, "Monotonicity").
///
/// The first of a millisecond has 80 random bits, and each further one in it, or while the clock is behind it, is one
/// more. Where that would need an 81st bit, which takes 2^80 IDs or incredibly bad luck, minting fails until the
/// millisecond is over.
///
/// Who sees one ID can tell the next ones of that millisecond: [`UuidV7Generator`](super::UuidV7Generator) has fresh
/// random bits in each.
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
    /// By the operating system's clock and randomness. A clone is the same generator: they share one order.
    pub fn new() -> Self {
        Self::of(Origin::system())
    }

    /// A view of this generator for one thread, which mints several times as fast.
    pub fn minter(&self) -> UlidMinter {
        UlidMinter { generator: self.clone(), high: 0, low: 0, left: 0, stamp: Stamp::default() }
    }

    pub(super) fn of(origin: Arc<Origin>) -> Self {
        let state = State { last: Ulid(0), generation: origin.random.generation() };
        Self { origin, state: Arc::new(Mutex::new(state)) }
    }

    /// The next `count` IDs begin with this one, and each is one more.
    #[inline]
    fn draw(&self, count: u64) -> Result<Ulid, MintError> {
        let now = self.origin.millis()?;
        let mut state = lock_std(&self.state);
        let first = self.next(&state, now)?;
        // The end may not be in the next millisecond, which could begin below it.
        if LARGEST_RANDOM - first.random() < u128::from(count - 1) {
            return Err(overflow());
        }
        *state = State {
            last: Ulid(first.0 + u128::from(count - 1)),
            generation: self.origin.random.generation(),
        };
        Ok(first)
    }

    #[inline]
    fn next(&self, state: &State, now: u64) -> Result<Ulid, MintError> {
        let last = state.last;
        if now > last.millis() {
            return self.begin(now);
        }
        if state.generation != self.origin.random.generation() {
            // A copy of this process goes on from the same number: another millisecond, with other random bits.
            return self.begin_after(last);
        }
        match last.random() {
            LARGEST_RANDOM => Err(overflow()),
            _ => Ok(Ulid(last.0 + 1)),
        }
    }

    #[cold]
    fn begin_after(&self, last: Ulid) -> Result<Ulid, MintError> {
        let next = last.millis() + 1;
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
        Ok(Ulid(u128::from(millis) << RANDOM_BITS | random))
    }
}

/// One thread's own view of a [`UlidGenerator`], which mints several times as fast.
///
/// It takes 32 places in the generator's order at once, for as long as the millisecond lasts. Its own IDs are strictly
/// increasing, and none is the generator's or another minter's; but an ID that the generator mints in between is larger
/// than those of this millisecond that the minter has yet to mint.
///
/// ```
/// use floe::kind::UlidGenerator;
/// let ids = UlidGenerator::new();
/// let mut mine = ids.minter();
/// assert!(mine.mint()? < mine.mint()?);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Debug)]
pub struct UlidMinter {
    generator: UlidGenerator,
    /// The last ID's words: a sum of 128 bits costs several times as much, in being stored by halves and read as a whole.
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
    /// As [`Mint::mint`] of the generator.
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
        Ulid(u128::from(self.high) << 64 | u128::from(low))
    }

    #[inline(never)]
    fn draw(&mut self) -> Result<Ulid, MintError> {
        let stamp = self.generator.origin.stamp()?;
        if self.left > 0 && self.stamp == stamp {
            return Ok(self.take());
        }
        // Where so many do not fit the millisecond any more, one still may.
        let (first, count) = match self.generator.draw(CHUNK) {
            Ok(first) => (first, CHUNK),
            Err(_) => (self.generator.draw(1)?, 1),
        };
        let [high, low] = first.words();
        self.high = high;
        self.low = low;
        self.left = count - 1;
        self.stamp = stamp;
        Ok(first)
    }
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
        Ok((0..count).map(|more| Ulid(first.0 + u128::from(more))).collect())
    }
}
