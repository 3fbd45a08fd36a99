//! A run of positions that only grows. It keeps a time-ordered kind unique and in order within a process.
//!
//! A position is one number: a time, and low bits that distinguish IDs of that time. A draw is one compare-and-swap
//! that leaves a larger number than it found, so no position is drawn twice. A draw that begins after another has
//! returned finds its number or a larger one, whatever the clock did meanwhile. If the low bits of a time are used
//! up, the next position is the first of the next time: the run is then **ahead** of the clock, up to a limit.

use crate::sync::{AtomicU64, Ordering};

/// The last position that was drawn.
#[derive(Debug)]
pub(crate) struct Run(AtomicU64);

/// The positions of a draw would have gone past the limit; nothing was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PastLimit {
    /// The last position that was drawn.
    pub(crate) last: u64,
}

impl Run {
    /// Nothing was drawn yet; the first position is larger than `before`.
    pub(crate) fn after(before: u64) -> Self {
        Self(AtomicU64::new(before))
    }

    pub(crate) fn last(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Draws the position behind the last one, if the last one is at least `least`, the next one at most `limit`, and no
    /// other thread draws in between: the short path of nearly every ID.
    #[inline(always)]
    pub(crate) fn next(&self, least: u64, limit: u64) -> Option<u64> {
        let last = self.last();
        let next = last.checked_add(1).filter(|next| last >= least && *next <= limit)?;
        let swapped = self.0.compare_exchange(last, next, Ordering::Relaxed, Ordering::Relaxed);
        swapped.ok().map(|_| next)
    }

    /// Draws `count` consecutive positions, at least 1, the last of which is at most `limit`, and returns the first.
    ///
    /// `fresh` says, given the last position, where a new time begins: its answer counts if it is larger than that.
    #[inline]
    pub(crate) fn draw(&self, count: u64, limit: u64, fresh: impl Fn(u64) -> u64) -> Result<u64, PastLimit> {
        // Relaxed: there is one word, and reads of one word never go back behind a draw that happened before.
        let mut last = self.last();
        loop {
            let first = fresh(last).max(last.saturating_add(1));
            let end = first.saturating_add(count - 1);
            if end > limit || end == u64::MAX {
                return Err(PastLimit { last });
            }
            match self.0.compare_exchange_weak(last, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(first),
                Err(other) => last = other,
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn positions_never_come_twice_nor_go_past_the_limit() {
        let run = Run::after(9);
        assert_eq!(run.draw(1, 100, |_| 0), Ok(10));
        assert_eq!(run.draw(5, 100, |_| 20), Ok(20));
        assert_eq!(run.draw(1, 100, |last| last), Ok(25));
        assert_eq!(run.draw(75, 100, |_| 0), Ok(26));
        assert_eq!(run.draw(1, 100, |_| 0), Err(PastLimit { last: 100 }));
        assert_eq!(run.draw(1, u64::MAX, |_| u64::MAX), Err(PastLimit { last: 100 }));
        assert_eq!(run.draw(u64::MAX, u64::MAX, |_| 0), Err(PastLimit { last: 100 }));
        assert_eq!(run.last(), 100);
        assert_eq!([run.next(101, 200), run.next(100, 100), run.next(100, 101)], [None, None, Some(101)]);
        assert_eq!([run.next(0, 102), run.next(0, u64::MAX)], [Some(102), Some(103)]);
    }

    /// As by another thread, after it has looked at the last position and before it draws.
    #[test]
    fn a_draw_that_was_overtaken_is_of_what_comes_after() {
        let (run, overtaken) = (Run::after(0), Cell::new(false));
        let drawn = run.draw(2, 100, |_| {
            if !overtaken.replace(true) {
                assert_eq!([run.draw(3, 100, |_| 0), run.draw(1, 100, |_| 0)], [Ok(1), Ok(4)]);
            }
            0
        });
        assert_eq!((drawn, run.last()), (Ok(5), 6));
    }

    #[test]
    fn threads_draw_disjoint_positions_each_in_order() {
        let run = Run::after(0);
        let mut drawn: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let run = &run;
                    scope.spawn(move || {
                        let mut drawn = Vec::new();
                        for round in 0..50_000 {
                            let fresh = if round % 100 == 0 { round * 7 + thread } else { 0 };
                            let next = if round % 3 == 0 { run.next(fresh, u64::MAX - 1) } else { None };
                            drawn.push(next.unwrap_or_else(|| run.draw(1, u64::MAX - 1, |_| fresh).unwrap()));
                        }
                        assert!(drawn.is_sorted_by(|a, b| a < b));
                        drawn
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let before = drawn.len();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), before);
    }
}
