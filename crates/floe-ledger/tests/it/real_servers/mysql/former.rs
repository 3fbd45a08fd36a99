//! Tables of the versions before 3, which had a column for each number.

use std::thread;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reserve, Token};
use floe_ledger::Opening;

use super::{Mariadb, open};
use crate::{ask, got, says};

/// Tables that the floe of version 2 wrote, dumped with `mariadb-dump`.
const FORMER: &str = include_str!("version_2.sql");

const STEP: &str = include_str!("../../../../src/mysql/from_2.sql");

fn former(server: &Mariadb, database: &str) -> String {
    server.sql(&format!(
        "CREATE DATABASE IF NOT EXISTS {database}; USE {database}; SET NAMES utf8mb4; {FORMER}"
    ));
    server.url().replace("/floe", &format!("/{database}"))
}

fn key(name: &str) -> Key {
    Key::name(&Name::new(name).unwrap())
}

fn of(key: &Key) -> Reserve {
    Reserve { key: key.clone(), create: false, ..ask(1) }
}

/// Checks that the records hold all of [`FORMER`].
#[track_caller]
fn is_moved_over(url: &str) -> Box<dyn Ledger> {
    let ledger = open(url);
    assert_eq!(ledger.realm_id().unwrap(), "e817d05271cd2fcbcec455130ad9b700");
    let other = floe_ledger::open_in(url, "other").unwrap();
    assert_eq!(other.realm_id().unwrap(), "43a445834f5b9d91507e7d758330e78e");
    let names = ledger.names("", 10).unwrap();
    let names: Vec<_> = names.iter().map(|(name, definition)| format!("{name}: {definition}")).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!(names[0], "codes: counter form base62");
    says(&names[1], &["flakes: snowflake time:41", "epoch=2010-11-04T01:42:54.657Z"]);
    let list = ledger.list("", "", 20).unwrap();
    let list: Vec<_> = list.iter().map(|record| format!("{} {}", record.key, record.mark)).collect();
    let marks = [
        "n/codes 0",
        "n/orders 1",
        "n/visits 8",
        "n/订单 1",
        "s/10/1 9223372036854775807",
        "s/10/961 1795578867489",
    ];
    assert_eq!(list, marks);
    assert_eq!(ledger.list("s/10/1", "", 1).unwrap()[0].note.as_deref(), Some("a\\b\nc\rd 'e'"));
    // If a realm's own row is missing, the realm is not begun again.
    says(&floe_ledger::open_in(url, "lost").err().unwrap(), &["records of the realm lost", "is gone"]);
    ledger
}

/// Why a statement fails.
fn told_by(server: &Mariadb, database: &str, sql: &str) -> String {
    server.sql(&format!(
        "DELIMITER //\nUSE {database}//\nBEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN \
         GET DIAGNOSTICS CONDITION 1 @why = MESSAGE_TEXT; SELECT @why; END; {sql}; SELECT 'it was written'; END//"
    ))
}

#[test]
fn tables_of_the_second_version_are_moved_over() {
    let server = Mariadb::start(&[]);
    let url = former(&server, "floe");
    // An opening that only looks changes nothing.
    says(&floe_ledger::open_existing(&url, "test").err().unwrap(), &["older floe (version 2)", "floe serve"]);
    assert!(!server.sql("SHOW TABLES IN floe").contains("floe_record"));
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&url))))));
    let ledger = is_moved_over(&url);
    // A call that had no answer before is answered now, with its range.
    let token = Token::from_bytes(*b"0123456789abcdef").unwrap();
    assert_eq!(got(&*ledger, &Reserve { token, ..of(&key("visits")) }), (1, 8));
    assert_eq!(got(&*ledger, &of(&key("visits"))), (8, 9));
    assert_eq!(got(&*ledger, &of(&key("orders"))), (1, 2));
    assert_eq!(got(&*ledger, &of(&key("codes"))), (0, 1));
    assert_eq!(
        ledger.bind(&Name::new("orders").unwrap(), "counter", true).unwrap(),
        "segment increment=1 offset=1"
    );
    // Deleted records stay deleted.
    for deleted in [key("eaten"), Key::slot(10, 1000)] {
        let outcome = ledger.reserve(&Reserve { create: true, ..of(&deleted) });
        assert_eq!(outcome, Err(LedgerError::Missing(deleted)));
    }
}

#[test]
fn a_move_that_cannot_write_a_record_moves_nothing() {
    let server = Mariadb::start(&[]);
    let url = former(&server, "floe");
    server.sql(&format!("USE floe; {}", include_str!("../../../../src/mysql/tables.sql")));
    server.sql(
        "DELIMITER //
        CREATE TRIGGER floe.full BEFORE INSERT ON floe.floe_record FOR EACH ROW
            IF NEW.`key` = 'mark/test/n/visits' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no room'; END IF//",
    );
    says(&floe_ledger::open_in(&url, "test").err().unwrap(), &["no room"]);
    let left = "SELECT version, (SELECT COUNT(*) FROM floe.floe_record) FROM floe.floe_version";
    assert_eq!(server.sql(left), "2\t0");
    server.sql("DROP TRIGGER floe.full");
    is_moved_over(&url);
}

/// Nothing is changed yet: the older floes continue.
#[test]
fn a_move_that_would_not_end_or_would_stop_nobody_is_not_begun() {
    let server = Mariadb::start(&[]);
    let url = former(&server, "floe");
    let pinned = Opening::of("test").realm_id("00000000000000000000000000000000").open(&url);
    says(&pinned.err().unwrap(), &["has the id e817", "pins 0000"]);
    let refused = |url: &str| floe_ledger::open_in(url, "test").err().unwrap();
    // In such a table no constraint stops an older floe, and no copy is undone.
    for table in ["floe_mark", "floe_definition", "floe_made", "floe_realm"] {
        server.sql(&format!("ALTER TABLE floe.{table} ENGINE = Aria"));
        says(&refused(&url), &[&format!("keeps {table} in another engine than InnoDB"), "unsafe=allow"]);
        server.sql(&format!("ALTER TABLE floe.{table} ENGINE = InnoDB"));
    }
    server.sql("SET GLOBAL foreign_key_checks = OFF");
    says(&refused(&url), &["has foreign_key_checks = OFF", "SET GLOBAL foreign_key_checks = ON"]);
    server.sql(
        "SET GLOBAL foreign_key_checks = ON; INSERT INTO floe.floe_definition (realm, name, definition) \
         SELECT 'test', CONCAT('a', seq), 'uuid7' FROM floe.seq_1_to_3000; \
         INSERT INTO floe.floe_mark (realm, `key`, previous, start, mark) \
         SELECT 'test', CONCAT('s/20/', seq), 0, 0, 0 FROM floe.seq_1_to_3000",
    );
    says(
        &refused(&format!("{url}?max_wait=1s")),
        &["records of an older floe", "longer than max_wait (1s)", "max_wait=2s"],
    );
    assert!(!server.sql("SHOW TABLES IN floe").contains("floe_record"));
    let ledger = floe_ledger::open_in(&format!("{url}?max_wait=60s"), "test").unwrap();
    assert_eq!(ledger.names("a5", 1).unwrap()[0].0, "a50");
}

#[test]
fn tables_of_the_first_version_are_moved_over() {
    let server = Mariadb::start(&[]);
    let url = former(&server, "floe");
    server.sql("DROP TABLE floe.floe_made; UPDATE floe.floe_version SET version = 1");
    is_moved_over(&url);
}

/// If a process that moves the tables is cut off at any point, the next one finishes the move. From the first
/// constraint on, no former floe can reserve.
#[test]
fn a_move_that_was_cut_off_is_made_good_by_the_next_process() {
    let server = Mariadb::start(&[]);
    let tables = include_str!("../../../../src/mysql/tables.sql");
    let statements: Vec<_> = STEP.split_terminator(";\n").collect();
    for cut in 0..=statements.len() {
        let database = format!("cut_{cut}");
        let url = former(&server, &database);
        let (done, _) = statements.split_at(cut);
        // The end of the session undoes what is not committed.
        let step: String = done.iter().map(|statement| format!("{statement};\n")).collect();
        server.sql(&format!("USE {database}; SET NAMES utf8mb4; {tables} {step}"));
        if cut == statements.len() / 2 {
            server.kill();
            server.run();
        }
        if done.iter().any(|statement| statement.starts_with("ALTER TABLE floe_mark")) {
            let told = told_by(
                &server,
                &database,
                "UPDATE floe_mark SET writes = writes + 1 WHERE `key` = 'n/visits'",
            );
            says(&told, &["a newer floe keeps the marks now: run the newer floe"]);
        }
        is_moved_over(&url);
    }
}

/// Reservations as the floe of version 2 makes them, one after the other until one fails: the error, and the mark that
/// was reached.
const RESERVES: &str = "
    DECLARE number, reached BIGINT DEFAULT 0;
    DECLARE begun BIGINT DEFAULT UNIX_TIMESTAMP(SYSDATE());
    DECLARE why TEXT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        GET DIAGNOSTICS CONDITION 1 why = MESSAGE_TEXT;
        ROLLBACK;
        SELECT reached, why;
    END;
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    WHILE UNIX_TIMESTAMP(SYSDATE()) < begun + 60 DO
        SET number = number + 1, @token = UNHEX(MD5(CONCAT(CONNECTION_ID(), ' ', number)));
        START TRANSACTION;
        INSERT INTO floe_made (realm, `key`, made_by) VALUES ('test', 'n/orders', @token) ON DUPLICATE KEY UPDATE made_by = made_by;
        INSERT INTO floe_mark (realm, `key`, previous, start, mark)
            SELECT 'test', 'n/orders', 0, 0, 0 FROM floe_made AS l
            WHERE l.realm = 'test' AND l.`key` = 'n/orders' AND l.made_by = @token
            ON DUPLICATE KEY UPDATE floe_mark.writes = floe_mark.writes;
        SELECT mark INTO @found FROM floe_mark WHERE realm = 'test' AND `key` = 'n/orders' FOR UPDATE;
        UPDATE floe_mark SET writes = writes + 1,
            previous = IF(token <=> @token, previous, mark),
            start = IF(token <=> @token, start, GREATEST(mark, 0)),
            mark = IF(token <=> @token, mark, GREATEST(mark, 0) + 1),
            note = IF(token <=> @token, note, COALESCE(NULL, note)), token = @token
            WHERE realm = 'test' AND `key` = 'n/orders' AND (token <=> @token OR mark <= 9223372036854775806);
        COMMIT;
        SET reached = @found + 1;
    END WHILE;
    SELECT reached, 'nothing refused it for a minute';
";

#[test]
fn a_former_floe_that_runs_on_reserves_nothing_beside_the_records() {
    let server = Mariadb::start(&[]);
    let url = former(&server, "floe");
    let mark = || -> u64 {
        server
            .sql("SELECT mark FROM floe.floe_mark WHERE realm = 'test' AND `key` = 'n/orders'")
            .parse()
            .unwrap()
    };
    let (ledger, reached) = thread::scope(|scope| {
        let former = || {
            let told = server.sql(&format!("DELIMITER //\nUSE floe//\nBEGIN NOT ATOMIC {RESERVES} END//"));
            let (reached, why) = told.split_once('\t').unwrap();
            says(&why, &["a newer floe keeps the marks now: run the newer floe"]);
            reached.parse::<u64>().unwrap()
        };
        let former: Vec<_> = (0..4).map(|_| scope.spawn(former)).collect();
        while mark() < 200 {
            assert!(former.iter().all(|former| !former.is_finished()), "it ended by itself");
        }
        let ledger = open(&url);
        let reached = former.into_iter().map(|former| former.join().unwrap()).max().unwrap();
        (ledger, reached)
    });
    assert_eq!(mark(), reached);
    assert_eq!(got(&*ledger, &of(&key("orders"))), (reached, reached + 1));
    // A raise, a give-back, and a name, as it writes them.
    for (sql, kept) in [
        (
            "UPDATE floe_mark SET writes = writes + 1, mark = GREATEST(mark, 900) WHERE `key` = 'n/visits'",
            "marks",
        ),
        (
            "UPDATE floe_mark SET writes = writes + 1, mark = 2, token = NULL WHERE `key` = 'n/visits'",
            "marks",
        ),
        (
            "INSERT INTO floe_mark (realm, `key`, previous, start, mark) VALUES ('test', 's/9/1', 0, 0, 0)",
            "marks",
        ),
        ("INSERT INTO floe_definition (realm, name, definition) VALUES ('test', 'a', 'b')", "names"),
        (
            "INSERT INTO floe_definition (realm, name, definition) VALUES ('test', 'orders', 'b') \
             ON DUPLICATE KEY UPDATE writes = writes + 1",
            "names",
        ),
    ] {
        let told = told_by(&server, "floe", sql);
        says(&told, &[&format!("a newer floe keeps the {kept} now: run the newer floe")]);
    }
}
