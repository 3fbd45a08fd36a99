//! Counters: group commit, one reservation for the callers that were queued when it was sent.

use super::*;
use crate::ledger::MAX_MARK;

fn counter() -> (Rig, Name, Key) {
    let mut rig = Rig::new(&Memory::default(), 1);
    let name = rig.queue("count", None);
    let key = Key::name(&name);
    (rig, name, key)
}

#[test]
fn one_reservation_serves_who_was_queued_when_it_was_sent_in_call_order_and_nobody_else() {
    let (mut rig, name, key) = counter();
    let first = rig.enqueue(&name, 1);
    let (first_id, alone) = rig.reserve();
    let early: Vec<_> = [3, 1, 2].map(|count| rig.enqueue(&name, count)).into();
    rig.step();
    assert!(rig.calls.is_empty(), "one at a time");
    let answer = rig.ledger.reserve(&alone);
    rig.answer(first_id, answer);
    let (id, request) = rig.reserve();
    assert_eq!((request.floor, request.count, request.create), (0, 6, false));
    let late = rig.enqueue(&name, 1);
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert_eq!(first.answered(), Some(Ok(0)));
    let answers: Vec<_> = early.iter().map(|ticket| ticket.answered().unwrap().unwrap()).collect();
    assert_eq!(answers, [1, 4, 5]);
    assert_eq!(late.answered(), None, "its number is reserved after its call began");
    rig.settle();
    assert_eq!(late.answered(), Some(Ok(7)));
    assert_eq!(rig.mark(&key), 8);
}

#[test]
fn who_was_just_answered_may_share_the_next_trip() {
    let (mut rig, name, _) = counter();
    let answer = |rig: &mut Rig| {
        let (id, request) = rig.reserve();
        let answer = rig.ledger.reserve(&request);
        let gathering = rig.node.handle_answer(id, answer, &rig.clock);
        rig.collect();
        (request.count, gathering)
    };
    rig.enqueue(&name, 1);
    rig.enqueue(&name, 1);
    assert_eq!(answer(&mut rig), (1, Some(name.clone())), "one was answered, another waits");
    rig.step();
    assert!(rig.calls.is_empty() && rig.node.deadline(&rig.clock.look()).is_none(), "the moment is not over");
    rig.enqueue(&name, 1);
    assert_eq!(answer(&mut rig), (2, Some(name.clone())), "both are there: they do not wait for more");
    let late = rig.enqueue(&name, 1);
    assert!(rig.calls.is_empty());
    rig.node.gathered(&name, &rig.clock);
    assert_eq!(answer(&mut rig), (1, None), "the other did not come back: the moment was over for both");
    assert!(late.answered().is_some());
    rig.enqueue(&name, 1);
    assert_eq!(answer(&mut rig), (1, None), "a lone caller never waits");
}

/// Whoever came while it waited for more callers waits like any other where the ledger then does not answer.
#[test]
fn who_came_in_the_moment_for_more_callers_is_asked_for_again() {
    let (mut rig, name, _) = counter();
    rig.gather(&name);
    // Both were answered, and nobody waits just now.
    rig.step();
    let late = rig.enqueue(&name, 1);
    rig.node.gathered(&name, &rig.clock);
    rig.collect();
    assert_eq!(rig.fail_all(), 1);
    let again = rig.sleep().expect("somebody waits");
    rig.hands.pass(again);
    rig.settle();
    assert!(matches!(late.answered(), Some(Ok(_))));
}

#[test]
fn a_lost_reply_is_followed_by_a_fresh_token_and_its_numbers_are_nobodys() {
    let (mut rig, name, key) = counter();
    let first = rig.enqueue(&name, 5);
    let (id, request) = rig.reserve();
    rig.ledger.reserve(&request).unwrap();
    rig.answer(id, unavailable());
    assert_eq!(first.answered(), None);
    let behind = rig.enqueue(&name, 1);
    rig.hands.pass(400);
    let (id, again) = rig.reserve();
    assert_ne!(again.token, request.token);
    let answer = rig.ledger.reserve(&again);
    rig.answer(id, answer);
    assert_eq!((first.answered(), behind.answered()), (Some(Ok(5)), Some(Ok(10))), "in call order");
    assert_eq!(rig.mark(&key), 11);
}

#[test]
fn the_callers_of_a_trip_that_failed_keep_their_turns() {
    let (mut rig, name, _) = counter();
    rig.enqueue(&name, 1);
    let alone = rig.call();
    let together = [2, 3, 4].map(|count| rig.enqueue(&name, count));
    rig.serve(alone);
    let (id, request) = rig.reserve();
    assert_eq!(request.count, 9);
    let behind = rig.enqueue(&name, 1);
    rig.answer(id, unavailable());
    rig.hands.pass(400);
    rig.settle();
    assert_eq!(together.map(|ticket| ticket.answered()), [1, 3, 6].map(|start| Some(Ok(start))));
    assert_eq!(behind.answered(), Some(Ok(10)));
}

#[test]
fn after_an_answer_a_counters_first_pause_is_short_again() {
    let (mut rig, name, _) = counter();
    let first = rig.enqueue(&name, 1);
    for _ in 0..8 {
        assert_eq!(rig.fail_all(), 1);
        rig.hands.pass(400);
    }
    rig.settle();
    assert!(first.answered().is_some());
    let _second = rig.enqueue(&name, 1);
    assert_eq!(rig.fail_all(), 1);
    rig.hands.pass(25);
    assert_eq!(rig.fail_all(), 1);
}

#[test]
fn an_outage_began_when_a_caller_first_waited_in_vain() {
    let (mut rig, name, _) = counter();
    let _waits = rig.enqueue(&name, 1);
    let asked = rig.clock.look().stamp.time();
    rig.hands.pass(900);
    assert_eq!(rig.node.silent_since(asked), asked);
    rig.hands.pass(100);
    assert_eq!(rig.fail_all(), 1);
    assert_eq!(rig.node.down(), Some((asked, "gone".to_owned())));
}

/// Also an answer that is an error of its own: the ledger has answered.
#[test]
fn an_outage_ends_with_any_answer() {
    let (mut rig, name, _) = counter();
    let lost = rig.queue("lost", None);
    let _waits = rig.enqueue(&name, 1);
    assert_eq!(rig.fail_all(), 1);
    rig.hands.pass(1_000);
    assert!(rig.ledger.lose(&Key::name(&lost)));
    let ticket = rig.enqueue(&lost, 1);
    let missing = rig.calls.pop_front().unwrap();
    rig.serve(missing);
    assert!(matches!(ticket.answered(), Some(Err(MintError::Stopped(_)))));
    assert_eq!(rig.node.down(), None);
    let again = rig.clock.look().stamp.time();
    assert_eq!(rig.fail_all(), 1);
    assert_eq!(rig.node.down(), Some((again, "gone".to_owned())), "since when it is gone this time");
}

/// Callers who go wait for no answer, and nobody waits for them.
#[test]
fn the_callers_of_a_trip_that_failed_wait_for_nobody_who_has_gone() {
    let (mut rig, name, _) = counter();
    rig.enqueue(&name, 1);
    let alone = rig.call();
    let goes = rig.enqueue(&name, 1);
    // The trip is answered, and the next one is held back for the caller who may come again.
    let answer = rig.effect(&alone).unwrap();
    assert_eq!(rig.node.handle_answer(alone.id, answer, &rig.clock), Some(name.clone()));
    let stays = rig.enqueue(&name, 1);
    let (id, request) = rig.reserve();
    assert_eq!(request.count, 2);
    assert_eq!(rig.node.handle_answer(id, unavailable(), &rig.clock), None, "nobody is waited for");
    goes.abandon();
    rig.hands.pass(400);
    let (id, _) = rig.reserve();
    rig.node.handle_answer(id, unavailable(), &rig.clock);
    rig.hands.pass(400);
    rig.settle();
    assert_eq!(stays.answered(), Some(Ok(1)));
}

#[test]
fn the_numbers_of_a_cancelled_caller_are_discarded() {
    let (mut rig, name, key) = counter();
    rig.enqueue(&name, 1);
    let (first_id, alone) = rig.reserve();
    let (before, gone, stays) = (rig.enqueue(&name, 7), rig.enqueue(&name, 4), rig.enqueue(&name, 1));
    before.abandon();
    let answer = rig.ledger.reserve(&alone);
    rig.answer(first_id, answer);
    let (id, request) = rig.reserve();
    assert_eq!(request.count, 5, "nothing is reserved for who has gone before");
    gone.abandon();
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert_eq!((stays.answered(), rig.mark(&key)), (Some(Ok(5)), 6));
    let next = rig.enqueue(&name, 1);
    rig.settle();
    assert_eq!(next.answered(), Some(Ok(6)), "leftovers are never handed on");
}

/// Wherever in the queue that caller is.
#[test]
fn nothing_is_reserved_for_who_has_gone_before_the_request_is_sent() {
    for gone in 0..3 {
        let (mut rig, name, _) = counter();
        rig.enqueue(&name, 1);
        let (first_id, alone) = rig.reserve();
        let waiting = [1, 2, 4].map(|count| rig.enqueue(&name, count));
        waiting[gone].abandon();
        let answer = rig.ledger.reserve(&alone);
        rig.answer(first_id, answer);
        assert_eq!(rig.reserve().1.count, 7 - (1 << gone), "the caller at {gone} has gone");
    }
}

#[test]
fn a_caller_who_came_after_the_request_gets_nothing_of_one_that_has_gone() {
    let (mut rig, name, key) = counter();
    let gone = rig.enqueue(&name, 1);
    let (id, request) = rig.reserve();
    gone.abandon();
    let answer = rig.ledger.reserve(&request);
    // Elsewhere 1 is minted, and then somebody calls here: 0 would be too small.
    assert_eq!(rig.other(&key, 0, 1, None), 2);
    let next = rig.enqueue(&name, 1);
    rig.answer(id, answer);
    assert_eq!(next.answered(), None);
    rig.settle();
    assert_eq!(next.answered(), Some(Ok(2)));
}

#[test]
fn a_late_or_doubled_answer_is_nobodys() {
    let (mut rig, name, _) = counter();
    rig.enqueue(&name, 1);
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer.clone());
    let next = rig.enqueue(&name, 1);
    rig.answer(id, answer);
    assert_eq!(next.answered(), None);
    rig.settle();
    assert_eq!(next.answered(), Some(Ok(1)));
}

#[test]
fn an_answer_of_another_length_stops_the_counter() {
    // I3: a ledger that returns less than was asked for would have callers share numbers.
    for end in [3, 9, 11] {
        let (mut rig, name, _) = counter();
        let ticket = rig.enqueue(&name, 10);
        let (id, _) = rig.reserve();
        rig.answer(id, Ok(Reply::Got { start: 0, end, previous_mark: 0 }));
        assert!(
            matches!(ticket.answered(), Some(Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) if text.contains("not fit"))
        );
        assert!(!rig.node.unload_queue(&name), "what stopped stays");
    }
}

/// A counter whose ledger was restored from an older backup, and the caller who met that.
pub(super) fn went_back() -> (Rig, Name, Arc<Ticket>) {
    let (mut rig, name, _) = counter();
    let backup = rig.ledger.backup();
    rig.enqueue(&name, 5);
    rig.settle();
    rig.ledger.restore(&backup);
    let ticket = rig.enqueue(&name, 1);
    rig.settle();
    (rig, name, ticket)
}

#[test]
fn a_mark_that_went_back_stops_the_counter() {
    // I1
    let (mut rig, name, ticket) = went_back();
    let Some(Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) =
        ticket.answered()
    else {
        panic!("it counts on")
    };
    assert!(text.contains("went backwards") && text.contains("marks raise"), "{text}");
    assert!(text.contains("was 0, and this process holds a range up to 5."), "{text}");
    let ticket = Ticket::new(1);
    let refused = rig.node.enqueue(&name, &ticket, &rig.clock);
    assert_eq!(refused, Err(MintError::Stopped(Stopped::ledger(text))));
}

#[test]
fn the_last_numbers_are_served_exactly() {
    let (mut rig, name, key) = counter();
    rig.ledger.raise(&key, MAX_MARK - 5).unwrap();
    let tickets: Vec<_> = [6, 3, 4, 2].map(|count| rig.enqueue(&name, count)).into();
    let more = {
        rig.settle();
        rig.enqueue(&name, 1)
    };
    rig.settle();
    let left_for = |ticket: &Ticket| match ticket.answered() {
        Some(Err(MintError::Exhausted(text))) => text
            .strip_prefix("count has ")
            .and_then(|text| text.split_once(' '))
            .map(|(left, _)| left.to_owned()),
        other => panic!("{other:?}"),
    };
    assert_eq!(left_for(&tickets[0]).as_deref(), Some("5"), "6 of 5");
    assert_eq!(tickets[1].answered(), Some(Ok(MAX_MARK - 5)));
    assert_eq!(left_for(&tickets[2]).as_deref(), Some("2"), "4 of the 2 that are left");
    assert_eq!(tickets[3].answered(), Some(Ok(MAX_MARK - 2)));
    assert_eq!((left_for(&more).as_deref(), rig.mark(&key)), (Some("0"), MAX_MARK));
    let last = rig.enqueue(&name, 1);
    assert_eq!((left_for(&last).as_deref(), rig.calls.len()), (Some("0"), 0), "and no question for nobody");
}

#[test]
fn the_queue_is_bounded() {
    let (mut rig, name, _) = counter();
    rig.enqueue(&name, 1);
    let tickets: Vec<_> = (0..100_000).map(|_| rig.enqueue(&name, 1)).collect();
    let one_more = Ticket::new(1);
    let busy = MintError::Busy { retry: std::time::Duration::from_millis(100) };
    assert_eq!(rig.node.enqueue(&name, &one_more, &rig.clock), Err(busy));
    rig.settle();
    assert_eq!(tickets.last().unwrap().answered(), Some(Ok(100_000)));
    assert!(rig.node.enqueue(&name, &one_more, &rig.clock).is_ok());
}

/// The ledger may hang in one call, and callers give up meanwhile.
#[test]
fn callers_who_have_gone_keep_nobody_out_of_the_queue() {
    let (mut rig, name, _) = counter();
    rig.enqueue(&name, 1);
    for _ in 0..2 {
        (0..100_000).for_each(|_| rig.enqueue(&name, 1).abandon());
        rig.enqueue(&name, 1);
    }
    // Where all wait, the queue is searched once, and then a thousand calls are refused.
    let tickets: Vec<_> = (2..100_000).map(|_| rig.enqueue(&name, 1)).collect();
    let refused = |rig: &mut Rig| rig.node.enqueue(&name, &Ticket::new(1), &rig.clock).is_err();
    assert!(refused(&mut rig));
    tickets[0].abandon();
    assert_eq!((1..2_000).find(|_| !refused(&mut rig)), Some(1_000));
}

/// Callers of a call that failed wait again, in front of those who have come meanwhile.
#[test]
fn a_queue_that_is_more_than_full_is_full() {
    let (mut rig, name, _) = counter();
    rig.enqueue(&name, 1);
    let tickets: Vec<_> = (0..100_000).map(|_| rig.enqueue(&name, 1)).collect();
    let (id, _) = rig.reserve();
    rig.answer(id, Err(LedgerError::Unavailable("gone".to_owned())));
    let refused = |rig: &mut Rig| rig.node.enqueue(&name, &Ticket::new(1), &rig.clock).is_err();
    assert!(refused(&mut rig));
    tickets[..2].iter().for_each(|ticket| ticket.abandon());
    assert_eq!((0..2_000).find(|_| !refused(&mut rig)), Some(1_000));
    assert!(refused(&mut rig));
}

#[test]
fn a_new_era_costs_a_counter_nothing() {
    let (mut rig, name, _) = counter();
    let ticket = rig.enqueue(&name, 1);
    let (id, request) = rig.reserve();
    rig.clock.invalidate();
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert_eq!(ticket.answered(), Some(Ok(0)));
}
