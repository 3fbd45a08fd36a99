//! Whose turn it is on each key, and what was last seen there.
//!
//! Calls of one process on one key would only race each other, and who loses has to ask again: they queue up instead.
//! Whoever comes next begins with what the one before has seen, and so needs one round trip as long as no other
//! process moves the mark.
//!
//! Processes do race each other, and of those that do one wins each time. The losers go on at once: whoever waits
//! tries with a record that is older, and loses to those who come back to back. It is the winner who **gives way**
//! before it comes again, for a random time in proportion to what its call took. It does so as long as others come in
//! between, and for some calls beyond, since who comes back to back does not notice those who lose to it. So the busier
//! a key, the fewer are after it at once, and those who have waited come before those who have just won. Whoever
//! comes less often than that, or is alone, never waits.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use floe::ledger::{Key, Mark};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, sleep_until};

/// How many keys are remembered. One takes about 2 KiB where its owner note is as long as it may be.
const LIMIT: usize = 4096;

/// How many times as long as a call took in which others came in between, the next one gives way at most.
const GIVES_WAY: u32 = 2;

/// A key as it was when it was last seen. It may have changed since: it is good for a guess, and never for an answer.
/// The default is one that is not there.
#[derive(Default)]
pub(super) struct Seen {
    /// The revision that wrote it; 0 where it is not there.
    pub(super) revision: i64,
    /// What it holds, byte by byte.
    pub(super) value: Vec<u8>,
    /// What that says.
    pub(super) mark: Option<Mark>,
    /// Whether it is not there although it was made, as far as that was asked.
    pub(super) is_eaten: bool,
}

/// What is known of a key, for the call whose turn it is.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) seen: Seen,
    /// How long the next call gives way at most, and until when it does.
    most: Duration,
    until: Option<Instant>,
    /// The bound of the former.
    bound: Duration,
}

impl Turn {
    /// A call that began at `begin` was answered; others came in between, or nobody did.
    pub(super) fn ends(&mut self, begin: Instant, others: bool) {
        let now = Instant::now();
        let took = now - begin;
        self.most = if others { took.saturating_mul(GIVES_WAY).min(self.bound) } else { self.most / 8 * 7 };
        // Less than a round trip is nothing.
        if self.most < took / 2 {
            self.most = Duration::ZERO;
        }
        let part = getrandom::u32().unwrap_or(0) % 1024;
        self.until = (!self.most.is_zero()).then(|| now + self.most / 1024 * part);
    }
}

/// All keys on which calls were made.
pub(super) struct Keys {
    turns: Lock<HashMap<Key, Arc<Mutex<Turn>>>>,
    max_wait: Duration,
}

impl Keys {
    /// For calls that take at most `max_wait`.
    pub(super) fn new(max_wait: Duration) -> Self {
        Self { turns: Lock::default(), max_wait }
    }

    /// Waits for the turn on `key`, which is had in the order of these calls and lasts until the guard is dropped.
    pub(super) fn turn(&self, key: &Key) -> impl Future<Output = OwnedMutexGuard<Turn>> + Send + 'static {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= LIMIT && !turns.contains_key(key) {
            // What nobody uses or waits for is forgotten, and costs a round trip when it is used again.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        // A small part of a call, so that giving way does not make it late.
        let fresh = || Arc::new(Mutex::new(Turn { bound: self.max_wait / 16, ..Turn::default() }));
        let turn = Arc::clone(turns.entry(key.clone()).or_insert_with(fresh));
        drop(turns);
        async {
            let mut turn = turn.lock_owned().await;
            if let Some(moment) = turn.until.take() {
                sleep_until(moment).await;
            }
            turn
        }
    }
}
