//! Servers and tables that are not fit to keep marks.

use floe::ledger::{Key, Ledger, LedgerError, Reserve};
use floe_ledger::OpenError;

use super::checks::refused;
use super::{Mariadb, open};
use crate::{ask, got, says};

/// Asserts that the server is refused with this text, and accepted with `unsafe=allow`, with a remark.
#[track_caller]
fn is_refused_unless_told_otherwise(server: &Mariadb, finding: &str, way_out: &str) {
    let error = refused(&server.url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &[finding, way_out, "unsafe=allow"]);
    let ledger = open(&format!("{}?unsafe=allow", server.url()));
    got(&*ledger, &ask(1));
    says(&ledger.describe(), &["unsafe: it ", finding]);
}

#[test]
fn settings_that_lose_ranges_are_refused_by_name() {
    let server = Mariadb::start(&["--log-bin", "--server-id=1", "--sync-binlog=1"]);
    drop(open(&server.url()));
    for (setting, bad, good) in [
        ("innodb_flush_log_at_trx_commit", "0", "1"),
        ("innodb_flush_log_at_trx_commit", "2", "3"),
        ("sync_binlog", "0", "1"),
        ("sync_binlog", "100", "1"),
    ] {
        server.sql(&format!("SET GLOBAL {setting} = {bad}"));
        is_refused_unless_told_otherwise(&server, &format!("{setting} = {bad}"), "to 1");
        server.sql(&format!("SET GLOBAL {setting} = {good}"));
        assert!(!open(&server.url()).describe().contains("unsafe"));
    }
    server.sql("SET GLOBAL binlog_format = STATEMENT");
    says(&refused(&server.url()), &["binlog_format = STATEMENT", "ROW or MIXED"]);
    server.sql("SET GLOBAL binlog_format = ROW");

    // A server that accepts no writes becomes one that does.
    let ledger = open(&server.url());
    server.sql("SET GLOBAL read_only = 1");
    let error = refused(&server.url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["read_only = ON", "primary"]);
    says(&refused(&format!("{}?unsafe=allow", server.url())), &["read_only = ON"]);
    server.sql("SET GLOBAL read_only = 0");
    got(&*ledger, &ask(1));

    // Whether or not its primary answers.
    let port = floe_testbed::free_port();
    server.sql(&format!("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}; START SLAVE"));
    is_refused_unless_told_otherwise(&server, "replicates from 127.0.0.1", "RESET REPLICA");
    server.sql("CREATE USER modest; GRANT ALL ON floe.* TO modest");
    drop(open(&server.url_of("modest")));
    server.sql("STOP SLAVE");
    drop(open(&server.url()));
}

#[test]
fn a_server_without_doublewrite_is_refused_and_so_are_tables_that_are_not_floes() {
    let server = Mariadb::start(&["--skip-innodb-doublewrite"]);
    is_refused_unless_told_otherwise(&server, "innodb_doublewrite = OFF", "Turn innodb_doublewrite on");
    let allowed = format!("{}?unsafe=allow", server.url());

    for table in ["floe_record", "floe_counting", "floe_version"] {
        server.sql(&format!("ALTER TABLE floe.{table} ENGINE = Aria"));
        says(&open(&allowed).describe(), &[&format!("keeps {table} in another engine than InnoDB")]);
        server.sql(&format!("ALTER TABLE floe.{table} ENGINE = InnoDB"));
    }
    for table in ["floe_record", "floe_counting"] {
        let convert = format!("ALTER TABLE floe.{table} CONVERT TO CHARACTER SET utf8mb4 COLLATE");
        server.sql(&format!("{convert} utf8mb4_general_ci"));
        let key = format!("{table}.key");
        says(&refused(&allowed), &["different names as equal", &key, "utf8mb4_bin"]);
        server.sql(&format!("{convert} utf8mb4_bin"));
    }
    drop(open(&allowed));

    // Something between floe and its table.
    server.sql(
        "CREATE TRIGGER floe.cut BEFORE UPDATE ON floe.floe_record FOR EACH ROW SET NEW.record = OLD.record",
    );
    let Err(LedgerError::Unfit(text)) = open(&allowed).reserve(&ask(1)) else {
        panic!("nothing was written")
    };
    says(&text, &["changed 0 records", "trigger"]);
    server.sql("DROP TRIGGER floe.cut");

    let Err(error) = floe_ledger::open_in(&allowed, floe_ledger::DEFAULT_REALM) else {
        panic!("a second realm began")
    };
    says(&error, &["has no realm default", "it has: test", "--realm"]);

    server.sql("UPDATE floe.floe_version SET version = 4");
    let error = refused(&allowed);
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &["newer floe", "version 4"]);
}

#[test]
fn a_range_is_committed_whatever_sessions_begin_with() {
    let server = Mariadb::start(&[]);
    drop(open(&server.url()));
    for (worker, (setting, usual)) in (0..).zip([
        ("autocommit = 0", "autocommit = 1"),
        ("completion_type = CHAIN", "completion_type = NO_CHAIN"),
        ("tx_read_only = 1", "tx_read_only = 0"),
        ("sql_select_limit = 1", "sql_select_limit = DEFAULT"),
    ]) {
        server.sql(&format!("SET GLOBAL {setting}"));
        let ledger = open(&server.url());
        // The first one makes the record, in several statements and a COMMIT.
        let key = Key::slot(10, worker);
        for end in [5, 10, 15] {
            assert_eq!(got(&*ledger, &Reserve { key: key.clone(), ..ask(5) }), (end - 5, end), "{setting}");
            let others = open(&server.url()).list(key.as_str(), "", 1).unwrap();
            assert_eq!(others[0].mark, end, "what others find with {setting}");
        }
        server.sql(&format!("SET GLOBAL {usual}"));
    }
}

#[test]
fn what_is_not_committed_is_not_read_whatever_sessions_begin_with() {
    let server = Mariadb::start(&["--transaction-isolation=READ-UNCOMMITTED"]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    // It is open until somebody ends it, also without its connection.
    server.sql(
        "USE floe; XA START 'other';
         UPDATE floe_record SET record = REPLACE(record, 'mark 5 ', 'mark 7 ') WHERE `key` = 'mark/test/n/orders';
         XA END 'other'; XA PREPARE 'other'",
    );
    let changed = "SELECT COUNT(*) FROM floe.floe_record WHERE record LIKE '%mark 7 %'";
    assert_eq!(server.sql(changed), "1", "other sessions of this server see it");
    for ledger in [&ledger, &open(&server.url())] {
        assert_eq!(ledger.list("", "", 1).unwrap()[0].mark, 5);
    }
    server.sql("XA ROLLBACK 'other'");
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}

#[test]
fn tables_that_a_newer_floe_keeps_or_that_lose_ranges_are_noticed_by_the_next_connection_of_a_running_ledger()
{
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    for (sql, way_back, parts) in [
        (
            "UPDATE floe.floe_version SET version = 4",
            "UPDATE floe.floe_version SET version = 3",
            ["newer floe", "version 4"],
        ),
        (
            "ALTER TABLE floe.floe_record ENGINE = Aria",
            "ALTER TABLE floe.floe_record ENGINE = InnoDB",
            ["keeps floe_record in another engine than InnoDB", "ENGINE = InnoDB"],
        ),
    ] {
        server.sql(sql);
        server.stop();
        server.run();
        let outcome = ledger.reserve(&ask(1));
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("after {sql}: {outcome:?}") };
        says(&text, &parts);
        server.sql(way_back);
    }
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}
