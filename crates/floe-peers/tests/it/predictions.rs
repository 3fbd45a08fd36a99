//! Published algorithms: each must fail where it is known to fail, and hold where it is known to hold.

use std::collections::BTreeMap;

use floe_peers::{ENTRANTS, named};
use floe_sim::history::{Happened, History, Wrong};
use floe_sim::run::{Mode, Outcome, Plan, seeds};
use floe_sim::scenario::{Class, Scenario};

fn run(model: &str, classes: &[Class], count: u64) -> Outcome {
    run_for(60, model, classes, count)
}

fn run_for(seconds: u64, model: &str, classes: &[Class], count: u64) -> Outcome {
    let entrant = named(model).unwrap();
    let plan = Plan { first: 0, seeds: count, nodes: 5, seconds, classes: classes.to_vec(), every: true };
    seeds(entrant, &plan, 2, &|_| {})
}

/// A model that repeats IDs without faults is wrong, except with a default worker id that every node shares.
#[test]
fn all_but_those_with_one_worker_id_hold_in_calm() {
    for entrant in ENTRANTS {
        let outcome = run(entrant.name, &[], 10);
        assert!(outcome.counts.minted > 1_000, "{}: {:?}", entrant.name, outcome.counts);
        let repeats = entrant.name == "shardingsphere-standalone";
        assert_eq!(outcome.counts.twice > 0, repeats, "{}: {:?}", entrant.name, outcome.first);
    }
}

/// The shortest time from the end of a life to the next start, in microseconds.
fn shortest_downtime(model: &str) -> u64 {
    let mut shortest = u64::MAX;
    for seed in 0..20 {
        let scenario = Scenario::new(seed, 5, 60, &[Class::Crash], true);
        let mut history = History::default();
        let mode = Mode { noting: true, until_wrong: false, only: None };
        named(model).unwrap().run(&scenario, &mut history, mode);
        let mut died = BTreeMap::new();
        for event in &history.events {
            let Some(node) = event.node else { continue };
            match event.what {
                Happened::Died(_) => drop(died.insert(node, event.at)),
                Happened::Started { .. } => {
                    shortest = died.remove(&node).map_or(shortest, |at| shortest.min(event.at - at));
                }
                _ => {}
            }
        }
    }
    shortest
}

#[test]
fn no_jvm_is_back_within_a_second_and_no_other_peer_within_fifty_milliseconds() {
    let native = [
        "yitter",
        "yitter-after-stop",
        "yitter-redis",
        "sonyflake",
        "sonyflake-checked",
        "katsubushi-redis",
        "bwmarrin",
        "flickr",
        "redis-incr",
        "redis-incr-aof",
        "uuid-v7",
        "uuid-v7-fast",
        "ulid",
    ];
    for entrant in ENTRANTS.iter().filter(|entrant| !entrant.is_floe()) {
        let least = if native.contains(&entrant.name) { 50_000 } else { 1_000_000 };
        let shortest = shortest_downtime(entrant.name);
        assert!((least..least * 2).contains(&shortest), "{}: {shortest} us", entrant.name);
    }
    assert!(shortest_downtime("floe") < 50_000, "floe's own are the harder ones");
}

/// A registry that is asked only at a start shows only there what it has lost: uid-generator 2fcbc13,
/// DisposableWorkerIdAssigner.java (assignWorkerId), and NotFound9/Leaf 896882e, RecyclableZookeeperHolder.java (init).
#[test]
fn a_store_that_forgets_hands_a_worker_id_to_one_more_that_starts() {
    for model in ["baidu", "notfound9"] {
        let faults = [Class::Crash, Class::Failover, Class::Restore];
        let outcome = run_for(900, model, &faults, 60);
        assert!(outcome.counts.twice > 0, "{model}: {:?}", outcome.counts);
        assert_eq!(run_for(900, model, &faults[1..], 10).counts.twice, 0, "{model}");
    }
}

/// A node that stood still for an hour continues with a worker id that another node got meanwhile: NotFound9/Leaf
/// 896882e, RecyclableZookeeperHolder.java (checkWorkIdUploadStatus).
#[test]
fn a_pause_of_an_hour_and_a_start_give_one_worker_id_to_two() {
    assert!(run_for(7_200, "notfound9", &[Class::Pause, Class::Restart], 50).counts.twice > 0);
    assert_eq!(run_for(7_200, "notfound9", &[Class::Pause], 2).counts.twice, 0);
}

/// If there are fewer worker ids than nodes, each registry refuses, or hands on a free one. Each model's own file names
/// the function: Leaf's constructor of SnowflakeIDGenImpl, ShardingSphere's ClusterWorkerIdGenerator.generate, CosId's
/// AbstractMachineIdDistributor.distribute, Baidu's CachedUidGenerator.afterPropertiesSet, Yitter's getNextWorkerId,
/// raus' subscribe.
#[test]
fn every_registry_runs_out_of_worker_ids_in_a_crowd() {
    let registries = [
        "leaf-snowflake",
        "notfound9",
        "shardingsphere",
        "cosid",
        "baidu",
        "baidu-default",
        "yitter-redis",
        "katsubushi-redis",
    ];
    for model in registries {
        let scenario = Scenario::new(1, 5, 90, &[Class::Crowd], true);
        let mut history = History::default();
        let mode = Mode { noting: true, until_wrong: false, only: None };
        named(model).unwrap().run(&scenario, &mut history, mode);
        let died = |what: &Happened| matches!(what, Happened::Died(_));
        assert!(history.events.iter().any(|event| died(&event.what)), "{model}: five nodes, four worker ids");
        assert!(!history.mints.is_empty(), "{model}: four mint");
    }
}

/// snowflake a8cb075, IdWorker.scala; IdGenerator 942ba6a, SnowWorkerM1.go; sonyflake f167a9d, v2/sonyflake.go (New):
/// each trusts the worker id that it is given.
#[test]
fn algorithms_that_trust_their_configuration_repeat_for_twins() {
    for model in ["twitter", "yitter", "sonyflake"] {
        assert!(run(model, &[Class::Twins], 40).first(Wrong::Twice).is_some(), "{model}");
    }
    assert_eq!(run("floe", &[Class::Twins], 40).bad, 0);
}

/// The same constructors, and Leaf 86a6441, SnowflakeZookeeperHolder.java (checkInitTimeStamp): up to 3 s old.
#[test]
fn a_restart_with_a_clock_that_went_back_repeats_what_nobody_wrote_down() {
    // Leaf begins a millisecond's sequence at random, so two lives rarely meet in one.
    for (model, count) in [("twitter", 400), ("yitter", 400), ("sonyflake", 400), ("leaf-snowflake", 2_000)] {
        let outcome = run(model, &[Class::Crash, Class::Rollback], count);
        assert!(outcome.first(Wrong::Twice).is_some(), "{model}: {:?}", outcome.counts);
    }
    assert_eq!(run("floe", &[Class::Crash, Class::Rollback], 60).bad, 0);
}

/// Leaf 86a6441, SegmentIDGenImpl.java; tinyid 49976d3, DbSegmentIdServiceImpl.java (getNextSegmentId); Redis 74b289a,
/// t_string.c (incrDecrCommand); PostgreSQL 0076f26, sequence.c (nextval_internal): only the store knows the last number.
#[test]
fn a_store_that_forgets_repeats_what_is_counted_in_it() {
    let counted = [
        "leaf-segment",
        "tinyid",
        "tinyid-databases",
        "flickr",
        "redis-incr",
        "hibernate-pooled",
        "postgres-cache",
        "floe",
    ];
    for model in counted {
        let outcome = run(model, &[Class::Restore], 40);
        assert!(outcome.counts.twice > 0, "{model}: {:?}", outcome.counts);
    }
}

/// uuid 1.29.1 (0fe2dab), rng.rs, and rand 0.10.3 (9e7d328), thread.rs: a generator in memory is cloned with it; katsubushi
/// 357220b, generator.go (timestamp): a restored machine's monotonic clock goes on from the snapshot.
#[test]
fn a_copied_memory_repeats_what_is_drawn_from_it() {
    for model in ["uuid-v7-fast", "ulid"] {
        assert!(run_for(300, model, &[Class::Clone], 20).counts.twice > 0, "{model}");
        assert_eq!(run_for(300, model, &[Class::Crash, Class::Rollback, Class::Twins], 20).counts.twice, 0);
    }
    assert_eq!(run_for(300, "uuid-v7", &[Class::Clone], 20).counts.twice, 0);
    assert!(run_for(900, "katsubushi-redis", &[Class::Snapshot], 20).counts.twice > 0);
}
