//! Tells people what went wrong: the smallest scenario that shows it, the events that led to it, and a picture.

mod brief;
mod lanes;
mod scene;
mod shrink;
mod track;
mod words;

#[cfg(test)]
mod tests;

pub use shrink::shrink;

use crate::picture::Picture;
use floe_sim::history::{Event, Happened, History, Violation};
use floe_sim::model::Micros;
use floe_sim::run::{Entrant, Mode};
use floe_sim::scenario::Scenario;
use scene::Scene;

/// How a history came to its first violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Story {
    /// One sentence that says how an ID was handed out twice; empty if something else went wrong.
    pub brief: String,
    /// The verdict in one sentence, then the events that led to it, then what the two IDs share.
    pub words: String,
    /// The same as a drawing.
    pub picture: Picture,
    /// The violation.
    pub violation: Violation,
}

/// Tells how a scenario leads to its first violation; `None` if nothing goes wrong.
///
/// A scenario that was not shrunk has a longer story. The longest ones omit their least important events.
pub fn tell(entrant: &Entrant, scenario: &Scenario) -> Option<Story> {
    let history = noted(entrant, scenario);
    let violation = history.violations.first()?.clone();
    let scene = Scene::of(&history, &violation, scenario);
    let brief = brief::tell(&scene, entrant.store).unwrap_or_default();
    Some(Story { brief, words: words::tell(&scene), picture: lanes::collision(&scene, entrant), violation })
}

/// Of several scenarios, the one that hands out an ID twice soonest: its seed and its shortest story.
pub fn soonest(entrant: &Entrant, scenarios: impl IntoIterator<Item = Scenario>) -> Option<(u64, Story)> {
    let mut history = History::default();
    let twice = scenarios.into_iter().filter_map(|scenario| {
        entrant.worst(&scenario, &mut history)?;
        Some((history.violations.first()?.at, scenario))
    });
    let (_, scenario) = twice.min_by_key(|(at, scenario)| (*at, scenario.seed))?;
    Some((scenario.seed, tell(entrant, &shrink(entrant, &scenario))?))
}

/// Draws a history up to its end or its first violation, without a story.
pub fn draw_run(entrant: &Entrant, scenario: &Scenario) -> Picture {
    lanes::run(&noted(entrant, scenario), entrant, scenario)
}

/// Every event up to the end or the first violation, one per line: true time, node, text.
pub fn trace(entrant: &Entrant, scenario: &Scenario) -> impl Iterator<Item = String> + use<> {
    let history = noted(entrant, scenario);
    let mut lines: Vec<_> =
        history.events.iter().map(|event| line(event.at, &who(event), &what(event, &history))).collect();
    // The first violation ends the history, so all of them belong at the end.
    lines.extend(history.violations.iter().map(|violation| {
        let node = violation.node.map_or("fleet".to_owned(), |node| format!("node {node}"));
        line(violation.at, &node, &format!("WRONG: {}", violation.words))
    }));
    lines.into_iter()
}

fn noted(entrant: &Entrant, scenario: &Scenario) -> History {
    let mut history = History::default();
    let only = entrant.worst(scenario, &mut history);
    entrant.run(scenario, &mut history, Mode { noting: true, until_wrong: true, only });
    history
}

fn line(at: Micros, who: &str, what: &str) -> String {
    let what = what.replace(['\n', '\r'], " ");
    format!("{:>4}.{:06} s  {who:<7}  {what}", at / 1_000_000, at % 1_000_000)
}

/// The node or the store of an event.
fn who(event: &Event) -> String {
    match (event.node, &event.what) {
        (Some(node), _) => format!("node {node}"),
        (None, Happened::Healed) => "fleet".to_owned(),
        (None, _) => "store".to_owned(),
    }
}

/// The text of an event, with its IDs.
fn what(event: &Event, history: &History) -> String {
    let Happened::Minted { first, count, .. } = event.what else { return event.what.to_string() };
    let mints = history.mints.iter().skip(first).take(count);
    let ids: Vec<_> = mints.clone().map(|mint| mint.id.to_string()).collect();
    let under = mints.clone().next().and_then(|mint| history.names.get(mint.name));
    format!("hands out {} under {}", ids.join(", "), under.map_or("?", |info| info.label))
}
