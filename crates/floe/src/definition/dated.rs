//! Dated names: whose days count, and how an ID is written.

use jiff::tz::TimeZone;

use super::DefinitionError;

/// How a dated name counts and how its IDs are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatedShape {
    pub(super) zone: String,
    time_zone: TimeZone,
    pub(super) digits: u8,
    pub(super) prefix: String,
    pub(super) overflow: Overflow,
}

/// What happens when a day's counter needs more digits than the name has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// The call fails; the next day begins anew.
    #[default]
    Refuse,
    /// The counter takes more digits. IDs stay unique, but a longer number no longer sorts before the next day's.
    Widen,
}

impl DatedShape {
    /// The most digits of a day's counter: `date * 10^10 + counter` still fits 63 bits.
    pub const MAX_DIGITS: u8 = 10;
    const MAX_PREFIX_BYTES: usize = 32;

    /// Days in `zone` (an IANA name or `UTC`), counters of `digits` digits, written behind `prefix`.
    ///
    /// # Errors
    /// [`DefinitionError::Value`] for an unknown zone, digits outside 1..=10, or a prefix over 32 bytes or with
    /// white space or control characters.
    pub fn new(zone: &str, digits: u8, prefix: &str, overflow: Overflow) -> Result<Self, DefinitionError> {
        // `Etc/Unknown` counts UTC's days without saying so.
        let known = TimeZone::get(zone).ok().filter(|time_zone| !time_zone.is_unknown());
        let time_zone = known.ok_or_else(|| {
            DefinitionError::Value(format!(
                "unknown time zone {zone:?}: give an IANA name such as \"Asia/Shanghai\", or \"UTC\""
            ))
        })?;
        if !(1..=Self::MAX_DIGITS).contains(&digits) {
            return Err(DefinitionError::Value(format!(
                "digits {digits} is outside 1..={}",
                Self::MAX_DIGITS
            )));
        }
        if prefix.len() > Self::MAX_PREFIX_BYTES
            || prefix.contains(|c: char| c.is_control() || c.is_whitespace())
        {
            return Err(DefinitionError::Value(format!(
                "the prefix {prefix:?} must have at most {} bytes, without white space or control characters",
                Self::MAX_PREFIX_BYTES
            )));
        }
        let zone = time_zone.iana_name().unwrap_or(zone).to_owned();
        Ok(Self { zone, time_zone, digits, prefix: prefix.to_owned(), overflow })
    }

    /// The IANA name of the zone whose days count.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// The zone itself.
    pub(crate) fn time_zone(&self) -> &TimeZone {
        &self.time_zone
    }

    /// How many digits the counter is padded to.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// The text before the date.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What happens past the last number of that many digits.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }
}
