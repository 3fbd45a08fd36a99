//! Kinds that need no ledger: their IDs are unique by themselves.

use std::fmt;
use std::sync::Arc;

use floe_id::inspect::Reading;

use super::row::{Complain, Given, Kind};
use super::{DefinitionError, Properties, ReadIdError};
use crate::form::Escaped;
use crate::texts::MintTexts;

/// The definition of a name whose kind needs no ledger: the kind and its properties. [`Definition::called`] makes it,
/// or a canonical text does.
///
/// [`Definition::called`]: crate::Definition::called
///
/// ```
/// use floe::Definition;
/// let short: Definition = "nanoid length=12 alphabet=0123456789abcdef".parse()?;
/// let Definition::Ledgerless(short) = short else { unreachable!() };
/// assert_eq!((short.kind().as_str(), short.properties().get("length")), ("nanoid", Some("12")));
/// # Ok::<(), floe::DefinitionError>(())
/// ```
#[derive(Clone)]
pub struct Ledgerless {
    kind: Kind,
    rules: &'static LedgerlessRules,
    properties: Properties,
}

/// How floe handles such a kind. Its definition is a set of properties, under the keys of its canonical text.
pub(crate) struct LedgerlessRules {
    /// The keys, in their order.
    pub(crate) keys: &'static [&'static str],
    /// The properties that settings make.
    pub(crate) define: fn(&Given, Complain<'_>) -> Option<Properties>,
    /// Whether there can be such properties.
    pub(crate) check: fn(&Properties) -> Result<(), DefinitionError>,
    /// How many bits the number has that a form writes; `None` if an ID is not such a number.
    pub(crate) bits: Option<u32>,
    /// The ID of a number, as the kind writes it.
    pub(crate) write: fn(u128) -> String,
    pub(crate) read: fn(&Ledgerless, &str) -> Result<Reading, ReadIdError>,
    pub(crate) mint: fn(&Properties) -> Result<Arc<dyn MintTexts>, DefinitionError>,
}

impl Ledgerless {
    pub(crate) const fn new(kind: Kind, rules: &'static LedgerlessRules, properties: Properties) -> Self {
        Self { kind, rules, properties }
    }

    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its configuration, under the keys of its canonical text.
    pub const fn properties(&self) -> &Properties {
        &self.properties
    }

    /// How many bits the number has that a form writes; `None` if an ID is not such a number.
    pub(super) const fn bits(&self) -> Option<u32> {
        self.rules.bits
    }

    /// The ID of a number, as the kind writes it.
    pub(super) fn write(&self, number: u128) -> String {
        (self.rules.write)(number)
    }

    pub(super) fn read(&self, text: &str) -> Result<Reading, ReadIdError> {
        (self.rules.read)(self, text)
    }

    /// The error for a text that no name of this kind has minted.
    pub(crate) fn foreign(&self, text: &str, why: impl Into<String>) -> ReadIdError {
        ReadIdError::Foreign { text: text.to_owned(), definition: self.to_string(), why: why.into() }
    }

    /// What mints its IDs.
    pub(crate) fn mint(&self) -> Result<Arc<dyn MintTexts>, DefinitionError> {
        (self.rules.mint)(&self.properties)
    }

    /// Reads the rest of a canonical text after the word; `None` if it is not one.
    pub(crate) fn parse(
        kind: Kind,
        rules: &'static LedgerlessRules,
        text: &str,
    ) -> Result<Option<Self>, DefinitionError> {
        let Some(properties) = Properties::parse(text)? else { return Ok(None) };
        if properties.only(rules.keys).is_err() {
            return Ok(None);
        }
        (rules.check)(&properties)?;
        Ok(Some(Self { kind, rules, properties }))
    }
}

impl LedgerlessRules {
    /// A kind without settings, whose IDs no form writes.
    pub(crate) const fn plain(
        read: fn(&Ledgerless, &str) -> Result<Reading, ReadIdError>,
        mint: fn(&Properties) -> Result<Arc<dyn MintTexts>, DefinitionError>,
    ) -> Self {
        Self {
            keys: &[],
            define: |_, _| Some(Properties::new()),
            check: |_| Ok(()),
            bits: None,
            write: |number| number.to_string(),
            read,
            mint,
        }
    }
}

impl fmt::Display for Ledgerless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        let mut said = self.rules.keys.iter().filter_map(|key| Some((key, self.properties.get(key)?)));
        said.try_for_each(|(key, value)| write!(f, " {key}={}", Escaped(value)))
    }
}

impl fmt::Debug for Ledgerless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledgerless({self})")
    }
}

impl PartialEq for Ledgerless {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.properties) == (other.kind, &other.properties)
    }
}

impl Eq for Ledgerless {}
