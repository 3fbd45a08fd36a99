//! What the specifications and their test files say, each table with its source.

use crate::kind::{Ksuid, ObjectId, Ulid, Uuid};
use crate::time::UnixMillis;

/// RFC 9562, appendices A and B: text, version, and the time that the text states for version 7.
#[test]
fn rfc_9562_examples() {
    let time = UnixMillis::new(0x017F_22E2_79B0);
    for (text, version, time) in [
        ("C232AB00-9414-11EC-B3C8-9F6BDECED846", 1, None),
        ("5df41881-3aed-3515-88a7-2f4a814cf09e", 3, None),
        ("919108f7-52d1-4320-9bac-f847db4148a8", 4, None),
        ("2ed6657d-e927-568b-95e1-2665a8aea6a2", 5, None),
        ("1EC9414C-232A-6B00-B3C8-9F6BDECED846", 6, None),
        ("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", 7, Some(time)),
        ("2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", 8, None),
        ("5c146b14-3c52-8afd-938a-375d0df1fbf6", 8, None),
    ] {
        let id: Uuid = text.parse().unwrap();
        assert_eq!(id.to_string(), text.to_lowercase());
        assert_eq!((id.version(), id.time()), (Some(version), time), "{text}");
    }
    // Section 5.9 and 5.10.
    for (text, id) in [
        ("00000000-0000-0000-0000-000000000000", Uuid::NIL),
        ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", Uuid::MAX),
    ] {
        assert_eq!(text.parse(), Ok(id));
        assert_eq!((id.to_string(), id.version(), id.time()), (text.to_lowercase(), None, None));
    }
    // Section 4: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", and figure 4's fields are in network byte order.
    let id: Uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6".parse().unwrap();
    assert_eq!(
        id.to_bytes(),
        [0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0, 0xa7, 0x65, 0x00, 0xa0, 0xc9, 0x1e, 0x6b, 0xf6]
    );
}

/// RFC 9562, appendix A.6: the example's fields, with other bits where the version and the variant go.
#[test]
fn rfc_9562_fields_of_version_7() {
    let id = Uuid::v7([0x017F_22E2_79B0_FCC3, 0xD8C4_DC0C_0C07_398F]);
    assert_eq!(id.to_string(), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    // Appendix A.3.
    let id = Uuid::v4([0x9191_08F7_52D1_F320, 0x1BAC_F847_DB41_48A8]);
    assert_eq!(id.to_string(), "919108f7-52d1-4320-9bac-f847db4148a8");
}

/// github.com/ulid/spec, README.md, and github.com/ulid/javascript, test.js (`encodeTime`).
#[test]
fn ulid_spec() {
    for (text, millis) in [
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", 1_469_922_850_259),
        ("01ARYZ6S41TSV4RRFFQ69G5FAV", 1_469_918_176_385),
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 281_474_976_710_655),
        ("00000000000000000000000000", 0),
    ] {
        let id: Ulid = text.parse().unwrap();
        assert_eq!((id.to_string().as_str(), id.time()), (text, UnixMillis::new(millis)));
        assert_eq!(text.to_lowercase().parse(), Ok(id), "case insensitive");
    }
    assert_eq!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse(), Ok(Ulid::MAX));
    // "Specification" shows the two parts of one.
    let id: Ulid = "01AN4Z07BY79KA1307SR9X4MV3".parse().unwrap();
    let (time, random): (Ulid, Ulid) =
        ("01AN4Z07BY0000000000000000".parse().unwrap(), "000000000079KA1307SR9X4MV3".parse().unwrap());
    assert_eq!((id.time(), id.random()), (time.time(), random.get()));
    for text in ["80000000000000000000000000", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"] {
        assert_eq!(
            text.parse::<Ulid>().unwrap_err().to_string(),
            "the text is past the largest ULID, 7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
        );
    }
}

/// github.com/ulid/javascript, test/node/uuid.spec.ts: a ULID and the UUID of the same bits.
#[test]
fn ulid_javascript_uuids() {
    for (ulid, uuid) in [
        ("01ARYZ6S41TSV4RRFFQ69G5FAV", "01563DF3-6481-D676-4C61-EFB99302BD5B"),
        ("01JQ4T23H220KM7X0B3V1109DQ", "0195C9A1-0E22-1027-43F4-0B1EC21025B7"),
        ("01JQ4T8BHJR0A5YKX7SVTVX0YN", "0195C9A4-2E32-C014-5F4F-A7CEF5BE83D5"),
        ("01JQ4T8X6CA54VSH0AANN0SWCX", "0195C9A4-74CC-5149-BCC4-0A556A0CF19D"),
    ] {
        let (ulid, uuid): (Ulid, Uuid) = (ulid.parse().unwrap(), uuid.parse().unwrap());
        assert_eq!((Uuid::from(ulid), Ulid::from(uuid)), (uuid, ulid));
    }
    // test/node/crockford.spec.ts repairs this one; here it is none, and the error says where.
    let error = "oLARYZ6-S41TSV4RRF-FQ69G5FAV".parse::<Ulid>().unwrap_err();
    assert!(error.to_string().starts_with("'o' at byte 0"), "{error}");
}

/// github.com/mongodb/specifications, source/bson-corpus/tests/oid.json: canonical BSON of `{"a": ObjectId}`.
#[test]
fn mongodb_corpus() {
    for (description, bson, text) in [
        ("All zeroes", "1400000007610000000000000000000000000000", "000000000000000000000000"),
        ("All ones", "14000000076100FFFFFFFFFFFFFFFFFFFFFFFF00", "ffffffffffffffffffffffff"),
        ("Random", "1400000007610056E1FC72E0C917E9C471416100", "56e1fc72e0c917e9c4714161"),
    ] {
        let id: ObjectId = bson[14..38].parse().unwrap();
        assert_eq!(id.to_string(), text, "{description}");
        assert_eq!(ObjectId::try_from(id.to_bytes().as_slice()), Ok(id));
    }
    // "OID truncated": 12 bytes short of two.
    let truncated = [0x56, 0xE1, 0xFC, 0x72, 0xE0, 0xC9, 0x17, 0xE9, 0xC4, 0x71];
    let error = ObjectId::try_from(truncated.as_slice()).unwrap_err();
    assert_eq!(error.to_string(), "10 bytes are no ObjectId: an ObjectId has 12 bytes");
}

/// github.com/mongodb/specifications, source/bson-objectid/objectid.md, test plan: the seconds are an unsigned number.
#[test]
fn mongodb_object_id_seconds() {
    for (seconds, time) in [
        ("00000000", "1970-01-01T00:00:00.000Z"),
        ("7FFFFFFF", "2038-01-19T03:14:07.000Z"),
        ("80000000", "2038-01-19T03:14:08.000Z"),
        ("FFFFFFFF", "2106-02-07T06:28:15.000Z"),
    ] {
        let id: ObjectId = format!("{seconds}0000000000000000").parse().unwrap();
        assert_eq!(id.time().to_string(), time);
    }
}

/// MongoDB's manual up to version 3.2, "ObjectId": 4 bytes of seconds, 3 of the machine, 2 of the process, 3 of a counter;
/// the example of its reference page.
#[test]
fn mongodb_older_form() {
    let id: ObjectId = "507f1f77bcf86cd799439011".parse().unwrap();
    assert_eq!(id.time(), UnixMillis::new(1_350_508_407_000));
    assert_eq!((id.machine(), id.process(), id.counter()), (0xBC_F86C, 0xD799, 0x43_9011));
    assert_eq!(id.random(), 0xBC_F86C_D799);
}

/// github.com/segmentio/ksuid, README.md ("Inspect the components", "output JSON") and ksuid_test.go.
#[test]
fn segment_ksuid() {
    for (text, seconds, payload) in [
        ("0ujtsYcgvSTl8PAuAdqWYSMnLOv", 107_608_047_i64, 0xB5A1_CD34_B5F9_9D11_54FB_6853_345C_9735_u128),
        ("0ujzPyRiIAffKhBux4PvQdDqMHY", 107_610_780, 0x73FC_1AA3_B244_6246_D6E8_9FCD_909E_8FE8),
        ("0uk1Hbc9dQ9pxyTqJ93IUrfhdGq", 107_611_700, 0x9850_EEEC_191B_F4FF_26F9_9315_CE43_B0C8),
        ("0uk1HdCJ6hUZKDgcxhpJwUl5ZEI", 107_611_700, 0xCC55_0725_5531_6F45_B8CA_2D29_79D3_ED0A),
        ("0uk1HcdvF0p8C20KtTfdRSB9XIm", 107_611_700, 0xBA1C_205D_6177_F099_2D15_EE60_6AE3_2238),
        ("0uk1Ha7hGJ1Q9Xbnkt0yZgNwg3g", 107_611_700, 0x6751_7BA3_09EA_62AE_7991_B27B_B6F2_FCAC),
        ("000000000000000000000000000", 0, 0),
        ("aWgEPTl1tmebfsQzFP4bxwgy80V", i64::from(u32::MAX), u128::MAX),
    ] {
        let id: Ksuid = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!((id.time().get() / 1_000 - 1_400_000_000, id.payload()), (seconds, payload), "{text}");
    }
    // The first two with their "Raw", and the others that are printed: "Generate 4 KSUIDs", and TestAppend.
    for (text, raw) in [
        ("0ujtsYcgvSTl8PAuAdqWYSMnLOv", "0669F7EFB5A1CD34B5F99D1154FB6853345C9735"),
        ("0ujzPyRiIAffKhBux4PvQdDqMHY", "066A029C73FC1AA3B2446246D6E89FCD909E8FE8"),
    ] {
        let bytes = text.parse::<Ksuid>().unwrap().to_bytes();
        assert_eq!(bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>(), raw);
    }
    for text in [
        "0ujsswThIGTUYm2K8FjOOfXtY1K",
        "0ujsszwN8NRY24YaXiTIE2VWDTS",
        "0ujssxh0cECutqzMgbtXSGnjorm",
        "0ujsszgFvbiEr7CDgE3z8MAUPFt",
        "0pN1Own7255s7jwpwy495bAZeEa",
    ] {
        assert_eq!(text.parse::<Ksuid>().unwrap().to_string(), text);
    }
    assert_eq!("aWgEPTl1tmebfsQzFP4bxwgy80V".parse(), Ok(Ksuid::MAX));
    assert_eq!(Ksuid::NIL.to_string(), "000000000000000000000000000");
    // TestParse, TestIssue25 and TestParseInvalidBase62.
    for text in [
        "123",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aWgEPTl1tmebfsQzFP4bxwgy80!",
        "aWgEPTl1tmebfsQzFP4bxwgy80W",
        "0??????????????????????????",
        "0!!!!!!!!!!!!!!!!!!!!!!!!!!",
    ] {
        assert!(text.parse::<Ksuid>().is_err(), "{text}");
    }
}
