//! How a connection is made, and checked.

use std::slice;

use floe::ledger::LedgerError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, RedisConnectionInfo, RedisError};
use tokio_rustls::TlsConnector;

use super::keys::Keys;
use super::link::Link;
use super::url::Settings;
use super::{Trouble, checks, layout, trouble};
use crate::OpenError;
use crate::remote::task::Task;
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Wanted};

/// How to reach a server.
pub(super) struct Server {
    settings: Settings,
    tls: Option<TlsConnector>,
    keys: Keys,
}

impl Server {
    pub(super) fn new(settings: Settings, keys: Keys) -> Result<Self, OpenError> {
        let tls = settings.reach.tls.connector(slice::from_ref(&settings.at), None)?;
        Ok(Self { settings, tls, keys })
    }

    async fn link(&self) -> Result<Link, RedisError> {
        let stream = self.settings.at.connect(self.tls.as_ref()).await?;
        // floe bounds its calls itself, and sends AUTH and SELECT itself: see `checks::introduce`.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let info =
            RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name();
        let (connection, driver) = MultiplexedConnection::new_with_config(&info, stream, config).await?;
        Ok(Link { connection, task: Task::start(driver), is_in_a_cluster: false })
    }
}

impl Connect for Server {
    type Link = Link;
    type Error = RedisError;

    fn reach(&self) -> &Reach {
        &self.settings.reach
    }

    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let mut link = self.link().await.map_err(Trouble::Store)?;
        let mut remarks = Vec::new();
        checks::introduce(&mut link, &self.settings).await?;
        link.is_in_a_cluster = checks::check_server(&mut link, &self.settings, &mut remarks).await?;
        layout::enter(&mut link, &self.keys, &self.settings.reach.shown, wanted).await?;
        Ok(Connected { link, realm_id: None, remarks })
    }

    fn is_closed(link: &Link) -> bool {
        link.task.is_finished()
    }

    async fn goodbye(Link { connection, task, .. }: Link) {
        drop(connection);
        task.end().await;
    }

    fn at_work(&self, error: RedisError) -> LedgerError {
        trouble::at_work(&error, &self.settings)
    }

    fn at_open(&self, error: RedisError) -> OpenError {
        trouble::at_open(&error, &self.settings)
    }
}
