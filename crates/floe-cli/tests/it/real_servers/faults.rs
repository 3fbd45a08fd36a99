//! Three nodes under load through every fault of the ledger, the network and the nodes: nothing is minted twice, and
//! every node mints again by itself.

use std::time::Duration;

use rustix::process::Signal;

use super::Rig;
use super::fleet::{Fleet, NAMES};
use crate::process::{now, until};

/// Short, so that outages last longer than windows.
const WINDOW: Duration = Duration::from_secs(2);

fn pass(time: Duration) {
    let begun = now();
    until(2 * time, "time to pass", || (begun.elapsed() > time).then_some(()));
}

fn three_nodes_through_every_fault(rig: Rig) {
    let mut fleet = Fleet::start(rig, 3, "window = \"2s\"", NAMES);
    fleet.mints(100);

    fleet.ledger().kill();
    fleet.runs_dry();
    fleet.ledger().run();
    fleet.mints_again("the ledger was killed");

    fleet.ledger().freeze();
    fleet.runs_dry();
    pass(WINDOW);
    fleet.ledger().thaw();
    fleet.mints_again("the ledger was frozen");

    fleet.network().cut(true);
    fleet.runs_dry();
    pass(WINDOW);
    fleet.network().cut(false);
    fleet.mints_again("the network was cut");

    for _ in 0..10 {
        fleet.kill(1);
        fleet.run(1);
        fleet.mints(10);
    }

    fleet.node(2).signal(Signal::STOP);
    pass(2 * WINDOW);
    fleet.node(2).signal(Signal::CONT);
    fleet.mints_again("a node was frozen");
    fleet.check();
}

mod three_nodes_through_every_fault_on {
    super::super::on_every_server!(super::three_nodes_through_every_fault);
    super::super::on_every_server!(super::three_nodes_through_every_fault: minio dynamodb);
}
