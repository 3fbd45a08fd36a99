//! What may happen to the keys and the database under a running ledger.

use std::collections::HashSet;
use std::fs;
use std::thread;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reserve, conformance};
use floe_ledger::Opening;
use floe_testbed::Etcd;

use super::{open, prefix, refused, url};
use crate::{ask, got, orders, says, until};

#[test]
fn a_realm_that_is_another_one_stops_the_ledger() {
    let server = Etcd::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    let (name, id) = (Name::new("tickets").unwrap(), ledger.realm_id().unwrap());
    for (command, part) in [
        ("put /floe/realm/test another", "is not the one that it was"),
        ("del /floe/realm/test", "the realm at"),
    ] {
        server.control(&command.split(' ').collect::<Vec<_>>());
        for outcome in [ledger.reserve(&ask(1)).map(drop), ledger.reserve(&ask(1)).map(drop)] {
            let Err(LedgerError::Unfit(text)) = outcome else { panic!("after {command}: {outcome:?}") };
            says(&text, &[part, "restore"]);
        }
    }
    // Its records say what has to be put back.
    says(&refused(&server.url()), &["is gone: put it back", &format!("`realm {id}`")]);
    server.control(&["del", "--prefix", "/floe/"]);
    assert_eq!(ledger.reserve(&ask(1)), Err(LedgerError::Missing(orders())));
    let bound = ledger.bind(&name, "kind=segment", true);
    assert!(matches!(bound, Err(LedgerError::Unfit(_))), "{bound:?}");
    assert_eq!(server.control(&["get", "--prefix", "/floe"]), "", "nothing was made again");
}

/// A process may be slow between a record and its note, while somebody empties the realm and makes it again.
#[test]
fn neither_a_record_nor_its_note_is_written_into_another_realm() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let (store, place) = Opening::of("test").__open_store(&url(server, &prefix, "")).unwrap().unwrap();
    server.control(&["put", &format!("{prefix}/realm/test"), "floe 1\nrealm 0f\n"]);
    for key in ["mark/test/s/10/7", "made/test/s/10/7"] {
        let put = store.put(key, &format!("floe 1\nrealm {}\n", place.id()), None);
        let Err(LedgerError::Unfit(text)) = put else { panic!("{key}: {put:?}") };
        says(&text, &["is not the one that it was", "restore"]);
        assert_eq!(server.control(&["get", &format!("{prefix}/{key}")]), "", "{key}");
    }
}

/// A process may be slow between its look at the version and the making of a realm, while a newer floe takes over.
#[test]
fn no_realm_is_made_in_what_is_not_of_this_version() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let (store, _) = Opening::of("test").__open_store(&url(server, &prefix, "")).unwrap().unwrap();
    let (version, realm) = (format!("{prefix}/version"), format!("{prefix}/realm/new"));
    for (command, part) in [(["put", &version, "3"].as_slice(), "newer floe"), (&["del", &version], "gone")] {
        server.control(command);
        let put = store.put("realm/new", "floe 1\nrealm 0f\n", None);
        let Err(LedgerError::Unfit(text)) = put else { panic!("{part}: {put:?}") };
        says(&text, &[part]);
        assert_eq!(server.control(&["get", &realm]), "", "{part}");
    }
}

type Call<'a> = dyn Fn(&dyn Ledger) -> Result<(), LedgerError> + 'a;

#[test]
fn a_realm_that_changes_is_noticed_by_every_call_that_writes() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let realm = format!("{prefix}/realm/test");
    let request = ask(5);
    let calls: [&Call<'_>; 4] = [
        &|ledger| ledger.reserve(&ask(1)).map(drop),
        &|ledger| ledger.give_back(&orders(), request.token, 4).map(drop),
        &|ledger| ledger.raise(&orders(), 1_000).map(drop),
        &|ledger| ledger.bind(&Name::new("tickets").unwrap(), "kind=segment", true).map(drop),
    ];
    for call in calls {
        let ledger = open(&url(server, &prefix, ""));
        let id = ledger.realm_id().unwrap();
        got(&*ledger, &request);
        server.control(&["put", &realm, "another"]);
        let outcome = call(&*ledger);
        assert!(matches!(outcome, Err(LedgerError::Unfit(_))), "{outcome:?}");
        server.control(&["put", &realm, &id]);
        assert_eq!(got(&*ledger, &request), (0, 5), "nothing was written");
    }
}

#[test]
fn a_record_that_somebody_deleted_is_missing() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let ledger = open(&url(server, &prefix, ""));
    got(&*ledger, &ask(5));
    server.control(&["del", &format!("{prefix}/mark/test/n/orders")]);
    let request = Reserve { create: false, ..ask(1) };
    assert_eq!(ledger.reserve(&request), Err(LedgerError::Missing(orders())));
}

#[test]
fn a_database_that_is_full_is_named_and_served_again_when_there_is_room() {
    let server = Etcd::start(&["--quota-backend-bytes=2000000"]);
    let ledger = open(&server.url());
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    let definition = "x".repeat(100_000);
    let full = (0..100).find_map(|number| {
        ledger.bind(&Name::new(&format!("name-{number}")).unwrap(), &definition, false).err()
    });
    let Some(LedgerError::Unavailable(text)) = full else { panic!("{full:?}") };
    says(&text, &["database space exceeded", "etcdctl compact", "--quota-backend-bytes"]);
    let request = ask(5);
    assert!(matches!(ledger.reserve(&request), Err(LedgerError::Unavailable(_))));
    server.control(&["del", "--prefix", "/floe/mark/test/n/name-"]);
    server.control(&["compact", &super::restored::revision(&server).to_string()]);
    server.control(&["defrag"]);
    server.control(&["alarm", "disarm"]);
    assert_eq!(got(&*ledger, &request), (5, 10));
}

/// This process's own connections to a port on loopback.
fn connections(port: u16) -> usize {
    let links =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    let sockets: HashSet<String> = links.filter_map(|link| link.to_str().map(str::to_owned)).collect();
    let table = fs::read_to_string("/proc/self/net/tcp").unwrap();
    let is_ours = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (remote, state, inode) = (fields[2], fields[3], fields[9]);
        remote.ends_with(&format!(":{port:04X}"))
            && state == "01"
            && sockets.contains(&format!("socket:[{inode}]"))
    };
    table.lines().skip(1).filter(is_ours).count()
}

#[test]
fn four_connections_serve_sixteen_threads_and_are_closed_in_the_end() {
    let server = Etcd::start(&[]);
    let ledger = open(&server.url());
    thread::scope(|scope| {
        for worker in 0..16 {
            let (ledger, key) = (&ledger, Key::slot(10, worker));
            let request = move || Reserve { key: key.clone(), ..ask(1) };
            scope.spawn(move || {
                for _ in 0..20 {
                    got(&**ledger, &request());
                }
            });
        }
    });
    assert_eq!(connections(server.port()), 4);
    drop(ledger);
    until("the connections to end", || connections(server.port()) == 0);
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let server = Etcd::start(&[]);
    let delete = |key: &Key| drop(server.control(&["del", &format!("/floe/mark/test/{key}")]));
    conformance::check_deleted(&|| open(&server.url()), &delete);
    // The way out of docs/ledgers.md.
    server.control(&["del", "/floe/made/test/s/10/7"]);
    assert_eq!(got(&*open(&server.url()), &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}
