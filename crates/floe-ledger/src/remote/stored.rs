//! A realm in a store that compares and swaps, by the rules that hold for all ledgers.

use floe::ledger::LedgerError;
use floe::store::{Place, Store};

use super::{Wanted, realm};
use crate::{DEFAULT_REALM, OpenError, Opening};

/// How many realms an error names.
const NAMED: usize = 20;

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
    let wanted = Wanted::at_open(opening);
    if let Some(place) = Place::find(store, name)? {
        if wanted.asks_for_others() {
            realm::is_the_only_one(name, &others()?, &shown)?;
        }
        opening.check_id(place.id(), &shown)?;
        return Ok(place);
    }
    if !wanted.may_make(&shown, &format!("the realm {name}"))? {
        return Err(wanted.is_not_there(name, &others()?, &shown).into());
    }
    if name == DEFAULT_REALM {
        realm::may_be_made(name, &others()?, &shown)?;
    }
    if let Some(id) = Place::left_behind(store, name)? {
        return Err(LedgerError::Unfit(format!(
            "{shown} holds records of the realm {name}, and the record of the realm itself (realm/{name}) is gone: put it back, \
             with the lines `floe 1` and `realm {id}`, or restore all from a backup and {}",
            realm::RAISE
        ))
        .into());
    }
    Ok(Place::make(store, name)?)
}
