//! Turns SQLite's errors into the ledger's, each with its cause and the way out.

use std::fmt::Display;
use std::time::Duration;

use floe::ledger::LedgerError;
use rusqlite::{Error, ErrorCode};

/// The errors inside a transaction.
#[derive(Debug)]
pub(crate) enum Trouble {
    Sql(Error),
    Ledger(LedgerError),
}

impl Trouble {
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(error) if is_busy(error))
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// Whether another connection is in the way. SQLite says "locking protocol" after it has tried for ten seconds to begin
/// a read against others.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
}

pub(super) use crate::opening::RAISE;

/// The file was in use for longer than a call waits.
pub(super) fn held(shown: &str, max_wait: Duration) -> LedgerError {
    LedgerError::Unavailable(format!(
        "other processes held {shown} at every try for {max_wait:?}: find one that is stopped, or an open transaction in \
         `sqlite3`, with `fuser -v {shown}` or `lsof {shown}`, and resume or end it; if they only take turns on a slow \
         disk, allow more time with `max_wait`"
    ))
}

/// A copy to pass on: rusqlite's errors are not `Clone`.
pub(super) fn sql(error: &Error) -> Error {
    match error {
        Error::SqliteFailure(code, text) => Error::SqliteFailure(*code, text.clone()),
        other => Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(other.to_string()),
        ),
    }
}

/// An error of a call on an open ledger.
pub(super) fn at_work(shown: &str, max_wait: Duration, trouble: Trouble) -> LedgerError {
    let error = match trouble {
        Trouble::Ledger(error) => return error,
        Trouble::Sql(error) => error,
    };
    if is_busy(&error) {
        return held(shown, max_wait);
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => LedgerError::Unavailable(format!(
            "disk full: {shown} cannot grow (SQLite: {error}); make room on its file system (`df -h`), or raise \
             `max_mib` if the file has reached its limit; nothing was lost, and floe keeps minting to the end of its windows"
        )),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(shown, &error),
        Some(ErrorCode::SystemIoFailure) => LedgerError::Unavailable(format!(
            "the disk under {shown} failed (SQLite: {error}, code {code}): look for a full disk, a quota or a limit on \
             file sizes (`df -h`, `ulimit -f`), and for errors of the device (`dmesg`)",
            code = error.sqlite_error().map_or(0, |code| code.extended_code),
        )),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            LedgerError::Unavailable(format!(
                "{shown} can no longer be written (SQLite: {error}): check whether its file system was mounted \
                 read-only, and the permissions of the file, its -wal and -shm, and its directory"
            ))
        }
        Some(ErrorCode::OutOfMemory) => LedgerError::Unavailable(format!(
            "the process has no memory left for {shown} (SQLite: {error}): give it more memory, or less to do"
        )),
        // Missing tables, columns of another type: floe did not write this file.
        _ => damaged(shown, &error),
    }
}

/// The file is no longer a ledger.
pub(super) fn damaged(shown: &str, what: &dyn Display) -> LedgerError {
    LedgerError::Unfit(format!(
        "{shown} is damaged ({what}): stop every floe that uses it, keep a copy, restore the backup (or what `sqlite3 \
         {shown} .recover` saves), and {RAISE}"
    ))
}
