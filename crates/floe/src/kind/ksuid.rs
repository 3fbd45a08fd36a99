//! Minting KSUIDs.

use std::sync::Arc;

use floe_id::kind::Ksuid;

use super::origin::Origin;
use super::{Mint, MintError, as_texts};
use crate::definition::{LedgerlessRules, Row, Rules};
use crate::error::Stopped;

pub(crate) static ROW: Row = Row {
    word: "ksuid",
    aliases: &[],
    settings: &[],
    options: &[],
    has_time: true,
    rules: Rules::Ledgerless(LedgerlessRules::plain(
        |_, text| Ok(text.parse::<Ksuid>()?.into()),
        |_| Ok(as_texts(KsuidGenerator::new(), |_| None)),
    )),
};

/// Mints KSUIDs: the second by the steady clock, which never goes back, and 128 random bits.
///
/// IDs of a later second are larger; those of one second are in no order. The probability that two of 2^40 IDs (a
/// million million) of one second are equal is about 2^-49.
///
/// ```
/// use floe::kind::{KsuidGenerator, Mint};
/// let ids = KsuidGenerator::new();
/// assert_eq!(ids.mint()?.to_string().len(), 27);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KsuidGenerator {
    origin: Arc<Origin>,
}

impl KsuidGenerator {
    /// Makes a generator with the operating system's clock and randomness.
    pub fn new() -> Self {
        Self::of(Origin::system())
    }

    pub(super) const fn of(origin: Arc<Origin>) -> Self {
        Self { origin }
    }

    #[inline]
    fn seconds(&self) -> Result<u32, MintError> {
        let seconds = self.origin.millis()? / 1_000;
        let since = seconds.checked_sub(Ksuid::EPOCH_SECONDS).ok_or_else(|| {
            MintError::Stopped(Stopped::clock(
                "the clock is before 2014-05-13, where KSUIDs begin: set it right",
            ))
        })?;
        u32::try_from(since).map_err(|_| {
            MintError::Exhausted(
                "the 32 bits of a KSUID's seconds end on 2150-06-19: take another kind".to_owned(),
            )
        })
    }
}

impl Default for KsuidGenerator {
    fn default() -> Self {
        Self::new()
    }
}

impl Mint for KsuidGenerator {
    type Id = Ksuid;

    #[inline(always)]
    fn mint(&self) -> Result<Ksuid, MintError> {
        Ok(compose(self.seconds()?, self.origin.random.words()?))
    }
}

#[inline]
fn compose(seconds: u32, [high, low]: [u64; 2]) -> Ksuid {
    let mut bytes = [0; 20];
    let (time, payload) = bytes.split_at_mut(4);
    time.copy_from_slice(&seconds.to_be_bytes());
    payload.copy_from_slice(&(u128::from(high) << 64 | u128::from(low)).to_be_bytes());
    Ksuid::from_bytes(bytes)
}
