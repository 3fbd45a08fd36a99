//! What MariaDB alone may do to a ledger.

use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reserve, conformance};
use floe_testbed::Mariadb;

use super::{open, rig};
use crate::real_servers::faults::{self, timed};
use crate::{ask, got, says};

#[test]
fn a_reserve_is_one_round_trip() {
    faults::a_reserve_is_one_round_trip(&rig());
}

#[test]
fn a_lock_that_somebody_holds_is_waited_for_no_longer_than_the_bound() {
    let server = Mariadb::start(&[]);
    let ledger = open(&format!("{}?max_wait=500ms", server.url()));
    got(&*ledger, &ask(5));
    thread::scope(|scope| {
        let sql = "BEGIN; SELECT mark FROM floe.floe_mark FOR UPDATE; DO SLEEP(2.5); COMMIT";
        let holder = scope.spawn(|| server.sql(sql));
        let sleeps = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'DO SLEEP(2.5)'";
        while server.sql(sleeps) == "0" {
            assert!(!holder.is_finished(), "nothing to wait for");
        }
        let (outcome, took) = timed(|| ledger.reserve(&ask(1)));
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
        assert!(took < Duration::from_millis(1600), "{took:?}");
        holder.join().unwrap();
    });
    // The abandoned statement ended with its time, and not later with a range that nobody owns.
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

#[test]
fn a_transaction_that_was_rolled_back_in_a_deadlock_is_made_again() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    let name = Name::new("a").unwrap();
    ledger.bind(&name, "definition", false).unwrap();
    got(&*ledger, &ask(5));
    // Holds the record and much more, so that it is not the victim; then wants the definition, which a bind holds that
    // waits for the record.
    let rival = "DELIMITER //
        USE floe// SET max_statement_time = 20//
        BEGIN NOT ATOMIC
            START TRANSACTION;
            INSERT INTO floe_mark (realm, `key`, previous, start, mark)
                SELECT 'heavy', seq, 0, 0, 0 FROM seq_1_to_500;
            INSERT INTO floe_mark (realm, `key`, previous, start, mark) VALUES ('test', 'n/b', 0, 0, 0);
            DO GET_LOCK('holds the record', 0);
            REPEAT
                SELECT VARIABLE_VALUE INTO @waiting FROM information_schema.GLOBAL_STATUS
                    WHERE VARIABLE_NAME = 'Innodb_row_lock_current_waits';
            UNTIL @waiting > 0 END REPEAT;
            SELECT COUNT(*) FROM floe_definition FOR UPDATE;
            ROLLBACK;
        END//";
    thread::scope(|scope| {
        let rival = scope.spawn(|| server.sql(rival));
        while server.sql("SELECT IS_FREE_LOCK('holds the record')") == "1" {
            assert!(!rival.is_finished(), "nothing to meet");
        }
        let bound = ledger.bind(&Name::new("b").unwrap(), "another", true);
        assert_eq!(bound.as_deref(), Ok("another"));
        rival.join().unwrap();
    });
    assert_eq!(server.sql("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"), "Innodb_deadlocks\t1");
    assert_eq!(server.sql("SELECT mark, writes FROM floe.floe_mark WHERE `key` = 'n/b'"), "0\t0");
}

#[test]
fn a_realm_that_is_another_one_stops_the_ledger() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    for (sql, parts) in [
        ("UPDATE floe.floe_realm SET id = 'another'", ["is not the one that it was", "restore"]),
        ("DELETE FROM floe.floe_realm", ["the realm test", "restore"]),
        ("DROP TABLE floe.floe_version", ["floe_version", "restore"]),
        ("DROP DATABASE floe", ["Unknown database", "restore"]),
    ] {
        server.sql(sql);
        server.stop();
        server.run();
        let outcome = ledger.reserve(&ask(1));
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("after {sql}: {outcome:?}") };
        says(&text, &parts);
    }
    server.sql("CREATE DATABASE floe");
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("a fresh database was taken") };
    says(&text, &["floe_version", "is gone"]);
}

#[test]
fn a_table_that_is_dropped_under_a_running_ledger_stops_it() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    server.sql("DROP TABLE floe.floe_mark");
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["floe_mark", "(1146)", "restore", "marks raise"]);
    // Nobody makes it anew either: the version says that it was there.
    let again = open(&server.url());
    assert!(matches!(again.reserve(&ask(1)), Err(LedgerError::Unfit(_))));
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Mariadb::start(&[]);
    server.sql("CREATE USER floe; GRANT ALL ON floe.* TO floe");
    let ledger = open(&server.url_of("floe"));
    ledger.bind(&Name::new("orders").unwrap(), "definition", true).unwrap();
    // Nothing but the read of the record locks it here: no reservation makes it.
    let bound = || Reserve { create: false, ..ask(1) };
    let mut starts: Vec<u64> = thread::scope(|scope| {
        let caller = || (0..20).map(|_| got(&*ledger, &bound()).0).collect::<Vec<_>>();
        let callers: Vec<_> = (0..16).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    starts.sort_unstable();
    assert_eq!(starts, (0..320).collect::<Vec<_>>());
    let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'floe'";
    assert_eq!(server.sql(count), "4");
    drop(ledger);
    while server.sql(count) != "0" {}
    // They said goodbye: nothing was cut off.
    assert_eq!(server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_clients'"), "Aborted_clients\t0");
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let server = Mariadb::start(&[]);
    let eat = |key: &Key| drop(server.sql(&format!("DELETE FROM floe.floe_mark WHERE `key` = '{key}'")));
    conformance::check_eaten(&|| open(&server.url()), &eat);
    // The way out of docs/ledgers.md.
    server.sql("DELETE FROM floe.floe_made WHERE `key` = 's/10/7'");
    assert_eq!(got(&*open(&server.url()), &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}

#[test]
fn tables_of_the_first_version_are_migrated_with_their_slots() {
    let server = Mariadb::start(&[]);
    let (slot, ledger) = (Key::slot(10, 7), open(&server.url()));
    ledger.bind(&Name::new("orders").unwrap(), "definition", true).unwrap();
    got(&*ledger, &Reserve { key: slot.clone(), ..ask(5) });
    drop(ledger);
    server.sql("DROP TABLE floe.floe_made; UPDATE floe.floe_version SET version = 1");
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&server.url()))))));
    assert_eq!(server.sql("SELECT version FROM floe.floe_version").trim(), "2");
    assert_eq!(server.sql("SELECT `key` FROM floe.floe_made").trim(), "s/10/7");
    let ledger = open(&server.url());
    assert_eq!(got(&*ledger, &Reserve { key: slot.clone(), ..ask(5) }), (5, 10));
    server.sql("DELETE FROM floe.floe_mark WHERE `key` = 's/10/7'");
    let again = ledger.reserve(&Reserve { key: slot.clone(), ..ask(5) });
    assert_eq!(again, Err(LedgerError::Missing(slot)));
}
