//! Why a floe cannot be opened, and why a name cannot be served.

use crate::definition::DefinitionError;
use crate::ledger::{EndError, LedgerError};
use crate::name::{Name, NameError};

/// Why a name cannot be served.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefineError {
    /// Not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The name was bound to another definition before, and that never changes.
    #[error(
        "the name {name:?} is bound to another definition:\n  in the ledger: {stored}\n  configured:    {configured}\nA definition never changes under a name: configure the one in the ledger, or take a new name"
    )]
    Mismatch {
        /// The name.
        name: Name,
        /// What the ledger has.
        stored: String,
        /// What the caller wants.
        configured: String,
    },
    /// A key of a sealed form is not the one that was first used under its id, by its check value.
    #[error(
        "the key with the id {} of the name {name} is not the one that was first used under that id: its check value is \"{stored}\" in the ledger, and \"{configured}\" here. Two keys under one id would write one text for two numbers: configure the first one, or give the new one an id of its own",
        key.as_str().rsplit('*').next().unwrap_or_default()
    )]
    AnotherKey {
        /// The name.
        name: Name,
        /// What the key is bound under.
        key: Name,
        /// What the ledger has.
        stored: String,
        /// What the caller has.
        configured: String,
    },
    /// The name was retired ([`ledger::retire`](crate::ledger::retire)): nothing is minted under it any more, for ever.
    #[error(
        "the name {name} was retired at {since}: nothing is minted under it any more, and its mark is kept, so that nothing repeats. Use another name"
    )]
    Retired {
        /// The name.
        name: Name,
        /// When it was retired, as a time of RFC 3339.
        since: String,
    },
    /// The definition cannot be.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// It cannot be served by this process as it is set up; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// The ledger did not answer.
    #[error("the ledger is unavailable: {0}")]
    Unavailable(String),
    /// The ledger is not fit, or floe was closed.
    #[error("{0}")]
    Stopped(String),
}

floe_id::__debug_by_display!(DefineError);

/// Why floe could not be opened.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The ledger did not answer, or is not fit.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A setting that cannot be; the text says which and what it may be.
    #[error("{0}")]
    Setting(String),
    /// This machine's clock and the ledger's do not agree; the text says by how much, and the way out.
    #[error("{0}")]
    Clock(String),
    /// The operating system gave no thread or no randomness.
    #[error("{0}")]
    System(String),
}

floe_id::__debug_by_display!(OpenError);

impl From<EndError> for DefineError {
    fn from(error: EndError) -> Self {
        match error {
            EndError::Name(error) => error.into(),
            EndError::Ledger(error) => error.into(),
        }
    }
}

impl From<LedgerError> for DefineError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Unavailable(cause) => Self::Unavailable(cause),
            LedgerError::Unfit(_) | LedgerError::Missing(_) | LedgerError::Overflow { .. } => {
                Self::Stopped(error.to_string())
            }
        }
    }
}
