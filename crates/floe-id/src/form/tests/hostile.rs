//! Texts that nobody should send: nothing panics, nothing is read as another number, and the error says where and why.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// One of each, with what differs in how it reads.
const FORMS: &[&str] = &[
    "decimal",
    "decimal bits=1",
    "decimal bits=128 pad=9",
    "hex upper width=16",
    "base32",
    "base32 lower width=13 prefix=ord_",
    "base36 bits=53",
    "base58 bits=64 width=11",
    "base62 bits=128 pad=5 prefix=%25",
    "typeid",
    "typeid type=user",
    "uuid8",
    "uuid8 bits=122 prefix=u_",
    "sealed key=1 bits=120 keyid=2bits uuid8",
    "hashids",
    "hashids salt=pepper min=12 alphabet=cCsSfFhHuUiItT01",
    "sqids min=6 prefix=s-",
    "sqids alphabet=abcdef bits=40",
    "sealed key=1 base62",
    "sealed key=2 bits=60 keyid=2bits hashids salt=pepper",
    "sealed key=1 keyid=prefix sqids",
    "sealed key=1 bits=53 keyid=2bits base58 width=10",
    "sealed key=1 bits=64 keyid=prefix decimal prefix=a",
    "sealed key=3 bits=120 keyid=3bits typeid type=x",
];

fn forms() -> impl Iterator<Item = &'static Form> {
    static MADE: LazyLock<Vec<Form>> =
        LazyLock::new(|| FORMS.iter().map(|text| form(text).with_keys(&keys()).unwrap()).collect());
    MADE.iter()
}

#[test]
fn a_uuid_of_another_version_variant_or_case_is_none_of_form_uuid8() {
    let uuid8 = form("uuid8");
    for (text, error) in [
        ("00000000-0000-7000-90d2-3cd60c048000", FormError::Symbol { character: '7', at: 14 }),
        ("00000000-0000-8000-c0d2-3cd60c048000", FormError::Symbol { character: 'c', at: 19 }),
        ("00000000-0000-8000-90D2-3cd60c048000", FormError::NotCanonical { at: 21 }),
        ("00000000-0000-8000-90d2_3cd60c048000", FormError::Symbol { character: '_', at: 23 }),
        ("10000000-0000-8000-90d2-3cd60c048000", FormError::TooLarge { bits: 63 }),
        ("0000000000008000", FormError::Length { bytes: 16, least: 36, most: 36 }),
    ] {
        assert_eq!(uuid8.decode(text), Err(error), "{text}");
    }
}

#[test]
fn an_empty_text_and_a_huge_one() {
    let huge = "0".repeat(10 << 20);
    for form in forms() {
        assert_eq!(form.decode(""), Err(FormError::Empty), "{form}");
        let error = form.decode(&huge);
        assert!(
            match &error {
                Err(FormError::Length { bytes, .. }) => *bytes == huge.len(),
                // It says more, and is found as fast.
                Err(FormError::Prefix { at: 0, .. }) => true,
                _ => false,
            },
            "{form}: {error:?}"
        );
    }
}

#[test]
fn look_alikes_are_foreign() {
    // A Cyrillic letter, a full-width digit, an Arabic digit, the Kelvin sign, a space of no width.
    for (text, character, at) in [
        ("4а2", 'а', 1),
        ("４2", '４', 0),
        ("1٣", '٣', 1),
        ("2\u{212a}", '\u{212a}', 1),
        ("2\u{200b}2", '\u{200b}', 1),
    ] {
        for form in ["decimal", "hex", "base32", "base36", "base58", "base62"].map(form) {
            assert_eq!(form.decode(text), Err(FormError::Symbol { character, at }), "{form}");
        }
    }
}

#[test]
fn the_first_number_past_the_bits_is_refused_in_every_form() {
    for name in ["decimal", "hex", "base32", "base36", "base58", "base62", "hashids", "sqids"] {
        for bits in [8, 20, 62] {
            let text = encode(&form(&format!("{name} bits=64")), 1 << bits);
            match form(&format!("{name} bits={bits}")).decode(&text) {
                Err(FormError::TooLarge { bits: found }) if found == bits => {}
                // It needs a digit more.
                Err(FormError::Length { .. }) if ["hex", "base32"].contains(&name) => {}
                other => panic!("{name} of {bits} bits reads {text} as {other:?}"),
            }
        }
    }
}

#[test]
fn overflow_is_refused_in_every_base() {
    for (text, over) in [
        ("decimal", "9223372036854775808"),
        ("hex", "8000000000000000"),
        ("base32", "8000000000000"),
        ("base32 width=13", "ZZZZZZZZZZZZZ"),
        ("base36", "1y2p0ij32e8e8"),
        ("base58", "NQm6nKp8qFD"),
        ("base62", "AzL8n0Y58m8"),
        ("base62 width=11", "zzzzzzzzzzz"),
    ] {
        assert_eq!(form(text).decode(over), Err(FormError::TooLarge { bits: 63 }), "{text}");
    }
    let widest = form("base62 bits=128");
    assert_eq!(widest.decode("7n42DGM5Tflk9n8mt7Fhc8"), Err(FormError::TooLarge { bits: 128 }));
    assert_eq!(widest.decode("zzzzzzzzzzzzzzzzzzzzzz"), Err(FormError::TooLarge { bits: 128 }));
}

/// What a form reads has to be the number for which it writes that text, but for Crockford's aliases and other keys.
fn check(form: &Form, text: &str) {
    let Ok(number) = form.decode(text) else { return };
    let mut buffer = Buffer::new();
    let written = form.encode(number, &mut buffer).unwrap();
    if written == text {
        return;
    }
    let usual = |text: &str| text.to_uppercase().replace('O', "0").replace(['I', 'L'], "1");
    let aliases = form.to_string().contains("base32") && usual(written) == usual(text);
    let other_key = form.to_string().contains("keyid");
    assert!(aliases || other_key, "{form} reads {text} and writes {written}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text(text in "\\PC{0,40}") {
        forms().for_each(|form| check(form, &text));
    }

    #[test]
    fn any_text_of_symbols(text in "(user_|ord_|a|[0-3]-)?[0-9A-Za-z]{1,26}") {
        forms().for_each(|form| check(form, &text));
    }

    /// A text of the form with one character that is another.
    #[test]
    fn one_wrong_character(number: u128, at: prop::sample::Index, character: char) {
        for form in forms() {
            let mut buffer = Buffer::new();
            let text = form.encode(number >> (128 - form.bits()), &mut buffer).unwrap();
            let at = at.index(text.len());
            let changed: String =
                text.char_indices().map(|(index, have)| if index == at { character } else { have }).collect();
            check(form, &changed);
        }
    }
}
