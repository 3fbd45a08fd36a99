//! What people and disks may do to a ledger on ZooKeeper.

use std::process::Command;
use std::thread;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reserve, conformance};
use floe_ledger::Opening;
use floe_testbed::{Proxy, Zookeeper};

use super::checks::only_child;
use super::{fresh_url, open, rig};
use crate::real_servers::faults;
use crate::{ask, got, orders, says, until};

/// What a ledger says that stops.
#[track_caller]
fn unfit(ledger: &dyn Ledger, parts: &[&str]) {
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, parts);
}

#[test]
fn a_realm_that_is_removed_or_made_anew_stops_a_running_ledger() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    let ledger = open(&url);
    got(&*ledger, &ask(5));
    server.cli(&["deleteall", &format!("{path}/test")]);
    for _ in 0..2 {
        unfit(&*ledger, &["the realm", "is gone", "restore"]);
    }
    let other = open(&url);
    got(&*other, &ask(5));
    unfit(&*ledger, &["the realm"]);
    let name = Name::new("new").unwrap();
    for outcome in [
        ledger.bind(&name, "definition", true).map(drop),
        ledger.definition(&name).map(drop),
        ledger.names("", 10).map(drop),
        ledger.list("", "", 10).map(drop),
        ledger.clock().map(drop),
    ] {
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["the realm", "restore"]);
    }
    assert_eq!(got(&*other, &ask(5)), (5, 10), "the other realm is as it was");
    assert_eq!(other.names("", 10), Ok(Vec::new()));
}

/// Its node has the version that the former one had. Its last write is another one.
#[test]
fn a_record_that_was_made_anew_at_the_same_version_is_not_written_over() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    let (ledger, other) = (open(&url), open(&url));
    got(&*ledger, &ask(5));
    for directory in ["marks", "made"] {
        let directory = format!("{path}/test/{}/{directory}", ledger.realm_id().unwrap());
        server.cli(&["deleteall", &only_child(&only_child(&directory))]);
    }
    let definition = format!("{path}/test/{}/definitions", ledger.realm_id().unwrap());
    assert!(only_child(&only_child(&definition)).ends_with("/orders"));
    got(&*other, &ask(500));
    assert_eq!(ledger.reserve(&ask(1)), Err(LedgerError::Missing(orders())));
    assert_eq!(got(&*other, &ask(1)), (500, 501));
}

#[test]
fn the_record_of_a_name_that_was_deleted_is_missing() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    let ledger = open(&url);
    let name = Name::new("orders").unwrap();
    ledger.bind(&name, "definition", true).unwrap();
    let request = Reserve { create: false, ..ask(5) };
    assert_eq!(got(&*ledger, &request), (0, 5));
    let directory = format!("{path}/test/{}/marks", ledger.realm_id().unwrap());
    let bucket = only_child(&directory);
    server.cli(&["deleteall", &only_child(&bucket)]);
    let missing = LedgerError::Missing(orders());
    for ledger in [&*ledger, &*open(&url)] {
        assert_eq!(ledger.reserve(&ask(5)), Err(missing.clone()));
        assert_eq!(ledger.bind(&name, "definition", true), Err(missing.clone()));
        assert_eq!(ledger.raise(&orders(), 5), Err(missing.clone()));
        assert_eq!(ledger.give_back(&orders(), request.token, 0), Ok(false));
    }
    // The bucket comes back with the next record in it.
    server.cli(&["delete", &bucket]);
    let made = only_child(&only_child(&format!("{path}/test/{}/made", ledger.realm_id().unwrap())));
    server.cli(&["delete", &made]);
    assert_eq!(got(&*open(&url), &ask(5)), (0, 5));
}

#[test]
fn a_record_that_may_not_be_written_is_no_conflict_with_others() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    let ledger = open(&url);
    got(&*ledger, &ask(5));
    let record = only_child(&only_child(&format!("{path}/test/{}/marks", ledger.realm_id().unwrap())));
    server.cli(&["setAcl", &record, "world:anyone:ra"]);
    let outcome = ledger.reserve(&ask(1));
    let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["NoAuth", "getAcl"]);
    server.cli(&["setAcl", &record, "world:anyone:cdrwa"]);
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

/// Copies a folder of the server's while it is stopped.
fn copy_at_rest(server: &Zookeeper, from: &str, to: &str) {
    server.stop();
    let [from, to] = [from, to].map(|folder| server.home().path().join(folder));
    let _gone = std::fs::remove_dir_all(&to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    server.run();
}

#[test]
fn what_was_known_before_a_backup_was_restored_is_not_built_upon() {
    let server = Zookeeper::start(&[], &[]);
    let ledger = open(&server.url());
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    copy_at_rest(&server, "data", "backup");
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    copy_at_rest(&server, "backup", "data");
    // Somebody else brings the record to the version that it had, and the ensemble past the transactions it had.
    let other = open(&server.url());
    assert_eq!(got(&*other, &ask(500)), (5, 505));
    for _ in 0..20 {
        got(&*other, &Reserve { key: Key::slot(10, 1), ..ask(1) });
    }
    assert_eq!(got(&*ledger, &ask(5)), (505, 510));
}

#[test]
fn an_older_backup_or_another_realm_stops_a_running_ledger() {
    let server = Zookeeper::start(&[], &[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    copy_at_rest(&server, "data", "backup");
    for _ in 0..20 {
        got(&*ledger, &ask(5));
    }
    copy_at_rest(&server, "backup", "data");
    unfit(&*ledger, &["older backup", "raise its marks"]);
    let after = open(&server.url());
    assert_eq!(got(&*after, &ask(5)), (5, 10), "a ledger that is opened afresh cannot know");
    server.cli(&["set", "/floe/test", "version=1 id=abcdef"]);
    server.stop();
    server.run();
    unfit(&*after, &["is not the one that it was"]);
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Zookeeper::start(&[], &[]);
    let ledger = open(&server.url());
    thread::scope(|scope| {
        for worker in 0..16 {
            let ledger = &*ledger;
            scope.spawn(move || {
                for _ in 0..20 {
                    got(ledger, &Reserve { key: Key::slot(10, worker), ..ask(1) });
                }
            });
        }
    });
    // The one that asks is a connection too.
    assert_eq!(server.counts("Connections"), 4 + 1);
    drop(ledger);
    until("the connections to end", || server.counts("Connections") == 1);
}

#[test]
fn an_uncontended_reserve_is_one_transaction_and_one_round_trip() {
    let server = Zookeeper::start(&[], &[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(1));
    let before = (server.counts("Zxid"), server.counts("Received"));
    for _ in 0..100 {
        got(&*ledger, &ask(1));
    }
    assert_eq!(server.counts("Zxid") - before.0, 100);
    // A write and the read behind it, sent at once; and a ping or two, and the questions of this test.
    let received = server.counts("Received") - before.1;
    assert!((200..220).contains(&received), "{received}");
}

#[test]
fn each_call_takes_the_trips_of_the_contract() {
    let server = Zookeeper::start(&[], &[]);
    let proxy = Proxy::before(server.port());
    let url = |port: u16| format!("zookeeper://127.0.0.1:{port}/floe");
    let (ledger, other) = (open(&url(proxy.port())), open(&url(server.port())));
    let (key, name) = (Key::slot(10, 7), Name::new("orders").unwrap());
    let of = |count| Reserve { key: key.clone(), ..ask(count) };
    let trips = |most: u64, what: &str, call: &dyn Fn()| {
        let before = proxy.round_trips();
        call();
        let took = proxy.round_trips() - before;
        // A ping may be among them.
        assert!((most..=most + 1).contains(&took), "{what}: {took}");
    };
    trips(
        6,
        "look, look whether it was made, make, look at the realm, note, look at the realm again",
        &|| {
            got(&*ledger, &of(5));
        },
    );
    let request = of(5);
    trips(1, "reserve", &|| assert_eq!(got(&*ledger, &request), (5, 10)));
    trips(1, "the same token", &|| assert_eq!(got(&*ledger, &request), (5, 10)));
    trips(1, "give back", &|| assert_eq!(ledger.give_back(&key, request.token, 7), Ok(true)));
    trips(1, "raise", &|| assert_eq!(ledger.raise(&key, 9), Ok(7)));
    got(&*other, &of(1));
    trips(2, "another one wrote in between, and the refusal shows what", &|| {
        assert_eq!(got(&*ledger, &of(1)), (10, 11));
    });
    trips(1, "refuse", &|| drop(ledger.reserve(&Reserve { max_mark: 1, ..of(1) }).unwrap()));
    trips(7, "bind: as the first reserve, and a look at what an older floe bound", &|| {
        ledger.bind(&name, "segment", true).unwrap();
    });
    trips(1, "definition", &|| drop(ledger.definition(&name).unwrap()));
    trips(1, "clock", &|| assert!(ledger.clock().unwrap().is_some()));
}

#[test]
fn processes_that_race_for_one_key_share_it_fairly() {
    faults::callers_of_one_key_share_it_fairly(&rig(), 4);
}

/// The node of a key below a directory of a realm.
fn node(directory: &str, key: &Key) -> String {
    let nodes = Zookeeper::shared().cli(&["ls", "-R", directory]);
    let name = format!("/{}", key.as_str().replace('/', "%2F"));
    nodes.lines().find(|line| line.ends_with(&name)).unwrap().to_owned()
}

/// What stops floes of version 1 on a name is there after its record is not.
#[test]
fn a_record_that_was_deleted_is_in_no_list_and_cuts_none_short() {
    let (url, path) = fresh_url();
    let ledger = open(&url);
    let names = ["a", "b", "c", "d"].map(|name| Name::new(name).unwrap());
    for name in &names {
        ledger.bind(name, "definition", true).unwrap();
    }
    let marks = format!("{path}/test/{}/marks", ledger.realm_id().unwrap());
    Zookeeper::shared().cli(&["deleteall", &node(&marks, &Key::name(&names[0]))]);
    let (store, _) = Opening::of("test").__open_store(&url).unwrap().unwrap();
    for (limit, count) in [(1, 1), (2, 2), (3, 3), (9, 3)] {
        let listed = store.list("mark/test/n/", "", limit).unwrap();
        let keys = listed.iter().map(|(key, _)| &**key);
        let expected = ["mark/test/n/b", "mark/test/n/c", "mark/test/n/d"];
        assert!(keys.eq(expected.into_iter().take(count)), "{limit}: {listed:?}");
    }
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    let id = open(&url).realm_id().unwrap();
    let path = |directory: &str, key: &Key| node(&format!("{path}/test/{id}/{directory}"), key);
    let delete = |key: &Key| drop(server.cli(&["deleteall", &path("marks", key)]));
    conformance::check_deleted(&|| open(&url), &delete);
    // The way out of docs/ledgers.md.
    let slot = Key::slot(10, 7);
    server.cli(&["delete", &path("made", &slot)]);
    assert_eq!(got(&*open(&url), &Reserve { key: slot, ..ask(5) }), (0, 5));
}
