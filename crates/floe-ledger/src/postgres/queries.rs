//! Runs the statements, on floe's own connections or on the program's.

use std::fmt::{self, Display};
use std::thread;

use floe::ledger::LedgerError;

/// A PostgreSQL database, over any connections that a program has to it: see [`Postgres::over`](super::Postgres::over).
///
/// A call blocks, and may come from any thread. It needs no session setting, and two calls need not use the same
/// connection, so a pooler may stand in between.
///
/// ```
/// use floe::LedgerError;
/// use floe_ledger::postgres::{Postgres, Queries, QueryError, Row};
/// use floe_ledger::{OpenError, Opening};
///
/// struct Pool; // in the place of a real one, which is down
///
/// impl Queries for Pool {
///     fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError> {
///         Err(QueryError::new(None, "no connection within 5 s"))
///     }
/// }
///
/// // An error without a code does not come from the database: a later call may succeed.
/// let ledger = Postgres::over(Pool, "floe", &Opening::of("default"));
/// assert!(matches!(ledger, Err(OpenError::Ledger(LedgerError::Unavailable(_)))));
/// ```
pub trait Queries: Send + Sync {
    /// Runs one statement, in a transaction of its own, and returns its rows. The parameters `$1`, `$2`, … are texts,
    /// and so are all columns. [`Queries`] has an example.
    ///
    /// # Errors
    /// [`QueryError`]: the database's error, or no answer in time. It may be unknown whether the statement took effect.
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError>;
}

/// A row: the text of each column, `None` if it is NULL.
pub type Row = Vec<Option<String>>;

/// Why a statement was not answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueryError {
    pub(super) code: Option<String>,
    pub(super) text: String,
    /// What the ledger says of it, if that is known: the connection was refused, or gave no answer in time.
    pub(super) ledger: Option<LedgerError>,
}

impl Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.code {
            Some(code) => write!(f, " ({code})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for QueryError {}

impl QueryError {
    /// The error's text, with PostgreSQL's code for it (`42P01`, its SQLSTATE) if PostgreSQL reports it. By the code,
    /// floe distinguishes a missing table from a server that is down. [`Queries`] has an example.
    pub fn new(code: Option<&str>, text: impl Display) -> Self {
        Self { code: code.map(str::to_owned), text: text.to_string(), ledger: None }
    }

    /// An error without a code comes from the program's client, not from the database.
    fn of_the_program(mut self) -> Self {
        if self.code.is_none() {
            self.text.push_str(" (the program's own client says so: look at its settings, too)");
        }
        self
    }
}

/// Drops the queries on a thread of its own. The last floe may be dropped on a thread of an async runtime. Some clients
/// block when they say goodbye, which is not allowed there.
pub(super) struct DroppedApart<Q: Queries + 'static>(Option<Q>);

impl<Q: Queries + 'static> DroppedApart<Q> {
    pub(super) fn new(queries: Q) -> Self {
        Self(Some(queries))
    }
}

impl<Q: Queries + 'static> Queries for DroppedApart<Q> {
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError> {
        match &self.0 {
            Some(queries) => queries.query(sql, values).map_err(QueryError::of_the_program),
            None => Err(QueryError::new(None, "it was dropped")),
        }
    }
}

impl<Q: Queries + 'static> Drop for DroppedApart<Q> {
    fn drop(&mut self) {
        let queries = self.0.take();
        if let Ok(thread) =
            thread::Builder::new().name("floe-postgres".to_owned()).spawn(move || drop(queries))
        {
            // A panic in it is the client's own, and was reported.
            let _outcome = thread.join();
        }
    }
}

/// A column of a row.
pub(super) fn column(row: &Row, index: usize) -> Option<&str> {
    row.get(index)?.as_deref()
}
