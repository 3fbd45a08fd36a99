//! Clusters of several servers, and URLs that name them.

use std::sync::atomic::AtomicUsize;

use floe::Name;
use floe::ledger::LedgerError;
use floe_ledger::OpenError;
use floe_testbed::Consul;

use super::{open, refused, url};
use crate::real_servers::faults::{each_may_be_killed, range};
use crate::{ask, got, says, until};

fn of_all(servers: &[&Consul], options: &str) -> String {
    let all: Vec<_> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    format!("consul://{}/floe?{options}", all.join(","))
}

/// Three servers that vote.
fn three() -> [Consul; 3] {
    let first = Consul::start(&[]);
    let all = [first.join(), first.join(), first];
    until("three servers that vote", || voters(&all[2]) == 3);
    all
}

/// How many servers vote, as this one knows it.
fn voters(server: &Consul) -> usize {
    server.control(&["operator", "raft", "list-peers"]).matches("true").count()
}

#[test]
fn each_server_of_three_may_be_killed() {
    let servers = three();
    let ledger = open(&of_all(&servers.each_ref(), "max_wait=2s"));
    each_may_be_killed(&*ledger, &servers.each_ref().map(|server| &**server));
}

/// The leader believes for a moment that it leads. Its own state is no answer.
#[test]
fn a_leader_that_may_have_lost_its_followers_answers_nothing() {
    let servers = three();
    let leads = |server: &&Consul| {
        let list = servers[2].control(&["operator", "raft", "list-peers"]);
        list.lines().any(|line| line.contains("leader") && line.starts_with(&server.name()))
    };
    let leader = servers.iter().find(leads).unwrap();
    let ledger = open(&url(leader.port(), "max_wait=2s"));
    got(&*ledger, &ask(5));
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    let followers = || servers.iter().filter(|server| server.port() != leader.port());
    followers().for_each(|follower| follower.freeze());
    let name = Name::new("orders").unwrap();
    for outcome in [
        ledger.definition(&name).map(drop),
        ledger.list("", "", 9).map(drop),
        ledger.reserve(&ask(5)).map(drop),
    ] {
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
    }
    followers().for_each(|follower| follower.thaw());
    let failures = AtomicUsize::new(0);
    assert!(range(&*ledger, &ask(5), &failures).0 >= 5);
}

#[test]
fn a_server_without_a_majority_is_told_and_passed_over() {
    let lonely = Consul::start(&[]);
    {
        let other = lonely.join();
        until("two servers that vote", || voters(&lonely) == 2);
        other.kill();
    }
    let error = refused(&url(lonely.port(), "max_wait=20s&connect_timeout=15"));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["leader", "consul operator raft list-peers"]);
    let sound = Consul::start(&[]);
    // Wherever it begins: a few times.
    let failures = AtomicUsize::new(0);
    for end in 1..6 {
        let all = of_all(&[&lonely, &sound], "max_wait=60s&connect_timeout=10");
        let ledger = loop {
            match floe_ledger::open_in(&all, "test") {
                Ok(ledger) => break ledger,
                Err(OpenError::Ledger(LedgerError::Unavailable(_))) => {}
                Err(error) => panic!("{error:?}"),
            }
        };
        assert_eq!(range(&*ledger, &ask(1), &failures), (end - 1, end));
    }
}
