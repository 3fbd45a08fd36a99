//! A connection, and the task that reads and writes its socket.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind, cmd};
use tokio::task::JoinHandle;

use super::Trouble;
use super::scripts::Script;

/// One connection.
pub(super) struct Link {
    pub(super) connection: MultiplexedConnection,
    pub(super) driver: Driver,
    /// A node of a cluster has only the keys of some slots.
    pub(super) is_in_a_cluster: bool,
}

/// The task that reads and writes the socket. It ends when the server closes the connection. Nothing guarantees that it
/// ends without its connection while requests wait for answers, so it is aborted.
pub(super) struct Driver(pub(super) JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
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
