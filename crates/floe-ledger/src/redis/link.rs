//! A connection, and what is asked on it.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind, cmd};

use super::Trouble;
use super::scripts::Script;
use crate::remote::task::Task;

/// One connection.
pub(super) struct Link {
    pub(super) connection: MultiplexedConnection,
    pub(super) task: Task,
    /// A node of a cluster has only the keys of some slots.
    pub(super) is_in_a_cluster: bool,
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
