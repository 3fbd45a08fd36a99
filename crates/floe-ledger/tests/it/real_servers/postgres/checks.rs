//! The checks of an opening, and their errors.

use std::fs;
use std::path::Path;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve};
use floe_ledger::{OpenError, Opening};

use super::over::over;
use super::{Postgres, open, schema};
use crate::{ask, got, orders, says, until};

/// Why a URL cannot be opened.
#[track_caller]
fn refused(url: &str) -> OpenError {
    match floe_ledger::open_in(url, "test") {
        Err(error) => error,
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

#[test]
fn a_wrong_password_user_or_database_is_named() {
    let server = Postgres::shared();
    server.psql("CREATE USER careful PASSWORD 'right'");
    server.psql("GRANT CREATE ON DATABASE postgres TO careful");
    let (port, schema) = (server.port(), schema());
    let wrong = refused(&format!("postgres://careful:wr0ng@127.0.0.1:{port}/postgres"));
    says(&wrong, &["password authentication failed", "careful", "28P01", "PGPASSWORD"]);
    assert!(matches!(wrong, OpenError::Asked(_)) && !wrong.to_string().contains("wr0ng"), "{wrong}");
    let words = "/postgres: password authentication failed for user \"careful\" (28P01); ";
    says(&wrong, &[words]);
    let missing = refused(&format!("postgres://careful@127.0.0.1:{port}/postgres"));
    says(&missing, &["password missing", "passfile"]);
    let stranger = refused(&format!("postgres://stranger@127.0.0.1:{port}/postgres"));
    says(&stranger, &["stranger", "does not exist"]);
    let nowhere = refused(&format!("postgres://postgres@127.0.0.1:{port}/nowhere"));
    says(&nowhere, &["nowhere", "3D000", "createdb"]);
    assert!(matches!(nowhere, OpenError::Asked(_)), "{nowhere}");

    let ledger = open(&format!("postgres://careful:right@127.0.0.1:{port}/postgres?schema={schema}"));
    assert_eq!(got(&*ledger, &ask(3)), (0, 3));
    assert_eq!(ledger.describe(), format!("postgres://127.0.0.1:{port}/postgres?schema={schema}"));
    assert!(ledger.is_shared());
}

#[test]
fn nobody_listens() {
    let port = floe_testbed::free_port();
    let error = refused(&format!("postgres://floe:secret@127.0.0.1:{port}/ids"));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &[&format!("127.0.0.1:{port}"), "refused", "whether the server runs"]);
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn tables_that_somebody_made_need_no_rights_to_make_any() {
    let server = Postgres::start(&[]);
    server.psql("CREATE USER modest");
    let refusal = refused(&server.url_of("modest"));
    assert!(matches!(refusal, OpenError::Asked(_)), "{refusal:?}");
    says(&refusal, &["permission denied", "42501", "docs/ledgers.md"]);

    // The documentation's statements for the owner of the database, word for word.
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ledgers.md");
    let docs = fs::read_to_string(docs).unwrap();
    let sql = docs.split("```sql\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(sql.contains(include_str!("../../../../src/postgres/tables.sql")), "{sql}");
    assert!(docs.contains("](../crates/floe-ledger/src/postgres/from_2.sql)"));
    server.psql("CREATE USER floe");
    server.psql(sql);
    let ledger = open(&server.url_of("floe"));
    assert_eq!(got(&*ledger, &ask(3)), (0, 3));
    assert_eq!(ledger.give_back(&orders(), ask(1).token, 0), Ok(false));
    assert_eq!(ledger.raise(&orders(), 10), Ok(3));
    assert_eq!(ledger.bind(&Name::new("a").unwrap(), "definition", true).unwrap(), "definition");
    says(&refused(&server.url_of("modest")), &["permission denied"]);
}

/// `CREATE SCHEMA IF NOT EXISTS` needs a right on the database even if there is nothing to make.
#[test]
fn a_role_that_may_make_no_schema_uses_the_one_that_was_made_for_it() {
    let (server, schema) = (Postgres::shared(), schema());
    server.psql(&format!(
        "CREATE ROLE of_{schema} LOGIN PASSWORD 'right'; CREATE SCHEMA {schema} AUTHORIZATION of_{schema}"
    ));
    let url = format!("{}?schema={schema}", server.url_of(&format!("of_{schema}:right")));
    assert_eq!(got(&*open(&url), &ask(3)), (0, 3));
    says(&refused(&format!("{url}_2")), &["permission denied", "docs/ledgers.md"]);
}

#[test]
fn who_only_looks_makes_neither_schema_nor_table() {
    let (server, schema) = (Postgres::shared(), schema());
    for looks in [Opening::of("test").to_look(), Opening::of("test").existing()] {
        let refusal = looks.open(&format!("{}?schema={schema}", server.url())).err().unwrap();
        says(&refusal, &["has no realm test"]);
        let schemas = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'");
        assert_eq!(server.psql(&schemas), "0");
    }
}

#[test]
fn settings_that_lose_ranges_are_refused_by_name() {
    for setting in ["fsync", "full_page_writes"] {
        let server = Postgres::start(&[&format!("{setting}=off")]);
        let error = refused(&server.url());
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
        says(&error, &[&format!("has {setting} = off"), "unsafe=allow"]);
        let ledger = open(&format!("{}?unsafe=allow", server.url()));
        got(&*ledger, &ask(1));
        says(&ledger.describe(), &[&format!("unsafe: it has {setting} = off")]);
    }
}

#[test]
fn settings_that_lose_ranges_are_noticed_by_the_next_connection_of_a_running_ledger() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(1));
    for setting in ["fsync", "full_page_writes"] {
        let becomes = |value: &str| {
            server.psql(&format!("ALTER SYSTEM SET {setting} = {value}"));
            server.psql("SELECT pg_reload_conf()");
            until("the new setting", || server.psql(&format!("SHOW {setting}")) == value);
        };
        becomes("off");
        let of_floe = "FROM pg_stat_activity WHERE application_name = 'floe'";
        server.psql(&format!("SELECT pg_terminate_backend(pid) {of_floe}"));
        until("the connections to end", || server.psql(&format!("SELECT count(*) {of_floe}")) == "0");
        // This call may still find the old connection, and be told only that it broke.
        drop(ledger.reserve(&ask(1)));
        // The fleet stops: it would not help to try again.
        match ledger.reserve(&ask(1)) {
            Err(LedgerError::Unfit(text)) => says(&text, &[&format!("has {setting} = off")]),
            other => panic!("{other:?}"),
        }
        becomes("on");
        got(&*ledger, &ask(1));
    }
}

#[test]
fn unlogged_tables_are_refused() {
    let server = Postgres::shared();
    let schema = schema();
    let url = format!("{}?schema={schema}", server.url());
    drop(open(&url));
    server.psql(&format!("ALTER TABLE {schema}.record SET UNLOGGED"));
    says(&refused(&url), &["unlogged tables (record)", "SET LOGGED"]);
    let allowed = open(&format!("{url}&unsafe=allow"));
    says(&allowed.describe(), &["unsafe: it has unlogged tables (record)"]);
    server.psql(&format!("ALTER TABLE {schema}.record SET LOGGED"));
    drop(open(&url));
}

#[test]
fn a_schema_with_somebody_elses_tables_is_refused_and_left_as_it_is() {
    let (server, schema) = (Postgres::shared(), schema());
    server.psql(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.record (x int)"));
    says(&refused(&format!("{}?schema={schema}", server.url())), &["not floe's (record)", "schema=NAME"]);
    let tables = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'");
    assert_eq!(server.psql(&tables), "1");
}

#[test]
fn an_encoding_that_cannot_hold_every_name_is_refused() {
    let server = Postgres::shared();
    server.psql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    let url = format!("postgres://postgres@127.0.0.1:{}/latin", server.port());
    says(&refused(&url), &["LATIN1", "ENCODING 'UTF8'"]);
}

#[test]
fn a_replica_is_refused_until_it_is_promoted() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
    let request = ask(5);
    assert_eq!(got(&*ledger, &request), (0, 5));
    let over = over(&server.url());
    server.stop();
    server.home().write("data/standby.signal", "");
    server.run();
    let error = refused(&server.url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["in recovery", "primary"]);
    assert!(matches!(ledger.reserve(&ask(1)), Err(LedgerError::Unavailable(_))));
    // Nothing looks at the program's own connections again, but each answer says whose it is.
    let name = Name::new("orders").unwrap();
    for outcome in [
        over.list("", "", 9).map(drop),
        over.list("s/", "", 9).map(drop),
        over.names("", 9).map(drop),
        over.definition(&name).map(drop),
        over.in_other_realms(&name).map(drop),
    ] {
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["in recovery", "primary"]);
    }
    assert_eq!(server.psql("SELECT pg_promote()"), "t");
    assert_eq!(over.list("", "", 9).unwrap()[0].mark, 5);
    assert_eq!(got(&*ledger, &request), (0, 5));
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

#[test]
fn tables_of_a_newer_floe_are_refused() {
    let schema = schema();
    let url = format!("{}?schema={schema}", Postgres::shared().url());
    drop(open(&url));
    Postgres::shared().psql(&format!("UPDATE {schema}.version SET version = 4"));
    let error = refused(&url);
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &["newer floe", "version 4"]);
    Postgres::shared().psql(&format!("UPDATE {schema}.version SET version = 0"));
    let error = refused(&url);
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &["no version that a floe has written", "schema=NAME"]);
}

#[test]
fn who_names_no_realm_does_not_begin_a_second_one() {
    let url = format!("{}?schema={}", Postgres::shared().url(), schema());
    drop(open(&url));
    let Err(error) = floe_ledger::open_in(&url, floe_ledger::DEFAULT_REALM) else {
        panic!("a second realm began")
    };
    says(&error, &["has no realm default", "it has: test", "--realm"]);
}

#[test]
fn the_clock_is_the_servers() {
    let server = Postgres::shared();
    let ledger = open(&format!("{}?schema={}", server.url(), schema()));
    let before = ledger.clock().unwrap().unwrap().get();
    let asked = server.psql("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    let asked: i64 = asked.parse().unwrap();
    let after = ledger.clock().unwrap().unwrap().get();
    assert!(before <= asked && asked <= after, "{before} {asked} {after}");
}

#[test]
fn an_operator_can_read_and_write_it_with_psql() {
    let (server, schema) = (Postgres::shared(), schema());
    let ledger = open(&format!("{}?schema={schema}", server.url()));
    let key = Key::slot(10, 7);
    let note = Some("订单 'host'".to_owned());
    let request = Reserve { key: key.clone(), floor: (1 << 53) + 1, note: note.clone(), ..ask(1 << 53) };
    got(&*ledger, &request);
    let record = format!("SELECT record FROM {schema}.record WHERE key = 'mark/test/s/10/7'");
    let mark = "mark 18014398509481985 start 9007199254740993 previous 0\n";
    says(&server.psql(&record), &["floe 1\nrealm ", mark, "note 订单 'host'\nend"]);
    server.psql(&format!(
        "UPDATE {schema}.record SET record = replace(record, 'mark 18014398509481985', 'mark 9223372036854775807')"
    ));
    let refused = ledger.reserve(&Reserve { key: key.clone(), max_mark: 5, ..ask(1) });
    assert_eq!(refused, Ok(Reply::Refused { mark: (1 << 63) - 1, note }));
    server.psql(&format!("UPDATE {schema}.record SET record = replace(record, 'mark 9', 'mark nine')"));
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&Reserve { key, max_mark: 5, ..ask(1) }) else {
        panic!("it read what it cannot")
    };
    says(&text, &["mark/test/s/10/7", "no floe has written"]);
}

#[test]
fn a_ledger_may_be_used_inside_an_async_runtime() {
    let url = format!("{}?schema={}", Postgres::shared().url(), schema());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = open(&url);
        assert_eq!(got(&*ledger, &ask(3)), (0, 3));
        drop(ledger);
    });
}
