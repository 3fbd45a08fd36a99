//! The ledger in a MySQL or MariaDB database, shared by as many machines as reach it.
//!
//! # What it promises
//! When `reserve` returns `Got`, the range is committed and InnoDB's log is flushed, and the binary log with it where
//! there is one: kill -9, a crash and a loss of power leave it there. A reserve is one packet of several statements, a
//! transaction, and one round trip; the argument why it is linearizable stands beside the statements, in
//! `statements.rs`. A refused reserve writes nothing. Realms share the tables and nothing else.
//!
//! # On what that depends
//! - **`innodb_flush_log_at_trx_commit` is 1** (or 3, on MariaDB), **`sync_binlog` is 1** where there is a binary log,
//!   `innodb_doublewrite` is on, and floe's tables are InnoDB's. Anything else is refused when a connection is made,
//!   unless the URL says `unsafe=allow`. `sync_binlog` is 0 by default on MariaDB.
//! - **One primary.** A server that is `read_only`, or replicates from another, is refused. After a failover to a
//!   replica that lacks the last commits, those ranges are handed out again, and no check can see it beforehand:
//!   replication is asynchronous unless told otherwise, and semi-synchronous replication falls back to asynchronous
//!   after a while. Raise every mark after such a failover before anything is minted.
//! - **Sessions stay themselves.** A proxy in between has to keep a session on one connection, and repeats nothing.
//!
//! # How it behaves
//! Whoever calls drives the connections, at most four; calls may come from any thread, an async runtime's included.
//! Each call, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL says
//! otherwise) and then says [`LedgerError::Unavailable`](floe::ledger::LedgerError::Unavailable). A connection on which
//! anything went wrong is closed, and so are the idle ones beside it; new ones are made at growing, jittered distances
//! of at most half a second. A process that forks opens its ledger again in the child.

use std::sync::Arc;

use floe::ledger::Ledger;

use self::connect::Database;
use self::url::Settings;
use crate::remote::{self, Remote};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod channel;
mod connect;
mod login;
mod marks;
mod schema;
mod session;
mod statements;
mod trouble;
mod url;

type Trouble = remote::Trouble<trouble::Error>;

/// A ledger in a MySQL or MariaDB database. Threads may share it; each process opens its own.
pub struct Mysql {
    remote: Remote<Database>,
    realm: Arc<str>,
}

impl Mysql {
    /// Blocks while it opens the ledger behind a URL `mysql://user:password@host:port/database?option=value` (or `mariadb://…`), its tables
    /// made where they are missing, for the key space `realm`.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3s`, `unsafe=allow`, `password_file=FILE`, `sslmode` (`disable`,
    /// `prefer`, `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE`. What the URL leaves out is taken from
    /// `MYSQL_HOST`, `MYSQL_TCP_PORT` and `MYSQL_PWD`.
    ///
    /// # Errors
    /// `Asked` where the URL, the realm or a credential is not right; `Unavailable` where the server does not answer;
    /// `Unfit` where it is not fit to keep marks, or its tables are not floe's.
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
        let realm: Arc<str> = realm.into();
        let database = Database::new(settings, Arc::clone(&realm))?;
        Ok(Self { remote: Remote::open("floe-mysql", database, opening)?, realm })
    }
}

/// What a server says, to a ledger that logs in or has logged in.
#[cfg(fuzzing)]
pub(crate) fn fuzzed(bytes: &[u8], is_logged_in: bool) {
    let settings = Settings::parse("mysql://floe:secret@db/ids?sslmode=disable", &|_| None);
    let database = settings.and_then(|settings| Database::new(settings, "shop".into()));
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    if let (Ok(database), Ok(runtime)) = (database, runtime) {
        runtime.block_on(database.fuzzed(bytes, is_logged_in));
    }
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Mysql::enter(url, opening)?))
}

/// Whether a URL can be read, options included. Nobody is connected to.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &|variable| std::env::var(variable).ok()).map(drop)
}

#[cfg(test)]
mod tests;
