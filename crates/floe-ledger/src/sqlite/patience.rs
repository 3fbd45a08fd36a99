//! Waiting for other processes, with a bound.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::trouble::Trouble;
use crate::pauses;

/// The first wait. Another process's transaction takes some hundred microseconds, with its flush.
const FIRST: Duration = Duration::from_micros(250);

/// The longest wait between two tries.
const LONGEST: Duration = Duration::from_millis(8);

/// Tries until the result is not busy, or until it has waited for `max_wait`.
///
/// SQLite does not use its own busy handler when it switches the journal mode or recovers the WAL, and its waits grow
/// to 100 ms. This covers every kind of busy in one way.
pub(super) fn patiently<T>(
    max_wait: Duration,
    mut attempt: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let (mut waited, mut step) = (Duration::ZERO, FIRST);
    loop {
        match attempt() {
            Err(trouble) if trouble.is_busy() && waited < max_wait => {
                let wait = pauses::spread(step, pauses::random()).min(max_wait - waited);
                pause(wait);
                waited += wait;
                step = (step * 2).min(LONGEST);
            }
            outcome => return outcome,
        }
    }
}

/// Does `work`, and says how long that took.
#[expect(clippy::disallowed_methods, reason = "how long a thread waits is real time")]
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}

pub(super) fn pause(wait: Duration) {
    #[cfg(test)]
    tests::PAUSED.set(tests::PAUSED.get() + wait);
    let (never, lock) = (Condvar::new(), Mutex::new(()));
    let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
    // Waits the whole time, also after spurious wake-ups.
    drop(never.wait_timeout_while(guard, wait, |()| true));
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use rusqlite::{Error, ffi};

    use super::*;

    thread_local! {
        /// For how long this thread was to pause.
        pub(in crate::sqlite) static PAUSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// The tries and the pauses are counted, and not the time.
    #[test]
    fn a_file_that_stays_busy_is_asked_for_less_and_less_often_up_to_the_bound() {
        let (mut tries, max_wait) = (0, Duration::from_millis(100));
        PAUSED.set(Duration::ZERO);
        let busy = patiently(max_wait, || {
            tries += 1;
            Err::<(), _>(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None).into())
        });
        assert!(busy.is_err_and(|trouble| trouble.is_busy()));
        // Waits of up to 0.25, 0.5, 1, 2 and 4 ms, and then of 8 ms; each at least half as long.
        assert!((18..=31).contains(&tries), "{tries}");
        assert_eq!(PAUSED.get(), max_wait);
    }
}
