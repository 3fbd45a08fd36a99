//! The text of a form, and what cannot be one.

use proptest::prelude::*;

use super::*;

#[test]
fn one_spelling_is_written() {
    for (read, written) in [
        ("decimal", "decimal"),
        ("decimal bits=63", "decimal"),
        ("hex lower", "hex"),
        ("base32 upper", "base32"),
        ("base36 lower", "base36"),
        ("  base62\tprefix=a  width=11 bits=64 ", "base62 bits=64 width=11 prefix=a"),
        ("base36 upper pad=3", "base36 upper pad=3"),
        ("base58 prefix=100%25%2c", "base58 prefix=100%25%2C"),
        ("typeid", "typeid"),
        ("uuid8 bits=63", "uuid8"),
        ("uuid8 prefix=x bits=122", "uuid8 bits=122 prefix=x"),
        ("typeid bits=128 type=user", "typeid type=user"),
        ("typeid type=user bits=63", "typeid bits=63 type=user"),
        ("sealed key=7 base62 width=11", "sealed key=7 base62 width=11"),
        ("sealed bits=53 keyid=2bits key=3 hex prefix=x", "sealed key=3 bits=53 keyid=2bits hex prefix=x"),
        ("sealed key=7 keyid=prefix base62 prefix=ord_", "sealed key=7 keyid=prefix base62 prefix=ord_"),
        (
            "sealed key=1 bits=126 keyid=2bits typeid type=a",
            "sealed key=1 bits=126 keyid=2bits typeid type=a",
        ),
    ] {
        assert_eq!(form(read).to_string(), written);
        assert_eq!(form(written).to_string(), written);
        assert_eq!(form(read), form(written));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (text, error) in [
        ("", "unknown form \"\""),
        ("base64", "unknown form \"base64\""),
        ("Decimal", "unknown form \"Decimal\""),
        ("decimal upper", "cannot have \"upper\""),
        ("base62 lower", "cannot have \"lower\""),
        ("hex upper lower", "cannot have \"lower\""),
        ("decimal width=19 pad=3", "cannot have \"pad\""),
        ("decimal width=19 width=20", "cannot have \"width=20\""),
        ("decimal width=18", "up to 19 digits of decimal: give it a width of 19"),
        ("decimal width=0", "0 digits are outside 1..=128"),
        ("decimal pad=129", "129 digits are outside 1..=128"),
        ("decimal pad=256", "cannot have \"pad=256\""),
        ("decimal width=019", "cannot have \"width=019\""),
        ("decimal width=+19", "cannot have \"width=+19\""),
        ("decimal bits=0", "0 bits are outside 1..=128"),
        ("decimal bits=129", "129 bits are outside 1..=128"),
        ("decimal colour=red", "cannot have \"colour=red\""),
        ("decimal prefix=%zz", "cannot have \"%zz\""),
        ("decimal prefix=%4", "cannot have \"%4\""),
        ("decimal prefix=%20", "without white space"),
        ("decimal prefix=%C3%A9", "characters of ASCII"),
        ("decimal prefix=%FF", "cannot have \"%FF\""),
        ("typeid type=User", "not the type of a TypeID"),
        ("typeid type=_a", "not the type of a TypeID"),
        ("typeid prefix=a", "cannot have \"prefix=a\""),
        ("typeid type=a width=26", "cannot have \"width=26\""),
        ("uuid8 bits=123", "123 bits are outside 1..=122"),
        ("uuid8 width=36", "cannot have \"width=36\""),
        ("sealed", "say in which form"),
        ("sealed key=1", "say in which form"),
        ("sealed base62", "say the id of the key"),
        ("sealed key=65536 base62", "cannot have \"key=65536\""),
        ("sealed key=1 bits=1 base62", "1 bits are outside 2..=128"),
        ("sealed key=4 keyid=2bits base62", "the key id 4 does not fit 2 bits"),
        ("sealed key=1 keyid=0bits base62", "0 bits of key id are outside 1..=16"),
        ("sealed key=1 keyid=17bits base62", "17 bits of key id are outside 1..=16"),
        ("sealed key=1 keyid=suffix base62", "cannot have \"keyid=suffix\""),
        ("sealed key=1 base62 bits=63", "cannot have \"bits=63\""),
        ("sealed key=1 bits=127 keyid=2bits base62", "129 bits are outside 1..=128"),
        ("sealed key=1 keyid=2bits base62 width=10", "numbers of 65 bits need up to 11 digits"),
        ("sealed key=1 sealed key=2 base62", "unknown form \"sealed\""),
        ("sealed key=1 bits=128 keyid=prefix typeid", "a TypeID has no room"),
    ] {
        let found = text.parse::<Form>().expect_err(text).to_string();
        assert!(found.contains(error), "{text}: {found}");
    }
}

#[test]
fn bits_from_outside_are_for_a_text_that_does_not_say_its_own() {
    for (text, bits, written) in [
        ("base62", 128, "base62 bits=128"),
        (" base62 width=22\t", 128, "base62 bits=128 width=22"),
        ("base62 bits=53", 128, "base62 bits=53"),
        ("decimal", 63, "decimal"),
        ("typeid type=user", 63, "typeid bits=63 type=user"),
        ("sealed key=1 base62", 95, "sealed key=1 bits=95 base62"),
        ("sealed key=1 keyid=2bits base62", 95, "sealed key=1 bits=95 keyid=2bits base62"),
    ] {
        assert_eq!(Form::of_bits(text, bits).map(|form| form.to_string()), Ok(written.to_owned()), "{text}");
    }
    assert!(Form::of_bits(" ", 63).is_err());
    assert!(Form::of_bits("uuid8", 128).is_err());
}

/// Somebody may have put the key itself where its id belongs.
#[test]
fn a_long_number_is_not_repeated_in_the_error() {
    let key = "000102030405060708090a0b0c0d0e0f";
    let error = format!("sealed key={key} base62").parse::<Form>().unwrap_err().to_string();
    assert!(error.contains("\"key=…\"") && !error.contains(&key[..8]), "{error}");
}

#[test]
fn a_text_has_at_most_64_kib() {
    let list = |bytes: usize| format!("sqids blocklist={}", "x".repeat(bytes - "sqids blocklist=".len()));
    assert!(list(1 << 16).parse::<Form>().is_ok());
    let error = list((1 << 16) + 1).parse::<Form>().unwrap_err().to_string();
    assert!(error.contains("at most 65536 bytes, and this one has 65537"), "{error}");
}

#[test]
fn an_id_that_the_type_cannot_hold_is_not_cut() {
    let wide = form("decimal bits=128");
    assert_eq!(wide.read_id::<crate::Id>("9223372036854775807"), Ok(crate::Id::MAX));
    let error = wide.read_id::<crate::Id>("9223372036854775808");
    assert_eq!(error, Err(FormError::NoId { number: 1 << 63 }));
}

#[test]
fn a_prefix_has_64_bytes_and_a_typeid_none_of_its_own() {
    assert!(form("decimal").with_prefix(&"x".repeat(64)).is_ok());
    assert!(form("decimal").with_prefix(&"x".repeat(65)).is_err());
    assert!(form("typeid type=a").with_prefix("x").is_err());
    assert!(form("sealed key=1 typeid type=a").with_prefix("x").is_err());
    assert_eq!(encode(&form("decimal prefix=x").with_prefix("").unwrap(), 1), "1");
}

#[test]
fn the_longest_texts_fit_the_buffer() {
    for inner in ["hashids bits=64 min=255", "sqids bits=64 min=255", "hex bits=64 pad=128"] {
        let inner = form(inner).with_prefix(&"x".repeat(64)).unwrap();
        let sealed = Form::sealed(64, KeyId::new(u16::MAX), KeyPlace::Prefix, inner).unwrap();
        assert!(sealed.max_bytes() <= Buffer::BYTES, "{sealed}");
        let keys = Keys::new().with(KeyId::new(u16::MAX), Key::from([1; 16])).unwrap();
        assert_eq!(encode(&sealed.with_keys(&keys).unwrap(), 7).len(), sealed.max_bytes());
    }
}

#[test]
fn the_page_names_the_length_of_a_column() {
    let page = include_str!("../../../../../docs/kinds.md").replace('\n', " ");
    for (forms, sentence) in [
        (&["hex"][..], "16 as `hex`"),
        (&["base32", "base36"], "13 as `base32` or `base36`"),
        (&["base58", "base62"], "11 as `base58` or `base62`"),
    ] {
        let length = sentence.split(' ').next().unwrap();
        assert!(page.contains(sentence), "{sentence}");
        assert!(forms.iter().all(|text| form(text).max_bytes().to_string() == length), "{sentence}");
    }
}

proptest! {
    #[test]
    fn any_prefix_survives_the_text(prefix in "[!-~]{0,64}") {
        let made = form("base62").with_prefix(&prefix).unwrap();
        prop_assert_eq!(form(&made.to_string()).to_string(), made.to_string());
        prop_assert_eq!(encode(&made, 61), prefix + "z");
    }

    #[test]
    fn what_is_read_is_written_so_that_it_reads_the_same(text in "(decimal|base62|typeid|sealed key=1|hex)( [a-z]{0,6}=?[0-9a-z%]{0,4}){0,3}( base62)?") {
        if let Ok(form) = text.parse::<Form>() {
            prop_assert_eq!(form.to_string().parse::<Form>().map(|form| form.to_string()), Ok(form.to_string()));
        }
    }
}
