//! The shape of a dated name: the time zone, the date in front, and how an ID is written.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::DefinitionError;
use crate::Id;
use crate::time::UnixMillis;

/// A dated position is `period * 2^40 + counter - 1`; periods are days, months or years from 1970.
pub(crate) const PERIOD_BITS: u32 = 40;

/// How a dated name counts and how its IDs are written.
///
/// ```
/// use floe::{DatedShape, Overflow};
/// let shape = DatedShape::new("Asia/Shanghai", 6, "INV", Overflow::Refuse)?;
/// assert_eq!((shape.zone(), shape.digits(), shape.prefix()), ("Asia/Shanghai", 6, "INV"));
/// # Ok::<(), floe::DefinitionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DatedShape {
    zone: String,
    time_zone: TimeZone,
    date: DateFormat,
    digits: u8,
    prefix: String,
    overflow: Overflow,
}

/// Two shapes are equal if they say the same. What the zone's rules are, may change with each new edition of them.
impl PartialEq for DatedShape {
    fn eq(&self, other: &Self) -> bool {
        let Self { zone, time_zone: _, date, digits, prefix, overflow } = self;
        (zone, date, digits, prefix, overflow)
            == (&other.zone, &other.date, &other.digits, &other.prefix, &other.overflow)
    }
}

impl Eq for DatedShape {}

/// What happens when a period's counter needs more digits than the name has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// The call fails. The next period begins again at 1.
    #[default]
    Refuse,
    /// The counter takes more digits. IDs stay unique, but a longer number no longer sorts before the next period's.
    Widen,
}

/// The date in an ID. It also decides how often the counter begins again at 1: each day, month or year.
///
/// A year of two digits is one from 2010 to 2099. The first ID of 2100 is refused, since it would repeat one of 2000.
/// Years before 2010 are refused too: the number would lose a leading zero, and could repeat one of another year.
///
/// ```
/// use floe::DateFormat;
/// assert_eq!("yyMM".parse(), Ok(DateFormat::ShortMonth));
/// assert_eq!(DateFormat::default().to_string(), "yyyyMMdd");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DateFormat {
    /// `yyyyMMdd`: the counter begins at 1 each day.
    #[default]
    Day,
    /// `yyyyMM`: each month.
    Month,
    /// `yyyy`: each year.
    Year,
    /// `yyMMdd`: each day, up to 2099.
    ShortDay,
    /// `yyMM`: each month, up to 2099.
    ShortMonth,
    /// `yy`: each year, up to 2099.
    ShortYear,
}

/// How long a counter runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Period {
    Day,
    Month,
    Year,
}

impl DateFormat {
    /// All formats.
    pub const ALL: [Self; 6] =
        [Self::Day, Self::Month, Self::Year, Self::ShortDay, Self::ShortMonth, Self::ShortYear];

    /// Returns how it is written in configurations and definitions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "yyyyMMdd",
            Self::Month => "yyyyMM",
            Self::Year => "yyyy",
            Self::ShortDay => "yyMMdd",
            Self::ShortMonth => "yyMM",
            Self::ShortYear => "yy",
        }
    }

    /// Returns how many digits of an ID are the date.
    pub fn width(self) -> usize {
        self.as_str().len()
    }

    /// Returns the largest number of digits for a counter after such a date. Date and counter together fit 63 bits, and
    /// the counter fits the numbers that a period has.
    ///
    /// ```
    /// use floe::DateFormat;
    /// assert_eq!((DateFormat::Day.max_digits(), DateFormat::ShortYear.max_digits()), (10, 12));
    /// ```
    pub fn max_digits(self) -> u8 {
        match self {
            Self::Day => 10,
            _ => 12,
        }
    }

    /// Returns how long a counter runs: a `day`, a `month` or a `year`.
    pub fn period(self) -> &'static str {
        match self.unit() {
            Period::Day => "day",
            Period::Month => "month",
            Period::Year => "year",
        }
    }

    /// Reads a date in this format, digits only, and returns the first day of its period; `None` if the text is not
    /// such a date.
    ///
    /// ```
    /// use floe::DateFormat;
    /// assert_eq!(DateFormat::ShortMonth.read("2611").map(|date| date.to_string()).as_deref(), Some("2026-11-01"));
    /// assert_eq!(DateFormat::Month.read("202613"), None);
    /// ```
    pub fn read(self, text: &str) -> Option<Date> {
        if text.len() != self.width() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (year, rest) = text.split_at(if self.is_short() { 2 } else { 4 });
        let year = year.parse::<i16>().ok()? + if self.is_short() { CENTURY } else { 0 };
        let part = |at: usize| rest.get(at..at + 2).map_or(Some(1), |part| part.parse::<i8>().ok());
        let date = Date::new(year, part(0)?, part(2)?).ok()?;
        self.number_of(date).map(|_| date)
    }

    fn unit(self) -> Period {
        match self {
            Self::Day | Self::ShortDay => Period::Day,
            Self::Month | Self::ShortMonth => Period::Month,
            Self::Year | Self::ShortYear => Period::Year,
        }
    }

    pub(crate) fn is_short(self) -> bool {
        matches!(self, Self::ShortDay | Self::ShortMonth | Self::ShortYear)
    }

    /// The years that it writes, each in its own way and without a leading zero.
    pub(crate) fn years(self) -> std::ops::RangeInclusive<i16> {
        if self.is_short() { CENTURY + 10..=CENTURY + 99 } else { 1970..=9999 }
    }

    /// The period of a date, counted from that of 1970-01-01; `None` if the date cannot be written.
    pub(crate) fn number_of(self, date: Date) -> Option<u64> {
        if !self.years().contains(&date.year()) {
            return None;
        }
        let years = i32::from(date.year()) - 1970;
        let number = match self.unit() {
            Period::Day => date.since(EPOCH).ok()?.get_days(),
            Period::Month => years * 12 + i32::from(date.month()) - 1,
            Period::Year => years,
        };
        u64::try_from(number).ok()
    }

    /// The first day of a period; `None` if its date cannot be written.
    pub(crate) fn date_of(self, number: u64) -> Option<Date> {
        let number = i32::try_from(number).ok()?;
        let span = jiff::Span::new();
        let span = match self.unit() {
            Period::Day => span.try_days(number),
            Period::Month => span.try_months(number),
            Period::Year => span.try_years(number),
        };
        let date = EPOCH.checked_add(span.ok()?).ok()?;
        self.years().contains(&date.year()).then_some(date)
    }

    /// The digits of a date, as a number.
    pub(crate) fn digits_of(self, date: Date) -> u64 {
        let part = |value: i16| u64::try_from(value).unwrap_or(0);
        let year = part(if self.is_short() { date.year() - CENTURY } else { date.year() });
        let (month, day) = (part(date.month().into()), part(date.day().into()));
        match self.unit() {
            Period::Day => year * 10_000 + month * 100 + day,
            Period::Month => year * 100 + month,
            Period::Year => year,
        }
    }

    /// A period in words, behind a count of what is left: `on 2026-11-21`, `in 2026-11`, `in 2026`.
    pub(crate) fn named(self, date: Date) -> String {
        match self.unit() {
            Period::Day => format!("on {date}"),
            Period::Month => format!("in {}", date.strftime("%Y-%m")),
            Period::Year => format!("in {}", date.strftime("%Y")),
        }
    }
}

/// Two digits of a year are of this century.
const CENTURY: i16 = 2000;

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

impl fmt::Display for DateFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DateFormat {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|format| format.as_str()).collect();
            DefinitionError::Value(format!(
                "{text:?} is no date of a dated name: write one of {}",
                known.join(", ")
            ))
        })
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "refuse",
            Self::Widen => "widen",
        })
    }
}

impl FromStr for Overflow {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "widen" => Ok(Self::Widen),
            _ => Err(DefinitionError::Value(format!("\"{text}\" is not one of \"refuse\", \"widen\""))),
        }
    }
}

impl DatedShape {
    /// The largest number of digits for a day's counter: `date * 10^10 + counter` still fits 63 bits. A shorter date
    /// leaves room for more: [`DateFormat::max_digits`].
    pub const MAX_DIGITS: u8 = 10;
    const MAX_PREFIX_BYTES: usize = 32;

    /// Makes a shape with a counter for each day of the time zone `zone` (an IANA name or `UTC`). An ID is `prefix`,
    /// the date, and the counter in `digits` digits.
    ///
    /// ```
    /// use floe::{DatedShape, Overflow};
    /// let shape = DatedShape::new("Asia/Shanghai", 4, "INV", Overflow::Refuse)?;
    /// assert_eq!(shape.read("INV202611210042")?.1, 42);
    /// assert!(DatedShape::new("Atlantis", 4, "", Overflow::Refuse).is_err());
    /// assert!(DatedShape::new("UTC", 11, "", Overflow::Refuse).is_err());
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::Value`] for an unknown zone, for digits outside 1..=10, or for a prefix that has over 32
    /// bytes, white space or control characters.
    pub fn new(zone: &str, digits: u8, prefix: &str, overflow: Overflow) -> Result<Self, DefinitionError> {
        Self::with_date(DateFormat::Day, zone, digits, prefix, overflow)
    }

    /// Makes a shape with another date, so that the counter begins again each day, month or year.
    ///
    /// ```
    /// use floe::{DateFormat, DatedShape, Overflow};
    /// let monthly = DatedShape::with_date(DateFormat::Month, "UTC", 6, "INV", Overflow::Refuse)?;
    /// assert_eq!(monthly.read("INV202611000042")?, (jiff::civil::date(2026, 11, 1), 42));
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new), with digits of 1 to [`DateFormat::max_digits`].
    pub fn with_date(
        date: DateFormat,
        zone: &str,
        digits: u8,
        prefix: &str,
        overflow: Overflow,
    ) -> Result<Self, DefinitionError> {
        // `Etc/Unknown` counts UTC's days without saying so.
        let known = TimeZone::get(zone).ok().filter(|time_zone| !time_zone.is_unknown());
        let time_zone = known.ok_or_else(|| {
            DefinitionError::Value(format!(
                "unknown time zone {zone:?}: give an IANA name such as \"Asia/Shanghai\", or \"UTC\""
            ))
        })?;
        if !(1..=date.max_digits()).contains(&digits) {
            return Err(DefinitionError::Value(format!(
                "digits {digits} is outside 1..={}, the digits that fit behind the date {date}",
                date.max_digits()
            )));
        }
        Self::check_prefix(prefix)?;
        let zone = time_zone.iana_name().unwrap_or(zone).to_owned();
        Ok(Self { zone, time_zone, date, digits, prefix: prefix.to_owned(), overflow })
    }

    pub(super) fn check_prefix(prefix: &str) -> Result<(), DefinitionError> {
        let odd = |c: char| c.is_control() || c.is_whitespace();
        match prefix.len() <= Self::MAX_PREFIX_BYTES && !prefix.contains(odd) {
            true => Ok(()),
            false => Err(DefinitionError::Value(format!(
                "the prefix {prefix:?} must have at most {} bytes, without white space or control characters",
                Self::MAX_PREFIX_BYTES
            ))),
        }
    }

    /// Returns the IANA name of the time zone.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// Returns the format of the date.
    pub fn date(&self) -> DateFormat {
        self.date
    }

    /// Returns to how many digits the counter is padded.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// Returns the text before the date.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns what happens when the counter needs more digits.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// The period of an instant in the zone, counted from that of 1970-01-01; `None` if its date cannot be written.
    pub(crate) fn period_at(&self, time: UnixMillis) -> Option<u64> {
        self.date.number_of(self.date_at(time)?)
    }

    /// The date of an instant in the zone; `None` outside the calendar.
    pub(crate) fn date_at(&self, time: UnixMillis) -> Option<Date> {
        let time = jiff::Timestamp::from_millisecond(time.get()).ok()?;
        Some(self.time_zone.to_datetime(time).date())
    }

    /// Reads an ID, and returns its date and its number within the period. The date is the first day of the month or
    /// year if the counter runs that long. The prefix may be missing, as it is in [`DatedId::number`]. A text that can be
    /// read with its prefix and without one, as only [`Overflow::Widen`] allows, has its prefix.
    ///
    /// ```
    /// use floe::{DatedShape, Overflow};
    /// let shape = DatedShape::new("UTC", 4, "INV", Overflow::Refuse)?;
    /// assert_eq!(shape.read("INV202611210042")?, (jiff::civil::date(2026, 11, 21), 42));
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::Value`] names the rule that the text breaks.
    pub fn read(&self, text: &str) -> Result<(Date, u64), DefinitionError> {
        let digits = self.without_prefix(text);
        self.read_digits(digits, text.len() - digits.len())
    }

    /// An ID without its prefix, which may be missing, also where it could be the beginning of a date.
    pub(super) fn without_prefix<'a>(&self, text: &'a str) -> &'a str {
        match text.strip_prefix(self.prefix()) {
            Some(digits) if self.read_digits(digits, 0).is_ok() || self.read_digits(text, 0).is_err() => {
                digits
            }
            _ => text,
        }
    }

    /// Reads what stands behind a prefix of `before` bytes.
    fn read_digits(&self, digits: &str, before: usize) -> Result<(Date, u64), DefinitionError> {
        let refuse = |why: String| {
            let (prefix, date, width) = (self.prefix(), self.date, self.digits);
            Err(DefinitionError::Value(format!(
                "{why}; it is written as {prefix}{date} and then {width} digits"
            )))
        };
        if let Some((at, character)) = digits.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
            let at = before + at;
            return refuse(format!("{character:?} at byte {at} is not a decimal digit"));
        }
        let Some((date, number)) = digits.split_at_checked(self.date.width()) else {
            return refuse("it is shorter than a date".to_owned());
        };
        let Some(day) = self.date.read(date) else { return refuse(format!("{date} is not a date")) };
        let wanted = usize::from(self.digits);
        let wider = number.starts_with('0') || self.overflow == Overflow::Refuse;
        match number.len() {
            few if few < wanted => refuse(format!("{few} digits after the date are too few")),
            many if many > wanted && wider => refuse(format!("{many} digits after the date are too many")),
            _ => match number.parse() {
                Ok(number) => Ok((day, number)),
                Err(_) => refuse("its counter does not fit 63 bits".to_owned()),
            },
        }
    }

    /// Returns the position, in the units of a mark, of the ID with this number in the period of `date`; `None` if
    /// there is none.
    ///
    /// ```
    /// use floe::{DateFormat, DatedShape, Overflow};
    /// let shape = DatedShape::with_date(DateFormat::Month, "UTC", 4, "INV", Overflow::Refuse)?;
    /// let position = shape.position(jiff::civil::date(2026, 11, 21), 42).unwrap();
    /// assert_eq!(shape.id_at(position).unwrap().to_string(), "INV2026110042");
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    pub fn position(&self, date: Date, number: u64) -> Option<u64> {
        let within = number.checked_sub(1).filter(|within| within >> PERIOD_BITS == 0)?;
        Some(self.date.number_of(date)? << PERIOD_BITS | within)
    }

    /// Returns the ID at a position, in the units of a mark; `None` if its date cannot be written.
    /// [`position`](Self::position) is the way back, and has an example.
    pub fn id_at(&self, position: u64) -> Option<DatedId> {
        DatedId::at(position, &Arc::new(self.clone()))
    }
}

/// A date and a number within its period. Its text is the prefix, the date in the format of [`DatedShape::date`], and
/// the number, padded with zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatedId {
    date: Date,
    counter: u64,
    shape: Arc<DatedShape>,
}

impl DatedId {
    /// The ID at a position; `None` if its date cannot be written.
    pub(crate) fn at(position: u64, shape: &Arc<DatedShape>) -> Option<Self> {
        let date = shape.date().date_of(position >> PERIOD_BITS)?;
        let counter = (position & ((1 << PERIOD_BITS) - 1)) + 1;
        Some(Self { date, counter, shape: Arc::clone(shape) })
    }

    /// Returns the day. If the name counts months or years, it is the first day of the month or year.
    pub fn date(&self) -> Date {
        self.date
    }

    /// Returns the number within the period, from 1.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Returns the text before the date.
    pub fn prefix(&self) -> &str {
        self.shape.prefix()
    }

    /// Returns the ID as one number, `date * 10^digits + counter`. If the counter has outgrown its digits, the exponent
    /// is the number of digits that it has. `None` if the result is over 63 bits.
    ///
    /// ```
    /// use floe::{DatedShape, Overflow};
    /// let shape = DatedShape::new("UTC", 4, "INV", Overflow::Widen)?;
    /// let number = |counter| {
    ///     let position = shape.position(jiff::civil::date(2026, 11, 21), counter)?;
    ///     shape.id_at(position)?.number().map(|id| id.get())
    /// };
    /// assert_eq!(number(42), Some(202611210042));
    /// assert_eq!(number(12_345), Some(2026112112345));
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    pub fn number(&self) -> Option<Id> {
        let digits = self.counter.ilog10() + 1;
        let scale = 10_u64.checked_pow(digits.max(u32::from(self.shape.digits())))?;
        let date = self.shape.date().digits_of(self.date);
        let number = date.checked_mul(scale)?.checked_add(self.counter)?;
        Id::try_from(number).ok()
    }
}

impl fmt::Display for DatedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(self.shape.digits());
        let (format, prefix) = (self.shape.date(), self.shape.prefix());
        write!(
            f,
            "{prefix}{:0width$}{:0digits$}",
            format.digits_of(self.date),
            self.counter,
            width = format.width()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules of a zone are replaced while a process runs, and so is what this machine knows of it.
    #[test]
    fn a_shape_stays_the_same_when_the_rules_of_its_zone_are_replaced() {
        let shape = DatedShape::new("Asia/Shanghai", 6, "INV", Overflow::Refuse).unwrap();
        let renewed = DatedShape { time_zone: TimeZone::get("Asia/Tokyo").unwrap(), ..shape.clone() };
        assert_eq!(shape, renewed);
        for other in [
            DatedShape::new("Asia/Tokyo", 6, "INV", Overflow::Refuse),
            DatedShape::with_date(DateFormat::Month, "Asia/Shanghai", 6, "INV", Overflow::Refuse),
            DatedShape::new("Asia/Shanghai", 7, "INV", Overflow::Refuse),
            DatedShape::new("Asia/Shanghai", 6, "", Overflow::Refuse),
            DatedShape::new("Asia/Shanghai", 6, "INV", Overflow::Widen),
        ] {
            assert_ne!(other.unwrap(), shape);
        }
    }

    /// The number of an ID has no prefix, and a date may begin with the same digits.
    #[test]
    fn an_id_is_read_with_and_without_a_prefix_of_digits() {
        let shape = DatedShape::new("UTC", 6, "20", Overflow::Refuse).unwrap();
        let read = Ok((jiff::civil::date(2026, 11, 30), 42));
        assert_eq!(shape.read("2020261130000042"), read);
        assert_eq!(shape.read("20261130000042"), read);
        assert_eq!(shape.without_prefix("20261130000042"), "20261130000042");
        let refused = shape.read("20x").unwrap_err().to_string();
        assert!(refused.contains("'x' at byte 2"), "{refused}");
        // It would also be number 210042 of 2020-10-11, without the prefix.
        let shape = DatedShape::new("UTC", 4, "20", Overflow::Widen).unwrap();
        assert_eq!(shape.read("20201011210042"), Ok((jiff::civil::date(2010, 11, 21), 42)));
    }
}
