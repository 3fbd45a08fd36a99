//! The stopwatch and the checker.
//!
//! Every thread writes its IDs into memory that was touched before. The write is part of the measured time, and
//! represents what a caller does with an ID. Afterwards the IDs of all threads are put together and sorted, and
//! repeated ones are counted.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// One run of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Wall time of all threads together, for `made` IDs.
    pub(crate) elapsed: Duration,
    pub(crate) made: u64,
    /// Nanoseconds for each of the first IDs, which are not in `elapsed`. `None` for several threads: for so few IDs
    /// that would measure the time until the last thread is awake.
    pub(crate) first: Option<f64>,
    /// Nanoseconds of a server's processor for each of `made`, if that was measured.
    pub(crate) server: Option<f64>,
    /// All IDs of the run, including the first ones. Of a server whose answers are thrown away, the IDs of the checked
    /// client ([`Witness`](crate::servers::Witness)). `None` if the row makes no IDs.
    pub(crate) ids: Option<Ids>,
}

/// The checker's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ids {
    pub(crate) unique: u64,
    pub(crate) repeated: u64,
}

impl Outcome {
    /// Wall time per ID, for all threads together.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    pub(crate) fn nanos_per_id(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.made as f64
    }

    /// Of a server that answered this many requests in this time.
    pub(crate) fn of_server(made: u64, elapsed: Duration, ids: Option<Ids>) -> Self {
        Self { elapsed, made, first: None, server: None, ids }
    }

    /// IDs that were repeated.
    pub(crate) fn repeated(&self) -> u64 {
        self.ids.map_or(0, |ids| ids.repeated)
    }
}

/// The time on the clock that measures.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits this long.
pub(crate) fn pass(time: Duration) {
    let end = now() + time;
    while let Some(left) = end.checked_duration_since(now()).filter(|left| !left.is_zero()) {
        thread::park_timeout(left);
    }
}

/// The content of a place before it holds an ID.
pub(crate) trait Blank: Copy + Send + 'static {
    const BLANK: Self;
}

impl Blank for u64 {
    const BLANK: Self = 0;
}

impl Blank for i64 {
    const BLANK: Self = 0;
}

impl Blank for u128 {
    const BLANK: Self = 0;
}

impl<const N: usize> Blank for [u8; N] {
    const BLANK: Self = [0; N];
}

impl Blank for floe::Id {
    const BLANK: Self = Self::MAX;
}

/// At most this many IDs are the first ones; in a short run a tenth of it.
const FIRST: usize = 1_000;

/// Makes `count` IDs on `threads` threads, and checks them. Each thread has its own worker, which fills the slices that it gets.
///
/// # Errors
/// The first error of any thread.
pub(crate) fn run<I, W>(threads: usize, count: usize, worker: impl Fn() -> W) -> Result<Outcome>
where
    I: Blank + Ord,
    W: FnMut(&mut [I]) -> Result<()> + Send + 'static,
{
    let (outcome, ids) = time(threads, count, worker)?;
    Ok(Outcome { ids: Some(check(ids)?), ..outcome })
}

/// As [`run`], for work that makes no IDs.
///
/// # Errors
/// The first error of any thread.
pub(crate) fn run_without_ids<I, W>(threads: usize, count: usize, worker: impl Fn() -> W) -> Result<Outcome>
where
    I: Blank,
    W: FnMut(&mut [I]) -> Result<()> + Send + 'static,
{
    Ok(time(threads, count, worker)?.0)
}

/// How many IDs there are, and how many of them are repeated.
pub(crate) fn check<I: Ord>(mut ids: Vec<I>) -> Result<Ids> {
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    Ok(Ids { unique: u64::try_from(ids.len())?, repeated: u64::try_from(all - ids.len())? })
}

fn time<I, W>(threads: usize, count: usize, worker: impl Fn() -> W) -> Result<(Outcome, Vec<I>)>
where
    I: Blank,
    W: FnMut(&mut [I]) -> Result<()> + Send + 'static,
{
    let count = count / threads;
    let first = FIRST.min(count / 10);
    let barrier = Arc::new(Barrier::new(threads));
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let (mut work, barrier) = (worker(), barrier.clone());
            thread::spawn(move || -> Result<_> {
                // A thread must own its memory before the clock runs: the first touch of a page costs more than many
                // IDs. Fresh pages of zeros are not touched yet, so each place is written.
                let mut ids = Vec::with_capacity(count);
                ids.resize_with(count, || std::hint::black_box(I::BLANK));
                let (cold, warm) = ids.split_at_mut(first);
                barrier.wait();
                let begun = now();
                let result = work(cold);
                let cold = begun.elapsed();
                // Every thread must reach this point, or the others would wait for it.
                barrier.wait();
                let start = now();
                let result = result.and_then(|()| work(warm));
                let end = now();
                result.map(|()| (cold, start, end, ids))
            })
        })
        .collect();
    let mut all = Vec::with_capacity(count * threads);
    let mut spans = Vec::new();
    for handle in handles {
        let (cold, start, end, ids) = handle.join().map_err(|_| "a thread of the benchmark panicked")??;
        spans.push((cold, start, end));
        all.extend(ids);
    }
    let start = spans.iter().map(|(_, start, _)| *start).min();
    let end = spans.iter().map(|(.., end)| *end).max();
    let elapsed = end.zip(start).map_or(Duration::ZERO, |(end, start)| end - start);
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    let first_nanos = |cold: Duration| cold.as_nanos() as f64 / first as f64;
    let first_nanos = (threads == 1 && first > 0).then(|| first_nanos(spans[0].0));
    let made = u64::try_from((count - first) * threads)?;
    Ok((Outcome { elapsed, made, first: first_nanos, server: None, ids: None }, all))
}

/// Fills `ids` one by one.
///
/// # Errors
/// The first error of `mint`.
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

/// Fills `ids` one by one; `make` cannot fail.
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "what a worker returns")]
pub(crate) fn fill_with<I>(ids: &mut [I], mut make: impl FnMut() -> I) -> Result<()> {
    for id in ids {
        *id = make();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Ids, check, fill_with, run};
    use crate::Result;

    #[test]
    fn a_repeat_is_found_and_counted() -> Result<()> {
        assert_eq!(check(vec![3, 1, 2])?, Ids { unique: 3, repeated: 0 });
        assert_eq!(check(vec![3, 1, 3, 2, 3])?, Ids { unique: 3, repeated: 2 });
        Ok(())
    }

    #[test]
    fn ids_that_two_threads_share_are_found() -> Result<()> {
        let outcome = run(2, 2_000, || {
            let mut next = 0_u64;
            move |ids: &mut [u64]| {
                fill_with(ids, || {
                    next += 1;
                    next
                })
            }
        })?;
        assert_eq!(outcome.ids, Some(Ids { unique: 1_000, repeated: 1_000 }));
        Ok(())
    }

    #[test]
    fn every_thread_makes_its_part_and_all_are_checked() -> Result<()> {
        for threads in [1, 2, 4, 8] {
            let next = std::sync::Arc::new(AtomicU64::new(0));
            let outcome = run(threads, 40_000, || {
                let next = next.clone();
                move |ids: &mut [u64]| fill_with(ids, || next.fetch_add(1, Ordering::Relaxed))
            })?;
            assert_eq!(outcome.ids, Some(Ids { unique: 40_000, repeated: 0 }), "{threads}");
            let first = if threads == 8 { 500 } else { 1_000 };
            assert_eq!(outcome.made, 40_000 - first * u64::try_from(threads)?, "{threads}");
            assert_eq!(outcome.first.is_some(), threads == 1);
            assert!(outcome.nanos_per_id() > 0.0);
        }
        Ok(())
    }

    #[test]
    fn an_error_of_one_thread_ends_the_run() {
        let threads = AtomicU64::new(0);
        let outcome = run(2, 2_000, || {
            let fails = threads.fetch_add(1, Ordering::Relaxed) == 1;
            move |ids: &mut [u64]| {
                if fails { Err("no more".into()) } else { fill_with(ids, || 0) }
            }
        });
        assert_eq!(outcome.err().map(|error| error.to_string()).as_deref(), Some("no more"));
    }
}
