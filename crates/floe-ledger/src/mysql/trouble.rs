//! Errors of a connection, and the ledger's errors for them, each with its cause and the way out.

use std::fmt;
use std::io;

use floe::ledger::LedgerError;

use crate::OpenError;
use crate::remote::LOOK;
use crate::remote::realm::RAISE;

/// An error of a connection.
#[derive(Debug)]
pub(super) enum Error {
    /// The server's error, with a number. Its texts name users and tables, never passwords.
    Server {
        code: u16,
        message: String,
    },
    Socket(io::Error),
    Tls(io::Error),
    NoTls,
    PasswordInTheClear,
    UnknownWay(String),
    Protocol(&'static str),
    TooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { code, message } => write!(f, "{message} ({code})"),
            Self::Socket(error) => write!(f, "{error}"),
            Self::Tls(error) => write!(f, "no TLS with it: {error}"),
            Self::NoTls => f.write_str("the server takes no TLS"),
            Self::PasswordInTheClear => {
                f.write_str("the server asks for the password itself, which floe sends only over TLS")
            }
            Self::UnknownWay(text) => write!(f, "the user logs in by `{text}`, which floe does not know"),
            Self::Protocol(text) => write!(f, "it does not speak as MySQL does: {text}"),
            Self::TooLong => f.write_str("a packet is longer than any of floe's"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

/// A deadlock, or on a cluster another node's transaction that came first; and a lock wait that timed out. The whole
/// statement was rolled back.
const DEADLOCK: u16 = 1213;
const LOCK_WAIT: u16 = 1205;

impl Error {
    /// The server's number.
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the statement took no effect, and can be tried again at once.
    pub(super) fn is_in_the_way(&self) -> bool {
        matches!(self.code(), Some(DEADLOCK | LOCK_WAIT))
    }
}

/// While the ledger is opened, a wrong name, password or database and a missing right are the user's errors.
pub(super) fn at_open(error: &Error, shown: &str) -> OpenError {
    let is_asked = match error {
        Error::Server { code, .. } => is_access(*code) || is_right(*code),
        Error::NoTls | Error::PasswordInTheClear | Error::UnknownWay(_) => true,
        Error::Socket(_) | Error::Tls(_) | Error::Protocol(_) | Error::TooLong => false,
    };
    match is_asked {
        true => OpenError::Asked(sentence(shown, error)),
        false => at_work(error, shown).into(),
    }
}

/// While a process runs, a password may be changed, and a right withdrawn and given again: try again later.
pub(super) fn at_work(error: &Error, shown: &str) -> LedgerError {
    if error.code().is_some_and(is_missing) {
        return LedgerError::Unfit(format!(
            "{shown} lacks tables of floe ({error}): restore them from a backup, then {RAISE}"
        ));
    }
    LedgerError::Unavailable(sentence(shown, error))
}

fn sentence(shown: &str, error: &Error) -> String {
    format!("{shown}: {error}; {}", way_out(error))
}

/// A wrong password, user, user's host, or database; or the user must use TLS.
fn is_access(code: u16) -> bool {
    [1044, 1045, 1049, 1130, 1698, 1862, 3118, 3159, 4151].contains(&code)
}

/// The user lacks a right.
fn is_right(code: u16) -> bool {
    [1142, 1143, 1227].contains(&code)
}

/// The database, a table or a column is missing.
fn is_missing(code: u16) -> bool {
    [1046, 1049, 1054, 1146].contains(&code)
}

/// The way out.
fn way_out(error: &Error) -> &'static str {
    let code = match error {
        Error::Server { code, .. } => *code,
        Error::NoTls => return "turn TLS on at the server, or say sslmode=disable",
        Error::PasswordInTheClear => return "turn TLS on at the server, and do not say sslmode=disable",
        Error::UnknownWay(_) => {
            return "let the user log in by caching_sha2_password or mysql_native_password (ALTER USER)";
        }
        Error::Tls(_) => return "look at the server's certificate, at sslrootcert and at the host in the URL",
        Error::Protocol(_) | Error::TooLong => return "look at the host and the port in the URL",
        Error::Socket(_) => return LOOK,
    };
    match code {
        1045 | 1698 | 1862 | 3118 | 4151 => {
            "look at the user and the password (in the URL, password_file or MYSQL_PWD), and at the hosts from which the \
             user may come"
        }
        1049 => "look at the database in the URL, or make it (CREATE DATABASE)",
        1130 => "let the user come from this host (CREATE USER 'name'@'host')",
        3159 => "say sslmode=require",
        1044 | 1142 | 1143 | 1227 => {
            "grant the user what docs/ledgers.md lists, or have its tables made by someone who may"
        }
        LOCK_WAIT => "another session holds a lock on floe's tables: look at SHOW PROCESSLIST",
        1290 | 1792 | 1836 => "it takes no writes, as a replica does: name the primary",
        1040 | 1203 | 1226 => {
            "a floe takes at most four connections: raise max_connections, or the user's limits"
        }
        1021 | 1114 => "make room on the server's disk",
        1129 => "too many connections of this host were cut off: FLUSH HOSTS on the server",
        1665 => "set binlog_format = ROW or MIXED",
        _ => LOOK,
    }
}
