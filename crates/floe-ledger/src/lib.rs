//! Ledgers that keep floe's marks outside the process, each behind a cargo feature of its own.
//!
//! This crate translates [`floe::ledger::Ledger`] to a store and holds no policy. It knows nothing of wires or
//! servers.
//!
//! | URL | feature | shared by |
//! |---|---|---|
//! | `memory:` | (always there) | nobody; a restart forgets it |
//! | `sqlite:PATH` | `sqlite` (default) | the processes of one machine |
//! | `mysql://…`, `mariadb://…` | `mysql` | whoever reaches the database |
//! | `postgres://…` | `postgres`, or `postgres-no-tls` without rustls | whoever reaches the database |
//! | `redis://…`, `rediss://…` | `redis` | whoever reaches the server |
//! | `etcd://…` | `etcd` | whoever reaches the cluster |
//! | `zookeeper://…` | `zookeeper` | whoever reaches the ensemble |
//! | `s3://…`, `gs://…`, `az://…` | `object-store` | whoever reaches the bucket |
//! | `floe://…` | `served` | whoever reaches a floe server that [offers](offer) its own ledger |
//! | `dynamodb://…` | `dynamodb` | whoever reaches the table |
//!
//! Before a shared one a `Cache` may stand (feature `cache`), out of which a node restarts while that one is gone.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let url = format!("sqlite:{}", dir.path().join("ids.db").display());
//! use floe::ledger::Ledger;
//!
//! // url = "sqlite:ids.db"
//! let ledger = floe_ledger::open(&url)?;
//! assert!(!ledger.is_shared());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use std::fmt;
use std::path::Path;

use floe::ledger::{Ledger, LedgerError};

#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(all(fuzzing, feature = "mysql", feature = "zookeeper"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "object-store")]
pub mod object;
#[cfg(feature = "offer")]
pub mod offer;
mod opening;
#[cfg(feature = "postgres-no-tls")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "remote")]
// Those that compare and swap records have no use for all of it, and alone it is of use to no ledger.
#[cfg_attr(not(feature = "etcd"), allow(dead_code, unused_imports))]
mod remote;
mod schemes;
#[cfg(feature = "served")]
pub mod served;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;

#[cfg(feature = "etcd")]
pub use etcd::Etcd;
#[cfg(feature = "mysql")]
pub use mysql::Mysql;
pub use opening::Opening;

#[cfg(feature = "cache")]
pub use cache::Cache;

#[cfg(feature = "postgres-no-tls")]
pub use postgres::Postgres;

#[cfg(feature = "redis")]
pub use self::redis::Redis;

pub use schemes::{check_url, is_scheme, schemes};

#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, open_dir};
#[cfg(feature = "zookeeper")]
pub use zookeeper::Zookeeper;

/// The realm of those who name none.
pub const DEFAULT_REALM: &str = "default";

/// Why a ledger could not be opened.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL, an option in it, or the realm is not right. Nothing was touched.
    Asked(String),
    /// The ledger itself: after [`LedgerError::Unavailable`] it is worth another try, after
    /// [`LedgerError::Unfit`] a person has to look first.
    Ledger(LedgerError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(text) => write!(f, "{text}"),
            Self::Ledger(error) => write!(f, "{error}"),
        }
    }
}

impl From<LedgerError> for OpenError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

floe::__error!(OpenError);

/// Opens the ledger at `url`, in the key space of those who name none ([`DEFAULT_REALM`]). Blocks while it is asked;
/// [`open_async`] does not.
///
/// - `memory:` is a fresh ledger that lives and dies with the process.
/// - `sqlite:PATH` is a file; see [`sqlite`] for what it promises. PATH is taken literally up to a `?`, after which
///   options may stand: `network_filesystem=allow`, `max_wait=10s`, `max_mib=1024`.
/// - `mysql://user:password@host:port/database` is a database on MySQL or MariaDB; see [`mysql`] and [`Mysql::open`].
/// - `postgres://user:password@host:port/database` is a database; see [`postgres`] and [`Postgres::open`].
/// - `redis://user:password@host:port/database` is a Redis or Valkey server; see [`redis`](mod@redis) and [`Redis::open`].
/// - `etcd://host:port,host:port/prefix` is a cluster; see [`etcd`] and [`Etcd::open`].
/// - `zookeeper://user:password@host:port,host:port/path` is an ensemble; see [`zookeeper`] and [`Zookeeper::open`].
/// - `s3://bucket/prefix`, `gs://bucket/prefix` and `az://container/prefix` are buckets; see [`object`].
/// - `floe://:token@host:port,host:port` is the ledger of a floe server; see [`served`].
/// - `dynamodb://table` is a table of Amazon DynamoDB; see [`dynamodb`].
///
/// # Errors
/// [`OpenError`] says what is wrong and what to do. An unknown scheme gets the list of those that this build has.
pub fn open(url: &str) -> Result<Box<dyn Ledger>, OpenError> {
    open_in(url, DEFAULT_REALM)
}

/// [`open`] in a future, on any runtime.
///
/// # Errors
/// Those of [`open`].
pub async fn open_async(url: &str) -> Result<Box<dyn Ledger>, OpenError> {
    let url = url.to_owned();
    floe::blocking(move || open(&url)).await
}

/// [`open`] in the key space `realm`: 1 to 128 bytes of printable text without white space, `/` and `*`. It blocks, too.
///
/// # Errors
/// Those of [`open`].
pub fn open_in(url: &str, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    Opening::of(realm).open(url)
}

/// As [`open`], for those who only look; it blocks, too. A file, a realm, and tables, that are not there already are an error,
/// and nothing is made.
///
/// # Errors
/// [`OpenError`]; it names the realms that there are.
pub fn open_existing(url: &str, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    Opening::of(realm).to_look().open(url)
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

/// A URL as it may stand in a log: without user, password and options.
///
/// ```
/// assert_eq!(floe_ledger::shown("postgres://floe:secret@db:5432/ids?max_wait=1s"), "postgres://…@db:5432/ids");
/// ```
pub fn shown(url: &str) -> String {
    match url.split_once('?') {
        // Perhaps the end of a password: no part of it is shown.
        Some((_, options)) if options.contains('@') => {
            format!("{}:…", url.split(':').next().unwrap_or_default())
        }
        Some((place, _)) => without_credentials(place),
        None => without_credentials(url),
    }
}

/// A URL of an unknown kind may hold a password, and errors end up in logs.
fn without_credentials(url: &str) -> String {
    match (url.find("//"), url.rfind('@')) {
        (Some(start), Some(end)) if start + 2 < end => format!("{}…{}", &url[..start + 2], &url[end..]),
        _ => url.to_owned(),
    }
}

/// The programs in the page for users of the libraries are run with those in the documentation.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../../../docs/library.md")]
    mod library {}
}
