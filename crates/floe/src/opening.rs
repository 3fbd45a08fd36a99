//! Why a floe cannot be opened, and why a name cannot be served.

use crate::definition::DefinitionError;
use crate::ledger::{EndError, LedgerError};
use crate::name::{Name, NameError};
use std::fmt;

/// Why a name cannot be served.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefineError {
    /// The text is not a name.
    Name(NameError),
    /// The name is bound to another definition, and a binding never changes.
    Mismatch {
        /// The name.
        name: Name,
        /// The definition in the ledger.
        stored: String,
        /// The definition that the caller wants.
        configured: String,
    },
    /// A key of a sealed form is not the one that was first used under its id: their check values differ.
    AnotherKey {
        /// The name.
        name: Name,
        /// The ledger's record of the key.
        key: Name,
        /// The check value in the ledger.
        stored: String,
        /// The check value of the caller's key.
        configured: String,
    },
    /// The name was retired ([`ledger::retire`](crate::ledger::retire)): nothing is ever minted under it again.
    Retired {
        /// The name.
        name: Name,
        /// When it was retired, in the format of RFC 3339.
        since: String,
    },
    /// The definition is invalid.
    Definition(DefinitionError),
    /// This process cannot serve the name with its settings; the text says why.
    Invalid(String),
    /// The ledger did not answer.
    Unavailable(String),
    /// The ledger is unfit, or the floe was closed.
    Stopped(String),
}

impl fmt::Display for DefineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => write!(f, "{error}"),
            Self::Mismatch { name, stored, configured } => write!(
                f,
                "the name {name:?} is bound to another definition:\n  in the ledger: {stored}\n  configured:    {configured}\nA definition never changes under a name: configure the one in the ledger, or take a new name"
            ),
            Self::AnotherKey { name, key, stored, configured } => write!(
                f,
                "the key with the id {} of the name {name} is not the one that was first used under that id: its check value is \"{stored}\" in the ledger, and \"{configured}\" here. Two keys under one id would write one text for two numbers: configure the first one, or give the new one an id of its own",
                key.as_str().rsplit('*').next().unwrap_or_default()
            ),
            Self::Retired { name, since } => write!(
                f,
                "the name {name} was retired at {since}: nothing is minted under it any more, and its mark is kept, so that nothing repeats. Use another name"
            ),
            Self::Definition(error) => write!(f, "{error}"),
            Self::Invalid(text) => write!(f, "{text}"),
            Self::Unavailable(text) => write!(f, "the ledger is unavailable: {text}"),
            Self::Stopped(text) => write!(f, "{text}"),
        }
    }
}

impl From<NameError> for DefineError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}

impl From<DefinitionError> for DefineError {
    fn from(error: DefinitionError) -> Self {
        Self::Definition(error)
    }
}

floe_id::__error!(DefineError);

/// Why a floe cannot be opened.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The ledger did not answer, or is unfit.
    Ledger(LedgerError),
    /// A setting is out of range; the text says which one and what it may be.
    Setting(String),
    /// This machine's clock and the ledger's do not agree; the text says by how much, and the way out.
    Clock(String),
    /// The operating system gave no thread or no randomness.
    System(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ledger(error) => write!(f, "{error}"),
            Self::Setting(text) => write!(f, "{text}"),
            Self::Clock(text) => write!(f, "{text}"),
            Self::System(text) => write!(f, "{text}"),
        }
    }
}

impl From<LedgerError> for OpenError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

floe_id::__error!(OpenError);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Key;

    /// Whoever hears that a ledger is unavailable tries again.
    #[test]
    fn what_no_retry_can_mend_is_not_said_to_be_unavailable() {
        let key = || Key::name(&Name::new("orders").unwrap());
        for (error, passes) in [
            (LedgerError::Unavailable("gone".to_owned()), true),
            (LedgerError::Unfit("replaced".to_owned()), false),
            (LedgerError::Missing(key()), false),
            (LedgerError::Overflow { key: key(), mark: 7 }, false),
        ] {
            let told = DefineError::from(error);
            assert_eq!(matches!(told, DefineError::Unavailable(_)), passes, "{told}");
        }
    }
}
