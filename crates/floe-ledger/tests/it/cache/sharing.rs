//! Several caches on one directory, and several directories in front of one ledger.

use std::sync::{Arc, Barrier};
use std::thread;

use floe::ledger::{Key, Ledger};
use tempfile::TempDir;

use super::{Behind, NOW, bind, numbers, open, until, window};
use crate::got;
use crate::processes::disjoint;

#[test]
fn two_processes_on_one_directory_share_what_it_holds() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let (a, b) = (open(dir.path(), &behind), open(dir.path(), &behind));
    bind(&a, "orders");
    bind(&b, "orders");
    let request = numbers("orders", 100);
    assert_eq!(got(&a, &request), (0, 100));
    assert_eq!(got(&b, &request), (0, 100), "the same token");
    assert_eq!(got(&b, &numbers("orders", 100)), (100, 200));
    assert_eq!(behind.reserves().len(), 1);
    assert_eq!(got(&a, &window(7, NOW)), (NOW, NOW + 30_000));
    let refused = b.reserve(&window(7, NOW + 1)).unwrap();
    assert!(matches!(refused, floe::ledger::Reply::Refused { mark, .. } if mark == NOW + 30_000));
    // A process that starts finds what the others hold.
    behind.cut();
    let c = open(dir.path(), &behind);
    assert_eq!(c.at_hand(10)[0].mark, NOW + 30_000);
    assert_eq!(got(&c, &numbers("orders", 100)), (200, 300));
}

/// Only a process that asks late wastes a range: see the next test.
#[test]
fn processes_that_need_a_range_at_once_get_disjoint_parts_and_leave_no_other_gap() {
    const PROCESSES: usize = 6;
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let first = open(dir.path(), &behind);
    bind(&first, "orders");
    let begin = Barrier::new(PROCESSES);
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let work = || {
            let cache = open(dir.path(), &behind);
            begin.wait();
            (0..40).map(|_| got(&cache, &numbers("orders", 10))).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let end = disjoint(ranges);
    assert_eq!(end - behind.given_again(end), PROCESSES as u64 * 400, "and no gap");
}

/// It has read the token that both use, and sends it when the other has recorded its range, and has got another since.
#[test]
fn a_process_that_asks_late_drops_what_it_is_given_and_nothing_repeats() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let (late, other) = (open(dir.path(), &behind), open(dir.path(), &behind));
    bind(&late, "orders");
    bind(&other, "orders");
    let (to, from) = std::sync::mpsc::channel();
    behind.meanwhile(Key::NAMES, move || {
        (0..6).for_each(|_| to.send(got(&other, &numbers("orders", 10))).unwrap());
    });
    let first = got(&late, &numbers("orders", 10));
    let mut ranges: Vec<(u64, u64)> = from.iter().chain([first]).collect();
    assert!(
        behind.given_again(u64::MAX) > 0,
        "the late request got no range of its own, so this shows nothing"
    );
    ranges.extend((0..50).map(|_| got(&late, &numbers("orders", 10))));
    let end = disjoint(ranges);
    assert_eq!(end - behind.given_again(end), 57 * 10);
}

#[test]
fn caches_of_several_machines_before_one_ledger_are_disjoint() {
    let behind = Behind::default();
    bind(&behind.store, "orders");
    let dirs = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let mut ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let work = |dir: &TempDir| {
            let cache = open(dir.path(), &behind);
            bind(&cache, "orders");
            (1..200).map(|count| got(&cache, &numbers("orders", 1 + count % 7))).collect::<Vec<_>>()
        };
        let threads: Vec<_> = dirs.iter().map(|dir| scope.spawn(move || work(dir))).collect();
        let direct =
            scope.spawn(|| (0..50).map(|_| got(&behind.store, &numbers("orders", 3))).collect::<Vec<_>>());
        threads.into_iter().chain([direct]).flat_map(|thread| thread.join().unwrap()).collect()
    });
    ranges.sort_unstable();
    disjoint(ranges);
}

#[test]
fn a_slot_is_one_machines_at_a_time() {
    let behind = Behind::default();
    let dirs = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [a, b] = dirs.each_ref().map(|dir| open(dir.path(), &behind));
    got(&a, &window(7, NOW));
    assert!(matches!(b.reserve(&window(7, NOW + 100_000)), Ok(floe::ledger::Reply::Refused { .. })));
    got(&b, &window(8, NOW));
    until("nothing", || b.at_hand(10).len() == 1);
    assert_eq!(a.at_hand(10)[0].worker, 7);
    assert_eq!(b.at_hand(10)[0].worker, 8);
}

/// Both use the token that the first one has put on disk, and get one answer.
#[test]
fn two_processes_that_open_a_directory_at_once_are_counted_as_one() {
    // The second goes on with the opening of the first. If it is the first to hear, it counts one of its own as well: it cannot
    // tell the first one from an older copy.
    for (heard, openings) in [([0, 1], 2), ([1, 0], 3)] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        got(&open(dir.path(), &behind), &window(7, NOW));
        let answers = [(); 2].map(|()| Arc::new(Barrier::new(2)));
        let caches = answers.each_ref().map(|answer| {
            behind.openings_meet.lock().unwrap().push(Arc::clone(answer));
            let cache = open(dir.path(), &behind);
            until("it to ask", || behind.openings_meet.lock().unwrap().is_empty());
            cache
        });
        for (turn, process) in (1..).zip(heard) {
            let cache = &caches[process];
            answers[process].wait();
            until("it to be opened", || cache.list("s/", "", 1).is_ok());
            assert!(!cache.describe().contains("copy"), "{}", cache.describe());
            let now = NOW + turn * 30_000;
            assert_eq!(got(cache, &window(7, now)), (now, now + 30_000));
        }
        assert_eq!(behind.store.list("c/", "", 1).unwrap()[0].mark, openings, "{heard:?}");
    }
}

/// As of a process that hangs. The next start would take it for an opening of an older copy.
#[test]
fn an_opening_that_arrives_after_later_ones_counts_for_nothing() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    let (path, others) = (dir.path().to_owned(), behind.clone());
    behind.meanwhile(Key::CACHES, move || {
        for _ in 0..2 {
            let cache = open(&path, &others);
            until("it to be opened", || cache.list("s/", "", 1).is_ok());
        }
    });
    for process in 1..4 {
        let cache = open(dir.path(), &behind);
        until("it to be opened", || cache.list("s/", "", 1).is_ok());
        assert!(!cache.describe().contains("copy"), "{process}: {}", cache.describe());
        let now = NOW + process * 30_000;
        assert_eq!(got(&cache, &window(7, now)), (now, now + 30_000));
    }
}
