//! Faults that only MariaDB has.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, conformance};
use floe_testbed::{Mariadb, Proxy};

use super::{open, rig};
use crate::real_servers::faults::{Rig, at_last, disjoint, timed};
use crate::{ask, got, says, until};

/// The trips of each call, as docs/ledgers.md states them.
#[test]
fn a_reserve_is_one_round_trip() {
    let Rig { server, url } = rig();
    let proxy = Proxy::before(server.port());
    let (ledger, other) = (open(&url(proxy.port(), "")), open(&url(server.port(), "")));
    let costs = |call: &dyn Fn()| {
        let before = proxy.round_trips();
        call();
        proxy.round_trips() - before
    };
    let slot = Key::slot(10, 7);
    let wanted = || Reserve { key: slot.clone(), ..ask(5) };
    let first = wanted();
    assert_eq!(costs(&|| assert_eq!(got(&*ledger, &first), (0, 5))), 6, "a slot that was never there");
    assert_eq!(
        costs(&|| assert_eq!(got(&*ledger, &first), (0, 5))),
        2,
        "the same token again: a look, and a flush"
    );
    let many = || (1..=100).for_each(|range| assert_eq!(got(&*ledger, &wanted()).1, 5 + 5 * range));
    assert_eq!(costs(&many), 100);
    let probe = || {
        let refused = ledger.reserve(&Reserve { max_mark: 4, ..wanted() });
        assert_eq!(refused, Ok(Reply::Refused { mark: 505, note: None }));
    };
    assert_eq!(costs(&probe), 1);
    got(&*other, &wanted());
    let next = || assert_eq!(got(&*ledger, &wanted()), (510, 515));
    assert_eq!(costs(&next), 2, "where another came in between");
    ledger.bind(&Name::new("visits").unwrap(), "a counter", true).unwrap();
    let visits = Key::name(&Name::new("visits").unwrap());
    let count = || {
        let request = Reserve { key: visits.clone(), create: false, ..ask(1) };
        assert!(matches!(ledger.count(&request), Ok(Reply::Got { .. })));
    };
    (0..40).for_each(|_| count());
    // One call in 33 reserves ahead, which takes two more trips.
    assert_eq!(costs(&|| (0..330).for_each(|_| count())), 350);
}

#[test]
fn a_lock_that_somebody_holds_is_waited_for_no_longer_than_the_bound() {
    let server = Mariadb::start(&[]);
    let ledger = open(&format!("{}?max_wait=500ms", server.url()));
    got(&*ledger, &ask(5));
    let patient = open(&server.url());
    thread::scope(|scope| {
        let sql = "BEGIN; SELECT 1 FROM floe.floe_record FOR UPDATE; DO SLEEP(3.5); COMMIT";
        let holder = scope.spawn(|| server.sql(sql));
        let sleeps = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'DO SLEEP(3.5)'";
        while server.sql(sleeps) == "0" {
            assert!(!holder.is_finished(), "nothing to wait for");
        }
        let (outcome, took) = timed(|| ledger.reserve(&ask(1)));
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
        assert!(took < Duration::from_millis(1600), "{took:?}");
        // A refusal does not wait for others.
        let refusal = ledger.reserve(&Reserve { max_mark: 4, ..ask(1) });
        assert_eq!(refusal, Ok(Reply::Refused { mark: 5, note: None }));
        // A caller with enough time waits longer than InnoDB's limit, and gets its range in the end.
        let (outcome, took) = timed(|| got(&*patient, &ask(1)));
        assert_eq!(outcome, (5, 6));
        assert!(took > Duration::from_millis(1100), "{took:?}");
        holder.join().unwrap();
    });
    // The abandoned statement ended in time, and not later with a range that nobody owns.
    assert_eq!(got(&*ledger, &ask(1)), (6, 7));
}

/// On a cluster, a statement ends like this if another node's statement came first.
#[test]
fn a_statement_that_was_rolled_back_in_a_deadlock_is_made_again() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    // Aria does not undo the count.
    server.sql(
        "DELIMITER //
        USE floe//
        CREATE TABLE tries (tries INT) ENGINE = Aria TRANSACTIONAL = 0//
        INSERT INTO tries VALUES (0)//
        CREATE TRIGGER victim BEFORE UPDATE ON floe_record FOR EACH ROW BEGIN
            UPDATE tries SET tries = tries + 1;
            IF (SELECT tries FROM tries) < 3 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF;
        END//",
    );
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    assert_eq!(server.sql("SELECT tries FROM floe.tries"), "3");
}

/// InnoDB rolls back the statement that waited, and leaves its transaction open.
#[test]
fn what_was_written_before_a_lock_that_was_waited_for_in_vain_is_taken_back() {
    let server = Mariadb::start(&[]);
    let (hasty, ledger) = (open(&format!("{}?max_wait=500ms", server.url())), open(&server.url()));
    ledger.bind(&Name::new("orders").unwrap(), "a counter", true).unwrap();
    let count = |ledger: &dyn Ledger| ledger.count(&Reserve { create: false, ..ask(1) });
    // As if somebody held the row that the first range is to be counted from.
    server.sql(
        "CREATE TRIGGER floe.held BEFORE INSERT ON floe.floe_counting FOR EACH ROW
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205",
    );
    let outcome = count(&*hasty);
    assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
    assert_eq!(ledger.list("", "", 1).unwrap()[0].mark, 0, "nothing was reserved without its row");
    server.sql("DROP TRIGGER floe.held");
    assert_eq!(count(&*ledger), Ok(Reply::Got { start: 0, end: 1, previous_mark: 0 }));
}

#[test]
fn a_realm_that_is_another_one_stops_the_ledger() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    let other = Key::slot(10, 8);
    for (sql, part) in [
        (
            "UPDATE floe.floe_record SET record = REPLACE(record, 'realm ', 'realm 0')",
            "is another than it was",
        ),
        ("DELETE FROM floe.floe_record", "is gone"),
        ("DROP TABLE floe.floe_record", "floe_record"),
        ("DROP DATABASE floe", "Unknown database"),
    ] {
        server.sql(sql);
        server.stop();
        server.run();
        let outcome = ledger.reserve(&Reserve { key: other.clone(), ..ask(1) });
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("after {sql}: {outcome:?}") };
        says(&text, &[part, "restore"]);
    }
    // Nothing is made in a new database of the same name.
    server.sql("CREATE DATABASE floe");
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("a fresh database was taken") };
    says(&text, &["floe_record", "restore"]);
    assert_eq!(server.sql("SHOW TABLES IN floe"), "");
}

#[test]
fn a_table_that_is_dropped_under_a_running_ledger_stops_it() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    server.sql("DROP TABLE floe.floe_record");
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["floe_record", "(1146)", "restore", "marks raise"]);
    // It is not made again either: the version shows that it existed.
    says(&super::checks::refused(&server.url()), &["floe_record", "restore"]);
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Mariadb::start(&[]);
    server.sql("CREATE USER floe; GRANT ALL ON floe.* TO floe");
    let ledger = open(&server.url_of("floe"));
    thread::scope(|scope| {
        for worker in 0..16 {
            let (key, ledger) = (Key::slot(10, worker), &ledger);
            scope.spawn(move || {
                for _ in 0..20 {
                    got(&**ledger, &Reserve { key: key.clone(), ..ask(1) });
                }
            });
        }
    });
    let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'floe'";
    assert_eq!(server.sql(count), "4");
    drop(ledger);
    until("the connections to end", || server.sql(count) == "0");
    // They closed in order: nothing was cut off.
    assert_eq!(server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_clients'"), "Aborted_clients\t0");
}

/// If the rest is too short for a batch, what is reserved next extends it.
#[test]
fn a_counter_skips_nothing_between_batches_of_different_sizes() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    ledger.bind(&Name::new("orders").unwrap(), "a counter", true).unwrap();
    let mut start = 0;
    for count in [1, 3, 30, 5, 2_000, 1] {
        let counted = ledger.count(&Reserve { create: false, ..ask(count) });
        let end = start + count;
        assert_eq!(counted, Ok(Reply::Got { start, end, previous_mark: start }), "{count} numbers");
        start = end;
    }
}

/// No crash loses the numbers that a counter reserved ahead: their row and the record are one transaction.
#[test]
fn a_counter_goes_on_without_a_gap_when_the_server_is_killed() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    ledger.bind(&Name::new("orders").unwrap(), "a counter", true).unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let failures = AtomicUsize::new(0);
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let mut ranges = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let request = || ledger.count(&Reserve { create: false, ..ask(3) });
                let Reply::Got { start, end, .. } = at_last(&failures, request) else { panic!() };
                ranges.push((start, end));
                done.fetch_add(1, Ordering::Relaxed);
            }
            assert!(ranges.is_sorted(), "a caller saw the counter go back");
            ranges
        };
        let callers: Vec<_> = (0..6).map(|_| scope.spawn(caller)).collect();
        for round in 1..=4 {
            while done.load(Ordering::Relaxed) < round * 250 {
                thread::yield_now();
            }
            server.kill();
            server.run();
        }
        while done.load(Ordering::Relaxed) < 1250 {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let (counted, failed) = (ranges.len(), failures.load(Ordering::Relaxed));
    let end = disjoint(ranges);
    // Three numbers for each call, and as many for a call with a lost answer.
    let [least, most] = [counted, counted + failed].map(|calls| u64::try_from(calls).unwrap() * 3);
    assert!((least..=most).contains(&end), "{counted} calls and {failed} that failed, up to {end}");
    assert!(ledger.list("", "", 10).unwrap()[0].mark >= end);
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let server = Mariadb::start(&[]);
    let delete = |key: &Key| {
        drop(server.sql(&format!("DELETE FROM floe.floe_record WHERE `key` = 'mark/test/{key}'")))
    };
    conformance::check_deleted(&|| open(&server.url()), &delete);
    // The way out in docs/ledgers.md.
    server.sql("DELETE FROM floe.floe_record WHERE `key` = 'made/test/s/10/7'");
    assert_eq!(got(&*open(&server.url()), &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}
