//! Starting, serving and stopping.

use std::net::SocketAddr;

use crate::config::{Config, ConfigError};

/// What a server says once it listens.
#[derive(Clone, Debug)]
pub struct Started {
    /// Where it listens, with the ports that were really taken.
    pub addresses: Vec<SocketAddr>,
    /// The random id of the realm in this ledger.
    pub realm_id: String,
    /// The ledger, in one line, without credentials.
    pub ledger: String,
}

/// Why a server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration cannot be served.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// An address cannot be listened on.
    #[error("{0}")]
    Listen(String),
    /// The ledger cannot be opened.
    #[error("{0}")]
    Open(String),
    /// The ledger is no longer the one that it was: nothing may be minted from it.
    #[error("{0}")]
    Stopped(String),
    /// The operating system refused something else.
    #[error("{0}")]
    System(String),
}

/// Serves until `shutdown` is done, then drains and gives back; `ready` is called once everything listens.
///
/// # Errors
/// [`ServeError`].
pub async fn run(
    config: Config,
    shutdown: impl Future<Output = ()> + Send,
    ready: impl FnOnce(&Started) + Send,
) -> Result<(), ServeError> {
    config.check()?;
    let _ = (shutdown, ready);
    Err(ServeError::System("not wired yet".to_owned()))
}

/// Serves until the process is told to stop (SIGTERM, SIGINT): makes the runtime, sets up the log, and prints where
/// it listens. What `floe serve` calls.
///
/// # Errors
/// [`ServeError`].
pub fn serve(config: Config) -> Result<(), ServeError> {
    config.check()?;
    Err(ServeError::System("not wired yet".to_owned()))
}
