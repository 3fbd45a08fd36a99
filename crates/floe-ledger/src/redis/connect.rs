//! A connection, and the task that reads and writes its socket.

use std::sync::Arc;
use std::time::Duration;
use std::{io, iter};

use floe::ledger::{LedgerError, MAX_MARK};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, ProtocolVersion, RedisConnectionInfo, RedisError,
    ServerErrorKind, cmd,
};
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::keys::Keys;
use super::scripts::{Script, status};
use super::url::Settings;
use super::{Trouble, checks, realm, trouble};
use crate::OpenError;
use crate::remote::{Bounds, Connect, Connected, Wanted, realm as words, tls};

/// When a silent connection is probed. Redis itself does so after five minutes.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How a server is reached.
pub(super) struct Server {
    settings: Settings,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    keys: Arc<Keys>,
}

/// One connection, in one realm.
pub(super) struct Link {
    connection: MultiplexedConnection,
    driver: Driver,
    shown: String,
    realm_id: String,
    pub(super) keys: Arc<Keys>,
}

/// The task that reads and writes the socket. It ends when the server closes the connection. Nothing promises that it
/// ends without its connection while requests wait for their answers, so it is made to.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Server {
    pub(super) fn new(settings: Settings, keys: Arc<Keys>) -> Result<Self, OpenError> {
        let tls = match &settings.verify {
            Some(verify) => {
                let host = ServerName::try_from(settings.host.clone()).map_err(|error| {
                    OpenError::Asked(format!(
                        "`{}` is no host that a certificate can name ({error})",
                        settings.host
                    ))
                })?;
                Some((TlsConnector::from(Arc::new(tls::client(verify)?)), host))
            }
            None => None,
        };
        Ok(Self { settings, tls, keys })
    }

    async fn reach(&self) -> Result<Link, RedisError> {
        let socket = TcpStream::connect((self.settings.host.as_str(), self.settings.port)).await?;
        socket.set_nodelay(true)?;
        SockRef::from(&socket).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
        let Some((connector, host)) = &self.tls else { return self.begin(socket).await };
        let encrypted = connector.connect(host.clone(), socket).await;
        // Without these words nobody would know that it was TLS.
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("the TLS handshake failed: {error}"));
        self.begin(encrypted.map_err(failed)?).await
    }

    async fn begin(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Link, RedisError> {
        // floe bounds its calls itself, and says AUTH and SELECT itself: see `checks::introduce`.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let info =
            RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name();
        let (connection, driver) = MultiplexedConnection::new_with_config(&info, stream, config).await?;
        Ok(Link {
            connection,
            driver: Driver(tokio::spawn(driver)),
            shown: self.settings.shown.clone(),
            realm_id: String::new(),
            keys: Arc::clone(&self.keys),
        })
    }
}

impl Connect for Server {
    type Link = Link;
    type Error = RedisError;

    fn shown(&self) -> &str {
        &self.settings.shown
    }

    fn bounds(&self) -> Bounds {
        self.settings.bounds
    }

    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let mut link = self.reach().await.map_err(Trouble::Store)?;
        let mut remarks = Vec::new();
        checks::introduce(&mut link, &self.settings).await?;
        let found = checks::check_server(&mut link, &self.settings, &mut remarks).await?;
        let realm_id = realm::enter(&mut link, &self.settings.shown, found, wanted).await?;
        link.realm_id.clone_from(&realm_id);
        Ok(Connected { link, realm_id: Some(realm_id), remarks })
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

    /// Runs a script on the realm and more keys of it, and returns what it answers; `record` is for errors.
    pub(super) async fn run(
        &mut self,
        script: &Script,
        keys: &[&str],
        arguments: &[&[u8]],
        record: &str,
    ) -> Result<Answer, Trouble> {
        let here = Arc::clone(&self.keys);
        let id = self.realm_id.clone();
        let keys: Vec<&str> = iter::once(&*here.realm).chain(keys.iter().copied()).collect();
        let arguments: Vec<&[u8]> = iter::once(id.as_bytes()).chain(arguments.iter().copied()).collect();
        let mut fields: Vec<Option<String>> = self.evaluate(script, &keys, &arguments).await?;
        let word = if fields.is_empty() { String::new() } else { fields.remove(0).unwrap_or_default() };
        let damaged = |what: String| Err(words::is_damaged(&self.shown, &what).into());
        match word.as_str() {
            status::REALM if fields.first().is_some_and(Option::is_some) => {
                Err(words::is_another(&self.shown).into())
            }
            status::REALM => Err(words::is_gone(&self.shown, &format!("the realm {}", here.name)).into()),
            status::EATEN => damaged(format!("no record of {record}, and has it in its list of records")),
            status::DAMAGED => damaged(format!("a record of {record} without its numbers")),
            _ => Ok(Answer { word, fields, shown: self.shown.clone() }),
        }
    }

    /// Runs a script by its hash. A server that does not know it (yet, or since it was restarted) is given its text.
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

/// What a script answers.
pub(super) struct Answer {
    /// What became of the call.
    pub(super) word: String,
    /// What belongs to it.
    pub(super) fields: Vec<Option<String>>,
    shown: String,
}

impl Answer {
    /// A mark, a start or a previous mark.
    pub(super) fn position(&self, index: usize) -> Result<u64, Trouble> {
        let text = self.fields.get(index).and_then(Option::as_deref);
        let number = text.and_then(|text| text.parse().ok()).filter(|number| *number <= MAX_MARK);
        number.ok_or_else(|| self.damaged(&format!("`{}` for a mark", text.unwrap_or(""))))
    }

    /// A text, where there is one.
    pub(super) fn text(&self, index: usize) -> Option<String> {
        self.fields.get(index).cloned().flatten()
    }

    /// An answer that none of the scripts gives.
    pub(super) fn unknown(&self) -> Trouble {
        self.damaged(&format!("the answer `{}`", self.word))
    }

    pub(super) fn damaged(&self, what: &str) -> Trouble {
        words::is_damaged(&self.shown, &what).into()
    }
}
