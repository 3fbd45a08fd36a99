//! The stopwatch and the checker.
//!
//! Every thread writes its IDs into memory that was touched before, which is part of the time that is measured, and
//! stands in for what a caller does with an ID. When the clock has stopped, the IDs of all threads are put
//! together, sorted, and those that come twice are taken off the count.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// One run of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) elapsed: Duration,
    pub(crate) unique: u64,
    pub(crate) repeated: u64,
}

impl Outcome {
    /// Wall time by unique IDs, of all threads together.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    pub(crate) fn nanos_per_id(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.unique as f64
    }
}

/// What time it is, on the clock that measures.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits so long.
pub(crate) fn pass(time: Duration) {
    let end = now() + time;
    while let Some(left) = end.checked_duration_since(now()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

/// Runs what `worker` makes for each of `threads` threads. It fills the slice that it is given with IDs.
///
/// # Errors
/// The first error of any thread.
pub(crate) fn run<I, W>(threads: usize, count: usize, worker: impl Fn() -> W) -> Result<Outcome>
where
    I: Copy + Ord + Send + Default + 'static,
    W: FnOnce(&mut [I]) -> Result<()> + Send + 'static,
{
    let barrier = std::sync::Arc::new(Barrier::new(threads));
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let (work, barrier) = (worker(), barrier.clone());
            thread::spawn(move || -> Result<_> {
                // A thread has to own its memory before the clock runs: the first touch of a page costs more than many IDs.
                let mut ids = Vec::with_capacity(count);
                ids.resize_with(count, I::default);
                for id in &mut ids {
                    std::hint::black_box(id);
                }
                barrier.wait();
                let start = now();
                let result = work(&mut ids);
                let end = now();
                result.map(|()| (start, end, ids))
            })
        })
        .collect();
    let mut all = Vec::with_capacity(count * threads);
    let (mut first, mut last): (Option<Instant>, Option<Instant>) = (None, None);
    for handle in handles {
        let (start, end, ids) = handle.join().map_err(|_| "a thread of the benchmark panicked")??;
        first = Some(first.map_or(start, |first| first.min(start)));
        last = Some(last.map_or(end, |last| last.max(end)));
        all.extend(ids);
    }
    let elapsed = last.zip(first).map_or(Duration::ZERO, |(last, first)| last - first);
    let minted = all.len();
    all.sort_unstable();
    all.dedup();
    let unique = all.len();
    Ok(Outcome { elapsed, unique: u64::try_from(unique)?, repeated: u64::try_from(minted - unique)? })
}

/// Fills `ids` one by one.
///
/// # Errors
/// The first of `mint`.
#[inline]
pub(crate) fn fill<I, E>(ids: &mut [I], mut mint: impl FnMut() -> std::result::Result<I, E>) -> Result<()>
where
    E: std::error::Error + Send + Sync + 'static,
{
    for id in ids {
        *id = mint()?;
    }
    Ok(())
}
