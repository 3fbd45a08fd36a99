//! What a kind declares of itself. Configuration, command line, inspection and generators read it, and nothing else lists
//! what a kind has.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::ledgerless::{Ledgerless, LedgerlessRules};
use super::{Definition, DefinitionError, counter, dated, registered, segment, snowflake};

/// A kind: its word, what a name of it can be configured by, and what its IDs are.
///
/// ```
/// use floe::Kind;
/// let nanoid: Kind = "nanoid".parse()?;
/// assert!(!nanoid.has_time() && !nanoid.is_number());
/// assert!(nanoid.settings().iter().any(|setting| setting.key == "alphabet"));
/// # Ok::<(), floe::DefinitionError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Kind(pub(crate) &'static Row);

/// A row of the table of kinds.
pub(crate) struct Row {
    /// The word for it.
    pub(crate) word: &'static str,
    /// Other words that a name may be called by, to be of this kind.
    pub(crate) aliases: &'static [&'static str],
    /// What a definition is made of.
    pub(crate) settings: &'static [Setting],
    /// The settings of how one process serves such a name, which are no part of its definition.
    pub(crate) options: &'static [&'static str],
    pub(crate) has_time: bool,
    pub(crate) rules: Rules,
}

/// What is done with a kind.
pub(crate) enum Rules {
    /// A ledger reserves for it.
    Reserved(Reserved),
    /// Nothing is reserved: its IDs are unique by themselves.
    Ledgerless(LedgerlessRules),
    /// A program registers it.
    Registered,
}

/// A kind for which a ledger reserves.
pub(crate) struct Reserved {
    /// Whether numbers are reserved under the name, and not windows of time for a slot.
    pub(crate) counted: bool,
    /// The definition that settings make.
    pub(crate) define: fn(&Given, Complain<'_>) -> Option<Definition>,
    /// Reads what stands behind the word in a canonical text; `None` where that is none.
    pub(crate) parse: fn(&str) -> Result<Option<Definition>, DefinitionError>,
}

/// A setting that decides what a name of a kind is.
///
/// ```
/// let settings = floe::Kind::SEGMENT.settings();
/// assert_eq!(settings.iter().map(|setting| setting.key).collect::<Vec<_>>(), ["increment", "offset"]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setting {
    /// Its word in a configuration; on a command line `--` stands before it.
    pub key: &'static str,
    /// What its value looks like.
    pub takes: Takes,
    /// What it decides, in a line.
    pub help: &'static str,
    /// What a configuration that leaves it out is told; `None` where it may be left out.
    pub missing: Option<&'static str>,
}

/// What the value of a [`Setting`] looks like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Takes {
    /// Text; such a word stands for it in `--help`.
    Text(&'static str),
    /// A point in time: text, or whatever else a configuration has for it.
    Time,
    /// A whole number in a range.
    Whole(RangeInclusive<u64>),
    /// Yes or no.
    Flag,
}

/// The values of settings, as texts under their keys.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Given(BTreeMap<&'static str, String>);

/// Is told the key of a setting and what is wrong with its value.
pub type Complain<'c> = &'c mut dyn FnMut(&'static str, String);

impl Kind {
    /// Time, worker id and sequence in the bit fields of a layout.
    pub const SNOWFLAKE: Self = Self(&snowflake::ROW);
    /// Numbers from reserved ranges.
    pub const SEGMENT: Self = Self(&segment::ROW);
    /// 1, 2, 3, … over the whole cluster.
    pub const COUNTER: Self = Self(&counter::ROW);
    /// A date with a counter.
    pub const DATED: Self = Self(&dated::ROW);
    /// What a program registered. It is no word of a configuration: such a kind is called by its own.
    pub const REGISTERED: Self = Self(&registered::ROW);

    /// The word for it, in configuration, logs and metrics.
    pub fn as_str(self) -> &'static str {
        self.0.word
    }

    /// What a name of the kind is configured by.
    pub fn settings(self) -> &'static [Setting] {
        self.0.settings
    }

    /// The settings of how one process serves such a name, which can differ from process to process.
    pub fn options(self) -> &'static [&'static str] {
        self.0.options
    }

    /// Whether its IDs are numbers for which a ledger reserves, and texts only where a form makes them so.
    pub fn is_number(self) -> bool {
        matches!(self.0.rules, Rules::Reserved(_))
    }

    /// Whether its numbers are counted under the name, which so has a mark in the ledger.
    pub fn is_counted(self) -> bool {
        matches!(self.0.rules, Rules::Reserved(Reserved { counted: true, .. }))
    }

    /// Whether a time is in the IDs, so that none is minted while the clock is refused.
    pub fn has_time(self) -> bool {
        self.0.has_time
    }

    /// The definition that settings make, where each that is left out has its default; `None` after something wrong was told
    /// to `complain`.
    ///
    /// ```
    /// use floe::{Given, Kind};
    /// let mut given = Given::default();
    /// given.set("increment", 2);
    /// let odd = Kind::SEGMENT.define(&given, &mut |key, why| panic!("{key}: {why}"));
    /// assert_eq!(odd.unwrap().to_string(), "segment increment=2 offset=1");
    /// ```
    pub fn define(self, given: &Given, complain: Complain<'_>) -> Option<Definition> {
        match &self.0.rules {
            Rules::Reserved(reserved) => (reserved.define)(given, complain),
            Rules::Ledgerless(rules) => {
                let properties = (rules.define)(given, complain)?;
                Some(Definition::Ledgerless(Ledgerless::new(self, rules, properties)))
            }
            Rules::Registered => {
                complain(
                    "kind",
                    "such a kind is called by the type name that it was registered as".to_owned(),
                );
                None
            }
        }
    }
}

impl Given {
    /// Notes the value of a setting, in the place of any that it had.
    pub fn set(&mut self, key: &'static str, value: impl fmt::Display) {
        self.0.insert(key, value.to_string());
    }

    /// The keys that have a value.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// The value of a setting as it was written.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a setting, or `otherwise` where it is left out; `None` where it is wrong, which is told.
    pub(crate) fn read<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &'static str,
        otherwise: T,
        complain: Complain<'_>,
    ) -> Option<T> {
        let Some(text) = self.get(key) else { return Some(otherwise) };
        text.parse().map_err(|error: T::Err| complain(key, error.to_string())).ok()
    }
}

impl Setting {
    pub(crate) const fn new(key: &'static str, takes: Takes, help: &'static str) -> Self {
        Self { key, takes, help, missing: None }
    }

    pub(crate) const fn required(self, missing: &'static str) -> Self {
        Self { missing: Some(missing), ..self }
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({self})")
    }
}
