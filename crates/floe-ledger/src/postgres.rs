//! The ledger in a PostgreSQL database, shared by as many machines as reach it.
//!
//! # What it promises
//! When `reserve` returns `Got`, the range is committed and its WAL is flushed (`synchronous_commit`, which floe sets
//! for its own sessions), so kill -9, a crash and a loss of power leave it there. A reserve is one statement and one
//! round trip; the argument why it is linearizable stands beside it, in `statements.rs`. A refused reserve writes
//! nothing. Realms share the tables and nothing else.
//!
//! # On what that depends
//! - **`fsync` and `full_page_writes` are on**, and floe's tables are logged. Anything else is refused when a
//!   connection is made, unless the URL says `unsafe=allow`.
//! - **`synchronous_commit` is on.** `off`, `local` and `remote_write` are turned to `on` for floe's sessions, and
//!   [`Ledger::describe`] says so.
//! - **One primary.** A server in recovery is refused. After a failover to a replica that lacks the last commits,
//!   those ranges are handed out again, and no check can see it beforehand: use synchronous replication
//!   (`synchronous_standby_names`), or raise every mark after such a failover before anything is minted. Nobody may
//!   cancel a commit that waits for its standby: PostgreSQL then reports success.
//! - **Sessions stay themselves.** A pooler in between has to pool sessions, not transactions.
//!
//! # How it behaves
//! Whoever calls drives the connections, at most four; calls may come from any thread, an async runtime's included.
//! Each call, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL says
//! otherwise) and then says [`LedgerError::Unavailable`](floe::ledger::LedgerError::Unavailable). A connection on which anything went wrong is closed, and
//! so are the idle ones beside it; new ones are made at growing, jittered distances of at most half a second.
//! A process that forks opens its ledger again in the child.
//!
//! [`LedgerError::Unavailable`]: floe::ledger::LedgerError::Unavailable

use std::sync::Arc;

use floe::ledger::Ledger;
use tokio_postgres::Error;

use self::connect::Database;
use self::url::Settings;
use crate::remote::{self, Remote};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod connect;
mod counting;
mod marks;
mod schema;
mod statements;
#[cfg_attr(not(feature = "tls"), path = "postgres/no_tls.rs")]
mod tls;
mod trouble;
mod url;

type Trouble = remote::Trouble<Error>;

/// A ledger in a PostgreSQL database. Threads may share it; each process opens its own.
pub struct Postgres {
    remote: Remote<Database>,
    realm: Arc<str>,
}

impl Postgres {
    /// The ledger behind a URL `postgres://user:password@host:port/database?option=value`, its tables made where they
    /// are missing, for the key space `realm`.
    ///
    /// Options of floe: `schema` (`floe` unless told), `max_wait=5s`, `unsafe=allow`, `sslmode`
    /// (`disable`, `prefer`, `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE`. Options of libpq that are
    /// known: `host`, `hostaddr`, `port`, `user`, `password`, `dbname`, `connect_timeout`, `application_name`,
    /// `options`, `keepalives` and its kin, `tcp_user_timeout`, `target_session_attrs`, `load_balance_hosts`,
    /// `sslnegotiation`. What the URL leaves out is taken from `PGUSER`, `PGPASSWORD`, `PGPASSFILE` (or `~/.pgpass`),
    /// `PGSSLMODE` and `PGSSLROOTCERT`.
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
        let tls = tls::tls(&settings)?;
        let realm: Arc<str> = realm.into();
        let database = Database { settings, tls, realm: Arc::clone(&realm) };
        Ok(Self { remote: Remote::open("floe-postgres", database, opening)?, realm })
    }
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Postgres::enter(url, opening)?))
}

/// Whether a URL can be read, options included. Nobody is connected to.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &|variable| std::env::var(variable).ok()).map(drop)
}

#[cfg(test)]
mod tests;
