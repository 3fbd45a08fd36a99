//! Turns: how clients that have much to ask leave time for those that have little.
//!
//! A thread serves one connection after the other. A client that waits for each answer takes some microseconds of it.
//! One that has sent thousands of requests takes milliseconds, and behind six thousand such clients all others would
//! wait for seconds. So a connection that was served for [`SHARE`] while its client had always more to ask waits for a
//! turn, in one queue with its like. Only as many connections have a turn at once as there are threads.
//!
//! A turn ends when the connection has to wait for anything: a slow ledger or a client that does not read holds up
//! nobody else. A connection that waits for its turn should hold little memory. So it reads only a [`LITTLE`] at once
//! before that.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;

use super::{Client, READ};

/// How long a connection is served without a turn.
pub(crate) const SHARE: Duration = Duration::from_micros(100);

/// How much it reads at once without a turn, in bytes, if it cannot stop between two requests as a
/// [`Session`](crate::session::Session) does, or if there is a queue.
pub(crate) const LITTLE: usize = 512;

/// How much it reads in a turn, in bytes: so many requests take some tenths of a millisecond.
pub(crate) const A_TURN: usize = 4 * LITTLE;

/// See the module.
pub(super) struct Turns(Arc<Semaphore>);

/// A connection's turn, which ends when this is dropped.
pub(crate) struct Turn(#[expect(dead_code, reason = "it is dropped")] Option<OwnedSemaphorePermit>);

impl Turns {
    pub(super) fn new(threads: usize) -> Self {
        Self(Arc::new(Semaphore::new(threads.max(1))))
    }
}

impl Client {
    /// Waits for the next turn. The connection is not idle meanwhile.
    pub(crate) fn turn(self: &Arc<Self>) -> BoxFuture<'static, Turn> {
        let client = Arc::clone(self);
        let turns = Arc::clone(&self.clients.turns.0);
        Box::pin(async move {
            let _at_work = client.at_work();
            // It is never closed.
            let turn = turns.acquire_owned().await.ok();
            // Behind those that need no turn.
            yield_now().await;
            Turn(turn)
        })
    }

    /// How many bytes a session may read at once without a turn.
    pub(crate) fn may_read(&self) -> usize {
        let no_queue = self.clients.turns.0.available_permits() > 0;
        if no_queue { READ } else { LITTLE }
    }
}
