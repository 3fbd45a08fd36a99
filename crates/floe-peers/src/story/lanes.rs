//! Draws the story as a picture.

use super::scene::Scene;
use super::track::{Held, Track, Tracks};
use super::words;
use crate::picture::{Bar, BarKind, Collision, Lane, Mark, MarkKind, Picture};
use floe_sim::history::{self, Event, Happened, History, Off, Wrong};
use floe_sim::model::{Micros, Note};
use floe_sim::run::Entrant;
use floe_sim::scenario::{Scenario, What};

/// More lanes than this are not drawn.
const MOST_LANES: usize = 12;
/// If a lane has more bars than this, ranges that follow each other are drawn as one.
const MOST_BARS: usize = 40;
/// At most one mint is drawn in this fraction of the picture.
const MOST_MINTS: u64 = 1_000;
/// A clock that is off by less than this is not mentioned.
const NOTABLE_MS: u64 = 50;

/// The picture of a violation: the nodes that take part, and the time in which it happened.
pub(super) fn collision(scene: &Scene<'_>, entrant: &Entrant) -> Picture {
    let history = scene.history;
    let (from_us, until_us) = frame(scene);
    let nodes: Vec<_> = scene.cast.keys().copied().take(MOST_LANES).collect();
    let mut pen = Pen { history, from_us, until_us, ranges: Vec::new() };
    let lanes = nodes.iter().map(|&node| {
        let track = &scene.tracks.nodes[node];
        let shown = |held: &&Held| scene.concerns(held);
        pen.lane(node, track, track.holds.iter().filter(shown).collect(), &|name| scene.is_about(name))
    });
    let lanes = lanes.collect();
    let lane_of = |node: usize| nodes.iter().position(|&shown| shown == node);
    let begin_ms = scene.scenario.begin_ms;
    let stamp = scene.parts().filter(|[first, second]| first == second);
    let collision = scene.pair().map(|pair| Collision {
        id: match scene.violation.wrong {
            Wrong::Disorder => format!("{}, then {}", pair[0].id, pair[1].id),
            _ => pair[1].id.to_string(),
        },
        mints: pair.iter().filter_map(|mint| Some((lane_of(mint.life.node)?, mint.at))).collect(),
        stamp_us: stamp.map(|[first, _]| first.time.get().saturating_sub(begin_ms).saturating_mul(1_000)),
        words: words::verdict(scene),
    });
    let wrong = match scene.violation.wrong {
        Wrong::Twice => "one ID, handed out twice",
        Wrong::Disorder => "an ID smaller than the one before it",
        Wrong::Starved => "a caller that waited too long",
        Wrong::Rule => "a broken rule",
    };
    let collision = collision.or_else(|| {
        let words = words::verdict(scene);
        Some(Collision { id: String::new(), mints: Vec::new(), stamp_us: None, words })
    });
    Picture {
        title: format!("{}: {wrong}", entrant.name),
        subtitle: subtitle(scene.scenario),
        from_us,
        until_us,
        lanes,
        store: store(history, &scene.tracks),
        collision,
    }
}

/// The picture of a whole history.
pub(super) fn run(history: &History, entrant: &Entrant, scenario: &Scenario) -> Picture {
    let until_us = history.violations.first().map_or(scenario.until, |violation| violation.at);
    let tracks = Tracks::new(history, scenario.begin_ms, until_us);
    let mut pen = Pen { history, from_us: 0, until_us, ranges: Vec::new() };
    // If the history is about worker ids, the picture leaves numbers out.
    let timed = tracks.nodes.iter().flat_map(|track| &track.holds).any(|held| held.time);
    let lanes = tracks.nodes.iter().enumerate().filter(|(_, track)| !track.lives.is_empty()).take(MOST_LANES);
    let lanes = lanes.map(|(node, track)| {
        pen.lane(node, track, track.holds.iter().filter(|held| held.time == timed).collect(), &|_| true)
    });
    Picture {
        title: format!("{}: {} IDs", entrant.name, history.counts.minted),
        subtitle: subtitle(scenario),
        from_us: 0,
        until_us,
        lanes: lanes.collect(),
        store: store(history, &tracks),
        collision: None,
    }
}

/// From shortly before the first relevant event to shortly after the last.
fn frame(scene: &Scene<'_>) -> (Micros, Micros) {
    let end = scene.violation.at;
    let faults = scene.history.events.iter().filter(|event| scene.tells(event)).filter(|event| {
        // A first start is not relevant, nor is what one of the two says about its own worker id.
        let first = |node: usize| {
            scene.tracks.nodes.get(node).is_some_and(|track| track.lives.first() == Some(&event.at))
        };
        let minted = |node| scene.pair().is_some_and(|pair| pair.iter().any(|mint| mint.life.node == node));
        match &event.what {
            Happened::Started { .. } => !event.node.is_some_and(first),
            Happened::Minted { .. } | Happened::Refused(_) | Happened::Healed => false,
            Happened::ClockSet { by_ms: 0, .. } => false,
            Happened::Note(Note::Says(_)) => scene.speaks_of_it(event) && !event.node.is_some_and(minted),
            Happened::Note(_) => false,
            _ => true,
        }
    });
    let mints = scene.pair().into_iter().flatten().map(|mint| mint.at);
    let windows = (0..2).filter_map(|which| scene.source(which)).filter(|held| held.time && !held.is_claim());
    let moments = faults.map(|event| event.at).chain(mints).chain(windows.map(|held| held.from));
    let begin = moments.min().unwrap_or(0).min(end);
    // The picture of a broken rule shows the second before it.
    let begin = if scene.pair().is_none() { begin.min(end.saturating_sub(1_000_000)) } else { begin };
    let margin = ((end - begin) / 12).max(50_000);
    (begin.saturating_sub(margin), end + margin)
}

fn subtitle(scenario: &Scenario) -> String {
    let mut faults: Vec<(&str, usize)> = Vec::new();
    for fault in &scenario.faults {
        let kind = kind(&fault.what);
        match faults.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => faults.push((kind, 1)),
        }
    }
    let faults: Vec<_> = faults
        .iter()
        .map(|(kind, count)| if *count == 1 { (*kind).to_owned() } else { format!("{count} x {kind}") })
        .collect();
    let nodes = match scenario.starts.iter().flatten().count() {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    let faults = if faults.is_empty() { "no faults".to_owned() } else { faults.join(", ") };
    format!("seed {}, {nodes}, {faults}", scenario.seed)
}

fn kind(what: &What) -> &'static str {
    match what {
        What::Step { .. } => "clock step",
        What::Slew { .. } => "slewed clock",
        What::Freeze { .. } => "standing clock",
        What::Wild { .. } => "wild clock",
        What::Crash { .. } => "crash",
        What::Stop { .. } => "stop",
        What::Pause { .. } => "pause",
        What::Sleep { .. } => "sleep",
        What::Cut { .. } => "partition",
        What::Slow { .. } => "slow network",
        What::Lossy { .. } => "lossy network",
        What::Outage { .. } => "outage",
        What::Forget { backup: true, .. } => "restore from a backup",
        What::Forget { backup: false, .. } => "failover",
        What::DeleteRecord => "deleted record",
        What::Snapshot { .. } => "restore from a snapshot",
        What::Invalidate { .. } => "invalidation",
        What::Clone { .. } => "clone",
    }
}

fn store(history: &History, tracks: &Tracks) -> Option<Lane> {
    let marks = history.events.iter().filter(|event| event.node.is_none()).filter_map(|event| {
        let label = match &event.what {
            Happened::Healed | Happened::Down(_) => return None,
            what => what.to_string(),
        };
        Some(Mark { at_us: event.at, kind: MarkKind::Fault, label })
    });
    let lane =
        Lane { label: "store".into(), bars: Vec::new(), spans: tracks.store.clone(), marks: marks.collect() };
    (!lane.marks.is_empty() || !lane.spans.is_empty()).then_some(lane)
}

struct Pen<'a> {
    history: &'a History,
    from_us: Micros,
    until_us: Micros,
    /// The ranges of numbers so far, each with its colour. Ranges that share numbers share a colour.
    ranges: Vec<(String, u64, u64, u64)>,
}

impl Pen<'_> {
    fn lane(&mut self, node: usize, track: &Track, holds: Vec<&Held>, about: &dyn Fn(usize) -> bool) -> Lane {
        let label = match track.clone_of {
            Some(original) => format!("node {node} (copy of {original})"),
            None => format!("node {node}"),
        };
        let (from_us, until_us) = (self.from_us, self.until_us);
        let holds = holds.into_iter().filter(|held| held.until >= from_us && held.from <= until_us);
        let bars = holds.map(|held| self.bar(held)).collect();
        let spans = track.spans.clone();
        let events = self.history.events.iter().filter(|event| event.node == Some(node));
        Lane { label, bars: joined(bars), spans, marks: self.marks(events, about) }
    }

    fn bar(&mut self, held: &Held) -> Bar {
        let kind = match (held.is_claim(), held.time) {
            (true, _) => BarKind::Claim,
            (_, true) => BarKind::Window,
            _ => BarKind::Segment,
        };
        let label = match kind {
            BarKind::Segment => format!("{} {}..{}", held.what, held.start, held.end),
            BarKind::Claim | BarKind::Window => held.what.clone(),
        };
        let subject = held.worker().unwrap_or_else(|| self.colour(held));
        let (from_us, until_us, mut covers) = (held.from, held.until, held.covers.clone());
        if covers.len() > 1 {
            // A clock's time between two close steps is too short to be visible, and would only be in the way.
            let least = i64::try_from((self.until_us - self.from_us) / 200).unwrap_or(i64::MAX);
            covers.retain(|piece| piece.until_us.saturating_sub(piece.from_us) >= least);
        }
        Bar { from_us, until_us, kind, label, subject, covers }
    }

    fn colour(&mut self, held: &Held) -> u64 {
        let shares = |(what, start, end, _): &&(String, u64, u64, u64)| {
            *what == held.what && *start < held.end && held.start < *end
        };
        let next = u64::try_from(self.ranges.len()).unwrap_or(0);
        let colour = self.ranges.iter().find(shares).map_or(next, |range| range.3);
        self.ranges.push((held.what.clone(), held.start, held.end, colour));
        colour
    }

    fn marks<'e>(&self, events: impl Iterator<Item = &'e Event>, about: &dyn Fn(usize) -> bool) -> Vec<Mark> {
        let nearest = (self.until_us - self.from_us) / MOST_MINTS;
        let mut marks: Vec<Mark> = Vec::new();
        let mut last = [None::<Micros>; 2];
        for event in events.filter(|event| (self.from_us..=self.until_us).contains(&event.at)) {
            let mut thinned = |which: usize| {
                let near = last[which].is_some_and(|last| event.at - last < nearest);
                if !near {
                    last[which] = Some(event.at);
                }
                near
            };
            let (kind, label) = match &event.what {
                Happened::Started { error_ms, .. } if error_ms.unsigned_abs() >= NOTABLE_MS => {
                    (MarkKind::Start, format!("start, clock {}", Off(*error_ms)))
                }
                Happened::Started { .. } => (MarkKind::Start, "start".to_owned()),
                Happened::CloneOf(_) => (MarkKind::Start, event.what.to_string()),
                Happened::Died(why) if why == history::STOPPED => (MarkKind::Stop, why.clone()),
                Happened::Died(why) => (MarkKind::Crash, why.clone()),
                Happened::Stopping => (MarkKind::Stop, "SIGTERM".to_owned()),
                Happened::ClockSet { by_ms: 0, .. } => continue,
                Happened::ClockSet { by_ms, .. } => (MarkKind::ClockStep(*by_ms), String::new()),
                Happened::Snapshot => (MarkKind::Fault, "snapshot".to_owned()),
                Happened::Restored => (MarkKind::Fault, "restored from the snapshot".to_owned()),
                Happened::Fault(words) => (MarkKind::Fault, words.clone()),
                Happened::Note(Note::Says(words)) => {
                    // A note at the start of a node is the reason for how it starts.
                    if let Some(mark) = marks.last_mut()
                        && mark.kind == MarkKind::Start
                        && mark.at_us == event.at
                    {
                        mark.label = format!("{}: {words}", mark.label);
                    }
                    continue;
                }
                Happened::Minted { first, .. } => {
                    let name = self.history.mints.get(*first).map(|mint| mint.name);
                    if !name.is_some_and(about) || thinned(0) {
                        continue;
                    }
                    (MarkKind::Mint, String::new())
                }
                Happened::Refused(_) if thinned(1) => continue,
                Happened::Refused(_) => (MarkKind::Refused, String::new()),
                _ => continue,
            };
            marks.push(Mark { at_us: event.at, kind, label: short(&label) });
        }
        marks
    }
}

/// As much of a label as the picture has room for.
fn short(label: &str) -> String {
    const MOST: usize = 56;
    if label.chars().count() <= MOST {
        label.to_owned()
    } else {
        label.chars().take(MOST - 1).chain(['…']).collect()
    }
}

/// If there are too many windows, draws those that follow each other as one.
fn joined(bars: Vec<Bar>) -> Vec<Bar> {
    if bars.len() <= MOST_BARS {
        return bars;
    }
    let mut few: Vec<Bar> = Vec::new();
    for bar in bars {
        let follows = |other: &&mut Bar| {
            let end = other.covers.last().map(|stretch| stretch.until_us);
            other.subject == bar.subject
                && end.is_some()
                && end == bar.covers.first().map(|stretch| stretch.from_us)
        };
        match few.iter_mut().rev().find(follows) {
            Some(other) => {
                other.until_us = other.until_us.max(bar.until_us);
                let last = other.covers.pop().map(|stretch| stretch.from_us);
                let mut covers = bar.covers;
                if let (Some(from_us), Some(first)) = (last, covers.first_mut()) {
                    first.from_us = from_us;
                }
                other.covers.append(&mut covers);
            }
            None => few.push(bar),
        }
    }
    few
}
