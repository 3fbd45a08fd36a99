//! Why no ID was minted.

use std::fmt;
use std::time::Duration;

use crate::time::UnixMillis;

/// Why no ID was minted. None of these errors loses or repeats an ID.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MintError {
    /// Every ID that is due now is minted, or too many callers wait. Retry after `retry`.
    Busy {
        /// How long to wait before a retry.
        retry: Duration,
    },
    /// The reserved range is used up, and the ledger does not answer. floe keeps asking it by itself.
    Unavailable {
        /// When the ledger first failed to answer.
        since: UnixMillis,
        /// The ledger's error.
        cause: String,
    },
    /// The bits, the numbers, the period's digits or the worker slots are used up; the text says which and until when.
    Exhausted(String),
    /// Uniqueness would be at stake, or the floe was closed.
    Stopped(Stopped),
    /// One call cannot mint this many IDs.
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

/// Why a name does not mint: a reason for the program, and a text for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped {
    /// The reason, to branch on.
    pub reason: StopReason,
    /// The text: what happened, and the way out.
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
    /// The program closed the floe or unloaded the name. Nothing is wrong.
    Closed,
    /// The clock cannot be trusted. Minting resumes by itself when it is right.
    Clock,
    /// The ledger went backwards, lost records, or is another ledger. An operator has to look at it.
    Ledger,
    /// Another reason, which the cause gives: the operating system has no randomness, a registered kind misbehaves, a
    /// dated name's mark lies past the calendar, or floe has a bug.
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
    /// Makes the error for a name that has stopped for a reason on which no program can act. A kind of your own returns
    /// it.
    ///
    /// ```
    /// use floe::{MintError, StopReason};
    /// let MintError::Stopped(stopped) = MintError::stopped("the licence has run out") else { unreachable!() };
    /// assert_eq!((stopped.reason, stopped.cause.as_str()), (StopReason::Other, "the licence has run out"));
    /// ```
    pub fn stopped(cause: impl ToString) -> Self {
        Self::Stopped(Stopped::other(cause))
    }

    /// Returns whether a retry of the same call can succeed without any action of the program or an operator. A server
    /// answers 503 if so, else 500.
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

    /// Returns how long to wait before a retry, as for the header `Retry-After`; `None` if a retry does not help. For
    /// `Busy` it is the time until more IDs are due, for `Unavailable` one second.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{MintError, UnixMillis};
    /// let down = MintError::Unavailable { since: UnixMillis::EPOCH, cause: "timeout".to_owned() };
    /// assert_eq!(down.retry_after(), Some(Duration::from_secs(1)));
    /// assert_eq!(MintError::stopped("the licence has run out").retry_after(), None);
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry } => Some(*retry),
            Self::Unavailable { .. } => Some(Duration::from_secs(1)),
            Self::Exhausted(_) | Self::Stopped(_) | Self::Count { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server answers 503 and `Retry-After` to these alone.
    #[test]
    fn what_passes_by_itself_says_when_to_ask_again_and_nothing_else_does() {
        let millis = Duration::from_millis;
        for (error, after) in [
            (MintError::Busy { retry: millis(250) }, Some(millis(250))),
            (
                MintError::Unavailable { since: UnixMillis::EPOCH, cause: "gone".to_owned() },
                Some(millis(1_000)),
            ),
            (MintError::Exhausted("over".to_owned()), None),
            (MintError::Stopped(Stopped::closed()), None),
            (MintError::Count { asked: 0, max: 9 }, None),
        ] {
            assert_eq!((error.retry_after(), error.is_retryable()), (after, after.is_some()), "{error}");
        }
    }
}
