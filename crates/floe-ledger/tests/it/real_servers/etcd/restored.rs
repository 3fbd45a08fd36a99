//! A cluster that went back: files of an earlier day under a running ledger.

use std::process::Command;

use floe::ledger::{Ledger, LedgerError};

use super::{Etcd, open};
use crate::{ask, got, says};

/// The revision of the cluster.
pub(super) fn revision(server: &Etcd) -> i64 {
    let text = server.control(&["get", "none", "-w", "json"]);
    let digits = text.split("\"revision\":").nth(1).unwrap();
    digits.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Puts one copy of the data in the place of another, with owners and all.
fn copy(server: &Etcd, from: &str, to: &str) {
    server.stop();
    let script = format!("rm -rf {to} && cp -a {from} {to}");
    let done = Command::new("sh").args(["-c", &script]).current_dir(server.home().path()).status().unwrap();
    assert!(done.success());
    server.run();
}

#[test]
fn a_revision_that_goes_back_stops_the_ledger() {
    let server = Etcd::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    copy(&server, "data", "backup");
    assert_eq!(got(&*ledger, &ask(5)), (5, 10), "a restart by itself is nothing");
    copy(&server, "backup", "data");
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(5)) else {
        panic!("a range was handed out again")
    };
    says(&text, &["restored from a backup", "--unsafe-no-fsync", "marks raise"]);
    let Err(LedgerError::Unfit(_)) = ledger.list("", "", 1) else { panic!("it was read") };
}

#[test]
fn another_record_that_came_to_have_the_same_revision_is_told_apart() {
    let server = Etcd::start(&[]);
    let ledger = open(&server.url());
    got(&*ledger, &ask(5));
    copy(&server, "data", "backup");
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    let before = revision(&server);
    copy(&server, "backup", "data");
    assert_eq!(got(&*open(&server.url()), &ask(100)), (5, 105));
    assert_eq!(revision(&server), before);
    // What this ledger saw last has the revision of that record, and is not that record.
    assert_eq!(got(&*ledger, &ask(5)), (105, 110));
}
