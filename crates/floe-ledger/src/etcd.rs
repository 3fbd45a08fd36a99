//! The ledger in an etcd cluster, shared by all machines that reach it.
//!
//! # What it promises
//! A record is a key, and each write of it is a transaction that is conditional on the text that was read. When `reserve`
//! returns `Got`, a majority of the members has flushed the range to its logs. So the range survives kill -9, a crash, a
//! loss of power, a change of the leader, and the loss of any minority of the members. A reserve on a record that this
//! process wrote last is one round trip. A refused reserve writes no key. Realms share a prefix and nothing else.
//! [`floe::store`] has the argument why no range is handed out twice. It rests on two properties of etcd:
//!
//! 1. A transaction that may write is an entry of the Raft log. When a majority has flushed the entry, etcd applies it
//!    as a whole, before or after every other entry, and then answers. So a write is on stable storage when its answer
//!    arrives. Its conditions and reads are of the moment when it was applied, which lies inside the call.
//! 2. A transaction that only reads (and does not ask for `serializable`) sees everything that was answered before the
//!    call began. etcd shows nothing before it is on stable storage.
//!
//! A record's version is its text: no two writes leave the same. etcd's own `mod_revision` cannot be the version. A
//! cluster that was restored from a backup counts on from the backup's revision, so another write may get the revision
//! that was read.
//!
//! Each write has a second condition. A record's write requires that the realm's record is the one that this record
//! names. A realm is made only if the layout has this floe's version. So if a realm was deleted, made again, or taken
//! over by a newer floe, etcd rejects the write.
//!
//! # On what that depends
//! - **The members flush their logs**: none runs with `--unsafe-no-fsync`. The API does not show whether one does, but
//!   each answer has the cluster's revision. If the revision goes back, the ledger returns [`LedgerError::Unfit`],
//!   whether changes were lost this way or a backup was restored.
//! - **A release without a known loss**: 3.4.22, 3.5.6 or newer. Each new connection refuses older ones; from 3.4 on,
//!   the URL can accept them with `unsafe=allow`.
//! - **A backup that is restored while no floe runs** is not noticed. The same holds if its revision was raised beyond
//!   the one that was seen (`--bump-revision`). Raise every mark before anything is minted.
//!
//! # How it behaves
//! The caller drives the connections, at most four. Calls may come from any thread, including threads of an async
//! runtime. Each round trip, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the
//! URL says otherwise), and otherwise the call returns [`LedgerError::Unavailable`]. After any error on a connection,
//! it is closed with the idle ones beside it. Each new one goes to the next member in the URL, after growing, jittered
//! pauses of at most half a second. A process that forks opens its ledger again in the child.

use std::sync::Arc;

use floe::ledger::LedgerError;
use floe::store::{Entry, Put, Store, Stored, Version};

use self::connect::Cluster;
use self::messages::{Compare, Operation, RangeRequest, TxnRequest, TxnResponse};
use self::trouble::Fault;
use self::url::Settings;
use crate::options::environment;
use crate::remote::{self, Remote, realm as words, stored};
use crate::{DEFAULT_REALM, OpenError, Opening};

mod connect;
mod history;
mod layout;
mod link;
mod messages;
mod trouble;
mod url;

type Trouble = remote::Trouble<Fault>;

/// How many keys a list asks for at once. It keeps answers below the limit of a connection.
const PAGE: usize = 500;

/// An etcd cluster that keeps a ledger's records. Threads may share the ledger on it; each process opens its own.
///
/// ```no_run
/// use floe::Floe;
/// use floe_ledger::Etcd;
///
/// let url = "etcd://a.example:2379,b.example:2379,c.example:2379/floe?max_wait=3s";
/// let orders = Floe::open(Etcd::open(url)?)?.counter("orders")?;
/// let staging = Floe::open(Etcd::open_in(url, "staging")?)?.counter("orders")?; // it counts by itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Etcd {
    remote: Remote<Cluster>,
    settings: Arc<Settings>,
}

impl Etcd {
    /// Blocks while it opens the ledger behind a URL `etcd://user:password@host:port,host:port/prefix?option=value`, in
    /// the default realm. Its keys begin with `/prefix/`, by default `/floe/`.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3` (seconds), `unsafe=allow`, `password_file=FILE`, `sslmode`
    /// (`disable`, `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE`, `sslcert=FILE` and `sslkey=FILE`. If the
    /// URL leaves out the user or the password, it comes from `ETCDCTL_USER` (`user:password` or `user`) and
    /// `ETCDCTL_PASSWORD`. [`Etcd`] has an example.
    ///
    /// # Errors
    /// `Asked` if the URL, the realm or a credential is wrong; `Unavailable` if no member answers; `Unfit` if the
    /// cluster is not fit to keep marks, or the keys are not floe's.
    pub fn open(url: &str) -> Result<Stored<Self>, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the realm `realm`. [`Etcd`] has an example.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Stored<Self>, OpenError> {
        open_url(url, &Opening::of(realm))
    }

    fn path(&self, key: &str) -> Vec<u8> {
        self.settings.path(key)
    }

    fn run(&self, request: TxnRequest) -> Result<TxnResponse, LedgerError> {
        self.remote.call(move |link| Box::pin(async move { link.txn(&request).await }))
    }
}

impl Store for Etcd {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let found = self.run(TxnRequest::look([self.path(key)]))?;
        Ok(found.found().next().flatten().map(stored::entry))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let path = self.path(key);
        let (guard, wanted) = if key.starts_with("realm/") {
            (self.path(layout::KEY), layout::VERSION.to_string())
        } else {
            // Every record of a realm begins with the realm's record.
            let realm = key.split('/').nth(1).unwrap_or_default();
            (self.path(&format!("realm/{realm}")), text.split_inclusive('\n').take(2).collect())
        };
        let request = TxnRequest {
            compare: vec![
                Compare::new(&guard, Some(&wanted)),
                Compare::new(&path, expected.map(Version::as_str)),
            ],
            success: vec![Operation::put(&path, text)],
            failure: [path, guard, self.path(layout::KEY)].map(Operation::get).into(),
        };
        let outcome = self.run(request)?;
        if outcome.succeeded {
            return Ok(Put::Done(Version::new(text)));
        }
        let mut found = outcome.found();
        let (record, guard, version) = (found.next(), found.next().flatten(), found.next().flatten());
        if guard.as_ref() != Some(&wanted) {
            layout::check_version(version.as_deref(), &self.settings.reach.shown)?;
            return Err(match guard {
                None => words::is_gone(&self.settings.reach.shown, "the realm"),
                Some(_) => words::is_another(&self.settings.reach.shown),
            });
        }
        Ok(Put::Found(record.flatten().map(stored::entry)))
    }

    /// If the user may read only one realm, it lists no other.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let is_of_realms = prefix == "realm/";
        let mut key = self.path(prefix).max(self.path(&format!("{after}\0")));
        // The first key that does not begin with the prefix: text has no byte 255.
        let mut range_end = self.path(prefix);
        if let Some(last) = range_end.last_mut() {
            *last += 1;
        }
        let mut all = Vec::new();
        while all.len() < limit {
            let page = PAGE.min(limit - all.len());
            let limit = i64::try_from(page).unwrap_or(i64::MAX);
            let look = RangeRequest { key, range_end: range_end.clone(), limit };
            let look = TxnRequest { success: vec![Operation::range(look)], ..TxnRequest::default() };
            let found = self.remote.call(move |link| {
                Box::pin(async move {
                    match link.txn(&look).await {
                        Err(Trouble::Store(fault)) if is_of_realms && fault.is_denied() => {
                            Ok(TxnResponse::default())
                        }
                        found => found,
                    }
                })
            })?;
            let found: Vec<_> = found.ranges().flat_map(|range| range.kvs).collect();
            let Some(last) = found.last() else { break };
            key = [&last.key[..], b"\0"].concat();
            let is_last = found.len() < page;
            all.extend(found.into_iter().filter_map(|found| {
                let key = std::str::from_utf8(&found.key).ok()?;
                let key = key.strip_prefix(&self.settings.prefix)?.strip_prefix('/')?.to_owned();
                Some((key, found.text()))
            }));
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Etcd>, OpenError> {
    let settings = Arc::new(Settings::parse(url, &environment)?);
    let cluster = Cluster::new(Arc::clone(&settings), opening.realm())?;
    let etcd = Etcd { remote: Remote::open("floe-etcd", cluster, opening)?, settings };
    layout::enter(&etcd, opening)?;
    stored::open(etcd, opening)
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &environment).map(drop)
}

#[cfg(test)]
mod tests;
