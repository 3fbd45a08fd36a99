//! Hostile clocks, counters that run out, and copies of a process.

use std::sync::OnceLock;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::kind::{
    KsuidGenerator, MAX_MANY, Mint, NanoIdFormat, NanoIdGenerator, ObjectIdGenerator, UlidGenerator, Uuid,
    UuidV4Generator, UuidV7Generator,
};
use crate::{MintError, StopReason, Stopped, clock::Clock};

const SECOND: i64 = 1_000;
const DAY: i64 = 86_400 * SECOND;

/// Mints through `steps` of the wall clock, and checks that every ID is larger than the one before, or that there was an
/// error; returns how many IDs there were.
fn mint_through<G: Mint>(hands: &Hands, ids: &G, steps: &[i64]) -> usize
where
    G::Id: Ord + std::fmt::Debug,
{
    let mut all = Vec::new();
    for step in steps {
        hands.step(*step);
        for _ in 0..40 {
            hands.run(1);
            all.extend(ids.mint());
            all.extend(ids.mint_many(3).into_iter().flatten());
        }
    }
    assert!(all.is_sorted_by(|one, next| one < next), "{:?}", all.windows(2).find(|pair| pair[0] >= pair[1]));
    all.len()
}

#[test]
fn order_holds_through_steps_back_and_ahead() {
    let steps =
        [0, -1, -SECOND, 3, -SECOND, 9 * SECOND, -DAY, DAY, -40 * DAY, 41 * DAY, 400 * DAY, -400 * DAY];
    let hands = Hands::at(START);
    let all = steps.len() * 40 * 4;
    assert_eq!(mint_through(&hands, &UuidV7Generator::of(hands.origin(seeded(1)), false), &steps), all);
    assert_eq!(mint_through(&hands, &UuidV7Generator::of(hands.origin(seeded(2)), true), &steps), all);
    assert_eq!(mint_through(&hands, &UlidGenerator::of(hands.origin(seeded(3))), &steps), all);
}

#[test]
fn a_clock_at_or_before_the_epoch_is_an_error_and_order_holds_beyond_it() {
    let steps = [0, -START, -SECOND, DAY, START - DAY + SECOND];
    let hands = Hands::at(START);
    let origin = hands.origin(seeded(1));
    let minted = mint_through(&hands, &UuidV7Generator::of(Arc::clone(&origin), false), &steps);
    assert_eq!(minted, 4 * 160, "a wall clock of 1970 is held through, one before it is not");
    hands.step(-2 * START);
    for error in [
        UuidV7Generator::of(Arc::clone(&origin), false).mint().unwrap_err(),
        UuidV7Generator::of(Arc::clone(&origin), true).mint().unwrap_err(),
        UlidGenerator::of(Arc::clone(&origin)).mint().map(|_| ()).unwrap_err(),
        ObjectIdGenerator::of(Arc::clone(&origin)).mint().map(|_| ()).unwrap_err(),
        KsuidGenerator::of(Arc::clone(&origin)).mint().map(|_| ()).unwrap_err(),
        origin.look().unwrap_err(),
    ] {
        let MintError::Stopped(Stopped { reason, cause }) = error else { panic!("{error}") };
        assert!(reason == StopReason::Clock && cause.contains("set the clock right"), "{reason:?}: {cause}");
    }
    assert!(UuidV4Generator::given(seeded(1)).mint().is_ok(), "it needs no clock");
    assert!(NanoIdGenerator::of(NanoIdFormat::default(), seeded(1)).mint().is_ok(), "it needs no clock");
}

/// Where KSUIDs begin: 2014-05-13T16:53:20Z.
const KSUID_EPOCH: i64 = 1_400_000_000_000;

/// What the wall clock is set to, each for 36 s: back and ahead across a second, a day, the epoch of KSUIDs and that of Unix.
const SETTINGS: &[i64] = &[
    START,
    START - 800,
    START + SECOND,
    START - SECOND,
    START - DAY,
    START + DAY,
    START - DAY,
    KSUID_EPOCH + 300,
    KSUID_EPOCH - 300,
    KSUID_EPOCH - DAY,
    KSUID_EPOCH + DAY,
    500,
    -500,
    -DAY,
    DAY,
    START,
    START + 400 * DAY,
    START - 400 * DAY,
    START + 400 * DAY,
];

/// Mints through all settings: `place` of each ID is larger than that of the one before, or as large where `strictly` is not
/// asked for, and nothing but a wall clock at 1970 or before it is an error.
fn hold<I, K: Ord + std::fmt::Debug>(
    hands: &Hands,
    strictly: bool,
    mut mint: impl FnMut() -> Result<I, MintError>,
    place: impl Fn(I) -> K,
) {
    let mut last = None;
    for setting in SETTINGS {
        hands.set(*setting);
        for _ in 0..360 {
            hands.run(100);
            for _ in 0..3 {
                let minted = mint().map(&place);
                assert_eq!(minted.is_err(), hands.wall() <= 0, "{setting}: {minted:?}");
                let Ok(next) = minted else { continue };
                let rises = last.as_ref().is_none_or(|last| next > *last || next == *last && !strictly);
                assert!(rises, "{setting}: {next:?} after {last:?}");
                last = Some(next);
            }
        }
    }
}

#[test]
fn every_kind_with_a_time_keeps_its_order_through_seconds_days_and_epochs() {
    let rig = |seed| {
        let hands = Hands::at(START);
        let origin = hands.origin(seeded(seed));
        (hands, origin)
    };
    for precise in [false, true] {
        let (hands, origin) = rig(1);
        let ids = UuidV7Generator::of(origin, precise);
        hold(&hands, true, || ids.mint(), |id| id);
        let (hands, origin) = rig(2);
        let mut minter = UuidV7Generator::of(origin, precise).minter();
        hold(&hands, true, || minter.mint(), |id| id);
    }
    let (hands, origin) = rig(3);
    let ids = UlidGenerator::of(origin);
    hold(&hands, true, || ids.mint(), |id| id);
    let (hands, origin) = rig(4);
    let mut minter = UlidGenerator::of(origin).minter();
    hold(&hands, true, || minter.mint(), |id| id);
    // A step of over a second is what a copied process sees, and so the five bytes of an ObjectId change with it: what is in
    // order then is its second with its counter.
    let (hands, origin) = rig(5);
    let ids = ObjectIdGenerator::of(origin);
    hold(&hands, true, || ids.mint(), |id| (id.time(), id.counter()));
    let (hands, origin) = rig(6);
    let ids = KsuidGenerator::of(origin);
    hold(&hands, false, || ids.mint(), |id| id.time());
}

#[test]
fn a_process_that_starts_before_the_epoch_of_ksuids_mints_them_from_there_on() {
    let hands = Hands::at(KSUID_EPOCH - 5_000);
    let ids = KsuidGenerator::of(hands.origin(seeded(1)));
    for tenth in -49..50 {
        hands.run(100);
        let minted = ids.mint();
        assert_eq!(minted.is_ok(), tenth >= 0, "{tenth}: {minted:?}");
    }
    hands.set(KSUID_EPOCH - DAY);
    hands.run(100);
    assert!(ids.mint().is_ok(), "the steady clock does not go back");
}

#[test]
fn object_ids_and_ksuids_never_go_back_by_a_second() {
    let hands = Hands::at(START);
    let origin = hands.origin(seeded(5));
    let (objects, ksuids) = (ObjectIdGenerator::of(Arc::clone(&origin)), KsuidGenerator::of(origin));
    let mut last = (objects.mint().unwrap(), ksuids.mint().unwrap());
    let random = last.0.random();
    for step in [0, -1, -SECOND, 1, -60 * SECOND, 30 * SECOND, -DAY, DAY + SECOND] {
        hands.step(step);
        for _ in 0..30 {
            hands.run(100);
            let (object, ksuid) = (objects.mint().unwrap(), ksuids.mint().unwrap());
            // A step over a second is what a copied process would see: other five bytes, and the counter goes on.
            assert!(object.time() >= last.0.time() && ksuid.time() >= last.1.time());
            assert_eq!(object.counter(), (last.0.counter() + 1) % (1 << 24));
            assert!(object > last.0 || object.random() != last.0.random());
            last = (object, ksuid);
        }
    }
    assert_ne!(last.0.random(), random);
}

/// The mint that finds out about the copy is itself one of the copy's.
#[test]
fn the_first_object_ids_of_a_copy_have_other_bytes_also_where_many_are_minted_at_once() {
    let hands = Hands::at(START);
    let ids = ObjectIdGenerator::of(hands.origin(seeded(5)));
    let mut last = ids.mint().unwrap();
    for many in [false, true, false, true] {
        hands.step(2 * SECOND);
        let next = if many { ids.mint_many(2).unwrap()[1] } else { ids.mint().unwrap() };
        assert_ne!(next.random(), last.random(), "many: {many}");
        last = next;
    }
}

#[test]
fn the_time_is_that_of_the_clock() {
    let hands = Hands::at(START);
    let origin = hands.origin(seeded(7));
    let second = UnixMillis::new(START / 1_000 * 1_000);
    assert_eq!(
        UuidV7Generator::of(Arc::clone(&origin), false).mint().unwrap().time(),
        Some(UnixMillis::new(START))
    );
    assert_eq!(
        UuidV7Generator::of(Arc::clone(&origin), true).mint().unwrap().time(),
        Some(UnixMillis::new(START))
    );
    assert_eq!(UlidGenerator::of(Arc::clone(&origin)).mint().unwrap().time(), UnixMillis::new(START));
    assert_eq!(ObjectIdGenerator::of(Arc::clone(&origin)).mint().unwrap().time(), second);
    assert_eq!(KsuidGenerator::of(origin).mint().unwrap().time(), second);
}

/// The counter, the fraction included, of a UUID v7.
fn order_bits(id: Uuid) -> u128 {
    assert_eq!(id.version(), Some(7));
    (id.get() >> 64 & 0xfff) << 8 | id.get() >> 54 & 0xff
}

#[test]
fn uuid_v7_counts_by_one_from_a_random_start_with_its_highest_bit_0() {
    let hands = Hands::at(START);
    let ids = UuidV7Generator::of(hands.origin(seeded(11)), false);
    let mut starts = Vec::new();
    for _ in 0..100 {
        hands.run(1);
        let start = ids.mint().unwrap();
        starts.push(order_bits(start));
        for more in 1..10 {
            let next = ids.mint().unwrap();
            assert_eq!((next.time(), order_bits(next)), (start.time(), order_bits(start) + more));
        }
    }
    assert!(starts.iter().all(|start| *start < 1 << 19));
    assert!(starts.iter().any(|start| *start > 1 << 18), "random in all 19 bits");
    starts.sort_unstable();
    starts.dedup();
    assert!(starts.len() > 90, "random starts differ");
}

#[test]
fn uuid_v7_takes_fresh_random_bits_for_each_id() {
    let hands = Hands::at(START);
    let ids = UuidV7Generator::of(hands.origin(seeded(12)), false);
    let mut tails: Vec<u128> =
        ids.mint_many(1_000).unwrap().iter().map(|id| id.get() & ((1 << 54) - 1)).collect();
    // Every one of the 54 bits is set in some and not in others.
    assert_eq!(tails.iter().fold(0, |all, tail| all | tail), (1 << 54) - 1);
    assert_eq!(tails.iter().fold(u128::MAX, |all, tail| all & tail), 0);
    tails.sort_unstable();
    tails.dedup();
    assert_eq!(tails.len(), 1_000);
}

#[test]
fn uuid_v7_runs_ahead_by_ten_milliseconds_and_then_is_busy() {
    let hands = Hands::at(START);
    let ids = UuidV7Generator::of(hands.origin(constant(u64::MAX)), false);
    let mut last = ids.mint().unwrap();
    let error = loop {
        match ids.mint_many(MAX_MANY / 4) {
            Ok(more) => {
                assert!(more[0] > last);
                last = more[more.len() - 1];
                assert!(last.time().unwrap().since(UnixMillis::new(START)) <= 10);
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error, MintError::Busy { retry: Duration::from_millis(1) });
    assert!(last.time().unwrap().since(UnixMillis::new(START)) >= 9, "{last}");
    hands.run(1);
    assert!(ids.mint_many(MAX_MANY / 4).unwrap()[0] > last, "after the time it said");
}

#[test]
fn precise_uuid_v7_tells_a_quarter_of_a_microsecond() {
    let hands = Hands::at(START);
    let ids = UuidV7Generator::of(hands.origin(seeded(13)), true);
    for quarter in 0..4_000_i64 {
        let id = ids.mint().unwrap();
        let part = (id.get() >> 64 & 0xfff).cast_signed();
        let nanos = i128::from(quarter * 250);
        assert_eq!(part, nanos * 4096 / 1_000_000);
        assert_eq!(id.time(), Some(UnixMillis::new(START)));
        hands.step_nanos(250);
    }
    // Where the wall clock has gone back the steady one has whole milliseconds, and order goes on.
    let last = ids.mint().unwrap();
    hands.step(-20);
    assert!(ids.mint().unwrap() > last);
}

#[test]
fn a_ulid_whose_random_part_overflows_is_an_error_until_the_millisecond_is_over() {
    let hands = Hands::at(START);
    // The first of a millisecond is three short of the largest.
    let mut words = [u64::MAX, u64::MAX - 3].into_iter().cycle();
    let ids = UlidGenerator::of(hands.origin(Random::given(move || words.next().unwrap())));
    let first = ids.mint().unwrap();
    assert!(first.to_string().ends_with("ZZZZZZZZZZZZZZZW"), "{first}");
    assert_eq!(ids.mint_many(4), Err(MintError::Busy { retry: Duration::from_millis(1) }), "all or none");
    assert!(ids.mint_many(3).unwrap().iter().map(ToString::to_string).is_sorted());
    assert_eq!(ids.mint(), Err(MintError::Busy { retry: Duration::from_millis(1) }));
    hands.step(-SECOND);
    hands.run(1);
    hands.run(1);
    assert!(ids.mint().unwrap() > first, "the steady clock has gone on");
}

#[test]
fn minters_keep_to_the_clock_and_to_what_is_left_of_a_millisecond() {
    let hands = Hands::at(START);
    let ids = UuidV7Generator::of(hands.origin(seeded(21)), false);
    let mut minter = ids.minter();
    let mut last = minter.mint().unwrap();
    for millis in 1..100 {
        hands.run(1);
        for _ in 0..40 {
            let next = minter.mint().unwrap();
            assert_eq!(
                next.time(),
                Some(UnixMillis::new(START + millis)),
                "a new millisecond is noticed at once"
            );
            assert!(next > last);
            last = next;
        }
    }
    // A draw whose low word carries into the high one.
    let mut words = [7 << 48, u64::MAX - 3].into_iter().cycle();
    let mut minter = UlidGenerator::of(hands.origin(Random::given(move || words.next().unwrap()))).minter();
    let first = minter.mint().unwrap();
    for more in 1..100 {
        assert_eq!(minter.mint().unwrap().get(), first.get() + more);
    }
    // What is left of a millisecond is less than a draw.
    let mut words = [u64::MAX, u64::MAX - 3].into_iter().cycle();
    let ids = UlidGenerator::of(hands.origin(Random::given(move || words.next().unwrap())));
    let mut minter = ids.minter();
    let four: Vec<_> = (0..4).map(|_| minter.mint().unwrap()).collect();
    assert!(four.is_sorted_by(|one, next| one < next));
    assert_eq!(minter.mint(), Err(MintError::Busy { retry: Duration::from_millis(1) }));
    hands.run(1);
    assert!(minter.mint().unwrap() > four[3]);
}

#[test]
fn object_ids_do_not_repeat_past_2_to_the_24_in_a_second() {
    let hands = Hands::at(START);
    let ids = ObjectIdGenerator::of(hands.origin(constant(u64::MAX)));
    let first = ids.mint().unwrap();
    assert_eq!(first.counter(), 0xff_ffff, "the largest counter first");
    let next = ids.mint().unwrap();
    assert_eq!(
        (next.counter(), next.time().since(first.time())),
        (0, 1_000),
        "wrapped, into the next second"
    );
    let mut last = next;
    let mut minted = 1_u64;
    let error = loop {
        match ids.mint_many(1 << 20) {
            Ok(more) => {
                assert!(more[0] > last && more.is_sorted_by(|one, next| one < next));
                minted += 1 << 20;
                last = more[more.len() - 1];
            }
            Err(error) => break error,
        }
    };
    assert!(minted <= 1 << 24 && last.time().since(first.time()) == 1_000);
    let MintError::Busy { retry } = error else { panic!("{error}") };
    assert_eq!(retry, Duration::from_millis(211), "to the end of the second");
    hands.run(211);
    assert!(ids.mint_many(1 << 20).unwrap()[0] > last);
}

#[test]
fn the_largest_counter_of_a_second_is_followed_by_0_in_the_next() {
    for second in [START, START + SECOND] {
        let hands = Hands::at(second);
        let ids = ObjectIdGenerator::of(hands.origin(constant(u64::MAX)));
        let first = ids.mint().unwrap();
        hands.run(1_000);
        let next = ids.mint().unwrap();
        assert_eq!((first.counter(), next.counter(), next.time().since(first.time())), (0xff_ffff, 0, 1_000));
    }
}

#[test]
fn the_counter_of_object_ids_goes_on_over_the_seconds() {
    let hands = Hands::at(START);
    let ids = ObjectIdGenerator::of(hands.origin(seeded(3)));
    let other = ids.clone();
    let mut last = ids.mint().unwrap();
    for _ in 0..50 {
        hands.run(700);
        let next = other.mint().unwrap();
        assert_eq!(next.counter(), last.counter() + 1);
        assert_eq!(next.random(), last.random());
        assert_eq!(next.time().get(), hands.wall() / SECOND * SECOND, "and its second is the clock's");
        last = next;
    }
}

#[test]
fn an_invalidation_changes_what_a_copy_would_repeat() {
    let hands = Hands::at(START);
    let origin = hands.origin(seeded(17));
    let (objects, ulids) =
        (ObjectIdGenerator::of(Arc::clone(&origin)), UlidGenerator::of(Arc::clone(&origin)));
    let (object, ulid) = (objects.mint().unwrap(), ulids.mint().unwrap());
    origin.invalidate();
    let (other, next) = (objects.mint().unwrap(), ulids.mint().unwrap());
    assert_ne!(object.random(), other.random());
    let mut minter = UlidGenerator::of(Arc::clone(&origin)).minter();
    let before = minter.mint().unwrap();
    origin.invalidate();
    let after = minter.mint().unwrap();
    assert!(after.time() > before.time() && after.random() != before.random() + 1, "a minter as well");
    assert!(next.time() > ulid.time() && next.random() != ulid.random() + 1);
    // As far as ten milliseconds ahead, and not further.
    let mut refused = None;
    for _ in 0..20 {
        origin.invalidate();
        refused = refused.or_else(|| ulids.mint().err());
    }
    assert_eq!(refused, Some(MintError::Busy { retry: Duration::from_millis(1) }));
}

#[test]
fn a_late_ticker_does_not_stop_minting() {
    let hands = Hands::at(START);
    let clock = Arc::new(Clock::new(crate::ClockPolicy::default(), Box::new(hands.clone())));
    // The time at hand stands, as in a forked child.
    clock.tick();
    let ids = UuidV7Generator::of(Origin::with_clock(clock, || None, seeded(1)), false);
    for _ in 0..40 {
        hands.run(1);
        assert!(ids.mint_many(MAX_MANY / 2).is_ok());
    }
}

#[test]
fn a_count_of_none_or_too_many_is_refused() {
    let hands = Hands::at(START);
    let ids = UuidV7Generator::of(hands.origin(seeded(1)), false);
    for asked in [0, MAX_MANY + 1, u64::MAX] {
        let expected = MintError::Count { asked, max: MAX_MANY };
        assert_eq!(ids.mint_many(asked), Err(expected.clone()));
        assert_eq!(UuidV4Generator::given(seeded(1)).mint_many(asked), Err(expected));
    }
}

#[test]
fn ids_end_where_their_seconds_do() {
    // 2106-02-07T06:28:15Z is the last second of 32 bits.
    let last = i64::from(u32::MAX) * 1_000;
    let origin = Hands::at(last).origin(seeded(1));
    assert!(matches!(ObjectIdGenerator::of(origin).mint(), Err(MintError::Exhausted(_))));
    assert!(ObjectIdGenerator::of(Hands::at(last - 1_000).origin(seeded(1))).mint().is_ok());
    let epoch = 1_400_000_000_000;
    assert!(matches!(
        KsuidGenerator::of(Hands::at(epoch - 1).origin(seeded(1))).mint(),
        Err(MintError::Stopped(Stopped { reason: StopReason::Clock, .. }))
    ));
    let at = |millis| KsuidGenerator::of(Hands::at(millis).origin(seeded(1))).mint();
    assert_eq!(at(epoch).unwrap().to_bytes()[..4], [0; 4]);
    assert_eq!(at(epoch + last).unwrap().to_bytes()[..4], [255; 4]);
    assert!(matches!(at(epoch + last + 1_000), Err(MintError::Exhausted(_))));
}

proptest! {
    /// Any clock at all: what is minted is larger than what was minted before.
    #[test]
    fn nothing_goes_back_on_any_clock(
        steps in prop::collection::vec((prop_oneof![-10_i64..10, -5_000_i64..5_000, -2 * START..2 * START], 0_u64..40_000), 1..60),
        seed: u64,
    ) {
        let hands = Hands::at(START);
        let origin = hands.origin(seeded(seed));
        let plain = UuidV7Generator::of(Arc::clone(&origin), false);
        let precise = UuidV7Generator::of(Arc::clone(&origin), true);
        let ulids = UlidGenerator::of(origin);
        let (mut last_plain, mut last_precise, mut last_ulid) = (None, None, None);
        for (step, run) in steps {
            hands.step(step.clamp(-4 * START, 4 * START));
            hands.run(run);
            for _ in 0..3 {
                for (id, last) in [(plain.mint().ok(), &mut last_plain), (precise.mint().ok(), &mut last_precise)] {
                    prop_assert!(id.is_none() || id > *last);
                    *last = id.or(*last);
                }
                let id = ulids.mint().ok();
                prop_assert!(id.is_none() || id > last_ulid);
                last_ulid = id.or(last_ulid);
            }
        }
    }
}

#[test]
fn uuid_v7_runs_ahead_to_the_end_of_the_tenth_millisecond() {
    let ids = UuidV7Generator::of(Hands::at(START).origin(constant(0)), false);
    // A counter of 20 bits, which begins at 0 here, in this millisecond and in ten more.
    for ahead in 0..=10 {
        let last = ids.mint_many(1 << 20).unwrap().pop().unwrap();
        assert_eq!(last.time(), Some(UnixMillis::new(START + ahead)));
    }
    assert!(matches!(ids.mint(), Err(MintError::Busy { .. })));
}

#[test]
fn a_precise_minter_reads_the_clock_for_every_id() {
    let hands = Hands::at(START);
    let mut ids = UuidV7Generator::of(hands.origin(constant(0)), true).minter();
    for quarter in 0..4 {
        let part = ids.mint().unwrap().get() >> 64 & 0xfff;
        assert_eq!(part, quarter * 1024);
        hands.step_nanos(250_000);
    }
}

#[test]
fn all_forty_bits_of_a_process_are_random() {
    let ids = ObjectIdGenerator::of(Hands::at(START).origin(constant(u64::MAX)));
    let id = ids.mint().unwrap();
    assert_eq!((id.random(), id.counter()), ((1 << 40) - 1, (1 << 24) - 1));
    let none = ObjectIdGenerator::of(Hands::at(START).origin(constant(0))).mint().unwrap();
    assert_eq!((none.random(), none.counter()), (0, 0));
}

/// The process may have been copied: a copy would go on from the same number.
#[test]
fn a_ulid_after_the_clock_has_moved_begins_with_other_random_bits() {
    let hands = Hands::at(START);
    let ids = UlidGenerator::of(hands.origin(seeded(1)));
    let before = ids.mint().unwrap();
    hands.step(-999);
    let next = ids.mint().unwrap();
    assert_eq!(next.get(), before.get() + 1, "a small step back says nothing");
    hands.step(-1_001);
    let after = ids.mint().unwrap();
    assert_eq!(after.time().since(before.time()), 1);
    assert!(after.random().abs_diff(next.random()) > 1 << 40, "{after} after {next}");
}

/// What was drawn before that look is what a copy of the process has, too.
#[test]
fn a_uuid_v7_draws_its_random_bits_after_the_look_that_tells_of_a_copy() {
    let mint_one: fn(&UuidV7Generator) -> _ = |ids| ids.mint().unwrap();
    let mint_many: fn(&UuidV7Generator) -> _ = |ids| ids.mint_many(1).unwrap()[0];
    for mint in [mint_one, mint_many] {
        let hands = Hands::at(START);
        let (words, generation) = generations();
        let ids = UuidV7Generator::of(hands.origin(words), false);
        assert_eq!((drawn_in(mint(&ids)), generation()), (0, 0));
        hands.step(-1_001);
        assert_eq!((drawn_in(mint(&ids)), generation()), (1, 1));
    }
    let hands = Hands::at(START);
    let (words, generation) = generations();
    let mut minter = UuidV7Generator::of(hands.origin(words), false).minter();
    assert_eq!((drawn_in(minter.mint().unwrap()), generation()), (0, 0));
    hands.step(-1_001);
    assert_eq!((drawn_in(minter.mint().unwrap()), generation()), (1, 1));
}

/// It has nothing but these and the second.
#[test]
fn a_ksuid_draws_its_random_bits_after_the_look_that_tells_of_a_copy() {
    let hands = Hands::at(START);
    let (words, generation) = generations();
    let ids = KsuidGenerator::of(hands.origin(words));
    let drawn_in = || u64::try_from(ids.mint().unwrap().payload() >> 96).unwrap();
    assert_eq!((drawn_in(), generation()), (0, 0));
    hands.step(-1_001);
    assert_eq!((drawn_in(), generation()), (1, 1));
}

/// That look may come late: only when the counters within reach are used up.
#[test]
fn an_object_id_has_its_five_bytes_from_after_the_look_that_tells_of_a_copy() {
    let hands = Hands::at(START);
    let clock = Arc::new(Clock::new(crate::ClockPolicy::default(), Box::new(hands.clone())));
    // The time at hand stands, so it does not tell of the step.
    clock.tick();
    let mut drawn = 0;
    let words = Random::given(move || {
        drawn += 1;
        u64::MAX - (drawn << 24)
    });
    let ids = ObjectIdGenerator::of(Origin::with_clock(clock, || None, words));
    let before = ids.mint().unwrap();
    while ids.mint_many(1 << 20).is_ok() {}
    hands.step(1_001);
    assert_ne!(ids.mint().unwrap().random(), before.random());
}

/// Another thread tells of a copy while this one draws.
#[test]
fn a_ulid_does_not_go_on_from_bits_that_an_invalidation_overtook() {
    let own = Arc::new(OnceLock::<Random>::new());
    let overtaken = Arc::clone(&own);
    let words = own.get_or_init(|| {
        Random::given(move || {
            overtaken.get().unwrap().invalidate();
            1
        })
    });
    let ids = UlidGenerator::of(Hands::at(START).origin(words.clone()));
    let before = ids.mint().unwrap();
    assert_eq!(ids.mint().unwrap().time().since(before.time()), 1);
}

/// Another thread tells of a copy while a minter draws: what it draws is of before, and the copy has it, too.
#[test]
fn what_a_minter_draws_while_an_era_ends_is_of_that_era() {
    let overtaken = || {
        let own = Arc::new(OnceLock::<Arc<Origin>>::new());
        let (known, mut words) = (Arc::clone(&own), 0);
        let random = Random::given(move || {
            words += 1;
            if words == 1 {
                known.get().unwrap().invalidate();
            }
            words
        });
        Arc::clone(own.get_or_init(|| Hands::at(START).origin(random)))
    };
    let ulids = UlidGenerator::of(overtaken());
    let mut minter = ulids.minter();
    minter.mint().unwrap();
    let later = ulids.mint().unwrap();
    assert!(minter.mint().unwrap() > later);
    let uuids = UuidV7Generator::of(overtaken(), false);
    let mut minter = uuids.minter();
    minter.mint().unwrap();
    let later = uuids.mint().unwrap();
    assert!(minter.mint().unwrap() > later);
}

/// Otherwise the last of them would be in the next millisecond, which may begin below it.
#[test]
fn a_draw_that_begins_a_millisecond_fits_it_to_the_last_id() {
    for (count, fits) in [(4, true), (5, false), (32, false)] {
        // The first of a millisecond is three short of the largest.
        let mut words = [u64::MAX, u64::MAX - 3].into_iter().cycle();
        let ids = UlidGenerator::of(Hands::at(START).origin(Random::given(move || words.next().unwrap())));
        let many = ids.mint_many(count);
        assert_eq!(many.is_ok(), fits, "{count}: {many:?}");
        let mut minted = many.iter().flatten();
        assert!(minted.all(|id| id.time().get() == START), "{count}: {many:?}");
    }
}

/// A clock whose time is at hand, as while a machine mints fast, and what mints by it.
fn at_hand(hands: &Hands, random: Random) -> (Arc<Clock>, Arc<Origin>) {
    let clock = Arc::new(Clock::new(crate::ClockPolicy::default(), Box::new(hands.clone())));
    clock.tick();
    (Arc::clone(&clock), Origin::with_clock(clock, hands.wall_nanos(), random))
}

/// With the time at hand each ID but the first goes by the lease, which knows the low half alone.
#[test]
fn the_low_half_of_a_ulid_carries_into_the_high_one_also_by_a_lease() {
    let mut words = [7 << 48, u64::MAX - 3].into_iter().cycle();
    let (_, origin) = at_hand(&Hands::at(START), Random::given(move || words.next().unwrap()));
    let ids = UlidGenerator::of(origin);
    let first = ids.mint().unwrap();
    for more in 1..10 {
        assert_eq!(ids.mint().unwrap().get(), first.get() + more);
    }
}

#[test]
fn a_millisecond_that_has_begun_at_hand_is_that_of_every_next_id() {
    let hands = Hands::at(START);
    let (clock, origin) = at_hand(&hands, seeded(5));
    let (uuids, ulids) = (UuidV7Generator::of(Arc::clone(&origin), false), UlidGenerator::of(origin));
    let (mut of_uuids, mut of_ulids) = (uuids.minter(), ulids.minter());
    for millis in 0..20 {
        let now = UnixMillis::new(START + millis);
        for _ in 0..3 {
            let times = [uuids.mint().unwrap().time(), of_uuids.mint().unwrap().time()];
            assert_eq!(times, [Some(now); 2], "{millis}");
            let times = [ulids.mint().unwrap().time(), of_ulids.mint().unwrap().time()];
            assert_eq!(times, [now; 2], "{millis}");
        }
        hands.run(1);
        clock.tick();
    }
}

/// A copy of the process holds the same, and the next era may be at hand before the minter mints again.
#[test]
fn what_a_minter_has_drawn_ends_with_its_era_whether_the_next_one_is_at_hand_or_read() {
    for ticks in [true, false] {
        let (clock, origin) = at_hand(&Hands::at(START), seeded(6));
        let mut uuids = UuidV7Generator::of(Arc::clone(&origin), false).minter();
        let mut ulids = UlidGenerator::of(origin).minter();
        let before = (uuids.mint().unwrap(), ulids.mint().unwrap());
        clock.invalidate();
        if ticks {
            clock.tick();
        }
        let after = (uuids.mint().unwrap(), ulids.mint().unwrap());
        assert!(order_bits(after.0) > order_bits(before.0) + 1, "at hand: {ticks}");
        assert!(after.1.random().abs_diff(before.1.random()) > 1 << 40, "at hand: {ticks}");
    }
}

/// Who took it at once would mint from what was drawn in the era before.
#[test]
fn the_time_of_a_new_era_is_at_hand_when_the_era_was_noticed() {
    let clock = Arc::new(Clock::new(crate::ClockPolicy::default(), Box::new(Hands::at(START))));
    let origin = Origin::with_clock(Arc::clone(&clock), || None, seeded(1));
    clock.invalidate();
    clock.tick();
    assert_eq!((origin.millis_at_hand(), origin.random.generation()), (None, 0));
    let millis = origin.millis().unwrap();
    assert_eq!((origin.millis_at_hand(), origin.random.generation()), (Some(millis), 1));
}

/// Random words that say how many invalidations came before them, and how many there were.
fn generations() -> (Random, impl Fn() -> u64) {
    let own = Arc::new(OnceLock::<Random>::new());
    let words = Random::given({
        let own = Arc::clone(&own);
        move || own.get().map_or(0, Random::generation) << 32
    });
    own.set(words.clone()).unwrap();
    (words, move || own.get().unwrap().generation())
}

/// The invalidations before the random bits of this ID were drawn.
fn drawn_in(id: Uuid) -> u64 {
    u64::try_from(id.get() & ((1 << 54) - 1)).unwrap() >> (32 - (64 - 54))
}

#[test]
fn a_precise_uuid_v7_reads_the_clock_also_where_a_time_is_at_hand() {
    let hands = Hands::at(START);
    let (_, origin) = at_hand(&hands, seeded(13));
    let ids = UuidV7Generator::of(origin, true);
    for quarter in 0..4 {
        assert_eq!(ids.mint().unwrap().get() >> 64 & 0xfff, quarter * 1024);
        hands.step_nanos(250_000);
    }
}

/// The steady clock may be a little behind it, and never ahead.
#[test]
fn a_precise_uuid_v7_has_the_wall_clocks_time_where_the_steady_one_is_less_than_a_second_behind() {
    for (ahead, time) in [(-1, START), (0, START), (999, START + 999), (1_000, START), (DAY, START)] {
        let nanos = u64::try_from((START + ahead) * 1_000_000).unwrap();
        let origin = Origin::given(Hands::at(START), move || Some(nanos), seeded(1));
        let id = UuidV7Generator::of(origin, true).mint().unwrap();
        assert_eq!(id.time(), Some(UnixMillis::new(time)), "{ahead} ms ahead");
    }
}

/// Nothing but the clock ends them, also where no time is at hand and each ID looks at it.
#[test]
fn a_minter_mints_all_that_it_has_drawn() {
    let ids = UuidV7Generator::of(Hands::at(START).origin(constant(0)), false);
    let mut minter = ids.minter();
    for order in 0..100 {
        assert_eq!(order_bits(minter.mint().unwrap()), order);
    }
}

#[test]
fn who_is_told_to_retry_an_object_id_in_a_millisecond_is_right() {
    let second = START / SECOND;
    let hands = Hands::at(second * SECOND + 999);
    let origin = hands.origin(seeded(1));
    let ids = ObjectIdGenerator::of(Arc::clone(&origin));
    // All counters of this second and of the next.
    let last = ((second.unsigned_abs() + 2) << 24) - 1;
    origin.process.run.draw(1, u64::MAX - 1, |_| last).unwrap();
    assert_eq!(ids.mint(), Err(MintError::Busy { retry: Duration::from_millis(1) }));
    hands.run(1);
    let next = ids.mint().unwrap();
    assert_eq!((next.time().get(), next.counter()), ((second + 2) * SECOND, 0));
}

#[test]
fn all_128_bits_of_a_ksuids_payload_are_random() {
    let mut words = [u64::MAX, 7].into_iter();
    let ids = KsuidGenerator::of(Hands::at(START).origin(Random::given(move || words.next().unwrap())));
    assert_eq!(ids.mint().unwrap().payload(), u128::from(u64::MAX) << 64 | 7);
}

#[test]
fn a_nanoid_that_cannot_be_is_refused_where_it_is_defined() {
    use crate::definition::{Given, Kind};
    for (alphabet, length, fits) in
        [("ab", "8", true), ("aa", "8", false), ("a", "8", false), ("ab", "0", false)]
    {
        let mut given = Given::default();
        given.set("alphabet", alphabet);
        given.set("length", length);
        let mut complaints = Vec::new();
        let nanoid: Kind = "nanoid".parse().unwrap();
        let defined = nanoid.define(&given, &mut |key, why| complaints.push((key, why)));
        assert_eq!(
            (defined.is_some(), complaints.is_empty()),
            (fits, fits),
            "{alphabet} {length} {complaints:?}"
        );
    }
}
