//! The keys of a realm in a store.

use super::content::{self, Header};
use super::{Put, Store};
use crate::ledger::{Key, LedgerError, Token};
use crate::mutation::mutate;
use crate::name::Name;

/// A realm in a store: its name, and the id that it was given when it was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    realm: String,
    id: String,
    /// The store, for errors.
    store: String,
}

/// The prefix of the keys of all realm ids.
const REALMS: &str = "realm/";

/// A key above those of all scratch realms, and below that of every realm after them.
const AFTER_SCRATCH: &str = "realm/*\u{10ffff}";

impl Place {
    /// The first character of the names of scratch realms: those that a test makes and leaves behind. A
    /// [name](crate::Name) cannot have it, so it tells them from the realms that a user names.
    pub const SCRATCH: char = '*';

    /// Finds the realm of this name; `None` if the store does not have it. The name must not contain `/`. [`Store`] has
    /// an example.
    ///
    /// # Errors
    /// Those of [`Store::get`]; `Unfit` if the record was written by a newer floe, or not by floe.
    pub fn find(store: &impl Store, realm: &str) -> Result<Option<Self>, LedgerError> {
        let key = format!("{REALMS}{realm}");
        let Some(entry) = store.get(&key)? else { return Ok(None) };
        let Header { realm: id, .. } =
            content::header(&entry.text).map_err(|fault| fault.at(&key, &store.describe()))?;
        Ok(Some(Self { realm: realm.to_owned(), id, store: store.describe() }))
    }

    /// Finds the realm of this name, or makes it. Several callers at the same time all get the same one. [`Store`] has
    /// an example.
    ///
    /// # Errors
    /// Those of [`find`](Self::find) and [`Store::put`].
    pub fn make(store: &impl Store, realm: &str) -> Result<Self, LedgerError> {
        if let Some(place) = Self::find(store, realm)? {
            return Ok(place);
        }
        let id = Token::random()?.hex();
        // The first caller makes it. The store decides which one is first.
        match store.put(&format!("{REALMS}{realm}"), &content::write_header(&id), None)? {
            Put::Done(_) => Ok(Self { realm: realm.to_owned(), id, store: store.describe() }),
            Put::Conflict | Put::Found(_) => Self::find(store, realm)?.ok_or_else(|| {
                LedgerError::Unavailable(format!(
                    "somebody deleted the realm {realm} at {} while it was made: try again",
                    store.describe()
                ))
            }),
        }
    }

    /// Returns the realm id in the records of a realm whose own record was deleted; `None` if there are no such
    /// records. A realm that is made in its place would be another ledger. [`Store`] has an example.
    ///
    /// # Errors
    /// Those of [`Store::list`].
    pub fn left_behind(store: &impl Store, realm: &str) -> Result<Option<String>, LedgerError> {
        let left = store.list(&marks_of(realm), "", 1)?;
        Ok(left.first().and_then(|(_, text)| content::header(text).ok()).map(|header| header.realm))
    }

    /// Lists up to `limit` realms of a store, in byte order. It leaves out [scratch realms](Self::SCRATCH). [`Store`]
    /// has an example.
    ///
    /// # Errors
    /// Those of [`Store::list`].
    pub fn realms(store: &impl Store, limit: usize) -> Result<Vec<String>, LedgerError> {
        let is_scratch =
            |key: &str| key.strip_prefix(REALMS).is_some_and(|realm| realm.starts_with(Self::SCRATCH));
        let mut found = store.list(REALMS, "", limit)?;
        // Scratch realms stand together. If they took the place of others in the list, the others are read as well.
        if found.len() == limit && found.iter().any(|(key, _)| is_scratch(key)) {
            let last = found.last().map_or("", |(key, _)| key).max(AFTER_SCRATCH).to_owned();
            found.extend(store.list(REALMS, &last, limit)?);
        }
        let others = found.iter().filter(|(key, _)| !is_scratch(key));
        let realms = others.filter_map(|(key, _)| key.strip_prefix(REALMS)).map(str::to_owned);
        Ok(realms.take(limit).collect())
    }

    /// Returns the realm's name.
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// Returns the realm's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The store in one line, for errors.
    pub(super) fn store(&self) -> &str {
        &self.store
    }

    /// # Errors
    /// `Unfit` if a record belongs to a realm with another id.
    pub(super) fn check(&self, id: &str) -> Result<(), LedgerError> {
        if id == self.id { Ok(()) } else { Err(self.is("another than it was")) }
    }

    pub(super) fn is(&self, what: &str) -> LedgerError {
        LedgerError::Unfit(format!(
            "the realm {} at {} is {what} (the store was emptied, or it is another one): stop, restore the right one, and raise \
             its marks above every ID in use (`floe marks raise NAME --to N`)",
            self.realm, self.store
        ))
    }

    /// Where the realm's id is kept.
    pub(super) fn id_key(&self) -> String {
        format!("{REALMS}{}", self.realm)
    }

    /// The prefix of the keys of all records.
    pub(super) fn marks(&self) -> String {
        marks_of(&self.realm)
    }

    pub(super) fn mark(&self, key: &Key) -> String {
        format!("{}{key}", self.marks())
    }

    /// Where a counter keeps what is left of the range that it has reserved ahead.
    #[doc(hidden)]
    pub fn left(&self, key: &Key) -> String {
        let id = mutate!(&*self.id, RestOfAnotherRealm => "");
        format!("{}{key}@{id}", self.marks())
    }

    pub(super) fn made(&self, key: &Key) -> String {
        format!("made/{}/{key}", self.realm)
    }

    /// Where another realm keeps what is known of a name.
    pub(super) fn name_in(realm: &str, name: &Name) -> String {
        format!("{}{}", marks_of(realm), Key::name(name))
    }
}

/// The prefix of the keys of all records of a realm.
fn marks_of(realm: &str) -> String {
    format!("mark/{realm}/")
}
