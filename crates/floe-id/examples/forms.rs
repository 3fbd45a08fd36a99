//! How long the forms take, and the crates `harsh` and `sqids` for the same texts, in the best of some rounds:
//! `cargo run --profile dist -p floe-id --example forms`. Every text that was timed has to read back as the number that it was
//! written for, and to be what the peer writes; the last column counts them.

use std::hint::black_box;
use std::time::Duration;

use floe_id::form::{Buffer, Form, Key, KeyId, Keys};

const NUMBERS: usize = 1 << 12;
const ROUNDS: usize = 200;

const FORMS: &[&str] = &[
    "decimal",
    "hex width=16",
    "base32",
    "base32 width=13",
    "base36",
    "base58",
    "base62",
    "base62 width=11",
    "base62 width=11 prefix=ord_",
    "base32 bits=128 width=26",
    "base62 bits=128 width=22",
    "typeid type=order",
    HASHIDS,
    LONG_HASHIDS,
    SQIDS,
    "sealed key=1 decimal",
    "sealed key=1 bits=53 base62",
    "sealed key=1 hex width=16",
    "sealed key=1 base62 width=11",
    "sealed key=1 bits=64 base62 width=11",
    "sealed key=1 keyid=2bits base62",
    "sealed key=1 keyid=prefix base32",
    "sealed key=1 bits=128 base32 width=26",
];

const HASHIDS: &str = "hashids salt=pepper";
const LONG_HASHIDS: &str = "hashids salt=pepper min=20";
const SQIDS: &str = "sqids";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys = Keys::new().with(KeyId::new(1), Key::from(*b"sixteen bytes ok"))?;
    let only = std::env::args().nth(1).unwrap_or_default();
    println!("{:<40} {:>12} {:>12} {:>14}", "form", "encode, ns", "decode, ns", "round trips");
    for text in FORMS.iter().filter(|text| text.contains(&only)) {
        let form = text.parse::<Form>()?.with_keys(&keys)?;
        let numbers = numbers(form.bits());
        let mut buffer = Buffer::new();
        let encode = best(|| {
            for number in &numbers {
                black_box(form.encode(black_box(*number), &mut buffer).unwrap_or_default());
            }
        });
        let mut texts = Vec::new();
        for number in &numbers {
            texts.push(form.encode(*number, &mut buffer)?.to_owned());
        }
        let decode = best(|| {
            for text in &texts {
                black_box(form.decode(black_box(text)).unwrap_or_default());
            }
        });
        let trips = texts.iter().zip(&numbers).filter(|(text, number)| form.decode(text) == Ok(**number));
        report(text, encode, decode, trips.count());
        let narrow: Vec<u64> = numbers.iter().filter_map(|number| u64::try_from(*number).ok()).collect();
        match *text {
            HASHIDS => peer("  harsh", harsh(0)?, &narrow, &texts),
            LONG_HASHIDS => peer("  harsh", harsh(20)?, &narrow, &texts),
            SQIDS => {
                let sqids = sqids::Sqids::default();
                let encode = |number| sqids.encode(&[number]).unwrap_or_default();
                peer("  sqids", (encode, |text: &str| sqids.decode(text)), &narrow, &texts);
            }
            _ => {}
        }
    }
    Ok(())
}

type Coder = (Box<dyn Fn(u64) -> String>, Box<dyn Fn(&str) -> Vec<u64>>);

fn harsh(length: usize) -> Result<Coder, harsh::BuildError> {
    let harsh = std::rc::Rc::new(harsh::Harsh::builder().salt("pepper").length(length).build()?);
    let other = harsh.clone();
    let decode = move |text: &str| other.decode(text).unwrap_or_default();
    Ok((Box::new(move |number| harsh.encode(&[number])), Box::new(decode)))
}

fn peer(
    name: &str,
    (encode, decode): (impl Fn(u64) -> String, impl Fn(&str) -> Vec<u64>),
    numbers: &[u64],
    texts: &[String],
) {
    let encoding = best(|| {
        for number in numbers {
            black_box(encode(black_box(*number)));
        }
    });
    let decoding = best(|| {
        for text in texts {
            black_box(decode(black_box(text)));
        }
    });
    let trips = texts.iter().zip(numbers).filter(|(text, number)| encode(**number) == **text);
    report(name, encoding, decoding, trips.count());
}

fn report(name: &str, encode: f64, decode: f64, trips: usize) {
    assert_eq!(trips, NUMBERS, "{name}");
    println!("{name:<40} {encode:>12.1} {decode:>12.1} {trips:>14}");
}

/// Numbers of up to `bits` bits, most of them with all.
fn numbers(bits: u32) -> Vec<u128> {
    let mut state = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128;
    let mut next = || {
        state =
            state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(0x5851_f42d_4c95_7f2d);
        (state ^ state >> 64) >> (128 - bits)
    };
    (0..NUMBERS).map(|_| next()).collect()
}

/// Nanoseconds for each number, in the best of the rounds.
fn best(mut run: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let before = now();
        run();
        now() - before
    });
    rounds.min().unwrap_or_default().as_secs_f64() * 1e9 / NUMBERS as f64
}

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
