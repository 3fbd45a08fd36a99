//! Tells the story in one sentence: what happened between the two hand-overs, and how far apart they were.

use super::scene::Scene;
use floe_sim::history::{Event, Happened, Length, STOPPED, Wrong};
use floe_sim::model::{Micros, Note};

/// A short story has at most this many clauses.
const MOST_CLAUSES: usize = 12;
/// At most this many of them come before the first hand-over.
const MOST_BEFORE: usize = 5;

/// A clause, with or without its subject; its node (`None` for the store), and its time.
struct Clause {
    at: Micros,
    who: Option<usize>,
    words: String,
    whole: bool,
    /// Whether a new life begins with it.
    begins: bool,
    weight: Weight,
}

/// The lightest clauses are left out first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Says,
    Starts,
    Fault,
    Mints,
}

/// `None` if no ID was handed out twice.
pub(super) fn tell(scene: &Scene<'_>, store: &str) -> Option<String> {
    let [first, second] = scene.pair().filter(|_| scene.violation.wrong == Wrong::Twice)?;
    let mut clauses: Vec<Clause> = Vec::new();
    for event in &scene.history.events {
        let of_cast = event.node.is_none_or(|node| scene.cast.contains_key(&node));
        let Some((words, whole)) = clause(event, store).filter(|_| of_cast && event.at <= second.at) else {
            continue;
        };
        if let Happened::Note(Note::Says(_)) = event.what {
            // If a life repeats something, only the last time counts.
            let began = clauses.iter().rposition(|it| it.who == event.node && it.begins).unwrap_or(0);
            let kind = kind(&words);
            let mut place = 0..;
            clauses.retain(|it| {
                let before = place.next().is_some_and(|place| place < began);
                before || it.who != event.node || self::kind(&it.words) != kind
            });
        }
        let begins = matches!(event.what, Happened::Started { .. } | Happened::Restored);
        let weight = match event.what {
            Happened::Note(_) => Weight::Says,
            _ if begins => Weight::Starts,
            _ => Weight::Fault,
        };
        clauses.push(Clause { at: event.at, who: event.node, words, whole, begins, weight });
    }
    let hands = |at, node: usize, words: &str| Clause {
        at,
        who: Some(node),
        words: words.to_owned(),
        whole: false,
        begins: false,
        weight: Weight::Mints,
    };
    let place = clauses.iter().position(|it| it.at > first.at).unwrap_or(clauses.len());
    clauses.insert(place, hands(first.at, first.life.node, "hands out an ID"));
    clauses.push(hands(second.at, second.life.node, "hands out the same ID"));
    // The events before the first hand-over are told as far as there is room; the middle of the rest is left out.
    let before = MOST_BEFORE.min(MOST_CLAUSES.saturating_sub(clauses.len() - place));
    clauses.drain(..place.saturating_sub(before));
    while clauses.len() > MOST_CLAUSES {
        let middle = clauses.len() / 2;
        let least = (1..clauses.len() - 1).min_by_key(|&at| (clauses[at].weight, at.abs_diff(middle)));
        clauses.remove(least.unwrap_or(middle));
    }
    Some(sentence(&clauses, store))
}

fn sentence(clauses: &[Clause], store: &str) -> String {
    let mut words = String::new();
    let mut last: Option<&Clause> = None;
    for clause in clauses {
        let again = last.is_some_and(|last| last.who == clause.who && !last.whole);
        let who = match clause.who {
            _ if again && !clause.whole => "it".to_owned(),
            Some(node) => format!("node {node}"),
            None => store.to_owned(),
        };
        let what = match (clause.whole, clause.who) {
            (true, Some(_)) => match clause.words.strip_prefix("its ") {
                Some(rest) => format!("{who}'s {rest}"),
                None => format!("{who} {}", clause.words.trim_start_matches("it ")),
            },
            (true, None) => clause.words.clone(),
            (false, _) => format!("{who} {}", clause.words),
        };
        match last {
            None => words.push_str(&what),
            Some(last) => match clause.at.saturating_sub(last.at) / 1_000 {
                0 => words.push_str(&format!("; then {what}")),
                millis => words.push_str(&format!("; {} later {what}", Length(millis))),
            },
        }
        last = Some(clause);
    }
    words.push('.');
    let mut letters = words.chars();
    match letters.next() {
        Some(letter) => letter.to_uppercase().chain(letters).collect(),
        None => words,
    }
}

/// An event's clause, and whether it names its own subject.
fn clause(event: &Event, store: &str) -> Option<(String, bool)> {
    let part = |words: String| Some((words, false));
    let whole = |words: String| Some((words, true));
    match &event.what {
        Happened::Started { life, .. } => {
            let place = if life.host == life.node { "" } else { " on its other host" };
            let again = if life.number > 1 { "starts again" } else { "starts" };
            part(format!("{again}{place}"))
        }
        Happened::Died(why) if why == STOPPED => part("ends".to_owned()),
        Happened::Died(why) if why.starts_with("killed") => part(format!("is {why}")),
        Happened::Died(why) => part(format!("gives up: {why}")),
        Happened::Stopping => part("is told to stop (SIGTERM)".to_owned()),
        Happened::ClockSet { by_ms: 0, .. } | Happened::Healed => None,
        Happened::ClockSet { by_ms, .. } => {
            let way = if *by_ms < 0 { "back" } else { "ahead" };
            part(format!("has its clock set {way} by {}", Length(by_ms.unsigned_abs())))
        }
        Happened::Paused(true) => part("stands still".to_owned()),
        Happened::Paused(false) => part("goes on".to_owned()),
        Happened::Cut(true) => part(format!("is cut off from {store}")),
        Happened::Cut(false) => part(format!("reaches {store} again")),
        Happened::Down(true) => part("goes down".to_owned()),
        Happened::Down(false) => part("is back".to_owned()),
        Happened::Snapshot => part("has a snapshot taken of its machine".to_owned()),
        Happened::Restored => part("is restored from the snapshot, its clock right".to_owned()),
        Happened::CloneOf(node) => part(format!("begins as a clone of node {node}")),
        Happened::Fault(words) => whole(words.replace("the store", store)),
        Happened::Note(Note::Says(words)) => part(words.clone()),
        Happened::Note(Note::Holds { .. }) | Happened::Minted { .. } | Happened::Refused(_) => None,
    }
}

/// The subject of a note, without its numbers.
fn kind(words: &str) -> &str {
    words.split(|letter: char| letter.is_ascii_digit() || letter == ';').next().unwrap_or(words)
}
