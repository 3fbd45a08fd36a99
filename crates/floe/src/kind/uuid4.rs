//! UUID v4: random bits alone.

use super::random::Random;
use super::{Mint, MintError, Uuid, as_texts, read_uuid, uuid_number, write_uuid};
use crate::definition::{LedgerlessRules, Row, Rules};

pub(crate) static ROW: Row = Row {
    word: "uuid4",
    aliases: &["uuid", "uuidv4"],
    settings: &[],
    options: &[],
    has_time: false,
    rules: Rules::Ledgerless(LedgerlessRules {
        bits: Some(128),
        write: write_uuid,
        ..LedgerlessRules::plain(
            |of, text| read_uuid(of, text, 4),
            |_| Ok(as_texts(UuidV4Generator::new(), uuid_number)),
        )
    }),
};

/// Mints UUIDs of version 4 (RFC 9562, section 5.4): 122 random bits.
///
/// The probability that two of a billion (2^30) are equal is about 10^-19; of 2.7 * 10^18 it is one half.
///
/// ```
/// use floe::kind::{Mint, UuidV4Generator};
/// let ids = UuidV4Generator::new();
/// assert_eq!(ids.mint()?.version(), Some(4));
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UuidV4Generator {
    random: Random,
}

impl UuidV4Generator {
    /// Makes a generator with the operating system's randomness.
    pub const fn new() -> Self {
        Self { random: Random::System }
    }

    #[cfg(test)]
    pub(super) const fn given(random: Random) -> Self {
        Self { random }
    }
}

impl Default for UuidV4Generator {
    fn default() -> Self {
        Self::new()
    }
}

impl Mint for UuidV4Generator {
    type Id = Uuid;

    #[inline(always)]
    fn mint(&self) -> Result<Uuid, MintError> {
        Ok(Uuid::v4(self.random.words()?))
    }
}
