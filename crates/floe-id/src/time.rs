//! Time as one integer with its unit in the type, never a (seconds, nanoseconds) pair.

use core::fmt;

/// A point of wall-clock time: milliseconds since 1970-01-01T00:00:00Z, negative before it.
///
/// ```
/// use floe_id::UnixMillis;
/// assert_eq!(UnixMillis::new(1_288_834_974_657).to_string(), "2010-11-04T01:42:54.657Z");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(i64);

/// The number of a quantum of a layout's timestamp field, counted from the layout's epoch.
pub type Tick = u64;

impl UnixMillis {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// From milliseconds since the Unix epoch.
    #[inline]
    pub const fn new(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// This instant as a position in a slot's record, or `None` before 1970.
    #[inline]
    pub fn position(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }

    /// The instant of a position in a slot's record; a position past `i64::MAX` (which no ledger holds) is
    /// the last instant.
    #[inline]
    pub fn from_position(position: u64) -> Self {
        Self(i64::try_from(position).unwrap_or(i64::MAX))
    }

    /// `self - earlier` in milliseconds, negative where `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This instant moved by `millis`, held at the ends of the range of `i64`.
    #[must_use]
    #[inline]
    pub const fn plus(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{} ms since 1970", self.0),
        }
    }
}

impl fmt::Debug for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
