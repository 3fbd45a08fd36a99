//! Ledgers that keep floe's marks outside the process, each behind its own cargo feature.
//!
//! Most stores here implement [`floe::store::Store`], and the policy above them is floe's. SQLite, the cache and `floe://`
//! implement [`floe::ledger::Ledger`] themselves. The crate knows nothing of wires or servers.
//!
//! | URL | feature | shared by |
//! |---|---|---|
//! | `memory:` | (always there) | nobody; a restart forgets it |
//! | `sqlite:PATH` | [`sqlite`] (default) | the processes of one machine |
//! | `mysql://user:password@host:port/database`, `mariadb://…` | [`mysql`] | all that reach the database |
//! | `postgres://user:password@host:port/database` | [`postgres`], or `postgres-no-tls` without rustls | all that reach the database |
//! | `redis://user:password@host:port/database`, `rediss://…` | [`redis`](mod@redis) | all that reach the Redis or Valkey |
//! | `etcd://host:port,host:port/prefix` | [`etcd`] | all that reach the cluster |
//! | `zookeeper://user:password@host:port,host:port/path` | [`zookeeper`] | all that reach the ensemble |
//! | `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` | [`object-store`](object) | all that reach the bucket |
//! | `floe://:token@host:port,host:port` | [`served`] | all that reach a floe server that [offers](offer) its own ledger |
//! | `dynamodb://table` | [`dynamodb`] | all that reach the table |
//! | `consul://:token@host:port,host:port/prefix` | [`consul`] | all that reach the cluster |
//!
//! A `Cache` (feature `cache`) may stand in front of a shared one. With it, a node can restart while the shared one is down.
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
use floe::store::Place;

#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "consul")]
pub mod consul;
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
// A build with few ledgers does not use all of these.
#[cfg_attr(not(all(feature = "mysql", feature = "offer", feature = "sqlite")), allow(dead_code))]
mod opening;
#[cfg_attr(not(all(feature = "mysql", feature = "redis", feature = "sqlite")), allow(dead_code))]
mod options;
#[cfg(any(feature = "remote", feature = "sqlite"))]
// SQLite alone uses only a part of it.
#[cfg_attr(not(any(feature = "cache", feature = "remote")), allow(dead_code))]
mod pauses;
#[cfg(feature = "postgres-no-tls")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "remote")]
// A build with few ledgers does not use all of it.
#[cfg_attr(not(all(feature = "mysql", feature = "served")), allow(dead_code, unused_imports))]
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

pub use schemes::{check_scheme, check_url};

#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, open_dir};
#[cfg(feature = "zookeeper")]
pub use zookeeper::Zookeeper;

/// The realm of callers that name none.
pub const DEFAULT_REALM: &str = "default";

/// Why a ledger could not be opened.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL, an option in it, or the realm is not right. Nothing was touched.
    Asked(String),
    /// The ledger's error: after [`LedgerError::Unavailable`] try again; after [`LedgerError::Unfit`] a person has to
    /// act first.
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

/// Opens the ledger at `url`, in the default realm ([`DEFAULT_REALM`]). Blocks while it connects; [`open_async`]
/// does not.
///
/// The [crate's page](crate) lists the URLs, and each store's module says what the store promises and which options may
/// follow a `?`. `memory:` is a fresh ledger that lives and dies with the process. The PATH of `sqlite:` is taken
/// literally; its options are `network_filesystem=allow`, `max_wait=10s` and `max_mib=1024`.
///
/// ```
/// use floe::Floe;
/// use floe_ledger::OpenError;
///
/// let ledger = floe_ledger::open("memory:")?;
/// assert_eq!(Floe::open(ledger)?.counter("orders")?.mint()?.get(), 1);
/// assert!(matches!(floe_ledger::open("sqllite:ids.db"), Err(OpenError::Asked(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OpenError`] says what is wrong and what to do. For an unknown scheme it lists those of this build.
pub fn open(url: &str) -> Result<Box<dyn Ledger>, OpenError> {
    open_in(url, DEFAULT_REALM)
}

/// [`open`] in a future, on any runtime.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use floe::Floe;
///
/// let ledger = floe_ledger::open_async("memory:").await?;
/// let orders = Floe::open_async(ledger).await?.counter_async("orders").await?;
/// assert_eq!(orders.mint_async().await?.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// Those of [`open`].
pub async fn open_async(url: &str) -> Result<Box<dyn Ledger>, OpenError> {
    let url = url.to_owned();
    floe::blocking(move || open(&url)).await
}

/// [`open`] in the realm `realm`: 1 to 128 bytes of printable text without white space, `/` and `*`. It blocks, too.
///
/// A `*` before such a name makes it the name of a scratch realm, for tests on a store that is in use. floe does not count
/// it among the realms of the store, so it can stay there.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let url = format!("sqlite:{}", dir.path().join("ids.db").display());
/// use floe::ledger::Ledger;
///
/// // url = "sqlite:ids.db"
/// floe_ledger::open_in(&url, "*test-7")?;
/// let ledger = floe_ledger::open(&url)?; // with a realm `test-7` there, this would be an error
/// assert!(!ledger.describe().contains("test-7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`open`].
pub fn open_in(url: &str, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    Opening::of(realm).open(url)
}

/// Like [`open`], for callers that only look; it blocks, too. If the file, the realm or the tables do not exist, that
/// is an error, and nothing is made.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let url = format!("sqlite:{}", dir.path().join("ids.db").display());
/// // url = "sqlite:ids.db", which is not there yet
/// assert!(floe_ledger::open_existing(&url, "default").is_err());
/// floe_ledger::open(&url)?;
/// assert!(floe_ledger::open_existing(&url, "default").is_ok());
/// let error = floe_ledger::open_existing(&url, "shop").err().ok_or("it was made")?;
/// assert!(error.to_string().contains("default"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`OpenError`]; it names the existing realms.
pub fn open_existing(url: &str, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    Opening::of(realm).to_look().open(url)
}

/// The file behind the URL of an embedded ledger, for callers that want to know whether it exists before they open it
/// (which would make it). `None` for any other URL.
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

/// The rules for names also apply to realms, behind the sign of a scratch realm.
fn realm_name(realm: &str) -> Result<(), OpenError> {
    match floe::Name::new(realm.strip_prefix(Place::SCRATCH).unwrap_or(realm)) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(OpenError::Asked(format!("`{realm}` cannot be a realm, by the rules for names: {error}")))
        }
    }
}

/// A URL that is safe in a log: without user, password and options.
///
/// ```
/// assert_eq!(floe_ledger::shown("postgres://floe:secret@db:5432/ids?max_wait=1s"), "postgres://…@db:5432/ids");
/// ```
pub fn shown(url: &str) -> String {
    match url.split_once('?') {
        // This may be the end of a password: show no part of it.
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

/// The programs in the page for users of the libraries run with the documentation tests.
#[cfg(all(doctest, feature = "sqlite"))]
mod pages {
    #[doc = include_str!("../../../docs/library.md")]
    mod library {}
}

#[cfg(all(
    test,
    feature = "cache",
    feature = "mysql",
    feature = "object-store",
    feature = "offer",
    feature = "served"
))]
mod tests {
    use std::time::Duration;

    use crate::options::{CONNECT_TIMEOUT, MAX_WAIT};
    use crate::sqlite::{ahead, witness};
    use crate::{cache, mysql, object, offer, remote::pool, served};

    #[test]
    fn no_part_of_a_password_is_shown() {
        for (url, shown) in [
            ("postgres://floe:se@cret@db/ids", "postgres://…@db/ids"),
            ("mysql://:@@@db/ids?max_wait=1s", "mysql://…@db/ids"),
            ("redis://floe:se//c@ret@cache:6379/0", "redis://…@cache:6379/0"),
            ("oracle://floe:se?c@ret@db/ids", "oracle:…"),
            ("etcd://a:2379,b:2379/ids", "etcd://a:2379,b:2379/ids"),
        ] {
            assert_eq!(crate::shown(url), shown);
        }
    }

    /// Sentences of the pages with a limit or a default of this crate. Small numbers are words there, so they are compared
    /// with the constants first.
    #[test]
    fn the_pages_say_the_limits() {
        assert_eq!([pool::CONNECTIONS, usize::from(served::MOST_SERVERS), object::url::RETRIES], [4, 4, 3]);
        assert_eq!([pool::PAUSES.longest, cache::PATIENCE], [Duration::from_millis(500); 2]);
        assert_eq!(cache::top_up::PAUSES.longest, Duration::from_secs(2));
        let moved = mysql::schema::MOVED_A_SECOND;
        let (moved, writes) = (format!("{},000", moved / 1_000), witness::FLUSHED_EVERY);
        let [writes, ahead] =
            [writes, ahead::MOST_AHEAD].map(|number| format!("{},{:03}", number / 1_000, number % 1_000));
        let page = |name: &str| {
            let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for (name, sentence) in [
            ("ledgers", format!("| `max_wait` | `{}s` |", MAX_WAIT.as_secs())),
            ("ledgers", format!("| `connect_timeout` | `{}` (seconds", CONNECT_TIMEOUT.as_secs())),
            ("ledgers", "A process has at most four connections to its store".to_owned()),
            ("ledgers", "after a random delay of at most half a second".to_owned()),
            ("ledgers", "up to three repeats included".to_owned()),
            ("ledgers", format!("an object of more than {} KiB", object::LONGEST_RECORD >> 10)),
            ("ledgers", format!("| a list | 1 for each {} records |", offer::PAGE)),
            ("ledgers", format!("and keeps at most {} open", offer::OPEN)),
            ("ledgers", "A chain has at most four servers".to_owned()),
            ("ledgers", format!("{moved} records for each second of `max_wait`")),
            ("ledgers", "after random pauses of at most two seconds".to_owned()),
            ("ledgers", "opening waits for the ledger for half a second at most".to_owned()),
            ("ledgers", format!("If a range lasts for less than {} ms", ahead::BUSY.as_millis())),
            ("ledgers", format!("or up to {ahead} of a busy counter")),
            ("operating", format!("the witness may lack up to the last {writes} writes")),
            ("guarantees", format!("the witness may be up to {writes} writes behind")),
        ] {
            assert!(page(name).contains(&sentence), "docs/{name}.md does not say: {sentence}");
        }
    }
}
