//! Slots under restarts, and what a node can still mint when its ledger is gone.

use floe_sim::history::History;
use floe_sim::run::{FLOE, Mode};
use floe_sim::scenario::{Fault, Moment, SECOND, Scenario, What};

fn run(scenario: &Scenario) -> History {
    let mut history = History::default();
    let mode = Mode { noting: false, until_wrong: true, only: None };
    FLOE.run(scenario, &mut history, mode);
    assert_eq!(history.violations, []);
    history
}

/// A fleet without faults except those that a test adds.
fn calm(seed: u64, seconds: u64) -> Scenario {
    let mut scenario = Scenario::new(seed, 5, seconds, &[], true);
    scenario.setups.iter_mut().for_each(|setup| (setup.fixed, setup.window_ms) = (false, 10_000));
    scenario
}

#[test]
fn a_thousand_slots_outlast_restarts_without_end() {
    let mut scenario = calm(1, 100);
    let crash = |node, at| {
        let (moment, back_in) = (Moment::Now, 10_000);
        Fault { at, what: What::Crash { node, moment, back_in, elsewhere: false, times: 1 } }
    };
    // Five nodes, each killed three times a second: 1,200 lives, each of which takes a slot for ten seconds.
    scenario.faults =
        (6..240).flat_map(|third| (0..5).map(move |node| crash(node, third * SECOND / 3))).collect();
    let history = run(&scenario);
    let lives = history.mints.iter().map(|mint| (mint.life.node, mint.life.number));
    assert!(lives.collect::<std::collections::BTreeSet<_>>().len() > 200);
    // No caller was refused: every life found a slot.
    assert_eq!(history.counts.refused, 0, "{:?}", history.counts);
}

#[test]
fn a_window_outlasts_an_outage() {
    // Chance decides which nodes are asked in those seconds. In five seeds callers ask most of the nodes.
    let mut nodes = [0; 5];
    for seed in 1..=5 {
        let mut scenario = calm(seed, 60);
        scenario.fleet.renew_idle = true;
        scenario.faults = vec![Fault { at: 20 * SECOND, what: What::Outage { lasts: 4 * SECOND } }];
        let history = run(&scenario);
        // Windows of 10 s are renewed at 5 s, so callers of snowflakes do not notice 4 s without a ledger.
        let during = |at| (20 * SECOND..24 * SECOND).contains(&at);
        let snowflakes = history.mints.iter().filter(|mint| during(mint.at) && mint.name <= 3);
        assert!(snowflakes.count() > 20);
        for (name, nodes) in nodes.iter_mut().enumerate() {
            let minted = history.mints.iter().filter(|mint| during(mint.at) && mint.name == name);
            *nodes += minted.map(|mint| mint.life.node).collect::<std::collections::BTreeSet<_>>().len();
        }
    }
    assert!(nodes.iter().all(|&nodes| nodes >= 15), "{nodes:?}");
}
