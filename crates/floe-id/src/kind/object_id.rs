//! MongoDB's ObjectIds: a second, five bytes of the process, and a counter.

use super::convert::{ascii, conversions};
use super::read::{ReadError, Rule, hex, write_hex};
use crate::time::UnixMillis;

const RULE: Rule = Rule {
    kind: "ObjectId",
    text: "an ObjectId is 24 hexadecimal digits",
    bytes: "an ObjectId has 12 bytes",
};

/// An ObjectId of BSON: 12 bytes.
///
/// ```text
/// | seconds since 1970, 4 bytes | random, once per process, 5 | counter, 3 |
/// | seconds since 1970, 4 bytes | machine, 3 | process id, 2  | counter, 3 |   MongoDB's drivers until 2018
/// ```
/// Its text is 24 hexadecimal digits in lower case; upper case is read too. Bytes and texts sort in the same order.
///
/// ```
/// use floe_id::kind::ObjectId;
/// let id: ObjectId = "507f1f77bcf86cd799439011".parse()?;
/// assert_eq!(id.time().to_string(), "2012-10-17T21:13:27.000Z");
/// assert_eq!((id.machine(), id.process(), id.counter()), (0xbcf86c, 0xd799, 0x439011));
/// # Ok::<(), floe_id::kind::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; 12]);

impl ObjectId {
    /// Makes an ObjectId of its 12 bytes.
    ///
    /// ```
    /// use floe_id::kind::ObjectId;
    /// assert_eq!(ObjectId::from_bytes(*b"twelve bytes").to_string(), "7477656c7665206279746573");
    /// ```
    #[inline]
    pub const fn from_bytes(bytes: [u8; 12]) -> Self {
        Self(bytes)
    }

    /// Returns its 12 bytes.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 12] {
        self.0
    }

    /// Returns when it was minted, to the second, by the clock of its minter: from 1970 to 2106.
    pub fn time(self) -> UnixMillis {
        let [a, b, c, d, ..] = self.0;
        UnixMillis::from_position(u64::from(u32::from_be_bytes([a, b, c, d])) * 1_000)
    }

    /// Returns the five bytes between time and counter as one number. They are random for each process.
    pub const fn random(self) -> u64 {
        let [_, _, _, _, a, b, c, d, e, ..] = self.0;
        u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
    }

    /// Returns the three bytes of the counter.
    pub const fn counter(self) -> u32 {
        let [.., a, b, c] = self.0;
        u32::from_be_bytes([0, a, b, c])
    }

    /// Returns, for the older format, the three bytes of a hash of the machine's name. An ID does not show which format
    /// it has.
    pub const fn machine(self) -> u32 {
        let [_, _, _, _, a, b, c, ..] = self.0;
        u32::from_be_bytes([0, a, b, c])
    }

    /// Returns, for the older format, the lowest two bytes of the process id, as most drivers wrote them.
    pub const fn process(self) -> u16 {
        let [_, _, _, _, _, _, _, a, b, ..] = self.0;
        u16::from_be_bytes([a, b])
    }

    /// Writes the text into `buffer`, without an allocation.
    ///
    /// ```
    /// use floe_id::kind::ObjectId;
    /// let id: ObjectId = "507f1f77bcf86cd799439011".parse()?;
    /// assert_eq!(id.encode(&mut [0; 24]), "507f1f77bcf86cd799439011");
    /// # Ok::<(), floe_id::kind::ReadError>(())
    /// ```
    pub fn encode(self, buffer: &mut [u8; 24]) -> &str {
        write_hex(&self.0, buffer.iter_mut());
        ascii(buffer)
    }

    fn read(text: &str) -> Result<Self, ReadError> {
        let digits: [u8; 24] = RULE.digits(text, |_, byte| hex(byte))?;
        let mut bytes = [0; 12];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| byte << 4 | digit);
        }
        Ok(Self(bytes))
    }
}

conversions!(ObjectId, 12, 24);
