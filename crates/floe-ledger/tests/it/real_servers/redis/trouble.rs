//! Faults that only Redis has.

use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, conformance};
use floe_testbed::{Proxy, Redis};

use super::{open, rig};
use crate::real_servers::faults::{self, Rig, at_last, connections_to, open_at_last, range, timed};
use crate::{ask, got, orders, says, until};

/// How often the server was asked to run a script by its hash, and by its text.
fn scripts_run(server: &Redis) -> (u64, u64) {
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    };
    (calls("evalsha"), calls("eval"))
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
    assert_eq!(costs(&|| assert_eq!(got(&*ledger, &first), (0, 5))), 6, "a slot that was never there");
    let again = || assert_eq!(got(&*ledger, &first), (0, 5));
    assert_eq!(costs(&again), 3, "the same token again, with a script that the server does not know yet");
    assert_eq!(costs(&again), 2, "the same token again");
    got(&*ledger, &wanted());
    let (by_hash, by_text) = scripts_run(&server);
    let many = || (1..=100).for_each(|range| assert_eq!(got(&*ledger, &wanted()).1, 10 + 5 * range));
    assert_eq!(costs(&many), 100);
    assert_eq!(scripts_run(&server), (by_hash + 100, by_text));
    let probe = || {
        let refused = ledger.reserve(&Reserve { max_mark: 4, ..wanted() });
        assert_eq!(refused, Ok(Reply::Refused { mark: 510, note: None }));
    };
    assert_eq!(costs(&probe), 1);
    got(&*other, &wanted());
    let after_another = || assert_eq!(got(&*ledger, &wanted()), (515, 520));
    assert_eq!(costs(&after_another), 2, "where another came in between");

    let visits = Name::new("visits").unwrap();
    ledger.bind(&visits, "a counter", true).unwrap();
    let count = || {
        let request = Reserve { key: Key::name(&visits), create: false, ..ask(1) };
        assert!(matches!(ledger.count(&request), Ok(Reply::Got { .. })));
    };
    (0..40).for_each(|_| count());
    // One call in 33 reserves ahead, which takes two more trips.
    assert_eq!(costs(&|| (0..330).for_each(|_| count())), 350);

    // Forgotten scripts are sent again, once.
    server.cli(&["SCRIPT", "FLUSH"]);
    let (by_hash, by_text) = scripts_run(&server);
    got(&*ledger, &wanted());
    got(&*ledger, &wanted());
    assert_eq!(scripts_run(&server), (by_hash + 2, by_text + 1));
}

/// A number is on disk when it is handed out: a kill skips only numbers that others hold, and repeats none.
#[test]
fn a_counter_goes_on_where_it_was_when_the_server_is_killed() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let name = Name::new("visits").unwrap();
    ledger.bind(&name, "a counter", true).unwrap();
    let request = || Reserve { key: Key::name(&name), create: false, ..ask(1) };
    for end in 1..=50 {
        let counted = at_last(&AtomicUsize::new(0), || ledger.count(&request()));
        assert_eq!(counted, Reply::Got { start: end - 1, end, previous_mark: end - 1 });
        if end % 10 == 0 {
            server.kill();
            server.run();
        }
    }
}

#[test]
fn callers_of_one_key_share_it_fairly() {
    // A loser retries at once: on two cores, running callers win many times in a row. But nobody goes without.
    faults::callers_of_one_key_share_it_fairly(&rig(), 60);
}

#[test]
fn a_realm_that_is_gone_or_another_one_stops_the_ledger() {
    for (command, part) in [
        (["FLUSHALL"].as_slice(), "the realm test"),
        (&["HSET", "floe:{test}", "realm", "floe 1\nrealm another\n"], "is not the one that it was"),
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
        // For a slot that never existed, the realm is checked before the slot is made.
        stops(ledger.reserve(&fresh()).map(drop));
        stops(ledger.reserve(&Reserve { key: Key::slot(10, 8), ..ask(1) }).map(drop));
        // Its record may still be the one that this process wrote last.
        stops(ledger.reserve(&ask(1)).map(drop));
    }
}

type Call = fn(&dyn Ledger, &Name) -> Result<(), LedgerError>;

#[test]
fn every_call_on_a_record_looks_whether_its_realm_is_still_there() {
    let server = Redis::start(&[]);
    let name = Name::new("orders").unwrap();
    let calls: [Call; 6] = [
        |ledger, _| ledger.reserve(&ask(1)).map(drop),
        |ledger, _| ledger.give_back(&orders(), ask(1).token, 1).map(drop),
        |ledger, _| ledger.raise(&orders(), 9).map(drop),
        |ledger, name| ledger.bind(name, "definition", true).map(drop),
        |ledger, name| ledger.definition(name).map(drop),
        |ledger, name| ledger.count(&Reserve { key: Key::name(name), create: false, ..ask(1) }).map(drop),
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

/// Also by calls that write no record.
#[test]
fn a_realm_that_a_newer_floe_has_taken_over_is_read_no_more() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let name = Name::new("orders").unwrap();
    ledger.bind(&name, "definition", true).unwrap();
    let request = ask(5);
    got(&*ledger, &request);
    let visits = Name::new("visits").unwrap();
    ledger.bind(&visits, "a counter", true).unwrap();
    let count = || ledger.count(&Reserve { key: Key::name(&visits), create: false, ..ask(1) });
    // It reserves ahead for the next one.
    assert_eq!(count(), Ok(Reply::Got { start: 0, end: 1, previous_mark: 0 }));
    server.cli(&["HSET", "floe:{test}", "version", "3"]);
    for outcome in [
        count().map(drop),
        // Its record's mark is above that.
        ledger.raise(&Key::name(&visits), 1).map(drop),
        ledger.reserve(&request).map(drop),
        ledger.reserve(&Reserve { max_mark: 4, ..ask(1) }).map(drop),
        ledger.definition(&name).map(drop),
        ledger.bind(&name, "definition", true).map(drop),
    ] {
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["newer floe", "version 3"]);
    }
}

#[test]
fn a_record_that_something_ate_is_missed() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let name = Name::new("orders").unwrap();
    ledger.bind(&name, "definition", true).unwrap();
    got(&*ledger, &ask(5));
    server.cli(&["HDEL", "floe:{test}", "mark/n/orders"]);
    assert_eq!(ledger.list("", "", 9), Ok(Vec::new()));
    let request = Reserve { create: false, ..ask(1) };
    assert_eq!(ledger.reserve(&request), Err(LedgerError::Missing(orders())));
    // Nor does a call that may make records make it again: others may hold the range that it would get.
    assert_eq!(ledger.reserve(&ask(1)), Err(LedgerError::Missing(orders())));
    assert_eq!(ledger.bind(&name, "definition", true), Err(LedgerError::Missing(orders())));
    assert_eq!(server.cli(&["HEXISTS", "floe:{test}", "mark/n/orders"]), "0");
}

#[test]
fn a_record_that_no_floe_has_written_is_not_counted_on() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    let no_text = "return redis.call('HSET', 'floe:{test}', 'mark/n/orders', '\\255')";
    for (command, part) in [
        (["EVAL", no_text, "0"].as_slice(), "an answer that is not text"),
        (&["HSET", "floe:{test}", "mark/n/orders", "5"], "mark/test/n/orders"),
        (&["HSET", "floe:{test}", "mark/n/orders", "floe 1\nrealm x\nend\n"], "mark/test/n/orders"),
        (&["SET", "floe:{test}", "5"], "WRONGTYPE"),
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
        let (_, by_text) = scripts_run(&server);
        for outcome in [
            ledger.reserve(&ask(1)).map(drop),
            ledger.reserve(&fresh()).map(drop),
            ledger.give_back(&orders(), request.token, 1).map(drop),
        ] {
            let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{setting}: {outcome:?}") };
            says(&text, &words);
        }
        assert_eq!(scripts_run(&server).1, by_text, "what was refused is not sent again");
        server.cli(&["CONFIG", "SET", setting, sound]);
        // Nothing of them was written.
        assert_eq!(got(&*ledger, &request), (0, 5));
        assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    }
}

/// A request for a record that does not exist yet.
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

/// A record in no list would be passed over when every mark is raised after a restore.
#[test]
fn a_record_that_cannot_be_listed_is_not_made() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    server.cli(&["ACL", "SETUSER", "default", "-zadd"]);
    let request = fresh();
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&request) else { panic!("it was made") };
    says(&text, &["docs/ledgers.md"]);
    for sort in ["mark", "made"] {
        assert_eq!(server.cli(&["HEXISTS", "floe:{test}", &format!("{sort}/s/10/9")]), "0", "{sort}");
    }
    server.cli(&["ACL", "SETUSER", "default", "+zadd"]);
    assert_eq!(got(&*ledger, &request), (0, 1));
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
}

#[test]
fn somebodys_long_script_is_waited_for_no_longer_than_the_bound() {
    let server = Redis::start(&["--busy-reply-threshold", "100"]);
    let ledger = open_at_last(&format!("{}?max_wait=500ms", server.url()));
    let request = ask(5);
    assert_eq!(range(&*ledger, &request, &AtomicUsize::new(0)), (0, 5));
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
    // A busy machine may not answer the first call within the bound.
    let failures = AtomicUsize::new(0);
    let mark = at_last(&failures, || ledger.list("", "", 1))[0].mark;
    assert_eq!(range(&*ledger, &ask(1), &failures), (mark, mark + 1));
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Redis::start(&[]);
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
    let count = || server.cli(&["CLIENT", "LIST"]).matches(" name=floe ").count();
    assert!((2..=4).contains(&count()), "{}", count());
    drop(ledger);
    until("the connections to end", || count() == 0);
}

#[test]
fn calls_that_were_given_up_leave_no_connection_behind() {
    let server = Redis::start(&[]);
    let ledger = open_at_last(&format!("{}?max_wait=100ms", server.url()));
    range(&*ledger, &ask(1), &AtomicUsize::new(0));
    server.freeze();
    for _ in 0..6 {
        assert!(matches!(ledger.reserve(&ask(1)), Err(LedgerError::Unavailable(_))));
    }
    until("the connections to end", || connections_to(server.port()) == 0);
    server.thaw();
    range(&*ledger, &ask(1), &AtomicUsize::new(0));
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let server = Redis::start(&[]);
    let delete = |key: &Key| drop(server.cli(&["HDEL", "floe:{test}", &format!("mark/{key}")]));
    conformance::check_deleted(&|| open(&server.url()), &delete);
    // The way out in docs/ledgers.md.
    server.cli(&["HDEL", "floe:{test}", "made/s/10/7"]);
    assert_eq!(got(&*open(&server.url()), &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}
