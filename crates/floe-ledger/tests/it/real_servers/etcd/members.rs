//! Clusters of several members, and URLs that name them.

use floe::ledger::{Ledger, LedgerError};
use floe_ledger::OpenError;

use super::{Etcd, open, refused};
use crate::real_servers::faults::each_may_be_killed;
use crate::{ask, got, says};

fn url(members: &[&Etcd], options: &str) -> String {
    let members: Vec<_> = members.iter().map(|member| format!("127.0.0.1:{}", member.port())).collect();
    format!("etcd://{}/floe?{options}", members.join(","))
}

#[test]
fn each_member_of_three_may_be_killed() {
    let first = Etcd::start(&[]);
    let (second, third) = (first.join(), first.join());
    let members = [&first, &second, &third];
    let ledger = open(&url(&members, "max_wait=2s"));
    each_may_be_killed(&*ledger, &members.map(|member| &**member));
}

#[test]
fn a_member_without_a_majority_is_passed_over() {
    let lonely = Etcd::start(&[]);
    lonely.join().kill();
    let error = refused(&url(&[&lonely], ""));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["no leader", "no majority"]);
    let sound = Etcd::start(&[]);
    // Wherever it begins: a few times.
    for end in 1..6 {
        let ledger = open(&url(&[&lonely, &sound], "max_wait=60s&connect_timeout=10"));
        assert_eq!(got(&*ledger, &ask(1)), (end - 1, end));
    }
}

#[test]
fn a_learner_is_refused_and_passed_over() {
    let member = Etcd::start(&[]);
    let learner = member.join_as_learner();
    says(&refused(&url(&[&learner], "")), &["is a learner", "member promote"]);
    // Wherever it begins, and beside another one that is of no use: a few times.
    let gone = format!("//127.0.0.1:{},", floe_testbed::free_port());
    let url = url(&[&learner, &member], "").replace("//", &gone);
    for end in 1..=16 {
        assert_eq!(got(&*open(&url), &ask(1)), (end - 1, end));
    }
}

#[test]
fn members_of_two_clusters_are_noticed() {
    let (one, other) = (Etcd::start(&[]), Etcd::start(&[]));
    let ledger = open(&url(&[&one, &other], "max_wait=1s"));
    got(&*ledger, &ask(5));
    // While either is stopped the ledger has to go to the other one. A call that gives up before it is there says that
    // it is unavailable, and the next one goes on.
    let after_each = [&one, &other].map(|server| {
        server.stop();
        let mut outcome = ledger.reserve(&ask(1));
        for _ in 1..20 {
            if !matches!(outcome, Err(LedgerError::Unavailable(_))) {
                break;
            }
            outcome = ledger.reserve(&ask(1));
        }
        server.run();
        outcome
    });
    let unfit = after_each.iter().find_map(|outcome| match outcome {
        Err(LedgerError::Unfit(text)) => Some(text),
        _ => None,
    });
    says(unfit.unwrap(), &["belongs to cluster", "one cluster"]);
}
