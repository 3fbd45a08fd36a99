//! UUID v8: a snowflake ID of up to 122 bits around the version and the variant.

use super::{Mint, MintError, Uuid, check_count};
use crate::generator::Generator;
use crate::id::{IdRepr, WideId};
use crate::layout::Layout;

/// The bits that a UUID has beside its version and its variant.
const BITS: u32 = 122;
// No layout has more, so a generator never mints what does not fit.
const _: () = assert!(Layout::MAX_POSITION_BITS + Layout::MAX_WORKER_BITS <= BITS);
const MIDDLE_BITS: u32 = 12;
const LOW_BITS: u32 = 62;
const MIDDLE: u64 = (1 << MIDDLE_BITS) - 1;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// Mints the IDs of a snowflake as UUIDs of version 8 (RFC 9562, section 5.8), which is for whatever one makes of it.
///
/// ```text
/// 127 ................ 80 79 ... 76 75 ........ 64 63 62 61 ................... 0
///   bits 121 to 74 of     | version |  bits 73 to  | var |   bits 61 to 0        |
///   the ID                |    8    |  62          | 10  |                       |
/// ```
/// The version and the variant are the same in all of them, so their order is that of the IDs. They are as unique as the IDs, by
/// their ledger and without a probability; [`WideId`]'s `TryFrom<Uuid>` gives the ID back.
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

/// Why an ID and a UUID of version 8 are not each other's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UuidV8Error {
    /// An ID of more bits than there is room for.
    #[error("{0} needs more than the 122 bits that a UUID of version 8 has beside its version and variant")]
    TooLarge(WideId),
    /// A UUID that holds no ID, since it is of another version, or has another variant than RFC 9562's.
    #[error("{0} is not of version 8 and RFC 9562's variant, and so holds no ID")]
    Version(Uuid),
}

impl<I: IdRepr> UuidV8Generator<I> {
    /// The IDs of `generator`. Those of every layout fit.
    pub const fn new(generator: Generator<I>) -> Self {
        Self { generator }
    }

    /// The generator of the IDs.
    pub const fn generator(&self) -> &Generator<I> {
        &self.generator
    }
}

impl<I: IdRepr> Mint for UuidV8Generator<I> {
    type Id = Uuid;

    fn mint(&self) -> Result<Uuid, MintError> {
        Ok(pack(self.generator.mint()?.to_u128()))
    }

    fn mint_many(&self, count: u64) -> Result<Vec<Uuid>, MintError> {
        Ok(self.generator.mint_many(check_count(count)?)?.map(|id| pack(id.to_u128())).collect())
    }
}

/// `id` has at most 122 bits.
#[expect(clippy::cast_possible_truncation, reason = "each part is masked, and the highest has 48 bits")]
fn pack(id: u128) -> Uuid {
    let low = id as u64 & LOW;
    let middle = (id >> LOW_BITS) as u64 & MIDDLE;
    Uuid::compose(8, (id >> (LOW_BITS + MIDDLE_BITS)) as u64, middle, low)
}

/// As version 8. An [`Id`](crate::Id) is a [`WideId`] first, which never fails.
impl TryFrom<WideId> for Uuid {
    type Error = UuidV8Error;

    fn try_from(id: WideId) -> Result<Self, UuidV8Error> {
        match id.get() >> BITS {
            0 => Ok(pack(id.get())),
            _ => Err(UuidV8Error::TooLarge(id)),
        }
    }
}

/// The ID that a UUID of version 8 holds; what its bits mean, a layout says.
impl TryFrom<Uuid> for WideId {
    type Error = UuidV8Error;

    fn try_from(uuid: Uuid) -> Result<Self, UuidV8Error> {
        if uuid.version() != Some(8) {
            return Err(UuidV8Error::Version(uuid));
        }
        let number = uuid.get();
        let high = number >> 80;
        let middle = number >> 64 & u128::from(MIDDLE);
        Ok(Self::from(high << (LOW_BITS + MIDDLE_BITS) | middle << LOW_BITS | number & u128::from(LOW)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::Width;
    use crate::ledger::Memory;
    use crate::{Floe, Id, UnixMillis};

    const MAX: u128 = (1 << BITS) - 1;

    /// RFC 9562, section 5.8: where the three parts are, and which bits are not the ID's.
    #[test]
    fn the_bits_are_where_the_rfc_has_them() {
        for (number, text) in [
            (0, "00000000-0000-8000-8000-000000000000"),
            (MAX, "ffffffff-ffff-8fff-bfff-ffffffffffff"),
            (LOW.into(), "00000000-0000-8000-bfff-ffffffffffff"),
            (u128::from(MIDDLE) << 62, "00000000-0000-8fff-8000-000000000000"),
            (1 << 74, "00000000-0001-8000-8000-000000000000"),
        ] {
            let uuid = Uuid::try_from(WideId::from(number)).unwrap();
            assert_eq!(uuid.to_string(), text);
            assert_eq!(WideId::try_from(uuid), Ok(WideId::from(number)));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = Uuid::try_from(WideId::from(MAX + 1)).unwrap_err();
        assert!(error.to_string().contains("more than the 122 bits"), "{error}");
        assert!(Uuid::try_from(WideId::from(u128::MAX)).is_err());
        for text in [
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "00000000-0000-8000-0000-000000000000",
            "00000000-0000-8000-c000-000000000000",
            "00000000-0000-0000-0000-000000000000",
        ] {
            let uuid: Uuid = text.parse().unwrap();
            assert_eq!(WideId::try_from(uuid), Err(UuidV8Error::Version(uuid)));
        }
    }

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

    proptest! {
        #[test]
        fn order_is_kept_and_the_id_comes_back(one in 0..=MAX, other in 0..=MAX, shift in 0_u32..BITS) {
            let (one, other) = (one >> shift, other >> shift);
            let uuids = [one, other].map(|number| Uuid::try_from(WideId::from(number)).unwrap());
            prop_assert_eq!(uuids[0].cmp(&uuids[1]), one.cmp(&other));
            prop_assert_eq!(uuids.map(|uuid| WideId::try_from(uuid).unwrap().get()), [one, other]);
            prop_assert_eq!(::uuid::Uuid::from_u128(uuids[0].get()).get_version_num(), 8);
        }

        #[test]
        fn every_version_8_holds_an_id(bits: u128) {
            let uuid = Uuid::from_u128(bits & !(0xf << 76 | 3 << 62) | 8 << 76 | 2 << 62);
            let id = WideId::try_from(uuid).unwrap();
            prop_assert_eq!(Uuid::try_from(id), Ok(uuid));
        }
    }
}
