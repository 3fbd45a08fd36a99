//! Tells the story in words.

use super::scene::Scene;
use super::track::Held;
use floe_sim::history::{Happened, Mint, Off, Wrong};
use floe_sim::model::{Micros, Note};

/// Nobody reads more lines than this; the lightest are left out.
const MOST_LINES: usize = 20;

/// One line. The lightest lines are left out first.
struct Line {
    at: Micros,
    who: String,
    words: String,
    weight: Weight,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Refusals,
    Mints,
    Says,
    Fault,
    Collision,
}

/// A node's actions between two other events of its own.
#[derive(Default)]
struct Between {
    /// The first time, the last time, how many, and the name if there is only one.
    minted: Option<(Micros, Micros, usize, Option<&'static str>)>,
    refused: Option<(Micros, usize, String)>,
}

pub(super) fn tell(scene: &Scene<'_>) -> String {
    let mut lines = events(scene);
    for (node, held) in scene.told() {
        let (who, words) = (format!("node {node}"), holds(held, scene));
        if lines.iter().any(|line| line.at == held.from && line.who == who && line.words == words) {
            continue;
        }
        // Mints at the moment at which their range arrived came after it.
        let after = |line: &Line| {
            let mints = matches!(line.weight, Weight::Collision | Weight::Mints | Weight::Refusals);
            line.at > held.from || line.at == held.from && mints
        };
        let at = lines.iter().position(after).unwrap_or(lines.len());
        lines.insert(at, Line { at: held.from, who, words, weight: Weight::Fault });
    }
    let mut left_out = 0;
    while lines.len() > MOST_LINES {
        let least = (0..lines.len()).min_by_key(|&at| lines[at].weight).unwrap_or(0);
        lines.remove(least);
        left_out += 1;
    }
    let mut words = verdict(scene);
    words.push('\n');
    words.push_str(&setups(scene));
    words.push('\n');
    if left_out > 0 {
        let events = if left_out == 1 { "event is" } else { "events are" };
        words.push_str(&format!("{:>10}    ({left_out} lesser {events} left out)\n", ""));
    }
    for Line { at, who, words: what, .. } in &lines {
        let what = what.replace(['\n', '\r'], " ");
        words.push_str(&format!("{:>10} s  {who:<7}  {what}\n", seconds(*at)));
    }
    if let Some(common) = common(scene) {
        words.push('\n');
        words.push_str(&common);
        words.push('\n');
    }
    words
}

/// One sentence that says where it went wrong.
pub(super) fn verdict(scene: &Scene<'_>) -> String {
    let violation = scene.violation;
    let Some([first, second]) = scene.pair() else {
        let at = seconds(violation.at);
        return match violation.node {
            Some(node) => format!("Node {node} at {at} s: {}.", violation.words),
            None => format!("At {at} s: {}.", violation.words),
        };
    };
    let (one, other) = (first.life.node, second.life.node);
    let (earlier, later) = apart(first, second);
    let it = if one == other { "it".to_owned() } else { format!("node {one}") };
    match violation.wrong {
        Wrong::Disorder => format!(
            "Node {other} handed out {} at {later} s to a call that began after {it} had handed out {} at {earlier} s.",
            second.id, first.id
        ),
        _ => format!(
            "Node {other} handed out {} at {later} s; {it} had handed it out at {earlier} s.",
            second.id
        ),
    }
}

/// The settings that were wrong from the start.
fn setups(scene: &Scene<'_>) -> String {
    let mut words = String::new();
    let setup = |node: usize| scene.scenario.setups.get(node);
    if let Some([one, other]) = scene.pair().map(|pair| pair.map(|mint| mint.life.node))
        && let (Some(first), Some(second)) = (setup(one), setup(other))
        && one != other
        && first.worker == second.worker
    {
        words.push_str(&format!(
            "Node {one} and node {other} are both configured to be worker {}.\n",
            first.worker
        ));
    }
    for node in scene.cast.keys().filter(|node| setup(**node).is_some_and(|setup| setup.odd)) {
        words.push_str(&format!("Node {node} is configured with other definitions than the others.\n"));
    }
    words
}

fn events(scene: &Scene<'_>) -> Vec<Line> {
    let history = scene.history;
    let mut lines: Vec<Line> = Vec::new();
    let mut between: Vec<Between> = Vec::new();
    between.resize_with(scene.tracks.nodes.len(), Between::default);
    for event in history.events.iter().filter(|event| scene.tells(event)) {
        let (at, who) = (event.at, super::who(event));
        let track = event.node.and_then(|node| scene.tracks.nodes.get(node));
        let clock = || match track.map_or(0, |track| track.error_ms(at)) {
            0 => String::new(),
            off => format!("; its clock is {}", Off(off)),
        };
        let (weight, words) = match &event.what {
            Happened::Minted { first, count, .. } => {
                let Some(mint) = history.mints.get(*first).filter(|mint| scene.is_about(mint.name)) else {
                    continue;
                };
                let label = history.names.get(mint.name).map_or("?", |info| info.label);
                let theirs = (*first..first + count).filter(|&place| scene.is_one_of_them(place));
                let theirs: Vec<_> =
                    theirs.filter_map(|place| Some((place, history.mints.get(place)?))).collect();
                if theirs.is_empty() {
                    if let Some(between) = event.node.and_then(|node| between.get_mut(node)) {
                        let (from, _, before, name) = between.minted.unwrap_or((at, at, 0, Some(label)));
                        between.minted = Some((from, at, before + count, name.filter(|name| *name == label)));
                    }
                    continue;
                }
                let again = |place: usize| match scene.violation.mints {
                    Some((_, second)) if second == place && scene.violation.wrong == Wrong::Twice => " again",
                    _ => "",
                };
                let ids: Vec<_> =
                    theirs.iter().map(|&(place, mint)| format!("{}{}", mint.id, again(place))).collect();
                let among = if *count > ids.len() { format!(" among {count}") } else { String::new() };
                (
                    Weight::Collision,
                    format!("hands out {}{among} under {label}{}", ids.join(" and "), clock()),
                )
            }
            Happened::Refused(why) => {
                if let Some(between) = event.node.and_then(|node| between.get_mut(node)) {
                    let (from, before, why) = between.refused.take().unwrap_or((at, 0, why.clone()));
                    between.refused = Some((from, before + 1, why));
                }
                continue;
            }
            Happened::Note(Note::Holds { .. }) => continue,
            Happened::Note(Note::Says(words)) => {
                // If it repeats something, only the last time counts.
                let kind = kind(words);
                lines.retain(|line| {
                    line.weight != Weight::Says || line.who != who || self::kind(&line.words) != kind
                });
                (Weight::Says, format!("{words}{}", clock()))
            }
            Happened::ClockSet { by_ms: 0, .. } => continue,
            Happened::Healed => (Weight::Refusals, event.what.to_string()),
            what => (Weight::Fault, what.to_string()),
        };
        if let Some(between) = event.node.and_then(|node| between.get_mut(node)) {
            between.flush(&who, &mut lines);
        }
        lines.push(Line { at, who, words, weight });
    }
    for (node, between) in between.iter_mut().enumerate() {
        between.flush(&format!("node {node}"), &mut lines);
    }
    lines.sort_by_key(|line| line.at);
    lines
}

impl Between {
    fn flush(&mut self, who: &str, lines: &mut Vec<Line>) {
        let mut line = |at, words, weight| lines.push(Line { at, who: who.to_owned(), words, weight });
        if let Some((from, until, count, label)) = self.minted.take() {
            let under = label.map_or_else(String::new, |label| format!(" under {label}"));
            let words = match count {
                1 => format!("mints an ID{under}"),
                _ => format!("mints {count} IDs{under}, until {} s", seconds(until)),
            };
            line(from, words, Weight::Mints);
        }
        if let Some((at, count, why)) = self.refused.take() {
            let words = match count {
                1 => format!("refuses a caller: {why}"),
                _ => format!("refuses {count} callers: {why}"),
            };
            line(at, words, Weight::Refusals);
        }
    }
}

/// The subject of a note, without its numbers.
fn kind(words: &str) -> &str {
    words.split(|letter: char| letter.is_ascii_digit() || letter == ';').next().unwrap_or(words)
}

fn holds(held: &Held, scene: &Scene<'_>) -> String {
    let what = &held.what;
    if held.is_claim() {
        return if held.until < scene.violation.at {
            format!("has {what} until {} s", seconds(held.until))
        } else {
            format!("has {what} from here on")
        };
    }
    if !held.time {
        let inside =
            |mint: &Mint| u64::try_from(mint.id).is_ok_and(|id| (held.start..held.end).contains(&id));
        if scene.pair().is_some_and(|pair| !pair.into_iter().any(inside)) {
            // If a segment has an increment, or a number its day, the positions are not the IDs themselves.
            return format!("has positions {}..{} of {what}", held.start, held.end);
        }
        return format!("has {what} {}..{}", held.start, held.end);
    }
    let here = |position: u64| {
        let micros =
            super::track::whole(position).saturating_sub(scene.scenario.begin_ms).saturating_mul(1_000);
        signed_seconds(micros)
    };
    let until = floe::UnixMillis::from_position(held.end);
    let from = floe::UnixMillis::from_position(held.start);
    format!("has {what} from {from} to {until}: {} s to {} s here", here(held.start), here(held.end))
}

/// The parts that the two IDs share.
fn common(scene: &Scene<'_>) -> Option<String> {
    let ([first, second], [mint, _]) = (scene.parts()?, scene.pair()?);
    let begin_ms = scene.scenario.begin_ms;
    let here = |parts: &floe_sim::model::Parts| {
        signed_seconds((parts.time.get().saturating_sub(begin_ms)).saturating_mul(1_000))
    };
    if scene.violation.wrong == Wrong::Twice && first == second {
        return Some(format!("Both are {first}. That time is {} s here.", here(&first)));
    }
    Some(format!(
        "{} is {first}: {} s here.\nThe other is {second}: {} s here.",
        mint.id,
        here(&first),
        here(&second)
    ))
}

/// The times of two mints, as exactly as needed to distinguish them.
fn apart(first: &Mint, second: &Mint) -> (String, String) {
    let (one, other) = (seconds(first.at), seconds(second.at));
    if one != other || first.at == second.at {
        return (one, other);
    }
    let exact = |at: Micros| format!("{}.{:06}", at / 1_000_000, at % 1_000_000);
    (exact(first.at), exact(second.at))
}

fn seconds(at: Micros) -> String {
    format!("{}.{:03}", at / 1_000_000, at % 1_000_000 / 1_000)
}

fn signed_seconds(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}", seconds(micros.unsigned_abs()))
}
