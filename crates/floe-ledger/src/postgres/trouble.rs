//! From PostgreSQL's errors to the ledger's, each with its cause and the way out.

use std::error::Error as _;

use floe::ledger::LedgerError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::OpenError;
use crate::remote::realm::RAISE;

/// While the ledger is opened, a wrong name, password or database is what the user asked for.
pub(super) fn at_open(error: &Error, shown: &str) -> OpenError {
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => LedgerError::Unfit(sentence(shown, error)).into(),
        Some(code) if !is_access(code) => at_work(error, shown).into(),
        _ => match way_out(error) {
            Some(way_out) => OpenError::Asked(format!("{shown}: {}; {way_out}", cause(error))),
            None => at_work(error, shown).into(),
        },
    }
}

/// In a running process a password may be changed and a right withdrawn, and given again: worth another try.
pub(super) fn at_work(error: &Error, shown: &str) -> LedgerError {
    match error.code() {
        Some(code) if is_missing(code) => LedgerError::Unfit(format!(
            "{shown} lacks tables of floe ({}): restore them from a backup, then {RAISE}",
            cause(error)
        )),
        _ => LedgerError::Unavailable(sentence(shown, error)),
    }
}

fn sentence(shown: &str, error: &Error) -> String {
    let way_out = way_out(error).unwrap_or("look whether the server runs and what its log says");
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
