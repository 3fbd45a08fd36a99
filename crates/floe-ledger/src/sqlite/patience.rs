//! Waiting for other processes, with a bound.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::trouble::Trouble;

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
                let wait = spread(step).min(max_wait - waited);
                pause(wait);
                waited += wait;
                step = (step * 2).min(LONGEST);
            }
            outcome => return outcome,
        }
    }
}

/// A random point in the upper half of `step`, so that callers that wait together do not wake together. Only fairness
/// depends on this randomness.
fn spread(step: Duration) -> Duration {
    let parts = RandomState::new().hash_one(0) % 1024;
    let part = u32::try_from(parts).unwrap_or(0);
    step / 2 + step / 2048 * part
}

fn pause(wait: Duration) {
    let (never, lock) = (Condvar::new(), Mutex::new(()));
    let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
    // Waits the whole time, also after spurious wake-ups.
    drop(never.wait_timeout_while(guard, wait, |()| true));
}
