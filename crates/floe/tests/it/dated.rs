//! Dated names through the public face. What takes days is tested on a clock that is moved (`node/tests/dated.rs`).

use std::thread;

use floe::ledger::Memory;
use floe::{DatedShape, DefinitionError, Floe, MintError, Overflow};

fn shape(zone: &str, digits: u8) -> DatedShape {
    DatedShape::new(zone, digits, "INV", Overflow::Refuse).unwrap()
}

#[test]
fn it_counts_the_day_of_its_zone_from_one() {
    let floe = Floe::open(Memory::default()).unwrap();
    // The two zones are 26 hours apart: never on one date.
    let early = floe.dated("early", shape("Pacific/Kiritimati", 6)).unwrap();
    let late = floe.dated("late", shape("Etc/GMT+12", 6)).unwrap();
    let (first, second) = (early.mint().unwrap(), early.mint().unwrap());
    assert!(late.mint().unwrap().date() < first.date());
    // At most one midnight lies between two calls.
    let counters = (first.counter(), second.counter());
    assert!(counters == (1, 2) || counters == (1, 1) && first.date() < second.date(), "{counters:?}");
    let text = first.to_string();
    assert!(text.starts_with("INV2") && text.ends_with("000001") && text.len() == 17, "{text}");
    assert_eq!(first.number().unwrap().to_string(), text["INV".len()..]);
}

#[test]
fn threads_and_floes_never_repeat_and_never_go_back() {
    let ledger = Memory::default();
    let floes = [Floe::open(ledger.clone()).unwrap(), Floe::open(ledger).unwrap()];
    let mut all: Vec<String> = thread::scope(|scope| {
        let mint = |floe: &Floe| {
            let dated = floe.dated("invoice", shape("UTC", 8)).unwrap();
            move || {
                let minted: Vec<_> = (0..300).map(|_| dated.mint().unwrap().to_string()).collect();
                assert!(minted.windows(2).all(|pair| pair[0] < pair[1]));
                minted
            }
        };
        let threads: Vec<_> = (0..6).map(|n| scope.spawn(mint(&floes[n % 2]))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), count), (1_800, 1_800));
}

#[test]
fn a_batch_over_the_digits_is_refused_and_loses_nothing() {
    let floe = Floe::open(Memory::default()).unwrap();
    let dated = floe.dated("invoice", shape("UTC", 3)).unwrap();
    let Err(MintError::Exhausted(text)) = dated.mint_many(1_000) else {
        panic!("a thousand in three digits")
    };
    assert!(text.contains("999 numbers left") && text.contains("3 digits") && text.contains("UTC"), "{text}");
    let batch = dated.mint_many(999).unwrap();
    assert_eq!(batch.len(), 999);
    let (first, last) = (batch.clone().next().unwrap(), batch.last().unwrap());
    assert_eq!((first.counter(), last.counter(), first.date()), (1, 999, last.date()));
    for asked in [0, u64::MAX] {
        assert_eq!(dated.mint_many(asked).err(), Some(MintError::Count { asked, max: 1 << 32 }));
    }
}

#[test]
fn shapes_that_cannot_be_are_refused_with_the_way_out() {
    for (zone, digits, prefix, says) in [
        ("Asia/Shanghia", 6, "", "unknown time zone \"Asia/Shanghia\": give an IANA name"),
        ("", 6, "", "unknown time zone"),
        ("+08:00", 6, "", "unknown time zone"),
        ("Etc/Unknown", 6, "", "unknown time zone"),
        ("UTC", 0, "", "digits 0 is outside 1..=10"),
        ("UTC", 11, "", "digits 11 is outside 1..=10"),
        ("UTC", 6, "IN V", "without white space"),
        ("UTC", 6, "a prefix of more than thirty-two b", "at most 32 bytes"),
    ] {
        let refused = DatedShape::new(zone, digits, prefix, Overflow::Refuse);
        let Err(DefinitionError::Value(text)) = refused else {
            panic!("{zone:?} {digits} {prefix:?}: {refused:?}")
        };
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_zone_is_the_same_however_it_is_written() {
    // The fingerprint is stored: it must not depend on the writer's taste (I4).
    let [a, b] = ["asia/shanghai", "Asia/Shanghai"].map(|zone| shape(zone, 6));
    assert_eq!((a.zone(), &a), ("Asia/Shanghai", &b));
}
