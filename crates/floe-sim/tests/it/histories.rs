//! Many seeds of every fault that the contract covers; and one seed always gives the same history.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use floe_sim::history::{Happened, History};
use floe_sim::run::{FLOE, Mode, Plan, seeds};
use floe_sim::scenario::{Class, Fault, SECOND, Scenario, What};

fn plan(first: u64, seeds: u64, classes: &[Class]) -> Plan {
    Plan { first, seeds, nodes: 5, seconds: 60, classes: classes.to_vec(), every: false }
}

/// How many seeds a test runs: debug builds are slower.
const SEEDS: u64 = if cfg!(debug_assertions) { 150 } else { 2_000 };

#[track_caller]
fn holds(plan: &Plan) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let outcome = seeds(&FLOE, plan, threads, &|_| {});
    let words: Vec<_> = outcome.first.iter().flatten().collect();
    assert_eq!(outcome.bad, 0, "replay with `floe sim --seed N` and --faults as here: {words:#?}");
    assert_eq!(outcome.seeds, plan.seeds);
    // A fleet that mints nothing repeats nothing.
    assert!(outcome.counts.minted > 1_000 * plan.seeds, "{:?}", outcome.counts);
}

#[test]
fn floe_holds_in_a_fixed_set_of_seeds() {
    holds(&plan(0, SEEDS, Class::CONTRACT));
}

#[test]
fn floe_holds_in_a_fresh_set_of_seeds() {
    let first = RandomState::new().hash_one(0) >> 16;
    println!("seeds {first} to {}", first + SEEDS - 1);
    holds(&plan(first, SEEDS, Class::CONTRACT));
}

/// A node went on from its predecessor's mark, far ahead. Its wall clock was set ahead as far, and back.
#[test]
fn a_node_mints_again_when_a_clock_that_hid_its_predecessors_lead_is_right() {
    holds(&plan(156_248_864_874_929, 1, Class::CONTRACT));
}

/// Its clock was ten seconds ahead, and is right again: its time went back, and it got another slot.
#[test]
fn a_caller_waits_for_the_time_that_its_process_has_minted_in_already() {
    holds(&plan(106_031_793_249_428, 1, Class::CONTRACT));
}

#[test]
fn floe_does_what_is_documented_where_the_ledger_forgets() {
    let plan = plan(0, SEEDS, Class::ALL);
    let outcome = seeds(&FLOE, &plan, 2, &|_| {});
    assert_eq!(outcome.bad, 0, "{:#?}", outcome.first);
    assert!(outcome.counts.twice > 0, "no ledger has forgotten anything");
}

#[test]
fn every_class_alone_holds() {
    for &class in Class::ALL {
        let plan = Plan { every: true, ..plan(0, SEEDS / 15, &[class]) };
        let outcome = seeds(&FLOE, &plan, 2, &|_| {});
        assert_eq!(outcome.bad, 0, "{class}: {:#?}", outcome.first);
    }
}

/// A history in which an era ends between a draw and its hand-over, or between a reservation and its answer: a process
/// is told that it may be a copy, is restored from a snapshot, or has its clock set. In half of these histories ticks
/// are so small that batches wait for the clock; in the others minters hold chunks.
pub(crate) fn between_draw_and_hand_over(seed: u64) -> Scenario {
    let mut scenario = Scenario::new(seed, 5, 60, Class::CONTRACT, false);
    scenario.fleet.few = (seed / 4).is_multiple_of(2);
    let nodes = scenario.fleet.nodes;
    for (number, second) in (2..scenario.heal / SECOND - 2).step_by(4).enumerate() {
        // Twenty callers come here. The era ends 4 ms later, unless something else ends it before.
        let (node, at) = (number % nodes, second * SECOND + 1_000 * (seed % 400));
        let mut fault = |after, what| scenario.faults.push(Fault { at: at + after, what });
        fault(0, What::Invalidate { node });
        match seed % 3 {
            0 => fault(2_000, What::Snapshot { node, lasts: 2 * SECOND }),
            1 => fault(2_000, What::Step { host: node, by_ms: if number % 2 == 0 { -1_500 } else { 1_500 } }),
            _ => {
                // The node notices a lost answer after a second, and asks again a little later.
                fault(0, What::Lossy { node, lasts: SECOND });
                for step in 0..12 {
                    let by_ms = if step % 2 == 0 { -1_500 } else { 1_500 };
                    fault(SECOND + step * 10_000, What::Step { host: node, by_ms });
                }
            }
        }
    }
    scenario.faults.sort_by_key(|fault| fault.at);
    scenario
}

#[test]
fn floe_holds_where_an_era_ends_between_a_draw_and_its_hand_over() {
    let mut minted = 0;
    for seed in 0..SEEDS / 5 {
        let mut history = History::default();
        let mode = Mode { noting: false, until_wrong: true, only: None };
        FLOE.run(&between_draw_and_hand_over(seed), &mut history, mode);
        assert_eq!(history.violations, [], "seed {seed}");
        minted += history.counts.minted;
    }
    assert!(minted > 1_000 * SEEDS / 5, "{minted}");
}

#[test]
fn ten_nodes_on_four_slots_hold_for_five_minutes() {
    let plan = Plan { nodes: 10, seconds: 300, ..plan(0, SEEDS / 75, Class::CONTRACT) };
    let outcome = seeds(&FLOE, &plan, 2, &|_| {});
    assert_eq!(outcome.bad, 0, "{:#?}", outcome.first);
}

/// The digest of 60 histories. It is the same on every machine and in every build profile. If a change of floe or of
/// the world is meant to change histories, put the new digest here. The other models' digests are in
/// `floe-peers/tests/data/digests.txt`.
const DIGEST: u64 = 0x92f3_aaeb_f789_5fef;

#[test]
fn the_same_seed_is_the_same_history_on_every_machine() {
    let digest = seeds(&FLOE, &plan(1, 60, Class::ALL), 2, &|_| {}).digest;
    assert_eq!(digest, DIGEST, "{digest:#018x}");
}

/// Some models make a worker id of an address or a host's name: two nodes on one host would get the same.
#[test]
fn no_two_nodes_are_on_one_host_and_who_is_started_elsewhere_twice_is_back() {
    let (mut elsewhere, mut back) = (0, 0);
    for seed in 0..20 {
        let scenario = Scenario::new(seed, 5, 120, &[Class::Crash, Class::Restart], true);
        let mut history = History::default();
        FLOE.run(&scenario, &mut history, Mode { noting: true, until_wrong: false, only: None });
        let mut hosts = BTreeMap::new();
        for event in &history.events {
            let Happened::Started { life, .. } = event.what else { continue };
            let before = hosts.insert(life.host, life.node);
            assert!(before.is_none_or(|node| node == life.node), "seed {seed}: host {}", life.host);
            elsewhere += usize::from(life.host == life.node + 5);
            back += usize::from(life.host == life.node && hosts.contains_key(&(life.node + 5)));
        }
    }
    assert!(elsewhere > 20 && back > 5, "{elsewhere} went, {back} came back");
}

#[test]
fn threads_and_what_ran_before_change_nothing() {
    let plan = plan(40, 12, Class::ALL);
    let (one, three) = (seeds(&FLOE, &plan, 1, &|_| {}), seeds(&FLOE, &plan, 3, &|_| {}));
    assert_eq!(one, three);
    let mut fresh = 0_u64;
    for seed in 40..52 {
        let mut history = History::default();
        FLOE.run(&plan.scenario(seed), &mut history, Mode { noting: true, until_wrong: true, only: None });
        fresh = fresh.wrapping_add(history.digest ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    assert_eq!(fresh, one.digest, "what is noted for a story changes nothing");
}

#[test]
fn a_seed_chooses_the_mix_as_well_as_the_times() {
    let mixes: std::collections::BTreeSet<String> = (0..200)
        .map(|seed| {
            let scenario = Scenario::new(seed, 5, 60, Class::ALL, false);
            let kinds: std::collections::BTreeSet<_> = scenario
                .faults
                .iter()
                .map(|fault| std::mem::discriminant(&fault.what))
                .map(|it| format!("{it:?}"))
                .collect();
            format!("{kinds:?}")
        })
        .collect();
    assert!(mixes.len() > 100, "{} mixes in 200 seeds", mixes.len());
}
