//! Finds the nodes, names and ranges of a violation.

use std::collections::BTreeMap;

use super::track::{Held, Tracks};
use floe_sim::history::{Event, Happened, History, Mint, Violation};
use floe_sim::model::{Micros, Note, Parts};
use floe_sim::scenario::Scenario;

/// For a broken rule, this many ranges of the node are told.
const MOST_RANGES: usize = 3;

/// A violation and its subject.
pub(super) struct Scene<'a> {
    pub(super) history: &'a History,
    pub(super) violation: &'a Violation,
    pub(super) scenario: &'a Scenario,
    pub(super) tracks: Tracks,
    /// The nodes that take part, and since when their actions matter.
    pub(super) cast: BTreeMap<usize, Micros>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(history: &'a History, violation: &'a Violation, scenario: &'a Scenario) -> Self {
        let tracks = Tracks::new(history, scenario.begin_ms, violation.at);
        let mut scene = Self { history, violation, scenario, tracks, cast: BTreeMap::new() };
        for mint in scene.pair().into_iter().flatten() {
            scene.join(mint.life.node, mint.at);
        }
        match violation.node {
            Some(node) => scene.join(node, violation.at),
            None => (0..scene.tracks.nodes.len()).for_each(|node| scene.join(node, 0)),
        }
        let says: Vec<_> = history
            .events
            .iter()
            .filter(|event| scene.speaks_of_it(event))
            .filter_map(|it| it.node)
            .collect();
        for node in says {
            scene.cast.entry(node).or_insert(violation.at);
        }
        scene
    }

    /// A node's actions matter from the start of its current life.
    fn join(&mut self, node: usize, at: Micros) {
        let Some(track) = self.tracks.nodes.get(node) else { return };
        let (began, original) = (track.life_at(at), track.clone_of);
        let since = self.cast.entry(node).or_insert(began);
        *since = began.min(*since);
        if let Some(original) = original {
            self.join(original, began);
        }
    }

    /// The two mints that collide or are out of order, the earlier one first.
    pub(super) fn pair(&self) -> Option<[&'a Mint; 2]> {
        let (first, second) = self.violation.mints?;
        Some([self.history.mints.get(first)?, self.history.mints.get(second)?])
    }

    /// The parts of the two IDs.
    pub(super) fn parts(&self) -> Option<[Parts; 2]> {
        let (first, second) = self.violation.mints?;
        let parts = |place: usize| self.history.parts.get(place).copied().flatten();
        Some([parts(first)?, parts(second)?])
    }

    /// Whether a mint is one of the two.
    pub(super) fn is_one_of_them(&self, place: usize) -> bool {
        self.violation.mints.is_some_and(|(first, second)| first == place || second == place)
    }

    /// Whether the violation is about this name.
    pub(super) fn is_about(&self, name: usize) -> bool {
        if let Some(pair) = self.pair() {
            return pair.iter().any(|mint| mint.name == name);
        }
        let said = |label: &str| mentions(&self.violation.words, label);
        let names = &self.history.names;
        !names.iter().any(|info| said(info.label)) || names.get(name).is_some_and(|info| said(info.label))
    }

    /// Whether such an ID can come from this range.
    pub(super) fn concerns(&self, held: &Held) -> bool {
        let Some(pair) = self.pair() else {
            let words = &self.violation.words;
            let mut all = self.tracks.nodes.iter().flat_map(|track| &track.holds);
            return mentions(words, &held.what) || !all.any(|other| mentions(words, &other.what));
        };
        if let Some(parts) = self.parts() {
            return parts.iter().any(|parts| held.worker() == Some(parts.worker));
        }
        let labels = pair.map(|mint| self.history.names.get(mint.name).map(|info| info.label));
        self.history.names.len() == 1 || !held.time && labels.contains(&Some(&held.what))
    }

    /// The range that a mint came from.
    pub(super) fn source(&self, which: usize) -> Option<&Held> {
        let mint = *self.pair()?.get(which)?;
        let parts = self.parts().and_then(|parts| parts.get(which).copied());
        let holds = self.tracks.nodes.get(mint.life.node)?.holds.iter();
        let held = holds.filter(|held| held.from <= mint.at && self.concerns(held));
        let contains = |held: &&Held| match (parts, held.time) {
            (Some(parts), true) => {
                let covers = parts.time.position().is_some_and(|at| (held.start..held.end).contains(&at));
                held.worker() == Some(parts.worker) && (covers || held.is_claim())
            }
            _ => u64::try_from(mint.id).is_ok_and(|id| (held.start..held.end).contains(&id)),
        };
        held.clone().rev().find(contains).or_else(|| held.clone().next_back())
    }

    /// The ranges to tell, with their nodes: those of the two mints, or the node's last ones.
    pub(super) fn told(&self) -> Vec<(usize, &Held)> {
        if let Some(pair) = self.pair() {
            let source = |which: usize| Some((pair.get(which)?.life.node, self.source(which)?));
            return (0..2).filter_map(source).collect();
        }
        let Some(node) = self.violation.node else { return Vec::new() };
        let Some(track) = self.tracks.nodes.get(node) else { return Vec::new() };
        let since = track.life_at(self.violation.at);
        let holds = track.holds.iter().filter(|held| held.from >= since && self.concerns(held));
        holds.rev().take(MOST_RANGES).map(|held| (node, held)).collect()
    }

    /// Whether a node says something about the worker id, even if it takes no part.
    pub(super) fn speaks_of_it(&self, event: &Event) -> bool {
        let (Happened::Note(Note::Says(words)), Some([parts, _])) = (&event.what, self.parts()) else {
            return false;
        };
        let digits = |word: &str| word.trim_matches(|letter: char| letter.is_ascii_punctuation()).parse();
        let words: Vec<_> = words.split_whitespace().collect();
        words.windows(2).any(|pair| pair[0] == "id" && digits(pair[1]) == Ok(parts.worker))
    }

    /// Whether an event belongs to the story. Ranges and mints are decided elsewhere.
    pub(super) fn tells(&self, event: &Event) -> bool {
        match event.node {
            None => true,
            Some(node) => {
                self.speaks_of_it(event) || self.cast.get(&node).is_some_and(|since| event.at >= *since)
            }
        }
    }
}

/// Whether a text contains a name as a whole word.
fn mentions(words: &str, name: &str) -> bool {
    words.match_indices(name).any(|(at, _)| {
        let (before, after) = (words[..at].chars().next_back(), words[at + name.len()..].chars().next());
        let ends = |letter: Option<char>| !letter.is_some_and(char::is_alphanumeric);
        ends(before) && ends(after)
    })
}
