//! Published IDs, with what their sources say that they hold.

use serde_json::{Value, json};

use super::{Reading, recognize};
use crate::UnixMillis;

/// 2026-11-21T00:00:00Z.
const NOW: UnixMillis = UnixMillis::new(1_795_219_200_000);

fn read(text: &str) -> Vec<Reading> {
    recognize(text, NOW).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn best(text: &str) -> Value {
    read(text).first().map(json_of).unwrap_or_default()
}

fn json_of(reading: &Reading) -> Value {
    serde_json::to_value(reading).unwrap()
}

fn cause(text: &str) -> String {
    match recognize(text, NOW) {
        Ok(found) => panic!("{text} was read as {}", found.first().map_or("nothing", |best| &best.title)),
        Err(error) => error.to_string(),
    }
}

/// The value of a field.
fn field(reading: &Value, name: &str) -> Value {
    let fields = reading["fields"].as_array().cloned().unwrap_or_default();
    fields.iter().find(|field| field["name"] == name).map(|field| field["value"].clone()).unwrap_or_default()
}

#[test]
fn published_ids_are_read_as_what_they_are() {
    // The text, the kind, its time, a field and its value, and where it was published.
    let table = [
        // RFC 9562, appendix A.1 to A.6, B.1 and B.2.
        (
            "C232AB00-9414-11EC-B3C8-9F6BDECED846",
            "uuid1",
            "2022-02-22T19:22:22.000Z",
            "clock_seq",
            json!(0x33c8),
        ),
        ("5df41881-3aed-3515-88a7-2f4a814cf09e", "uuid3", "", "md5_mid", json!(0x515)),
        ("919108f7-52d1-4320-9bac-f847db4148a8", "uuid4", "", "random_b", json!(0x320)),
        ("2ed6657d-e927-568b-95e1-2665a8aea6a2", "uuid5", "", "sha1_mid", json!(0x68b)),
        (
            "1EC9414C-232A-6B00-B3C8-9F6BDECED846",
            "uuid6",
            "2022-02-22T19:22:22.000Z",
            "node",
            json!(0x9f6b_dece_d846_u64),
        ),
        ("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuid7", "2022-02-22T19:22:22.000Z", "rand_a", json!(0xcc3)),
        ("2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", "uuid8", "", "custom_b", json!(0xe00)),
        ("5c146b14-3c52-8afd-938a-375d0df1fbf6", "uuid8", "", "custom_b", json!(0xafd)),
        // RFC 9562, sections 5.9 and 5.10.
        ("00000000-0000-0000-0000-000000000000", "uuid", "", "bits_low", json!("0x0")),
        ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "uuid", "", "bits_high", json!("0xffffffffffffffff")),
        // github.com/ulid/spec, README.md; its time by ulid/javascript.
        (
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "ulid",
            "2016-07-30T23:54:10.259Z",
            "time",
            json!(1_469_922_850_259_u64),
        ),
        // github.com/jetify-com/typeid, spec/valid.yml, "uuidv7".
        ("prefix_01h455vb4pex5vsknk084sn02q", "typeid", "2023-06-30T03:34:18.518Z", "rand_a", json!(0x74b)),
        // mongodb.com/docs/manual/reference/method/ObjectId.getTimestamp
        (
            "507c7f79bcf86cd7994f6c0e",
            "objectid",
            "2012-10-15T21:26:17.000Z",
            "random",
            json!(0x00bc_f86c_d799_u64),
        ),
        // github.com/segmentio/ksuid, README.md.
        ("0ujtsYcgvSTl8PAuAdqWYSMnLOv", "ksuid", "2017-10-10T04:00:47.000Z", "time", json!(107_608_047)),
        // discord.com/developers/docs/reference#snowflakes
        ("175928847299117063", "snowflake", "2016-04-30T11:18:25.796Z", "sequence", json!(7)),
        // en.wikipedia.org/wiki/Snowflake_ID: a tweet of 2022.
        ("1541815603606036480", "snowflake", "2022-06-28T16:07:40.105Z", "datacenter", json!(11)),
        // github.com/rs/xid, id_test.go, IDs[0].
        ("9m4e2mr0ui3e8a215n4g", "xid", "2011-03-22T17:50:19.000Z", "counter", json!(4_271_561)),
        // github.com/ai/nanoid, README.md.
        ("V1StGXR8_Z5jdHi6B-myT", "nanoid", "", "", Value::Null),
    ];
    for (text, kind, time, name, value) in table {
        let reading = best(text);
        assert_eq!(reading["kind"], kind, "{text}: {reading}");
        assert_eq!(reading["time"].as_str().unwrap_or_default(), time, "{text}: {reading}");
        assert_eq!(field(&reading, name), value, "{text}: {reading}");
        assert_eq!(
            reading["notes"].as_array().map_or(0, Vec::len),
            usize::from(kind == "nanoid"),
            "{reading}"
        );
    }
}

#[test]
fn a_uuid_says_its_origin() {
    let reading = best("C232AB00-9414-11EC-B3C8-9F6BDECED846");
    assert_eq!(reading["version"], 1);
    assert_eq!(reading["variant"], "RFC 9562");
    assert_eq!(reading["node"], "9f:6b:de:ce:d8:46");
    assert_eq!(reading["clock_sequence"], 0x33c8);
    // RFC 9562 itself names the older variants (section 4.1).
    assert_eq!(best("6ba7b810-9dad-11d1-00b4-00c04fd430c8")["variant"], "NCS (reserved)");
    assert_eq!(best("00000000-0000-0000-c000-000000000046")["variant"], "Microsoft (reserved)");
    // Appendix A of RFC 4122 names the DNS namespace, which Paul Leach's machine made.
    let reading = best("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
    assert_eq!(reading["time"], "1998-02-04T22:13:53.1511824Z");
    assert_eq!(reading["node"], "00:c0:4f:d4:30:c8");
    // The lowest bit of the first octet says that it is random; the one above, that somebody else gave the address.
    let node = |text: &str| {
        read(text)
            .first()
            .map(|reading| reading.facts.iter().any(|(_, value)| value.contains("(random: ")))
            .unwrap_or_default()
    };
    assert!(node("c232ab00-9414-11ec-b3c8-010000000000"));
    assert!(!node("c232ab00-9414-11ec-b3c8-024200000000"));
}

#[test]
fn an_id_is_read_out_of_what_programs_put_around_it() {
    let bare = best("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    for text in [
        "{017F22E2-79B0-7CC3-98C4-DC0C0C07398F}",
        "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "URN:UUID:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "  \"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\"\n",
        "UUID('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')",
        "017f22e279b07cc398c4dc0c0c07398f",
        "017F22E279B07CC398C4DC0C0C07398F",
    ] {
        let reading = best(text);
        assert_eq!((&reading["text"], &reading["fields"]), (&bare["text"], &bare["fields"]), "{text}");
        assert!(
            reading["notes"][0].as_str().is_some_and(|note| note.starts_with("read without")),
            "{reading}"
        );
    }
}

#[test]
fn bytes_in_hexadecimal_are_no_decimal_number() {
    // As SQL Server and PostgreSQL print a UUID's bytes.
    for text in ["0x017F22E279B07CC398C4DC0C0C07398F", "\\x017f22e279b07cc398c4dc0c0c07398f"] {
        assert_eq!(best(text)["kind"], "uuid7", "{text}");
    }
    let number = best("0x1565a11f6217a000");
    assert_eq!((&number["text"], &number["preset"]), (&json!("1541815603606036480"), &json!("twitter")));
    // Digits alone stay hexadecimal.
    let digits = best("0x1541815603606036");
    assert_eq!(digits["text"], 0x1541_8156_0360_6036_u64.to_string());
    assert_eq!(best("175928847299117063n")["text"], "175928847299117063");
}

#[test]
fn kinds_that_floe_does_not_mint_are_read_too() {
    let xid = best("9m4e2mr0ui3e8a215n4g");
    assert_eq!((field(&xid, "machine"), field(&xid, "process")), (json!(0x0060_f486), json!(0xe428)));
    // The last four of 100 bits are 0, or it is none.
    assert!(recognize("9m4e2mr0ui3e8a215n4h", NOW).is_err());
    // github.com/visus-io/cuid.net, README.md.
    let cuid = best("clbvi4441000007ld63liebkf");
    assert_eq!((&cuid["kind"], &cuid["time"]), (&json!("cuid"), &json!("2022-12-20T00:42:08.209Z")));
    // firebase.blog, The 2^120 Ways to Ensure Unique Identifiers, February 2015.
    let push = best("-JhLeOlGIEjaIOFHR0xd");
    assert_eq!((&push["kind"], &push["time"]), (&json!("pushid"), &json!("2015-02-04T22:15:31.153Z")));
}

#[test]
fn a_text_that_may_be_several_things_is_ranked() {
    let kinds = |text: &str| -> Vec<String> {
        read(text).into_iter().map(|reading| format!("{} {}", reading.kind, reading.form)).collect()
    };
    // 26 symbols: a ULID, and a TypeID's without a type only where a UUID of version 7 is in them.
    assert_eq!(kinds("01ARZ3NDEKTSV4RRFFQ69G5FAV"), ["ulid base32"]);
    assert_eq!(kinds("01h455vb4pex5vsknk084sn02q"), ["typeid base32", "ulid base32"]);
    assert_eq!(kinds("01arz3ndektsv4rrffq69g5fav"), ["ulid base32", "typeid base32"]);
    // 24 hexadecimal digits by today's format and the older one.
    let object = read("507c7f79bcf86cd7994f6c0e");
    assert_eq!(field(&json_of(&object[1]), "machine"), 0x00bc_f86c);
    assert_eq!(field(&json_of(&object[1]), "process"), 0xd799);
    assert_eq!(object.len(), 2);
    // An MD5 is no UUID of a version, though it reads as 128 bits.
    assert_eq!(kinds("d41d8cd98f00b204e9800998ecf8427e"), ["uuid hex", "ulid hex"]);
    // A date with a number is no longer than a snowflake of a few layouts.
    assert_eq!(best("20261120000123")["kind"], "dated");
    // A time is no ID, and some layouts read it all the same.
    let time = best("1656432460105")["notes"].to_string();
    assert!(time.contains("read as milliseconds since 1970 it is 2022-06-28T16:07:40.105Z"), "{time}");
    // 128 bits as one number.
    assert_eq!(kinds("1989357241971137676463954034883508623"), ["uuid7 decimal"]);
}

#[test]
fn numbers_are_read_by_the_presets_that_give_a_date_between_their_epoch_and_now() {
    let found = read("1541815603606036480");
    assert_eq!(json_of(&found[0])["preset"], "twitter");
    assert!(
        found.len() > 3 && found.iter().all(|reading| reading.time.as_ref().is_some_and(|t| t.millis <= NOW))
    );
    // The day before it was minted it cannot be Twitter's.
    let before = recognize("1541815603606036480", UnixMillis::new(1_656_432_460_105 - 2 * 86_400_000));
    let before = before.unwrap_or_default();
    assert!(before.iter().all(|reading| json_of(reading)["preset"] != "twitter"));
    // instagram-engineering.com, Sharding & IDs at Instagram: 1,387,263,000 ms after the epoch, user 31341 of 2,000 shards,
    // sequence 5001 of 1,024.
    let id = (1_387_263_000_u64 << 23 | (31_341 % 2_000) << 10 | (5_001 % 1_024)).to_string();
    let instagram =
        read(&id).into_iter().map(|reading| json_of(&reading)).find(|json| json["preset"] == "instagram");
    let instagram = instagram.expect("an ID of the article is read by its preset");
    assert_eq!(instagram["time"], "2011-09-09T22:28:04.721Z");
    assert_eq!((field(&instagram, "shard"), field(&instagram, "sequence")), (json!(1_341), json!(905)));
}

/// Version 2 of Sonyflake has the bits of version 1, and its IDs of today are those of 2016 there; an ID of version 1 lies
/// in the future of version 2.
#[test]
fn a_sonyflake_is_read_by_both_versions_the_later_time_first() {
    let presets = |text: &str| -> Vec<String> {
        let readings = read(text).into_iter().map(|reading| json_of(&reading));
        let of = readings.filter(|json| json["preset"].to_string().contains("sonyflake"));
        of.map(|json| format!("{} {}", json["preset"], json["time"]).replace('"', "")).collect()
    };
    // Composed by sony/sonyflake v2.2.0 and by its version 1.
    assert_eq!(
        presets("52908628378063412"),
        ["sonyflake-v2 2026-01-01T00:00:00.000Z", "sonyflake 2015-09-01T00:00:00.000Z"]
    );
    assert_eq!(presets("494152093532623412"), ["sonyflake 2024-01-01T00:00:00.000Z"]);
    let baidu = read("180363646902239241").into_iter().map(|reading| json_of(&reading));
    let baidu = baidu.filter(|json| json["preset"] == "baidu-readme").collect::<Vec<_>>();
    assert_eq!((&baidu[0]["time"], &baidu[0]["worker"]), (&json!("2017-01-19T04:15:46.000Z"), &json!(4)));
}

#[test]
fn a_snowflake_in_another_base_is_a_guess_and_says_so() {
    // github.com/odan/tsid, README.md: a TSID as a number and as text.
    let reading = best("0ARYZVZXW377R");
    assert_eq!((&reading["preset"], &reading["form"]), (&json!("tsid"), &json!("base32 width=13")));
    assert_eq!(reading["number"], "388400145978465528");
    // The aliases that base32 reads are no evidence: small i, l and o among capitals are base62's.
    assert!(recognize("dQw4w9WgXcQ", NOW).is_err());
    // A layout of 73 bits mints none of 63 but on its first day.
    assert!(read("AzL8n0Y58m7").iter().all(|reading| json_of(reading)["preset"] != "game"));
    assert_eq!(best("99999999999999999999")["preset"], "game");
    // 1541815603606036480 in hexadecimal.
    let found = read("1565a11f6217a000");
    assert!(
        found
            .iter()
            .any(|reading| reading.form == "hex width=16"
                && json_of(reading)["number"] == "1541815603606036480")
    );
    assert!(found.len() <= 4);
    assert!(found.iter().all(|reading| reading.title.contains("written in")));
}

#[test]
fn a_time_that_cannot_be_is_told() {
    for (text, says) in [
        // 2090-01-01 by a version 7; 1970-01-01 by an ObjectId and a ULID; 5236 by a version 1.
        ("0371aa26-f000-7000-8000-000000000000", "lies in the future, 63 years ahead"),
        ("000000010000000000000000", "before 1990"),
        ("00000000000000000000000000", "before 1990"),
        ("ffffffff-ffff-1fff-bfff-ffffffffffff", "lies in the future"),
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "lies in the future"),
    ] {
        let reading = best(text);
        let notes = reading["notes"].to_string();
        assert!(notes.contains(says), "{text}: {reading}");
    }
}

#[test]
fn what_is_no_id_is_refused_with_the_rule_or_the_position() {
    for (text, says) in [
        ("", "an empty text is no ID"),
        ("  ", "an empty text is no ID"),
        ("\"\"", "an empty text is no ID"),
        ("0x", "0 digits"),
        ("0x12g4", "'g' at byte 4"),
        ("0x2a", "no preset gives 42 a date"),
        ("user_01h455vb4pex5vsknk084sn02", "25 symbols behind its last _"),
        ("hello", "\"hello\" is no ID of any kind that floe knows"),
        ("hello world", "' ' at byte 5 cannot be in an ID"),
        // A Cyrillic a, fullwidth digits, a hyphen that is none.
        ("017f22e2-79b0-7cc3-98c4-dc0c0c07398\u{0430}", "'а' (U+0430) at byte 35"),
        ("１２３", "'１' (U+FF11) at byte 0"),
        ("017f22e2\u{2010}79b0-7cc3-98c4-dc0c0c07398f", "(U+2010) at byte 8"),
        ("017f22e2-79b0-7cc3-98c4-dc0c0c07398", "35 bytes are no UUID"),
        ("017f22e2-79b0-7cc3-98c4-dc0c0c07398g", "'g' at byte 35"),
        ("017f22e279b07cc398c4dc0c0c07398g", "'g' at byte 31"),
        ("017f22e279b07cc398c4dc0c0c07398", "and here are 31"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAU", "'U' at byte 25"),
        ("81ARZ3NDEKTSV4RRFFQ69G5FAV", "past the largest ULID"),
        ("507f1f77bcf86cd79943901g", "'g' at byte 23"),
        ("aWgEPTl1tmebfsQzFP4bxwgy80W", "past the largest KSUID"),
        ("User_01h455vb4pex5vsknk084sn02q", "'U' at byte 0"),
        ("user_81h455vb4pex5vsknk084sn02q", "as a TypeID"),
        ("007", "no leading zeros"),
        ("-5", "-5 is negative"),
        ("42", "no preset gives 42 a date"),
        ("1656432460", "read as seconds since 1970 it is 2022-06-28T16:07:40.000Z"),
        ("340282366920938463463374607431768211456", "does not fit an ID of 128 bits"),
        ("(((((((((())))))))))", "is no ID"),
    ] {
        let cause = cause(text);
        assert!(cause.contains(says), "{text:?}: {cause}");
    }
    let long = cause(&"7".repeat(10_000_000));
    assert!(long.contains("a text of over 256 bytes") && long.len() < 200, "{long}");
    assert!(cause(&"{".repeat(200)).len() < 400);
    assert!(
        cause(&"7".repeat(257)).contains("over 256 bytes")
            && !cause(&"7".repeat(256)).contains("over 256 bytes")
    );
}

#[test]
fn no_text_panics() {
    // Every length with every sort of character, and cuts of real ones.
    let real = [
        "C232AB00-9414-11EC-B3C8-9F6BDECED846",
        "prefix_01h455vb4pex5vsknk084sn02q",
        "urn:uuid:{\"ObjectId('",
    ];
    for text in real {
        for at in 0..=text.len() {
            recognize(&text[..at], NOW).ok();
            recognize(&text[at..], NOW).ok();
        }
    }
    for sort in ["0", "9", "f", "F", "Z", "z", "_", "-", "é", "{", "}", "\"", "1é", "20261120"] {
        for length in 0..140 {
            let text = sort.repeat(length);
            if let Ok(found) = recognize(&text, NOW) {
                for reading in found {
                    assert!(reading.title.len() > 3 && json_of(&reading)["kind"] != "", "{text}");
                }
            }
        }
    }
}

/// Sonyflake takes its machine id from the address of its host: any 16 bits, of which no smallness speaks for it.
#[test]
fn a_new_id_of_sonyflakes_comes_first_whatever_its_machine() {
    let layout = &crate::layout::PRESETS.iter().find(|preset| preset.name == "sonyflake-v2").unwrap().layout;
    for minutes in [0, 1, 60, 23 * 60] {
        let tick = (NOW.since(layout.epoch()) - minutes * 60_000) / 10;
        for machine in [0xffff_u64, 0xc84d, 0xa8b1, 0x8001, 0x1234, 7] {
            for sequence in [0, 1, 5] {
                let id = (u64::try_from(tick).unwrap() << 24) | (sequence << 16) | machine;
                let presets: Vec<_> = read(&id.to_string())
                    .iter()
                    .map(|reading| json_of(reading)["preset"].to_string())
                    .collect();
                assert_eq!(
                    presets[0], "\"sonyflake-v2\"",
                    "{id} of machine {machine:#x}, {minutes} min old: {presets:?}"
                );
            }
        }
    }
}

fn snowflake(id: u64, layout: &str) -> String {
    let layout = layout.parse().unwrap();
    Reading::by_layout(u128::from(id).into(), &layout).unwrap().explanation
}

#[test]
fn shifts_and_masks_as_articles_write_them() {
    let text = snowflake(1_541_815_603_606_036_480, "twitter");
    for line in [
        "(id >> 22) + 1288834974657 = 1656432460105  ms since 1970: 2022-06-28T16:07:40.105Z\n",
        "(id >> 17) & 0x1f = 11  datacenter\n",
        "(id >> 12) & 0x1f = 26  worker\n",
        "id & 0xfff = 0  sequence\n",
        "datacenter << 5 | worker = 378  worker id\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn a_coarse_tick_is_multiplied_and_a_low_time_field_is_masked() {
    let text = snowflake(0x5_0007, "worker:3 time:16 sequence:4 tick=10ms epoch=2020-01-01T00:00:00Z");
    assert!(
        text.contains("((id >> 4) & 0xffff) * 10 + 1577836800000 = 1577837004800  ms since 1970"),
        "{text}"
    );
    assert!(text.contains(" id >> 20 = 0  worker\n"), "{text}");
}
