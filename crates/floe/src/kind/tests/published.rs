//! What the specifications say of minting, each table with its source.

use crate::kind::{Mint, NanoIdFormat, NanoIdGenerator, Ulid, UlidGenerator};

use super::{Hands, constant};

/// github.com/ulid/spec, README.md, "Monotonicity": `...MMVRZ` is followed by `...MMVS0`.
#[test]
fn ulid_spec_monotonicity() {
    let first: Ulid = "01BX5ZZKBKACTAV9WEVGEMMVRZ".parse().unwrap();
    let [.., a, b, c, d, e, f, g, h, i, j] = first.to_bytes();
    let high = u64::from_be_bytes([a, b, 0, 0, 0, 0, 0, 0]);
    let low = u64::from_be_bytes([c, d, e, f, g, h, i, j]);
    let mut words = [high, low].into_iter().cycle();
    let random = super::Random::given(move || words.next().unwrap());
    let ids = UlidGenerator::of(Hands::at(first.time().get()).origin(random));
    assert_eq!(ids.mint(), Ok(first));
    assert_eq!(ids.mint().unwrap().to_string(), "01BX5ZZKBKACTAV9WEVGEMMVS0");
}

/// github.com/ulid/spec, README.md, "Monotonicity": the last three of a millisecond, and then an error.
#[test]
fn ulid_spec_overflow() {
    let first: Ulid = "01BX5ZZKBKZZZZZZZZZZZZZZZX".parse().unwrap();
    let [.., a, b, c, d, e, f, g, h, i, j] = first.to_bytes();
    let high = u64::from_be_bytes([a, b, 0, 0, 0, 0, 0, 0]);
    let low = u64::from_be_bytes([c, d, e, f, g, h, i, j]);
    let mut words = [high, low].into_iter().cycle();
    let random = super::Random::given(move || words.next().unwrap());
    let ids = UlidGenerator::of(Hands::at(first.time().get()).origin(random));
    for text in ["01BX5ZZKBKZZZZZZZZZZZZZZZX", "01BX5ZZKBKZZZZZZZZZZZZZZZY", "01BX5ZZKBKZZZZZZZZZZZZZZZZ"] {
        assert_eq!(ids.mint().unwrap().to_string(), text);
    }
    assert!(ids.mint().is_err());
}

/// github.com/ai/nanoid, README.md: 21 characters of `A-Za-z0-9_-`; test/index.test.js, "has flat distribution": the
/// most frequent character is at most 5 hundredths from the least frequent one, in a hundred thousand IDs.
#[test]
fn nanoid_statistics() {
    let shown = NanoIdFormat::default();
    assert_eq!((shown.length(), shown.alphabet().len(), shown.bits()), (21, 64, 126.0));
    assert!(shown.read("V1StGXR8_Z5jdHi6B-myT").is_ok());
    for alphabet in [
        shown.alphabet(),
        "0123456789abcdef",
        "abcdefghijklmnopqrstuvwxyz",
        "0123456789",
        "01",
        "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz!#%&*+",
    ] {
        let format = NanoIdFormat::new(alphabet, 21).unwrap();
        let ids = NanoIdGenerator::new(format);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..100_000 {
            for (at, byte) in ids.mint().unwrap().as_bytes().iter().enumerate() {
                *counts.entry(*byte).or_insert(0_u32) += 1;
                assert!(alphabet.as_bytes().contains(byte), "{byte} at {at}");
            }
        }
        assert_eq!(counts.len(), alphabet.len(), "every character occurs");
        let mean = 2_100_000.0 / f64::from(u32::try_from(counts.len()).unwrap());
        let largest = counts.values().map(|count| (f64::from(*count) / mean - 1.0).abs()).fold(0.0, f64::max);
        // Six standard deviations of a character's count, which is far below nanoid's own 5 hundredths.
        assert!(largest < 6.0 / mean.sqrt(), "{alphabet}: {largest}");
    }
}

/// Each place of the alphabet comes from as many words as each other: all 64 of them, in order, and none twice.
#[test]
fn nanoid_takes_each_place_equally() {
    for size in [2_u8, 3, 10, 33, 63, 64, 94] {
        let alphabet: String = (b'!'..b'!' + size).map(char::from).collect();
        let format = NanoIdFormat::new(&alphabet, 1).unwrap();
        let bits = u32::BITS - u32::from(size - 1).leading_zeros();
        let mut counts = vec![0; size.into()];
        for word in 0..1_u64 << bits {
            // What is past the alphabet's end is refused, and the word's next bits are taken: those of place 0.
            let id = NanoIdGenerator::of(format.clone(), constant(word)).mint().unwrap();
            let place = usize::from(id.as_bytes()[0] - b'!');
            if word < size.into() {
                assert_eq!(place, usize::try_from(word).unwrap());
                counts[place] += 1;
            } else {
                assert_eq!(place, 0);
            }
        }
        assert!(counts.iter().all(|count| *count == 1));
    }
}
