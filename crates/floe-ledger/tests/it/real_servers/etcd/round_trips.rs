//! What a call costs, counted by the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use floe::ledger::{Key, Ledger, Reply, Reserve};

use super::restored::revision;
use super::{Etcd, open, rig};
use crate::real_servers::faults;
use crate::{ask, got};

/// How many calls of KV the server has answered.
fn answered(server: &Etcd) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let of_kv =
        |line: &&str| line.starts_with("grpc_server_handled_total") && line.contains("\"etcdserverpb.KV\"");
    let counts = text.lines().filter(of_kv).map(|line| line.rsplit(' ').next().unwrap());
    counts.map(|count| count.parse::<u64>().unwrap()).sum()
}

#[track_caller]
fn costs(server: &Etcd, round_trips: u64, call: impl FnOnce()) {
    let before = answered(server);
    call();
    assert_eq!(answered(server) - before, round_trips);
}

#[test]
fn a_call_is_one_round_trip_unless_somebody_else_came_in_between() {
    let server = Etcd::start(&[]);
    let (ledger, other) = (open(&server.url()), open(&server.url()));
    let (slot, name) = (Key::slot(10, 1), floe::Name::new("tickets").unwrap());
    let of_slot = || Reserve { key: slot.clone(), ..ask(5) };
    let request = of_slot();
    // Look, look whether it was made, write, look at the realm, note that it was made, look at the realm.
    costs(&server, 6, || assert_eq!(got(&*ledger, &request), (0, 5)));
    costs(&server, 1, || assert_eq!(ledger.give_back(&slot, request.token, 3), Ok(true)));
    costs(&server, 20, || {
        for _ in 0..20 {
            got(&*ledger, &of_slot());
        }
    });
    let before = revision(&server);
    let probe = Reserve { max_mark: 5, ..of_slot() };
    costs(&server, 2, || {
        assert_eq!(other.reserve(&probe), Ok(Reply::Refused { mark: 103, note: None }));
    });
    assert_eq!(revision(&server), before, "nothing was written");
    costs(&server, 1, || assert_eq!(got(&*other, &of_slot()), (103, 108)));
    // The refused write says what is there.
    costs(&server, 2, || assert_eq!(got(&*ledger, &of_slot()), (108, 113)));
    let again = of_slot();
    costs(&server, 1, || assert_eq!(got(&*ledger, &again), (113, 118)));
    costs(&server, 1, || assert_eq!(got(&*ledger, &again), (113, 118)));
    costs(&server, 1, || assert_eq!(ledger.raise(&slot, 200), Ok(118)));
    costs(&server, 6, || drop(ledger.bind(&name, "kind=segment", true).unwrap()));
    costs(&server, 2, || drop(other.bind(&name, "kind=other", true).unwrap()));
    costs(&server, 1, || drop(ledger.definition(&name).unwrap()));
    costs(&server, 1, || drop(ledger.list("", "", 100).unwrap()));
    let elsewhere = |told: usize| assert_eq!(ledger.in_other_realms(&name).unwrap().len(), told);
    costs(&server, 1, || elsewhere(0));
    let bank = floe_ledger::open_in(&server.url(), "bank").unwrap();
    costs(&server, 2, || elsewhere(0));
    bank.bind(&name, "kind=segment", true).unwrap();
    costs(&server, 2, || elsewhere(1));
}

#[test]
fn calls_of_one_process_wait_their_turn_instead_of_racing() {
    let server = Etcd::start(&[]);
    let ledger = open(&server.url());
    costs(&server, 320 + 5, || {
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        got(&*ledger, &ask(1));
                    }
                });
            }
        });
    });
    assert_eq!(got(&*ledger, &ask(1)), (320, 321));
}

#[test]
fn processes_that_race_for_one_key_share_it_fairly() {
    // Who has lost tries again at once: on two cores those that run win several times in a row.
    faults::callers_of_one_key_share_it_fairly(&rig(), 16);
}
