//! Servers that are killed, frozen, restarted and cut off in mid-call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError, Reply, Reserve};

use super::super::proxy::Proxy;
use super::{Server, open};
use crate::{ask, got, orders, says};

/// The answer of a call that is made again while the ledger is unavailable, as a node does; counts how often.
fn at_last<T>(failures: &AtomicUsize, call: impl Fn() -> Result<T, LedgerError>) -> T {
    loop {
        match call() {
            Ok(answer) => return answer,
            Err(LedgerError::Unavailable(_)) => failures.fetch_add(1, Ordering::Relaxed),
            Err(error) => panic!("{error:?}"),
        };
    }
}

/// The range of `request`, asked for with one token until there is an answer.
fn range(ledger: &dyn Ledger, request: &Reserve, failures: &AtomicUsize) -> (u64, u64) {
    match at_last(failures, || ledger.reserve(request)) {
        Reply::Got { start, end, .. } => (start, end),
        refused @ Reply::Refused { .. } => panic!("{refused:?}"),
    }
}

/// Asserts that ranges do not overlap, and returns where the last one ends.
#[track_caller]
fn disjoint(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{pair:?} overlap");
    }
    ranges.last().unwrap().1
}

#[expect(clippy::disallowed_methods, reason = "the bound of a wait is what is tested")]
fn timed<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let begin = std::time::Instant::now();
    (call(), begin.elapsed())
}

#[test]
fn thirty_two_callers_with_connections_of_their_own() {
    let url = format!("{}?schema={}", Server::shared().url(), Server::schema());
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let ledger = open(&url);
            (0..25).map(|_| got(&*ledger, &ask(7))).collect::<Vec<_>>()
        };
        let callers: Vec<_> = (0..32).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(ranges.len(), 800);
    assert_eq!(disjoint(ranges), 5600, "nothing is wasted either");
}

#[test]
fn a_server_that_is_killed_in_mid_call_loses_nothing() {
    let server = Server::start(&[]);
    let ledger = open(&format!("{}?max_wait=2s", server.url()));
    let (stop, done, failures) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let mut ranges = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                ranges.push(range(&*ledger, &ask(10), &failures));
                done.fetch_add(1, Ordering::Relaxed);
            }
            ranges
        };
        let callers: Vec<_> = (0..6).map(|_| scope.spawn(caller)).collect();
        for round in 1..=4 {
            while done.load(Ordering::Relaxed) < round * 300 {
                thread::yield_now();
            }
            server.kill();
            server.run();
        }
        while done.load(Ordering::Relaxed) < 1500 {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert!(failures.load(Ordering::Relaxed) > 0, "no call was cut off");
    let reserved = u64::try_from(ranges.len()).unwrap() * 10;
    assert_eq!(disjoint(ranges), ledger.list("", "", 10).unwrap()[0].mark);
    assert!(ledger.list("", "", 10).unwrap()[0].mark >= reserved);
}

#[test]
fn a_server_that_was_restarted_between_calls_is_met_on_a_new_connection() {
    let server = Server::start(&[]);
    let ledger = open(&server.url());
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    server.stop();
    server.run();
    assert_eq!(got(&*ledger, &ask(5)), (5, 10), "no call pays for the dead connection");
}

#[test]
fn a_frozen_server_is_waited_for_no_longer_than_the_bound() {
    let server = Server::start(&[]);
    let ledger = open(&format!("{}?max_wait=700ms", server.url()));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    let request = ask(5);
    server.freeze();
    // The first has a connection, the second has to make one: the kernel accepts it, and nobody answers.
    for _ in 0..2 {
        let (outcome, took) = timed(|| ledger.reserve(&request));
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["gave no answer within 700ms"]);
        assert!((600..1700).contains(&took.as_millis()), "{took:?}");
    }
    server.thaw();
    assert_eq!(range(&*ledger, &request, &AtomicUsize::new(0)), (5, 10));
    assert_eq!(got(&*ledger, &request), (5, 10));
    assert_eq!(ledger.list("", "", 10).unwrap()[0].mark, 10);
}

#[test]
fn a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range() {
    let server = Server::shared();
    let proxy = Proxy::before(server.port);
    let schema = Server::schema();
    let ledger = open(&format!(
        "postgres://postgres@127.0.0.1:{}/postgres?schema={schema}&max_wait=500ms",
        proxy.port
    ));
    let first = ask(5);
    assert_eq!(got(&*ledger, &first), (0, 5));
    assert_eq!(ledger.give_back(&orders(), first.token, 5), Ok(true));
    let (request, none) = (ask(5), AtomicUsize::new(0));
    proxy.lose_replies(true);
    assert!(matches!(ledger.reserve(&request), Err(LedgerError::Unavailable(_))));
    assert_eq!(server.psql(&format!("SELECT mark FROM {schema}.mark")), "10", "the request took effect");
    proxy.lose_replies(false);
    assert_eq!(range(&*ledger, &request, &none), (5, 10));
    // The statement is prepared on this connection, so the give-back itself is what gets through.
    assert_eq!(ledger.give_back(&orders(), first.token, 5), Ok(false));
    proxy.lose_replies(true);
    assert!(matches!(ledger.give_back(&orders(), request.token, 7), Err(LedgerError::Unavailable(_))));
    assert_eq!(server.psql(&format!("SELECT mark FROM {schema}.mark")), "7");
    proxy.lose_replies(false);
    // Whoever asks again hears that the token is gone.
    assert!(!at_last(&none, || ledger.give_back(&orders(), request.token, 7)));
    assert_eq!(got(&*ledger, &ask(5)), (7, 12));
}

#[test]
fn a_lock_that_somebody_holds_is_waited_for_no_longer_than_the_bound() {
    let server = Server::shared();
    let schema = Server::schema();
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
    let server = Server::start(&[]);
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
    let schema = Server::schema();
    let ledger = open(&format!("{}?schema={schema}", Server::shared().url()));
    got(&*ledger, &ask(5));
    Server::shared().psql(&format!("DROP TABLE {schema}.mark"));
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["mark", "restore", "marks raise"]);
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Server::start(&[]);
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
