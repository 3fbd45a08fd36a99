//! Time as one integer with its unit in the type, never a (seconds, nanoseconds) pair.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
};
use core::fmt;
use core::str::FromStr;

/// A point of wall-clock time: milliseconds since 1970-01-01T00:00:00Z, negative before it.
///
/// Its text is RFC 3339 with three digits of a second. What is outside the years -9999 to 9999 is written as
/// `9223372036854775807 ms since 1970`. `FromStr` reads both, and RFC 3339 of any offset.
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
/// It converts into and from `jiff::Timestamp`, with the feature `std` `std::time::SystemTime`, and with the feature
/// `chrono` `chrono::DateTime<Utc>`. What is finer than a millisecond becomes the millisecond in which it lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(i64);

/// The number of a quantum of a layout's timestamp field, counted from the layout's epoch.
pub type Tick = u64;

/// Why a text or another library's time is no [`UnixMillis`], or the other way round.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeError {
    /// A text that is no time.
    Text {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A text that is longer than any time. It is refused before anything of it is read.
    Length(usize),
    /// A time that the other type cannot hold.
    Range {
        /// The time.
        time: String,
        /// The type that it was to become.
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

/// What is written behind the number of a time that RFC 3339 has no text for.
const PLAIN: &str = " ms since 1970";

/// No text of a time is longer, with its offset and its zone.
const LONGEST: usize = 96;

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
