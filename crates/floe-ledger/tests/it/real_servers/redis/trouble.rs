//! What Redis alone may do to a ledger.

use std::fs;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reserve, conformance};
use floe_testbed::Redis;

use super::open;
use crate::real_servers::faults::{at_last, range, timed};
use crate::{ask, got, orders, says};

/// How often the server was asked to run a script by its hash, and by its text.
fn scripts_run(server: &Redis) -> (u64, u64) {
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    };
    (calls("evalsha"), calls("eval"))
}

#[test]
fn a_reserve_is_one_round_trip() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(1));
    let (by_hash, by_text) = scripts_run(&server);
    for _ in 0..100 {
        got(&*ledger, &ask(1));
    }
    assert_eq!(scripts_run(&server), (by_hash + 100, by_text));
    // Forgotten scripts are told again, once.
    server.cli(&["SCRIPT", "FLUSH"]);
    got(&*ledger, &ask(1));
    got(&*ledger, &ask(1));
    assert_eq!(scripts_run(&server), (by_hash + 102, by_text + 1));
}

#[test]
fn a_realm_that_is_gone_or_another_one_stops_the_ledger() {
    for (command, part) in [
        (["FLUSHALL"].as_slice(), "the realm test"),
        (&["HSET", "floe:{test}", "id", "another"], "is not the one that it was"),
        (&["DEL", "floe:{test}"], "the realm test"),
    ] {
        let server = Redis::start(&[]);
        let ledger = open(&server.url());
        got(&*ledger, &ask(5));
        server.cli(command);
        let stops = |outcome: Result<(), LedgerError>| {
            let Err(LedgerError::Unfit(text)) = outcome else { panic!("after {command:?}: {outcome:?}") };
            says(&text, &[part, "restore"]);
        };
        // On the connection that was there, and on a new one.
        stops(ledger.reserve(&ask(1)).map(drop));
        stops(ledger.reserve(&ask(1)).map(drop));
    }
}

type Call = fn(&dyn Ledger, &Name) -> Result<(), LedgerError>;

#[test]
fn every_call_looks_whether_its_realm_is_still_there() {
    let server = Redis::start(&[]);
    let name = Name::new("orders").unwrap();
    let calls: [Call; 7] = [
        |ledger, _| ledger.reserve(&ask(1)).map(drop),
        |ledger, _| ledger.give_back(&orders(), ask(1).token, 1).map(drop),
        |ledger, _| ledger.raise(&orders(), 9).map(drop),
        |ledger, name| ledger.bind(name, "definition", true).map(drop),
        |ledger, name| ledger.definition(name).map(drop),
        |ledger, _| ledger.names("", 9).map(drop),
        |ledger, _| ledger.list("", "", 9).map(drop),
    ];
    for call in calls {
        let ledger = open(&server.url());
        ledger.bind(&name, "definition", true).unwrap();
        server.cli(&["FLUSHALL"]);
        let outcome = call(&*ledger, &name);
        assert!(matches!(outcome, Err(LedgerError::Unfit(_))), "{outcome:?}");
        assert_eq!(server.cli(&["DBSIZE"]), "0", "and it writes nothing");
    }
}

#[test]
fn a_record_that_something_ate_is_missed() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let name = Name::new("orders").unwrap();
    ledger.bind(&name, "definition", true).unwrap();
    got(&*ledger, &ask(5));
    server.cli(&["DEL", "floe:{test}:m:n/orders"]);
    assert_eq!(ledger.list("", "", 9), Ok(Vec::new()));
    let request = Reserve { create: false, ..ask(1) };
    assert_eq!(ledger.reserve(&request), Err(LedgerError::Missing(orders())));
    // Nor is it made anew for those who may make records: somebody's range would be in it.
    assert_eq!(ledger.reserve(&ask(1)), Err(LedgerError::Missing(orders())));
    server.cli(&["HDEL", "floe:{test}:definitions", "orders"]);
    let Err(LedgerError::Unfit(text)) = ledger.bind(&name, "definition", true) else { panic!("made anew") };
    says(&text, &["no record of n/orders", "list of records", "restore"]);
    assert_eq!(server.cli(&["EXISTS", "floe:{test}:m:n/orders"]), "0");
}

#[test]
fn a_record_that_no_floe_has_written_is_not_counted_on() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let record = "floe:{test}:m:n/orders";
    got(&*ledger, &ask(5));
    for (command, part) in [
        (["HSET", record, "mark", "9223372036854775808"].as_slice(), "9223372036854775808"),
        (&["HSET", record, "mark", "1e3"], "a record of n/orders without its numbers"),
        (&["HSET", record, "mark", "-1"], "without its numbers"),
        (&["HSET", record, "mark", ""], "without its numbers"),
        (&["HDEL", record, "mark"], "without its numbers"),
        (&["SET", record, "5"], "WRONGTYPE"),
    ] {
        server.cli(command);
        for outcome in [ledger.reserve(&ask(1)).map(drop), ledger.raise(&orders(), 1).map(drop)] {
            let Err(LedgerError::Unfit(text)) = outcome else { panic!("{command:?}: {outcome:?}") };
            says(&text, &[part, "no floe has written"]);
        }
    }
}

#[test]
fn a_server_that_takes_no_writes_is_unavailable_and_says_why() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let request = ask(5);
    got(&*ledger, &request);
    for (setting, value, sound, words) in [
        ("maxmemory", "1", "0", ["OOM", "raise maxmemory"]),
        ("min-replicas-to-write", "1", "0", ["NOREPLICAS", "min-replicas-to-write"]),
    ] {
        server.cli(&["CONFIG", "SET", setting, value]);
        for outcome in [
            ledger.reserve(&ask(1)).map(drop),
            ledger.reserve(&fresh()).map(drop),
            ledger.give_back(&orders(), request.token, 1).map(drop),
        ] {
            let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{setting}: {outcome:?}") };
            says(&text, &words);
        }
        server.cli(&["CONFIG", "SET", setting, sound]);
        // Nothing of them was written.
        assert_eq!(got(&*ledger, &request), (0, 5));
        assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    }
}

/// A request for a record that is not there yet.
fn fresh() -> Reserve {
    Reserve { key: Key::slot(10, 9), ..ask(1) }
}

#[test]
fn a_right_that_is_withdrawn_is_unavailable_until_it_is_given_again() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let request = ask(5);
    got(&*ledger, &request);
    server.cli(&["ACL", "SETUSER", "default", "-hset"]);
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(1)) else {
        panic!("written without a right")
    };
    says(&text, &["docs/ledgers.md"]);
    server.cli(&["ACL", "SETUSER", "default", "+hset"]);
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

#[test]
fn somebodys_long_script_is_waited_for_no_longer_than_the_bound() {
    let server = Redis::start(&["--busy-reply-threshold", "100"]);
    let ledger = open(&format!("{}?max_wait=500ms", server.url()));
    let request = ask(5);
    assert_eq!(got(&*ledger, &request), (0, 5));
    thread::scope(|scope| {
        let script = "local begin = redis.call('TIME')[1] repeat local now = redis.call('TIME')[1] until now - begin >= 3";
        scope.spawn(|| server.cli(&["EVAL", script, "0"]));
        // Until it runs, calls are answered.
        let (text, took) = loop {
            let (outcome, took) = timed(|| ledger.reserve(&ask(1)));
            match outcome {
                Ok(_) => {}
                Err(LedgerError::Unavailable(text)) => break (text, took),
                Err(error) => panic!("{error:?}"),
            }
        };
        assert!(text.contains("BUSY") || text.contains("gave no answer"), "{text}");
        assert!(took < Duration::from_millis(1600), "{took:?}");
    });
    // A machine that is busy may not answer the first call within the bound.
    let failures = AtomicUsize::new(0);
    let mark = at_last(&failures, || ledger.list("", "", 1))[0].mark;
    assert_eq!(range(&*ledger, &ask(1), &failures), (mark, mark + 1));
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Redis::start(&[]);
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
    let count = || server.cli(&["CLIENT", "LIST"]).matches(" name=floe ").count();
    assert!((2..=4).contains(&count()), "{}", count());
    drop(ledger);
    while count() != 0 {}
}

#[test]
fn calls_that_were_given_up_leave_no_connection_behind() {
    let server = Redis::start(&[]);
    let ledger = open(&format!("{}?max_wait=100ms", server.url()));
    got(&*ledger, &ask(1));
    server.freeze();
    for _ in 0..6 {
        assert!(matches!(ledger.reserve(&ask(1)), Err(LedgerError::Unavailable(_))));
    }
    // The kernel's list: the other end's port, and 01 for a connection that is open at this end.
    let remote = format!(":{:04X} 01 ", server.port());
    while fs::read_to_string("/proc/net/tcp").unwrap().contains(&remote) {}
    server.thaw();
    range(&*ledger, &ask(1), &AtomicUsize::new(0));
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let server = Redis::start(&[]);
    let eat = |key: &Key| drop(server.cli(&["DEL", &format!("floe:{{test}}:m:{key}")]));
    conformance::check_eaten(&|| open(&server.url()), &eat);
}
