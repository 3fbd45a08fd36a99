use super::{Answer, TinyId};
use crate::peers::tests::manual_fleet::{Done, ManualFleet};
use floe_sim::model::Verdict;

#[test]
fn one_server_counts_without_a_gap_over_its_segments() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    let ids: Vec<_> = (0..100).map(|_| fleet.minted(0)).collect();
    assert_eq!(ids, (2..=101).collect::<Vec<_>>(), "(1, 11] is the first segment");
    assert_eq!(fleet.batch(0, 10), (102..=111).collect::<Vec<_>>());
}

#[test]
fn two_servers_hold_disjoint_segments() {
    let mut fleet = ManualFleet::new(TinyId::default(), 2);
    let mut all: Vec<_> = (0..100).flat_map(|turn| fleet.batch(turn % 2, 3)).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 300);
    fleet.held.sort_unstable();
    assert!(fleet.held.is_sorted_by(|one, next| one.1 <= next.0), "{:?}", fleet.held);
}

#[test]
fn ids_leave_the_remainder() {
    for (delta, remainder, expected) in [(2, 1, [3, 5, 7, 9]), (3, 0, [3, 6, 9, 12]), (3, 1, [4, 7, 10, 13])]
    {
        let mut fleet = ManualFleet::new(TinyId { step: 90, delta, remainder, databases: 1 }, 1);
        assert_eq!(fleet.batch(0, 4), expected);
    }
}

#[test]
fn the_next_segment_is_loaded_at_a_fifth_and_no_caller_waits_for_it() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    assert_eq!(fleet.minted(0), 2);
    fleet.run();
    assert_eq!(fleet.held, [(2, 12)]);
    assert_eq!(fleet.minted(0), 3);
    fleet.run();
    assert_eq!(fleet.held, [(2, 12), (12, 22)]);
    fleet.batch(0, 8);
    let ask = fleet.ask(0, 1);
    assert!(fleet.is_answered(ask), "the switch needs no store");
    assert_eq!(fleet.outcome(ask), Verdict::Minted(vec![12]));
}

/// tinyid 49976d3, DbSegmentIdServiceImpl.getNextSegmentId: one transaction around the query and the update.
#[test]
fn an_update_whose_reply_is_lost_is_rolled_back() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    let ask = fleet.ask(0, 1);
    let read = fleet.serve();
    fleet.arrive(read);
    fleet.lose_replies = 1;
    let error = "code 6: error query segmentId: no answer from the database";
    assert_eq!(fleet.outcome(ask), Verdict::Refused(error.into()));
    assert_eq!(fleet.minted(0), 2, "nothing was written");
}

#[test]
fn a_commit_whose_reply_is_lost_wastes_a_segment_and_repeats_none() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    let ask = fleet.ask(0, 1);
    for _ in 0..2 {
        let done = fleet.serve();
        fleet.arrive(done);
    }
    fleet.lose_replies = 1;
    let error = "code 6: error query segmentId: no answer from the database";
    assert_eq!(fleet.outcome(ask), Verdict::Refused(error.into()));
    assert_eq!(fleet.minted(0), 12, "2 to 11 went with the reply");
}

#[test]
fn of_two_that_update_one_row_at_once_one_reads_again() {
    let mut fleet = ManualFleet::new(TinyId::default(), 2);
    let asks = [fleet.ask(0, 1), fleet.ask(1, 1)];
    for _ in 0..4 {
        let done = fleet.serve();
        fleet.arrive(done);
    }
    assert_eq!(asks.map(|ask| fleet.outcome(ask)), [Verdict::Minted(vec![2]), Verdict::Minted(vec![12])]);
}

#[test]
fn doubled_requests_do_not_repeat() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    fleet.double = true;
    let all: Vec<_> = (0..60).map(|_| fleet.minted(0)).collect();
    assert_eq!(all, (2..=61).collect::<Vec<_>>(), "the second update finds another version");
}

#[test]
fn who_reads_a_row_that_another_writes_tries_three_times() {
    let mut fleet = ManualFleet::new(TinyId { step: 1, ..TinyId::default() }, 2);
    let ask = fleet.ask(0, 1);
    for _ in 0..3 {
        let read = fleet.serve();
        let other = fleet.minted(1);
        assert!(other > 1);
        fleet.arrive(read);
        assert!(!fleet.is_answered(ask));
        let wrote = fleet.serve();
        fleet.arrive(wrote);
    }
    assert_eq!(
        fleet.outcome(ask),
        Verdict::Refused("code 6: error query segmentId: get next segmentId conflict".into()),
    );
}

#[test]
fn an_exception_ends_one_caller_and_the_next_one_loads_for_itself() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    let asks = [fleet.ask(0, 1), fleet.ask(0, 2)];
    fleet.lose();
    assert!(matches!(fleet.outcome(asks[0]), Verdict::Refused(_)));
    assert_eq!(fleet.outcome(asks[1]), Verdict::Minted(vec![2, 3]));
}

#[test]
fn a_restored_store_repeats() {
    let mut fleet = ManualFleet::new(TinyId::default(), 2);
    let backup = fleet.copy();
    assert_eq!(fleet.minted(0), 2);
    fleet.forget(&backup);
    assert_eq!(fleet.minted(1), 2);
}

/// tinyid 49976d3, config/DynamicDataSource.java (determineCurrentLookupKey) and db.sql (`delta`, `remainder`).
#[test]
fn two_databases_hand_out_even_and_odd_ids_and_know_nothing_of_each_other() {
    let mut fleet = ManualFleet::new(TinyId::on(2), 2);
    let mut all: Vec<_> = (0..200).map(|turn| fleet.minted(turn % 2)).collect();
    let odd = all.iter().filter(|id| *id % 2 == 1).count();
    assert!((60..140).contains(&odd), "each load draws one of them: {odd} of 200 are odd");
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 200);
}

/// The same, and DbSegmentIdServiceImpl.java (getNextSegmentId): one transaction, so one connection, for its three tries.
#[test]
fn a_transaction_stays_on_its_database() {
    let read = |done: &Done<TinyId>| match done.reply() {
        Answer::Read(row) => *row,
        other => panic!("{other:?}"),
    };
    let mut first_tries = Vec::new();
    for draws in 0..10 {
        let mut fleet = ManualFleet::new(TinyId { step: 2, ..TinyId::on(2) }, 2);
        for _ in 0..draws {
            fleet.minted(1);
        }
        fleet.run();
        fleet.ask(0, 1);
        let first = fleet.serve();
        let database = read(&first).database;
        while fleet.copy().0[database].version == read(&first).version {
            fleet.minted(1);
        }
        fleet.arrive(first);
        let update = fleet.serve();
        assert!(matches!(update.reply(), Answer::Matched(false)), "the other server has changed it");
        fleet.arrive(update);
        assert_eq!(read(&fleet.serve()).database, database);
        first_tries.push(database);
    }
    assert!(first_tries.contains(&0) && first_tries.contains(&1), "{first_tries:?}");
}

/// Flickr's servers are set back one at a time too. Two databases halve what a backup repeats, and no more.
#[test]
fn a_restored_database_repeats_its_own_half_alone() {
    let mut fleet = ManualFleet::new(TinyId { step: 2, ..TinyId::on(2) }, 2);
    let backup = fleet.copy();
    let first: Vec<_> = (0..40).map(|_| fleet.minted(0)).collect();
    fleet.forget(&backup);
    let again: Vec<_> = (0..40).map(|_| fleet.minted(1)).filter(|id| first.contains(id)).collect();
    assert!(!again.is_empty() && again.iter().all(|id| id % 2 == 0), "{again:?}");
}

/// Why [`NAMES`](super::NAMES) claims no order.
#[test]
fn a_caller_that_overtakes_the_thread_leaves_the_segments_in_the_wrong_order() {
    let mut fleet = ManualFleet::new(TinyId::default(), 1);
    assert_eq!(fleet.batch(0, 1), [2]);
    let rest = fleet.ask(0, 9);
    assert!(fleet.is_answered(rest), "the thread's load is under way");
    for _ in 0..2 {
        let done = fleet.serve();
        fleet.arrive(done);
    }
    let thread = fleet.serve();
    assert_eq!(fleet.batch(0, 1), [22], "the caller's own load, after the thread's");
    fleet.arrive(thread);
    fleet.batch(0, 9);
    assert_eq!(fleet.minted(0), 12);
}
