//! The text form: `time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z`.
//!
//! Writing has one spelling for each layout. Reading also takes another spelling of a tick (`1000ms` for `1s`) and
//! of an epoch (any offset), since both say exactly one thing, and a preset's name in place of it all. A tick or an
//! epoch behind the name replaces the preset's: `sonyflake epoch=2020-01-01T00:00:00Z`.

use alloc::{borrow::ToOwned, vec::Vec};
use core::fmt;
use core::str::FromStr;

use super::{Layout, LayoutError, Width};
use crate::time::{UnixMillis, read_rfc3339};

/// The word that ends the text form of a layout that is [`Width::Wide`].
const WIDE: &str = "wide";

/// The fields and their bits of a text such as `time:41 worker:10 sequence:12`, before any rule but spelling.
pub(super) fn fields(text: &str) -> Result<Vec<(&str, u32)>, LayoutError> {
    text.split_ascii_whitespace().map(field).collect()
}

fn field(word: &str) -> Result<(&str, u32), LayoutError> {
    let Some((name, bits)) = word.split_once(':') else {
        return Err(LayoutError::Word { word: word.to_owned() });
    };
    let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()) && !bits.starts_with('0');
    match bits.parse() {
        Ok(bits) if digits => Ok((name, bits)),
        _ => Err(LayoutError::FieldBits { field: name.to_owned(), bits: bits.to_owned() }),
    }
}

/// Reads the milliseconds of a tick such as `1ms`, `10ms` or `1s`.
///
/// ```
/// use floe_id::layout::parse_tick;
/// assert_eq!(parse_tick("1s")?, 1_000);
/// assert!(parse_tick("2m").is_err());
/// # Ok::<(), floe_id::LayoutError>(())
/// ```
///
/// # Errors
/// [`LayoutError::TickText`] if the text is not of this sort, or is outside 1 ms to one day.
pub fn parse_tick(text: &str) -> Result<u64, LayoutError> {
    let error = || LayoutError::TickText { text: text.to_owned() };
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').ok_or_else(error)?, 1000),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error());
    }
    let millis = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    millis.filter(|millis| (1..=Layout::MAX_TICK_MILLIS).contains(millis)).ok_or_else(error)
}

/// Reads an epoch in RFC 3339, to the millisecond: `2010-11-04T01:42:54.657Z`, `2020-01-01T00:00:00+08:00`.
///
/// ```
/// use floe_id::layout::parse_epoch;
/// assert_eq!(parse_epoch("2020-01-01T00:00:00+08:00")?.to_string(), "2019-12-31T16:00:00.000Z");
/// assert!(parse_epoch("1577836800000").is_err()); // seconds or milliseconds?
/// # Ok::<(), floe_id::LayoutError>(())
/// ```
///
/// # Errors
/// [`LayoutError::EpochText`] with the reason.
pub fn parse_epoch(text: &str) -> Result<UnixMillis, LayoutError> {
    read_rfc3339(text).map_err(|reason| LayoutError::EpochText { text: text.to_owned(), reason })
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for field in self.fields() {
            write!(f, "{}:{} ", field.name(), field.bits())?;
        }
        write!(f, "tick={} epoch={}", TickText(self.tick_millis()), self.epoch())?;
        match self.width() {
            Width::Narrow => Ok(()),
            Width::Wide => write!(f, " {WIDE}"),
        }
    }
}

/// A tick in its canonical spelling: whole seconds as such, all others in milliseconds.
pub(super) struct TickText(pub(super) u64);

impl fmt::Display for TickText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1000) && self.0 > 0 {
            write!(f, "{}s", self.0 / 1000)
        } else {
            write!(f, "{}ms", self.0)
        }
    }
}

/// Reads the text form, or the name of a [preset](super::PRESETS), behind which a tick and an epoch replace its own.
///
/// ```
/// use floe_id::Layout;
/// let from_2020: Layout = "sonyflake epoch=2020-01-01T00:00:00Z".parse()?;
/// assert_eq!(from_2020.to_string(), "time:39 sequence:8 machine:16 tick=10ms epoch=2020-01-01T00:00:00.000Z");
/// # Ok::<(), floe_id::LayoutError>(())
/// ```
impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        if let Some((name, settings)) = words.split_first()
            && !name.contains([':', '='])
            // A word that belongs behind fields, and is no name.
            && (settings.is_empty() || *name != WIDE)
        {
            let preset = Self::preset(name).ok_or_else(|| LayoutError::unknown_preset(name))?;
            if settings.is_empty() {
                return Ok(preset);
            }
            let Said { fields, tick, epoch, width } = Said::read(settings)?;
            if let Some(word) = fields.first() {
                return Err(LayoutError::Word { word: (*word).to_owned() });
            }
            let width = if width == Width::Wide { width } else { preset.width() };
            let tick = tick.unwrap_or(preset.tick_millis());
            return Self::new(&preset.spec(), tick, epoch.unwrap_or(preset.epoch()), width);
        }
        let Said { fields, tick, epoch, width } = Said::read(&words)?;
        let tick = tick.ok_or_else(|| LayoutError::Unsaid { what: "tick=1ms", text: text.to_owned() })?;
        let epoch = epoch.ok_or_else(|| LayoutError::Unsaid {
            what: "epoch=2020-01-01T00:00:00.000Z",
            text: text.to_owned(),
        })?;
        Self::new(&fields.join(" "), tick, epoch, width)
    }
}

/// What the words of a layout say.
struct Said<'a> {
    fields: Vec<&'a str>,
    tick: Option<u64>,
    epoch: Option<UnixMillis>,
    width: Width,
}

impl<'a> Said<'a> {
    fn read(words: &[&'a str]) -> Result<Self, LayoutError> {
        let (words, width) = match words.split_last() {
            Some((&WIDE, words)) => (words, Width::Wide),
            _ => (words, Width::Narrow),
        };
        let mut fields = Vec::new();
        let (mut tick, mut epoch) = (None, None);
        for word in words {
            let again = match word.split_once('=') {
                Some(("tick", text)) => tick.replace(parse_tick(text)?).is_some(),
                Some(("epoch", text)) => epoch.replace(parse_epoch(text)?).is_some(),
                // A field comes before the settings, as in the canonical spelling.
                None if tick.is_none() && epoch.is_none() => {
                    fields.push(*word);
                    false
                }
                _ => true,
            };
            if again {
                return Err(LayoutError::Word { word: (*word).to_owned() });
            }
        }
        Ok(Self { fields, tick, epoch, width })
    }
}
