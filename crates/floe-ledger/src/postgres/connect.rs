//! A connection with its prepared statements.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::statements::Call;
use super::tls::Tls;
use super::url::Settings;
use super::{Trouble, schema, trouble};
use crate::OpenError;
use crate::remote::{Bounds, Connect, Connected, Wanted};
use floe::ledger::LedgerError;

/// How a database is reached.
pub(super) struct Database {
    pub(super) settings: Settings,
    pub(super) tls: Tls,
    pub(super) realm: Arc<str>,
}

/// One connection, with its prepared statements and the task that reads and writes its socket.
pub(super) struct Link {
    client: Client,
    schema: String,
    statements: [Option<Statement>; Call::COUNT],
    task: JoinHandle<()>,
}

impl Connect for Database {
    type Link = Link;
    type Error = Error;

    fn shown(&self) -> &str {
        &self.settings.shown
    }

    fn bounds(&self) -> Bounds {
        self.settings.bounds
    }

    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let connected = self.settings.config.connect(Tls::clone(&self.tls)).await;
        let (client, connection) = connected.map_err(Trouble::Store)?;
        let task = tokio::spawn(async move {
            // The error reaches the caller by its client.
            drop(connection.await);
        });
        let schema = self.settings.schema.clone();
        let mut link = Link { client, schema, statements: [const { None }; Call::COUNT], task };
        let mut remarks = Vec::new();
        schema::check_server(&link.client, &self.settings, &mut remarks).await?;
        let realm_id = schema::enter(&link.client, &self.settings, &self.realm, wanted, &mut remarks).await?;
        if wanted.may_change() {
            // From here on a reserve is one round trip.
            link.prepare(Call::Reserve).await?;
        }
        Ok(Connected { link, realm_id, remarks })
    }

    fn is_closed(link: &Link) -> bool {
        link.client.is_closed()
    }

    async fn goodbye(Link { client, task, .. }: Link) {
        drop(client);
        drop(task.await);
    }

    fn at_work(&self, error: Error) -> LedgerError {
        trouble::at_work(&error, self.shown())
    }

    fn at_open(&self, error: Error) -> OpenError {
        trouble::at_open(&error, self.shown())
    }
}

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Link {
    pub(super) async fn query(&mut self, call: Call, params: Params<'_>) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepare(call).await?;
        self.client.query(&statement, params).await.map_err(Trouble::Store)
    }

    pub(super) async fn execute(&mut self, call: Call, params: Params<'_>) -> Result<u64, Trouble> {
        let statement = self.prepare(call).await?;
        self.client.execute(&statement, params).await.map_err(Trouble::Store)
    }

    /// Begins or ends a transaction. One that was begun and not ended is undone with its connection, which is kept only
    /// where everything went well.
    pub(super) async fn transaction(&mut self, word: &'static str) -> Result<(), Trouble> {
        self.client.batch_execute(word).await.map_err(Trouble::Store)
    }

    async fn prepare(&mut self, call: Call) -> Result<Statement, Trouble> {
        if let Some(Some(statement)) = self.statements.get(call as usize) {
            return Ok(statement.clone());
        }
        let (sql, types) = call.sql(&self.schema);
        let statement = self.client.prepare_typed(&sql, types).await.map_err(Trouble::Store)?;
        if let Some(place) = self.statements.get_mut(call as usize) {
            *place = Some(statement.clone());
        }
        Ok(statement)
    }
}
