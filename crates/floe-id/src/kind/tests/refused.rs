//! Texts that are no IDs, and what the errors say.

use std::fmt::Debug;
use std::str::FromStr;

use proptest::prelude::*;

use crate::kind::{Ksuid, NanoId, NanoIdFormat, NanoIdFormatError, ObjectId, ReadError, Ulid, Uuid};

const UUID: &str = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const OBJECT_ID: &str = "507f1f77bcf86cd799439011";
const KSUID: &str = "0ujtsYcgvSTl8PAuAdqWYSMnLOv";
const NANO_ID: &str = "V1StGXR8_Z5jdHi6B-myT";

fn why<T: FromStr<Err = ReadError> + Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

#[test]
fn errors_name_the_position_or_the_rule() {
    assert_eq!(
        why::<Uuid>("017f22e2-79b0-7cg3-98c4-dc0c0c07398f"),
        "'g' at byte 16 cannot be there in a UUID: a UUID is 32 hexadecimal digits with hyphens after the 8th, 12th, 16th and 20th, 36 characters in all"
    );
    assert_eq!(
        why::<Ulid>("01ARZ3NDEKTSV4RRFFQ69G5FAO"),
        "'O' at byte 25 cannot be there in a ULID: a ULID is 26 characters of Crockford's base32, digits and letters without I, L, O and U"
    );
    assert_eq!(why::<ObjectId>("507f1f77"), "8 bytes are no ObjectId: an ObjectId is 24 hexadecimal digits");
    assert_eq!(
        why::<Ksuid>("aaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        "the text is past the largest KSUID, aWgEPTl1tmebfsQzFP4bxwgy80V"
    );
    assert_eq!(why::<NanoId>(""), "an empty text is no NanoID: a NanoID is 1 to 63 visible ASCII characters");
    let format = NanoIdFormat::new("abc", 4).unwrap();
    assert_eq!(
        format.read("abcd").unwrap_err().to_string(),
        "'d' at byte 3 cannot be there in a NanoID: its characters are of the alphabet, and so many as its length says"
    );
    assert!(matches!(format.read("abcab"), Err(ReadError::Length { found: 5, .. })));
    assert!(matches!(format.read("abc"), Err(ReadError::Length { found: 3, .. })));
}

/// What is wrong with any kind of text.
fn refuses<T: FromStr<Err = ReadError> + Debug + PartialEq>(good: &str, longest: usize) {
    assert!(good.parse::<T>().is_ok());
    assert!(matches!("".parse::<T>(), Err(ReadError::Empty { .. })));
    for at in 0..good.len() {
        // Look-alikes: Cyrillic а, fullwidth zero, an Arabic digit, a zero-width space, a combining accent, a dotless i.
        for other in ["а", "０", "٣", "\u{200b}", "\u{301}", "ı", "\0", " ", "\n", "\u{7f}", "−", "🦀"]
        {
            let text = format!("{}{other}{}", &good[..at], &good[at + 1..]);
            let error = text.parse::<T>().unwrap_err();
            let character = other.chars().next().unwrap();
            assert!(
                matches!(error, ReadError::Character { at: found, character: c, .. } if found == at && c == character),
                "{text:?}: {error}"
            );
        }
    }
    for text in [
        format!(" {good}"),
        format!("{good} "),
        format!("{{{good}}}"),
        format!("{good}\0"),
        "\u{301}".to_owned(),
    ] {
        // A NanoID may have braces.
        assert!(text.parse::<T>().is_err() || text.starts_with('{') && longest == 63, "{text:?}");
    }
    let large = good.repeat(10_000_000 / good.len());
    let error = large.parse::<T>().unwrap_err();
    assert!(error.to_string().len() < 200, "the text is not in the error");
    for length in (0..good.len()).filter(|_| longest != 63) {
        assert!(good[..length].parse::<T>().is_err());
    }
    let longer = format!("{good}{}", &good[..1]).repeat(if longest == 63 { 3 } else { 1 });
    assert!(
        matches!(longer.parse::<T>(), Err(ReadError::Character { .. } | ReadError::Length { .. })),
        "{longer}"
    );
}

#[test]
fn look_alikes_other_lengths_and_ten_megabytes() {
    refuses::<Uuid>(UUID, 36);
    refuses::<Ulid>(ULID, 26);
    refuses::<ObjectId>(OBJECT_ID, 24);
    refuses::<Ksuid>(KSUID, 27);
    refuses::<NanoId>(NANO_ID, 63);
}

#[test]
fn other_ways_to_write_a_uuid() {
    for text in [
        "017f22e279b07cc398c4dc0c0c07398f",
        "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
        "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4dc0c0c07398f0",
        "017f22e2-79b0-7cc3-98c4--c0c0c07398f",
        "+17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    ] {
        assert!(text.parse::<Uuid>().is_err(), "{text}");
    }
}

#[test]
fn crockfords_aliases_and_hyphens_are_no_ulids() {
    for wrong in ["I", "i", "L", "l", "O", "o", "U", "u", "-"] {
        for at in 1..26 {
            let text = format!("{}{wrong}{}", &ULID[..at], &ULID[at + 1..]);
            assert!(
                matches!(text.parse::<Ulid>(), Err(ReadError::Character { at: found, .. }) if found == at)
            );
        }
    }
    assert!("01ARZ3NDEK-TSV4RRFFQ69G5FAV".parse::<Ulid>().is_err());
}

#[test]
fn a_ksuid_of_another_case_is_another_ksuid() {
    let one: Ksuid = KSUID.parse().unwrap();
    assert_ne!(Ok(one), KSUID.to_lowercase().parse());
}

#[test]
fn formats_of_nano_ids_that_cannot_be() {
    use NanoIdFormatError::{Character, Few, Length, Twice};
    for (alphabet, length, error) in [
        ("", 21, Few(0)),
        ("a", 21, Few(1)),
        ("aba", 21, Twice('a')),
        ("ab c", 21, Character { character: ' ', at: 2 }),
        ("abä", 21, Character { character: 'ä', at: 2 }),
        ("ab", 0, Length(0)),
        ("ab", 64, Length(64)),
        ("ab", 256, Length(256)),
        ("ab", 257, Length(257)),
        ("ab", usize::MAX, Length(usize::MAX)),
    ] {
        assert_eq!(NanoIdFormat::new(alphabet, length), Err(error));
    }
    let all: String = ('!'..='~').collect();
    assert_eq!(NanoIdFormat::new(&all, 63).unwrap().alphabet(), all);
}

#[test]
fn the_probability_of_a_collision() {
    let format = NanoIdFormat::default();
    // 2^(126 / 2) IDs: 1 - e^(-1/2).
    assert!((format.collision(1 << 63) - 0.393_469).abs() < 1e-5);
    assert!((1e-30..1e-20).contains(&format.collision(1_000_000)), "small ones are not 0");
    assert!(format.collision(0).abs() < f64::MIN_POSITIVE && format.collision(1).abs() < f64::MIN_POSITIVE);
    // 23 people and 365 days, as near as an alphabet comes to it: 19 * 19 = 361.
    let days = NanoIdFormat::new("0123456789abcdefghi", 2).unwrap();
    assert!((days.collision(23) - 0.504).abs() < 0.005);
}

proptest! {
    /// Every text that is read is written as it was, or in the case that is documented.
    #[test]
    fn what_is_read_is_what_is_written(text in prop_oneof!["[0-9a-fA-F-]{36}", "[0-9A-Za-z]{24,27}", "\\PC{0,40}", "[!-~]{1,64}"]) {
        if let Ok(id) = text.parse::<Uuid>() {
            prop_assert_eq!(id.to_string(), text.to_ascii_lowercase());
        }
        if let Ok(id) = text.parse::<Ulid>() {
            prop_assert_eq!(id.to_string(), text.to_ascii_uppercase());
        }
        if let Ok(id) = text.parse::<ObjectId>() {
            prop_assert_eq!(id.to_string(), text.to_ascii_lowercase());
        }
        if let Ok(id) = text.parse::<Ksuid>() {
            prop_assert_eq!(id.to_string(), text.as_str());
        }
        if let Ok(id) = text.parse::<NanoId>() {
            prop_assert_eq!(id.as_str(), text.as_str());
        }
    }
}
