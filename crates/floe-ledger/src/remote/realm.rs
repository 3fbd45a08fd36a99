//! Realms on a shared server: the findings, with the same texts for all servers.

use floe::ledger::LedgerError;

use crate::DEFAULT_REALM;
pub(crate) use crate::opening::{RAISE, is_one_of_several};

/// The realm has another id than before.
pub(crate) fn is_another(shown: &str) -> LedgerError {
    LedgerError::Unfit(format!(
        "the realm at {shown} is not the one that it was (another store, or one that was made again): stop, restore the right \
         one, and raise its marks above every ID in use"
    ))
}

/// Something that existed when the ledger was opened is missing.
pub(crate) fn is_gone(shown: &str, what: &str) -> LedgerError {
    LedgerError::Unfit(format!(
        "{what} at {shown} is gone, and was there when this ledger was opened: restore it from a backup, then {RAISE}"
    ))
}

/// A caller that names no realm wants the existing one, and not a second one in which all IDs begin again.
///
/// # Errors
/// `Unfit` if `realm` is the default and does not exist, and `others` do.
pub(crate) fn may_be_made(realm: &str, others: &[String], shown: &str) -> Result<(), LedgerError> {
    if realm != DEFAULT_REALM || others.is_empty() {
        return Ok(());
    }
    Err(LedgerError::Unfit(format!(
        "{shown} has no realm {DEFAULT_REALM}, it has: {}. Name the realm (realm = \"…\" in the configuration, --realm, \
         or --config FILE)",
        others.join(", ")
    )))
}

/// The realm is missing and must not be made.
pub(super) fn is_not_there(realm: &str, others: &[String], shown: &str) -> String {
    let has = match others {
        [] => "none that floe could name: look at the URL".to_owned(),
        others => format!(
            "{}. Name one of them (realm = \"…\" in the configuration, --realm, or --config FILE)",
            others.join(", ")
        ),
    };
    format!("{shown} has no realm {realm}, it has {has}")
}

/// If there are several realms, the caller has to name one.
///
/// # Errors
/// `Unfit` if there are `others`.
pub(crate) fn is_the_only_one(realm: &str, others: &[String], shown: &str) -> Result<(), LedgerError> {
    match others {
        [] => Ok(()),
        others => Err(is_one_of_several(realm, &others.join(", "), shown)),
    }
}

/// floe cannot use this store.
#[cfg(feature = "object-store")]
pub(crate) fn ignores(shown: &str, condition: &str) -> LedgerError {
    LedgerError::Unfit(format!(
        "{shown} ignores the condition of a write ({condition}): two nodes would be given the same range. Use a store \
         that supports conditional writes, or another ledger"
    ))
}

/// A newer floe wrote this store.
pub(crate) fn is_newer(shown: &str, found: i64, known: i64) -> LedgerError {
    LedgerError::Unfit(format!(
        "the ledger at {shown} was written by a newer floe: it has version {found}, and this floe knows versions up to \
         {known}; run the newer floe"
    ))
}

/// The store holds something that no floe has written.
pub(crate) fn is_damaged(shown: &str, what: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Unfit(format!(
        "the ledger at {shown} holds {what}, which no floe has written: restore it from a backup, then {RAISE}"
    ))
}
