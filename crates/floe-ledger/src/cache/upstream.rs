//! The ledger behind a cache. It is opened when it is first reached, which may be long after the cache.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError};

use crate::OpenError;

/// Opens the ledger behind.
pub(super) type Opener = dyn Fn() -> Result<Box<dyn Ledger>, OpenError> + Send + Sync;

/// How long a caller waits for another caller's attempt. Ledgers bound their own time.
const MAX_WAIT: Duration = Duration::from_secs(30);

pub(super) struct Upstream {
    open: Box<Opener>,
    state: Mutex<State>,
    changed: Condvar,
    /// How often a caller began to wait for another caller's attempt.
    #[cfg(test)]
    waits: std::sync::atomic::AtomicUsize,
}

enum State {
    /// Not reached yet, and the error of the last attempt.
    Closed(Option<LedgerError>),
    Opening,
    Open(Arc<dyn Ledger>),
    /// It can never be used.
    Wrong(OpenError),
}

impl Upstream {
    pub(super) fn new(open: Box<Opener>) -> Self {
        Self {
            open,
            state: Mutex::new(State::Closed(None)),
            changed: Condvar::new(),
            #[cfg(test)]
            waits: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// The ledger, opened and checked if it is not yet. One caller tries at a time, and those that wait share its
    /// result.
    pub(super) fn get(
        &self,
        greet: impl FnOnce(&dyn Ledger) -> Result<(), LedgerError>,
    ) -> Result<Arc<dyn Ledger>, OpenError> {
        let mut state = self.state();
        let mut waited = false;
        while matches!(*state, State::Opening) {
            #[cfg(test)]
            self.waits.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
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

    /// The ledger, if it is open.
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

/// The right to open. It comes back even if its caller panics.
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

/// It has not answered yet.
pub(super) fn not_yet() -> LedgerError {
    LedgerError::Unavailable("the ledger behind the cache has not answered yet: try again".to_owned())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use floe::ledger::Memory;

    use super::*;

    /// One whose attempts give these results in order, and a count of the attempts.
    fn upstream(
        attempt: impl Fn(usize) -> Result<Box<dyn Ledger>, OpenError> + Send + Sync + 'static,
    ) -> (Upstream, Arc<AtomicUsize>) {
        let attempts = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&attempts);
        let open = move || attempt(count.fetch_add(1, Ordering::SeqCst));
        (Upstream::new(Box::new(open)), attempts)
    }

    fn get(upstream: &Upstream) -> Result<(), OpenError> {
        upstream.get(|_| Ok(())).map(drop)
    }

    fn gone() -> OpenError {
        LedgerError::Unavailable("gone".to_owned()).into()
    }

    #[test]
    fn those_who_wait_for_an_attempt_share_what_came_of_it() {
        let (fails, told) = mpsc::channel::<()>();
        let told = Mutex::new(told);
        let (upstream, attempts) = upstream(move |attempt| match attempt {
            0 => {
                told.lock().unwrap().recv().unwrap();
                Err(gone())
            }
            _ => Ok(Box::new(Memory::default())),
        });
        let (upstream, (answer, answers)) = (Arc::new(upstream), mpsc::channel());
        let call = || {
            let (upstream, answer) = (Arc::clone(&upstream), answer.clone());
            thread::spawn(move || answer.send(get(&upstream)));
        };
        call();
        while attempts.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        (0..3).for_each(|_| call());
        while upstream.waits.load(Ordering::SeqCst) < 3 {
            thread::yield_now();
        }
        fails.send(()).unwrap();
        for _ in 0..4 {
            // A caller whom nobody wakes would go on by itself when the longest wait is over.
            assert_eq!(answers.recv_timeout(MAX_WAIT / 2), Ok(Err(gone())));
        }
        assert_eq!(attempts.load(Ordering::SeqCst), 1);
        assert_eq!(get(&upstream), Ok(()), "the next caller tries again");
    }

    #[test]
    fn a_caller_that_panicked_leaves_the_attempt_to_the_next() {
        let (upstream, _) = upstream(|attempt| match attempt {
            0 => resume_unwind(Box::new("the test broke the adapter")),
            _ => Ok(Box::new(Memory::default())),
        });
        assert!(catch_unwind(AssertUnwindSafe(|| get(&upstream))).is_err());
        assert_eq!(get(&upstream), Ok(()));
    }

    #[test]
    fn a_ledger_that_does_not_answer_its_greeting_is_not_open_and_is_greeted_again() {
        let (upstream, attempts) = upstream(|_| Ok(Box::new(Memory::default())));
        let silent = LedgerError::Unavailable("no answer".to_owned());
        let greeted = upstream.get(|_| Err(silent.clone())).map(drop);
        assert_eq!(greeted, Err(silent.into()));
        assert!(upstream.if_open().is_none());
        let mut asked = 0;
        for _ in 0..2 {
            let greet = |_: &dyn Ledger| {
                asked += 1;
                Ok(())
            };
            assert!(upstream.get(greet).is_ok() && upstream.if_open().is_some());
        }
        assert_eq!((asked, attempts.load(Ordering::SeqCst)), (1, 2));
    }

    #[test]
    fn a_ledger_that_is_wrong_is_opened_once_and_one_that_is_gone_again() {
        let unfit: OpenError = LedgerError::Unfit("another realm".to_owned()).into();
        for (error, wanted) in [(unfit, 1), (OpenError::Asked("no such URL".to_owned()), 1), (gone(), 3)] {
            let opened = error.clone();
            let (upstream, attempts) = upstream(move |_| Err(opened.clone()));
            for _ in 0..3 {
                assert_eq!(get(&upstream), Err(error.clone()));
            }
            assert_eq!(attempts.load(Ordering::SeqCst), wanted, "{error:?}");
        }
    }
}
