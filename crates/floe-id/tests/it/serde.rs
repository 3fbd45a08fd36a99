//! What serde reads and writes: text for people, numbers and bytes for others.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use floe_id::form::Form;
use floe_id::kind::{NanoId, Ulid};
use floe_id::{Id, Layout, UnixMillis, WideId};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

floe_id::id! {
    struct OrderId;
    struct EventId(WideId);
    struct SessionId(Ulid);
}

/// It is this JSON, and comes back from it and from postcard, where it has so many bytes.
fn kept<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, json: &str, bytes: usize) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(&serde_json::from_str::<T>(json).unwrap(), value);
    // Out of a tree that was read already, as `#[serde(flatten)]` and untagged enums do.
    assert_eq!(&serde_json::from_value::<T>(serde_json::to_value(value).unwrap()).unwrap(), value);
    let written = postcard::to_allocvec(value).unwrap();
    assert_eq!(&postcard::from_bytes::<T>(&written).unwrap(), value);
    assert_eq!(written.len(), bytes, "{json}");
}

#[test]
fn each_type_is_text_for_people_and_comes_back() {
    kept(&Id::MAX, r#""9223372036854775807""#, 9);
    kept(&Id::from(7_u32), r#""7""#, 1);
    kept(&WideId::MAX, r#""340282366920938463463374607431768211455""#, 17);
    kept(&UnixMillis::new(1_288_834_974_657), r#""2010-11-04T01:42:54.657Z""#, 6);
    kept(&UnixMillis::new(-1), r#""1969-12-31T23:59:59.999Z""#, 1);
    kept(&UnixMillis::new(i64::MAX), r#""9223372036854775807 ms since 1970""#, 10);
    kept(&UnixMillis::new(i64::MIN), r#""-9223372036854775808 ms since 1970""#, 10);
    kept(
        &Layout::TWITTER,
        r#""time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z""#,
        82,
    );
    kept(&"base62 width=11 prefix=ord_".parse::<Form>().unwrap(), r#""base62 width=11 prefix=ord_""#, 28);
    let order = OrderId::from(Id::MAX);
    kept(&order, r#""9223372036854775807""#, 9);
    kept(&vec![Some(order), None], r#"["9223372036854775807",null]"#, 12);
    kept(&EventId::new(WideId::from(7_u8)), r#""7""#, 17);
    kept(&SessionId::new(Ulid::MAX), r#""7ZZZZZZZZZZZZZZZZZZZZZZZZZ""#, 17);
}

#[test]
fn numbers_are_read_where_text_is_written() {
    assert_eq!(serde_json::from_str::<Id>("9223372036854775807").unwrap(), Id::MAX);
    assert_eq!(serde_json::from_str::<OrderId>("0").unwrap().get(), 0);
    assert_eq!(serde_json::from_str::<WideId>("18446744073709551615").unwrap().get(), u64::MAX.into());
    assert_eq!(serde_json::from_str::<UnixMillis>("-1").unwrap(), UnixMillis::new(-1));
    assert_eq!(
        serde_json::from_str::<UnixMillis>("1288834974657").unwrap(),
        UnixMillis::new(1_288_834_974_657)
    );
    assert_eq!(
        serde_json::from_str::<UnixMillis>(r#""2010-11-04T02:42:54.657+01:00""#).unwrap(),
        UnixMillis::new(1_288_834_974_657)
    );
    assert_eq!(serde_json::from_str::<Layout>(r#""twitter""#).unwrap(), Layout::TWITTER);
}

#[test]
fn they_are_keys_of_maps() {
    let totals: BTreeMap<Id, u8> = [(Id::MAX, 1), (Id::from(7_u32), 2)].into();
    kept(&totals, r#"{"7":2,"9223372036854775807":1}"#, 13);
    kept(&HashMap::from([(OrderId::from(Id::MAX), 1)]), r#"{"9223372036854775807":1}"#, 11);
    kept(&BTreeMap::from([(WideId::MAX, 1)]), r#"{"340282366920938463463374607431768211455":1}"#, 19);
    kept(&BTreeMap::from([(UnixMillis::EPOCH, 1)]), r#"{"1970-01-01T00:00:00.000Z":1}"#, 3);
    let id: NanoId = "V1StGXR8_Z5jdHi6B-myT".parse().unwrap();
    kept(&BTreeMap::from([(id, 1)]), r#"{"V1StGXR8_Z5jdHi6B-myT":1}"#, 24);
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Numbers {
    #[serde(with = "floe_id::serde::number")]
    id: Id,
    #[serde(with = "floe_id::serde::number")]
    order: OrderId,
    #[serde(with = "floe_id::serde::number")]
    wide: WideId,
    #[serde(with = "floe_id::serde::number")]
    at: UnixMillis,
    #[serde(with = "floe_id::serde::number", default)]
    parent: Option<Id>,
    #[serde(with = "floe_id::serde::number")]
    children: Vec<OrderId>,
}

#[test]
fn numbers_are_written_on_demand_with_all_their_digits() {
    let numbers = Numbers {
        id: Id::MAX,
        order: OrderId::from(Id::MAX),
        wide: WideId::MAX,
        at: UnixMillis::new(-5),
        parent: None,
        children: vec![OrderId::from(Id::from(1_u8)), OrderId::from(Id::from(2_u8))],
    };
    let json = r#"{"id":9223372036854775807,"order":9223372036854775807,"wide":340282366920938463463374607431768211455,"at":-5,"parent":null,"children":[1,2]}"#;
    assert_eq!(serde_json::to_string(&numbers).unwrap(), json);
    assert_eq!(serde_json::from_str::<Numbers>(json).unwrap(), numbers);
    assert_eq!(postcard::from_bytes::<Numbers>(&postcard::to_allocvec(&numbers).unwrap()).unwrap(), numbers);
    let text = r#"{"id":"7","order":"7","wide":7,"at":"1970-01-01T00:00:00Z","parent":"7","children":["7"]}"#;
    let read: Numbers = serde_json::from_str(text).unwrap();
    assert_eq!((read.order.get(), read.parent.map(Id::get), read.wide.get()), (7, Some(7), 7));
}

fn refused<T: DeserializeOwned + Debug>(json: &str, because: &str) {
    let error = serde_json::from_str::<T>(json).unwrap_err().to_string();
    assert!(error.contains(because), "{json}: {error}");
}

#[test]
fn what_is_none_is_refused_with_its_cause_and_the_way_out() {
    let float = "was read as a floating-point number, which loses digits of large numbers: write it as text";
    refused::<Id>("-1", "-1 is negative, and an ID is not");
    refused::<Id>(r#""-1""#, "'-' at byte 0 is not a decimal digit: an ID is written in digits only");
    refused::<Id>("9223372036854775808", "9223372036854775808 does not fit an ID of 63 bits: the largest is");
    refused::<Id>(r#""9223372036854775808""#, "does not fit an ID of 63 bits");
    refused::<Id>("18446744073709551616", float);
    refused::<Id>("1.5", float);
    refused::<Id>("1e3", float);
    refused::<Id>(r#""""#, "an ID cannot be empty: write it in decimal digits");
    refused::<Id>(r#""007""#, "an ID has no leading zeros: write 7");
    refused::<Id>("null", "invalid type: null, expected an ID: text in decimal digits, or a whole number");
    refused::<Id>("true", "invalid type: boolean `true`, expected an ID");
    refused::<Id>("{}", "invalid type: map, expected an ID");
    refused::<OrderId>("-1", "-1 is negative");
    refused::<WideId>("-1", "-1 is negative");
    refused::<WideId>("340282366920938463463374607431768211455", float);
    refused::<WideId>("[1,2]", "2 bytes are not an ID of 128 bits: it has 16");
    refused::<WideId>(&format!("[{}]", ["0"; 1000].join(",")), "17 bytes are not an ID of 128 bits");
    refused::<UnixMillis>("9223372036854775808", "9223372036854775808 ms since 1970 is outside the times");
    refused::<UnixMillis>(r#""1288834974657""#, "may also be seconds");
    refused::<UnixMillis>(r#""2010-11-04T01:42:54.6575Z""#, "it has a fraction of a millisecond");
    refused::<UnixMillis>(r#""0 ms since 1970""#, "write it as RFC 3339");
    refused::<UnixMillis>(r#""""#, "write it as RFC 3339");
    refused::<UnixMillis>(&format!("{:?}", "9".repeat(100_000)), "100000 bytes are no time");
    refused::<UnixMillis>("1.5", float);
    refused::<Layout>("41", "expected a layout, such as");
    refused::<Layout>(r#""twiter""#, "twitter");
    refused::<Form>(r#""base61""#, "base61");
    refused::<Numbers>(r#"{"id":1,"order":1,"wide":-1,"at":0,"children":[]}"#, "number out of range");
    refused::<Numbers>(r#"{"id":1,"order":1,"wide":1,"at":0,"children":[-1]}"#, "-1 is negative");
}

#[test]
fn bytes_of_another_length_are_refused_where_a_format_has_bytes() {
    let written = postcard::to_allocvec(&[7_u8; 15].as_slice()).unwrap();
    assert!(postcard::from_bytes::<WideId>(&written).is_err());
    let written = postcard::to_allocvec(&(1_u64 << 63)).unwrap();
    assert!(postcard::from_bytes::<Id>(&written).is_err());
}

proptest! {
    #[test]
    fn all_come_back(number in 0..=Id::MAX.get(), wide: u128, millis: i64) {
        let (id, wide, time) = (Id::new(number).unwrap(), WideId::new(wide), UnixMillis::new(millis));
        let json = serde_json::to_string(&(id, wide, time)).unwrap();
        prop_assert_eq!(serde_json::from_str::<(Id, WideId, UnixMillis)>(&json).unwrap(), (id, wide, time));
        let bytes = postcard::to_allocvec(&(id, wide, time)).unwrap();
        prop_assert_eq!(postcard::from_bytes::<(Id, WideId, UnixMillis)>(&bytes).unwrap(), (id, wide, time));
    }

    /// A number of JSON is an ID exactly if it is a whole one of 63 bits, and then it is that one.
    #[test]
    fn a_number_is_never_another_one(number: i128) {
        match serde_json::from_str::<Id>(&number.to_string()) {
            Ok(id) => prop_assert_eq!(i128::from(id.get()), number),
            Err(_) => prop_assert!(!(0..=i128::from(i64::MAX)).contains(&number)),
        }
    }
}
