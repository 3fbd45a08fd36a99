//! The worked numbers of docs/ledgers.md: the load of large fleets on their ledger.

use std::time::Duration;

use floe_sim::fleet::{Figures, Plan, layout_for, run};

fn plan(nodes: usize, window_ms: u64) -> Plan {
    Plan { window_ms, ..Plan::new(nodes, 1).unwrap() }
}

fn ran(plan: &Plan) -> Figures {
    let figures = run(plan).unwrap();
    println!("{plan:?}\n  {figures:?}");
    figures
}

/// Within this many hundredths.
#[track_caller]
fn near(measured_milli: u64, expected_milli: u64, hundredths: u64) {
    let off = measured_milli.abs_diff(expected_milli);
    assert!(off * 100 <= expected_milli * hundredths, "{measured_milli} is not about {expected_milli}");
}

fn nodes_of(plan: &Plan) -> u64 {
    u64::try_from(plan.nodes).unwrap()
}

/// One write for each node and window. All nodes started at once, and all their renewals fall into half of a window, so
/// a second has at most twice the mean. In small numbers chance has a part.
#[track_caller]
fn writes_as_documented(plan: &Plan, figures: &Figures, restarts_per_minute: u64) {
    // Each life takes its slot, and renews it early in its first window.
    let restarts = restarts_per_minute * 1_250 / 60;
    let mean = nodes_of(plan) * 1_000_000 / plan.window_ms + restarts;
    near(figures.writes.mean_milli(), mean, 3);
    let spread = mean * 2 / 1_000;
    assert!(figures.writes.peak <= spread + spread / 10 + 30, "{} of {spread}", figures.writes.peak);
    assert_eq!(figures.slots_out, 0);
    assert!(figures.start.unwrap() < Duration::from_secs(1));
}

/// The live nodes, and a slot for each kill of the last window on average, of the last window and a half at most.
#[track_caller]
fn slots_as_documented(plan: &Plan, figures: &Figures) {
    let (live, window) = (nodes_of(plan), plan.kills_per_minute * plan.window_ms / 60_000);
    near(figures.slots.mean_milli(), (live + window) * 1_000, 1);
    assert!(figures.slots.peak > live + window / 2, "{}", figures.slots.peak);
    assert!(figures.slots.peak <= live + window * 3 / 2, "{}", figures.slots.peak);
}

#[test]
fn a_fleet_writes_once_for_each_node_and_window_and_never_twice_as_often_in_a_second() {
    for window_ms in [3_000, 30_000, 300_000, 3_600_000] {
        let plan = plan(1_000, window_ms);
        let figures = ran(&plan);
        writes_as_documented(&plan, &figures, 0);
        // Every call is a write.
        assert_eq!(figures.calls, figures.writes);
        let slots = (figures.slots.sum, figures.slots.peak);
        assert_eq!(slots, (nodes_of(&plan) * figures.slots.over, nodes_of(&plan)));
    }
}

#[test]
fn a_kill_costs_a_slot_for_a_window_and_a_half_at_most() {
    let plan = Plan { kills_per_minute: 120, layout: layout_for(2_000).unwrap(), ..plan(1_000, 30_000) };
    let figures = ran(&plan);
    writes_as_documented(&plan, &figures, 120);
    slots_as_documented(&plan, &figures);
}

#[test]
fn a_large_fleet_is_a_small_one_many_times() {
    let nodes = if cfg!(debug_assertions) { 3_000 } else { 100_000 };
    let plan = plan(nodes, 30_000);
    let plan = Plan { kills_per_minute: nodes_of(&plan) * 12 / 100, outage_ms: 20_000, ..plan };
    let figures = ran(&plan);
    writes_as_documented(&plan, &figures, plan.kills_per_minute);
    slots_as_documented(&plan, &figures);
    assert!(figures.probes.mean_milli() < 2_500, "with two slots for each node: {:?}", figures.probes);
    outage_as_documented(&plan, &figures);
}

#[test]
fn what_is_stopped_in_order_leaves_its_slot_within_half_a_window() {
    let figures = ran(&Plan { stops_per_minute: 60, ..plan(1_000, 30_000) });
    // A thousand nodes on 1,024 slots; one node restarts every second. A stopped node gives back the last of its two
    // reservations. If that one had not begun yet, the rest of the earlier one has to pass: an eighth of a window on average.
    near(figures.slots.mean_milli(), 1_002_750, 1);
    assert!(figures.slots.peak <= 1_015, "{:?}", figures.slots);
    assert_eq!(figures.slots_out, 0);
    assert!(figures.probes.count() > 100);
}

#[test]
fn an_acquisition_is_one_round_trip_where_there_is_room_and_ten_at_nine_tenths() {
    let room = Plan {
        kills_per_minute: 60,
        layout: "time:41 worker:14 sequence:8 epoch=2020-01-01T00:00:00Z tick=1ms".parse().unwrap(),
        ..plan(200, 30_000)
    };
    let figures = ran(&room);
    near(figures.probes.mean_milli(), 1_000, 3);
    assert!(figures.probes.most() <= 2, "{:?}", figures.probes);
    // Nine of ten slots were in use in the last window and 10 s, including the time after a kill.
    let crowded = ran(&Plan { kills_per_minute: 20, ..plan(890, 30_000) });
    near(crowded.recent.mean_milli(), 921_600, 2);
    assert!(crowded.probes.count() > 50);
    assert!(crowded.probes.mean_milli() <= 10_000, "{:?}", crowded.probes);
}

#[test]
fn where_hardly_a_slot_has_been_quiet_an_acquisition_is_bounded_all_the_same() {
    // Over 99 of 100 slots had a mark ahead within the last window and 10 s; ten have passed meanwhile.
    let figures = ran(&Plan { kills_per_minute: 20, ..plan(1_000, 30_000) });
    assert!(figures.recent.mean_milli() > 1_014_000, "{:?}", figures.recent);
    assert_eq!(figures.slots_out, 0);
    assert!(figures.probes.mean_milli() < 150_000, "{:?}", figures.probes);
    assert!(figures.probes.most() < 1_024, "{:?}", figures.probes);
}

/// All nodes outlast half a window, and none outlasts one and a half. Between them, the share that runs dry grows with time.
#[track_caller]
fn outage_as_documented(plan: &Plan, figures: &Figures) {
    let outage = figures.outage.unwrap();
    let past_half = plan.outage_ms.saturating_sub(plan.window_ms / 2).min(plan.window_ms);
    let dry = nodes_of(plan) * past_half / plan.window_ms;
    if dry == 0 || dry == nodes_of(plan) {
        assert_eq!(outage.dry, dry);
    } else {
        // Up to twice as many if the outage begins when most nodes have little left: renewals fall on half of each window.
        assert!((1..=dry * 2).contains(&outage.dry), "{} for {dry}", outage.dry);
    }
    // A process that was down at the start of the outage tried to start once a second.
    let most = Duration::from_secs(if plan.kills_per_minute > 0 { 2 } else { 1 });
    assert!(outage.until_all_mint.unwrap() < most, "{outage:?}");
}

#[test]
fn after_an_outage_all_mint_within_a_second_in_the_slots_that_they_had() {
    for outage_ms in [14_000, 20_000, 30_000, 120_000] {
        let plan = Plan { outage_ms, ..plan(1_000, 30_000) };
        let figures = ran(&plan);
        outage_as_documented(&plan, &figures);
        // A slot is renewed, however old it is, if no other node wants it.
        assert_eq!(figures.outage.unwrap().moved, 0);
    }
}

#[test]
fn a_ledger_that_serves_so_many_calls_a_second_takes_as_long_for_all_to_start() {
    let plan = Plan { ledger_rate: Some(900), ..plan(10_000, 300_000) };
    let start = ran(&plan).start.unwrap();
    // One write for each node, about as many again for nodes with a short first window, and the probes of taken slots.
    let least = Duration::from_millis(nodes_of(&plan) * 1_000 / 900);
    assert!(start >= least && start < 2 * least, "{start:?}, at least {least:?}");
}

#[test]
fn a_segment_writes_once_in_fifteen_to_thirty_minutes() {
    let without = plan(100, 300_000);
    let with = Plan { numbers_per_second: 3, ..without.clone() };
    let (without, with) = (ran(&without), ran(&with));
    let refills = with.writes.sum - without.writes.sum;
    // Twenty minutes of a hundred nodes; a step is at least a thousand numbers.
    assert!((60..=400).contains(&refills), "{refills}");
}

#[test]
fn a_seed_is_the_same_run_again() {
    let plan = Plan { kills_per_minute: 100, stops_per_minute: 100, outage_ms: 5_000, ..plan(300, 3_000) };
    let (first, second) = (run(&plan).unwrap(), run(&plan).unwrap());
    assert_eq!(first, second);
    assert_ne!(first, run(&Plan { seed: 2, ..plan }).unwrap());
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_with_the_way_out() {
    let refused = |plan: Plan, words: &str| {
        let error = run(&plan).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let sound = plan(2_000, 30_000);
    refused(
        Plan { layout: floe::Layout::TWITTER, ..sound.clone() },
        "more worker bits, such as \"time:41 worker:12",
    );
    refused(Plan { window_ms: 999, ..sound.clone() }, "1s to 1h");
    refused(Plan { ledger_rate: Some(0), ..sound.clone() }, "at least one call");
    refused(Plan { nodes: 0, ..sound }, "1 to 200000 nodes");
    assert_eq!(layout_for(100_000).unwrap().worker_bits(), 18);
}
