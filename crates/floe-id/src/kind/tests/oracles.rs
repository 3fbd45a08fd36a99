//! Texts, bytes and order against the crates `uuid`, `ulid`, `bson`, `svix-ksuid` and `nanoid`, and the conversions.

use proptest::prelude::*;
use svix_ksuid::KsuidLike;

use crate::kind::{Ksuid, NanoId, NanoIdFormat, ObjectId, Ulid, Uuid};

proptest! {
    #[test]
    fn uuids(bytes: [u8; 16], other: [u8; 16]) {
        let (id, oracle) = (Uuid::from_bytes(bytes), ::uuid::Uuid::from_bytes(bytes));
        let text = oracle.hyphenated().to_string();
        prop_assert_eq!(id.to_string(), text.clone());
        prop_assert_eq!(text.parse(), Ok(id));
        prop_assert_eq!(text.to_uppercase().parse(), Ok(id));
        prop_assert_eq!(id.to_bytes(), bytes);
        prop_assert_eq!(id.get(), oracle.as_u128());
        prop_assert_eq!(Uuid::from_u128(id.get()), id);
        prop_assert_eq!(Uuid::try_from(bytes.as_slice()), Ok(id));
        let other = Uuid::from_bytes(other);
        prop_assert_eq!(id.cmp(&other), id.to_string().cmp(&other.to_string()));
        if oracle.get_variant() == ::uuid::Variant::RFC4122 {
            prop_assert_eq!(id.version().map(usize::from), Some(oracle.get_version_num()));
        } else {
            prop_assert_eq!(id.version(), None);
        }
        #[cfg(feature = "uuid")]
        {
            prop_assert_eq!(::uuid::Uuid::from(id), oracle);
            prop_assert_eq!(Uuid::from(oracle), id);
            prop_assert_eq!(::uuid::Uuid::from(Ulid::from(id)), oracle);
            prop_assert_eq!(Ulid::from(oracle), Ulid::from(id));
        }
    }

    #[test]
    fn ulids(bytes: [u8; 16], other: [u8; 16]) {
        let (id, oracle) = (Ulid::from_bytes(bytes), ::ulid::Ulid::from_bytes(bytes));
        let text = oracle.to_string();
        prop_assert_eq!(id.to_string(), text.clone());
        prop_assert_eq!(text.parse(), Ok(id));
        prop_assert_eq!(text.to_lowercase().parse(), Ok(id));
        prop_assert_eq!(id.to_bytes(), bytes);
        prop_assert_eq!(id.time().position(), Some(oracle.timestamp_ms()));
        prop_assert_eq!(id.random(), oracle.random());
        prop_assert_eq!(Uuid::from(id).to_bytes(), bytes);
        let other = Ulid::from_bytes(other);
        prop_assert_eq!(id.cmp(&other), id.to_string().cmp(&other.to_string()));
    }

    #[test]
    fn object_ids(bytes: [u8; 12], other: [u8; 12]) {
        let (id, oracle) = (ObjectId::from_bytes(bytes), bson::oid::ObjectId::from_bytes(bytes));
        let text = oracle.to_hex();
        prop_assert_eq!(id.to_string(), text.clone());
        prop_assert_eq!(text.parse(), Ok(id));
        prop_assert_eq!(text.to_uppercase().parse(), Ok(id));
        prop_assert_eq!(id.to_bytes(), bytes);
        prop_assert_eq!(id.time().get(), oracle.timestamp().timestamp_millis());
        let whole = u128::from(id.time().position().unwrap() / 1_000) << 64
            | u128::from(id.random()) << 24
            | u128::from(id.counter());
        prop_assert_eq!(whole.to_be_bytes()[4..].to_vec(), bytes.to_vec());
        prop_assert_eq!(u64::from(id.machine()) << 16 | u64::from(id.process()), id.random());
        let other = ObjectId::from_bytes(other);
        prop_assert_eq!(id.cmp(&other), id.to_string().cmp(&other.to_string()));
    }

    #[test]
    fn ksuids(bytes: [u8; 20], other: [u8; 20]) {
        let (id, oracle) = (Ksuid::from_bytes(bytes), svix_ksuid::Ksuid::from_bytes(bytes));
        let text = oracle.to_string();
        prop_assert_eq!(id.to_string(), text.clone());
        prop_assert_eq!(text.parse(), Ok(id));
        prop_assert_eq!(id.to_bytes(), bytes);
        prop_assert_eq!(id.time().get() / 1_000, oracle.timestamp_seconds());
        prop_assert_eq!(id.payload().to_be_bytes().to_vec(), oracle.payload().to_vec());
        let other = Ksuid::from_bytes(other);
        prop_assert_eq!(id.cmp(&other), id.to_string().cmp(&other.to_string()));
    }
}

#[test]
fn the_default_format_is_that_of_nanoid() {
    let format = NanoIdFormat::default();
    let mut alphabet = nanoid::alphabet::SAFE;
    alphabet.sort_unstable();
    assert_eq!(format.alphabet().chars().collect::<Vec<_>>(), alphabet);
    for _ in 0..1_000 {
        let text = nanoid::nanoid!();
        assert_eq!(format.read(&text).unwrap().as_str(), text);
    }
}

#[test]
fn texts_are_padded_as_others_are() {
    assert_eq!(
        format!("{:>28}|{:?}", Ulid::MAX, Ulid::MAX),
        "  7ZZZZZZZZZZZZZZZZZZZZZZZZZ|7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
    );
    assert_eq!(Uuid::MAX.encode(&mut [0; 36]), Uuid::MAX.to_string());
}

#[cfg(feature = "serde")]
mod serde_formats {
    use std::fmt::Debug;

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    /// JSON has the text; postcard has a length and the bytes.
    fn both<T: Serialize + DeserializeOwned + PartialEq + Debug + ToString>(id: &T, bytes: &[u8]) {
        let json = serde_json::to_string(id).unwrap();
        assert_eq!(json, format!("\"{}\"", id.to_string()));
        assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), id);
        assert_eq!(&serde_json::from_reader::<_, T>(json.as_bytes()).unwrap(), id);
        let binary = postcard::to_stdvec(id).unwrap();
        assert_eq!(binary[1..], *bytes);
        assert_eq!(usize::from(binary[0]), bytes.len());
        assert_eq!(&postcard::from_bytes::<T>(&binary).unwrap(), id);
        // Too short, too long, not a text, and bytes where there should be text.
        let mut short = binary.clone();
        short.pop();
        short[0] -= 1;
        assert!(postcard::from_bytes::<T>(&short).is_err() || bytes.len() == 21);
        for json in ["\"\"", "null", "7", "[1,2]", "\"0\u{301}\"", "{}"] {
            assert!(serde_json::from_str::<T>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn text_for_people_and_bytes_for_machines() {
        let id: Uuid = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f".parse().unwrap();
        both(&id, &id.to_bytes());
        let id: Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        both(&id, &id.to_bytes());
        let id: ObjectId = "507f1f77bcf86cd799439011".parse().unwrap();
        both(&id, &id.to_bytes());
        let id: Ksuid = "0ujtsYcgvSTl8PAuAdqWYSMnLOv".parse().unwrap();
        both(&id, &id.to_bytes());
        let id: NanoId = "V1StGXR8_Z5jdHi6B-myT".parse().unwrap();
        both(&id, id.as_bytes());
    }
}
