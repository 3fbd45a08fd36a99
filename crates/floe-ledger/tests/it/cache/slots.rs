//! Slots: an hour ahead in the ledger behind, a window at a time here.

use std::sync::Arc;

use floe::ledger::{AtHand, Key, Ledger, Reply, Reserve};
use tempfile::TempDir;

use super::{Behind, HOUR, NOW, open, until, window};
use crate::got;

#[test]
fn an_hour_is_reserved_behind_and_a_window_here() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let request = window(7, NOW);
    let expected = Reply::Got { start: NOW, end: NOW + 30_000, previous_mark: 0 };
    assert_eq!(cache.reserve(&request), Ok(expected.clone()));
    let asked = behind.reserves();
    let [portion] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((portion.floor, portion.count, portion.max_mark), (NOW, HOUR, NOW));
    assert_eq!(portion.note, request.note);
    assert_ne!(portion.token, request.token);
    let behind_it = &behind.store.list("s/", "", 10).unwrap()[0];
    assert_eq!((behind_it.mark, behind_it.note.as_deref()), (NOW + HOUR, Some("node of 7")));
    let here = &cache.list("s/", "", 10).unwrap()[0];
    assert_eq!((here.mark, here.note.as_deref()), (NOW + 30_000, Some("node of 7")));
    // The same token again, and the next windows, do not concern any other node.
    let asked = behind.asked();
    assert_eq!(cache.reserve(&request), Ok(expected));
    assert_eq!(got(&cache, &window(7, NOW + 30_000)), (NOW + 30_000, NOW + 60_000));
    assert_eq!(behind.asked(), asked);
    assert_eq!(cache.at_hand(10), [AtHand { worker: 7, mark: NOW + 60_000, end: NOW + HOUR }]);
    assert_eq!(cache.at_hand(5), []);
}

#[test]
fn what_is_refused_here_writes_nothing_and_asks_nobody() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(7, NOW));
    let asked = behind.asked();
    let other = Reserve { note: Some("somebody else".to_owned()), ..window(7, NOW + 5_000) };
    let refused = Reply::Refused { mark: NOW + 30_000, note: Some("node of 7".to_owned()) };
    assert_eq!(cache.reserve(&other), Ok(refused));
    assert_eq!(behind.asked(), asked);
}

#[test]
fn a_slot_that_somebody_else_has_is_refused_with_what_the_ledger_behind_says() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&behind.store, &window(7, NOW));
    let refused = Reply::Refused { mark: NOW + 30_000, note: Some("node of 7".to_owned()) };
    assert_eq!(cache.reserve(&window(7, NOW)), Ok(refused));
    // Once that window has passed it can be reserved, and the mark before is still there.
    let late = NOW + 100_000;
    let expected = Reply::Got { start: late, end: late + 30_000, previous_mark: NOW + 30_000 };
    assert_eq!(cache.reserve(&window(7, late)), Ok(expected));
}

#[test]
fn time_is_added_before_it_runs_out_and_without_a_gap() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(7, NOW));
    let portions = || behind.reserves().len();
    for minute in 1..60 {
        let now = NOW + minute * 30_000;
        assert_eq!(got(&cache, &window(7, now)), (now, now + 30_000));
        assert_eq!(portions(), 1, "more than half is left");
    }
    let half = NOW + HOUR / 2;
    got(&cache, &Reserve { note: Some("renamed".to_owned()), ..window(7, half) });
    until("more time", || behind.store.list("s/", "", 1).unwrap()[0].mark == NOW + 2 * HOUR);
    until("the cache to take it in", || cache.at_hand(10)[0].end == NOW + 2 * HOUR);
    let added = behind.reserves().pop().unwrap();
    assert_eq!((added.floor, added.max_mark), (NOW + HOUR, NOW + HOUR));
    // The shared ledger says who has the slot now.
    assert_eq!(behind.store.list("s/", "", 1).unwrap()[0].note.as_deref(), Some("renamed"));
    // A window across the boundary is one range.
    let before = NOW + HOUR - 10_000;
    let range = got(&cache, &Reserve { max_mark: before, ..window(7, before) });
    assert_eq!(range, (before, before + 30_000));
}

#[test]
fn a_slot_that_nobody_uses_is_let_go() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    for worker in [7, 8] {
        got(&cache, &window(worker, NOW));
    }
    for now in (NOW + 30_000..NOW + 3 * HOUR).step_by(30_000) {
        got(&cache, &window(7, now));
    }
    let mark = |worker| {
        let key = Key::slot(10, worker);
        behind.store.list(key.as_str(), "", 1).unwrap()[0].mark
    };
    assert_eq!(mark(8), NOW + HOUR);
    assert!(mark(7) >= NOW + 3 * HOUR);
    let elsewhere = TempDir::new().unwrap();
    assert_eq!(got(&open(elsewhere.path(), &behind), &window(8, NOW + 2 * HOUR)).0, NOW + 2 * HOUR);
}

#[test]
fn where_somebody_else_has_reserved_beyond_the_rest_is_still_ours() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(7, NOW));
    let other = Reserve { max_mark: NOW + HOUR, note: Some("another".to_owned()), ..window(7, NOW + HOUR) };
    got(&behind.store, &other);
    let mut now = NOW + 30_000;
    while now < NOW + HOUR {
        assert_eq!(got(&cache, &window(7, now)), (now, now + 30_000));
        now += 30_000;
    }
    let refused = Reply::Refused { mark: NOW + HOUR + 30_000, note: Some("another".to_owned()) };
    assert_eq!(cache.reserve(&window(7, now)), Ok(refused));
    // The cache learned once that there is no more, and does not ask with every window.
    assert!(behind.reserves().len() <= 3, "{:?}", behind.reserves().len());
}

#[test]
fn a_tail_goes_back_to_the_cache_alone() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let request = window(7, NOW);
    got(&cache, &request);
    let asked = behind.asked();
    assert_eq!(cache.give_back(&request.key, request.token, NOW + 1_000), Ok(true));
    assert_eq!(cache.at_hand(10)[0].mark, NOW + 1_000);
    assert_eq!(cache.give_back(&request.key, request.token, NOW + 500), Ok(false));
    assert_eq!(behind.asked(), asked);
    assert_eq!(got(&cache, &window(7, NOW + 1_000)), (NOW + 1_000, NOW + 31_000));
}

#[test]
fn a_raise_goes_through_to_both() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let request = window(7, NOW);
    let key = request.key.clone();
    got(&cache, &request);
    assert_eq!(cache.raise(&key, NOW + 50_000), Ok(NOW + 30_000), "inside what is held");
    assert_eq!(cache.at_hand(10), [AtHand { worker: 7, mark: NOW + 50_000, end: NOW + HOUR }]);
    assert_eq!(behind.store.list("s/", "", 1).unwrap()[0].mark, NOW + HOUR);
    assert_eq!(cache.give_back(&key, request.token, NOW), Ok(false));
    let next = Reserve { max_mark: u64::MAX, ..window(7, NOW) };
    assert_eq!(got(&cache, &next), (NOW + 50_000, NOW + 80_000));
    assert_eq!(cache.raise(&key, NOW + 5 * HOUR), Ok(NOW + 80_000), "beyond it");
    assert_eq!(behind.store.list("s/", "", 1).unwrap()[0].mark, NOW + 5 * HOUR);
    let next = Reserve { max_mark: u64::MAX, ..window(7, NOW) };
    assert_eq!(got(&cache, &next), (NOW + 5 * HOUR, NOW + 5 * HOUR + 30_000), "what lay below is dropped");
    behind.cut();
    assert!(cache.raise(&key, NOW + 9 * HOUR).is_err());
    let next = Reserve { max_mark: u64::MAX, ..window(7, NOW) };
    assert_eq!(got(&cache, &next).0, NOW + 5 * HOUR + 30_000);
}

#[test]
fn every_slot_of_a_width_is_at_hand_and_none_of_another() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    for (bits, worker) in [(9, 511), (10, 0), (10, 1_023), (11, 0)] {
        got(&cache, &Reserve { key: Key::slot(bits, worker), ..window(7, NOW) });
    }
    let workers = |bits| cache.at_hand(bits).iter().map(|slot| slot.worker).collect::<Vec<_>>();
    assert_eq!([workers(9), workers(10), workers(11)], [vec![511], vec![0, 1_023], vec![0]]);
}

#[test]
fn a_slot_that_was_lost_and_is_had_again_is_added_to_again() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(7, NOW));
    let other = Reserve { max_mark: NOW + HOUR, ..window(7, NOW + HOUR) };
    got(&behind.store, &other);
    got(&cache, &window(7, NOW + HOUR / 2 + 30_000));
    until("it to be asked for in vain", || behind.reserves().len() == 2);
    // The other one's time has passed.
    let late = NOW + HOUR + 60_000;
    got(&cache, &window(7, late));
    assert_eq!(cache.at_hand(10)[0].end, late + HOUR);
    got(&cache, &window(7, late + HOUR / 2 + 30_000));
    until("more time", || cache.at_hand(10)[0].end == late + 2 * HOUR);
}

/// A node that looks for a slot asks for those of others too, such as one that another process of this machine has left.
#[test]
fn whoever_is_refused_a_slot_adds_nothing_to_it() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    // What it wants to add when it ends, it never can.
    let cut_off = Behind { gone: Arc::default(), ..behind.clone() };
    let ended = open(dir.path(), &cut_off);
    for worker in [7, 8] {
        got(&ended, &window(worker, NOW));
    }
    cut_off.cut();
    let late = NOW + HOUR / 2 + 30_000;
    for worker in [7, 8] {
        got(&ended, &window(worker, late));
    }
    drop(ended);
    let cache = open(dir.path(), &behind);
    let looks = Reserve { note: Some("somebody else".to_owned()), ..window(7, late + 5_000) };
    let refused = Reply::Refused { mark: late + 30_000, note: Some("node of 7".to_owned()) };
    assert_eq!(cache.reserve(&looks), Ok(refused));
    got(&cache, &window(8, late + 30_000));
    // Keys take their turn in order.
    until("more time for the one that is used", || cache.at_hand(10)[1].end == NOW + 2 * HOUR);
    assert_eq!(cache.at_hand(10)[0].end, NOW + HOUR);
}
