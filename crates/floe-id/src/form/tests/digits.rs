//! Bases against the rules of those who thought of them, and against the crates `bs58` and `data-encoding`.

use data_encoding::Specification;
use proptest::prelude::*;

use super::*;

/// `src/test/data/base58_encode_decode.json` of <https://github.com/bitcoin/bitcoin>: those of up to 128 bits that do not
/// begin with a zero byte, which a number cannot.
const BASE58: &[(u128, &str)] = &[
    (0x61, "2g"),
    (0x62_6262, "a3gV"),
    (0x63_6363, "aPEr"),
    (0x51_6b6f_cd0f, "ABnLTmg"),
    (0xbf_4f89_001e_6702_74dd, "3SEo3LWLoPntC"),
    (0x572e_4794, "3EFU7m"),
    (0xecac_89ca_d939_23c0_2321, "EJDM8drfXA6uyA"),
    (0x10c8_511e, "Rt5zm"),
    (0x271f_359e, "zzzzy"),
    (0x271f_359f, "zzzzz"),
    (0x271f_35a0, "211111"),
    (0x271f_35a1, "211112"),
];

/// <https://www.crockford.com/base32.html>: the value of every symbol, what it is read from, and what is left out.
const CROCKFORD: &[(u128, char, &str)] = &[
    (0, '0', "0Oo"),
    (1, '1', "1IiLl"),
    (2, '2', "2"),
    (3, '3', "3"),
    (4, '4', "4"),
    (5, '5', "5"),
    (6, '6', "6"),
    (7, '7', "7"),
    (8, '8', "8"),
    (9, '9', "9"),
    (10, 'A', "Aa"),
    (11, 'B', "Bb"),
    (12, 'C', "Cc"),
    (13, 'D', "Dd"),
    (14, 'E', "Ee"),
    (15, 'F', "Ff"),
    (16, 'G', "Gg"),
    (17, 'H', "Hh"),
    (18, 'J', "Jj"),
    (19, 'K', "Kk"),
    (20, 'M', "Mm"),
    (21, 'N', "Nn"),
    (22, 'P', "Pp"),
    (23, 'Q', "Qq"),
    (24, 'R', "Rr"),
    (25, 'S', "Ss"),
    (26, 'T', "Tt"),
    (27, 'V', "Vv"),
    (28, 'W', "Ww"),
    (29, 'X', "Xx"),
    (30, 'Y', "Yy"),
    (31, 'Z', "Zz"),
];

#[test]
fn bitcoins_vectors() {
    let form = form("base58 bits=128");
    for (number, text) in BASE58 {
        assert_eq!(encode(&form, *number), *text);
    }
}

#[test]
fn crockfords_rules() {
    for (form, letters) in [
        (form("base32"), str::to_owned as fn(&str) -> String),
        (form("base32 lower"), |text| text.to_ascii_lowercase()),
    ] {
        for (value, symbol, read) in CROCKFORD {
            assert_eq!(encode(&form, *value), letters(&symbol.to_string()));
            for alias in read.chars() {
                assert_eq!(form.decode(&alias.to_string()), Ok(*value), "{form} {alias}");
            }
        }
        // U is left out, hyphens and check symbols are optional in the rules, and all else is foreign.
        let symbols: String = CROCKFORD.iter().map(|(_, _, read)| *read).collect();
        for byte in 0..=u8::MAX {
            let character = char::from(byte);
            if !symbols.contains(character) {
                let error = form.decode(&format!("1{character}"));
                assert_eq!(error, Err(FormError::Symbol { character, at: 1 }), "{form}");
            }
        }
    }
    assert_eq!(form("base32").decode("OI"), Err(FormError::LeadingZero { at: 0 }));
    assert_eq!(form("base32 width=13").decode("oOoOoOoOoOoIl"), Ok(33));
}

#[test]
fn each_form_has_every_symbol_in_its_place() {
    for (text, symbols) in [
        ("decimal", "0123456789"),
        ("hex", "0123456789abcdef"),
        ("hex upper", "0123456789ABCDEF"),
        ("base36", "0123456789abcdefghijklmnopqrstuvwxyz"),
        ("base36 upper", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        ("base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"),
        ("base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    ] {
        let form = form(text);
        for (value, symbol) in (0..).zip(symbols.chars()) {
            assert_eq!(encode(&form, value), symbol.to_string(), "{form}");
        }
        for byte in 0..=u8::MAX {
            let character = char::from(byte);
            if !symbols.contains(character) {
                // Of base58, which has both cases, some letters are left out.
                let other = text != "base58"
                    && symbols.contains(char::from(byte ^ 0x20))
                    && character.is_ascii_alphabetic();
                let error = match other {
                    true => FormError::Case { character, at: 2 },
                    false => FormError::Symbol { character, at: 2 },
                };
                assert_eq!(form.decode(&format!("22{character}2")), Err(error), "{form}");
            }
        }
    }
}

#[test]
fn the_smallest_and_the_largest_of_every_width_and_base() {
    for &radix in Radix::ALL {
        for bits in 1..=128 {
            let form = Form::digits(bits, Digits::new(radix)).unwrap();
            let most = encode(&form, largest(bits)).len();
            assert_eq!(form.max_bytes(), most, "{form}");
            encode(&form, 0);
            encode(&form, 1);
            if let Some(more) = largest(bits).checked_add(1) {
                encode(&Form::digits(128, Digits::new(radix)).unwrap(), more);
                let mut buffer = Buffer::new();
                assert_eq!(form.encode(more, &mut buffer), Err(FormError::DoesNotFit { number: more, bits }));
            }
            let width = u8::try_from(most).unwrap();
            assert!(Form::digits(bits, Digits::new(radix).width(width)).is_ok());
            assert!(Form::digits(bits, Digits::new(radix).width(width - 1)).is_err());
        }
    }
    assert!(Form::digits(0, Digits::new(Radix::Hex)).is_err());
    assert!(Form::digits(129, Digits::new(Radix::Hex)).is_err());
}

#[test]
fn the_powers_of_every_base_and_their_neighbours() {
    for (radix, base) in Radix::ALL.iter().copied().zip([10_u128, 16, 32, 36, 58, 62]) {
        let form = Form::digits(128, Digits::new(radix)).unwrap();
        let powers = core::iter::successors(Some(1_u128), |power| power.checked_mul(base));
        for (exponent, power) in powers.enumerate() {
            assert_eq!(encode(&form, power).len(), exponent + 1, "{form} {power}");
            assert_eq!(encode(&form, power - 1).len(), exponent.max(1), "{form} {power}");
            encode(&form, power + 1);
        }
    }
}

#[test]
fn widths_and_padding() {
    assert_eq!(encode(&form("decimal pad=6"), 42), "000042");
    assert_eq!(encode(&form("decimal pad=6"), 1_234_567), "1234567");
    assert_eq!(form("decimal pad=6").decode("0123456"), Err(FormError::LeadingZero { at: 0 }));
    assert_eq!(
        form("decimal pad=6").decode("12345"),
        Err(FormError::Length { bytes: 5, least: 6, most: 19 })
    );
    assert_eq!(encode(&form("hex bits=64 width=128"), 255), format!("{:0>128}", "ff"));
    assert_eq!(encode(&form("base58 width=11 prefix=a_"), 0), "a_11111111111");
    assert_eq!(form("decimal").decode("00"), Err(FormError::LeadingZero { at: 0 }));
    assert_eq!(form("decimal prefix=x").decode("x007"), Err(FormError::LeadingZero { at: 1 }));
}

fn texts(radix: Radix, digits: fn(Digits) -> Digits) -> Form {
    Form::digits(128, digits(Digits::new(radix))).unwrap()
}

proptest! {
    #[test]
    fn every_form_reads_back_and_keeps_the_order(a: u128, b: u128, shift in 0_u32..128) {
        let (a, b) = (a >> shift, b >> shift);
        for &radix in Radix::ALL {
            let shortest = texts(radix, |digits| digits);
            encode(&shortest, a);
            let fixed = texts(radix, |digits| digits.width(40));
            prop_assert_eq!(encode(&fixed, a).cmp(&encode(&fixed, b)), a.cmp(&b));
        }
    }

    #[test]
    fn as_the_standard_library_writes(number: u128, shift in 0_u32..128) {
        let number = number >> shift;
        prop_assert_eq!(encode(&form("decimal bits=128"), number), number.to_string());
        prop_assert_eq!(encode(&form("hex bits=128"), number), format!("{number:x}"));
        prop_assert_eq!(encode(&form("hex upper width=32 bits=128"), number), format!("{number:032X}"));
    }

    #[test]
    fn as_bs58_writes(number: u128, shift in 0_u32..128) {
        let number = number >> shift;
        let bytes = number.to_be_bytes();
        let bytes: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
        if number > 0 {
            prop_assert_eq!(encode(&form("base58 bits=128"), number), bs58::encode(bytes).into_string());
        }
    }

    /// 128 bits behind two zero bits are 26 symbols, as TypeID and ULID have them; `data-encoding` fills up behind.
    #[test]
    fn as_data_encoding_writes_base32(number: u128) {
        let mut specification = Specification::new();
        specification.symbols.push_str("0123456789ABCDEFGHJKMNPQRSTVWXYZ");
        let mut bytes = [0; 20];
        bytes[4..].copy_from_slice(&number.to_be_bytes());
        let wanted = specification.encoding().unwrap().encode(&bytes);
        prop_assert_eq!(encode(&form("base32 bits=128 width=26"), number), &wanted[6..]);
    }
}
