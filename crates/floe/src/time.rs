//! Times as integers with their unit in the type, never as a pair of seconds and nanoseconds.

use std::ops::Range;
use std::time::Duration;

pub use floe_id::{Tick, UnixMillis};

/// A reading of a clock that never goes back: milliseconds since an arbitrary instant of this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct MonoMillis(u64);

impl MonoMillis {
    /// Makes one from milliseconds since this process's arbitrary instant. [`plus`](Self::plus) has an example.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since this process's arbitrary instant.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the milliseconds from `earlier` to `self`, or 0 if `earlier` is later.
    ///
    /// ```
    /// use floe::MonoMillis;
    /// let (one, next) = (MonoMillis::new(100), MonoMillis::new(100).plus(50));
    /// assert_eq!((next.since(one), one.since(next)), (50, 0));
    /// ```
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the instant `millis` milliseconds later, at most the largest one.
    ///
    /// ```
    /// use floe::MonoMillis;
    /// assert_eq!(MonoMillis::new(100).plus(50), MonoMillis::new(150));
    /// assert_eq!(MonoMillis::new(u64::MAX).plus(1), MonoMillis::new(u64::MAX));
    /// ```
    #[must_use]
    pub const fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// One look at both clocks, taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The time of the wall clock, which may step either way.
    pub wall: UnixMillis,
    /// The time of the monotonic clock, which never goes back.
    pub mono: MonoMillis,
}

/// A half-open span of wall-clock time, `[start, end)`.
pub type Span = Range<UnixMillis>;

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
