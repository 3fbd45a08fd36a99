//! What a kind declares about itself. Configuration, command line, inspection and generators read it from here; there
//! is no second list.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::ledgerless::{Ledgerless, LedgerlessRules};
use super::{Definition, DefinitionError};

/// A kind of IDs: its word, the settings of its names, and the properties of its IDs.
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
    /// Its word in configurations.
    pub(crate) word: &'static str,
    /// Other words that make an unconfigured name one of this kind.
    pub(crate) aliases: &'static [&'static str],
    /// The settings that make a definition.
    pub(crate) settings: &'static [Setting],
    /// The settings of how one process serves such a name, which are not part of its definition.
    pub(crate) options: &'static [&'static str],
    pub(crate) has_time: bool,
    pub(crate) rules: Rules,
}

/// How floe handles a kind.
pub(crate) enum Rules {
    /// Its ranges are reserved in a ledger.
    Reserved(Reserved),
    /// It needs no ledger: its IDs are unique by themselves.
    Ledgerless(LedgerlessRules),
    /// A program registers it.
    Registered,
}

/// A kind whose ranges are reserved in a ledger.
pub(crate) struct Reserved {
    /// Whether numbers are reserved under the name, and not windows of time for a slot.
    pub(crate) counted: bool,
    /// The definition that settings make.
    pub(crate) define: fn(&Given, Complain<'_>) -> Option<Definition>,
    /// Reads the rest of a canonical text after the word; `None` if it is not one.
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
    /// Its key in a configuration; on a command line it has `--` in front.
    pub key: &'static str,
    /// The type of its value.
    pub takes: Takes,
    /// A line of help.
    pub help: &'static str,
    /// The error for a configuration that leaves it out; `None` if it may be left out.
    pub missing: Option<&'static str>,
}

/// The type of a [`Setting`]'s value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Takes {
    /// Text; `--help` shows this word for it.
    Text(&'static str),
    /// A point in time: text, or the configuration's own type for it.
    Time,
    /// A whole number in a range.
    Whole(RangeInclusive<u64>),
    /// Yes or no.
    Flag,
}

/// The values of settings, as texts under their keys. [`Kind::define`] makes a definition of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Given(BTreeMap<&'static str, String>);

/// A callback that gets the key of a setting and the error in its value.
pub type Complain<'c> = &'c mut dyn FnMut(&'static str, String);

impl Kind {
    /// Returns its word in configurations, logs and metrics.
    pub fn as_str(self) -> &'static str {
        self.0.word
    }

    /// Returns the settings that make the definition of such a name.
    pub fn settings(self) -> &'static [Setting] {
        self.0.settings
    }

    /// Returns the keys of the settings of how one process serves such a name. These may differ from process to
    /// process.
    pub fn options(self) -> &'static [&'static str] {
        self.0.options
    }

    /// Returns whether its IDs are numbers from a ledger's ranges, which only a form turns into texts.
    pub fn is_number(self) -> bool {
        matches!(self.0.rules, Rules::Reserved(_))
    }

    /// Returns whether its numbers are counted under the name, so that the name has a mark in the ledger.
    ///
    /// ```
    /// use floe::Kind;
    /// assert!(Kind::SEGMENT.is_counted() && Kind::SEGMENT.is_number() && !Kind::SEGMENT.has_time());
    /// assert!(!Kind::SNOWFLAKE.is_counted() && Kind::SNOWFLAKE.is_number() && Kind::SNOWFLAKE.has_time());
    /// ```
    pub fn is_counted(self) -> bool {
        matches!(self.0.rules, Rules::Reserved(Reserved { counted: true, .. }))
    }

    /// Returns whether a time is in its IDs, so that none is minted while the clock is refused.
    pub fn has_time(self) -> bool {
        self.0.has_time
    }

    /// Makes a definition of settings. A setting that is left out has its default. If a value is wrong, it calls
    /// `complain` and returns `None`.
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
    /// Sets the value of a setting, and replaces a value that it had.
    ///
    /// ```
    /// let mut given = floe::Given::default();
    /// given.set("offset", 1);
    /// given.set("offset", 2);
    /// assert_eq!((given.get("offset"), given.get("increment")), (Some("2"), None));
    /// ```
    pub fn set(&mut self, key: &'static str, value: impl fmt::Display) {
        self.0.insert(key, value.to_string());
    }

    /// Returns the keys that have a value.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Returns the value of a setting as it was written; `None` if it is not set. [`set`](Self::set) has an example.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Returns whether no setting has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a setting, or `otherwise` if it is left out. If it is wrong, calls `complain` and returns `None`.
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
