//! What PostgreSQL alone may do to a ledger.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reply, Reserve, conformance};
use floe_testbed::Postgres;

use super::{open, rig, schema};
use crate::real_servers::faults::{self, at_last, disjoint, timed};
use crate::{ask, got, says};

#[test]
fn a_reserve_is_one_round_trip() {
    faults::a_reserve_is_one_round_trip(&rig());
}

/// What was reserved ahead for a counter is gone with a crash, and its numbers with it; none comes again, and each
/// caller's grow.
#[test]
fn a_counter_goes_on_above_all_its_numbers_when_the_server_is_killed() {
    let server = Postgres::start(&[]);
    let ledger = open(&format!("{}?max_wait=2s", server.url()));
    ledger.bind(&Name::new("orders").unwrap(), "a counter", true).unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let mut ranges = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let request = || ledger.count(&Reserve { create: false, ..ask(3) });
                let Reply::Got { start, end, .. } = at_last(&AtomicUsize::new(0), request) else { panic!() };
                ranges.push((start, end));
                done.fetch_add(1, Ordering::Relaxed);
            }
            assert!(ranges.is_sorted(), "a caller saw the counter go back");
            ranges
        };
        let callers: Vec<_> = (0..6).map(|_| scope.spawn(caller)).collect();
        for round in 1..=4 {
            while done.load(Ordering::Relaxed) < round * 500 {
                thread::yield_now();
            }
            // Most ends are in the middle of a range that was reserved ahead.
            server.kill();
            server.run();
        }
        while done.load(Ordering::Relaxed) < 2500 {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let counted = u64::try_from(ranges.len()).unwrap() * 3;
    let end = disjoint(ranges);
    // Three numbers a call, and at most 32 calls' worth for each kill and each connection that was cut off.
    assert!((counted..counted + 4 * (32 + 6) * 3).contains(&end), "{counted} numbers up to {end}");
    assert!(ledger.list("", "", 10).unwrap()[0].mark >= end);
}

/// Each call is a commit, and few of them wait for a flush.
#[test]
fn most_counts_wait_for_no_flush() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
    ledger.bind(&Name::new("orders").unwrap(), "a counter", true).unwrap();
    let flushes = "SELECT wal_sync FROM pg_stat_wal";
    let count = |times: u64| {
        let before: u64 = server.psql(flushes).parse().unwrap();
        for _ in 0..times {
            ledger.count(&Reserve { create: false, ..ask(5) }).unwrap();
        }
        // What a session has done is counted when it has been idle for a moment.
        drop(open(&server.url()));
        server.psql(flushes).parse::<u64>().unwrap() - before
    };
    count(1);
    let flushed = count(640);
    assert!((1..80).contains(&flushed), "{flushed} flushes for 640 calls");
}

#[test]
fn a_lock_that_somebody_holds_is_waited_for_no_longer_than_the_bound() {
    let server = Postgres::shared();
    let schema = schema();
    let ledger = open(&format!("{}?schema={schema}&max_wait=500ms", server.url()));
    got(&*ledger, &ask(5));
    thread::scope(|scope| {
        let sql = format!("BEGIN; SELECT 1 FROM {schema}.mark FOR UPDATE; SELECT pg_sleep(2.5); COMMIT");
        let holder = scope.spawn(move || server.psql(&sql));
        while server.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0" {}
        let (outcome, took) = timed(|| ledger.reserve(&ask(1)));
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
        assert!(took < Duration::from_millis(1600), "{took:?}");
        // A refusal waits for nobody.
        let refusal = ledger.reserve(&Reserve { max_mark: 4, ..ask(1) });
        assert_eq!(refusal, Ok(Reply::Refused { mark: 5, note: None }));
        holder.join().unwrap();
    });
    // The abandoned statement ended with its time, and not later with a range that nobody owns.
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

#[test]
fn a_realm_that_is_another_one_stops_the_ledger() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    for (sql, part) in [
        ("UPDATE floe.realm SET id = 'another'", "is not the one that it was"),
        ("DELETE FROM floe.realm", "the realm test"),
        ("DROP SCHEMA floe CASCADE", "floe.version"),
    ] {
        server.psql(sql);
        server.stop();
        server.run();
        let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("after {sql}") };
        says(&text, &[part, "restore"]);
    }
}

#[test]
fn a_table_that_is_dropped_under_a_running_ledger_stops_it() {
    let schema = schema();
    let ledger = open(&format!("{}?schema={schema}", Postgres::shared().url()));
    got(&*ledger, &ask(5));
    Postgres::shared().psql(&format!("DROP TABLE {schema}.mark"));
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["mark", "restore", "marks raise"]);
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    got(&*ledger, &ask(1));
                }
            });
        }
    });
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'floe'";
    assert_eq!(server.psql(count), "4");
    drop(ledger);
    while server.psql(count) != "0" {}
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = format!("{}?schema={schema}", server.url());
    let eat = |key: &Key| drop(server.psql(&format!("DELETE FROM {schema}.mark WHERE key = '{key}'")));
    conformance::check_eaten(&|| open(&url), &eat);
    // The way out of docs/ledgers.md.
    server.psql(&format!("DELETE FROM {schema}.made WHERE key = 's/10/7'"));
    assert_eq!(got(&*open(&url), &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}

#[test]
fn tables_of_the_first_version_are_migrated_with_their_slots() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = format!("{}?schema={schema}", server.url());
    let (slot, ledger) = (Key::slot(10, 7), open(&url));
    ledger.bind(&Name::new("orders").unwrap(), "definition", true).unwrap();
    got(&*ledger, &Reserve { key: slot.clone(), ..ask(5) });
    drop(ledger);
    server.psql(&format!("DROP TABLE {schema}.made; UPDATE {schema}.version SET version = 1"));
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&url))))));
    assert_eq!(server.psql(&format!("SELECT version FROM {schema}.version")), "2");
    assert_eq!(server.psql(&format!("SELECT key FROM {schema}.made")), "s/10/7");
    let ledger = open(&url);
    assert_eq!(got(&*ledger, &Reserve { key: slot.clone(), ..ask(5) }), (5, 10));
    server.psql(&format!("DELETE FROM {schema}.mark WHERE key = '{slot}'"));
    let again = ledger.reserve(&Reserve { key: slot.clone(), ..ask(5) });
    assert_eq!(again, Err(LedgerError::Missing(slot)));
    // One that an older floe has made beside a newer one is remembered from its next reservation on.
    let other = Key::slot(10, 8);
    got(&*ledger, &Reserve { key: other.clone(), ..ask(5) });
    server.psql(&format!("DELETE FROM {schema}.made WHERE key = '{other}'"));
    got(&*ledger, &Reserve { key: other.clone(), ..ask(5) });
    assert_eq!(server.psql(&format!("SELECT count(*) FROM {schema}.made WHERE key = '{other}'")), "1");
}
