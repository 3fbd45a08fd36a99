//! The ledger behind a cache, which is opened when it is first reached, and that may be long after the cache.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError};

use crate::OpenError;

/// Opens the ledger behind.
pub(super) type Opener = dyn Fn() -> Result<Box<dyn Ledger>, OpenError> + Send + Sync;

/// How long a caller waits for another one's attempt. Ledgers bound their own.
const MAX_WAIT: Duration = Duration::from_secs(30);

pub(super) struct Upstream {
    open: Box<Opener>,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    /// Not reached yet, and the words of the last attempt.
    Closed(Option<LedgerError>),
    Opening,
    Open(Arc<dyn Ledger>),
    /// It is not one to go on with, ever.
    Wrong(OpenError),
}

impl Upstream {
    pub(super) fn new(open: Box<Opener>) -> Self {
        Self { open, state: Mutex::new(State::Closed(None)), changed: Condvar::new() }
    }

    /// The ledger, opened and greeted if it has not been. One caller tries at a time, and those who wait share what came
    /// of it.
    pub(super) fn get(
        &self,
        greet: impl FnOnce(&dyn Ledger) -> Result<(), LedgerError>,
    ) -> Result<Arc<dyn Ledger>, OpenError> {
        let mut state = self.state();
        let mut waited = false;
        while matches!(*state, State::Opening) {
            let (next, wait) =
                self.changed.wait_timeout(state, MAX_WAIT).unwrap_or_else(PoisonError::into_inner);
            (state, waited) = (next, true);
            if wait.timed_out() {
                break;
            }
        }
        match &*state {
            State::Open(ledger) => return Ok(Arc::clone(ledger)),
            State::Wrong(error) => return Err(error.clone()),
            State::Closed(Some(error)) if waited => return Err(error.clone().into()),
            State::Opening => return Err(not_yet().into()),
            State::Closed(_) => *state = State::Opening,
        }
        drop(state);
        let attempt = Attempt(self);
        let opened = (self.open)().and_then(|ledger| {
            greet(&*ledger)?;
            Ok(Arc::from(ledger))
        });
        attempt.end(match &opened {
            Ok(ledger) => State::Open(Arc::clone(ledger)),
            Err(OpenError::Ledger(error @ LedgerError::Unavailable(_))) => State::Closed(Some(error.clone())),
            Err(error) => State::Wrong(error.clone()),
        });
        opened
    }

    /// The ledger, where it is open.
    pub(super) fn if_open(&self) -> Option<Arc<dyn Ledger>> {
        match &*self.state() {
            State::Open(ledger) => Some(Arc::clone(ledger)),
            _ => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to open, which comes back also from a caller that panicked.
struct Attempt<'a>(&'a Upstream);

impl Attempt<'_> {
    fn end(self, state: State) {
        *self.0.state() = state;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(*state, State::Opening) {
            *state = State::Closed(None);
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Nothing has been heard of it so far.
pub(super) fn not_yet() -> LedgerError {
    LedgerError::Unavailable("the ledger behind the cache has not answered yet: try again".to_owned())
}
