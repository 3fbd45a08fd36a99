//! Names that are unloaded and come back: how far their mark may have gone back meanwhile (I1), and who stays.

use super::*;

#[test]
fn a_mark_one_number_below_where_a_segment_was_unloaded_stops_it() {
    for (minted, back) in [(1, 0), (1, 1), (3, 0), (3, 1)] {
        for (new_era, idle_again) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut rig = Rig::new(&Memory::default(), 1);
            let numbers = rig.segment("tickets", STEPS);
            assert_eq!(rig.numbers_after_settling(&numbers, minted), 0);
            let mut held_to = minted;
            if new_era {
                // The tail may be a copy's to mint, and stays.
                rig.clock.invalidate();
                held_to = 2 * STEPS.min;
            }
            assert!(rig.node.unload_segment(&numbers.shared, &rig.clock));
            if idle_again {
                let unused = rig.segment("tickets", STEPS);
                assert!(rig.node.unload_segment(&unused.shared, &rig.clock));
            }
            rig.settle();
            assert_eq!(rig.mark(&Key::name(&Name::new("tickets").unwrap())), held_to);
            let numbers = rig.segment("tickets", STEPS);
            assert_eq!(rig.number(&numbers, 1), Err(None));
            let (id, request) = rig.reserve();
            let previous_mark = held_to - back;
            let start = previous_mark.max(request.floor);
            rig.answer(id, Ok(Reply::Got { start, end: start + request.count, previous_mark }));
            let next = rig.number(&numbers, 1);
            if back == 0 {
                assert_eq!(next, Ok(held_to));
            } else {
                let Err(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) = next
                else {
                    panic!("{next:?} after {minted}, new era: {new_era}, idle again: {idle_again}")
                };
                assert!(text.contains("went backwards"), "{text}");
            }
        }
    }
}

#[test]
fn a_mark_one_number_below_where_a_counter_was_unloaded_stops_it() {
    for (minted, back) in [(1, 0), (1, 1), (5, 0), (5, 1)] {
        let mut rig = Rig::new(&Memory::default(), 1);
        let name = rig.queue("count", None);
        rig.enqueue(&name, minted);
        rig.settle();
        assert!(rig.node.unload_queue(&name));
        // It comes back, and nobody uses it.
        rig.queue("count", None);
        assert!(rig.node.unload_queue(&name));
        rig.queue("count", None);
        let ticket = rig.enqueue(&name, 1);
        let (id, _) = rig.reserve();
        let mark = minted - back;
        rig.answer(id, Ok(Reply::Got { start: mark, end: mark + 1, previous_mark: mark }));
        match ticket.answered() {
            Some(Ok(position)) => assert_eq!((position, back), (minted, 0)),
            Some(Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) => {
                assert!(back == 1 && text.contains("went backwards"))
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_name_whose_answer_is_awaited_stays() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let (numbers, name) = (rig.segment("tickets", STEPS), rig.queue("count", None));
    assert_eq!(rig.number(&numbers, 1), Err(None));
    let ticket = rig.enqueue(&name, 1);
    rig.step();
    assert!(!rig.node.unload_segment(&numbers.shared, &rig.clock));
    assert!(!rig.node.unload_queue(&name));
    rig.settle();
    assert_eq!((rig.number(&numbers, 1), ticket.answered()), (Ok(0), Some(Ok(0))));
    assert!(rig.node.unload_segment(&numbers.shared, &rig.clock));
    assert!(rig.node.unload_queue(&name));
}

#[test]
fn a_segment_that_comes_back_takes_no_other_ones_place() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let (first, second) = (rig.segment("first", STEPS), rig.segment("second", STEPS));
    assert!(rig.node.unload_segment(&first.shared, &rig.clock));
    let (first, third) = (rig.segment("first", STEPS), rig.segment("third", STEPS));
    for numbers in [&first, &second, &third] {
        assert_eq!(rig.numbers_after_settling(numbers, 1), 0);
    }
    assert!(rig.node.unload_segment(&first.shared, &rig.clock));
    assert!(matches!(rig.number(&first, 1), Err(Some(MintError::Stopped(_)))));
    assert_eq!((rig.number(&second, 1), rig.number(&third, 1)), (Ok(1), Ok(1)));
}

#[test]
fn a_name_that_was_just_asked_for_stays_before_the_node_has_looked() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    for number in [0, 1] {
        if number == 0 {
            assert_eq!(rig.number(&numbers, 1), Err(None), "somebody waits");
        } else {
            assert_eq!(rig.number(&numbers, 1_000), Err(None), "and for more than is left");
        }
        assert!(!rig.node.unload_segment(&numbers.shared, &rig.clock));
        rig.settle();
        assert_eq!(rig.number(&numbers, 1), Ok(number));
    }
    assert!(rig.node.unload_segment(&numbers.shared, &rig.clock));
}

#[test]
fn a_name_that_only_wants_a_spare_goes_before_the_node_has_looked() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
    assert!(rig.node.unload_segment(&numbers.shared, &rig.clock));
    assert_eq!(numbers.shared.take_wanted(), Some(0));
}

/// Whoever was just answered may ask again at once.
#[test]
fn a_counter_that_waits_a_moment_for_more_callers_stays() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let name = rig.queue("count", None);
    rig.gather(&name);
    assert!(!rig.node.unload_queue(&name), "the moment is not over");
    rig.node.gathered(&name, &rig.clock);
    assert!(rig.node.unload_queue(&name));
}
