//! UUIDs of any version, as RFC 9562 writes them.

use super::Ulid;
use super::convert::{ascii, conversions, number};
use super::read::{ReadError, Rule, hex, write_hex};
use crate::time::UnixMillis;

const RULE: Rule = Rule {
    kind: "UUID",
    text: "a UUID is 32 hexadecimal digits with hyphens after the 8th, 12th, 16th and 20th, 36 characters in all",
    bytes: "a UUID has 16 bytes",
};

/// Where the hyphens are.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// A UUID (RFC 9562): 128 bits, among them a version and a variant.
///
/// Its text is 36 characters: hexadecimal digits in lower case, and hyphens. Upper case is read too (section 4).
/// Braces, `urn:uuid:` and texts without hyphens are rejected. Bytes, numbers and texts all sort in the same order.
///
/// ```
/// use floe_id::kind::Uuid;
/// let id: Uuid = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F".parse()?;
/// assert_eq!(id.to_string(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
/// assert_eq!(id.version(), Some(7));
/// assert_eq!(id.time().unwrap().to_string(), "2022-02-22T19:22:22.000Z");
/// # Ok::<(), floe_id::kind::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(u128);

impl Uuid {
    /// All bits 0 (RFC 9562, section 5.9).
    pub const NIL: Self = Self(0);

    /// All bits 1 (RFC 9562, section 5.10).
    pub const MAX: Self = Self(u128::MAX);

    /// Makes a UUID of version 4 (RFC 9562, section 5.4) of two words. Version and variant replace six of their bits.
    ///
    /// ```
    /// use floe_id::kind::Uuid;
    /// assert_eq!(Uuid::v4([u64::MAX, u64::MAX]).to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    /// ```
    #[inline]
    pub const fn v4(words: [u64; 2]) -> Self {
        Self::over(4, words)
    }

    /// Makes a UUID of version 7 (RFC 9562, section 5.7) of two words. The highest 48 bits are milliseconds since 1970.
    /// Version and variant replace six of the other bits.
    ///
    /// ```
    /// use floe_id::kind::Uuid;
    /// let id = Uuid::v7([1_645_557_742_000 << 16, 0]);
    /// assert_eq!(id.time().unwrap().to_string(), "2022-02-22T19:22:22.000Z");
    /// ```
    #[inline]
    pub const fn v7(words: [u64; 2]) -> Self {
        Self::over(7, words)
    }

    /// The version, 1 to 8, and the variant are written over six bits of the words.
    #[inline]
    pub(super) const fn over(version: u64, [high, low]: [u64; 2]) -> Self {
        let high = high & !0xf000 | version << 12;
        let low = low & !(0b11 << 62) | 0b10 << 62;
        Self((high as u128) << 64 | low as u128)
    }

    /// Returns the version, 0 to 15. `None` if the variant is not RFC 9562's, as in the nil and the max UUID.
    ///
    /// ```
    /// use floe_id::kind::Uuid;
    /// assert_eq!((Uuid::v4([0, 0]).version(), Uuid::NIL.version()), (Some(4), None));
    /// ```
    pub fn version(self) -> Option<u8> {
        let [_, _, _, _, _, _, version, _, variant, ..] = self.to_bytes();
        (variant >> 6 == 0b10).then_some(version >> 4)
    }

    /// Returns when a UUID of version 7 was minted, to the millisecond, by the clock of its minter. `None` for other
    /// versions. [`Uuid`] has an example.
    pub fn time(self) -> Option<UnixMillis> {
        let [a, b, c, d, e, f, ..] = self.to_bytes();
        (self.version() == Some(7))
            .then(|| UnixMillis::from_position(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
    }

    /// Writes the text into `buffer`, without an allocation.
    ///
    /// ```
    /// use floe_id::kind::Uuid;
    /// let id: Uuid = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse()?;
    /// assert_eq!(id.encode(&mut [0; 36]), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    /// # Ok::<(), floe_id::kind::ReadError>(())
    /// ```
    pub fn encode(self, buffer: &mut [u8; 36]) -> &str {
        buffer.fill(b'-');
        let digits = buffer.iter_mut().enumerate().filter(|(at, _)| !HYPHENS.contains(at));
        write_hex(&self.to_bytes(), digits.map(|(_, place)| place));
        ascii(buffer)
    }

    fn read(text: &str) -> Result<Self, ReadError> {
        let digits: [u8; 36] = RULE.digits(text, |at, byte| match HYPHENS.contains(&at) {
            true => (byte == b'-').then_some(0),
            false => hex(byte),
        })?;
        let digits = digits.iter().enumerate().filter(|(at, _)| !HYPHENS.contains(at));
        Ok(Self(digits.fold(0, |number, (_, digit)| number << 4 | u128::from(*digit))))
    }
}

conversions!(Uuid, 16, 36);
number!(Uuid, Ulid);
