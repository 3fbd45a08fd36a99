//! Kinds of IDs that the program registers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Floe;
use crate::definition::{DefinitionError, Properties, Registered};
use crate::handle::TextMinter;
use crate::kind::{Mint, as_texts};
use crate::name::Name;
use crate::table::check_type_name;
use crate::texts::MintTexts;

/// The program's own kinds, by the type names under which definitions refer to them.
///
/// ```
/// use floe::kind::{Mint, UlidGenerator};
/// use floe::ledger::Memory;
/// use floe::{Definition, Floe, KindRegistry, MintError, Name, NameOptions, Properties, Registered, TextMinter};
///
/// struct Tagged(String, UlidGenerator);
///
/// impl Mint for Tagged {
///     type Id = String;
///     fn mint(&self) -> Result<String, MintError> {
///         Ok(format!("{}:{}", self.0, self.1.mint()?))
///     }
/// }
///
/// let kinds = KindRegistry::new().with("tagged", |properties, _| {
///     let tag = properties.get("tag").ok_or("it needs the property tag")?;
///     Ok(Tagged(tag.to_owned(), UlidGenerator::new()))
/// });
/// let floe = Floe::builder().kinds(kinds).open(Memory::default())?;
/// let tagged = Registered::new("tagged", Properties::default().with("tag", "eu")?)?;
/// let users = floe.define(&Name::new("users")?, &Definition::Registered(tagged), &NameOptions::default())?;
/// let users: &TextMinter = users.get().ok_or("its IDs are texts")?;
/// assert!(users.mint()?.starts_with("eu:0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct KindRegistry(BTreeMap<String, Arc<Make>>);

/// Makes a registered kind for a name.
type Make = dyn Fn(&Properties, &Floe) -> Result<Arc<dyn MintTexts>, String> + Send + Sync;

impl KindRegistry {
    /// An empty registry.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a kind; it replaces a kind of the same type name. A type name has 1 to 64 of `a-z0-9_-` and is not one of
    /// floe's own kinds. [`Builder::open`](crate::Builder::open) checks that.
    ///
    /// floe calls `make` once for each name of the kind, with the properties of the name's definition and with the
    /// floe. `make` may take generators of other names from the floe. It must not keep the floe itself, or the floe is
    /// never dropped. If there can be no such minter, it returns the reason.
    ///
    /// The text of an ID is the `Display` of `M::Id`: 1 to 1,024 bytes without control characters. The kind itself must
    /// make sure that no ID repeats.
    ///
    /// ```
    /// use floe::{DefineError, Definition, Floe, KindRegistry, Name, Properties, Registered};
    /// use floe::{kind::UlidGenerator, ledger::Memory};
    /// let kinds = KindRegistry::new().with("plain", |properties, _| {
    ///     properties.only(&[])?;
    ///     Ok(UlidGenerator::new())
    /// });
    /// let floe = Floe::builder().kinds(kinds).open(Memory::default())?;
    /// let plain = Registered::new("plain", Properties::new().with("colour", "red")?)?;
    /// let refused = floe.define(&Name::new("users")?, &Definition::Registered(plain), &Default::default());
    /// assert!(matches!(refused, Err(DefineError::Invalid(_)))); // it has no property "colour"
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with<M>(
        mut self,
        type_name: impl Into<String>,
        make: impl Fn(&Properties, &Floe) -> Result<M, String> + Send + Sync + 'static,
    ) -> Self
    where
        M: Mint + 'static,
        M::Id: fmt::Display,
    {
        let make: Arc<Make> =
            Arc::new(move |properties, floe| Ok(as_texts(make(properties, floe)?, |_| None)));
        self.0.insert(type_name.into(), make);
        self
    }

    /// The type names, sorted.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn check(&self) -> Result<(), DefinitionError> {
        self.type_names().try_for_each(check_type_name)
    }

    /// The minter of a name.
    ///
    /// # Errors
    /// The reason why there can be no minter.
    pub(crate) fn make(&self, name: &Name, kind: &Registered, floe: &Floe) -> Result<TextMinter, String> {
        let type_name = kind.type_name();
        let make = self.0.get(type_name).ok_or_else(|| {
            format!("the name {name} is of the kind {type_name:?}, which this program has not registered")
        })?;
        let minter = make(kind.properties(), floe)
            .map_err(|why| format!("the kind {type_name:?} of the name {name}: {why}"))?;
        Ok(TextMinter::registered(name, minter))
    }
}

impl fmt::Debug for KindRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Two registries are equal if they have the same type names: the functions that make kinds cannot be compared.
impl PartialEq for KindRegistry {
    fn eq(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}
