//! The ledger in a ZooKeeper ensemble, shared by all machines that reach it.
//!
//! # What it promises
//! When `reserve` returns `Got`, a quorum has agreed on the range and flushed it. So it survives kill -9, a crash and a
//! loss of power, even of all servers at once. A record is a node, and a transaction writes it only if it is still the
//! record that was read. `link.rs` has the argument why that is linearizable on any servers, and [`floe::store`] the
//! argument above it. A refused reserve changes nothing. Realms share the tree and nothing else.
//!
//! # On what that depends
//! - **`forceSync` is yes** (the default) on every server, and settings such as `zookeeper.skipACL` have their defaults.
//!   A client cannot see either.
//! - **A quorum keeps its disks.** An ensemble that is restored from an older backup hands ranges out again, unless
//!   every mark is raised first. A running floe notices if the transaction numbers have gone back.
//! - **No one deletes nodes** below the path in the URL. If the URL has credentials, only they can use the nodes that
//!   floe makes.
//!
//! # How it behaves
//! The caller drives the connections, at most four, each a session. Calls may come from any thread, including threads
//! of an async runtime. floe resumes no session, and uses no ephemeral nodes and no watches. Each round trip, with
//! connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL says otherwise), and
//! otherwise the call returns [`LedgerError::Unavailable`]. After any error on a connection, it is closed with the idle
//! ones beside it. New ones are made after growing, jittered pauses of at most half a second. A process that forks opens
//! its ledger again in the child.

use std::sync::OnceLock;

use floe::UnixMillis;
use floe::ledger::LedgerError;
use floe::store::{Entry, Put, Store, Stored, Version};

use self::connect::Ensemble;
use self::jute::Request;
use self::records::Realm;
use self::trouble::Error;
use self::url::Settings;
use crate::options::environment;
use crate::remote::{self, Remote};
use crate::{DEFAULT_REALM, OpenError, Opening};

mod code;
mod connect;
mod former;
mod jute;
mod layout;
mod link;
mod records;
mod session;
mod trouble;
mod url;

type Trouble = remote::Trouble<Error>;

/// A ZooKeeper ensemble that keeps a ledger's records. Threads may share the ledger on it; each process opens its own.
///
/// ```no_run
/// use floe::Floe;
/// use floe_ledger::Zookeeper;
///
/// let url = "zookeeper://a.example:2181,b.example:2181,c.example:2181/floe";
/// let orders = Floe::open(Zookeeper::open(url)?)?.counter("orders")?;
/// let staging = Floe::open(Zookeeper::open_in(url, "staging")?)?.counter("orders")?; // it counts by itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Zookeeper {
    remote: Remote<Ensemble>,
    /// The path of the realms.
    path: String,
    /// The name of the realm that was opened.
    name: String,
    /// The realm, once it is known to be there.
    realm: OnceLock<Realm>,
}

impl Zookeeper {
    /// Blocks while it opens the ledger behind a URL `zookeeper://user:password@host:port,host:port/path?option=value`, in the
    /// default realm. A missing path (`/floe` by default) and a missing realm are made.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3`, `password_file=FILE`, `sslmode` (`disable`, `prefer`, `require`,
    /// `verify-ca`, `verify-full`), `sslrootcert=FILE`, `sslcert=FILE`, `sslkey=FILE`. If the URL leaves out the user or
    /// the password, it comes from `ZOOKEEPER_USER` or `ZOOKEEPER_PASSWORD`. [`Zookeeper`] has an example.
    ///
    /// # Errors
    /// `Asked` if the URL, the realm or a credential is wrong; `Unavailable` if no server answers, or none has a quorum;
    /// `Unfit` if the content is not floe's, or has gone back.
    pub fn open(url: &str) -> Result<Stored<Self>, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the realm `realm`. [`Zookeeper`] has an example.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Stored<Self>, OpenError> {
        open_url(url, &Opening::of(realm))
    }

    /// Remembers the path of the records, if the realm `name` is the one that was opened.
    fn note(&self, name: &str, record: &str) {
        if let Some(id) = layout::id_in(record).filter(|_| name == self.name) {
            self.realm.get_or_init(|| Realm::new(&layout::realm_path(&self.path, &self.name), id));
        }
    }

    /// The realm that was opened, if it has this name.
    fn realm(&self, name: &str) -> Option<Realm> {
        self.realm.get().filter(|_| name == self.name).cloned()
    }
}

impl Store for Zookeeper {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let (sort, name, rest) = layout::split(key);
        let (sort, name, path) = (sort.to_owned(), name.to_owned(), self.path.clone());
        match (rest.map(str::to_owned), self.realm(&name)) {
            (None, _) => {
                let path = layout::realm_path(&path, &name);
                let found = self.remote.call(move |link| Box::pin(async move { link.realm(&path).await }))?;
                Ok(found.map(|(_, text, version)| {
                    self.note(&name, &text);
                    Entry { version: Version::new(&version.to_string()), text }
                }))
            }
            (Some(key), Some(realm)) => {
                self.remote.call(move |link| Box::pin(async move { link.find(&realm, &sort, &key).await }))
            }
            (Some(key), None) => self.remote.call(move |link| {
                Box::pin(async move {
                    match link.elsewhere(&path, &name, (&sort, &key)).await {
                        // A user without the right to read the record gets none.
                        Err(Trouble::Store(Error::Code(code::NO_AUTH))) => Ok(None),
                        found => found,
                    }
                })
            }),
        }
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let (sort, name, key) = layout::split(key);
        let (path, realm_path) = (self.path.clone(), layout::realm_path(&self.path, name));
        let (sort, record) = (sort.to_owned(), text.to_owned());
        let Some(key) = key.map(str::to_owned) else {
            let made = self
                .remote
                .call(move |link| Box::pin(async move { link.make(&path, &realm_path, &record).await }))?;
            if !made {
                return Ok(Put::Conflict);
            }
            self.note(name, text);
            return Ok(Put::Done(Version::from(0)));
        };
        let (realm, expected) = (self.realm(name), expected.map(|version| version.as_str().to_owned()));
        self.remote.call(move |link| {
            Box::pin(async move {
                let realm = realm.ok_or_else(|| link.is_gone(&realm_path))?;
                link.replace(&realm, (&sort, &key), &record, expected.as_deref()).await
            })
        })
    }

    /// It lists records of the realm that was opened, and of no other.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let (sort, name, rest) = layout::split(prefix);
        let realm = self.realm(name);
        // A missing realm has no records.
        if rest.is_some() && realm.is_none() {
            return Ok(Vec::new());
        }
        let realm = realm.filter(|_| rest.is_some());
        let base = rest.map_or_else(|| format!("{sort}/"), |_| format!("{sort}/{name}/"));
        let (path, prefix, after) = (self.path.clone(), prefix.to_owned(), after.to_owned());
        self.remote.call(move |link| {
            Box::pin(async move { link.list((&path, realm.as_ref()), &base, (&prefix, &after, limit)).await })
        })
    }

    /// The leader's time. ZooKeeper has no request for it, so floe writes a node and reads the time of that write.
    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        let Some(realm) = self.realm.get().cloned() else { return Ok(None) };
        self.remote.call(move |link| {
            Box::pin(async move {
                let path = format!("{}/{}", realm.root, layout::CLOCK);
                let reply = link.settle_one(Request::Write { path: &path, data: b"", version: -1 }).await?;
                if reply.code == code::NO_NODE {
                    return Err(link.is_gone(&realm.root));
                }
                Ok(Some(UnixMillis::new(reply.written().map_err(Trouble::Store)?.written_ms)))
            })
        })
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

/// Reads bytes as a server's replies.
#[cfg(fuzzing)]
pub(crate) fn fuzzed(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some((content, after))) = jute::next_frame(rest) {
        assert!(after.len() < rest.len() && content.len() < rest.len());
        rest = after;
        let _timeout = jute::session_timeout_ms(content);
        let Ok(reply) = jute::Reply::parse(content) else { continue };
        let _read =
            (reply.written(), reply.data(), reply.children(), reply.is_open_to_all(), reply.outcome());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _realm = layout::parse_realm(text);
    let _record = former::record(Some(text), Some(text), "0f", None);
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Zookeeper>, OpenError> {
    let name = opening.realm().to_owned();
    let settings = Settings::parse(url, &environment)?;
    let path = settings.path.clone();
    let remote = Remote::open("floe-zookeeper", Ensemble::new(settings, &name)?, opening)?;
    remote::stored::open(Zookeeper { remote, path, name, realm: OnceLock::new() }, opening)
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &environment).map(drop)
}

#[cfg(test)]
mod tests;
