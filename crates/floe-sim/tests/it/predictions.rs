//! Published algorithms: what each is expected to do where it is known to fail, and where it holds.

use floe_sim::history::Wrong;
use floe_sim::run::{Entrant, Outcome, Plan, seeds};
use floe_sim::scenario::Class;

fn run(model: &str, classes: &[Class], count: u64) -> Outcome {
    let entrant = Entrant::named(model).unwrap();
    let plan = Plan { first: 0, seeds: count, nodes: 5, seconds: 60, classes: classes.to_vec(), every: true };
    seeds(entrant, &plan, 2, &|_| {})
}

/// A model that repeats IDs when nothing goes wrong is a model of nothing.
#[test]
fn all_hold_in_calm() {
    for entrant in floe_sim::run::ENTRANTS {
        let outcome = run(entrant.name, &[], 10);
        assert!(outcome.counts.minted > 1_000, "{}: {:?}", entrant.name, outcome.counts);
        assert_eq!(outcome.counts.twice, 0, "{}: {:?}", entrant.name, outcome.first);
    }
}

#[test]
fn algorithms_that_trust_their_configuration_repeat_for_twins() {
    for model in ["twitter", "yitter", "sonyflake"] {
        assert!(run(model, &[Class::Twins], 40).first(Wrong::Twice).is_some(), "{model}");
    }
    assert_eq!(run("floe", &[Class::Twins], 40).bad, 0);
}

#[test]
fn a_restart_with_a_clock_that_went_back_repeats_what_nobody_wrote_down() {
    // Leaf begins a millisecond's sequence at random, so two lives seldom meet in one.
    for (model, count) in [("twitter", 400), ("yitter", 400), ("sonyflake", 400), ("leaf-snowflake", 2_000)] {
        let outcome = run(model, &[Class::Crash, Class::Rollback], count);
        assert!(outcome.first(Wrong::Twice).is_some(), "{model}: {:?}", outcome.counts);
    }
    assert_eq!(run("floe", &[Class::Crash, Class::Rollback], 60).bad, 0);
}

#[test]
fn a_store_that_forgets_repeats_what_is_counted_in_it() {
    for model in ["leaf-segment", "tinyid", "flickr", "redis-incr", "floe"] {
        let outcome = run(model, &[Class::Restore], 40);
        assert!(outcome.counts.twice > 0, "{model}: {:?}", outcome.counts);
    }
}
