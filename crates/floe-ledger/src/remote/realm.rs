//! Realms on a shared server: the findings, with the same texts for all servers.

use floe::ledger::LedgerError;

pub(crate) use crate::opening::{RAISE, is_newer};

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

/// floe cannot use this store.
#[cfg(feature = "object-store")]
pub(crate) fn ignores(shown: &str, condition: &str) -> LedgerError {
    LedgerError::Unfit(format!(
        "{shown} ignores the condition of a write ({condition}): two nodes would be given the same range. Use a store \
         that supports conditional writes, or another ledger"
    ))
}

/// The store holds something that no floe has written.
pub(crate) fn is_damaged(shown: &str, what: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Unfit(format!(
        "the ledger at {shown} holds {what}, which no floe has written: restore it from a backup, then {RAISE}"
    ))
}
