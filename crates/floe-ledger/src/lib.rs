//! Ledgers that keep floe's marks outside the process, each behind a cargo feature of its own.
//!
//! This crate translates [`floe::ledger::Ledger`] to a store and holds no policy. It knows nothing of wires or
//! servers.
//!
//! | URL | feature | shared by |
//! |---|---|---|
//! | `memory:` | (always there) | nobody; a restart forgets it |
//! | `sqlite:PATH` | `sqlite` (default) | the processes of one machine |
//! | `postgres://…` | `postgres` | whoever reaches the database |
//!
//! Before a shared one a `Cache` may stand (feature `cache`), out of which a node restarts while that one is gone.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}", dir.path().join("ids.db").display());
//! use floe::ledger::Ledger;
//!
//! // url = "sqlite:ids.db"
//! let ledger = floe_ledger::open(&url, floe_ledger::DEFAULT_REALM)?;
//! assert!(!ledger.is_shared());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use std::path::Path;

use floe::ledger::{Ledger, LedgerError, Memory};

#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(feature = "cache")]
pub use cache::Cache;

#[cfg(feature = "postgres")]
pub use postgres::Postgres;

#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, open_dir};

/// The realm of those who name none.
pub const DEFAULT_REALM: &str = "default";

/// How the URLs begin that this build opens.
pub const SCHEMES: &[&str] = &[
    "memory:",
    #[cfg(feature = "sqlite")]
    "sqlite:PATH",
    #[cfg(feature = "postgres")]
    "postgres://…",
];

/// Schemes of ledgers that floe is to have, and that this version or build has not.
const NOT_HERE: &[&str] = &[
    #[cfg(not(feature = "sqlite"))]
    "sqlite",
    #[cfg(not(feature = "postgres"))]
    "postgres",
    #[cfg(not(feature = "postgres"))]
    "postgresql",
    "mysql",
    "mariadb",
    "redis",
    "rediss",
    "etcd",
    "zookeeper",
];

/// Why a ledger could not be opened.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL, an option in it, or the realm is not right. Nothing was touched.
    #[error("{0}")]
    Asked(String),
    /// The ledger itself: after [`LedgerError::Unavailable`] it is worth another try, after
    /// [`LedgerError::Unfit`] a person has to look first.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Opens the ledger at `url` for the key space `realm` (1 to 128 bytes of printable text without white space, `/`
/// and `*`).
///
/// - `memory:` is a fresh ledger that lives and dies with the process.
/// - `sqlite:PATH` is a file; see [`sqlite`] for what it promises. PATH is taken literally up to a `?`, after which
///   options may stand: `network_filesystem=allow`, `max_wait=10s`, `max_mib=1024`.
/// - `postgres://user:password@host:port/database` is a database; see [`postgres`] and [`Postgres::open`].
///
/// # Errors
/// [`OpenError`] says what is wrong and what to do. An unknown scheme gets the list of those that this build has.
pub fn open(url: &str, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    match scheme {
        "memory" if rest.is_empty() => {
            realm_name(realm)?;
            Ok(Box::new(Memory::default()))
        }
        "memory" => Err(OpenError::Asked(format!("`{url}`: memory: takes no path; write `memory:`"))),
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite::open_url(rest, realm),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::open_url(url, realm),
        _ if NOT_HERE.contains(&scheme) => Err(OpenError::Asked(format!(
            "this build of floe has no ledger on {scheme}: use one of {}",
            SCHEMES.join(", ")
        ))),
        _ => Err(OpenError::Asked(format!(
            "`{}` is not the URL of a ledger: use one of {} (a file is written sqlite:PATH)",
            without_credentials(url),
            SCHEMES.join(", ")
        ))),
    }
}

/// The file behind the URL of an embedded ledger, for those who want to know whether it is there before they open
/// it (which would make it). `None` for any other URL.
///
/// ```
/// use std::path::Path;
/// assert_eq!(floe_ledger::file_of("sqlite:ids.db?max_wait=1s"), Some(Path::new("ids.db")));
/// assert_eq!(floe_ledger::file_of("memory:"), None);
/// ```
pub fn file_of(url: &str) -> Option<&Path> {
    let rest = url.strip_prefix("sqlite:")?;
    Some(Path::new(rest.split_once('?').map_or(rest, |(path, _)| path)))
}

/// A realm is named by the rules for names.
fn realm_name(realm: &str) -> Result<(), OpenError> {
    match floe::Name::new(realm) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(OpenError::Asked(format!("`{realm}` cannot be a realm, by the rules for names: {error}")))
        }
    }
}

/// A URL of an unknown kind may hold a password, and errors end up in logs.
fn without_credentials(url: &str) -> String {
    match (url.find("//"), url.rfind('@')) {
        (Some(start), Some(end)) if start + 2 < end => format!("{}…{}", &url[..start + 2], &url[end..]),
        _ => url.to_owned(),
    }
}
