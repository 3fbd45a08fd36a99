//! The ledger in an etcd cluster, shared by as many machines as reach it.
//!
//! # What it promises
//! When `reserve` returns `Got`, the range is in a transaction that a majority of the cluster has flushed to its logs,
//! so kill -9, a crash, a loss of power, and the loss of any minority of the members leave it there; who leads the
//! cluster does not matter. A reserve is one transaction, and one round trip where nobody else has moved the mark
//! since this process last saw it; the argument why it is linearizable stands beside it, in `marks.rs`. A refused
//! reserve writes no key. Realms share a prefix and nothing else.
//!
//! # On what that depends
//! - **The members flush their logs**: none runs with `--unsafe-no-fsync`. The API does not say whether one does. What
//!   it does say is the cluster's revision with each answer, and a ledger that sees it go back says
//!   [`LedgerError::Unfit`](floe::ledger::LedgerError::Unfit), whether changes were lost this way or by restoring a backup.
//! - **A release without a known loss**: 3.4.22, 3.5.6 or newer. Older ones are refused when a connection is made,
//!   those from 3.4 on unless the URL says `unsafe=allow`.
//! - **A backup that is restored while no floe runs** is not noticed, nor is one whose revision was raised beyond what
//!   was seen (`--bump-revision`): raise every mark before anything is minted.
//!
//! # How it behaves
//! Whoever calls drives the connections, at most four; calls may come from any thread, an async runtime's included.
//! Calls on one key queue up in the order in which they came, and only other processes are raced for it. Each call,
//! with connecting and waiting its turn, ends within `max_wait` (5 s unless the URL says otherwise) and then says
//! [`LedgerError::Unavailable`](floe::ledger::LedgerError::Unavailable). A connection on which anything went wrong is
//! closed, and so are the idle ones beside it; each new one goes to the next member in the URL, at growing, jittered
//! distances of at most half a second. A process that forks opens its ledger again in the child.

use std::sync::Arc;

use floe::ledger::Ledger;

use self::connect::Cluster;
use self::records::Place;
use self::seen::Keys;
use self::trouble::Fault;
use self::url::Settings;
use crate::remote::{self, Remote};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod connect;
mod history;
mod link;
mod marks;
mod messages;
mod records;
mod seen;
mod trouble;
mod url;

type Trouble = remote::Trouble<Fault>;

/// A ledger in an etcd cluster. Threads may share it; each process opens its own.
pub struct Etcd {
    remote: Remote<Cluster>,
    place: Arc<Place>,
    keys: Keys,
}

impl Etcd {
    /// Blocks while it opens the ledger behind a URL `etcd://user:password@host:port,host:port/prefix?option=value`, under the keys that
    /// begin with `/prefix/` (`/floe/` unless told), for the key space `realm`.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3` (seconds), `unsafe=allow`, `password_file=FILE`, `sslmode`
    /// (`disable`, `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE`, `sslcert=FILE` and `sslkey=FILE`. What the
    /// URL leaves out is taken from `ETCDCTL_USER` (`user:password` or `user`) and `ETCDCTL_PASSWORD`.
    ///
    /// # Errors
    /// `Asked` where the URL, the realm or a credential is not right; `Unavailable` where no member answers; `Unfit`
    /// where the cluster is not fit to keep marks, or the keys are not floe's.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the key space `realm`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Self, OpenError> {
        Self::enter(url, &Opening::of(realm))
    }

    fn enter(url: &str, opening: &Opening) -> Result<Self, OpenError> {
        let realm = opening.realm();
        realm_name(realm)?;
        let settings = Settings::parse(url, &|variable| std::env::var(variable).ok())?;
        let place = Arc::new(Place::new(&settings.prefix, realm));
        let max_wait = settings.bounds.max_wait;
        let cluster = Cluster::new(settings, realm, Arc::clone(&place))?;
        let remote = Remote::open("floe-etcd", cluster, opening)?;
        Ok(Self { remote, place, keys: Keys::new(max_wait) })
    }
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Etcd::enter(url, opening)?))
}

/// Whether a URL can be read, options included. Nobody is connected to.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &|variable| std::env::var(variable).ok()).map(drop)
}

#[cfg(test)]
mod tests;
