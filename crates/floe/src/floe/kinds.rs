//! Kinds of IDs that a program registers.

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

/// Kinds of a program's own, by the type names that definitions have them under.
///
/// ```
/// use floe::kind::{Mint, UlidGenerator};
/// use floe::{Definition, Floe, KindRegistry, MintError, Name, Properties, Registered, NameOptions, TextMinter, ledger::Memory};
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
    /// None yet.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// One more, in the place of any that has the type name: 1 to 64 of `a-z0-9_-`, and none of floe's own kinds, which
    /// [`Builder::open`](crate::Builder::open) checks.
    ///
    /// For each name of the kind `make` is called once, with the properties of its definition and with the floe, from which
    /// it may take generators of other names. The floe itself is not to be kept, or it is never dropped. In place of a kind
    /// it returns why there can be none. An ID is what `Display` makes of `M::Id`: 1 to 1,024 bytes without control
    /// characters. That no two are the same is the kind's to see to.
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

    /// The type names, in their order.
    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn check(&self) -> Result<(), DefinitionError> {
        self.type_names().try_for_each(check_type_name)
    }

    /// The minter of a name.
    ///
    /// # Errors
    /// Why there can be none.
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

/// Two are equal that have the same type names: what makes a kind cannot be compared.
impl PartialEq for KindRegistry {
    fn eq(&self, other: &Self) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}
