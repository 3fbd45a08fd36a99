//! What the cursors of a floe tell others: the driver, that there is work, and the minters, that something has changed.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::pulse::Pulse;

/// Wakes the driver, and has the pulse of its floe.
#[derive(Default)]
pub(crate) struct Signal {
    raised: Mutex<bool>,
    condition: Condvar,
    pub(crate) pulse: Arc<Pulse>,
}

impl Signal {
    pub(crate) fn new(pulse: Arc<Pulse>) -> Self {
        Self { pulse, ..Self::default() }
    }

    pub(crate) fn raise(&self) {
        *self.lock() = true;
        self.condition.notify_all();
    }

    /// Waits until the signal is raised, at most `millis`, and lowers it.
    pub(crate) fn wait(&self, millis: Option<u64>) {
        let lowered = |raised: &mut bool| !*raised;
        let mut raised = match millis {
            None => self.condition.wait_while(self.lock(), lowered).unwrap_or_else(PoisonError::into_inner),
            Some(millis) => {
                let timeout = Duration::from_millis(millis);
                let waited = self.condition.wait_timeout_while(self.lock(), timeout, lowered);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        *raised = false;
    }

    pub(crate) fn is_raised(&self) -> bool {
        *self.lock()
    }

    pub(crate) fn lower(&self) {
        *self.lock() = false;
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Lets another thread do `work`, as far as it comes while this one holds the lock, and waits as long as `waits` says. It
    /// fails if this thread is woken too early (it sleeps on then), or not at all.
    pub(crate) fn woken_by<T>(
        condition: &Condvar,
        locked: MutexGuard<'_, T>,
        work: impl FnOnce() + Send,
        waits: impl FnMut(&mut T) -> bool,
    ) {
        std::thread::scope(|scope| {
            let (begins, begun) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                drop(begins);
                work();
            });
            assert!(begun.recv().is_err());
            // Usually enough for the other thread to come as far as it can. In any case it has to wake this one.
            (0..10_000).for_each(|_| std::thread::yield_now());
            let waited = condition.wait_timeout_while(locked, Duration::from_secs(30), waits);
            assert!(!waited.unwrap().1.timed_out(), "nobody wakes it");
        });
    }

    #[test]
    fn who_is_woken_finds_the_signal_raised() {
        let signal = Signal::default();
        woken_by(&signal.condition, signal.lock(), || signal.raise(), |raised| !*raised);
    }

    /// Otherwise whoever waits in a loop would never wait again.
    #[test]
    fn what_is_raised_once_ends_one_wait() {
        let signal = Signal::default();
        for millis in [None, Some(600_000)] {
            signal.raise();
            signal.raise();
            signal.wait(millis);
            assert!(!signal.is_raised(), "{millis:?}");
        }
        signal.wait(Some(0));
        assert!(!signal.is_raised());
    }

    /// Otherwise the driver would spin.
    #[test]
    fn a_wait_lasts_until_the_signal_is_raised() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let (signal, raised, seen) = (Signal::default(), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=1_000 {
                    signal.wait(None);
                    let before = raised.load(Ordering::SeqCst);
                    seen.store(round, Ordering::SeqCst);
                    assert_eq!(before, round, "nobody has raised it");
                }
            });
            for round in 1..=1_000 {
                raised.store(round, Ordering::SeqCst);
                signal.raise();
                while seen.load(Ordering::SeqCst) < round {
                    std::thread::yield_now();
                }
            }
        });
    }
}
