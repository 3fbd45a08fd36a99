//! What is minted against the crates `uuid`, `ulid`, `bson` and `svix-ksuid`.

use svix_ksuid::KsuidLike;

use crate::kind::{KsuidGenerator, Mint, ObjectIdGenerator, UlidGenerator, UuidV4Generator, UuidV7Generator};

#[test]
fn what_is_minted_is_what_others_read() {
    for _ in 0..1_000 {
        let id = UuidV4Generator::new().mint().unwrap();
        let oracle = ::uuid::Uuid::parse_str(&id.to_string()).unwrap();
        assert_eq!(oracle.get_version(), Some(::uuid::Version::Random));
        for ids in [UuidV7Generator::new(), UuidV7Generator::precise()] {
            let id = ids.mint().unwrap();
            let oracle = ::uuid::Uuid::parse_str(&id.to_string()).unwrap();
            assert_eq!(oracle.get_version(), Some(::uuid::Version::SortRand));
            assert_eq!(oracle.get_variant(), ::uuid::Variant::RFC4122);
            let (seconds, nanos) = oracle.get_timestamp().unwrap().to_unix();
            assert_eq!(id.time().unwrap().position(), Some(seconds * 1_000 + u64::from(nanos) / 1_000_000));
        }
        let id = UlidGenerator::new().mint().unwrap();
        assert_eq!(::ulid::Ulid::from_string(&id.to_string()).unwrap().0, id.get());
        let id = ObjectIdGenerator::new().mint().unwrap();
        assert_eq!(bson::oid::ObjectId::parse_str(id.to_string()).unwrap().bytes(), id.to_bytes());
        let id = KsuidGenerator::new().mint().unwrap();
        let oracle: svix_ksuid::Ksuid = id.to_string().parse().unwrap();
        assert_eq!(oracle.bytes(), &id.to_bytes());
    }
}

/// RFC 9562's bits: what is not the time, the version or the variant is as often set as not.
#[test]
fn uuids_keep_version_and_variant_and_vary_elsewhere() {
    let ids = UuidV4Generator::new();
    let (mut all, mut any) = (u128::MAX, 0);
    for _ in 0..1_000 {
        let id = ids.mint().unwrap().get();
        all &= id;
        any |= id;
    }
    assert_eq!(all, 0x4000 << 64 | 2 << 62);
    assert_eq!(!any, 0xb000 << 64 | 1 << 62);
}
