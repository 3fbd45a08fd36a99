//! From PostgreSQL's errors to the ledger's, each with its cause and the way out.

use std::error::Error as _;
use std::time::Duration;

use floe::ledger::LedgerError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::OpenError;

/// What a restored or remade ledger needs before anything is minted.
pub(super) const RAISE: &str = "raise its marks above every ID in use (`floe marks raise NAME --to N`)";

/// What may go wrong inside a call.
#[derive(Debug)]
pub(super) enum Trouble {
    Sql(Error),
    Timeout(Duration),
    NoThread,
    Ledger(LedgerError),
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl Trouble {
    /// While the ledger is opened, a wrong name, password or database is what the user asked for.
    pub(super) fn at_open(self, shown: &str) -> OpenError {
        let asked = |error: &Error| {
            let text = way_out(error).map(|way_out| format!("{shown}: {}; {way_out}", cause(error)));
            match error.code() {
                Some(code) if !is_access(code) => None,
                _ => text,
            }
        };
        match &self {
            Self::Sql(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                LedgerError::Unfit(sentence(shown, error)).into()
            }
            Self::Sql(error) => match asked(error) {
                Some(text) => OpenError::Asked(text),
                None => self.at_work(shown).into(),
            },
            _ => self.at_work(shown).into(),
        }
    }

    /// In a running process a password may be changed and a right withdrawn, and given again: worth another try.
    pub(super) fn at_work(self, shown: &str) -> LedgerError {
        match self {
            Self::Ledger(error) => error,
            Self::Timeout(bound) => LedgerError::Unavailable(format!(
                "{shown} gave no answer within {bound:?}: look whether it runs, what it waits for (pg_stat_activity), and \
                 whether the network lets it through"
            )),
            Self::NoThread => LedgerError::Unavailable(format!(
                "the thread that talks to {shown} does not answer: a process that forks has to open its ledger again"
            )),
            Self::Sql(error) => match error.code() {
                Some(code) if is_missing(code) => LedgerError::Unfit(format!(
                    "{shown} lacks tables of floe ({}): restore them from a backup, then {RAISE}",
                    cause(&error)
                )),
                _ => LedgerError::Unavailable(sentence(shown, &error)),
            },
        }
    }
}

fn sentence(shown: &str, error: &Error) -> String {
    let way_out =
        way_out(error).unwrap_or("look whether the server runs and what its log says; floe tries again");
    format!("{shown}: {}; {way_out}", cause(error))
}

/// The wrong password, user or database.
fn is_access(code: &SqlState) -> bool {
    [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
    ]
    .contains(code)
}

fn is_missing(code: &SqlState) -> bool {
    [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_COLUMN, SqlState::INVALID_SCHEMA_NAME].contains(code)
}

/// What to do about the errors that have one answer.
fn way_out(error: &Error) -> Option<&'static str> {
    let Some(code) = error.code() else {
        // The client's own refusals carry no code: "invalid configuration: password missing".
        return cause(error)
            .contains("password missing")
            .then_some("write it in the URL, in PGPASSWORD or in a passfile");
    };
    Some(match *code {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "look at the user and the password (in the URL, PGPASSWORD or the passfile), and at pg_hba.conf"
        }
        SqlState::INVALID_CATALOG_NAME => "look at the database in the URL, or make it with createdb",
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "grant the user what docs/ledgers.md lists, or have its tables made by someone who may"
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => "it takes no writes, as a replica does: name the primary",
        SqlState::TOO_MANY_CONNECTIONS => "a floe takes at most four connections: raise max_connections",
        SqlState::DISK_FULL => "make room on the server's disk",
        _ => return None,
    })
}

/// The error and what is beneath it, without what PostgreSQL's own text would repeat.
fn cause(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} ({})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let inner = error.to_string();
        if !text.contains(&inner) {
            text = format!("{text}: {inner}");
        }
        source = error.source();
    }
    text
}
