//! A cluster that went back, under a running ledger.

use std::process::Command;

use floe::ledger::{Key, LedgerError, Reply, Reserve};
use floe_testbed::Consul;

use super::{open, url};
use crate::{ask, got, says};

/// Puts one copy of the data in the place of another, with owners and all.
fn copy(server: &Consul, from: &str, to: &str) {
    server.stop();
    let script = format!("rm -rf {to} && cp -a {from} {to}");
    let done = Command::new("sh").args(["-c", &script]).current_dir(server.home().path()).status().unwrap();
    assert!(done.success());
    server.run();
}

/// The index of a key's last write.
fn index(server: &Consul, key: &str) -> u64 {
    let text = server.control(&["kv", "get", "-detailed", key]);
    let line = text.lines().find_map(|line| line.strip_prefix("ModifyIndex")).unwrap();
    line.trim().parse().unwrap()
}

/// Writes something else until it has this index.
fn reach(server: &Consul, wanted: u64) {
    let mut last = 0;
    while last < wanted {
        // The same text would not be a write.
        server.control(&["kv", "put", "other", &last.to_string()]);
        last = index(server, "other");
    }
}

#[test]
fn an_index_that_goes_back_stops_the_ledger() {
    let server = Consul::start(&[]);
    let ledger = open(&url(server.port(), ""));
    got(&*ledger, &ask(5));
    copy(&server, "data", "backup");
    for end in 2..60 {
        assert_eq!(got(&*ledger, &ask(5)), (end * 5 - 5, end * 5), "a restart by itself is nothing");
    }
    copy(&server, "backup", "data");
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(5)) else {
        panic!("a range was handed out again")
    };
    says(&text, &["is at index", "lost writes", "marks raise"]);
}

/// Also where this ledger has only read what others wrote.
#[test]
fn an_index_below_one_that_was_read_stops_the_ledger() {
    let server = Consul::start(&[]);
    let (ledger, other) = (open(&url(server.port(), "")), open(&url(server.port(), "")));
    got(&*other, &ask(5));
    copy(&server, "data", "backup");
    for _ in 0..60 {
        got(&*other, &ask(5));
    }
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    copy(&server, "backup", "data");
    let fresh = Reserve { key: Key::slot(10, 8), ..ask(5) };
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&fresh) else { panic!("a range was handed out") };
    says(&text, &["is at index", "lost writes", "marks raise"]);
}

/// Its next write has the very index of the last one that this ledger has seen.
#[test]
fn an_index_that_comes_a_second_time_stops_the_ledger() {
    let server = Consul::start(&[r#""disable_coordinates":true"#]);
    // A server writes something of its own now and then, and may take the wanted index.
    let met = (1..=5).any(|slot| {
        let ledger = open(&url(server.port(), ""));
        got(&*ledger, &ask(5));
        copy(&server, "data", "backup");
        for _ in 0..60 {
            got(&*ledger, &ask(5));
        }
        let seen = index(&server, "floe/mark/test/n/orders");
        copy(&server, "backup", "data");
        reach(&server, seen - 1);
        let answer = ledger.reserve(&Reserve { key: Key::slot(10, slot), ..ask(5) });
        if index(&server, &format!("floe/mark/test/s/10/{slot}")) != seen {
            return false;
        }
        let Err(LedgerError::Unfit(text)) = answer else { panic!("a range was handed out: {answer:?}") };
        says(&text, &[&format!("is at index {seen}, and was at {seen} before"), "marks raise"]);
        true
    });
    assert!(met, "no write came to have the index");
}

#[test]
fn another_record_that_came_to_have_the_same_index_is_told_apart() {
    let server = Consul::start(&[r#""disable_coordinates":true"#]);
    let record = "floe/mark/test/n/orders";
    // A server writes something of its own now and then, and may take the wanted index.
    let met = (0..5).any(|_| {
        let ledger = open(&url(server.port(), ""));
        let (_, end) = got(&*ledger, &ask(5));
        copy(&server, "data", "backup");
        let seen = (0..60).map(|_| got(&*ledger, &ask(5))).last().unwrap().1;
        let wanted = index(&server, record);
        copy(&server, "backup", "data");
        let other = open(&url(server.port(), ""));
        reach(&server, wanted - 1);
        let (start, more) = got(&*other, &ask(1_000));
        if index(&server, record) != wanted {
            return false;
        }
        assert!(start == end && more > seen);
        // What this ledger saw last has the index of that record, and is not that record.
        assert_eq!(got(&*ledger, &ask(5)), (more, more + 5));
        true
    });
    assert!(met, "no record came to have the index");
}

/// In a living cluster the index goes on. The mark is an older one, and the reply says so: the node stops.
#[test]
fn a_snapshot_in_the_same_cluster_takes_the_marks_back_and_the_reply_says_so() {
    let server = Consul::start(&[]);
    let ledger = open(&url(server.port(), ""));
    got(&*ledger, &ask(5));
    server.control(&["snapshot", "save", "backup.snap"]);
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    let before = index(&server, "floe/mark/test/n/orders");
    server.control(&["snapshot", "restore", "backup.snap"]);
    let answer = ledger.reserve(&ask(5)).unwrap();
    assert_eq!(answer, Reply::Got { start: 5, end: 10, previous_mark: 5 });
    assert!(index(&server, "floe/mark/test/n/orders") > before);
}
