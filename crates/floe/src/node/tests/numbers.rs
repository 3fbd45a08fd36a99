//! Segments (design: "Segments", 号段).

use super::*;
use crate::ledger::MAX_MARK;
use crate::supply::NumberChunk;
use crate::sync::Ordering;

fn tickets() -> Key {
    Key::name(&Name::new("tickets").unwrap())
}

#[test]
fn a_whole_spare_is_held_and_the_next_is_reserved_when_it_comes_into_use() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.number(&numbers, 1), Err(None));
    let (id, request) = rig.reserve();
    assert_eq!(
        (request.count, request.floor, request.create),
        (20, 0, false),
        "one in use, and one behind it"
    );
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    for n in 0..10 {
        rig.step();
        assert!(rig.calls.is_empty(), "{n}: a whole spare is there");
        assert_eq!(rig.number(&numbers, 1), Ok(n));
    }
    assert_eq!(rig.number(&numbers, 1), Ok(10));
    let (_, next) = rig.reserve();
    assert_eq!(next.floor, 20, "never below the last end held");
    // The ledger is away: the spare lasts, with nobody waiting.
    for n in 11..20 {
        assert_eq!(rig.number(&numbers, 1), Ok(n));
    }
    assert_eq!(rig.number(&numbers, 1), Err(None));
}

#[test]
fn an_outage_is_told_when_the_numbers_are_used_up_and_ends_by_itself() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
    let since = rig.clock.look().stamp.time();
    let (first, request) = rig.reserve();
    rig.ledger.reserve(&request).unwrap();
    rig.answer(first, unavailable());
    assert_eq!(rig.number(&numbers, 5), Ok(15), "what is in hand is minted to the last");
    for _ in 0..20 {
        let told = MintError::Unavailable { since, cause: "gone".to_owned() };
        assert_eq!(rig.number(&numbers, 1), Err(Some(told)));
        rig.step();
        assert!(rig.calls.is_empty(), "not before a pause");
        rig.hands.pass(400);
        let (id, again) = rig.reserve();
        assert_eq!(again.token, request.token, "the same until it is answered: marks do not run away");
        rig.ledger.reserve(&again).unwrap();
        rig.answer(id, unavailable());
    }
    assert_eq!(rig.mark(&tickets()), 20 + request.count);
    rig.hands.pass(400);
    rig.settle();
    assert_eq!(rig.number(&numbers, 1), Ok(20), "nothing was wasted by the lost replies");
    while rig.number(&numbers, 1).is_ok() {}
    assert_eq!(rig.number(&numbers, 1), Err(None), "the outage is over: who needs more waits for it");
}

#[test]
fn the_step_follows_the_rate_inside_its_bounds() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.numbers_after_settling(&numbers, 1);
    let steps = |rig: &mut Rig, interval: u64| {
        (0..5)
            .map(|_| {
                rig.hands.pass(interval);
                while numbers.shared.cursor.left() >= numbers.low.load(Ordering::Relaxed) {
                    rig.number(&numbers, 1).unwrap();
                }
                let (id, request) = rig.reserve();
                let answer = rig.ledger.reserve(&request);
                rig.answer(id, answer);
                request.count
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        steps(&mut rig, 59_999),
        [20, 40, 80, 80, 80],
        "used up too soon: twice as much, up to max_step"
    );
    assert_eq!(steps(&mut rig, 60_000), [80; 5], "as long as it should last");
    assert_eq!(steps(&mut rig, 120_000), [80; 5], "up to twice as long");
    assert_eq!(steps(&mut rig, 120_001), [40, 20, 10, 10, 10], "longer: half as much, down to min_step");
    assert_eq!(steps(&mut rig, 60_000), [10; 5], "as long as it should last, here too");
}

#[test]
fn a_batch_larger_than_the_step_is_reserved_in_one_piece() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 3), 0);
    rig.other(&tickets(), 0, 7, None);
    assert_eq!(rig.number(&numbers, 1_000), Err(None));
    let (id, request) = rig.reserve();
    assert_eq!(request.count, 1_000);
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert_eq!(rig.number(&numbers, 1_000), Ok(27), "its numbers follow one another");
    assert_eq!(rig.number(&numbers, 1), Err(None));
    rig.settle();
    assert!(rig.number(&numbers, 1).unwrap() >= 1_027);
}

#[test]
fn what_is_left_in_two_pieces_is_no_batch() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 12), 0);
    rig.other(&tickets(), 0, 7, None);
    rig.settle();
    let owned = numbers.shared.cursor.owned();
    let whole = owned.spare.end - owned.spare.start + 1;
    assert!(numbers.shared.cursor.left() >= whole, "{owned:?}");
    assert_eq!(rig.number(&numbers, whole), Err(None));
    rig.settle();
    assert_eq!(rig.number(&numbers, whole), Ok(owned.spare.start));
}

/// Only two are held, and the oldest one has the fewest numbers left.
#[test]
fn a_third_range_that_does_not_follow_takes_the_place_of_the_first() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 12), 0);
    let mut another = |count| {
        rig.other(&tickets(), 0, 7, None);
        let early = rig.number(&numbers, count);
        rig.settle();
        early
    };
    assert_eq!(another(1), Ok(12));
    let second = numbers.shared.cursor.owned().spare;
    assert_eq!(another(second.end - second.start + 1), Err(None), "more than the second one has");
    let owned = numbers.shared.cursor.owned();
    assert_eq!(owned.current, second);
    assert!(owned.spare.start > second.end, "{owned:?}");
    assert_eq!(rig.number(&numbers, 1), Ok(second.start));
}

#[test]
fn a_refill_that_is_asked_for_again_is_no_larger() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", Steps { max: 1_000_000, ..STEPS });
    assert_eq!(rig.numbers_after_settling(&numbers, 11), 0);
    let (mut id, first) = rig.reserve();
    for _ in 0..5 {
        rig.answer(id, unavailable());
        rig.hands.pass(400);
        let (next, again) = rig.reserve();
        assert_eq!(again.count, first.count, "that the ledger is silent says nothing about the rate");
        id = next;
    }
}

#[test]
fn ranges_of_two_nodes_are_disjoint_whatever_lies_between_them() {
    // I2 and I3, with gaps: each node's range ends where the other's begins.
    let ledger = Memory::default();
    let (mut a, mut b) = (Rig::new(&ledger, 1), Rig::new(&ledger, 2));
    let (on_a, on_b) = (a.segment("tickets", STEPS), b.segment("tickets", STEPS));
    let mut minted = Vec::new();
    let mut last = [None, None];
    for round in 0..500_u64 {
        for (node, (rig, numbers)) in [(&mut a, &on_a), (&mut b, &on_b)].into_iter().enumerate() {
            let count = 1 + (round * 7 + u64::try_from(node).unwrap() * 3) % 13;
            let start = rig.numbers_after_settling(numbers, count);
            assert!(last[node] < Some(start), "one node's numbers increase");
            last[node] = Some(start + count - 1);
            minted.extend(start..start + count);
        }
    }
    let all = minted.len();
    minted.sort_unstable();
    minted.dedup();
    assert_eq!(minted.len(), all);
    assert!(*minted.last().unwrap() < 2 * u64::try_from(all).unwrap(), "and few are wasted");
}

#[test]
fn a_range_that_does_not_follow_is_a_spare_and_nothing_in_hand_is_lost() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 12), 0);
    rig.other(&tickets(), 0, 7, None);
    rig.settle();
    let minted: Vec<_> = (0..10).map(|_| rig.number(&numbers, 1).unwrap()).collect();
    assert_eq!(minted, [12, 13, 14, 15, 16, 17, 18, 19, 27, 28]);
}

/// The first `end` numbers, of which the node wants to know when fewer than `low` are left.
fn supply(low: u64, end: u64) -> SegmentSupply {
    let numbers = SegmentSupply::new(1, 0, SharedCursor::new(0, Arc::default()));
    numbers.low.store(low, Ordering::Relaxed);
    numbers.shared.cursor.publish(&Owned { current: 0..end, ..Owned::default() }, 0);
    numbers
}

/// One by one they go by a lease, which asks for the next range no later than a batch does.
#[test]
fn the_next_range_is_wanted_when_too_little_is_left_behind_a_lease() {
    let numbers = supply(4, 10);
    let stamp = Stamp::new(0, UnixMillis::new(5));
    for number in 0..10 {
        assert_eq!(numbers.draw_one(stamp), Some(number));
        // The node remembers it, so the rest goes by a lease again.
        assert_eq!(numbers.shared.take_wanted(), (number == 6).then_some(0), "after {number}");
    }
    assert_eq!((numbers.draw_one(stamp), numbers.shared.take_wanted()), (None, Some(1)));
}

#[test]
fn a_draw_that_leaves_enough_behind_it_wakes_nobody() {
    let numbers = supply(4, 10);
    for (count, wanted) in [(6, None), (1, Some(0))] {
        assert!(matches!(numbers.draw(0, count, true), Draw::Got(_)));
        assert_eq!(numbers.shared.take_wanted(), wanted);
    }
}

/// The next range may not follow it, and there may be none.
#[test]
fn a_minter_takes_what_is_left_of_a_range() {
    let numbers = supply(64, 9);
    let mut chunk = NumberChunk::new(&numbers);
    let minted: Vec<_> =
        std::iter::from_fn(|| chunk.take(&numbers, || (0, false))).map(|id| id.get()).collect();
    assert_eq!(minted, (0..9).collect::<Vec<_>>());
}

/// The era that a call has read may be the one before. The next call begins after that has ended.
#[test]
fn a_clock_that_changes_while_it_is_read_is_looked_at_for_the_next_number() {
    for changes in [false, true] {
        let numbers = supply(64, 1_000);
        let mut chunk = NumberChunk::new(&numbers);
        let read = || {
            if changes {
                numbers.shared.cursor.pulse().beat();
            }
            (0, true)
        };
        assert!(chunk.take(&numbers, read).is_some());
        assert_eq!(chunk.take_again().is_none(), changes);
    }
}

/// A copy of the process has the range as well, and the node may not have looked yet.
#[test]
fn one_number_of_the_era_before_is_not_drawn() {
    let numbers = supply(0, 10);
    let draw = |era| numbers.draw_one(Stamp::new(era, UnixMillis::new(5)));
    assert_eq!((draw(0), draw(1), draw(0)), (Some(0), None, Some(1)));
}

/// What a minter has drawn it mints only as long as the segment's ranges and the clock's era are those of the draw.
#[test]
fn a_minters_numbers_end_with_their_range_and_with_their_era() {
    let numbers = SegmentSupply::new(3, 2, SharedCursor::new(0, Arc::default()));
    numbers.low.store(64, Ordering::Relaxed);
    numbers.shared.cursor.publish(&Owned { current: 0..1_000, ..Owned::default() }, 0);
    let at = |era, millis| Stamp::new(era, UnixMillis::new(millis));
    let mut chunk = NumberChunk::new(&numbers);
    let mut last = None;
    let mut minted = |stamp: Option<Stamp>, era| {
        if std::mem::replace(&mut last, stamp) != stamp {
            // As the clock does.
            numbers.shared.cursor.pulse().beat();
        }
        let again = chunk.take_again();
        let taken = again.or_else(|| chunk.take(&numbers, || (era, stamp.is_some())));
        let taken = taken.map(|id| (id.get() - 2) / 3);
        (again.is_some(), taken)
    };
    // Two, and then four at a time, which is a sixteenth of what is low.
    let same = at(0, 5);
    let first: Vec<_> = (0..8).map(|_| minted(Some(same), 0)).collect();
    assert_eq!(first.iter().map(|(_, number)| number.unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    let again: Vec<_> = first.iter().map(|(again, _)| *again).collect();
    assert_eq!(again, [false, true, false, true, true, true, false, true]);
    assert_eq!(minted(Some(same), 0), (true, Some(8)));
    assert_eq!(minted(Some(at(0, 6)), 0), (false, Some(9)), "the next stamp is looked at, and does no harm");
    assert_eq!(minted(None, 0), (false, Some(10)), "so it does where no time is at hand");
    assert_eq!(minted(None, 0), (false, Some(11)), "where each has to be looked at");
    // Drawn up to 14 by now.
    assert_eq!(minted(Some(at(0, 6)), 0), (false, Some(12)), "and so has the first one after that");
    numbers.shared.cursor.publish(&Owned { current: 0..1_000, spare: 2_000..3_000, ..Owned::default() }, 0);
    assert_eq!(minted(Some(at(0, 7)), 0), (false, Some(14)), "another range: half as many are drawn anew");
    for _ in 0..2 {
        assert_eq!(minted(Some(at(1, 7)), 1), (false, None), "a copy of the process has these too");
    }
    assert_eq!(numbers.shared.cursor.close(), Some(16));
    numbers.shared.cursor.publish(&Owned { current: 5_000..6_000, era: 1, ..Owned::default() }, 5_000);
    assert_eq!(minted(Some(at(1, 7)), 1), (false, Some(5_000)));
    assert_eq!(minted(Some(at(1, 7)), 1), (false, Some(5_001)));
    assert_eq!(minted(Some(at(1, 7)), 1), (true, Some(5_002)), "and draws several again");
    let four: Vec<_> = (0..4).map(|_| minted(None, 1)).collect();
    assert_eq!(four, [5_003, 5_004, 5_005, 5_006].map(|number| (false, Some(number))), "and mints them all");
    numbers.shared.cursor.close();
    assert_eq!(minted(Some(at(1, 7)), 1), (false, None), "closed");
}

#[test]
fn increments_and_offsets_end_at_the_largest_number() {
    for (increment, offset) in [(1, 0), (1, 1), (2, 1), (2, 2), (3, 5), (1 << 32, 1 << 32), (1_000, 7)] {
        let numbers = SegmentSupply::new(increment, offset, SharedCursor::new(0, Arc::default()));
        let last = u128::from(numbers.end - 1) * u128::from(increment) + u128::from(offset);
        assert!(last <= u128::from(MAX_MARK) && numbers.end <= MAX_MARK, "{increment} {offset}");
        // Position 2^63 - 1 itself is never reached: marks end there.
        assert!(last + u128::from(increment) > u128::from(MAX_MARK) || numbers.end == MAX_MARK);
    }
}

#[test]
fn the_last_numbers_are_minted_exactly_and_then_the_segment_says_so() {
    // The last of these has fewer numbers in all than one step.
    for (increment, offset, spare) in
        [(1, 1, 25), (2, 1, 7), (2, 1, 19), (2, 2, 0), (1_000, 7, 31), (1 << 60, 1, 8)]
    {
        let mut rig = Rig::new(&Memory::default(), 1);
        let numbers = rig.segment_of("tickets", STEPS, increment, offset);
        rig.ledger.raise(&tickets(), numbers.end - spare).unwrap();
        let mut minted = Vec::new();
        let text = loop {
            match rig.number(&numbers, 1) {
                Ok(position) => minted.push(position),
                Err(None) => rig.settle(),
                Err(Some(MintError::Exhausted(text))) => break text,
                Err(other) => panic!("{other:?}"),
            }
            assert!(minted.len() <= 100, "it does not end");
        };
        assert_eq!(minted, (numbers.end - spare..numbers.end).collect::<Vec<_>>(), "{increment} {offset}");
        let last = increment * (numbers.end - 1) + offset;
        assert!(text.starts_with("`tickets` is used up") && text.contains(&last.to_string()), "{text}");
        assert_eq!(rig.mark(&tickets()), numbers.end);
        // It stays so, and asks the ledger no more.
        assert!(matches!(rig.number(&numbers, 1), Err(Some(MintError::Exhausted(_)))));
        rig.step();
        assert!(rig.calls.is_empty());
        assert_eq!(rig.node.deadline(&rig.clock.look()), None, "nor looks whether it is still so");
    }
}

#[test]
fn who_has_reserved_the_last_numbers_asks_for_no_more() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.ledger.raise(&tickets(), numbers.end - 5).unwrap();
    assert_eq!(rig.numbers_after_settling(&numbers, 5), numbers.end - 5);
    assert_eq!(rig.number(&numbers, 1), Err(None));
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    assert!(matches!(rig.number(&numbers, 1), Err(Some(MintError::Exhausted(_)))));
}

/// A thread can be held up between its draw and its question.
#[test]
fn who_asks_after_the_range_has_come_that_is_enough_costs_no_second_one() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.number(&numbers, 20), Err(None));
    rig.settle();
    numbers.shared.want(20);
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    assert_eq!(rig.number(&numbers, 20), Ok(0));
}

#[test]
fn a_batch_that_does_not_fit_the_end_fails_and_smaller_ones_go_on() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.ledger.raise(&tickets(), numbers.end - 5).unwrap();
    assert_eq!(rig.number(&numbers, 6), Err(None));
    rig.settle();
    let refused = rig.number(&numbers, 6);
    rig.settle();
    assert!(refused == Err(None) && matches!(rig.number(&numbers, 6), Err(Some(MintError::Exhausted(_)))));
    assert_eq!(rig.number(&numbers, 5), Ok(numbers.end - 5), "nothing is lost by the refusal");
}

/// Whoever has reserved up to the mark that refuses may give it back.
#[test]
fn a_mark_below_one_at_which_it_was_refused_does_not_stop_the_segment() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.ledger.raise(&tickets(), numbers.end - 10).unwrap();
    assert_eq!(rig.number(&numbers, 6), Err(None));
    let (id, _) = rig.reserve();
    rig.answer(id, Ok(Reply::Refused { mark: numbers.end - 5, note: None }));
    rig.settle();
    assert_eq!(rig.number(&numbers, 5), Ok(numbers.end - 10));
}

#[test]
fn a_range_past_the_largest_number_stops_the_segment() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment_of("tickets", STEPS, 1_000, 1);
    let end = numbers.end;
    rig.number(&numbers, 1).unwrap_err();
    let (id, _) = rig.reserve();
    rig.answer(id, Ok(Reply::Got { start: end - 1, end: end + 1, previous_mark: end - 1 }));
    assert!(matches!(rig.number(&numbers, 1), Err(Some(MintError::Stopped(_)))));
}

/// Whatever mark the ledger shows with it.
#[test]
fn a_range_below_what_was_held_stops_the_segment() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
    let (id, _) = rig.reserve();
    rig.answer(id, Ok(Reply::Got { start: 19, end: 29, previous_mark: 20 }));
    assert!(matches!(rig.number(&numbers, 1), Err(Some(MintError::Stopped(_)))));
}

/// Otherwise a node of a slow ledger would keep a core busy.
#[test]
fn while_an_answer_is_awaited_there_is_no_time_to_look_again() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.number(&numbers, 1).unwrap_err();
    rig.step();
    assert_eq!((rig.calls.len(), rig.node.deadline(&rig.clock.look())), (1, None), "a range");
    rig.settle();
    let stream = rig.twitter();
    rig.mint(&stream);
    rig.step();
    assert_eq!((rig.calls.len(), rig.node.deadline(&rig.clock.look())), (1, None), "a slot");
    rig.settle();
    stream.shared.want(1);
    rig.step();
    assert_eq!((rig.calls.len(), rig.node.deadline(&rig.clock.look())), (1, None), "a renewal");
}

#[test]
fn a_range_that_is_used_up_makes_room_for_the_next_one() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 20), 0);
    assert_eq!(rig.other(&tickets(), 0, 7, None), 27);
    rig.settle();
    let owned = numbers.shared.cursor.owned();
    assert_eq!((owned.current.start, owned.spare), (27, 0..0));
}

#[test]
fn after_an_answer_a_segments_first_pause_is_short_again() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.number(&numbers, 1).unwrap_err();
    for _ in 0..8 {
        assert_eq!(rig.fail_all(), 1);
        rig.hands.pass(400);
    }
    assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
    assert_eq!(rig.fail_all(), 1);
    rig.hands.pass(25);
    assert_eq!(rig.fail_all(), 1);
}

#[test]
fn a_mark_below_what_was_held_stops_the_segment() {
    // I1
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    let backup = rig.ledger.backup();
    rig.numbers_after_settling(&numbers, 15);
    rig.ledger.restore(&backup);
    rig.settle();
    let Err(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) =
        rig.number(&numbers, 1)
    else {
        panic!("it mints on")
    };
    assert!(text.contains("went backwards") && text.contains("marks raise"), "{text}");
    assert!(text.contains("was 0, and this process holds a range up to 20."), "{text}");
    rig.settle();
    assert!(!rig.node.unload_segment(&numbers.shared, &rig.clock), "nobody waits, but what stopped stays");
    rig.node.close(&rig.clock);
    rig.collect();
    assert!(rig.calls.is_empty());
}

#[test]
fn a_record_that_was_deleted_stops_its_segment_and_no_other() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let (deleted, other) = (rig.segment("tickets", STEPS), rig.segment("orders", STEPS));
    rig.numbers_after_settling(&deleted, 15);
    rig.numbers_after_settling(&other, 15);
    rig.ledger.lose(&tickets());
    while rig.number(&deleted, 1).is_ok() {}
    rig.settle();
    let Err(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) =
        rig.number(&deleted, 1)
    else {
        panic!("it mints on")
    };
    assert!(text.contains("the record of `tickets` is missing"), "{text}");
    assert_eq!(rig.node.deadline(&rig.clock.look()), None, "nobody looks whether it is still so");
    assert_eq!(rig.numbers_after_settling(&other, 10), 15);
}

#[test]
fn a_new_era_drops_the_numbers_in_hand_and_an_answer_on_its_way() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.clock.invalidate();
    assert_eq!(rig.number(&numbers, 1), Err(None), "before the node even looks");
    rig.answer(id, answer);
    assert_eq!(rig.number(&numbers, 1), Err(None), "the answer belongs to the era before");
    let first = rig.numbers_after_settling(&numbers, 1);
    assert_eq!(first, 20 + request.count, "a fresh range, above all that the copy may hold");
}

#[test]
fn a_new_era_empties_the_hands_of_idle_names_too() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.numbers_after_settling(&numbers, 1);
    assert_eq!(numbers.shared.cursor.left(), 19);
    rig.clock.invalidate();
    rig.settle();
    assert_eq!(numbers.shared.cursor.left(), 0, "what the status tells");
}

#[test]
fn a_retry_that_gets_less_than_is_wanted_by_now_asks_on() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.number(&numbers, 1), Err(None));
    let (id, request) = rig.reserve();
    rig.ledger.reserve(&request).unwrap();
    rig.answer(id, unavailable());
    assert!(rig.number(&numbers, 500).is_err());
    rig.hands.pass(400);
    rig.settle();
    // The range of the first attempt came back; the batch takes the room that follows it without a gap.
    assert_eq!(rig.numbers_after_settling(&numbers, 500), 0);
}

/// Or it would wait for an answer that nobody asks for.
#[test]
fn a_batch_is_asked_for_again_also_where_others_want_less_meanwhile() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", Steps { max: 10, ..STEPS });
    assert_eq!(rig.numbers_after_settling(&numbers, 3), 0);
    assert_eq!(rig.number(&numbers, 500), Err(None));
    let (id, request) = rig.reserve();
    assert_eq!(request.count, 500);
    let mark = rig.mark(&tickets());
    assert_eq!(rig.other(&tickets(), 0, numbers.end - 5 - mark, None), numbers.end - 5);
    // There is enough for this one.
    numbers.shared.want(1);
    rig.step();
    let refused = rig.ledger.reserve(&request);
    assert!(matches!(refused, Ok(Reply::Refused { .. })), "{refused:?}");
    rig.answer(id, refused);
    assert_eq!(rig.reserve().1.count, 5, "all that is left");
}

#[test]
fn a_step_touches_the_names_that_are_wanted_and_no_others() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let all: Vec<_> = (0..1_000).map(|n| rig.segment(&format!("tickets-{n}"), STEPS)).collect();
    let counts: Vec<_> = (0..1_000).map(|n| rig.queue(&format!("count-{n}"), None)).collect();
    for round in 0..3 {
        while rig.number(&all[7], 30).is_ok() {}
        // Whoever wants twice is on the list once.
        for _ in 0..2 {
            assert!(rig.number(&all[7], 30).is_err());
            rig.enqueue(&counts[3], 1);
        }
        rig.step();
        assert_eq!(rig.node.busy_segments.iter().collect::<Vec<_>>(), [&7]);
        assert_eq!(rig.node.busy_queues.iter().collect::<Vec<_>>(), [&counts[3]]);
        assert_eq!(rig.calls.len(), 2);
        // One that gets no answer stays, and one that has been served is off.
        if round == 1 {
            rig.fail_all();
            rig.step();
            assert_eq!((rig.node.busy_segments.len(), rig.node.busy_queues.len()), (1, 1));
            rig.hands.pass(400);
        }
        rig.settle();
        assert!(rig.node.busy_segments.is_empty() && rig.node.busy_queues.is_empty());
        assert!(rig.node.deadline(&rig.clock.look()).is_none());
    }
}

#[test]
fn a_clock_that_steps_again_and_again_does_not_grow_the_step() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.numbers_after_settling(&numbers, 1);
    let first = rig.mark(&tickets());
    for era in 1..6 {
        rig.clock.invalidate();
        rig.numbers_after_settling(&numbers, 1);
        assert_eq!(rig.mark(&tickets()), first * (era + 1), "what was dropped was not used up");
    }
}

/// A segment whose refill failed after it had lasted long, so that half of this step would do.
fn lasting() -> (Rig, Arc<SegmentSupply>, u64) {
    let ledger = Memory::default();
    let mut rig = Rig::new(&ledger, 1);
    let numbers = rig.segment("tickets", Steps { min: 10, max: 80, refill_ms: 1_000 });
    // Each refill is used up within its interval, so the step grows.
    while numbers.low.load(Ordering::Relaxed) < 40 {
        rig.numbers_after_settling(&numbers, 1);
        rig.settle();
    }
    let low = numbers.low.load(Ordering::Relaxed);
    while numbers.shared.cursor.left() >= low {
        rig.number(&numbers, 1).unwrap();
    }
    rig.hands.pass(900);
    rig.hands.pass(900);
    rig.hands.pass(900);
    assert_eq!(rig.fail_all(), 1);
    rig.hands.pass(500);
    (rig, numbers, low)
}

#[test]
fn a_step_that_is_left_is_enough_and_one_less_is_not() {
    for (less, asked) in [(0, 0), (1, 1)] {
        let (mut rig, numbers, low) = lasting();
        while numbers.shared.cursor.left() > low / 2 - less {
            rig.number(&numbers, 1).unwrap();
        }
        rig.step();
        assert_eq!(rig.calls.len(), asked, "{less} less than a step");
    }
}

#[test]
fn a_refill_that_failed_and_is_not_needed_any_more_is_forgotten() {
    let (mut rig, numbers, _) = lasting();
    // That much is left.
    rig.settle();
    // The clock moves, and what was reserved is dropped: there is no reason yet to say that the ledger is gone.
    rig.hands.set(5_000);
    rig.step();
    assert_eq!(rig.number(&numbers, 1), Err(None), "nothing has been asked since");
    rig.settle();
    rig.number(&numbers, 1).unwrap();
}

/// A segment is to last for the refill interval, whatever the rate, after few reservations at it.
#[test]
fn the_step_finds_the_rate_and_leaves_it_again() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", Steps { min: 10, max: 1_000_000, refill_ms: 60_000 });
    rig.numbers_after_settling(&numbers, 1);
    // Ten numbers in 200 ms: fifty a second are 3,000 an interval, three hundred steps, in two bounded leaps.
    let step = |rig: &mut Rig, used: u64, millis: u64| {
        rig.hands.pass(millis);
        for _ in 0..used {
            rig.numbers_after_settling(&numbers, 1);
        }
        rig.settle();
        numbers.low.load(Ordering::Relaxed)
    };
    assert_eq!(step(&mut rig, 10, 200), 160, "a burst says little: no more than sixteen times as much");
    assert_eq!(step(&mut rig, 160, 3_200), 160 * 16, "a step for less than the interval");
    assert_eq!(step(&mut rig, 2_560, 50_000), 5_120, "a little less than the interval");
    assert_eq!(step(&mut rig, 5_120, 100_000), 5_120, "more than the interval");
    assert_eq!(step(&mut rig, 5_120, 130_000), 2_560, "twice the interval");
}
