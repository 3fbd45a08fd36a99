//! A realm in a store that compares and swaps, by the rules that hold for all ledgers.

use floe::ledger::LedgerError;
#[cfg(any(feature = "mysql", feature = "postgres-no-tls", feature = "redis"))]
use floe::ledger::Token;
use floe::store::{Entry, Place, Store, Stored, Version};

use super::realm;
use crate::{OpenError, Opening};

/// How many realms an error names.
const NAMED: usize = 20;

/// The number of the last write and of the making of a record that an earlier layout had, and that had no such number. No
/// number that is drawn is this one.
pub(crate) const FORMER_NUMBER: &str = "00000000000000000000000000000001";

/// The record of the realm with this id, and the beginning of every record in it.
pub(crate) fn header(id: &str) -> String {
    format!("floe 1\nrealm {id}\n")
}

/// The note that a record of an earlier layout was made, in the realm with this id.
pub(crate) fn former_note(id: &str) -> String {
    format!("{}made {FORMER_NUMBER}\n", header(id))
}

/// A record that nobody reads, and that is another one each time, for a store's [`settle`](Store::settle).
#[cfg(any(feature = "mysql", feature = "postgres-no-tls", feature = "redis"))]
pub(crate) fn settled() -> Result<String, LedgerError> {
    Ok(format!("floe 1\nsettled {}\n", Token::random()?.hex()))
}

/// A line of a record, whatever the text holds.
pub(crate) fn line(word: &str, text: &str) -> String {
    format!("{word} {}\n", text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r"))
}

/// A record whose version is its text: no two writes leave the same.
pub(crate) fn entry(text: impl Into<String>) -> Entry {
    let text = text.into();
    Entry { version: Version::new(&text), text }
}

/// The ledger on a store, in the realm that [`enter`] finds or makes.
pub(crate) fn open<S: Store>(store: S, opening: &Opening) -> Result<Stored<S>, OpenError> {
    let place = enter(&store, opening)?;
    Ok(Stored::new(store, place))
}

/// Finds the realm, or makes it where that is allowed.
///
/// # Errors
/// Those of the store; `Unfit` where the realm is not the one that is wanted, or is missing and not to be made.
pub(crate) fn enter(store: &impl Store, opening: &Opening) -> Result<Place, OpenError> {
    let (shown, name) = (store.describe(), opening.realm());
    let others = || -> Result<Vec<String>, LedgerError> {
        let found = Place::realms(store, NAMED + 1)?;
        Ok(found.into_iter().filter(|realm| realm != name).collect())
    };
    if let Some(place) = Place::find(store, name)? {
        opening.check_sole(others, &shown)?;
        opening.check_id(place.id(), &shown)?;
        return Ok(place);
    }
    opening.check_new(others, &shown)?;
    if let Some(id) = Place::left_behind(store, name)? {
        // Another process may have made it, and its first records, since it was looked for.
        if let Some(place) = Place::find(store, name)? {
            opening.check_id(place.id(), &shown)?;
            return Ok(place);
        }
        return Err(LedgerError::Unfit(format!(
            "{shown} holds records of the realm {name}, and the record of the realm itself (realm/{name}) is gone: put it back, \
             with the lines `floe 1` and `realm {id}`, or restore all from a backup and {}",
            realm::RAISE
        ))
        .into());
    }
    Ok(Place::make(store, name)?)
}

/// Tries both conditions of a write on the realm's own record, with the text that it holds already: that there is none, and
/// that it has the version `other`. `called` is what the store calls the two.
///
/// # Errors
/// Those of the store; `Unfit` where it ignores a condition.
#[cfg(feature = "object-store")]
pub(crate) fn check_conditions(
    store: &impl Store,
    realm: &str,
    other: &Version,
    called: [&str; 2],
) -> Result<(), LedgerError> {
    let key = format!("realm/{realm}");
    let Some(Entry { text, .. }) = store.get(&key)? else { return Ok(()) };
    for (expected, condition) in [None, Some(other)].into_iter().zip(called) {
        if let floe::store::Put::Done(_) = store.put(&key, &text, expected)? {
            return Err(realm::ignores(&store.describe(), condition));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use floe::store::Put;

    use super::*;

    /// A store whose realm another process makes, with its first record, once it has been looked for.
    #[derive(Default)]
    struct MadeSince(AtomicBool);

    impl Store for MadeSince {
        fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
            let is_there = key == "realm/shop" && self.0.swap(true, Ordering::SeqCst);
            Ok(is_there.then(|| Entry { version: Version::from(1), text: "floe 1\nrealm 0123\n".to_owned() }))
        }

        fn put(&self, _: &str, _: &str, _: Option<&Version>) -> Result<Put, LedgerError> {
            Ok(Put::Conflict)
        }

        fn list(&self, prefix: &str, _: &str, _: usize) -> Result<Vec<(String, String)>, LedgerError> {
            let record = || (format!("{prefix}s/10/7"), "floe 1\nrealm 0123\n".to_owned());
            Ok(if prefix.starts_with("mark/") { vec![record()] } else { Vec::new() })
        }

        fn describe(&self) -> String {
            "a store".to_owned()
        }
    }

    #[test]
    fn a_realm_that_another_process_makes_meanwhile_is_entered() {
        assert_eq!(enter(&MadeSince::default(), &Opening::of("shop")).unwrap().id(), "0123");
        let refused = enter(&MadeSince::default(), &Opening::of("shop").realm_id("4567")).unwrap_err();
        assert!(refused.to_string().contains("4567"), "{refused}");
    }

    #[test]
    fn the_pinned_realm_is_the_only_one_that_any_caller_enters() {
        let shop = Opening::of("shop");
        for opening in [shop.clone(), shop.clone().existing(), shop.to_look()] {
            let enter = |id| enter(&MadeSince(AtomicBool::new(true)), &opening.clone().realm_id(id));
            assert_eq!(enter("0123").unwrap().id(), "0123", "{opening:?}");
            let refused = enter("4567").unwrap_err();
            assert!(refused.to_string().contains("realm_id pins 4567"), "{opening:?}: {refused}");
        }
    }
}
