//! Checks that the keys of a sealed form are the ones that the ledger knows. If two nodes had different keys under one
//! id, they could write the same text for two numbers, and would read each other's texts wrongly.

use crate::definition::Definition;
use crate::form::{Form, KeyId};
use crate::ledger::{Ledger, LedgerError};
use crate::name::Name;
use crate::opening::DefineError;

/// The keys of a name's form: for each its id, the name under which it is bound in the ledger, and the text to which.
pub(crate) fn key_names(
    name: &Name,
    definition: &Definition,
) -> Result<Vec<(KeyId, Name, String)>, DefineError> {
    let keys = definition.form().map_or(&[][..], Form::key_checks).iter();
    let bound = keys.map(|(id, check)| {
        let key = name.of_key(id).map_err(|_| {
            DefineError::Invalid(format!(
                "the name {name} is too long for a form whose keys can be replaced: it has {} bytes, and at most {} are allowed",
                name.as_str().len(),
                Name::MAX_BYTES - "*65535".len()
            ))
        })?;
        Ok((*id, key, format!("key check={check}")))
    });
    bound.collect()
}

/// Whether two equal definitions have the same keys.
pub(crate) fn same_keys(name: &Name, served: &Definition, asked: &Definition) -> Result<(), DefineError> {
    let served = key_names(name, served)?;
    for (id, key, text) in key_names(name, asked)? {
        if let Some((_, _, other)) = served.iter().find(|(other, _, _)| *other == id) {
            same_key(name, &key, other, &text)?;
        }
    }
    Ok(())
}

/// # Errors
/// `AnotherKey`.
pub(crate) fn same_key(name: &Name, key: &Name, stored: &str, here: &str) -> Result<(), DefineError> {
    if stored == here {
        return Ok(());
    }
    let (name, key) = (name.clone(), key.clone());
    Err(DefineError::AnotherKey { name, key, stored: stored.to_owned(), configured: here.to_owned() })
}

impl Definition {
    /// Checks that the keys which a sealed form was given are the ones that `ledger` knows for the name. Call it before
    /// you open texts without defining the name: with another key, each text opens as another number.
    ///
    /// ```
    /// use floe::{DefineError, Definition, Floe, Name, form::{Form, Key, KeyId, Keys}, ledger::Memory};
    /// let sealed = |byte| -> Result<Definition, Box<dyn std::error::Error>> {
    ///     let keys = Keys::new().with(KeyId::new(1), Key::from([byte; 16]))?;
    ///     let form: Form = "sealed key=1 keyid=prefix base62 width=11".parse()?;
    ///     Ok(Definition::SEGMENT.in_form(form.with_keys(&keys)?)?)
    /// };
    /// let (ledger, orders) = (Memory::default(), Name::new("orders")?);
    /// Floe::open(ledger.clone())?.define(&orders, &sealed(7)?, &Default::default())?;
    /// sealed(7)?.check_keys(&orders, &ledger)?;
    /// assert!(matches!(sealed(8)?.check_keys(&orders, &ledger), Err(DefineError::AnotherKey { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `AnotherKey` if a key differs; `Unavailable` if the ledger does not answer.
    pub fn check_keys(&self, name: &Name, ledger: &dyn Ledger) -> Result<(), DefineError> {
        check_keys(name, self, |key| ledger.definition(key))
    }
}

/// [`Definition::check_keys`] by what `stored` reads in the ledger.
pub(crate) fn check_keys(
    name: &Name,
    definition: &Definition,
    stored: impl Fn(&Name) -> Result<Option<String>, LedgerError>,
) -> Result<(), DefineError> {
    for (_, key, text) in key_names(name, definition)? {
        if let Some(stored) = stored(&key)? {
            same_key(name, &key, &stored, &text)?;
        }
    }
    Ok(())
}
