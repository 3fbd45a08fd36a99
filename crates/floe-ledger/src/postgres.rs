//! The ledger in a PostgreSQL database, shared by all machines that reach it.
//!
//! # What it promises
//! A record is a row, and each write of it is conditional on the text that was read. When `reserve` returns `Got`, the
//! range is committed and its WAL is flushed, so it survives kill -9, a crash and a loss of power. A reserve on a
//! record that this process wrote last is one statement and one round trip. `statements.rs` has the argument why the
//! statements are linearizable, and [`floe::store`] the argument above them. A refused reserve writes nothing.
//!
//! # On what that depends
//! - **`fsync` and `full_page_writes` are on**, and floe's tables are logged. Every new connection checks this, and
//!   refuses anything else unless the URL says `unsafe=allow`.
//! - **`synchronous_commit`** is on: each statement that writes sets it for its own transaction.
//! - **One primary.** A server in recovery is refused. After a failover to a replica that lacks the last commits, those
//!   ranges are handed out again, and no check can see it beforehand. Use synchronous replication
//!   (`synchronous_standby_names`), or raise every mark after such a failover before anything is minted. Do not cancel
//!   a commit that waits for its standby: PostgreSQL then reports success.
//!
//! # How it behaves
//! The caller drives the connections, at most four. Calls may come from any thread, including threads of an async
//! runtime. Each statement, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the
//! URL says otherwise), and otherwise the call returns [`LedgerError::Unavailable`]. After any error on a connection,
//! it is closed with the idle ones beside it. New ones are made after growing, jittered pauses of at most half a
//! second. A process that forks opens its ledger again in the child.

use std::ops::Range;

use floe::UnixMillis;
use floe::ledger::LedgerError;
use floe::store::{Counting, Entry, Put, Store, Stored, Taken, Version};
use tokio_postgres::Error;

use self::connect::Database;
use self::queries::{DroppedApart, column};
pub use self::queries::{Queries, QueryError, Row};
use self::statements::{Statements, TIME};
use self::url::Settings;
use crate::options::environment;
use crate::remote::{self, Remote, stored};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod connect;
mod queries;
mod schema;
mod statements;
#[cfg_attr(not(feature = "tls"), path = "postgres/no_tls.rs")]
mod tls;
mod trouble;
mod url;

type Trouble = remote::Trouble<Error>;

/// A PostgreSQL database that keeps a ledger's records. Threads may share the ledger on it; each process opens its own.
///
/// ```no_run
/// use floe::Floe;
/// use floe_ledger::Postgres;
///
/// let url = "postgres://floe@db.example/ids?sslmode=verify-full";
/// let orders = Floe::open(Postgres::open(url)?)?.counter("orders")?;
/// let staging = Floe::open(Postgres::open_in(url, "staging")?)?.counter("orders")?; // it counts by itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Postgres {
    queries: Box<dyn Queries>,
    statements: Statements,
    /// The database without credentials, for errors.
    shown: String,
    /// The same, with the remarks of its opening.
    described: String,
}

impl Postgres {
    /// Blocks while it opens the ledger behind a URL `postgres://user:password@host:port/database?option=value`, in the
    /// default realm. Missing tables are made.
    ///
    /// floe's options: `schema` (default `floe`), `max_wait=5s`, `unsafe=allow`, `sslmode` (`disable`, `prefer`,
    /// `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE`. The known options of libpq: `host`, `hostaddr`,
    /// `port`, `user`, `password`, `dbname`, `connect_timeout`, `application_name`, `options`, `keepalives` and its
    /// kin, `tcp_user_timeout`, `target_session_attrs`, `load_balance_hosts`, `sslnegotiation`. Parts that the URL
    /// leaves out come from `PGUSER`, `PGPASSWORD`, `PGPASSFILE` (or `~/.pgpass`), `PGSSLMODE` and `PGSSLROOTCERT`.
    /// [`Postgres`] has an example.
    ///
    /// # Errors
    /// `Asked` if the URL, the realm or a credential is wrong; `Unavailable` if the server does not answer; `Unfit` if
    /// it is not fit to keep marks, or its tables are not floe's.
    pub fn open(url: &str) -> Result<Stored<Self>, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the realm `realm`. [`Postgres`] has an example.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Stored<Self>, OpenError> {
        open_url(url, &Opening::of(realm))
    }

    /// Blocks while it opens the ledger in a `schema` of a database to which the program already has connections. It is
    /// the same ledger that [`open`](Self::open) opens by a URL. `queries` are dropped on a thread of their own.
    ///
    /// Each call of the ledger is one statement, or a few, each in a transaction of its own. It waits as long as
    /// `queries` does. Give those a time limit: then a call without an answer becomes one that is sent again.
    ///
    /// [`Queries`] has an example.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn over(
        queries: impl Queries + 'static,
        schema: &str,
        opening: &Opening,
    ) -> Result<Stored<Self>, OpenError> {
        realm_name(opening.realm())?;
        let schema = url::schema_name(schema.to_owned())?;
        let ask = |sql: &str| {
            queries
                .query(sql, &[])
                .map_err(|error| trouble::at_open(&error, "the program's PostgreSQL database"))
        };
        let name = ask("SELECT current_database()::text")?;
        let name = name.first().and_then(|row| column(row, 0)).unwrap_or_default();
        let shown = url::shown_at("", name, &schema);
        schema::check_server(&ask(schema::SETTINGS)?, &shown, false)?;
        Self::on(Box::new(DroppedApart::new(queries)), schema, shown.clone(), shown, false, opening)
    }

    fn on(
        queries: Box<dyn Queries>,
        schema: String,
        shown: String,
        described: String,
        allow_unsafe: bool,
        opening: &Opening,
    ) -> Result<Stored<Self>, OpenError> {
        let remarks = schema::enter(&*queries, &schema, &shown, allow_unsafe, opening)?;
        let described = remarks.iter().fold(described, |described, remark| format!("{described} ({remark})"));
        let postgres = Self { queries, statements: Statements::in_schema(&schema), shown, described };
        stored::open(postgres, opening)
    }

    fn ask(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, LedgerError> {
        self.queries.query(sql, values).map_err(|error| trouble::at_work(&error, &self.shown))
    }

    /// The result of a statement that compares and swaps.
    fn swap(&self, sql: &str, values: &[&str]) -> Result<Put, LedgerError> {
        let [key, text, expected @ ..] = values else { return Ok(Put::Conflict) };
        let rows = self.ask(sql, values)?;
        Ok(match rows.first().map(|row| (column(row, 0), column(row, 1))) {
            Some((Some(_), _)) => Put::Done(Version::new(text)),
            Some((None, Some(found))) if expected.first() != Some(&found) => {
                Put::Found(Some(stored::entry(found)))
            }
            // The snapshot is older than the row that was found when it was locked.
            _ => Put::Found(self.get(key)?),
        })
    }

    fn no_number(&self) -> LedgerError {
        LedgerError::Unfit(format!(
            "{} answered a count without a number: check what stands between floe and PostgreSQL",
            self.shown
        ))
    }
}

impl Store for Postgres {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let rows = self.ask(&self.statements.get, &[key])?;
        schema::check_recovery(&rows, 1, &self.shown)?;
        Ok(rows.first().and_then(|row| column(row, 0)).map(stored::entry))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        match expected {
            None => self.swap(&self.statements.create, &[key, text]),
            Some(expected) => self.swap(&self.statements.put, &[key, text, expected.as_str()]),
        }
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let rows = self.ask(&self.statements.list, &[prefix, after, &limit.to_string()])?;
        schema::check_recovery(&rows, 2, &self.shown)?;
        let pair = |row: &Row| Some((column(row, 0)?.to_owned(), column(row, 1)?.to_owned()));
        Ok(rows.iter().filter_map(pair).collect())
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.ask(&self.statements.settle, &[&stored::settled()?]).map(drop)
    }

    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        let rows = self.ask(TIME, &[])?;
        Ok(rows.first().and_then(|row| column(row, 0)?.parse().ok()).map(UnixMillis::new))
    }

    fn describe(&self) -> String {
        self.described.clone()
    }
}

impl Counting for Postgres {
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError> {
        let [floor, count, max_mark] = [floor, count, max_mark].map(|number| number.to_string());
        let rows = self.ask(&self.statements.take, &[left, &floor, &count, &max_mark])?;
        let Some(row) = rows.first() else { return Ok(Taken::Left(None)) };
        let number = |index| column(row, index)?.parse().ok();
        match (column(row, 0), number(1), number(2)) {
            (Some("taken"), Some(previous), Some(end)) => Ok(Taken::Numbers { previous, end }),
            (Some("left"), Some(used), Some(until)) => Ok(Taken::Left(Some(used..until))),
            _ => Err(self.no_number()),
        }
    }

    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError> {
        let (start, end) = (new.start.to_string(), new.end.to_string());
        self.swap(&self.statements.put_ahead, &[key, text, expected.as_str(), left, &start, &end])
    }

    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError> {
        self.ask(&self.statements.skip, &[left, &at_least.to_string()]).map(drop)
    }
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Postgres>, OpenError> {
    let settings = Settings::parse(url, &environment)?;
    let (schema, shown) = (settings.schema.clone(), settings.reach.shown.clone());
    let (tls, allow_unsafe) = (tls::tls(&settings)?, settings.reach.allows_unsafe);
    let remote = Remote::open("floe-postgres", Database { settings, tls }, opening)?;
    let described = remote.describe();
    Postgres::on(Box::new(remote), schema, shown, described, allow_unsafe, opening)
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &environment).map(drop)
}

#[cfg(test)]
mod tests;
