//! Connections of floe's own, each with its prepared statements.

use std::collections::HashMap;

use floe::ledger::LedgerError;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Statement};

use super::queries::{Queries, QueryError, Row};
use super::tls::Tls;
use super::url::Settings;
use super::{Trouble, schema, trouble};
use crate::OpenError;
use crate::remote::task::Task;
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Remote, Wanted};

/// How to reach a database.
pub(super) struct Database {
    pub(super) settings: Settings,
    pub(super) tls: Tls,
}

/// One connection, with its prepared statements and the task that reads and writes its socket.
pub(super) struct Link {
    client: Client,
    prepared: HashMap<String, Statement>,
    task: Task,
}

impl Connect for Database {
    type Link = Link;
    type Error = Error;

    fn reach(&self) -> &Reach {
        &self.settings.reach
    }

    async fn connect(&self, _: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let connected = self.settings.config.connect(Tls::clone(&self.tls)).await;
        let (client, connection) = connected.map_err(Trouble::Store)?;
        let task = Task::start(async move {
            // The caller gets the error from its client.
            drop(connection.await);
        });
        let mut link = Link { client, prepared: HashMap::new(), task };
        let found = link.query(schema::SETTINGS, &[]).await?;
        let remarks =
            schema::check_server(&found, &self.settings.reach.shown, self.settings.reach.allows_unsafe)?;
        // The client bounds each call. This limit ends a lock wait that an abandoned call left behind. It does not end
        // a commit that waits for its standby: by then PostgreSQL has stopped that clock.
        let session = format!(
            "SET statement_timeout = {}; SET default_transaction_read_only = off; \
             SET default_transaction_isolation = 'read committed'; SET search_path = pg_catalog",
            self.settings.reach.bounds.max_wait.as_millis()
        );
        link.client.batch_execute(&session).await.map_err(Trouble::Store)?;
        Ok(Connected { link, realm_id: None, remarks })
    }

    fn is_closed(link: &Link) -> bool {
        link.client.is_closed()
    }

    async fn goodbye(Link { client, task, .. }: Link) {
        drop(client);
        task.end().await;
    }

    fn at_work(&self, error: Error) -> LedgerError {
        trouble::at_work(&trouble::of(&error), &self.reach().shown)
    }

    fn at_open(&self, error: Error) -> OpenError {
        trouble::at_open(&trouble::of(&error), &self.reach().shown)
    }
}

impl Link {
    async fn query(&mut self, sql: &str, values: &[String]) -> Result<Vec<Row>, Trouble> {
        let statement = match self.prepared.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let types = vec![Type::TEXT; values.len()];
                let statement = self.client.prepare_typed(sql, &types).await.map_err(Trouble::Store)?;
                // A statement without values runs once, so it is not kept.
                if !values.is_empty() {
                    self.prepared.insert(sql.to_owned(), statement.clone());
                }
                statement
            }
        };
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = self.client.query(&statement, &values).await.map_err(Trouble::Store)?;
        let texts = |row: &tokio_postgres::Row| {
            (0..row.len()).map(|index| row.try_get(index)).collect::<Result<Row, _>>()
        };
        rows.iter().map(|row| texts(row).map_err(Trouble::Store)).collect()
    }
}

impl Queries for Remote<Database> {
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError> {
        let (sql, values) =
            (sql.to_owned(), values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
        let outcome = self.ask(move |link| Box::pin(async move { link.query(&sql, &values).await }));
        outcome.map_err(|trouble| match trouble {
            Trouble::Store(error) => trouble::of(&error),
            other => {
                let error = self.words(other);
                QueryError { code: None, text: error.to_string(), ledger: Some(error) }
            }
        })
    }
}
