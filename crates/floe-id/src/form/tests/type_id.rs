//! TypeID 0.3.0 against the lists of its specification: `spec/valid.json` and `spec/invalid.json` of
//! <https://github.com/jetify-com/typeid>; and against the crate `typeid_suffix`.

use proptest::prelude::*;
use typeid_suffix::prelude::TypeIdSuffix;

use super::*;

/// Name, TypeID, prefix, UUID.
const VALID: &[(&str, &str, &str, u128)] = &[
    ("nil", "00000000000000000000000000", "", 0),
    ("one", "00000000000000000000000001", "", 1),
    ("ten", "0000000000000000000000000a", "", 0xa),
    ("sixteen", "0000000000000000000000000g", "", 0x10),
    ("thirty-two", "00000000000000000000000010", "", 0x20),
    ("max-valid", "7zzzzzzzzzzzzzzzzzzzzzzzzz", "", u128::MAX),
    ("valid-alphabet", "prefix_0123456789abcdefghjkmnpqrs", "prefix", 0x0110c853_1d09_52d8_d73e_1194e95b5f19),
    ("valid-uuidv7", "prefix_01h455vb4pex5vsknk084sn02q", "prefix", 0x01890a5d_ac96_774b_bcce_b302099a8057),
    ("prefix-underscore", "pre_fix_00000000000000000000000000", "pre_fix", 0),
];

/// Name, text, and the error that floe gives.
const INVALID: &[(&str, &str, FormError)] = &[
    ("prefix-uppercase", "PREFIX_00000000000000000000000000", symbol('P', 0)),
    ("prefix-numeric", "12345_00000000000000000000000000", symbol('1', 0)),
    ("prefix-period", "pre.fix_00000000000000000000000000", symbol('.', 3)),
    ("prefix-non-ascii", "préfix_00000000000000000000000000", symbol('é', 2)),
    ("prefix-spaces", "  prefix_00000000000000000000000000", symbol(' ', 0)),
    (
        "prefix-64-chars",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl_00000000000000000000000000",
        FormError::Length { bytes: 91, least: 26, most: 90 },
    ),
    ("separator-empty-prefix", "_00000000000000000000000000", symbol('_', 0)),
    ("separator-empty", "_", FormError::Length { bytes: 1, least: 26, most: 90 }),
    ("suffix-short", "prefix_1234567890123456789012345", symbol('p', 0)),
    ("suffix-long", "prefix_123456789012345678901234567", symbol('p', 0)),
    ("suffix-spaces", "prefix_1234567890123456789012345 ", symbol(' ', 32)),
    ("suffix-uppercase", "prefix_0123456789ABCDEFGHJKMNPQRS", FormError::Case { character: 'A', at: 17 }),
    ("suffix-hyphens", "prefix_123456789-123456789-123456", symbol('-', 16)),
    ("suffix-wrong-alphabet", "prefix_ooooooiiiiiiuuuuuuulllllll", symbol('o', 7)),
    ("suffix-ambiguous-crockford", "prefix_i23456789ol23456789oi23456", symbol('i', 7)),
    ("suffix-hyphens-crockford", "prefix_123456789-0123456789-0123456", symbol('p', 0)),
    ("suffix-overflow", "prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz", FormError::TooLarge { bits: 128 }),
    ("prefix-underscore-start", "_prefix_00000000000000000000000000", symbol('_', 0)),
    ("prefix-underscore-end", "prefix__00000000000000000000000000", symbol('_', 6)),
];

const fn symbol(character: char, at: usize) -> FormError {
    FormError::Symbol { character, at }
}

#[test]
fn the_valid_list() {
    for (name, text, kind, uuid) in VALID {
        assert_eq!(read_type_id(text), Ok((*kind, *uuid)), "{name}");
        assert_eq!(encode(&Form::type_id(128, kind).unwrap(), *uuid), *text, "{name}");
    }
}

#[test]
fn the_invalid_list() {
    for (name, text, error) in INVALID {
        assert_eq!(read_type_id(text).as_ref(), Err(error), "{name}");
        // And as a TypeID of one type, whatever that is.
        let kind = text.rsplit_once('_').map_or("", |(kind, _)| kind);
        assert!(Form::type_id(128, kind).is_err_and(|_| true) || form_refuses(kind, text), "{name}");
    }
}

fn form_refuses(kind: &str, text: &str) -> bool {
    Form::type_id(128, kind).unwrap().decode(text).is_err()
}

#[test]
fn a_form_is_for_one_type() {
    let form = form("typeid type=user");
    let error = form.decode("usex_01h455vb4pex5vsknk084sn02q");
    assert_eq!(error, Err(FormError::Prefix { at: 3, prefix: "user_".to_owned() }));
    let error = form.decode("user_01h455vb4pex5vsknk084sn02Q");
    assert_eq!(error, Err(FormError::Case { character: 'Q', at: 30 }));
    let narrow = Form::type_id(63, "user").unwrap();
    assert_eq!(encode(&narrow, (1 << 63) - 1), "user_00000000000007zzzzzzzzzzzz");
    assert_eq!(narrow.decode("user_00000000000008000000000000"), Err(FormError::TooLarge { bits: 63 }));
    let mut buffer = Buffer::new();
    let error = narrow.encode(1_u64 << 63, &mut buffer);
    assert_eq!(error, Err(FormError::DoesNotFit { number: 1 << 63, bits: 63 }));
}

#[test]
fn a_type_has_at_most_63_symbols() {
    let of = |symbols| Form::type_id(128, &"a".repeat(symbols)).map_err(|error| error.to_string());
    assert!(of(63).is_ok());
    assert!(of(64).is_err_and(|error| error.contains("it has at most 63 of a-z and _")));
}

#[test]
fn a_separator_alone_is_no_type() {
    // The text is long enough for the symbols, and a character of more than one byte stands where they begin.
    let text = "aé0000000000000000000000000";
    assert_eq!(read_type_id(text), Err(symbol('é', 1)));
    assert_eq!(read_type_id(""), Err(FormError::Empty));
    assert!(Form::type_id(128, "_").is_err() && Form::type_id(128, "a_").is_err());
}

proptest! {
    #[test]
    fn as_typeid_suffix_writes(number: u128, shift in 0_u32..128, kind in "([a-z]([a-z_]{0,61}[a-z])?)?") {
        let number = number >> shift;
        let text = encode(&Form::type_id(128, &kind).unwrap(), number);
        prop_assert_eq!(read_type_id(&text), Ok((kind.as_str(), number)));
        let suffix = text.rsplit_once('_').map_or(text.as_str(), |(_, suffix)| suffix);
        prop_assert_eq!(suffix, TypeIdSuffix::from(uuid::Uuid::from_u128(number)).to_string());
    }
}
