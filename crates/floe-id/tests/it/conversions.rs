//! From and into what other libraries have for the same thing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use floe_id::kind::Uuid;
use floe_id::{Id, IdError, TimeError, UnixMillis, WideId};
use proptest::prelude::*;

#[test]
fn numbers_that_fit_are_ids() {
    const FIRST: Id = Id::new(1).unwrap();
    assert_eq!(FIRST, Id::from(1_u8));
    assert_eq!(Id::from(u32::MAX).get(), u64::from(u32::MAX));
    assert_eq!(Id::try_from(7), Ok(Id::from(7_u16)));
    assert_eq!(Id::try_from(-7), Err(IdError::Negative(-7)));
    assert_eq!((Id::new(1 << 63), Id::new(u64::MAX)), (None, None));
    assert_eq!(Id::new(Id::MAX.get()), Some(Id::MAX));
    assert_eq!(WideId::from(u64::MAX).get(), u128::from(u64::MAX));
    assert_eq!(WideId::try_from(&[1; 15][..]), Err(IdError::Bytes(15)));
    assert_eq!(
        IdError::Bytes(15).to_string(),
        "15 bytes are not an ID of 128 bits: it has 16, the highest first"
    );
}

#[test]
fn bits_are_written_as_numbers_write_them() {
    let id = Id::from(0xab_cdef_u32);
    assert_eq!(
        format!("{id:x} {id:X} {id:#010x} {id:b}"),
        "abcdef ABCDEF 0x00abcdef 101010111100110111101111"
    );
    assert_eq!(format!("{:x}", Id::MAX), "7fffffffffffffff");
    assert_eq!(format!("{:X}", WideId::MAX), "F".repeat(32));
}

#[test]
fn a_time_becomes_what_each_library_has() {
    let time = UnixMillis::new(1_288_834_974_657);
    assert_eq!(jiff::Timestamp::try_from(time).unwrap().to_string(), "2010-11-04T01:42:54.657Z");
    assert_eq!(SystemTime::try_from(time), Ok(UNIX_EPOCH + Duration::from_millis(1_288_834_974_657)));
    let error = jiff::Timestamp::try_from(UnixMillis::new(i64::MAX)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "9223372036854775807 ms since 1970 is outside the times that a jiff::Timestamp holds"
    );
    assert!(matches!(
        UnixMillis::try_from(UNIX_EPOCH + Duration::from_secs(1 << 62)),
        Err(TimeError::Range { of: "UnixMillis", .. })
    ));
    #[cfg(feature = "chrono")]
    {
        let chrono = chrono::DateTime::try_from(time).unwrap();
        assert_eq!(chrono.to_string(), "2010-11-04 01:42:54.657 UTC");
        assert_eq!(UnixMillis::from(chrono), time);
        assert!(chrono::DateTime::try_from(UnixMillis::new(i64::MAX)).is_err());
        assert_eq!(UnixMillis::from(chrono::DateTime::from_timestamp_nanos(-1)), UnixMillis::new(-1));
    }
}

/// The millisecond in which it lies, before 1970 as after it.
#[test]
fn what_is_finer_than_a_millisecond_is_in_its_millisecond() {
    for (nanos, millis) in
        [(1, 0), (999_999, 0), (1_000_000, 1), (-1, -1), (-1_000_000, -1), (-1_000_001, -2)]
    {
        let distance = Duration::from_nanos(i64::unsigned_abs(nanos));
        let system = if nanos < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance };
        let expected = UnixMillis::new(millis);
        assert_eq!(UnixMillis::try_from(system), Ok(expected), "{nanos}");
        assert_eq!(
            UnixMillis::from(jiff::Timestamp::from_nanosecond(nanos.into()).unwrap()),
            expected,
            "{nanos}"
        );
        #[cfg(feature = "chrono")]
        assert_eq!(UnixMillis::from(chrono::DateTime::from_timestamp_nanos(nanos)), expected, "{nanos}");
    }
}

#[test]
fn an_id_is_a_uuid_of_version_8() {
    let id = Id::try_from(1_212_092_628_029_698_048_u64).unwrap();
    assert_eq!(Uuid::from(id).to_string(), "00000000-0000-8000-90d2-37d2c0947000");
    assert_eq!(WideId::try_from(Uuid::from(id)).unwrap(), WideId::from(id));
    #[cfg(feature = "uuid")]
    {
        let uuid = uuid::Uuid::from(id);
        assert_eq!(uuid.get_version_num(), 8);
        assert_eq!(WideId::try_from(uuid).unwrap(), WideId::from(id));
        assert!(
            uuid::Uuid::try_from(WideId::MAX).unwrap_err().to_string().contains("more than the 122 bits")
        );
        assert!(WideId::try_from(uuid::Uuid::max()).is_err());
    }
}

proptest! {
    #[test]
    fn a_time_comes_back(millis: i64, near in -9_000_000_000_000_i64..9_000_000_000_000) {
        let (time, near) = (UnixMillis::new(millis), UnixMillis::new(near));
        prop_assert_eq!(time.to_string().parse(), Ok(time));
        prop_assert_eq!(near.to_string().parse(), Ok(near));
        prop_assert_eq!(UnixMillis::try_from(SystemTime::try_from(time).unwrap()), Ok(time));
        prop_assert_eq!(UnixMillis::from(jiff::Timestamp::try_from(near).unwrap()), near);
    }

    #[test]
    fn bytes_come_back_in_the_order_of_the_numbers(one: u128, other: u128) {
        let (one, other) = (WideId::new(one), WideId::new(other));
        prop_assert_eq!(WideId::from_bytes(one.to_bytes()), one);
        prop_assert_eq!(one.cmp(&other), one.to_bytes().cmp(&other.to_bytes()));
    }
}
