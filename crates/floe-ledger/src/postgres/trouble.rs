//! Turns PostgreSQL's errors into the ledger's, each with its cause and the way out.

use std::error::Error as _;

use floe::ledger::LedgerError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::queries::QueryError;
use crate::OpenError;
use crate::remote::LOOK;
use crate::remote::realm::RAISE;

/// An error of the client on floe's own connections.
pub(super) fn of(error: &Error) -> QueryError {
    QueryError::new(error.code().map(SqlState::code), cause(error))
}

/// While the ledger is opened, a wrong name, password or database and a missing right are the user's errors.
pub(super) fn at_open(error: &QueryError, shown: &str) -> OpenError {
    match error.code.as_deref().map(SqlState::from_code) {
        Some(code) if !is_access(&code) => at_work(error, shown).into(),
        _ => match way_out(error) {
            Some(way_out) => OpenError::Asked(format!("{shown}: {error}; {way_out}")),
            None => at_work(error, shown).into(),
        },
    }
}

/// While a process runs, a password may be changed, and a right withdrawn and given again: try again later.
pub(super) fn at_work(error: &QueryError, shown: &str) -> LedgerError {
    if let Some(error) = &error.ledger {
        return error.clone();
    }
    match error.code.as_deref().map(SqlState::from_code) {
        Some(code) if is_missing(&code) => LedgerError::Unfit(format!(
            "{shown} lacks tables of floe ({error}): restore them from a backup, then {RAISE}"
        )),
        _ => LedgerError::Unavailable(sentence(shown, error)),
    }
}

fn sentence(shown: &str, error: &QueryError) -> String {
    let way_out = way_out(error).unwrap_or(LOOK);
    format!("{shown}: {error}; {way_out}")
}

/// A wrong password, user or database, or a right that the user lacks.
fn is_access(code: &SqlState) -> bool {
    [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ]
    .contains(code)
}

fn is_missing(code: &SqlState) -> bool {
    [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_COLUMN, SqlState::INVALID_SCHEMA_NAME].contains(code)
}

/// The way out, for errors that have only one.
fn way_out(error: &QueryError) -> Option<&'static str> {
    let Some(code) = error.code.as_deref() else {
        // The client's own errors have no code.
        let known = [
            ("password missing", "write it in the URL, in PGPASSWORD or in a passfile"),
            ("server does not support TLS", "turn TLS on at the server, or say sslmode=disable"),
        ];
        return known.into_iter().find(|(words, _)| error.text.contains(words)).map(|(_, way_out)| way_out);
    };
    Some(match SqlState::from_code(code) {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "look at the user and the password (in the URL, PGPASSWORD or the passfile), and at pg_hba.conf"
        }
        SqlState::INVALID_CATALOG_NAME => "look at the database in the URL, or make it with createdb",
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "grant the user what docs/ledgers.md lists, or have its tables made by someone who may"
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => "it takes no writes, as a replica does: name the primary",
        SqlState::TOO_MANY_CONNECTIONS => "a floe takes at most four connections: raise max_connections",
        SqlState::QUERY_CANCELED => {
            "it takes longer than max_wait: check what it waits for, or raise max_wait in the URL"
        }
        SqlState::DISK_FULL => "make room on the server's disk",
        _ => return None,
    })
}

/// The error and its causes, without what PostgreSQL's own text would repeat.
fn cause(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        return db.message().to_owned();
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
