//! Many seeds of every fault that the contract covers, and the same history for the same seed.

use std::hash::{BuildHasher, RandomState};

use floe_sim::history::History;
use floe_sim::run::{Entrant, Mode, Plan, seeds};
use floe_sim::scenario::{Class, Scenario};

fn floe() -> &'static Entrant {
    Entrant::named("floe").unwrap()
}

fn plan(first: u64, seeds: u64, classes: &[Class]) -> Plan {
    Plan { first, seeds, nodes: 5, seconds: 60, classes: classes.to_vec(), every: false }
}

/// How many seeds a test runs: debug builds are slower.
const SEEDS: u64 = if cfg!(debug_assertions) { 150 } else { 2_000 };

#[track_caller]
fn holds(plan: &Plan) {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let outcome = seeds(floe(), plan, threads, &|_| {});
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

#[test]
fn floe_does_what_is_documented_where_the_ledger_forgets() {
    let plan = plan(0, SEEDS, Class::ALL);
    let outcome = seeds(floe(), &plan, 2, &|_| {});
    assert_eq!(outcome.bad, 0, "{:#?}", outcome.first);
    assert!(outcome.counts.twice > 0, "no ledger has forgotten anything");
}

#[test]
fn every_class_alone_holds() {
    for &class in Class::ALL {
        let plan = Plan { every: true, ..plan(0, SEEDS / 15, &[class]) };
        let outcome = seeds(floe(), &plan, 2, &|_| {});
        assert_eq!(outcome.bad, 0, "{class}: {:#?}", outcome.first);
    }
}

#[test]
fn ten_nodes_on_four_slots_hold_for_five_minutes() {
    let plan = Plan { nodes: 10, seconds: 300, ..plan(0, SEEDS / 75, Class::CONTRACT) };
    let outcome = seeds(floe(), &plan, 2, &|_| {});
    assert_eq!(outcome.bad, 0, "{:#?}", outcome.first);
}

/// The digest of a hundred histories of floe and of each published algorithm. It is the same on every machine and in every build profile.
/// Where a change of floe, of a model, or of the world is meant to change histories, the new one belongs here.
const DIGEST: u64 = 0xb7da_8d74_5663_a382;

#[test]
fn the_same_seed_is_the_same_history_on_every_machine() {
    let mut digest = 0_u64;
    for entrant in floe_sim::run::ENTRANTS {
        let count = if entrant.is_floe() { 60 } else { 4 };
        let outcome = seeds(entrant, &plan(1, count, Class::ALL), 2, &|_| {});
        digest = digest.rotate_left(7) ^ outcome.digest;
    }
    assert_eq!(digest, DIGEST, "{digest:#018x}");
}

#[test]
fn threads_and_what_ran_before_change_nothing() {
    let plan = plan(40, 12, Class::ALL);
    let (one, three) = (seeds(floe(), &plan, 1, &|_| {}), seeds(floe(), &plan, 3, &|_| {}));
    assert_eq!(one, three);
    let mut fresh = 0_u64;
    for seed in 40..52 {
        let mut history = History::default();
        floe().run(&plan.scenario(seed), &mut history, Mode { noting: true, until_wrong: true, only: None });
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
