//! The task that reads and writes the socket of a connection.

use tokio::task::JoinHandle;

/// It is aborted when it is dropped, and its connection is closed. By itself it could wait for the answers to calls that
/// were given up, and the server may never give them.
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    /// Starts it.
    pub(crate) fn start(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Whether it has ended, as after the server has closed the connection.
    #[cfg(feature = "redis")]
    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits until it ends by itself.
    pub(crate) async fn end(mut self) {
        drop((&mut self.0).await);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
