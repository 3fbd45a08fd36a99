//! Time as one integer with its unit in the type, never as a pair of seconds and nanoseconds.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
};
use core::fmt;
use core::str::FromStr;

/// A point of wall-clock time: milliseconds since 1970-01-01T00:00:00Z, negative before it.
///
/// Its text is RFC 3339 with three digits of a second. Times outside the years -9999 to 9999 are written as
/// `9223372036854775807 ms since 1970`. `FromStr` reads both, and RFC 3339 with any offset.
///
/// ```
/// use floe_id::UnixMillis;
/// let time = UnixMillis::new(1_288_834_974_657);
/// assert_eq!(time.to_string(), "2010-11-04T01:42:54.657Z");
/// assert_eq!("2010-11-04T02:42:54.657+01:00".parse::<UnixMillis>()?, time);
/// assert_eq!(jiff::Timestamp::try_from(time)?.to_string(), "2010-11-04T01:42:54.657Z");
/// # Ok::<(), floe_id::TimeError>(())
/// ```
///
/// It converts to and from `jiff::Timestamp`; with the feature `std`, also `std::time::SystemTime`; with the feature
/// `chrono`, also `chrono::DateTime<Utc>`. A finer time becomes the millisecond in which it lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(i64);

/// A value of a layout's time field: the number of ticks since the layout's epoch.
pub type Tick = u64;

/// Why a text or another library's time cannot become a [`UnixMillis`], or the other way round.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeError {
    /// The text is not a time.
    Text {
        /// The text.
        text: String,
        /// The reason.
        reason: String,
    },
    /// The text is longer than any time; this is its length in bytes. It is rejected before it is read.
    Length(usize),
    /// The other type cannot hold the time.
    Range {
        /// The time.
        time: String,
        /// The other type.
        of: &'static str,
    },
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { text, reason } => write!(
                f,
                "`{text}` is not a time ({reason}): write it as RFC 3339, such as 2010-11-04T01:42:54.657Z"
            ),
            Self::Length(bytes) => {
                write!(f, "{bytes} bytes are no time: write it as RFC 3339, such as 2010-11-04T01:42:54.657Z")
            }
            Self::Range { time, of } => write!(f, "{time} is outside the times that a {of} holds"),
        }
    }
}

crate::__error!(TimeError);

/// The words after the number of a time that RFC 3339 cannot write.
const PLAIN: &str = " ms since 1970";

/// The longest text of a time, with its offset and its zone, in bytes.
const LONGEST: usize = 96;

impl UnixMillis {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// Makes a time of milliseconds since the Unix epoch. [`UnixMillis`] has an example.
    #[inline]
    pub const fn new(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns this instant as a position in a slot's record; `None` before 1970.
    ///
    /// ```
    /// use floe_id::UnixMillis;
    /// assert_eq!(UnixMillis::new(1_500).position(), Some(1_500));
    /// assert_eq!(UnixMillis::new(-1).position(), None);
    /// ```
    #[inline]
    pub fn position(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }

    /// Returns the instant of a position in a slot's record. A position past `i64::MAX`, which no ledger holds, is the
    /// last instant.
    ///
    /// ```
    /// use floe_id::UnixMillis;
    /// assert_eq!(UnixMillis::from_position(1_500), UnixMillis::new(1_500));
    /// assert_eq!(UnixMillis::from_position(u64::MAX), UnixMillis::new(i64::MAX));
    /// ```
    #[inline]
    pub fn from_position(position: u64) -> Self {
        Self(i64::try_from(position).unwrap_or(i64::MAX))
    }

    /// Returns `self - earlier` in milliseconds, negative if `earlier` is later. The result is held within the range of
    /// `i64`.
    ///
    /// ```
    /// use floe_id::UnixMillis;
    /// let (one, next) = (UnixMillis::new(1_000), UnixMillis::new(1_000).plus(500));
    /// assert_eq!((next.since(one), one.since(next)), (500, -500));
    /// ```
    #[inline]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns this instant moved by `millis`, held within the range of `i64`.
    ///
    /// ```
    /// use floe_id::UnixMillis;
    /// assert_eq!(UnixMillis::new(1_000).plus(-1_500), UnixMillis::new(-500));
    /// assert_eq!(UnixMillis::new(i64::MAX).plus(1), UnixMillis::new(i64::MAX));
    /// ```
    #[must_use]
    #[inline]
    pub const fn plus(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    fn out_of(self, of: &'static str) -> TimeError {
        TimeError::Range { time: self.to_string(), of }
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{}{PLAIN}", self.0),
        }
    }
}

impl fmt::Debug for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for UnixMillis {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        if text.len() > LONGEST {
            return Err(TimeError::Length(text.len()));
        }
        let plain = text.strip_suffix(PLAIN).and_then(|millis| millis.parse().ok()).map(Self);
        match plain {
            // One text for each time: this one is for those that have no other.
            Some(time) if time.to_string() == text => Ok(time),
            _ => read_rfc3339(text).map_err(|reason| TimeError::Text { text: text.to_owned(), reason }),
        }
    }
}

/// The time of a text in RFC 3339, to the millisecond, or what is wrong with it.
pub(crate) fn read_rfc3339(text: &str) -> Result<UnixMillis, String> {
    if let Ok(millis) = text.parse::<i64>() {
        let meant = UnixMillis::new(millis);
        return Err(format!("read as milliseconds since 1970 it is {meant}, and {text} may also be seconds"));
    }
    let instant: jiff::Timestamp = text.parse().map_err(|reason: jiff::Error| reason.to_string())?;
    match instant.subsec_nanosecond() % 1_000_000 {
        0 => Ok(UnixMillis::new(instant.as_millisecond())),
        _ => Err("it has a fraction of a millisecond".to_owned()),
    }
}

/// The millisecond in which the instant lies.
impl From<jiff::Timestamp> for UnixMillis {
    fn from(time: jiff::Timestamp) -> Self {
        // The whole milliseconds are counted toward 1970, which before it is one too many.
        let before = time.subsec_nanosecond() % 1_000_000 < 0;
        Self(time.as_millisecond() - i64::from(before))
    }
}

impl TryFrom<UnixMillis> for jiff::Timestamp {
    type Error = TimeError;

    fn try_from(time: UnixMillis) -> Result<Self, TimeError> {
        Self::from_millisecond(time.0).map_err(|_| time.out_of("jiff::Timestamp"))
    }
}

/// The millisecond in which the instant lies.
#[cfg(feature = "std")]
impl TryFrom<std::time::SystemTime> for UnixMillis {
    type Error = TimeError;

    fn try_from(time: std::time::SystemTime) -> Result<Self, TimeError> {
        let millis = match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).ok(),
            Err(before) => {
                i64::try_from(before.duration().as_nanos().div_ceil(1_000_000)).ok().map(|millis| -millis)
            }
        };
        millis.map(Self).ok_or_else(|| TimeError::Range { time: format!("{time:?}"), of: "UnixMillis" })
    }
}

#[cfg(feature = "std")]
impl TryFrom<UnixMillis> for std::time::SystemTime {
    type Error = TimeError;

    fn try_from(time: UnixMillis) -> Result<Self, TimeError> {
        let distance = core::time::Duration::from_millis(time.0.unsigned_abs());
        let found = match time.0 < 0 {
            true => std::time::UNIX_EPOCH.checked_sub(distance),
            false => std::time::UNIX_EPOCH.checked_add(distance),
        };
        found.ok_or_else(|| time.out_of("SystemTime"))
    }
}

/// The millisecond in which the instant lies.
#[cfg(feature = "chrono")]
impl From<chrono::DateTime<chrono::Utc>> for UnixMillis {
    fn from(time: chrono::DateTime<chrono::Utc>) -> Self {
        Self(time.timestamp_millis())
    }
}

#[cfg(feature = "chrono")]
impl TryFrom<UnixMillis> for chrono::DateTime<chrono::Utc> {
    type Error = TimeError;

    fn try_from(time: UnixMillis) -> Result<Self, TimeError> {
        Self::from_timestamp_millis(time.0).ok_or_else(|| time.out_of("chrono::DateTime"))
    }
}
