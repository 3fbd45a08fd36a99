//! A Redis Cluster: the node with the realm's slot serves it, and any other node says which one that is.

use floe::Name;
use floe_ledger::OpenError;
use floe_testbed::{Redis, free_port};

use super::open;
use crate::{ask, got, says, until};

/// A node, and its port for other nodes. By default that is 10,000 above the clients' port, where another connection may be.
fn node() -> (Redis, String) {
    let port = free_port().to_string();
    let cluster =
        ["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--cluster-port", &port];
    (Redis::start(&cluster), port)
}

#[test]
fn the_node_with_the_realms_slot_serves_it_and_others_name_it() {
    let ((here, port), (there, _)) = (node(), node());
    let slot: u32 = here.cli(&["CLUSTER", "KEYSLOT", "floe:{test}"]).parse().unwrap();
    let record = here.cli(&["CLUSTER", "KEYSLOT", "floe:{test}:fields"]);
    assert_eq!(record, slot.to_string(), "all keys of a realm are in one slot");
    // One node has the realm's slot, the other one all the rest.
    let rest: Vec<String> = (0..16384).filter(|other| *other != slot).map(|slot| slot.to_string()).collect();
    here.cli(&["CLUSTER", "ADDSLOTS", &slot.to_string()]);
    let command: Vec<&str> =
        ["CLUSTER", "ADDSLOTS"].into_iter().chain(rest.iter().map(String::as_str)).collect();
    there.cli(&command);
    there.cli(&["CLUSTER", "MEET", "127.0.0.1", &here.port().to_string(), &port]);
    let knows = |node: &Redis| {
        let state = node.cli(&["CLUSTER", "INFO"]);
        state.contains("cluster_slots_assigned:16384") && state.contains("cluster_state:ok")
    };
    until("the nodes to know each other", || knows(&here) && knows(&there));

    let ledger = open(&here.url());
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    // The other realms' places are not visible from here, and that ends no connection.
    assert_eq!(ledger.in_other_realms(&Name::new("orders").unwrap()), Ok(Vec::new()));
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    let Err(error) = floe_ledger::open_in(&there.url(), "test") else { panic!("served by the wrong node") };
    assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
    says(&error, &["MOVED", &format!("127.0.0.1:{} of the cluster", here.port()), "name it in the URL"]);
}
