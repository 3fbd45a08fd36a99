//! Minting NanoIDs.

use floe_id::kind::{NanoId, NanoIdFormat};

use super::random::Random;
use super::{Mint, MintError};

/// Mints NanoIDs: each character is any of the alphabet with the same probability.
///
/// As many random bits are taken for a character as its place in the alphabet has, and taken anew where they say a place
/// behind its end; a remainder of a division would favour the first characters.
///
/// ```
/// use floe::kind::{Mint, NanoIdFormat, NanoIdGenerator};
/// let ids = NanoIdGenerator::new(NanoIdFormat::new("0123456789", 8).unwrap());
/// let id = ids.mint()?;
/// assert_eq!(id.as_str().len(), 8);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NanoIdGenerator {
    format: NanoIdFormat,
    random: Random,
    /// The bits of a place in the alphabet.
    bits: u32,
}

impl NanoIdGenerator {
    /// From the operating system's randomness.
    pub fn new(format: NanoIdFormat) -> Self {
        Self::of(format, Random::System)
    }

    pub(super) fn of(format: NanoIdFormat, random: Random) -> Self {
        // A place in an alphabet of ASCII has at most 7 bits.
        let bits = usize::BITS - (format.alphabet().len() - 1).leading_zeros();
        Self { format, random, bits }
    }

    /// What its IDs look like.
    pub const fn format(&self) -> &NanoIdFormat {
        &self.format
    }
}

impl Default for NanoIdGenerator {
    fn default() -> Self {
        Self::new(NanoIdFormat::default())
    }
}

impl Mint for NanoIdGenerator {
    type Id = NanoId;

    fn mint(&self) -> Result<NanoId, MintError> {
        let (mut word, mut left) = (0, 0);
        self.format.compose(|| {
            if left == 0 {
                word = self.random.word()?;
                left = u64::BITS / self.bits;
            }
            let [.., low] = word.to_be_bytes();
            word >>= self.bits;
            left -= 1;
            Ok(low & ((1 << self.bits) - 1))
        })
    }
}
