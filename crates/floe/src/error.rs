//! What a caller of the library has to tell apart.

use std::time::Duration;

use crate::definition::DefinitionError;
use crate::ledger::{EndError, LedgerError};
use crate::name::{Name, NameError};
use crate::time::UnixMillis;

/// Why no ID was minted. No ID is lost or repeated by any of them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MintError {
    /// Everything that may be minted now has been, or too many callers wait. Ask again after `retry`.
    #[error("busy: ask again in {} ms, or mint less at once", retry.as_millis())]
    Busy {
        /// When it is worth asking again.
        retry: Duration,
    },
    /// The reserved range is used up and the ledger does not answer. floe goes on asking it by itself.
    #[error("the ledger has been unavailable since {since}: {cause}")]
    Unavailable {
        /// When the ledger was first seen not to answer.
        since: UnixMillis,
        /// The ledger's own words.
        cause: String,
    },
    /// The bits, the numbers, the day's digits or the worker slots are used up; the text says which and until when.
    #[error("{0}")]
    Exhausted(String),
    /// Uniqueness would be at stake, or the generator was closed: the text says what happened and the way out.
    #[error("{0}")]
    Stopped(String),
    /// So many at once cannot be minted.
    #[error("cannot mint {asked} at once: ask for 1 to {max}")]
    Count {
        /// How many were asked for.
        asked: u64,
        /// The most that one call may ask for.
        max: u64,
    },
}

impl MintError {
    /// Whether the same call may be answered later, without anybody doing anything: a server says 503 then, and 500 else.
    ///
    /// ```
    /// use floe::{Floe, MintError, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// let error = tickets.mint_many(0).unwrap_err();
    /// assert!(!error.is_retryable() && error.retry_after().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_retryable(&self) -> bool {
        self.retry_after().is_some()
    }

    /// When it is worth asking again, as `Retry-After` says it: where everything was minted that may be minted now, when more
    /// is due; where the ledger does not answer, a second. `None` where asking again does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry } => Some(*retry),
            Self::Unavailable { .. } => Some(Duration::from_secs(1)),
            Self::Exhausted(_) | Self::Stopped(_) | Self::Count { .. } => None,
        }
    }
}

/// Why a name cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
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

/// Why floe could not be opened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
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
