//! `floe sim --fleet`: what a large fleet asks of one ledger, as a table for people or as JSON.

use std::time::Duration;

use floe_peers::table::grouped;
use floe_server::show_duration;
use floe_sim::fleet::{self, Figures, Peaks, Plan, Spread};
use serde_json::{Value, json};

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::table::{print, print_json, table};

pub(crate) fn run(nodes: usize, seed: u64, arguments: &arguments::Fleet) -> Outcome {
    let plan = plan(nodes, seed, arguments).map_err(Failure::usage)?;
    let figures = fleet::run(&plan).map_err(Failure::usage)?;
    match arguments.json {
        true => print_json(&as_json(&plan, &figures)),
        false => print(&as_table(&plan, &figures)),
    }
}

fn plan(nodes: usize, seed: u64, arguments: &arguments::Fleet) -> Result<Plan, fleet::PlanError> {
    let plan = Plan::new(nodes, seed)?;
    Ok(Plan {
        layout: arguments.layout.clone().unwrap_or(plan.layout),
        window_ms: arguments.window.map_or(plan.window_ms, millis),
        kills_per_minute: arguments.kills_per_minute.unwrap_or(0),
        stops_per_minute: arguments.stops_per_minute.unwrap_or(0),
        outage_ms: arguments.outage.map_or(0, millis),
        numbers_per_second: arguments.segment.unwrap_or(0),
        ledger_rate: arguments.ledger_rate,
        ..plan
    })
}

fn as_table(plan: &Plan, figures: &Figures) -> String {
    let rates = [
        ("ledger writes per second", &figures.writes),
        ("ledger calls per second", &figures.calls),
        ("slots with a mark ahead", &figures.slots),
        ("slots with a recent mark", &figures.recent),
    ];
    let rates = rates.into_iter().map(|(label, peaks)| {
        [label.to_owned(), decimal(peaks.mean_milli()), grouped(peaks.peak), String::new()]
    });
    let probes = [
        ("probes for a slot at the start", &figures.probes_at_start),
        ("probes for a slot later", &figures.probes),
    ];
    let probes = probes.into_iter().filter(|(_, spread)| spread.count() > 0).map(|(label, spread)| {
        let [most, most_of_99] = [spread.most(), spread.percentile_99()].map(grouped);
        [label.to_owned(), decimal(spread.mean_milli()), most, most_of_99]
    });
    let mut text = format!(
        "{} nodes with windows of {} on {} slots, seed {}, {} of virtual time\n\n{}\n",
        grouped(u64::try_from(plan.nodes).unwrap_or(u64::MAX)),
        show_duration(Duration::from_millis(plan.window_ms)),
        grouped(plan.layout.workers()),
        plan.seed,
        show_duration(Duration::from_secs(figures.lasted.as_secs())),
        table(["", "MEAN", "MOST", "P99"], rates.chain(probes)),
    );
    text += &format!(
        "All started at once: {}, with at most {} writes per second.\n",
        all_mint(figures.start),
        grouped(figures.writes_at_start)
    );
    if let Some(outage) = &figures.outage {
        text += &format!(
            "The ledger was gone for {}, with at most {} calls per second; {} nodes had nothing left when it returned.\n\
             Then {}, with at most {} writes per second; {} nodes took another slot.\n",
            show_duration(Duration::from_millis(plan.outage_ms)),
            grouped(outage.calls),
            grouped(outage.dry),
            all_mint(outage.until_all_mint),
            grouped(outage.writes),
            grouped(outage.moved),
        );
    }
    text += &format!("Mints refused because no slot was free: {}\n", grouped(figures.slots_out));
    text
}

fn all_mint(after: Option<Duration>) -> String {
    after.map_or("not all minted before the run ended".to_owned(), |after| {
        format!("all minted after {}", show_duration(Duration::from_millis(millis(after))))
    })
}

fn as_json(plan: &Plan, figures: &Figures) -> Value {
    let peaks = |peaks: &Peaks| json!({ "mean_milli": peaks.mean_milli(), "peak": peaks.peak });
    let spread = |spread: &Spread| {
        json!({
            "acquisitions": spread.count(),
            "mean_milli": spread.mean_milli(),
            "p99": spread.percentile_99(),
            "most": spread.most(),
        })
    };
    let outage = figures.outage.as_ref().map(|outage| {
        json!({
            "dry": outage.dry,
            "calls_peak": outage.calls,
            "writes_peak": outage.writes,
            "until_all_mint_ms": outage.until_all_mint.map(millis),
            "moved": outage.moved,
        })
    });
    json!({
        "nodes": plan.nodes,
        "layout": plan.layout.to_string(),
        "slots": plan.layout.workers(),
        "window_ms": plan.window_ms,
        "seed": plan.seed,
        "lasted_ms": millis(figures.lasted),
        "writes": peaks(&figures.writes),
        "calls": peaks(&figures.calls),
        "slots_ahead": peaks(&figures.slots),
        "slots_recent": peaks(&figures.recent),
        "probes_at_start": spread(&figures.probes_at_start),
        "probes": spread(&figures.probes),
        "start": { "until_all_mint_ms": figures.start.map(millis), "writes_peak": figures.writes_at_start },
        "outage": outage,
        "refused_for_want_of_a_slot": figures.slots_out,
    })
}

/// `33.3`, of thousandths.
fn decimal(milli: u64) -> String {
    format!("{}.{}", grouped(milli / 1_000), milli % 1_000 / 100)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
