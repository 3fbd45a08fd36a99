//! The ledger in a Redis or Valkey server, shared by as many machines as reach it.
//!
//! # What it promises
//! When `reserve` returns `Got`, the range is in the append-only file and that file is flushed, so kill -9, a crash
//! and a loss of power leave it there. Each call of the contract is a script that the server runs as one step; a
//! reserve is one round trip. The argument why that is linearizable and durable stands beside the scripts, in
//! `scripts.rs`. A refused reserve writes nothing. Realms share the database and nothing else, and each call looks
//! whether its realm is still the one that it was: a `FLUSHALL` under a running ledger is noticed by the next call.
//!
//! # On what that depends
//! - **`appendonly yes`, `appendfsync always`, `no-appendfsync-on-rewrite no`.** Anything else, and a server that
//!   does not let floe look, is refused when a connection is made, unless the URL says `unsafe=allow`.
//! - **`maxmemory-policy` is `noeviction` or `volatile-*`.** The others remove records to make room, and are refused
//!   in the same way.
//! - **One master.** A replica is refused. Replication is asynchronous, and `WAIT` does not make it otherwise: after a
//!   failover to a replica that lacks the last writes, those ranges are handed out again, and no check can see it
//!   beforehand. Raise every mark after such a failover before anything is minted.
//! - **The settings stay as they were.** What somebody changes by `CONFIG SET` is seen on the next connection.
//!
//! # How it behaves
//! Whoever calls drives the connections, at most four; calls may come from any thread, an async runtime's included.
//! Each call, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL says
//! otherwise) and then says [`LedgerError::Unavailable`]. A connection on which anything went wrong is closed, and
//! so are the idle ones beside it; new ones are made at growing, jittered distances of at most half a second.
//! A process that forks opens its ledger again in the child.
//!
//! On a Redis Cluster it works on the node that holds the realm's slot (all keys of a realm share one), and is told
//! by any other node which one that is.
//!
//! [`LedgerError::Unavailable`]: floe::ledger::LedgerError::Unavailable

use std::sync::Arc;

use floe::ledger::Ledger;
use redis::RedisError;

use self::connect::Server;
use self::keys::Keys;
use self::url::Settings;
use crate::remote::{self, Remote};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod checks;
mod connect;
mod keys;
mod marks;
mod realm;
mod scripts;
mod trouble;
mod url;

type Trouble = remote::Trouble<RedisError>;

/// A ledger in a Redis or Valkey server. Threads may share it; each process opens its own.
pub struct Redis {
    remote: Remote<Server>,
}

impl Redis {
    /// Blocks while it opens the ledger behind a URL `redis://user:password@host:port/database?option=value`, or `rediss://…` for TLS, for
    /// the key space `realm`.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3` (seconds), `unsafe=allow`, `password_file=FILE`, and for
    /// `rediss://` `sslmode` (`require`, `verify-ca`, `verify-full`; the last is the default) and `sslrootcert`
    /// (`FILE`, or `system`, the default). A password that the URL leaves out is taken from `REDISCLI_AUTH`, as
    /// Redis's own client does.
    ///
    /// # Errors
    /// `Asked` where the URL, the realm or a credential is not right; `Unavailable` where the server does not answer,
    /// or is a replica; `Unfit` where it is not fit to keep marks, or holds what no floe has written.
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
        let server = Server::new(settings, Arc::new(Keys::of(realm)))?;
        Ok(Self { remote: Remote::open("floe-redis", server, opening)? })
    }
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Redis::enter(url, opening)?))
}

/// Whether a URL can be read, options included. Nobody is connected to.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &|variable| std::env::var(variable).ok()).map(drop)
}

#[cfg(test)]
mod tests;
