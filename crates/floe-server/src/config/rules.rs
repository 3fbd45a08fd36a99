//! Which `[[name]]` a name has: its own, else the longest pattern that covers it. The server and the commands ask here.

use std::collections::HashMap;

use super::NameRule;

/// The names and patterns of a configuration, by their texts: a look-up costs as much among a hundred thousand as among
/// ten.
#[derive(Clone, Default, Debug)]
pub(crate) struct RuleIndex {
    names: HashMap<Box<str>, usize>,
    patterns: HashMap<Box<str>, usize>,
}

impl RuleIndex {
    /// The index of `rules`, in their order.
    pub(crate) fn new<'r>(rules: impl IntoIterator<Item = &'r NameRule>) -> Self {
        let mut index = Self::default();
        for (at, rule) in rules.into_iter().enumerate() {
            index.add(at, rule);
        }
        index
    }

    /// Adds the rule at `at`; the place of an equal one that was there before, which stays.
    pub(crate) fn add(&mut self, at: usize, rule: &NameRule) -> Option<usize> {
        let (map, text) = match rule {
            NameRule::Exact(name) => (&mut self.names, name.as_str()),
            NameRule::Pattern(beginning) => (&mut self.patterns, beginning.as_str()),
        };
        if let Some(before) = map.get(text) {
            return Some(*before);
        }
        map.insert(text.into(), at);
        None
    }

    /// Where the rule for `name` is among the rules.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.exact(name).or_else(|| self.pattern(name))
    }

    /// Where `name` itself is listed.
    pub(crate) fn exact(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Where the longest pattern is that covers `name`.
    fn pattern(&self, name: &str) -> Option<usize> {
        // A pattern is about names that go on after its beginning.
        let beginnings = (0..name.len()).rev().filter_map(|end| name.get(..end));
        beginnings.filter_map(|beginning| self.patterns.get(beginning).copied()).next()
    }
}
