//! Sealed numbers: the cipher against its published vector and a library, tiny widths completely, avalanche, keys.

use proptest::prelude::*;
use speck_cipher::Speck64_128;
use speck_cipher::cipher::{BlockCipherEncrypt, KeyInit};

use super::super::permutation::{Permutation, Speck64};
use super::*;

/// "The Simon and Speck Families of Lightweight Block Ciphers", appendix C, Speck64/128: key words 1b1a1918 13121110
/// 0b0a0908 03020100.
#[test]
fn the_published_vector_of_speck() {
    let cipher = Speck64::new(0x1b1a1918_13121110_0b0a0908_03020100_u128.to_be_bytes());
    assert_eq!(cipher.seal(0x3b726574_7475432d), 0x8c6fa548_454e028b);
    assert_eq!(cipher.open(0x8c6fa548_454e028b), 0x3b726574_7475432d);
}

/// Some keys, the all-zero and all-one ones among them.
fn some_keys() -> Vec<[u8; 16]> {
    let mut keys = vec![[0; 16], [0xff; 16], *b"sixteen bytes ok"];
    keys.extend(
        (1..=5_u128).map(|count| count.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes()),
    );
    keys
}

#[test]
fn tiny_widths_are_permuted_completely() {
    for bits in 2..=16 {
        for key in some_keys() {
            let permutation = Permutation::new(bits, key);
            let mut seen = vec![false; 1 << bits];
            for number in 0..1_u128 << bits {
                let sealed = permutation.seal(number);
                let slot = seen.get_mut(usize::try_from(sealed).unwrap()).expect("it has the width");
                assert!(!core::mem::replace(slot, true), "{sealed} of {bits} bits stands for two numbers");
                assert_eq!(permutation.open(sealed), number);
            }
        }
    }
}

/// Of all bits of all numbers, the share that differ when one bit of the number does, and the least and the most that any
/// bit of the result differs for any bit of the number.
fn avalanche(bits: u32, key: [u8; 16], samples: u128) -> (f64, f64, f64) {
    let permutation = Permutation::new(bits, key);
    let mut flips = vec![0_u32; (bits * bits) as usize];
    for sample in 0..samples {
        // Half of the samples are small numbers one after the other, as IDs are.
        let number = if sample % 2 == 0 {
            sample
        } else {
            sample.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        };
        let number = number & largest(bits);
        let sealed = permutation.seal(number);
        for input in 0..bits {
            let changed = sealed ^ permutation.seal(number ^ 1 << input);
            for output in 0..bits {
                flips[(input * bits + output) as usize] += u32::from(changed >> output & 1 == 1);
            }
        }
    }
    let shares = flips.iter().map(|count| f64::from(*count) / samples as f64);
    let mean = shares.clone().sum::<f64>() / f64::from(bits * bits);
    (mean, shares.clone().fold(1.0, f64::min), shares.fold(0.0, f64::max))
}

/// Of 8,192 fair flips, the share lies within 7 standard deviations, 0.039, of a half.
#[test]
fn one_bit_changes_half_of_all_bits() {
    for bits in [32, 53, 63, 64, 65, 128] {
        for key in some_keys().into_iter().take(3) {
            let (mean, least, most) = avalanche(bits, key, 8192);
            println!(
                "{bits} bits: {mean:.4} of the bits change, each in {least:.3} to {most:.3} of the cases"
            );
            assert!((mean - 0.5).abs() < 0.002, "{bits} bits: {mean}");
            assert!(least > 0.46 && most < 0.54, "{bits} bits: {least:.3} to {most:.3}");
        }
    }
}

#[test]
fn numbers_in_a_row_are_not_in_a_row() {
    let form = form("sealed key=1 base62 width=11").with_keys(&keys()).unwrap();
    let texts: Vec<String> = (1_000_000_u128..1_001_000).map(|number| encode(&form, number)).collect();
    let rising = texts.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!((440..560).contains(&rising), "{rising} of 999 steps go up");
}

#[test]
fn a_form_without_its_keys_writes_and_reads_nothing() {
    let form = form("sealed key=9 base62");
    let mut buffer = Buffer::new();
    assert_eq!(form.encode(1_u64, &mut buffer), Err(FormError::UnknownKey(KeyId::new(9))));
    assert_eq!(form.decode("1"), Err(FormError::UnknownKey(KeyId::new(9))));
    let error = form.with_keys(&keys()).unwrap_err();
    assert_eq!(error, FormDefinitionError::MissingKey(KeyId::new(9)));
    assert!(error.to_string().contains("the key 9 is missing"));
}

#[test]
fn rotation_in_bits_and_in_front() {
    for (text, one, three) in [
        ("sealed key=1 keyid=2bits hex width=17", "", ""),
        ("sealed key=1 keyid=prefix hex prefix=o_", "o_1-", "o_3-"),
    ] {
        let (old, new) = (form(text), form(&text.replace("key=1", "key=3")));
        let (old, new) = (old.with_keys(&keys()).unwrap(), new.with_keys(&keys()).unwrap());
        for number in 0..1000 {
            let (before, after) = (encode(&old, number), encode(&new, number));
            assert_ne!(before, after, "{text}");
            assert!(before.starts_with(one) && after.starts_with(three), "{before} {after}");
            assert_eq!(new.decode(&before), Ok(number));
            assert_eq!(old.decode(&after), Ok(number));
        }
        let alone = keys_without_three();
        let error = old.with_keys(&alone).unwrap().decode(&encode(&new, 5));
        assert_eq!(error, Err(FormError::UnknownKey(KeyId::new(3))), "{text}");
    }
}

fn keys_without_three() -> Keys {
    Keys::new().with(KeyId::new(1), Key::from([0x22; 16])).unwrap()
}

#[test]
fn a_key_in_front_has_one_spelling() {
    let form = form("sealed key=1 keyid=prefix hex prefix=o_").with_keys(&keys()).unwrap();
    let text = encode(&form, 77);
    let rest = text.strip_prefix("o_1-").unwrap();
    assert_eq!(form.decode(&format!("o_01-{rest}")), Err(FormError::LeadingZero { at: 2 }));
    assert_eq!(form.decode(&format!("o_9-{rest}")), Err(FormError::UnknownKey(KeyId::new(9))));
    assert_eq!(form.decode(&format!("o_65536-{}", &rest[1..])), Err(FormError::TooLarge { bits: 16 }));
    assert_eq!(form.decode(&format!("o_-{rest}")), Err(FormError::NoKey { at: 2 }));
    assert_eq!(form.decode("o_12345678"), Err(FormError::NoKey { at: 2 }));
    assert_eq!(form.decode("o_１-5"), Err(FormError::NoKey { at: 2 }));
    assert_eq!(form.decode("o_1-xyz"), Err(FormError::Symbol { character: 'x', at: 4 }));
}

#[test]
fn keys_are_read_and_never_shown() {
    let key: Key = "000102030405060708090a0b0c0d0e0f".parse().unwrap();
    assert_eq!(format!("{key:?}"), "Key(…)");
    let keys = Keys::new().with(KeyId::new(1), key.clone()).unwrap();
    assert!(keys.clone().with(KeyId::new(1), key).is_err());
    assert_eq!(format!("{keys:?}"), "Keys({KeyId(1): Key(…)})");
    let form = form("sealed key=1 base62").with_keys(&keys).unwrap();
    // Its check value is: E(2^64 - 1) of Speck64/128 begins so.
    assert_eq!(format!("{form:?}"), "Form(\"sealed key=1 check=e12e69 base62\")");
    for wrong in ["", "0001", "000102030405060708090a0b0c0d0e0g", "+00102030405060708090a0b0c0d0e0f"] {
        assert!(wrong.parse::<Key>().is_err(), "{wrong}");
    }
}

/// With another key under the same id, every text would open as another number.
#[test]
fn another_key_than_the_one_that_a_form_had_is_refused() {
    let had = form("sealed key=1 base62").with_keys(&keys()).unwrap();
    let stored: Form = had.to_string().parse().unwrap();
    let other = Keys::new().with(KeyId::new(1), Key::from([0x99; 16])).unwrap();
    for form in [&had, &stored] {
        assert_eq!(form.with_keys(&other).unwrap_err(), FormDefinitionError::AnotherKey(KeyId::new(1)));
        assert_eq!(encode(&form.with_keys(&keys()).unwrap(), 42), encode(&had, 42));
    }
    for place in ["keyid=2bits", "keyid=prefix"] {
        let error =
            format!("sealed key=1 check=1a2b3c {place} base62").parse::<Form>().unwrap_err().to_string();
        assert!(error.contains("a check value is for the one key"), "{error}");
    }
}

#[test]
fn a_form_says_which_keys_it_seals_and_opens_with() {
    let ids = |form: &Form| form.key_checks().iter().map(|(id, _)| *id).collect::<Vec<_>>();
    for place in ["keyid=2bits", "keyid=prefix"] {
        let bare = form(&format!("sealed key=2 {place} base62"));
        assert_eq!((bare.can_encode(), ids(&bare)), (false, vec![]));
        let with = bare.with_keys(&keys()).unwrap();
        assert_eq!((with.can_encode(), with.sealing_key()), (true, Some(KeyId::new(2))));
        assert_eq!(ids(&with), [0, 1, 2, 3].map(KeyId::new));
        assert_eq!(with.to_string(), bare.to_string(), "no check value is part of its text");
        assert_eq!(format!("{with:#}"), format!("sealed {place} base62"), "the key that seals may change");
        // Each check value is the one that a form with this key for ever has in its text.
        for (id, check) in with.key_checks() {
            let alone = form(&format!("sealed key={id} base62")).with_keys(&keys()).unwrap();
            assert_eq!(alone.to_string(), format!("sealed key={id} check={check} base62"));
            assert_eq!(format!("{alone:#}"), alone.to_string(), "its one key may not change");
            assert_eq!(ids(&alone), []);
        }

        let opens = form(&format!("sealed {place} base62")).with_keys(&keys()).unwrap();
        assert_eq!((opens.can_encode(), opens.sealing_key()), (false, None));
        assert_eq!(opens.encode(1_u64, &mut Buffer::new()), Err(FormError::NoKeyToSeal));
        assert_eq!(opens.decode(&encode(&with, 42)), Ok(42));
    }
    assert!(form("base62").can_encode());
}

/// A definition is stored as it is written: two spellings of one check value would be two definitions of one name, and
/// one of more than 24 bits would be that of no key.
#[test]
fn a_check_value_has_one_spelling() {
    let check: KeyCheck = "0e12e6".parse().unwrap();
    assert_eq!(check.to_string(), "0e12e6");
    for other in ["0E12E6", "e12e6", "00e12e6", "+e12e6", "10e12e6", "", " 0e12e6"] {
        assert!(other.parse::<KeyCheck>().is_err(), "{other}");
        assert!(format!("sealed key=1 check={other} base62").parse::<Form>().is_err(), "{other}");
    }
}

/// Bits, and what the key 00 01 … 0f makes of 0, of 1, and of the largest number.
const SEALED: [(u32, [&str; 3]); 6] = [
    (2, ["0", "2", "1"]),
    (53, ["d7cb7ebfd755a", "17e6298f241291", "1f231e21259272"]),
    (63, ["d343cc272761a36", "6444f62e079637d9", "75378f433133a7d1"]),
    (64, ["7fcf015f683be847", "b5a5e5d2488923b6", "e12e694479978cce"]),
    (65, ["8f09b76e1d005612", "cd3028924b61d907", "9930aa921d3265e4"]),
    (
        128,
        [
            "9d81c729f0cab56dd57d5e895ab5641a",
            "4692749c895f7ccb46849e3598f539bf",
            "c247843fd3695aa9b98df62b43e2dea2",
        ],
    ),
];

/// Texts that were handed out have to be read for ever: what a key makes of a number never changes.
#[test]
fn what_was_sealed_stays_readable() {
    let keys = Keys::new().with(KeyId::new(1), "000102030405060708090a0b0c0d0e0f".parse().unwrap()).unwrap();
    let written = SEALED.map(|(bits, _)| {
        let form = form(&format!("sealed key=1 bits={bits} hex")).with_keys(&keys).unwrap();
        (bits, [0, 1, largest(bits)].map(|number| encode(&form, number)))
    });
    assert_eq!(written, SEALED.map(|(bits, texts)| (bits, texts.map(str::to_owned))));
}

proptest! {
    #[test]
    fn as_speck_cipher_seals(key: [u8; 16], block: u64) {
        let mut wanted = block.to_be_bytes().into();
        Speck64_128::new(&key.into()).encrypt_block(&mut wanted);
        let cipher = Speck64::new(key);
        prop_assert_eq!(&cipher.seal(block).to_be_bytes()[..], &wanted[..]);
        prop_assert_eq!(cipher.open(cipher.seal(block)), block);
        prop_assert_eq!(Permutation::new(64, key).seal(block.into()), u128::from(cipher.seal(block)));
    }

    #[test]
    fn every_width_opens_what_it_seals(bits in 2_u32..=128, key: [u8; 16], number: u128) {
        let permutation = Permutation::new(bits, key);
        let number = number & largest(bits);
        let sealed = permutation.seal(number);
        prop_assert!(sealed <= largest(bits));
        prop_assert_eq!(permutation.open(sealed), number);
    }

    #[test]
    fn two_keys_or_widths_share_nothing(key: [u8; 16], other: [u8; 16], number in 1_u128 << 20..1 << 52) {
        prop_assume!(key != other);
        let sealed = Permutation::new(53, key).seal(number);
        prop_assert_ne!(sealed, Permutation::new(53, other).seal(number));
        prop_assert_ne!(sealed, Permutation::new(54, key).seal(number));
        prop_assert_ne!(sealed, number);
    }
}

#[test]
fn the_picture_of_the_page_shows_sealed_numbers() {
    let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures/how-sealed.svg");
    let picture = std::fs::read_to_string(picture).unwrap();
    let keys = Keys::new().with(KeyId::new(1), "000102030405060708090a0b0c0d0e0f".parse().unwrap()).unwrap();
    let form = form("sealed key=1 base62 width=11").with_keys(&keys).unwrap();
    for number in 1001..1005 {
        let text = encode(&form, number);
        assert!(picture.contains(&format!(">{text}</text>")), "{number} is {text}");
    }
}
