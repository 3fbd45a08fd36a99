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
    attempts: Mutex<Attempts>,
    changed: Condvar,
    /// How often a caller began to wait for another caller's attempt.
    #[cfg(test)]
    waits: std::sync::atomic::AtomicUsize,
}

struct Attempts {
    state: State,
    /// How many have failed.
    failed: u64,
    /// The error of the last one.
    error: Option<OpenError>,
}

enum State {
    /// Not reached yet.
    Closed,
    Opening,
    Open(Arc<dyn Ledger>),
    /// It can never be used.
    Wrong(LedgerError),
}

impl Upstream {
    pub(super) fn new(open: Box<Opener>) -> Self {
        Self {
            open,
            attempts: Mutex::new(Attempts { state: State::Closed, failed: 0, error: None }),
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
        let attempts = self.attempts();
        let failed = attempts.failed;
        // Not for the next attempt, which another caller may have begun by then.
        let is_under_way = |attempts: &mut Attempts| {
            let waits = matches!(attempts.state, State::Opening) && attempts.failed == failed;
            #[cfg(test)]
            self.waits.fetch_add(usize::from(waits), std::sync::atomic::Ordering::SeqCst);
            waits
        };
        let (mut attempts, _) = self
            .changed
            .wait_timeout_while(attempts, MAX_WAIT, is_under_way)
            .unwrap_or_else(PoisonError::into_inner);
        match &attempts.state {
            State::Open(ledger) => return Ok(Arc::clone(ledger)),
            State::Wrong(error) => return Err(error.clone().into()),
            State::Opening | State::Closed if attempts.failed > failed => {
                return Err(attempts.error.clone().unwrap_or_else(|| not_yet().into()));
            }
            State::Opening => return Err(not_yet().into()),
            State::Closed => attempts.state = State::Opening,
        }
        drop(attempts);
        let mut attempt = Attempt { upstream: self, opened: None };
        let opened = (self.open)().and_then(|ledger| {
            greet(&*ledger)?;
            Ok(Arc::from(ledger))
        });
        attempt.opened = Some(opened.clone());
        opened
    }

    /// The ledger, if it is open.
    pub(super) fn if_open(&self) -> Option<Arc<dyn Ledger>> {
        match &self.attempts().state {
            State::Open(ledger) => Some(Arc::clone(ledger)),
            _ => None,
        }
    }

    fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to open. It ends in one step, so that it never ends the next caller's. It comes back even if its caller
/// panics.
struct Attempt<'a> {
    upstream: &'a Upstream,
    /// What came of it; `None` if its caller panicked.
    opened: Option<Result<Arc<dyn Ledger>, OpenError>>,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut attempts = self.upstream.attempts();
        attempts.state = match self.opened.take() {
            None => State::Closed,
            Some(Ok(ledger)) => State::Open(ledger),
            Some(Err(error)) => match at_work(error.clone()) {
                LedgerError::Unavailable(_) => {
                    attempts.failed += 1;
                    attempts.error = Some(error);
                    State::Closed
                }
                wrong => State::Wrong(wrong),
            },
        };
        drop(attempts);
        self.upstream.changed.notify_all();
    }
}

/// While a cache is used, a password, a certificate or a right may be put right where the ledger behind is: try again
/// later.
pub(super) fn at_work(error: OpenError) -> LedgerError {
    match error {
        OpenError::Ledger(error) => error,
        OpenError::Asked(text) => LedgerError::Unavailable(text),
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
    use floe_testbed::woken_by;

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

    impl State {
        fn is_opening(&self) -> bool {
            matches!(self, Self::Opening)
        }
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

    /// A caller who comes in between may begin the next one at once, and so on.
    #[test]
    fn who_waits_for_an_attempt_does_not_wait_for_the_next() {
        let (upstream, _) = upstream(|_| Ok(Box::new(Memory::default())));
        upstream.attempts().state = State::Opening;
        let (answer, answers) = mpsc::channel();
        let told = thread::scope(|scope| {
            scope.spawn(|| answer.send(get(&upstream)));
            while upstream.waits.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            let mut attempts = upstream.attempts();
            attempts.failed += 1;
            attempts.error = Some(gone());
            drop(attempts);
            upstream.changed.notify_all();
            answers.recv_timeout(MAX_WAIT / 2)
        });
        assert_eq!(told, Ok(Err(gone())));
    }

    /// As after an attempt that failed, where another caller begins the next one before those that waited run.
    #[test]
    fn whoever_is_woken_during_an_attempt_waits_for_its_result() {
        let (ends, end) = mpsc::channel::<()>();
        let end = Mutex::new(end);
        let (upstream, attempts) = upstream(move |_| {
            end.lock().unwrap().recv().unwrap();
            Ok(Box::new(Memory::default()))
        });
        thread::scope(|scope| {
            scope.spawn(|| get(&upstream));
            while attempts.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            let waits = scope.spawn(|| get(&upstream));
            while upstream.waits.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            // It has given this lock back once it waits.
            drop(upstream.attempts());
            upstream.changed.notify_all();
            while upstream.waits.load(Ordering::SeqCst) == 1 && !waits.is_finished() {
                thread::yield_now();
            }
            ends.send(()).unwrap();
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
    }

    /// In two, it would end the next one, which begins as soon as it can, and a third caller would open the ledger meanwhile.
    #[test]
    fn an_attempt_that_has_failed_ends_in_one_step() {
        let (upstream, _) = upstream(|_| Err(gone()));
        upstream.attempts().state = State::Opening;
        let attempt = Attempt { upstream: &upstream, opened: Some(Err(gone())) };
        let opens = |attempts: &mut Attempts| attempts.state.is_opening() && attempts.failed == 0;
        let attempts = woken_by(&upstream.changed, upstream.attempts(), || drop(attempt), opens);
        assert!(matches!(attempts.state, State::Closed));
        assert_eq!((attempts.failed, &attempts.error), (1, &Some(gone())));
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
    fn a_ledger_that_is_unfit_is_opened_once_and_one_that_is_gone_or_refuses_a_setting_again() {
        let unfit: OpenError = LedgerError::Unfit("another realm".to_owned()).into();
        for (error, wanted) in [(unfit, 1), (OpenError::Asked("no such role".to_owned()), 3), (gone(), 3)] {
            let opened = error.clone();
            let (upstream, attempts) = upstream(move |_| Err(opened.clone()));
            for _ in 0..3 {
                assert_eq!(get(&upstream), Err(error.clone()));
            }
            assert_eq!(attempts.load(Ordering::SeqCst), wanted, "{error:?}");
        }
    }
}
