//! Minting UUIDs of version 8: a snowflake's IDs.

use floe_id::kind::Uuid;
use floe_id::{IdRepr, WideId};

use super::{Mint, MintError, check_count};
use crate::generator::Generator;

/// Mints the IDs of a snowflake as UUIDs of version 8 (RFC 9562, section 5.8), the version for custom formats.
///
/// ```text
/// 127 ................ 80 79 ... 76 75 ........ 64 63 62 61 ................... 0
///   bits 121 to 74 of     | version |  bits 73 to  | var |   bits 61 to 0        |
///   the ID                |    8    |  62          | 10  |                       |
/// ```
/// Version and variant are the same in all of them, so they sort as the IDs do. They are as unique as the IDs: with
/// certainty, by the ledger. [`WideId`]'s `TryFrom<Uuid>` gives the ID back.
///
/// ```
/// use floe::kind::{Mint, UuidV8Generator};
/// use floe::{Floe, Layout, UnixMillis, WideId, ledger::Memory, layout::Width};
///
/// let layout = Layout::new("time:43 server:24 sequence:18", 1, UnixMillis::new(1_577_836_800_000), Width::Wide)?;
/// let floe = Floe::open(Memory::default())?;
/// let ids = UuidV8Generator::new(floe.wide_snowflake("entities", layout.clone())?);
/// let (one, next) = (ids.mint()?, ids.mint()?);
/// assert!(one.version() == Some(8) && one < next);
/// let id = WideId::try_from(next)?;
/// assert_eq!(layout.split(id.get())?.worker, layout.split(WideId::try_from(one)?.get())?.worker);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct UuidV8Generator<I: IdRepr = WideId> {
    generator: Generator<I>,
}

impl<I: IdRepr> UuidV8Generator<I> {
    /// Makes a generator of the IDs of `generator`. The IDs of every layout fit. [`UuidV8Generator`] has an example.
    pub const fn new(generator: Generator<I>) -> Self {
        Self { generator }
    }

    /// Returns the generator of the IDs.
    pub const fn generator(&self) -> &Generator<I> {
        &self.generator
    }
}

impl<I: IdRepr> Mint for UuidV8Generator<I> {
    type Id = Uuid;

    fn mint(&self) -> Result<Uuid, MintError> {
        pack(self.generator.mint()?)
    }

    fn mint_many(&self, count: u64) -> Result<Vec<Uuid>, MintError> {
        self.generator.mint_many(check_count(count)?)?.map(pack).collect()
    }
}

/// No layout has more than 122 bits, so what a generator mints fits.
fn pack(id: impl IdRepr) -> Result<Uuid, MintError> {
    Uuid::try_from(WideId::from(id.to_u128())).map_err(MintError::stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Width;
    use crate::ledger::Memory;
    use crate::{Floe, Id, Layout, UnixMillis};

    #[test]
    fn a_snowflake_of_any_width_mints_them() {
        let floe = Floe::open(Memory::default()).unwrap();
        let epoch = UnixMillis::new(1_577_836_800_000);
        let widest = Layout::new("time:43 shard:32 sequence:20", 1, epoch, Width::Wide).unwrap();
        let ids = UuidV8Generator::new(floe.wide_snowflake("entities", widest).unwrap());
        let mut many = ids.mint_many(1_000).unwrap();
        many.push(ids.mint().unwrap());
        assert!(many.is_sorted_by(|one, next| one < next));
        assert!(many.iter().all(|id| id.version() == Some(8)));
        assert!(matches!(ids.mint_many(0), Err(MintError::Count { .. })));
        let ids = UuidV8Generator::new(floe.snowflake("orders", Layout::TWITTER).unwrap());
        let id = Id::try_from(WideId::try_from(ids.mint().unwrap()).unwrap()).unwrap();
        assert!(ids.generator().inspect(id).is_ok());
    }
}
