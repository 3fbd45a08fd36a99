//! ULIDs: a time and a number that begins at random and is counted up within a millisecond.

use super::Uuid;
use super::convert::{ascii, conversions, number};
use super::read::{ReadError, Rule};
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

/// A ULID (github.com/ulid/spec): milliseconds since 1970 in 48 bits, and 80 bits that are random, or one more than
/// those of the last ULID.
///
/// Its text is 26 digits of Crockford's base32 in upper case. Lower case is read too, as the specification says. These
/// texts are rejected:
/// - `I`, `L`, `O` and `U`, as in the specification's own implementation. Crockford reads the first three as 1, 1 and
///   0.
/// - Hyphens.
/// - Texts past `7ZZZZZZZZZZZZZZZZZZZZZZZZZ`, the largest number of 128 bits.
///
/// Bytes, numbers and texts all sort in the same order.
///
/// ```
/// use floe_id::kind::Ulid;
/// let id: Ulid = "01arz3ndektsv4rrffq69g5fav".parse()?;
/// assert_eq!(id.to_string(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
/// assert_eq!(id.time().to_string(), "2016-07-30T23:54:10.259Z");
/// assert!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<Ulid>().is_err());
/// # Ok::<(), floe_id::kind::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid(u128);

impl Ulid {
    /// The largest ULID.
    pub const MAX: Self = Self(u128::MAX);

    /// Returns when it was minted, to the millisecond, by the clock of its minter.
    pub fn time(self) -> UnixMillis {
        UnixMillis::from_position(self.millis())
    }

    /// Returns the 80 bits after the time.
    pub const fn random(self) -> u128 {
        self.0 & LARGEST_RANDOM
    }

    fn millis(self) -> u64 {
        let [a, b, c, d, e, f, ..] = self.to_bytes();
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// Writes the text into `buffer`, without an allocation.
    ///
    /// ```
    /// use floe_id::kind::Ulid;
    /// let id: Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?;
    /// assert_eq!(id.encode(&mut [0; 26]), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    /// # Ok::<(), floe_id::kind::ReadError>(())
    /// ```
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
