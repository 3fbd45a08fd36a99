//! What PostgreSQL alone may do to a ledger.

use std::thread;
use std::time::Duration;

use floe::ledger::{LedgerError, Reply, Reserve};
use floe_testbed::Postgres;

use super::{open, schema};
use crate::real_servers::faults::timed;
use crate::{ask, got, says};

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
