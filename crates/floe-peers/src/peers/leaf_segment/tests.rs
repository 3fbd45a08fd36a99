use super::LeafSegment;
use crate::peers::tests::manual_fleet::ManualFleet;
use floe_sim::model::Verdict;

fn ids(fleet: &mut ManualFleet<LeafSegment>, node: usize, count: usize) -> Vec<u128> {
    (0..count).map(|_| fleet.minted(node)).collect()
}

#[test]
fn one_server_counts_without_a_gap_over_its_segments() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    assert_eq!(ids(&mut fleet, 0, 100), (1..=100).collect::<Vec<_>>());
}

#[test]
fn two_servers_hold_disjoint_segments() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 2);
    let mut all: Vec<_> = (0..200).map(|turn| fleet.minted(turn % 2)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 200);
    fleet.held.sort_unstable();
    assert!(fleet.held.is_sorted_by(|one, next| one.1 <= next.0), "{:?}", fleet.held);
}

#[test]
fn the_other_segment_is_loaded_at_nine_tenths_and_no_caller_waits_for_it() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    assert_eq!(ids(&mut fleet, 0, 2), [1, 2]);
    fleet.run();
    assert_eq!(fleet.held, [(1, 11)], "9 of 10 are left: not less than nine tenths");
    assert_eq!(fleet.minted(0), 3);
    fleet.run();
    assert_eq!(fleet.held, [(1, 11), (11, 21)]);
    for expected in 4..=10 {
        assert_eq!(fleet.minted(0), expected);
    }
    let ask = fleet.ask(0, 1);
    assert!(fleet.is_answered(ask), "the switch needs no store");
    assert_eq!(fleet.outcome(ask), Verdict::Minted(vec![11]));
}

#[test]
fn the_step_doubles_under_fifteen_minutes_and_halves_from_thirty() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    ids(&mut fleet, 0, 30);
    let lengths = |fleet: &ManualFleet<LeafSegment>| {
        fleet.held.iter().map(|(start, end)| end - start).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&fleet), [10, 10, 20, 40]);
    fleet.host.pass(30 * 60 * 1000);
    ids(&mut fleet, 0, 20);
    assert_eq!(lengths(&fleet), [10, 10, 20, 40, 20]);
    fleet.host.pass(29 * 60 * 1000);
    ids(&mut fleet, 0, 40);
    assert_eq!(lengths(&fleet), [10, 10, 20, 40, 20, 20]);
}

#[test]
fn the_step_stops_below_a_million() {
    let mut fleet = ManualFleet::new(LeafSegment { step: 400_000 }, 1);
    ids(&mut fleet, 0, 1_300_000);
    let lengths: Vec<_> = fleet.held.iter().map(|(start, end)| end - start).collect();
    assert_eq!(lengths, [400_000, 400_000, 800_000, 800_000]);
}

#[test]
fn a_lost_reply_wastes_a_segment_and_repeats_none() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    fleet.lose_replies = 1;
    assert_eq!(fleet.refused(0), "Result{id=-3, status=EXCEPTION}");
    assert_eq!(fleet.minted(0), 11, "1 to 10 went with the reply");
    assert_eq!(fleet.minted(0), 12);
    fleet.lose_replies = 1;
    assert_eq!(ids(&mut fleet, 0, 8), (13..=20).collect::<Vec<_>>(), "the next call loads again");
    assert_eq!(fleet.minted(0), 31);
}

#[test]
fn doubled_requests_waste_and_do_not_repeat() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    fleet.double = true;
    let all = ids(&mut fleet, 0, 60);
    assert!(all.is_sorted_by(|one, next| one < next), "{all:?}");
}

#[test]
fn a_silent_store_ends_in_an_exception_after_ten_milliseconds() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    ids(&mut fleet, 0, 2);
    let asks: Vec<_> = (0..9).map(|_| fleet.ask(0, 1)).collect();
    assert!(fleet.is_answered(asks[7]));
    assert!(!fleet.is_answered(asks[8]), "ten are gone, and the thread has no answer yet");
    fleet.pass(9);
    assert!(!fleet.is_answered(asks[8]));
    fleet.pass(1);
    assert!(fleet.is_answered(asks[8]));
    assert_eq!(fleet.outcome(asks[8]), Verdict::Refused("Result{id=-3, status=EXCEPTION}".into()));
    assert_eq!(fleet.minted(0), 11);
}

#[test]
fn callers_of_a_new_server_wait_for_one_load() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    let asks: Vec<_> = (0..3).map(|_| fleet.ask(0, 1)).collect();
    for (ask, id) in asks.into_iter().zip(1..) {
        assert_eq!(fleet.outcome(ask), Verdict::Minted(vec![id]));
    }
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    let asks: Vec<_> = (0..3).map(|_| fleet.ask(0, 1)).collect();
    fleet.lose();
    assert!(fleet.is_answered(asks[0]));
    assert!(!fleet.is_answered(asks[1]), "the next one tries for itself");
    assert_eq!(fleet.outcome(asks[1]), Verdict::Minted(vec![1]));
    assert_eq!(fleet.outcome(asks[2]), Verdict::Minted(vec![2]));
}

#[test]
fn a_server_that_started_without_the_store_knows_no_key_for_a_minute() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 0);
    fleet.start(false);
    assert_eq!(fleet.refused(0), "Result{id=-2, status=EXCEPTION}");
    fleet.pass(59_999);
    fleet.run();
    assert_eq!(fleet.refused(0), "Result{id=-2, status=EXCEPTION}");
    fleet.pass(1);
    fleet.run();
    assert_eq!(fleet.minted(0), 1);
}

#[test]
fn a_restored_store_repeats() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 2);
    let backup = fleet.copy();
    assert_eq!(fleet.minted(0), 1);
    fleet.forget(&backup);
    assert_eq!(fleet.minted(1), 1);
}

/// Why [`NAMES`](super::NAMES) claims no order.
#[test]
fn two_failed_first_loads_can_leave_the_segments_in_the_wrong_order() {
    let mut fleet = ManualFleet::new(LeafSegment::default(), 1);
    fleet.ask(0, 1);
    fleet.lose();
    fleet.ask(0, 1);
    fleet.lose();
    let caller = fleet.ask(0, 1);
    let thread = fleet.serve();
    fleet.run();
    assert_eq!(fleet.outcome(caller), Verdict::Minted(vec![11]));
    fleet.arrive(thread);
    assert_eq!(ids(&mut fleet, 0, 9), (12..=20).collect::<Vec<_>>());
    assert_eq!(fleet.minted(0), 1);
}
