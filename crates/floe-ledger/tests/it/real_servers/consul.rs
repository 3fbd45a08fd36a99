//! The Consul ledger on a real Consul. `scripts/stores` builds it, so `scripts/test --skip-stores` leaves these out.

mod answers;
mod checks;
mod restored;
mod servers;

use std::sync::atomic::{AtomicU32, Ordering};

use floe::Name;
use floe::ledger::conformance;
use floe::ledger::{Key, LedgerError, Reserve};
use floe::store::Put;
use floe_ledger::{OpenError, Opening};
use floe_testbed::{Consul, Proxy};

use super::faults::{Rig, faults, open};
use super::realm_of;
use crate::{ask, got, says};

/// The URL of a prefix at a port.
fn url(port: u16, options: &str) -> String {
    format!("consul://127.0.0.1:{port}/floe?{options}")
}

/// The same under a prefix that no other test uses.
fn apart(port: u16) -> String {
    static PREFIXES: AtomicU32 = AtomicU32::new(0);
    format!("consul://127.0.0.1:{port}/floe-{}", PREFIXES.fetch_add(1, Ordering::Relaxed))
}

/// Why a URL cannot be opened.
#[track_caller]
fn refused(url: &str) -> OpenError {
    match floe_ledger::open_in(url, "test") {
        Err(error) => error,
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

fn rig() -> Rig<Consul> {
    Rig { server: Consul::start(&[]), url }
}

// A refused transaction does not say what is there, so the caller that wrote last has an advantage.
faults!(super::rig, 8);

/// One test, since a runner that starts a process for each would start a server for each.
#[test]
fn conformance() {
    let (server, realms) = (Consul::shared(), AtomicU32::new(0));
    let url = apart(server.port());
    conformance::run(&|| {
        let (url, realm) = (url.clone(), format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed)));
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}

#[test]
fn a_record_without_the_number_of_its_last_write_is_not_written_over() {
    let server = Consul::start(&[]);
    let (store, _) = Opening::of("test").__open_store(&url(server.port(), "")).unwrap().unwrap();
    let key = "mark/test/n/orders";
    let Ok(Put::Done(first)) = store.put(key, "first", None) else { panic!("it was there") };
    server.control(&["kv", "delete", "-recurse", "floe/last/mark/test/n/orders/"]);
    assert_eq!(store.put(key, "second", Some(&first)), Ok(Put::Conflict));
    assert_eq!(store.get(key).unwrap().unwrap().text, "first");
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let server = Consul::start(&[]);
    let delete = |key: &Key| drop(server.control(&["kv", "delete", &format!("floe/mark/test/{key}")]));
    conformance::check_deleted(&|| open(&url(server.port(), "")), &delete);
    // The way out of docs/ledgers.md.
    server.control(&["kv", "delete", "floe/made/test/s/10/7"]);
    let slot = Reserve { key: Key::slot(10, 7), ..ask(5) };
    assert_eq!(got(&*open(&url(server.port(), "")), &slot), (0, 5));
}

#[test]
fn an_operator_can_read_a_record() {
    let server = Consul::start(&[]);
    let ledger = open(&url(server.port(), ""));
    ledger.bind(&Name::new("orders").unwrap(), "segment", true).unwrap();
    let text = server.control(&["kv", "get", "floe/mark/test/n/orders"]);
    let id = ledger.realm_id().unwrap();
    assert!(text.starts_with(&format!("floe 1\nrealm {id}\nwritten ")), "{text}");
    assert!(text.ends_with("mark 0 start 0 previous 0\ndefinition segment\nend"), "{text}");
    assert_eq!(ledger.describe(), format!("consul://127.0.0.1:{}/floe", server.port()));
    // What shows which write was the last one does not pile up.
    for write in 1..=3 {
        assert_eq!(got(&*ledger, &ask(5)).1, 5 * write);
    }
    let last = server.control(&["kv", "get", "-keys", "floe/last/mark/test/n/orders/"]);
    assert_eq!(last.lines().count(), 1, "{last}");
}

/// With the number of the last write, as a tool writes that keeps what it does not know.
#[test]
fn a_write_by_hand_is_noticed() {
    let server = Consul::start(&[]);
    let ledger = open(&url(server.port(), ""));
    got(&*ledger, &ask(5));
    let record = "floe/mark/test/n/orders";
    let text = server.control(&["kv", "get", record]).replace("mark 5 ", "mark 100 ") + "\n";
    let details = server.control(&["kv", "get", "-detailed", record]);
    let flags = details.lines().find_map(|line| line.strip_prefix("Flags")).unwrap().trim();
    server.control(&["kv", "put", "-flags", flags, record, &text]);
    assert_eq!(got(&*ledger, &ask(5)), (100, 105));
    // By Consul's own command, a record has no number.
    let text = server.control(&["kv", "get", record]).replace("mark 105 ", "mark 200 ") + "\n";
    server.control(&["kv", "put", record, &text]);
    assert_eq!(got(&*ledger, &ask(5)), (200, 205));
    assert_eq!(got(&*ledger, &ask(5)), (205, 210));
}

/// Consul's own page rounds longer ones when a record is written on it, and the next write would look for another number.
#[test]
fn the_number_of_a_write_has_no_more_bits_than_a_page_can_read() {
    let server = Consul::shared();
    let url = apart(server.port());
    let ledger = open(&url);
    for slot in 0..50 {
        got(&*ledger, &Reserve { key: Key::slot(10, slot), ..ask(1) });
    }
    let last = format!("{}/last/mark/", url.rsplit('/').next().unwrap());
    let last = server.control(&["kv", "get", "-keys", "-separator=", &last]);
    let numbers = last.lines().map(|key| key.rsplit('/').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(numbers.filter(|number| (1..1 << 53).contains(number)).count(), 50, "{last}");
}

#[test]
fn a_value_that_is_not_text_is_damage() {
    let server = Consul::start(&[]);
    let url = url(server.port(), "");
    let ledger = open(&url);
    got(&*ledger, &ask(5));
    server.control(&["kv", "put", "-base64", "floe/mark/test/n/orders", "/w=="]);
    for outcome in [
        ledger.reserve(&ask(5)).map(drop),
        open(&url).reserve(&ask(5)).map(drop),
        ledger.list("", "", 9).map(drop),
    ] {
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["a value that is not text (floe/mark/test/n/orders)", "no floe has written"]);
    }
}

#[test]
fn a_reserve_is_one_request() {
    let proxy = Proxy::before(Consul::shared().port());
    let url = apart(proxy.port());
    let trips = |expected: u64, call: &dyn Fn()| {
        let before = proxy.round_trips();
        call();
        assert_eq!(proxy.round_trips() - before, expected);
    };
    let ledger = open(&url);
    // Look, look whether it was made, write, look at the realm, note that it was made, look at the realm.
    let request = ask(5);
    trips(6, &|| assert_eq!(got(&*ledger, &request), (0, 5)));
    trips(10, &|| (0..10).for_each(|_| assert!(got(&*ledger, &ask(5)).1 > 5)));
    trips(1, &|| assert_eq!(ledger.raise(&request.key, 200), Ok(55)));
    // The names of the keys, and the records.
    trips(2, &|| assert_eq!(ledger.list("", "", 9).unwrap().len(), 1));
    // What the agent is, whether it has a leader, and the realm.
    trips(3, &|| drop(open(&url)));
    let other = open(&url);
    // The record, whether it was made, and the write.
    trips(3, &|| assert_eq!(got(&*other, &ask(5)), (200, 205)));
    // Refused, and read.
    trips(3, &|| assert_eq!(got(&*ledger, &ask(5)), (205, 210)));
}

#[test]
fn a_list_is_read_in_parts_and_in_order() {
    let url = apart(Consul::shared().port());
    let ledger = open(&url);
    let names = ["..", ".x", "a=b", "a%2Fb", "a%b", "ü", "#1?", "a.b"];
    for name in names {
        ledger.bind(&Name::new(name).unwrap(), "segment", true).unwrap();
    }
    let mut expected: Vec<String> = names.iter().map(|name| format!("n/{name}")).collect();
    for slot in 0..150 {
        got(&*ledger, &Reserve { key: Key::slot(10, slot), ..ask(1) });
        expected.push(format!("s/10/{slot}"));
    }
    expected.sort();
    let listed = |prefix: &str, after: &str, limit: usize| -> Vec<String> {
        ledger.list(prefix, after, limit).unwrap().into_iter().map(|record| record.key).collect()
    };
    assert_eq!(listed("", "", 1_000), expected);
    assert_eq!(listed("", "", 130), expected[..130]);
    assert_eq!(listed("", &expected[69], 70), expected[70..140]);
    assert_eq!(listed("n/a%", "", 9), ["n/a%2Fb", "n/a%b"]);
    assert_eq!(listed("n/.", "", 9), ["n/..", "n/.x"]);
    for realm in ["..", "a%b", "=", "ü"] {
        let ledger = floe_ledger::open_in(&url, realm).unwrap();
        got(&*ledger, &ask(1));
        assert_eq!(ledger.list("", "", 9).unwrap().len(), 1, "{realm}");
    }
}
