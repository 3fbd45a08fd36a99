//! Segments through the public face.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use floe::ledger::{Key, Ledger, Memory};
use floe::{Definition, Floe, Id, MintError, Name, NameOptions, Segment};

use crate::faulty::{Faulty, Mode, within};

fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

fn key() -> Key {
    Key::name(&name("tickets"))
}

fn mark(ledger: &dyn Ledger) -> u64 {
    ledger.list(key().as_str(), "", 1).unwrap()[0].mark
}

fn segment(floe: &Floe, increment: u64, offset: u64, options: &NameOptions) -> Segment {
    let definition = Definition::Segment { increment, offset };
    floe.define(&name("tickets"), &definition, options).unwrap().get().cloned().unwrap()
}

fn steps(min_step: u64, max_step: u64) -> NameOptions {
    NameOptions { min_step, max_step, ..NameOptions::default() }
}

#[test]
fn opened_and_closed_three_times_it_counts_on_without_a_gap() {
    let ledger = Memory::default();
    for expected in 1..=3 {
        let floe = Floe::open(ledger.clone()).unwrap();
        assert_eq!(floe.segment("tickets").unwrap().mint().unwrap().get(), expected);
        // Dropped: the tail goes back.
    }
    assert_eq!(mark(&ledger), 3);
}

#[test]
fn a_crash_loses_at_most_what_was_reserved() {
    let ledger = Faulty::new(Mode::Fine);
    let mut largest = 0;
    for life in 0..3 {
        let floe = Floe::open(ledger.clone()).unwrap();
        let segment = segment(&floe, 1, 1, &steps(10, 100));
        for _ in 0..7 {
            let number = segment.mint().unwrap().get();
            assert!(number > largest && number <= largest + 30 * life + 7, "{number} after {largest}");
            largest = number;
        }
        // As far as the ledger can tell, the process is dead.
        ledger.set(Mode::Gone);
        drop((segment, floe));
        ledger.set(Mode::Fine);
    }
    assert!(largest > 21, "and the tails were lost");
}

#[test]
fn threads_get_numbers_of_their_own_and_batches_without_gaps() {
    let floe = Floe::builder().max_wait(Duration::from_secs(30)).open(Memory::default()).unwrap();
    let segment = segment(&floe, 1, 1, &steps(50, 10_000));
    let minted: Vec<u64> = thread::scope(|scope| {
        let mint = |thread: u64| {
            let segment = &segment;
            move || {
                let (mut all, mut last) = (Vec::new(), 0);
                for n in 0..400 {
                    let batch: Vec<_> =
                        segment.mint_many(1 + (n + thread) % 120).unwrap().map(|id| id.get()).collect();
                    assert!(batch[0] > last, "one thread's numbers increase");
                    assert!(batch.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a batch has no gaps");
                    last = batch[batch.len() - 1];
                    all.extend(batch);
                }
                all
            }
        };
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(mint(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(minted.iter().collect::<HashSet<_>>().len(), minted.len());
}

#[test]
fn slices_are_filled_with_numbers_that_follow_one_another() {
    let floe = Floe::builder().max_wait(Duration::from_secs(30)).open(Memory::default()).unwrap();
    let segment = segment(&floe, 3, 2, &steps(50, 10_000));
    let mut all = Vec::new();
    for count in [1, 120, 0, 49, 1_000] {
        let mut ids = vec![Id::MAX; count];
        segment.fill(&mut ids).unwrap();
        assert!(ids.windows(2).all(|pair| pair[0].get() + 3 == pair[1].get()), "no gaps: {ids:?}");
        all.extend(ids.iter().map(|id| id.get()));
        all.push(segment.mint().unwrap().get());
    }
    assert!(all.is_sorted_by(|one, next| one < next) && all.iter().all(|number| number % 3 == 2));
}

#[test]
fn a_slice_for_which_too_few_numbers_are_left_is_not_touched() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::builder().max_wait(Duration::from_millis(50)).open(ledger.clone()).unwrap();
    let segment = segment(&floe, 1, 1, &steps(100_000, 100_000));
    segment.mint().unwrap();
    ledger.set(Mode::Gone);
    // More than this range and the next one, should it be reserved already.
    let mut ids = vec![Id::MAX; 250_000];
    let refused = segment.fill(&mut ids);
    assert!(matches!(refused, Err(MintError::Unavailable { .. })), "{refused:?}");
    assert!(ids.iter().all(|id| *id == Id::MAX));
    segment.fill(&mut ids[..99_999]).unwrap();
    assert_eq!([ids[0].get(), ids[99_998].get()], [2, 100_000]);
}

#[test]
fn the_next_range_is_reserved_before_it_is_needed() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::open(ledger.clone()).unwrap();
    let segment = segment(&floe, 1, 1, &steps(100, 100));
    segment.mint().unwrap();
    assert_eq!((ledger.calls(), mark(&ledger)), (1, 200), "one in use, and a whole one behind it");
    segment.mint_many(100).unwrap();
    within(Duration::from_secs(5), || mark(&ledger) == 300);
}

#[test]
fn an_outage_is_survived_for_the_spare_and_ends_by_itself() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::builder().max_wait(Duration::from_millis(50)).open(ledger.clone()).unwrap();
    let segment = segment(&floe, 1, 1, &steps(100, 100));
    segment.mint().unwrap();
    ledger.set(Mode::Gone);
    let before = floe.status().clock.steady;
    for expected in 2..=200 {
        assert_eq!(segment.mint().unwrap().get(), expected);
    }
    within(Duration::from_secs(5), || match segment.mint() {
        Err(MintError::Unavailable { since, .. }) => {
            assert!(since >= before, "{since}");
            true
        }
        // The first question has not come back yet.
        Err(MintError::Busy { .. }) => false,
        other => panic!("{other:?}"),
    });
    ledger.set(Mode::Fine);
    let mut number = None;
    within(Duration::from_secs(1), || {
        number = segment.mint().ok();
        number.is_some()
    });
    assert_eq!(number.unwrap().get(), 201);
}

#[test]
fn two_ticket_servers_as_flickr_has_them_are_disjoint() {
    // Each has a ledger of its own: nothing but increment and offset keeps them apart.
    let minted = [1, 2].map(|offset| {
        let floe = Floe::open(Memory::default()).unwrap();
        let numbers = segment(&floe, 2, offset, &NameOptions::default()).mint_many(5_000).unwrap();
        numbers.map(|id| id.get()).collect::<Vec<_>>()
    });
    assert_eq!((&minted[0][..3], &minted[1][..3]), (&[1, 3, 5][..], &[2, 4, 6][..]));
    assert_eq!(minted.iter().flatten().collect::<HashSet<_>>().len(), 10_000);
}

#[test]
fn the_last_numbers_below_2_to_the_63_are_minted_exactly() {
    let floe = Floe::open(Memory::default()).unwrap();
    let segment = floe.segment("tickets").unwrap();
    floe.ledger().raise(&key(), (1 << 63) - 4).unwrap();
    for expected in (1 << 63) - 3..=(1_u64 << 63) - 1 {
        assert_eq!(segment.mint().unwrap().get(), expected);
    }
    for _ in 0..2 {
        let Err(MintError::Exhausted(text)) = segment.mint() else { panic!("it goes on") };
        assert!(text.contains("9223372036854775807") && text.contains("`tickets`"), "{text}");
        assert!(text.contains("Bind a new name"), "{text}");
    }
    assert_eq!(mark(floe.ledger()), (1 << 63) - 1);
}

#[test]
fn a_count_outside_its_range_is_refused_with_the_range() {
    let floe = Floe::open(Memory::default()).unwrap();
    let segment = floe.segment("tickets").unwrap();
    for asked in [0, (1 << 32) + 1, 1_000_000_000_000_000_000, u64::MAX] {
        let expected = MintError::Count { asked, max: 1 << 32 };
        assert_eq!(segment.mint_many(asked).err(), Some(expected.clone()));
        assert!(expected.to_string().contains("1 to 4294967296"), "{expected}");
    }
    let huge = segment.mint_many(1 << 32).unwrap();
    assert_eq!((huge.len(), huge.size_hint().1), (1 << 32, Some(1 << 32)));
    assert!(segment.mint().unwrap().get() > 1 << 32);
}

#[test]
fn steps_that_cannot_be_are_refused() {
    let floe = Floe::open(Memory::default()).unwrap();
    let short = Definition::SEGMENT.in_form("base62".parse().unwrap()).unwrap();
    for definition in [Definition::SEGMENT, short] {
        for (min, max) in [(0, 10), (11, 10)] {
            let refused = floe.define(&name("tickets"), &definition, &steps(min, max)).unwrap_err();
            assert!(refused.to_string().contains("min_step"), "{definition}: {refused}");
            assert_eq!(floe.stored(&name("tickets")), Ok(None), "{definition}");
        }
    }
}

#[test]
fn where_a_name_begins_is_told_apart_from_where_it_began() {
    let floe = Floe::open(Memory::default()).unwrap();
    let handle = floe.define(&name("tickets"), &Definition::SEGMENT, &NameOptions::default()).unwrap();
    for _ in 0..2 {
        assert_eq!(floe.begin_at(&handle, 1_001), Ok(None), "it begins there");
    }
    assert_eq!(floe.begin_at(&handle, 1_002), Ok(Some(1_001)));
}

#[test]
fn a_process_that_ends_at_any_call_leaves_no_name_below_its_first_number() {
    for definition in [Definition::SEGMENT, Definition::Counter] {
        for calls in 0.. {
            let ledger = Faulty::new(Mode::Fine);
            let floe = Floe::open(ledger.clone()).unwrap();
            ledger.set(Mode::Calls(calls));
            let ended =
                floe.define_from(&name("tickets"), &definition, &NameOptions::default(), 1_001).is_err();
            ledger.set(Mode::Gone);
            floe.close();
            ledger.set(Mode::Fine);
            let is_bound = ledger.definition(&name("tickets")).unwrap().is_some();
            assert!(!is_bound || mark(&ledger) == 1_000, "{definition}, after {calls} calls");
            // Whoever says a number next says it for all that will be minted.
            let floe = Floe::open(ledger.clone()).unwrap();
            let next = floe.define_from(&name("tickets"), &definition, &NameOptions::default(), 2_001);
            let begins = if is_bound { 1_001 } else { 2_001 };
            let first = next.unwrap().0.mint_many(1).unwrap().next().unwrap().to_string();
            assert_eq!(first, begins.to_string(), "{definition}, after {calls} calls");
            if !ended {
                assert!(calls > 2, "{calls} calls were all of it");
                break;
            }
        }
    }
}
