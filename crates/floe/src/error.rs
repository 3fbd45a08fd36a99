//! Why no ID was minted.

use std::fmt;
use std::time::Duration;

use crate::time::UnixMillis;

/// Why no ID was minted. No ID is lost or repeated by any of them.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MintError {
    /// Everything that may be minted now has been, or too many callers wait. Ask again after `retry`.
    Busy {
        /// When it is worth asking again.
        retry: Duration,
    },
    /// The reserved range is used up and the ledger does not answer. floe goes on asking it by itself.
    Unavailable {
        /// When the ledger was first seen not to answer.
        since: UnixMillis,
        /// The ledger's own words.
        cause: String,
    },
    /// The bits, the numbers, the day's digits or the worker slots are used up; the text says which and until when.
    Exhausted(String),
    /// Uniqueness would be at stake, or the generator was closed.
    Stopped(Stopped),
    /// So many at once cannot be minted.
    Count {
        /// How many were asked for.
        asked: u64,
        /// The most that one call may ask for.
        max: u64,
    },
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { retry } => {
                write!(f, "busy: ask again in {} ms, or mint less at once", retry.as_millis())
            }
            Self::Unavailable { since, cause } => {
                write!(f, "the ledger has been unavailable since {since}: {cause}")
            }
            Self::Exhausted(text) => write!(f, "{text}"),
            Self::Stopped(stopped) => write!(f, "{stopped}"),
            Self::Count { asked, max } => write!(f, "cannot mint {asked} at once: ask for 1 to {max}"),
        }
    }
}

floe_id::__error!(MintError);

/// Why a name does not mint: what a program can tell apart, and what its people are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped {
    /// What stopped it.
    pub reason: StopReason,
    /// What happened and the way out.
    pub cause: String,
}

/// What stopped a name.
///
/// ```
/// use floe::{Floe, MintError, StopReason, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let tickets = floe.segment("tickets")?;
/// floe.close();
/// let Err(MintError::Stopped(stopped)) = tickets.mint() else { panic!("it is closed") };
/// assert_eq!(stopped.reason, StopReason::Closed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The program closed the floe, or unloaded the name. Nothing is wrong.
    Closed,
    /// The clock is not believed. Minting goes on by itself once it is right.
    Clock,
    /// The ledger is not what it was: it went backwards, it lost records, or it is another one. Somebody has to look.
    Ledger,
    /// Something else, which the cause says: the operating system has no randomness, a registered kind misbehaves, floe has met an
    /// error of its own.
    Other,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Stopped {}

impl Stopped {
    pub(crate) fn closed() -> Self {
        Self { reason: StopReason::Closed, cause: "floe was closed".to_owned() }
    }

    pub(crate) fn clock(cause: impl ToString) -> Self {
        Self { reason: StopReason::Clock, cause: cause.to_string() }
    }

    pub(crate) fn ledger(cause: impl ToString) -> Self {
        Self { reason: StopReason::Ledger, cause: cause.to_string() }
    }

    pub(crate) fn other(cause: impl ToString) -> Self {
        Self { reason: StopReason::Other, cause: cause.to_string() }
    }
}

impl MintError {
    /// That a name is stopped for a reason that no program can act on.
    ///
    /// A kind of one's own says so: `MintError::stopped("the licence has run out")`.
    pub fn stopped(cause: impl ToString) -> Self {
        Self::Stopped(Stopped::other(cause))
    }

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
