//! Tables of the version before 3, which had a column for each number.

use std::process::Command;
use std::thread;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reply, Reserve, Token};
use floe_ledger::Opening;

use super::over::{client, runtime};
use super::{Postgres, open, schema};
use crate::{ask, got, says, until};

/// A schema in which the floe of version 2 has written, dumped with `pg_dump`. Returns its URL.
fn former(schema: &str) -> String {
    let former = include_str!("version_2.sql").replace("SCHEMA floe", &format!("SCHEMA {schema}"));
    Postgres::shared().psql(&former.replace("floe.", &format!("{schema}.")));
    format!("{}?schema={schema}", Postgres::shared().url())
}

fn key(name: &str) -> Key {
    Key::name(&Name::new(name).unwrap())
}

fn of(key: &Key) -> Reserve {
    Reserve { key: key.clone(), create: false, ..ask(1) }
}

/// Why a statement fails.
#[track_caller]
fn told_by(sql: &str) -> String {
    let told = Command::new(Postgres::tool("psql"))
        .args(["-X", "-h", "127.0.0.1", "-U", "postgres", "-p", &Postgres::shared().port().to_string()])
        .args(["-c", sql])
        .output()
        .unwrap();
    assert!(!told.status.success(), "{sql}");
    String::from_utf8(told.stderr).unwrap()
}

#[test]
fn tables_of_the_second_version_are_taken_over_under_a_floe_that_runs_on() {
    let schema = schema();
    let url = former(&schema);
    // An opening that only looks changes nothing, and neither does one that pins another realm.
    let pinned = Opening::of("test").realm_id("00000000000000000000000000000000").open(&url);
    says(&pinned.err().unwrap(), &["has the id 7a15", "pins 0000"]);
    says(&floe_ledger::open_existing(&url, "test").err().unwrap(), &["older floe (version 2)", "floe serve"]);
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&url))))));

    let ledger = open(&url);
    assert_eq!(ledger.realm_id().unwrap(), "7a1512e18cf6f760a63cdaef68c62477");
    assert_eq!(
        floe_ledger::open_in(&url, "other").unwrap().realm_id().unwrap(),
        "fe7ba566b020e5d04f67e165cdd3d6ff"
    );
    let names = ledger.names("", 10).unwrap();
    let names: Vec<_> = names.iter().map(|(name, definition)| format!("{name}: {definition}")).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    assert_eq!(names[0], "codes: counter form base62");
    says(&names[2], &["flakes: snowflake time:41", "epoch=2010-11-04T01:42:54.657Z"]);
    let list = ledger.list("", "", 10).unwrap();
    let list: Vec<_> = list.iter().map(|record| format!("{} {}", record.key, record.mark)).collect();
    let marks =
        ["n/codes 33", "n/days 22847851625185346", "n/orders 3", "n/visits 165", "s/10/693 1795462660755"];
    assert_eq!(list, marks);
    assert_eq!(ledger.list("n/orders", "", 1).unwrap()[0].note.as_deref(), Some("a\\b\nc"));
    // The ranges continue; a counter's from where it was used.
    assert_eq!(got(&*ledger, &of(&key("orders"))), (3, 4));
    assert_eq!(ledger.count(&of(&key("visits"))), Ok(Reply::Got { start: 5, end: 6, previous_mark: 5 }));
    // A call that had no answer before is answered now, with its range.
    let token =
        Token::from_bytes(*b"\x4f\x6f\x0f\xc1\x07\x95\xb1\xaf\x82\xd9\xc4\x7d\xbc\x5f\xe0\x18").unwrap();
    assert_eq!(got(&*ledger, &Reserve { token, ..of(&key("visits")) }), (0, 165));
    // Deleted records stay deleted.
    for deleted in [key("eaten"), Key::slot(10, 1000)] {
        let outcome = ledger.reserve(&Reserve { create: true, ..of(&deleted) });
        assert_eq!(outcome, Err(LedgerError::Missing(deleted)));
    }
    // If a realm's own row is missing, the realm is not begun again.
    says(&floe_ledger::open_in(&url, "lost").err().unwrap(), &["records of the realm lost", "is gone"]);
    // The former floe, which has its statements prepared, gets the error. It retries, and its windows stay its own.
    for sql in [
        "UPDATE floe.mark SET mark = mark + 1 WHERE key = 'n/orders'",
        "INSERT INTO floe.mark (realm, key, previous, start, mark) VALUES ('test', 's/9/1', 0, 0, 0)",
        "INSERT INTO floe.made VALUES ('test', 's/9/1')",
        "INSERT INTO floe.realm VALUES ('new', 'an id')",
        "INSERT INTO floe.definition VALUES ('test', 'new', 'uuid7')",
        "UPDATE floe.ahead SET previous = used, used = used + 1 WHERE key = 'n/visits'",
        "INSERT INTO floe.ahead VALUES ('test', 'n/orders', 3, 3, 35)",
    ] {
        let told = told_by(&sql.replace("floe.", &format!("{schema}.")));
        says(&told, &["a newer floe keeps this ledger now: run the newer floe"]);
    }
}

/// It kept no list of what was made.
#[test]
fn tables_of_the_first_version_are_taken_over() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = former(&schema);
    server.psql(&format!("DROP TABLE {schema}.made; UPDATE {schema}.version SET version = 1"));
    let ledger = open(&url);
    assert_eq!(ledger.realm_id().unwrap(), "7a1512e18cf6f760a63cdaef68c62477");
    assert_eq!(ledger.list("", "", 10).unwrap().len(), 5);
    assert_eq!(got(&*ledger, &of(&key("orders"))), (3, 4));
    assert_eq!(ledger.count(&of(&key("visits"))), Ok(Reply::Got { start: 5, end: 6, previous_mark: 5 }));
}

/// A raise leaves the row with the rest of a range behind.
#[test]
fn a_rest_that_was_counted_from_before_a_raise_is_not_taken_over() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = former(&schema);
    server.psql(&format!("UPDATE {schema}.mark SET mark = 500, token = NULL WHERE key = 'n/visits'"));
    let ledger = open(&url);
    assert_eq!(
        ledger.count(&of(&key("visits"))),
        Ok(Reply::Got { start: 500, end: 501, previous_mark: 500 })
    );
}

#[test]
fn what_a_former_floe_counts_while_the_tables_are_taken_over_is_not_counted_again() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = former(&schema);
    let counting = client(&server.url());
    let run = |sql: &str| runtime().block_on(counting.batch_execute(sql)).unwrap();
    run(&format!("BEGIN; UPDATE {schema}.ahead SET previous = used, used = used + 7 WHERE key = 'n/visits'"));
    let ledger = thread::scope(|scope| {
        let opens = scope.spawn(|| open(&format!("{url}&max_wait=60s")));
        let waits = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{schema}.ahead'::regclass"
        );
        until("the opening to wait for the count", || server.psql(&waits) != "0");
        run("COMMIT");
        opens.join().unwrap()
    });
    assert_eq!(ledger.count(&of(&key("visits"))), Ok(Reply::Got { start: 12, end: 13, previous_mark: 12 }));
}
