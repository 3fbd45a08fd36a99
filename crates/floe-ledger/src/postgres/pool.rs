//! The connections: at most four, none used again after anything went wrong on it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use floe::ledger::LedgerError;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::schema;
use super::statements::Call;
use super::tls::Tls;
use super::trouble::Trouble;
use super::url::Settings;
use crate::OpenError;

/// How many connections a ledger has at most. The library calls from a few threads at once.
const CONNECTIONS: usize = 4;

/// The pause after the first failed connect, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long the goodbye to the server may take.
const GOODBYE: Duration = Duration::from_millis(100);

pub(super) struct Pool {
    settings: Settings,
    tls: Tls,
    realm: Arc<str>,
    /// Set by the first connection; every later one has to find the same.
    realm_id: OnceLock<String>,
    permits: Semaphore,
    idle: Mutex<Vec<Link>>,
    pace: Mutex<Pace>,
}

/// When the next connect may be tried.
struct Pace {
    failures: u32,
    not_before: Option<Instant>,
}

/// One connection, with its prepared statements and the task that reads and writes its socket.
pub(super) struct Link {
    pub(super) client: Client,
    statements: [Option<Statement>; Call::COUNT],
    task: JoinHandle<()>,
}

/// A connection for one call. Unless it is kept, it is closed, and the idle ones with it: what went wrong on one
/// (a server that is gone, frozen or replaced) is seldom its own fault.
pub(super) struct Lease<'a> {
    pool: &'a Pool,
    link: Option<Link>,
    _permit: SemaphorePermit<'a>,
}

impl Pool {
    pub(super) fn new(settings: Settings, realm: Arc<str>) -> Result<Self, OpenError> {
        let tls = Tls::new(&settings.verify)?;
        Ok(Self {
            settings,
            tls,
            realm,
            realm_id: OnceLock::new(),
            permits: Semaphore::new(CONNECTIONS),
            idle: Mutex::new(Vec::new()),
            pace: Mutex::new(Pace { failures: 0, not_before: None }),
        })
    }

    /// The first connection: makes the tables and the realm where they are missing, and says what it found.
    pub(super) async fn begin(&self) -> Result<String, Trouble> {
        let permit = self.permits.acquire().await.map_err(|_| Trouble::NoThread)?;
        let (link, found) = self.bounded_connect().await?;
        Lease { pool: self, link: Some(link), _permit: permit }.keep();
        Ok(found)
    }

    /// A connection that works as far as anyone knows.
    pub(super) async fn lease(&self) -> Result<Lease<'_>, Trouble> {
        let permit = self.permits.acquire().await.map_err(|_| Trouble::NoThread)?;
        let idle = {
            let mut idle = self.idle();
            idle.retain(|link| !link.client.is_closed());
            idle.pop()
        };
        let link = match idle {
            Some(link) => link,
            None => self.paced_connect().await?,
        };
        Ok(Lease { pool: self, link: Some(link), _permit: permit })
    }

    /// Where the ledger is, without credentials.
    pub(super) fn shown(&self) -> &str {
        &self.settings.shown
    }

    /// The id of the realm. It is there from the first connection on.
    pub(super) fn realm_id(&self) -> String {
        self.realm_id.get().cloned().unwrap_or_default()
    }

    /// Says goodbye on the idle connections.
    pub(super) async fn close(&self) {
        let links = std::mem::take(&mut *self.idle());
        for Link { client, task, .. } in links {
            drop(client);
            drop(timeout(GOODBYE, task).await);
        }
    }

    async fn paced_connect(&self) -> Result<Link, Trouble> {
        let not_before = self.pace().not_before;
        if let Some(moment) = not_before {
            sleep_until(moment).await;
        }
        let outcome = self.bounded_connect().await;
        let mut pace = self.pace();
        match outcome {
            Ok((link, _)) => {
                *pace = Pace { failures: 0, not_before: None };
                Ok(link)
            }
            Err(trouble) => {
                let pause = (FIRST_PAUSE * (1 << pace.failures.min(5))).min(LONGEST_PAUSE);
                // Between half and the whole, so that the nodes of a fleet do not come back together.
                let part = getrandom::u32().unwrap_or(0) % 1024;
                pace.not_before = Some(Instant::now() + pause / 2 + pause / 2048 * part);
                pace.failures = pace.failures.saturating_add(1);
                Err(trouble)
            }
        }
    }

    async fn bounded_connect(&self) -> Result<(Link, String), Trouble> {
        let bound = self.settings.connect_timeout;
        timeout(bound, self.connect()).await.unwrap_or(Err(Trouble::Timeout(bound)))
    }

    async fn connect(&self) -> Result<(Link, String), Trouble> {
        let (client, connection) =
            self.settings.config.connect(self.tls.clone()).await.map_err(Trouble::Sql)?;
        let task = tokio::spawn(async move {
            // The error reaches the caller by its client.
            drop(connection.await);
        });
        let mut link = Link { client, statements: [const { None }; Call::COUNT], task };
        let mut remarks = Vec::new();
        schema::check_server(&link.client, &self.settings, &mut remarks).await?;
        let known = self.realm_id.get().map(String::as_str);
        let realm_id = schema::enter(&link.client, &self.settings, &self.realm, known, &mut remarks).await?;
        if self.realm_id.get_or_init(|| realm_id.clone()) != &realm_id {
            return Err(LedgerError::Unfit(format!(
                "the realm {} at {} is not the one that it was (another database, or one made anew): stop, restore the \
                 right one, and raise its marks above every ID in use",
                self.realm, self.settings.shown
            ))
            .into());
        }
        // From here on a reserve is one round trip.
        link.prepare(Call::Reserve, &self.settings.schema).await?;
        let found = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
        Ok((link, found))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    async fn prepare(&mut self, call: Call, schema: &str) -> Result<Statement, Trouble> {
        if let Some(Some(statement)) = self.statements.get(call as usize) {
            return Ok(statement.clone());
        }
        let (sql, types) = call.sql(schema);
        let statement = self.client.prepare_typed(&sql, types).await.map_err(Trouble::Sql)?;
        if let Some(place) = self.statements.get_mut(call as usize) {
            *place = Some(statement.clone());
        }
        Ok(statement)
    }
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Lease<'_> {
    pub(super) async fn query(&mut self, call: Call, params: Params<'_>) -> Result<Vec<Row>, Trouble> {
        let (link, statement) = self.prepared(call).await?;
        link.client.query(&statement, params).await.map_err(Trouble::Sql)
    }

    pub(super) async fn execute(&mut self, call: Call, params: Params<'_>) -> Result<u64, Trouble> {
        let (link, statement) = self.prepared(call).await?;
        link.client.execute(&statement, params).await.map_err(Trouble::Sql)
    }

    async fn prepared(&mut self, call: Call) -> Result<(&Link, Statement), Trouble> {
        let link = self.link.as_mut().ok_or(Trouble::NoThread)?;
        let statement = link.prepare(call, &self.pool.settings.schema).await?;
        Ok((link, statement))
    }

    /// The call went well: the connection may serve the next one.
    pub(super) fn keep(mut self) {
        self.pool.idle().extend(self.link.take());
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.link.is_some() {
            self.pool.idle().clear();
        }
    }
}
