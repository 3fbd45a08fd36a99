//! KSUIDs: a second and 128 random bits, in base62.

use super::convert::{ascii, conversions};
use super::read::{ReadError, Rule};
use crate::time::UnixMillis;

const RULE: Rule = Rule {
    kind: "KSUID",
    text: "a KSUID is 27 characters of base62, digits and letters of both cases",
    bytes: "a KSUID has 20 bytes",
};

/// The digits of base62, in the order of their bytes, so that texts are in the order of the IDs.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Digits are computed five at a time: 62^5 is the largest power of 62 that fits 32 bits.
const FIVE_DIGITS: u64 = 62_u64.pow(5);

/// A KSUID (github.com/segmentio/ksuid): 20 bytes, of which 4 are seconds since 2014-05-13T16:53:20Z and 16 are random.
///
/// Its text is 27 digits of base62. Upper and lower case are different digits, so each ID has one text. Texts past
/// `aWgEPTl1tmebfsQzFP4bxwgy80V`, the largest number of 160 bits, are rejected. Bytes and texts sort in the same order.
///
/// ```
/// use floe_id::kind::Ksuid;
/// let id: Ksuid = "0ujtsYcgvSTl8PAuAdqWYSMnLOv".parse()?;
/// assert_eq!(id.time().to_string(), "2017-10-10T04:00:47.000Z");
/// assert_eq!(id.payload(), 0xB5A1CD34B5F99D1154FB6853345C9735);
/// # Ok::<(), floe_id::kind::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ksuid([u8; 20]);

impl Ksuid {
    /// The epoch of its seconds, 2014-05-13T16:53:20Z, in seconds since 1970 (segmentio/ksuid, `epochStamp`).
    pub const EPOCH_SECONDS: u64 = 1_400_000_000;

    /// All bits 0.
    pub const NIL: Self = Self([0; 20]);

    /// All bits 1.
    pub const MAX: Self = Self([u8::MAX; 20]);

    /// Makes a KSUID of its 20 bytes.
    ///
    /// ```
    /// use floe_id::kind::Ksuid;
    /// assert_eq!(Ksuid::from_bytes([0xff; 20]).to_string(), "aWgEPTl1tmebfsQzFP4bxwgy80V");
    /// ```
    #[inline]
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Returns its 20 bytes.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 20] {
        self.0
    }

    /// Returns when it was minted, to the second, by the clock of its minter: from 2014 to 2150.
    pub fn time(self) -> UnixMillis {
        UnixMillis::from_position((u64::from(self.seconds()) + Self::EPOCH_SECONDS) * 1_000)
    }

    /// Returns the 128 random bits.
    pub fn payload(self) -> u128 {
        let [_, _, _, _, payload @ ..] = self.0;
        u128::from_be_bytes(payload)
    }

    fn seconds(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }

    /// The 160 bits as five words, the highest first.
    fn limbs(self) -> [u32; 5] {
        let mut limbs = [0; 5];
        for (limb, bytes) in limbs.iter_mut().zip(self.0.chunks_exact(4)) {
            *limb = bytes.iter().fold(0, |limb, byte| limb << 8 | u32::from(*byte));
        }
        limbs
    }

    /// Writes the text into `buffer`, without an allocation.
    ///
    /// ```
    /// use floe_id::kind::Ksuid;
    /// let id: Ksuid = "0ujtsYcgvSTl8PAuAdqWYSMnLOv".parse()?;
    /// assert_eq!(id.encode(&mut [0; 27]), "0ujtsYcgvSTl8PAuAdqWYSMnLOv");
    /// # Ok::<(), floe_id::kind::ReadError>(())
    /// ```
    pub fn encode(self, buffer: &mut [u8; 27]) -> &str {
        let mut limbs = self.limbs();
        let mut places = buffer.iter_mut().rev();
        for _ in 0..6 {
            let mut five = divide(&mut limbs, FIVE_DIGITS);
            for place in places.by_ref().take(5) {
                *place = usize::try_from(five % 62)
                    .ok()
                    .and_then(|digit| ALPHABET.get(digit))
                    .copied()
                    .unwrap_or_default();
                five /= 62;
            }
        }
        ascii(buffer)
    }

    fn read(text: &str) -> Result<Self, ReadError> {
        let digits: [u8; 27] = RULE.digits(text, |_, byte| value(byte))?;
        let mut limbs = [0_u32; 5];
        // 27 digits are two and five times five.
        let (first, rest) = digits.split_at(2);
        for digits in core::iter::once(first).chain(rest.chunks_exact(5)) {
            let added = digits.iter().fold(0, |number, digit| number * 62 + u64::from(*digit));
            if multiply(&mut limbs, FIVE_DIGITS, added) != 0 {
                return Err(ReadError::TooLarge { kind: RULE.kind, largest: "aWgEPTl1tmebfsQzFP4bxwgy80V" });
            }
        }
        let mut bytes = [0; 20];
        for (place, byte) in bytes.iter_mut().zip(limbs.iter().flat_map(|limb| limb.to_be_bytes())) {
            *place = byte;
        }
        Ok(Self(bytes))
    }
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'Z' => Some(byte - b'A' + 10),
        b'a'..=b'z' => Some(byte - b'a' + 36),
        _ => None,
    }
}

/// The two halves of a number of 64 bits.
const fn halves(number: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
}

/// Divides a number by one of 32 bits, and returns what is left over.
fn divide(limbs: &mut [u32; 5], by: u64) -> u64 {
    limbs.iter_mut().fold(0, |over, limb| {
        let part = over << 32 | u64::from(*limb);
        let [_, quotient] = halves(part / by);
        *limb = quotient;
        part % by
    })
}

/// Multiplies a number by one of 32 bits and adds another, and returns what no longer fits.
fn multiply(limbs: &mut [u32; 5], by: u64, add: u64) -> u64 {
    limbs.iter_mut().rev().fold(add, |carry, limb| {
        let [high, low] = halves(u64::from(*limb) * by + carry);
        *limb = low;
        u64::from(high)
    })
}

conversions!(Ksuid, 20, 27);
