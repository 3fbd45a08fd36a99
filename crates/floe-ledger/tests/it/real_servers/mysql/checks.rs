//! The checks of an opening, and their errors.

use std::fs;
use std::path::Path;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve};
use floe_ledger::{OpenError, Opening};

use super::{Mariadb, open};
use crate::{ask, got, orders, says};

/// Why a URL cannot be opened.
#[track_caller]
pub(super) fn refused(url: &str) -> OpenError {
    match floe_ledger::open_in(url, "test") {
        Err(error) => error,
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

#[test]
fn a_wrong_password_user_or_database_is_named() {
    let server = Mariadb::start(&[]);
    server.sql("CREATE USER careful IDENTIFIED BY 'right'; GRANT ALL ON floe.* TO careful");
    let wrong = refused(&server.url_of("careful:wr0ng"));
    says(&wrong, &["Access denied", "careful", "(1045)", "MYSQL_PWD"]);
    assert!(!wrong.to_string().contains("wr0ng"), "{wrong}");
    let stranger = refused(&server.url_of("stranger:wr0ng"));
    says(&stranger, &["Access denied", "stranger"]);
    let nowhere = refused(&server.url().replace("/floe", "/nowhere"));
    says(&nowhere, &["nowhere", "(1049)", "CREATE DATABASE"]);
    // MariaDB hides which users exist: once it knows another login method, strangers may be asked for it too.
    server.sql("INSTALL SONAME 'auth_ed25519'");
    server.sql("CREATE USER odd IDENTIFIED VIA ed25519 USING PASSWORD('right')");
    let odd = refused(&server.url_of("odd:right"));
    says(&odd, &["client_ed25519", "caching_sha2_password"]);
    for error in [wrong, stranger, nowhere, odd] {
        assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
    }

    let ledger = open(&server.url_of("careful:right"));
    assert_eq!(got(&*ledger, &ask(3)), (0, 3));
    assert_eq!(ledger.describe(), format!("mysql://127.0.0.1:{}/floe", server.port()));
    assert!(ledger.is_shared());
    let mariadb = server.url_of("careful:right").replace("mysql:", "mariadb:");
    assert_eq!(got(&*open(&mariadb), &ask(3)), (3, 6));

    // If a password changes under a running ledger, a later try may succeed when connections are made again.
    server.sql("SET PASSWORD FOR careful = PASSWORD('other')");
    server.stop();
    server.run();
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(1)) else {
        panic!("no password, no range")
    };
    says(&text, &["Access denied"]);
    server.sql("SET PASSWORD FOR careful = PASSWORD('right')");
    assert_eq!(got(&*ledger, &ask(3)), (6, 9));
}

#[test]
fn nobody_listens() {
    let port = floe_testbed::free_port();
    let error = refused(&format!("mysql://floe:secret@127.0.0.1:{port}/ids"));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &[&format!("127.0.0.1:{port}"), "refused", "whether the server runs"]);
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn tables_that_somebody_made_need_no_rights_to_make_any() {
    let server = Mariadb::start(&[]);
    server.sql("CREATE USER modest; GRANT SELECT ON floe.* TO modest");
    let refusal = refused(&server.url_of("modest"));
    assert!(matches!(refusal, OpenError::Asked(_)), "{refusal:?}");
    says(&refusal, &["command denied", "(1142)", "docs/ledgers.md"]);

    // The documentation's statements for the owner of the database, word for word.
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ledgers.md");
    let docs = fs::read_to_string(docs).unwrap();
    let begin = docs.find("CREATE TABLE IF NOT EXISTS floe_version").unwrap();
    let sql = docs[begin..].split("```").next().unwrap();
    assert!(sql.contains("ON ids.*"), "the pages' database: {sql}");
    assert!(sql.starts_with(include_str!("../../../../src/mysql/tables.sql")), "{sql}");
    assert!(docs.contains("](../crates/floe-ledger/src/mysql/from_2.sql)"));
    server.sql("CREATE USER floe");
    server.sql(&format!("USE floe; {}", sql.replace("ON ids.*", "ON floe.*")));
    let ledger = open(&server.url_of("floe"));
    let request = ask(3);
    assert_eq!(got(&*ledger, &request), (0, 3));
    assert_eq!(ledger.give_back(&orders(), request.token, 2), Ok(true));
    assert_eq!(ledger.raise(&orders(), 10), Ok(2));
    assert_eq!(ledger.bind(&Name::new("a").unwrap(), "definition", true).unwrap(), "definition");
    // A ledger that may read, but not write.
    let Err(LedgerError::Unavailable(text)) = open(&server.url_of("modest")).reserve(&ask(1)) else {
        panic!("no right, no range")
    };
    says(&text, &["command denied", "docs/ledgers.md"]);
}

#[test]
fn who_only_looks_makes_no_table_and_the_missing_ones_are_made_by_who_may() {
    let server = Mariadb::start(&[]);
    let tables = || server.sql("SHOW TABLES IN floe");
    for looks in [Opening::of("test").to_look(), Opening::of("test").existing()] {
        says(&looks.open(&server.url()).err().unwrap(), &["has no realm test"]);
        assert_eq!(tables(), "");
    }
    let one = include_str!("../../../../src/mysql/tables.sql").split_terminator(";\n").nth(1).unwrap();
    server.sql(&format!("USE floe; {one}"));
    assert_eq!(tables(), "floe_record");
    assert_eq!(got(&*open(&server.url()), &ask(3)), (0, 3));
    assert_eq!(tables(), "floe_counting\nfloe_record\nfloe_version");
}

#[test]
fn an_operator_can_read_and_write_it() {
    let server = Mariadb::start(&[]);
    let ledger = open(&server.url());
    let key = Key::slot(10, 7);
    let note = Some("订单 'host'".to_owned());
    let request = Reserve { key: key.clone(), floor: (1 << 53) + 1, note: note.clone(), ..ask(1 << 53) };
    got(&*ledger, &request);
    let record = "SET NAMES utf8mb4; SELECT record FROM floe.floe_record WHERE `key` = 'mark/test/s/10/7'";
    let mark = "mark 18014398509481985 start 9007199254740993 previous 0\\n";
    says(&server.sql(record), &["floe 1\\nrealm ", mark, "note 订单 'host'\\nend\\n"]);
    let replace = |from: &str, to: &str| {
        server.sql(&format!("UPDATE floe.floe_record SET record = REPLACE(record, '{from}', '{to}')"));
    };
    replace("mark 18014398509481985", "mark 9223372036854775807");
    let refused = ledger.reserve(&Reserve { key: key.clone(), max_mark: 5, ..ask(1) });
    assert_eq!(refused, Ok(Reply::Refused { mark: (1 << 63) - 1, note }));

    // Names are different even if only the case, an accent or a width differs.
    for (count, name) in (1..).zip(["straße", "strasse", "Strasse", "ｓtrasse", "strásse"]) {
        let key = Key::name(&Name::new(name).unwrap());
        assert_eq!(got(&*ledger, &Reserve { key, ..ask(count) }), (0, count), "{name}");
    }

    // The ledger's clock is the server's.
    let before = ledger.clock().unwrap().unwrap().get();
    let asked = server.sql("SELECT ROUND(UNIX_TIMESTAMP(SYSDATE(3)) * 1000)").parse::<i64>().unwrap();
    let after = ledger.clock().unwrap().unwrap().get();
    assert!(before <= asked && asked <= after, "{before} {asked} {after}");

    // A call from inside an async runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = open(&server.url());
        assert_eq!(got(&*ledger, &ask(3)), (0, 3));
        drop(ledger);
    });

    // A record that differs in one byte is another record, even if MySQL considers the two texts equal.
    let Ok(Reply::Got { end, .. }) = ledger.reserve(&ask(1)) else { panic!("no range") };
    let orders = "WHERE `key` = 'mark/test/n/orders'";
    server.sql(&format!("UPDATE floe.floe_record SET record = CONCAT(record, ' ') {orders}"));
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("it took {end} for its own") };
    says(&text, &["mark/test/n/orders", "no floe has written"]);

    // Damaged text is not read as a mark.
    replace("mark 9", "mark nine");
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&Reserve { key, max_mark: 5, ..ask(1) }) else {
        panic!("it read what it cannot")
    };
    says(&text, &["mark/test/s/10/7", "no floe has written", "restore"]);
}

#[test]
fn a_refusal_writes_nothing_and_what_is_asked_for_again_is_flushed_again() {
    let server = Mariadb::start(&["--log-bin", "--server-id=1", "--sync-binlog=1"]);
    let ledger = open(&server.url());
    let request = ask(5);
    got(&*ledger, &request);
    let written = || server.sql("SHOW MASTER STATUS; SELECT * FROM floe.floe_record ORDER BY `key`");
    let before = written();
    let refusal = Reserve { max_mark: 4, note: Some("me".to_owned()), ..ask(1) };
    assert_eq!(ledger.reserve(&refusal), Ok(Reply::Refused { mark: 5, note: None }));
    assert_eq!(ledger.give_back(&orders(), ask(1).token, 4), Ok(false));
    let overflow = Reserve { key: Key::slot(3, 1), floor: 1 << 62, ..ask(1 << 63) };
    assert!(matches!(ledger.reserve(&overflow), Err(LedgerError::Overflow { mark: 0, .. })));
    let nowhere = Reserve { key: Key::slot(3, 1), create: false, ..ask(1) };
    assert!(matches!(ledger.reserve(&nowhere), Err(LedgerError::Missing(_))));
    assert_eq!(written(), before);

    // Another caller may have seen the range before it was flushed: so a commit comes before each answer.
    let settled = || server.sql("SELECT record FROM floe.floe_record WHERE `key` = 'settled'");
    for _ in 0..3 {
        let before = (server.sql("SHOW MASTER STATUS"), settled());
        assert_eq!(got(&*ledger, &request), (0, 5));
        let after = (server.sql("SHOW MASTER STATUS"), settled());
        assert!(before.0 != after.0 && before.1 != after.1, "{before:?} {after:?}");
    }
    let before = settled();
    assert_eq!(ledger.raise(&orders(), 5), Ok(5));
    assert_ne!(settled(), before);
}
