//! What another thread does under a lock, and whom it wakes.

use std::sync::mpsc;
use std::sync::{Condvar, MutexGuard};
use std::thread;
use std::time::Duration;

/// Lets another thread do `work`, as far as it comes while this one holds the lock, and waits as long as `waits` says.
///
/// # Panics
///
/// If this thread is woken too early (it sleeps on then), or not at all.
pub fn woken_by<'a, T>(
    condvar: &Condvar,
    locked: MutexGuard<'a, T>,
    work: impl FnOnce() + Send,
    waits: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    thread::scope(|scope| {
        let (begins, begun) = mpsc::channel::<()>();
        scope.spawn(move || {
            drop(begins);
            work();
        });
        assert!(begun.recv().is_err(), "it only begins");
        // Usually enough for the other thread to come as far as it can. In any case it has to wake this one.
        (0..10_000).for_each(|_| thread::yield_now());
        let waited = condvar.wait_timeout_while(locked, Duration::from_secs(30), waits);
        let (locked, waited) = waited.expect("nobody panics under the lock");
        assert!(!waited.timed_out(), "nobody wakes it");
        locked
    })
}
