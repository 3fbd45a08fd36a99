//! UUID v8: a snowflake ID of up to 122 bits around the version and the variant.

use super::Uuid;
use crate::id::{Id, WideId};
use crate::layout::Layout;
use core::fmt;

/// The bits that a UUID has beside its version and its variant.
const BITS: u32 = 122;
// No layout has more, so what a layout composes always fits.
const _: () = assert!(Layout::MAX_POSITION_BITS + Layout::MAX_WORKER_BITS <= BITS);
const MIDDLE_BITS: u32 = 12;
const LOW_BITS: u32 = 62;
const MIDDLE: u64 = (1 << MIDDLE_BITS) - 1;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// Why an ID does not become a UUID of version 8, or a UUID an ID.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UuidV8Error {
    /// The ID has more bits than a UUID has room for.
    TooLarge(WideId),
    /// The UUID holds no ID: it has another version, or another variant than RFC 9562's.
    Version(Uuid),
}

impl fmt::Display for UuidV8Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(number) => write!(
                f,
                "{number} needs more than the 122 bits that a UUID of version 8 has beside its version and variant"
            ),
            Self::Version(uuid) => {
                write!(f, "{uuid} is not of version 8 and RFC 9562's variant, and so holds no ID")
            }
        }
    }
}

crate::__error!(UuidV8Error);

/// `id` has at most 122 bits.
#[expect(clippy::cast_possible_truncation, reason = "each part is masked, and the highest has 48 bits")]
fn pack(id: u128) -> Uuid {
    let low = id as u64 & LOW;
    let middle = (id >> LOW_BITS) as u64 & MIDDLE;
    Uuid::over(8, [((id >> (LOW_BITS + MIDDLE_BITS)) as u64) << 16 | middle, low])
}

/// As version 8; [`Uuid::from`] an [`Id`] never fails.
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

/// As version 8: 63 bits always fit.
impl From<Id> for Uuid {
    fn from(id: Id) -> Self {
        pack(id.into())
    }
}

/// As version 8, as into [`Uuid`].
#[cfg(feature = "uuid")]
impl From<Id> for ::uuid::Uuid {
    fn from(id: Id) -> Self {
        Uuid::from(id).into()
    }
}

/// As version 8, as into [`Uuid`].
#[cfg(feature = "uuid")]
impl TryFrom<WideId> for ::uuid::Uuid {
    type Error = UuidV8Error;

    fn try_from(id: WideId) -> Result<Self, UuidV8Error> {
        Uuid::try_from(id).map(Self::from)
    }
}

/// The ID that a UUID of version 8 holds, as from [`Uuid`].
#[cfg(feature = "uuid")]
impl TryFrom<::uuid::Uuid> for WideId {
    type Error = UuidV8Error;

    fn try_from(uuid: ::uuid::Uuid) -> Result<Self, UuidV8Error> {
        Self::try_from(Uuid::from(uuid))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
