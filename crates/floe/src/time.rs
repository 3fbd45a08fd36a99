//! What the clocks say: integers with their unit in the type, never a (seconds, nanoseconds) pair.

use std::ops::Range;
use std::time::Duration;

pub use floe_id::{Tick, UnixMillis};

/// A reading of a clock that never goes back: milliseconds since an arbitrary instant of this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct MonoMillis(u64);

impl MonoMillis {
    /// From milliseconds since this process's arbitrary instant.
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since this process's arbitrary instant.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Milliseconds from `earlier` to `self`; 0 where `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This instant and `millis` more.
    #[must_use]
    pub const fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// One look at both clocks, taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What the wall clock says; it may step either way.
    pub wall: UnixMillis,
    /// What the monotonic clock says; it never goes back.
    pub mono: MonoMillis,
}

/// A half-open span of wall-clock time, `[start, end)`.
pub type Span = Range<UnixMillis>;

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
