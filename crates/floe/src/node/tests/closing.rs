//! Giving back (I1: only the exact tail that was reserved here, is unminted, and can no longer be minted).

use super::*;

fn give_backs(rig: &mut Rig) -> Vec<(Key, Token, u64)> {
    rig.collect();
    let calls = rig.calls.drain(..);
    calls
        .filter_map(|call| match call.op {
            Op::GiveBack { key, token, from } => Some((key, token, from)),
            Op::Reserve(_) | Op::Count(_) | Op::Clock => None,
        })
        .collect()
}

#[test]
fn a_window_goes_back_from_the_first_tick_in_which_no_name_drew() {
    for last in [0, 1] {
        let mut rig = Rig::new(&Memory::default(), 1);
        let streams = [rig.twitter(), rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap())];
        let worker = rig.mint_in(&streams[1 - last]);
        rig.hands.pass(100);
        rig.mint_in(&streams[last]);
        rig.hands.pass(50);
        rig.node.close(&rig.clock);
        // The generators stopped first: whatever is drawn from here on would be in what goes back.
        for stream in &streams {
            let closed = MintError::Stopped(Stopped::closed());
            assert_eq!(rig.mint(stream), Mint::Empty(Some(closed)));
        }
        let backs = give_backs(&mut rig);
        let [(key, token, from)] = &backs[..] else { panic!("{backs:?}") };
        assert_eq!(*key, Key::slot(10, worker));
        assert_eq!(*from, BEGIN.unsigned_abs() + 101, "the tick behind the one in which {last} drew");
        assert!(rig.ledger.give_back(key, *token, *from).unwrap());
        assert_eq!(rig.node.stopped(), Some("floe was closed"));
    }
}

#[test]
fn a_window_goes_back_from_behind_what_was_minted_ahead_of_the_clock() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.twitter();
    rig.mint_in(&stream);
    let ahead = stream.draw(rig.clock.look().stamp, 5 * Layout::TWITTER.per_tick(), true, 0);
    assert!(matches!(ahead, Ok(Draw::Got(_))), "{ahead:?}");
    rig.node.close(&rig.clock);
    let from: Vec<u64> = give_backs(&mut rig).into_iter().map(|(_, _, from)| from).collect();
    assert_eq!(from, [BEGIN.unsigned_abs() + 6]);
}

/// What is left of the first range has no token any more.
#[test]
fn a_segment_that_is_still_in_its_first_range_gives_back_the_second_alone() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let numbers = rig.segment("tickets", STEPS);
    assert_eq!(rig.numbers_after_settling(&numbers, STEPS.min * 3 / 2), 0);
    rig.settle();
    rig.node.close(&rig.clock);
    let backs = give_backs(&mut rig);
    let [(key, token, from)] = &backs[..] else { panic!("{backs:?}") };
    assert_eq!(*from, 2 * STEPS.min);
    assert_eq!(rig.ledger.give_back(key, *token, *from), Ok(true));
}

#[test]
fn only_the_last_reservation_goes_back() {
    let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.twitter();
    rig.mint_in(&stream);
    let first = rig.node.groups[0].window().unwrap().1.position().unwrap();
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    rig.node.close(&rig.clock);
    let backs = give_backs(&mut rig);
    let [(key, token, from)] = &backs[..] else { panic!("{backs:?}") };
    assert_eq!(*from, first, "the renewal, and not the window that runs");
    assert!(rig.ledger.give_back(key, *token, *from).unwrap());
}

#[test]
fn a_renewal_on_its_way_decides_by_its_token_what_goes_back() {
    for effect_first in [false, true] {
        let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN), WINDOW, true);
        let stream = rig.twitter();
        rig.mint_in(&stream);
        rig.hands.pass(WINDOW / 2);
        let (id, renewal) = rig.reserve();
        if effect_first {
            rig.ledger.reserve(&renewal).unwrap();
        }
        rig.node.close(&rig.clock);
        let backs = give_backs(&mut rig);
        let [(key, token, from)] = &backs[..] else { panic!("{backs:?}") };
        assert_eq!(*from, u64::try_from(BEGIN).unwrap() + 1);
        assert_eq!(rig.ledger.give_back(key, *token, *from), Ok(!effect_first));
        assert!(!rig.node.is_drained(), "closing waits for the answer, so that threads can end");
        let answer = rig.ledger.reserve(&renewal);
        rig.answer(id, answer);
        assert_eq!(rig.node.handle_over(id + 1), ());
        assert!(rig.node.is_drained());
        assert!(matches!(rig.mint(&stream), Mint::Empty(Some(MintError::Stopped(_)))), "it is too late");
    }
}

#[test]
fn a_copy_of_a_process_gives_nothing_back() {
    // The original mints on in the window and in the segment that the copy remembers.
    let mut rig = Rig::new(&Memory::default(), 1);
    let (stream, numbers) = (rig.twitter(), rig.segment("tickets", STEPS));
    rig.mint_in(&stream);
    rig.numbers_after_settling(&numbers, 1);
    rig.clock.invalidate();
    rig.node.close(&rig.clock);
    assert_eq!(give_backs(&mut rig), []);
}

#[test]
fn what_was_not_asked_yet_is_not_asked_any_more() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let (stream, numbers) = (rig.twitter(), rig.segment("tickets", STEPS));
    rig.mint(&stream);
    assert_eq!(rig.number(&numbers, 1), Err(None));
    rig.node.step(&rig.clock);
    rig.node.close(&rig.clock);
    rig.collect();
    assert_eq!(rig.calls, []);
    assert!(rig.node.is_drained());
    rig.step();
    assert!(rig.calls.is_empty() && rig.node.deadline(&rig.clock.look()).is_none());
}

#[test]
fn a_given_back_segment_is_minted_by_the_next_without_a_gap() {
    let ledger = Memory::default();
    for life in 0..3 {
        let mut rig = Rig::new(&ledger, life);
        let numbers = rig.segment("tickets", STEPS);
        assert_eq!(rig.numbers_after_settling(&numbers, 1), life);
        rig.node.close(&rig.clock);
        rig.collect();
        while let Some(call) = rig.calls.pop_front() {
            rig.serve(call);
        }
        assert_eq!(rig.mark(&Key::name(&Name::new("tickets").unwrap())), life + 1);
        assert!(rig.node.is_drained());
        assert!(matches!(rig.number(&numbers, 1), Err(Some(MintError::Stopped(_)))));
    }
}

#[test]
fn a_segment_that_waits_for_its_spare_gives_back_what_it_has() {
    for in_an_outage in [false, true] {
        let mut rig = Rig::new(&Memory::default(), 1);
        let numbers = rig.segment("tickets", STEPS);
        assert_eq!(rig.numbers_after_settling(&numbers, 15), 0);
        if in_an_outage {
            assert_eq!(rig.fail_all(), 1);
        } else {
            rig.node.step(&rig.clock);
        }
        rig.node.close(&rig.clock);
        let from: Vec<u64> = give_backs(&mut rig).into_iter().map(|(_, _, from)| from).collect();
        assert_eq!(from, [15], "in an outage: {in_an_outage}");
    }
}

#[test]
fn a_give_back_that_fails_costs_the_tail_and_no_more() {
    let ledger = Memory::default();
    let mut rig = Rig::new(&ledger, 1);
    let numbers = rig.segment("tickets", STEPS);
    rig.numbers_after_settling(&numbers, 1);
    rig.node.close(&rig.clock);
    rig.collect();
    let call = rig.calls.pop_front().unwrap();
    rig.node.handle_over(call.id);
    assert!(rig.node.is_drained());
    let mut next = Rig::new(&ledger, 2);
    let numbers = next.segment("tickets", STEPS);
    assert_eq!(next.numbers_after_settling(&numbers, 1), 2 * STEPS.min);
    // The late retry of the first one's give-back does nothing: its token is gone (design, section 8).
    rig.effect(&call);
    assert_eq!(next.mark(&Key::name(&Name::new("tickets").unwrap())), 4 * STEPS.min);
}

#[test]
fn what_was_stopped_stays_stopped_whatever_is_said_later() {
    let shared = SharedCursor::new(0, Arc::default());
    shared.stop(&Stopped::closed());
    for later in [
        None,
        Some(BlockReason::Exhausted("used up".to_owned())),
        Some(BlockReason::Stopped(Stopped::other("too late"))),
    ] {
        shared.set_trouble(later);
        assert_eq!(shared.check(), Err(MintError::Stopped(Stopped::closed())));
    }
}

/// Its status tells it to the end.
#[test]
fn a_counter_whose_ledger_went_back_says_so_after_the_closing() {
    let (mut rig, name, _) = counts::went_back();
    let stopped = |rig: &Rig| rig.node.queue(&name).unwrap().stopped().cloned().unwrap();
    let before = stopped(&rig);
    rig.node.close(&rig.clock);
    assert_eq!(stopped(&rig), before);
    assert_ne!(before, Stopped::closed());
}

#[test]
fn what_was_stopped_gives_nothing_back() {
    for whole_node in [false, true] {
        let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN), WINDOW, true);
        let stream = rig.snowflake(&Layout::TWITTER, Workers::one(10, 3).unwrap());
        rig.mint_in(&stream);
        if whole_node {
            let numbers = rig.segment("tickets", STEPS);
            rig.numbers_after_settling(&numbers, 1);
            rig.node.stop(&Stopped::ledger("not fit for use"));
            assert_eq!(rig.node.deadline(&rig.clock.look()), None, "nor is there anything to look at again");
        } else {
            rig.hands.pass(WINDOW * 3 / 4);
            let (id, request) = rig.reserve();
            let (start, end) = (request.floor, request.floor + request.count);
            rig.answer(id, Ok(Reply::Got { start, end, previous_mark: 0 }));
        }
        assert!(matches!(rig.mint(&stream), Mint::Empty(Some(MintError::Stopped(_)))));
        rig.node.close(&rig.clock);
        assert_eq!(give_backs(&mut rig), [], "what was minted in it is not known any more");
    }
}

/// An operator has to know why the ledger must not be used any more.
#[test]
fn a_node_that_is_closed_after_it_was_stopped_says_why_it_was_stopped() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stopped = Stopped::ledger("it was replaced");
    rig.node.stop(&stopped);
    rig.node.close(&rig.clock);
    assert_eq!(rig.node.stopped(), Some(stopped.cause.as_str()));
    let late = rig.queue("late", None);
    let refused = rig.node.enqueue(&late, &Ticket::new(1), &rig.clock);
    assert_eq!(refused, Err(MintError::Stopped(stopped)));
}
