//! Faults that only PostgreSQL has.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reply, Reserve, conformance};
use floe::store::Put;
use floe_ledger::Opening;
use floe_testbed::{Postgres, Proxy};

use super::over::{client, runtime};
use super::{WAITS_FOR_NO_FLUSH, is_flushed, open, rig, schema, url_of_role};
use crate::real_servers::faults::{
    Rig, at_last, callers_with_connections_of_their_own, connections_to, disjoint, open_at_last, range, timed,
};
use crate::{ask, got, says, until};

/// The server waits for a standby that is gone, and each write waits with it.
#[test]
fn calls_that_were_given_up_leave_no_connection_behind() {
    let server = Postgres::start(&[]);
    let ledger = open_at_last(&format!("{}?max_wait=300ms", server.url()));
    server.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("SELECT pg_reload_conf()");
    let of = |worker: u64| Reserve { key: Key::slot(10, worker), ..ask(1) };
    let waiting = || -> u64 {
        server.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").parse().unwrap()
    };
    // The checkpointer, which reads the setting in its own time, tells the others to wait. A call on a busy machine may
    // be given up before its write comes to the server.
    let mut workers = 0..;
    until("more calls to be given up than there are connections", || {
        let outcome = ledger.reserve(&of(workers.next().unwrap()));
        assert!(matches!(outcome, Ok(_) | Err(LedgerError::Unavailable(_))), "{outcome:?}");
        waiting() > 4
    });
    until("the connections to end", || connections_to(server.port()) == 0);
    assert!(waiting() > 4, "the server has not let them go");
    server.psql("ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("SELECT pg_reload_conf()");
    range(&*ledger, &of(0), &AtomicUsize::new(0));
}

/// After a crash the primary shows what it has flushed, and a standby that has not got it may take over.
#[test]
fn a_retry_gets_no_range_that_the_standby_has_not_confirmed() {
    let server = Postgres::start(&[]);
    let ledger = open_at_last(&format!("{}?max_wait=1s", server.url()));
    // A record that is there is one write.
    range(&*ledger, &ask(5), &AtomicUsize::new(0));
    server.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server.psql("SELECT pg_reload_conf()");
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let mut request = ask(5);
    until("a write to wait for the standby", || {
        request = ask(5);
        let outcome = ledger.reserve(&request);
        assert!(matches!(outcome, Ok(_) | Err(LedgerError::Unavailable(_))), "{outcome:?}");
        outcome.is_err() && server.psql(waits).parse::<u64>().unwrap() > 0
    });
    server.kill();
    server.run();
    let mut end = 0;
    until("the server to be back", || match ledger.list("", "", 9) {
        Ok(records) => {
            end = records[0].mark;
            true
        }
        Err(_) => false,
    });
    let outcome = ledger.reserve(&request);
    assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
    server.psql("ALTER SYSTEM RESET synchronous_standby_names");
    server.psql("SELECT pg_reload_conf()");
    assert_eq!(range(&*ledger, &request, &AtomicUsize::new(0)), (end - 5, end), "its first try took effect");
}

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
    // Preparing a new statement is a trip too.
    let once = costs(&|| assert_eq!(got(&*ledger, &first), (0, 5)));
    assert!((6..=6 + 3).contains(&once), "{once} trips for a slot that was never there");
    let again = || costs(&|| assert_eq!(got(&*ledger, &first), (0, 5)));
    again();
    assert_eq!(again(), 2, "the same token again, and a write that is waited for");
    costs(&|| assert_eq!(got(&*ledger, &wanted()), (5, 10)));
    let many = || (1..=100).for_each(|range| assert_eq!(got(&*ledger, &wanted()).1, 10 + 5 * range));
    assert_eq!(costs(&many), 100);
    let probe = || {
        let refused = ledger.reserve(&Reserve { max_mark: 4, ..wanted() });
        assert_eq!(refused, Ok(Reply::Refused { mark: 510, note: None }));
    };
    assert_eq!(costs(&probe), 1);
    got(&*other, &wanted());
    assert_eq!(
        costs(&|| assert_eq!(got(&*ledger, &wanted()), (515, 520))),
        2,
        "where another came in between"
    );

    ledger.bind(&Name::new("visits").unwrap(), "a counter", true).unwrap();
    let visits = Reserve { key: Key::name(&Name::new("visits").unwrap()), create: false, ..ask(1) };
    let count = || {
        let request = Reserve { token: ask(1).token, ..visits.clone() };
        assert!(matches!(ledger.count(&request), Ok(Reply::Got { .. })));
    };
    (0..40).for_each(|_| count());
    // One call in 33 reserves ahead, which takes two more trips.
    assert_eq!(costs(&|| (0..330).for_each(|_| count())), 350);
}

/// Whatever a session's setting for commits is, commits that reserve wait for their flush.
#[test]
fn a_session_that_waits_for_no_flush_loses_nothing() {
    let server = Postgres::start(&WAITS_FOR_NO_FLUSH);
    let ledger = open(&server.url());
    for end in 1..=20 {
        assert_eq!(got(&*ledger, &ask(1)), (end - 1, end));
        assert!(is_flushed(&server), "after range {end}");
    }
    server.psql("CREATE TABLE of_others (a int)");
    // The server flushes on its own now and then.
    let waits_for_none = (0..20).any(|_| {
        server.psql("INSERT INTO of_others VALUES (1)");
        !is_flushed(&server)
    });
    assert!(waits_for_none, "whoever else writes waits for a flush, too");
}

/// Whatever a session's setting for commits is, each commit of a record waits for its flush, and for the standby if there is one.
#[test]
fn a_session_that_waits_for_no_standby_waits_for_it_with_each_write() {
    let (server, schema) = (Postgres::shared(), schema());
    drop(open(&format!("{}?schema={schema}", server.url())));
    // A deferred trigger runs when its transaction commits.
    server.psql(&format!(
        "CREATE TABLE {schema}.commits (waits text);
         CREATE FUNCTION {schema}.noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO {schema}.commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER noted AFTER INSERT OR UPDATE ON {schema}.record
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.noted()"
    ));
    for (session, commit) in [
        ("off", "on"),
        ("local", "on"),
        ("remote_write", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        let url = url_of_role(&schema, &format!("synchronous_commit = {session}"));
        let [ledger, other] = [open(&url), open(&url)];
        server.psql(&format!("TRUNCATE {schema}.commits"));
        let name = Name::new(session).unwrap();
        ledger.bind(&name, "a counter", true).unwrap();
        let request = || Reserve { key: Key::name(&name), create: false, ..ask(1) };
        let reserve = request();
        assert_eq!(got(&*ledger, &reserve), got(&*other, &reserve));
        ledger.count(&request()).unwrap();
        let commits = server.psql(&format!("SELECT waits, count(*) FROM {schema}.commits GROUP BY waits"));
        // A note that the name was made, its record, a range, what follows that range where it was only read, and a range
        // that is reserved ahead.
        assert_eq!(commits, format!("{commit}|5"), "of a session with {session}");
    }
}

/// A crash loses the numbers that were reserved ahead for a counter. None comes again, and each caller's numbers grow.
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
            // Most kills hit the middle of a range that was reserved ahead.
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
    // Three numbers for each call, and at most 32 calls' worth for each kill and each connection that was cut off.
    assert!((counted..counted + 4 * (32 + 6) * 3).contains(&end), "{counted} numbers up to {end}");
    assert!(ledger.list("", "", 10).unwrap()[0].mark >= end);
}

/// Each call is a commit, and few of them wait for a flush.
#[test]
fn most_counts_wait_for_no_flush() {
    let server = Postgres::start(&[]);
    open(&server.url()).bind(&Name::new("orders").unwrap(), "a counter", true).unwrap();
    // A session's work is counted at the latest when it has ended.
    let flushes = || -> u64 {
        let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        while server.psql(others) != "0" {
            thread::yield_now();
        }
        server.psql("SELECT wal_sync FROM pg_stat_wal").parse().unwrap()
    };
    let count = |times: u64| {
        let before = flushes();
        let ledger = open(&server.url());
        for _ in 0..times {
            ledger.count(&Reserve { create: false, ..ask(5) }).unwrap();
        }
        drop(ledger);
        flushes() - before
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
        let sql = format!("BEGIN; SELECT 1 FROM {schema}.record FOR UPDATE; SELECT pg_sleep(2.5); COMMIT");
        let holder = scope.spawn(move || server.psql(&sql));
        let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        until("the row to be held", || server.psql(sleeps) != "0");
        let (outcome, took) = timed(|| ledger.reserve(&ask(1)));
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
        assert!(took < Duration::from_millis(1600), "{took:?}");
        // A refusal does not wait for others.
        let refusal = ledger.reserve(&Reserve { max_mark: 4, ..ask(1) });
        assert_eq!(refusal, Ok(Reply::Refused { mark: 5, note: None }));
        holder.join().unwrap();
    });
    // The abandoned statement ended in time, and not later with a range that nobody owns.
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

/// The server would end it earlier where that were as long as a connect may take.
#[test]
fn a_statement_may_take_as_long_as_a_call_may() {
    let (server, schema) = (Postgres::shared(), schema());
    let ledger = open(&format!("{}?schema={schema}&max_wait=30s&connect_timeout=7", server.url()));
    server.psql(&format!(
        "CREATE TABLE {schema}.statements (may_take text);
         CREATE FUNCTION {schema}.noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO {schema}.statements VALUES (current_setting('statement_timeout')); RETURN NULL; END $$;
         CREATE TRIGGER noted AFTER INSERT OR UPDATE ON {schema}.record
             FOR EACH ROW EXECUTE FUNCTION {schema}.noted()"
    ));
    got(&*ledger, &ask(5));
    assert_eq!(server.psql(&format!("SELECT DISTINCT may_take FROM {schema}.statements")), "30s");
}

#[test]
fn nothing_is_reserved_ahead_over_a_record_that_was_changed_while_it_was_waited_for() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = format!("{}?schema={schema}", server.url());
    let (store, place) = Opening::of("test").__open_store(&url).unwrap().unwrap();
    let slot = Key::slot(10, 7);
    let (key, left) = (format!("mark/test/{slot}"), place.left(&slot));
    let Put::Done(version) = store.put(&key, "first", None).unwrap() else { panic!("it was there") };
    let other = client(&server.url());
    let run = |sql: &str| runtime().block_on(other.batch_execute(sql)).unwrap();
    run(&format!("BEGIN; UPDATE {schema}.record SET record = 'second' WHERE key = '{key}'"));
    let outcome = thread::scope(|scope| {
        let waiter = scope
            .spawn(|| store.counting().unwrap().put_ahead(&key, "third", &version, &left, 0..5).unwrap());
        let waits = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\"{schema}\"%'"
        );
        until("the record to be waited for", || server.psql(&waits) != "0");
        run("COMMIT");
        waiter.join().unwrap()
    });
    assert!(matches!(&outcome, Put::Found(Some(entry)) if entry.text == "second"), "{outcome:?}");
    assert_eq!(server.psql(&format!("SELECT count(*) FROM {schema}.counting")), "0");
}

#[test]
fn a_realm_that_is_another_one_stops_the_ledger() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    let other = Key::slot(10, 8);
    for (sql, part) in [
        ("UPDATE floe.record SET record = replace(record, 'realm ', 'realm 0')", "is another than it was"),
        ("DELETE FROM floe.record", "is gone"),
        ("DROP SCHEMA floe CASCADE", "floe.record"),
    ] {
        server.psql(sql);
        server.stop();
        server.run();
        let outcome = ledger.reserve(&Reserve { key: other.clone(), ..ask(1) });
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("after {sql}: {outcome:?}") };
        says(&text, &[part, "restore"]);
    }
}

#[test]
fn a_table_that_is_dropped_under_a_running_ledger_stops_it() {
    let schema = schema();
    let ledger = open(&format!("{}?schema={schema}", Postgres::shared().url()));
    got(&*ledger, &ask(5));
    Postgres::shared().psql(&format!("DROP TABLE {schema}.record"));
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["record", "restore", "marks raise"]);
}

#[test]
fn callers_on_one_record_do_not_fail_where_sessions_begin_serializable() {
    let Rig { url, .. } = rig();
    let server = Postgres::start(&["default_transaction_isolation=serializable"]);
    callers_with_connections_of_their_own(&Rig { server, url }, 8);
}

#[test]
fn a_role_whose_transactions_are_read_only_reserves() {
    let ledger = open(&url_of_role(&schema(), "default_transaction_read_only = on"));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}

#[test]
fn a_roles_own_functions_run_in_no_statement() {
    let (server, schema) = (Postgres::shared(), schema());
    server.psql(&format!(
        "CREATE SCHEMA own_{schema};
         CREATE FUNCTION own_{schema}.starts_with(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
         CREATE FUNCTION own_{schema}.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT NULL'"
    ));
    let ledger = open(&url_of_role(&schema, &format!("search_path = own_{schema}, pg_catalog")));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    assert_eq!(ledger.list("", "", 10).unwrap().len(), 1);
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Postgres::start(&[]);
    let ledger = open(&server.url());
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
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'floe'";
    assert_eq!(server.psql(count), "4");
    drop(ledger);
    until("the connections to end", || server.psql(count) == "0");
    // They closed in order: nothing was cut off.
    assert_eq!(server.psql("SELECT sum(sessions_abandoned) FROM pg_stat_database"), "0");
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let (server, schema) = (Postgres::shared(), schema());
    let url = format!("{}?schema={schema}", server.url());
    let delete =
        |key: &Key| drop(server.psql(&format!("DELETE FROM {schema}.record WHERE key = 'mark/test/{key}'")));
    conformance::check_deleted(&|| open(&url), &delete);
    // The way out in docs/ledgers.md.
    server.psql(&format!("DELETE FROM {schema}.record WHERE key = 'made/test/s/10/7'"));
    assert_eq!(got(&*open(&url), &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}
