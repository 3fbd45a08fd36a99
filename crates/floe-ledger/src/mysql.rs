//! The ledger in a MySQL or MariaDB database, shared by all machines that reach it.
//!
//! # What it promises
//! A record is a row, and each write of it is conditional on the text that was read. When `reserve` returns `Got`, the
//! range is committed, and InnoDB's log is flushed, with the binary log if there is one: the range survives kill -9, a
//! crash and a loss of power. A reserve on a record that this process wrote last is one packet and one round trip.
//! `statements.rs` has the argument why the statements are linearizable, and [`floe::store`] the argument above them. A
//! refused reserve writes nothing.
//!
//! # On what that depends
//! - **`innodb_flush_log_at_trx_commit` is 1** (or 3, on MariaDB), **`sync_binlog` is 1** if there is a binary log,
//!   `innodb_doublewrite` is on, and floe's tables use InnoDB. Every new connection checks this, and refuses anything
//!   else unless the URL says `unsafe=allow`. On MariaDB `sync_binlog` is 0 by default.
//! - **One primary.** A server that is `read_only`, or that replicates from another, is refused. After a failover to a
//!   replica that lacks the last commits, those ranges are handed out again, and no check can see it beforehand:
//!   replication is asynchronous by default, and semi-synchronous replication falls back to asynchronous after a while.
//!   After such a failover raise every mark before anything is minted.
//! - **A session keeps its connection.** A proxy in between has to keep it there, and must repeat nothing.
//!
//! # How it behaves
//! The caller drives the connections, at most four. Calls may come from any thread, including threads of an async
//! runtime. Each packet, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL
//! says otherwise), and otherwise the call returns [`LedgerError::Unavailable`]. After any error on a connection, it is
//! closed with the idle ones beside it. New ones are made after growing, jittered pauses of at most half a second. A
//! process that forks opens its ledger again in the child.

use std::ops::Range;
use std::sync::Arc;

use floe::UnixMillis;
use floe::ledger::LedgerError;
use floe::store::{Counting, Entry, Put, Store, Stored, Taken, Version};

use self::connect::Database;
use self::link::Link;
use self::session::{Answer, Row};
use self::trouble::Error;
use self::url::Settings;
use crate::options::environment;
use crate::remote::{self, Remote, realm as words, stored};
use crate::{DEFAULT_REALM, OpenError, Opening};

mod channel;
mod connect;
mod fields;
mod link;
mod login;
pub(crate) mod schema;
mod session;
mod statements;
mod trouble;
mod url;

type Trouble = remote::Trouble<Error>;

/// A MySQL or MariaDB database that keeps a ledger's records. Threads may share the ledger on it; each process opens its own.
///
/// ```no_run
/// use floe::Floe;
/// use floe_ledger::Mysql;
///
/// let url = "mysql://floe@db.example/ids?password_file=/run/secrets/ids";
/// let orders = Floe::open(Mysql::open(url)?)?.counter("orders")?;
/// let staging = Floe::open(Mysql::open_in(url, "staging")?)?.counter("orders")?; // it counts by itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mysql {
    remote: Remote<Database>,
}

impl Mysql {
    /// Blocks while it opens the ledger behind a URL `mysql://user:password@host:port/database?option=value` (or
    /// `mariadb://…`), in the default realm. Missing tables are made.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3s`, `unsafe=allow`, `password_file=FILE`, `sslmode` (`disable`,
    /// `prefer`, `require`, `verify-ca`, `verify-full`), `sslrootcert=FILE`. Parts that the URL leaves out come from
    /// `MYSQL_HOST`, `MYSQL_TCP_PORT` and `MYSQL_PWD`.
    ///
    /// [`Mysql`] has an example.
    ///
    /// # Errors
    /// `Asked` if the URL, the realm or a credential is wrong; `Unavailable` if the server does not answer; `Unfit` if
    /// it is not fit to keep marks, or its tables are not floe's.
    pub fn open(url: &str) -> Result<Stored<Self>, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the realm `realm`. [`Mysql`] has an example.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Stored<Self>, OpenError> {
        open_url(url, &Opening::of(realm))
    }

    /// The result of a packet that compares and swaps.
    fn swap(&self, sql: String, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let (text, expected) = (text.to_owned(), expected.cloned());
        self.remote.call(move |link| {
            Box::pin(async move {
                let answers = link.transact(&sql).await?;
                let ([moved, found] | [_, moved, found, _] | [_, moved, _, found, _]) = answers.as_slice() else {
                    return Err(unexpected());
                };
                let found = entry(link, found)?;
                let is_own = || found.as_ref().is_some_and(|found| found.text == text);
                match moved.affected {
                    1 if expected.is_some() || is_own() => Ok(Put::Done(Version::new(&text))),
                    // The count and the record must agree: nothing may stand between floe and the table.
                    0 | 1 if expected.is_none() => Ok(Put::Found(found)),
                    0 if found.as_ref().map(|found| &found.version) != expected.as_ref() => {
                        Ok(Put::Found(found))
                    }
                    changed => Err(LedgerError::Unfit(format!(
                        "{} changed {changed} records instead of the one record that it shows: look for a trigger on floe_record, \
                         or for a proxy that splits packets",
                        link.shown()
                    ))
                    .into()),
                }
            })
        })
    }
}

/// The record that a statement found.
fn entry(link: &Link, found: &Answer) -> Result<Option<Entry>, Trouble> {
    let Some(row) = found.rows.first() else { return Ok(None) };
    Ok(Some(stored::entry(text(link, row, 0, "a record")?)))
}

fn text(link: &Link, row: &Row, column: usize, what: &str) -> Result<String, Trouble> {
    let text = row.text(column).map(str::to_owned);
    text.ok_or_else(|| words::is_damaged(link.shown(), &format_args!("{what} that is no text")).into())
}

fn unexpected() -> Trouble {
    Trouble::Store(Error::Protocol("other answers than statements"))
}

impl Store for Mysql {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let sql = statements::get(key);
        self.remote.call(move |link| {
            Box::pin(async move {
                let found = link.rows(&sql).await?;
                entry(link, &found)
            })
        })
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let sql = match expected {
            None => statements::create(key, text),
            Some(expected) => statements::put(key, text, expected.as_str()),
        };
        self.swap(sql, text, expected)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let sql = statements::list(prefix, after, limit);
        self.remote.call(move |link| {
            Box::pin(async move {
                let found = link.rows(&sql).await?;
                let pair = |row| Ok((text(link, row, 0, "a key")?, text(link, row, 1, "a record")?));
                found.rows.iter().map(pair).collect()
            })
        })
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }

    fn settle(&self) -> Result<(), LedgerError> {
        let sql = statements::settle(&stored::settled()?);
        self.remote.call(move |link| Box::pin(async move { link.transact(&sql).await.map(drop) }))
    }

    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.remote.call(|link| {
            Box::pin(async move {
                let now = link.rows(statements::CLOCK).await?;
                let now = now.rows.first().and_then(|row| row.text(0)?.parse().ok());
                now.map(|now| Some(UnixMillis::new(now))).ok_or_else(unexpected)
            })
        })
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

impl Counting for Mysql {
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError> {
        let sql = statements::take(left, floor, count, max_mark);
        self.remote.call(move |link| {
            Box::pin(async move {
                let answers = link.transact(&sql).await?;
                let [_begin, taken, left, _commit] = answers.as_slice() else { return Err(unexpected()) };
                let Some(row) = left.rows.first() else { return Ok(Taken::Left(None)) };
                let number = |column| row.text(column)?.parse().ok();
                match (taken.affected, number(0), number(1), number(2)) {
                    (1, Some(previous), Some(end), _) => Ok(Taken::Numbers { previous, end }),
                    (0, _, Some(used), Some(until)) => Ok(Taken::Left(Some(used..until))),
                    _ => Err(words::is_damaged(link.shown(), &"a count that is no number").into()),
                }
            })
        })
    }

    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError> {
        self.swap(statements::put_ahead(key, text, expected.as_str(), left, &new), text, Some(expected))
    }

    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError> {
        let sql = statements::skip(left, at_least);
        self.remote.call(move |link| Box::pin(async move { link.transact(&sql).await.map(drop) }))
    }
}

/// A server's messages to a ledger that logs in or has logged in.
#[cfg(fuzzing)]
pub(crate) fn fuzzed(bytes: &[u8], is_logged_in: bool) {
    let settings = Settings::parse("mysql://floe:secret@db/ids?sslmode=disable", &|_| None);
    let database = settings.and_then(|settings| Database::new(Arc::new(settings)));
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    if let (Ok(database), Ok(runtime)) = (database, runtime) {
        runtime.block_on(database.fuzzed(bytes, is_logged_in));
    }
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Mysql>, OpenError> {
    let settings = Arc::new(Settings::parse(url, &environment)?);
    let remote = Remote::open("floe-mysql", Database::new(Arc::clone(&settings))?, opening)?;
    let (known, wanted) = (Arc::clone(&settings), opening.clone());
    let entered = remote.ask(|link| Box::pin(async move { schema::enter(link, &known, &wanted).await }));
    entered.map_err(|trouble| match trouble {
        Trouble::Store(error) => trouble::at_open(&error, &settings.reach.shown),
        other => remote.words(other).into(),
    })?;
    stored::open(Mysql { remote }, opening)
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &environment).map(drop)
}

#[cfg(test)]
mod tests;
