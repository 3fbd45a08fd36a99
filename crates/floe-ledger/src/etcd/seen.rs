//! Whose turn it is on each key, and what was last seen there.
//!
//! Calls of one process on one key would only race each other, and who loses has to ask again: they queue up instead.
//! Whoever comes next begins with what the one before has seen, and so needs one round trip as long as no other
//! process moves the mark.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use floe::ledger::{Key, Mark};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// How many keys are remembered. One takes about 2 KiB where its owner note is as long as it may be.
const LIMIT: usize = 4096;

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
}

/// All keys on which calls were made.
#[derive(Default)]
pub(super) struct Keys(Lock<HashMap<Key, Arc<Mutex<Seen>>>>);

impl Keys {
    /// Waits for the turn on `key`, which is had in the order of these calls and lasts until the guard is dropped.
    pub(super) fn turn(&self, key: &Key) -> impl Future<Output = OwnedMutexGuard<Seen>> + Send + 'static {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= LIMIT && !keys.contains_key(key) {
            // What nobody uses or waits for is forgotten, and costs a round trip when it is used again.
            keys.retain(|_, seen| Arc::strong_count(seen) > 1);
        }
        let seen = Arc::clone(keys.entry(key.clone()).or_default());
        drop(keys);
        seen.lock_owned()
    }
}
