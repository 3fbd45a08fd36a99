//! A connection, and the task that reads and writes its socket.

use std::slice;

use floe::ledger::LedgerError;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, ProtocolVersion, RedisConnectionInfo, RedisError,
    ServerErrorKind, cmd,
};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::keys::Keys;
use super::scripts::Script;
use super::url::Settings;
use super::{Trouble, checks, layout, trouble};
use crate::OpenError;
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Wanted};

/// How to reach a server.
pub(super) struct Server {
    settings: Settings,
    tls: Option<TlsConnector>,
    keys: Keys,
}

/// One connection.
pub(super) struct Link {
    connection: MultiplexedConnection,
    driver: Driver,
    /// A node of a cluster has only the keys of some slots.
    pub(super) is_in_a_cluster: bool,
}

/// The task that reads and writes the socket. It ends when the server closes the connection. Nothing guarantees that it
/// ends without its connection while requests wait for answers, so it is aborted.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
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
        Ok(Link { connection, driver: Driver(tokio::spawn(driver)), is_in_a_cluster: false })
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
        link.driver.0.is_finished()
    }

    async fn goodbye(Link { connection, mut driver, .. }: Link) {
        drop(connection);
        drop((&mut driver.0).await);
    }

    fn at_work(&self, error: RedisError) -> LedgerError {
        trouble::at_work(&error, &self.settings)
    }

    fn at_open(&self, error: RedisError) -> OpenError {
        trouble::at_open(&error, &self.settings)
    }
}

impl Link {
    /// Sends a command and reads its answer.
    pub(super) async fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, RedisError> {
        command.query_async(&mut self.connection).await
    }

    /// Runs a script by its hash. If the server does not know it (yet, or since its restart), floe sends the text.
    pub(super) async fn evaluate<T: FromRedisValue>(
        &mut self,
        script: &Script,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<T, Trouble> {
        let command = |name: &str, what: &str| {
            let mut command = cmd(name);
            command.arg(what).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        let outcome = match self.ask(&command("EVALSHA", &script.hash)).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.ask(&command("EVAL", &script.text)).await
            }
            outcome => outcome,
        };
        outcome.map_err(Trouble::Store)
    }
}
