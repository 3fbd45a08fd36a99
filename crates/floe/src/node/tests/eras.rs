//! What a new era ends, and how little a mark or a range may be off: by one millisecond, by one number.

use super::asking::worker_of;
use super::slots::{pool, refused};
use super::*;
use crate::wakes::tests::runs;

fn first_end(rig: &Rig) -> u64 {
    rig.node.groups[0].window().unwrap().1.position().unwrap()
}

#[test]
fn a_slot_that_was_asked_for_in_vain_is_asked_for_with_a_fresh_token_in_a_new_era() {
    for workers in [Workers::all(10).unwrap(), Workers::one(10, 3).unwrap()] {
        let mut rig = Rig::new(&Memory::default(), 11);
        let stream = rig.snowflake(&Layout::TWITTER, workers);
        rig.mint(&stream);
        let (id, first) = rig.reserve();
        // The effect is there, the reply is lost, and the process is copied: each copy remembers the token.
        rig.ledger.reserve(&first).unwrap();
        rig.answer(id, unavailable());
        rig.clock.invalidate();
        rig.hands.pass(400);
        rig.mint(&stream);
        let (_, second) = rig.reserve();
        assert_ne!(second.token, first.token, "both copies would be answered with one window");
    }
}

#[test]
fn a_refill_without_an_answer_is_asked_for_with_a_fresh_token_in_a_new_era() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.number(&numbers, 1), Err(None));
    let (id, first) = rig.reserve();
    rig.ledger.reserve(&first).unwrap();
    rig.answer(id, unavailable());
    rig.clock.invalidate();
    rig.hands.pass(400);
    let (id, second) = rig.reserve();
    assert_ne!(second.token, first.token, "both copies would be answered with one range");
    let answer = rig.ledger.reserve(&second);
    rig.answer(id, answer);
    assert_eq!(rig.number(&numbers, 1), Ok(first.count), "what the first one took effect for is the copy's");
}

/// A thread can be held up between its look at the clock and its draw.
#[test]
fn who_looked_at_the_clock_in_the_era_before_draws_nothing_after_the_node_has_looked() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let (stream, numbers) = (rig.twitter(), rig.segment("tickets", STEPS));
    rig.mint_in(&stream);
    rig.numbers_after_settling(&numbers, 1);
    let before = rig.clock.look().stamp;
    rig.clock.invalidate();
    rig.step();
    assert_eq!(
        stream.draw(before, 1, true, 0),
        Ok(Draw::NeedRange),
        "a copy of the process has this window too"
    );
    assert_eq!(numbers.draw(before.era(), 1, true), Draw::NeedRange, "and these numbers");
}

/// The node looked at the clock before the era ended, and hears of the caller after that.
#[test]
fn who_asks_in_a_new_era_that_the_node_has_not_seen_yet_is_woken_to_ask_again() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let numbers = rig.segment("tickets", STEPS);
    rig.numbers_after_settling(&numbers, 1);
    let before = rig.clock.look();
    rig.clock.invalidate();
    assert_eq!(rig.number(&numbers, 1), Err(None));
    let waits = Arc::clone(&numbers);
    numbers.shared.waiters.add(&runs(move || waits.shared.want(1)));
    let Node { segments, requests, .. } = &mut rig.node;
    segments.iter_mut().for_each(|(&index, segment)| segment.step(index, requests, &before));
    rig.settle();
    assert!(rig.number(&numbers, 1).is_ok(), "nobody asks for it");
}

/// A copy of the process may get the same answer.
#[test]
fn who_looked_at_the_clock_in_the_era_before_draws_nothing_of_an_answer_that_comes_after_it() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let (stream, numbers) = (rig.twitter(), rig.segment("tickets", STEPS));
    let before = rig.clock.look().stamp;
    rig.mint(&stream);
    assert_eq!(rig.number(&numbers, 1), Err(None));
    rig.step();
    let calls: Vec<_> = rig.calls.drain(..).collect();
    assert_eq!(calls.len(), 2);
    rig.clock.invalidate();
    calls.into_iter().for_each(|call| rig.serve(call));
    assert_eq!(stream.draw(before, 1, true, 0), Ok(Draw::NeedRange));
    assert_eq!(numbers.draw(before.era(), 1, true), Draw::NeedRange);
    // Nor in a moment between: nothing was ever published.
    assert_eq!((stream.shared.cursor.version(), numbers.shared.cursor.version()), (0, 0));
}

#[test]
fn a_mark_one_millisecond_below_what_was_held_stops_the_slot() {
    for (back, new_era) in [(0, false), (1, false), (0, true), (1, true)] {
        let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, true);
        let stream = rig.snowflake(&Layout::TWITTER, Workers::one(10, 3).unwrap());
        rig.mint_in(&stream);
        let held_to = first_end(&rig);
        if new_era {
            rig.clock.invalidate();
            rig.hands.pass(2 * WINDOW);
        } else {
            rig.hands.pass(held_to - rig.now() - WINDOW / 4);
        }
        rig.mint(&stream);
        let (id, request) = rig.reserve();
        let previous_mark = held_to - back;
        let start = previous_mark.max(request.floor);
        rig.answer(id, Ok(Reply::Got { start, end: start + request.count, previous_mark }));
        let minted = rig.mint(&stream);
        if back == 0 {
            assert!(matches!(minted, Mint::Got { .. }), "{minted:?}");
        } else {
            let Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) =
                minted
            else {
                panic!("it mints on, new era: {new_era}")
            };
            assert!(text.contains("went backwards"), "{text}");
        }
    }
}

/// What was held in each slot is remembered, not only in the last one: whether that was given up in a new era or lost.
#[test]
fn a_mark_below_what_was_held_in_a_slot_before_another_one_stops_it() {
    for (back, lost) in [(0, false), (1, false), (0, true), (1, true)] {
        let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, false);
        let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
        let first = rig.mint_in(&stream);
        let held_to = first_end(&rig);
        let mut take = |worker: u64, mark: Option<u64>| {
            if !lost {
                rig.clock.invalidate();
            }
            rig.hands.pass(if lost { WINDOW * 3 / 4 } else { 2 * WINDOW });
            rig.mint(&stream);
            let (mut id, mut request) = rig.reserve();
            if worker_of(&request) != worker {
                rig.answer(id, refused(rig.now() + 1));
                (id, request) = rig.reserve();
            }
            assert_eq!(worker_of(&request), worker);
            let start = request.floor;
            let previous_mark = mark.unwrap_or(start);
            rig.answer(id, Ok(Reply::Got { start, end: start + request.count, previous_mark }));
            rig.mint(&stream)
        };
        assert!(matches!(take(1 - first, None), Mint::Got { .. }));
        match take(first, Some(held_to - back)) {
            Mint::Got { .. } => assert_eq!(back, 0),
            Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) => {
                assert!(back == 1 && text.contains("went backwards"), "{text}");
            }
            other => panic!("{other:?}, lost: {lost}"),
        }
    }
}

#[test]
fn a_mark_one_number_below_what_was_held_stops_the_segment() {
    for (back, new_era) in [(0, false), (1, false), (0, true), (1, true)] {
        let mut rig = Rig::new(&Memory::default(), 1);
        let numbers = rig.segment("tickets", STEPS);
        assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
        if new_era {
            rig.clock.invalidate();
            assert_eq!(rig.number(&numbers, 1), Err(None));
        }
        let (id, request) = rig.reserve();
        let previous_mark = 20 - back;
        let start = previous_mark.max(request.floor);
        rig.answer(id, Ok(Reply::Got { start, end: start + request.count, previous_mark }));
        let minted = rig.number(&numbers, 1);
        if back == 0 {
            assert_eq!(minted, Ok(if new_era { 20 } else { 15 }));
        } else {
            assert!(matches!(minted, Err(Some(MintError::Stopped(_)))), "{minted:?}, new era: {new_era}");
        }
    }
}

#[test]
fn a_mark_one_number_below_what_was_seen_stops_the_counter() {
    for back in [0, 1] {
        let mut rig = Rig::new(&Memory::default(), 1);
        let name = rig.queue("count", None);
        rig.enqueue(&name, 5);
        rig.settle();
        let ticket = rig.enqueue(&name, 1);
        let (id, _) = rig.reserve();
        let mark = 5 - back;
        rig.answer(id, Ok(Reply::Got { start: mark, end: mark + 1, previous_mark: mark }));
        match ticket.answered() {
            Some(Ok(position)) => assert_eq!((position, back), (5, 0)),
            Some(Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) => {
                assert!(back == 1 && text.contains("went backwards"))
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A ledger that comes back after an outage may have been put back.
#[test]
fn a_mark_below_what_was_seen_before_an_outage_stops_all_that_rest_on_it() {
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.snowflake(&Layout::TWITTER, Workers::one(10, 3).unwrap());
    let (numbers, name) = (rig.segment("tickets", STEPS), rig.queue("count", None));
    rig.mint_in(&stream);
    rig.numbers_after_settling(&numbers, 15);
    rig.enqueue(&name, 5);
    rig.settle();
    rig.hands.pass(WINDOW / 2);
    let ticket = rig.enqueue(&name, 1);
    assert_eq!(rig.number(&numbers, 100), Err(None));
    assert_eq!(rig.fail_all(), 3);
    rig.hands.pass(WINDOW / 2);
    rig.step();
    for call in rig.calls.drain(..).collect::<Vec<_>>() {
        let (Op::Reserve(request) | Op::Count(request)) = &call.op else { panic!("{call:?}") };
        let previous_mark = rig.mark(&request.key) - 1;
        let start = previous_mark.max(request.floor);
        rig.answer(call.id, Ok(Reply::Got { start, end: start + request.count, previous_mark }));
    }
    let minted = rig.mint(&stream);
    assert!(matches!(minted, Mint::Empty(Some(MintError::Stopped(_)))), "{minted:?}");
    assert!(matches!(rig.number(&numbers, 1), Err(Some(MintError::Stopped(_)))));
    assert!(matches!(ticket.answered(), Some(Err(MintError::Stopped(_)))), "{:?}", ticket.answered());
}

#[test]
fn windows_that_are_a_little_apart_are_not_one() {
    for gap in [1, 2, 10, 20] {
        let mut rig = Rig::new(&Memory::default(), 11);
        let stream = rig.twitter();
        let worker = rig.mint_in(&stream);
        rig.hands.pass(first_end(&rig) + gap - rig.now());
        assert_eq!(rig.mint_in(&stream), worker, "the slot is renewed");
        let owned = stream.shared.cursor.owned().current;
        let begins = Layout::TWITTER.time_of(Layout::TWITTER.tick_of(owned.start)).position();
        assert_eq!(begins, Some(rig.now()), "a gap of {gap} ms is nobody's, or somebody else's (I5)");
    }
}

#[test]
fn ranges_that_are_one_number_apart_are_not_one() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    let tickets = Key::name(&Name::new("tickets").unwrap());
    assert_eq!(rig.numbers_after_settling(&numbers, 12), 0);
    assert_eq!(rig.other(&tickets, 0, 1, None), 21);
    rig.settle();
    let owned = numbers.shared.cursor.owned();
    assert_eq!((owned.current.end, owned.spare.start), (20, 21), "20 is somebody else's");
    // A spare is there already, and the next range begins one number behind it.
    let theirs = owned.spare.end;
    assert_eq!(rig.other(&tickets, 0, 1, None), theirs + 1);
    assert_eq!(rig.number(&numbers, 500), Err(None));
    rig.settle();
    assert_eq!(rig.number(&numbers, 500), Ok(theirs + 1), "the number between is somebody else's");
}

#[test]
fn a_name_that_is_bound_in_a_later_era_mints_in_the_window_of_that_era() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let first = rig.twitter();
    rig.mint_in(&first);
    rig.clock.invalidate();
    rig.mint_in(&first);
    let second = rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap());
    assert!(matches!(rig.mint(&second), Mint::Got { .. }), "the window is there");
}

#[test]
fn a_mark_one_millisecond_below_the_end_of_a_renewal_stops_the_slot() {
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.snowflake(&Layout::TWITTER, Workers::one(10, 3).unwrap());
    rig.mint_in(&stream);
    let first = first_end(&rig);
    rig.hands.pass(first - rig.now() - WINDOW / 4);
    rig.settle();
    let renewed = first_end(&rig);
    assert!(renewed > first);
    rig.clock.invalidate();
    rig.hands.pass(3 * WINDOW);
    rig.mint(&stream);
    let (id, request) = rig.reserve();
    let (start, end) = (request.floor, request.floor + request.count);
    rig.answer(id, Ok(Reply::Got { start, end, previous_mark: renewed - 1 }));
    let minted = rig.mint(&stream);
    assert!(matches!(minted, Mint::Empty(Some(MintError::Stopped(_)))), "{minted:?}");
}
