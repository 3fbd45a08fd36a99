//! The keys of a sealed form, and whether they are those that the ledger knows: with two keys under one id, two nodes would
//! write one text for two numbers, and read one as another.

use crate::definition::Definition;
use crate::form::{Form, KeyId};
use crate::ledger::Ledger;
use crate::name::Name;
use crate::opening::DefineError;

/// The keys that a name's texts tell apart: their ids, what they are bound under, and to what.
pub(crate) fn key_names(
    name: &Name,
    definition: &Definition,
) -> Result<Vec<(KeyId, Name, String)>, DefineError> {
    let keys = definition.form().map_or(&[][..], Form::key_checks).iter();
    let bound = keys.map(|(id, check)| {
        let key = name.of_key(id).map_err(|_| {
            DefineError::Invalid(format!(
                "the name {name} is too long for a form whose keys can be replaced: it has {} bytes, and {} are the most there",
                name.as_str().len(),
                Name::MAX_BYTES - "*65535".len()
            ))
        })?;
        Ok((*id, key, format!("key check={check}")))
    });
    bound.collect()
}

/// Whether two definitions that say the same have the same keys.
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
    /// Whether the keys that a sealed form was given are those that `ledger` knows for the name. Who opens texts without
    /// defining the name asks this first, since another key opens each as another number.
    ///
    /// # Errors
    /// `AnotherKey`; `Unavailable` where the ledger does not answer.
    pub fn check_keys(&self, name: &Name, ledger: &dyn Ledger) -> Result<(), DefineError> {
        for (_, key, text) in key_names(name, self)? {
            if let Some(stored) = ledger.definition(&key)? {
                same_key(name, &key, &stored, &text)?;
            }
        }
        Ok(())
    }
}
