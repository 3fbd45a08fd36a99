//! The ledger in a ZooKeeper ensemble, shared by as many machines as reach it.
//!
//! # What it promises
//! When `reserve` returns `Got`, a quorum has agreed on the range and flushed it, so kill -9, a crash and a loss of power
//! leave it there, also on every server at once. A record changes by a write on the condition that its version is
//! still the one that was seen; the argument why that is linearizable, whichever servers are asked, stands beside it,
//! in `change.rs`. A refused reserve changes nothing. Realms share the tree and nothing else.
//!
//! # On what that depends
//! - **`forceSync` is yes** (the default) on every server, and `zookeeper.skipACL` and the like are as they were. A
//!   client cannot see it.
//! - **A quorum keeps its disks.** An ensemble that is restored from an older backup hands ranges out again, unless
//!   every mark is raised first. A floe that runs notices where the transaction numbers have gone back.
//! - **Nobody deletes nodes** below the path in the URL. With credentials in the URL the nodes that floe makes are
//!   open to these alone.
//!
//! # How it behaves
//! Whoever calls drives the connections, at most four, each a session; calls may come from any thread, an async
//! runtime's included. Nothing hangs on sessions: none is resumed, and there are no ephemeral nodes and no
//! watches. Each call, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL
//! says otherwise) and then says [`LedgerError::Unavailable`](floe::ledger::LedgerError::Unavailable). A connection on
//! which anything went wrong is closed, and so are the idle ones beside it; new ones are made at growing, jittered
//! distances of at most half a second. A process that forks opens its ledger again in the child.

use std::sync::Arc;

use floe::ledger::Ledger;

use self::connect::Ensemble;
use self::link::Known;
use self::trouble::Error;
use self::url::Settings;
use crate::remote::{self, Remote};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod change;
mod connect;
mod enter;
mod jute;
mod layout;
mod link;
mod marks;
mod session;
mod trouble;
mod url;

type Trouble = remote::Trouble<Error>;

/// A ledger in a ZooKeeper ensemble. Threads may share it; each process opens its own.
pub struct Zookeeper {
    remote: Remote<Ensemble>,
    known: Arc<Known>,
}

impl Zookeeper {
    /// Blocks while it opens the ledger behind a URL `zookeeper://user:password@host:port,host:port/path?option=value`, for the key space
    /// `realm`. The path (`/floe` unless told) and the realm are made where they are missing.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3`, `password_file=FILE`, `sslmode` (`disable`, `prefer`, `require`,
    /// `verify-ca`, `verify-full`), `sslrootcert=FILE`, `sslcert=FILE`, `sslkey=FILE`. What the URL leaves out is taken
    /// from `ZOOKEEPER_USER` and `ZOOKEEPER_PASSWORD`.
    ///
    /// # Errors
    /// `Asked` where the URL, the realm or a credential is not right; `Unavailable` where no server answers, or none has
    /// a quorum; `Unfit` where what is there is not floe's, or has gone back.
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
        let known = Arc::default();
        let ensemble = Ensemble::new(settings, realm, Arc::clone(&known))?;
        Ok(Self { remote: Remote::open("floe-zookeeper", ensemble, opening)?, known })
    }
}

/// What a server says.
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
    let _realm = layout::parse_realm(bytes);
    if let Some(record) = layout::parse_record(bytes) {
        assert_eq!(layout::parse_record(layout::record_text(&record).as_bytes()), Some(record));
    }
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Zookeeper::enter(url, opening)?))
}

/// Whether a URL can be read, options included. Nobody is connected to.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &|variable| std::env::var(variable).ok()).map(drop)
}

#[cfg(test)]
mod tests;
