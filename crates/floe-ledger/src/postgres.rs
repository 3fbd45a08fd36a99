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
//! A thread of its own drives at most four connections; calls may come from any thread, an async runtime's included.
//! Each call, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL says
//! otherwise) and then says [`LedgerError::Unavailable`]. A connection on which anything went wrong is closed, and
//! so are the idle ones beside it; new ones are made at growing, jittered distances of at most half a second.
//! A process that forks opens its ledger again in the child.

use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use self::pool::Pool;
use self::trouble::Trouble;
use self::url::Settings;
use crate::{OpenError, realm_name};

mod marks;
mod pool;
mod schema;
mod statements;
mod tls;
mod trouble;
mod url;

/// How much longer than its own bound a call is waited for. Only a thread that is gone (after a fork) or a machine
/// that stands takes it up.
const GRACE: Duration = Duration::from_secs(1);

/// A ledger in a PostgreSQL database. Threads may share it; each process opens its own.
pub struct Postgres {
    pool: Arc<Pool>,
    runtime: Handle,
    realm: Arc<str>,
    max_wait: Duration,
    /// What the server was found to be, for [`Ledger::describe`].
    found: OnceLock<String>,
    /// Its drop ends the thread.
    _running: oneshot::Sender<()>,
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
    pub fn open(url: &str, realm: &str) -> Result<Self, OpenError> {
        realm_name(realm)?;
        let settings = Settings::parse(url, &|variable| std::env::var(variable).ok())?;
        let max_wait = settings.max_wait;
        let realm: Arc<str> = realm.into();
        let pool = Arc::new(Pool::new(settings, Arc::clone(&realm))?);
        let (runtime, running) = drive(&pool)?;
        let ledger = Self { pool, runtime, realm, max_wait, found: OnceLock::new(), _running: running };
        let pool = Arc::clone(&ledger.pool);
        let found = ledger.wait(async move { pool.begin().await });
        let found = found.map_err(|trouble| trouble.at_open(ledger.pool.shown()))?;
        ledger.found.get_or_init(|| found);
        Ok(ledger)
    }

    /// Runs `work` on the ledger's thread, and waits for it no longer than the bound.
    fn call<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Trouble>> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.wait(work).map_err(|trouble| trouble.at_work(self.pool.shown()))
    }

    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Trouble>> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (answer, answered) = mpsc::sync_channel(1);
        let max_wait = self.max_wait;
        self.runtime.spawn(async move {
            let outcome = tokio::time::timeout(max_wait, work).await;
            // A caller that has gone away needs no answer.
            drop(answer.send(outcome.unwrap_or(Err(Trouble::Timeout(max_wait)))));
        });
        answered.recv_timeout(max_wait + GRACE).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected => Err(Trouble::NoThread),
        })
    }
}

/// Starts the thread that drives the pool's connections, whether or not anybody calls: a connection that the server
/// closes is noticed at once.
fn drive(pool: &Arc<Pool>) -> Result<(Handle, oneshot::Sender<()>), LedgerError> {
    let failed = |error: std::io::Error| {
        LedgerError::Unavailable(format!(
            "the system refused a thread for the PostgreSQL ledger ({error}): look at the limits of this process"
        ))
    };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let handle = runtime.handle().clone();
    let (running, stopped) = oneshot::channel::<()>();
    let pool = Arc::clone(pool);
    let run = move || {
        runtime.block_on(async {
            drop(stopped.await);
            pool.close().await;
        });
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
    };
    thread::Builder::new().name("floe-postgres".to_owned()).spawn(run).map_err(failed)?;
    Ok((handle, running))
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Postgres::open(url, realm)?))
}

#[cfg(test)]
mod tests;
