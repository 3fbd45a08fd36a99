//! A reading: one kind that a text may be, with all the values in it.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use crate::id::WideId;
use crate::layout::{FieldKind, Layout, LayoutError, Part, Parts};
use crate::time::UnixMillis;

/// A text read as an ID of one kind.
///
/// With the feature `serde` it is written with the keys of floe's HTTP API (`/v1/inspect`): `kind`, `form`, `text`,
/// `time`, `time_ms`, `fields`, `notes`, and the values that only its kind has.
///
/// ```
/// use floe_id::UnixMillis;
/// use floe_id::inspect::{BitField, Datum, Likelihood, Reading};
///
/// // A number of your own kind: the seconds since 1970, and a counter of 8 bits.
/// let field = |name: &str, bits, shift, value| BitField { name: name.to_owned(), bits, shift, value };
/// let ticket = Reading::new("ticket", "Ticket number", "decimal", (1_790_000_000_u64 << 8 | 7).to_string())
///     .at(UnixMillis::new(1_790_000_000_000))
///     .fact("counter", "7") // for people
///     .with("counter", 7_u64) // for programs
///     .bits(vec![field("seconds", 32, 8, 1_790_000_000), field("counter", 8, 0, 7)], &[])
///     .note("a counter of 8 bits begins again after 255")
///     .that_is(Likelihood::Likely);
/// assert_eq!(ticket.facts[0].1, "2026-09-21T14:13:20.000Z");
/// assert_eq!(ticket.extra, [("counter".to_owned(), Datum::Number(7))]);
///
/// let early = ticket.judged(UnixMillis::new(1_700_000_000_000)); // by a clock that stands in 2023
/// assert_eq!(early.likelihood, Likelihood::Possible);
/// assert!(early.notes[1].starts_with("its time lies in the future"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Reading {
    /// The word for programs: `uuid7`, `ulid`, `snowflake`.
    pub kind: String,
    /// The title for people.
    pub title: String,
    /// The form of the text: `decimal`, `hyphens`, `base62`.
    pub form: String,
    /// The canonical text, as minters of this kind write it.
    pub text: String,
    /// When it was minted, if the kind has a time.
    pub time: Option<Moment>,
    /// The values for people, in reading order: a label, and the value.
    pub facts: Vec<(String, String)>,
    /// Its bits, high to low; empty if it is not a number of fixed width.
    pub fields: Vec<BitField>,
    /// Notes that help to judge it.
    pub notes: Vec<String>,
    /// How to compute the same by hand, in lines.
    pub explanation: String,
    /// Values that only this kind has, for programs: a key, and the value.
    pub extra: Vec<(String, Datum)>,
    /// How likely it is that the text has this kind.
    pub likelihood: Likelihood,
}

/// A run of bits with a name and a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitField {
    /// Its name in the kind's specification, or in the layout.
    pub name: String,
    /// How many bits it has, 1 to 128.
    pub bits: u32,
    /// Its lowest bit, counted from the lowest of the ID, 0.
    pub shift: u32,
    /// Its value.
    pub value: u128,
}

/// A value for programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Datum {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// How likely a text alone shows its kind, the most likely first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Likelihood {
    /// Hardly anything else looks like this.
    Certain,
    /// Most texts that look like this have this kind.
    Likely,
    /// Other things look like this just as often.
    Possible,
    /// Every text of this length can be read as this kind.
    Unlikely,
}

/// The time in an ID.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The time to the millisecond.
    pub millis: UnixMillis,
    /// The time as precisely as the ID has it, in RFC 3339.
    pub text: String,
}

/// How far a time may be ahead of this machine's clock and still be plausible: a day, for time zones and bad clocks.
const BELIEVED_AHEAD_MS: i64 = 86_400_000;
/// How far it may be ahead without a note: two clocks of a fleet may differ this much.
const UNSAID_AHEAD_MS: i64 = 10_000;
/// 1990-01-01T00:00:00Z. Nothing that mints an ID of these kinds is older.
const EARLIEST: UnixMillis = UnixMillis::new(631_152_000_000);
/// 100 ns intervals between 1582-10-15, where those of RFC 9562 begin, and 1970 (section 5.1).
const GREGORIAN_TICKS: i64 = 122_192_928_000_000_000;

impl From<UnixMillis> for Moment {
    fn from(millis: UnixMillis) -> Self {
        Self { millis, text: millis.to_string() }
    }
}

impl Moment {
    /// Makes a moment of the 60 bits of time in a UUID of version 1, 2 or 6: intervals of 100 ns since 1582-10-15.
    ///
    /// ```
    /// use floe_id::inspect::Moment;
    /// assert_eq!(Moment::gregorian(122_192_928_000_000_000).text, "1970-01-01T00:00:00.000Z");
    /// ```
    pub fn gregorian(ticks: u64) -> Self {
        let since_1970 = i64::try_from(ticks).unwrap_or(i64::MAX).saturating_sub(GREGORIAN_TICKS);
        let millis = UnixMillis::new(since_1970.div_euclid(10_000));
        let exact = jiff::Timestamp::from_nanosecond(i128::from(since_1970) * 100);
        match exact {
            Ok(time) if since_1970.rem_euclid(10_000) != 0 => Self { millis, text: format!("{time:.7}") },
            _ => millis.into(),
        }
    }

    /// Returns whether an ID may have been minted at this time: since 1990, and at most a day after `now`.
    ///
    /// ```
    /// use floe_id::{UnixMillis, inspect::Moment};
    /// let now = UnixMillis::new(1_795_219_200_000);
    /// assert!(Moment::from(now).is_credible(now));
    /// assert!(!Moment::from(now.plus(2 * 86_400_000)).is_credible(now));
    /// ```
    pub fn is_credible(&self, now: UnixMillis) -> bool {
        self.millis >= EARLIEST && self.millis.since(now) <= BELIEVED_AHEAD_MS
    }

    /// A note if the time is not plausible.
    fn flaw(&self, now: UnixMillis) -> Option<String> {
        let ahead = self.millis.since(now);
        if ahead > UNSAID_AHEAD_MS {
            Some(format!(
                "its time lies in the future, {} ahead of this machine's clock: it was read by the wrong rules, minted by a wrong clock, or made up",
                span(ahead)
            ))
        } else if self.millis < EARLIEST {
            Some("its time lies before 1990, when nobody minted such IDs: it was read by the wrong rules, or made up".to_owned())
        } else {
            None
        }
    }
}

impl Reading {
    /// Makes a reading without values: its kind as a word and as a title, its form, and its text.
    ///
    /// ```
    /// use floe_id::inspect::{Likelihood, Reading};
    /// let reading = Reading::new("invoice", "Invoice number", "digits", "INV0042").fact("number", "42");
    /// assert_eq!(reading.facts, [("number".to_owned(), "42".to_owned())]);
    /// assert_eq!(reading.likelihood, Likelihood::Certain);
    /// ```
    pub fn new(kind: &str, title: impl Into<String>, form: &str, text: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            title: title.into(),
            form: form.to_owned(),
            text: text.into(),
            time: None,
            facts: Vec::new(),
            fields: Vec::new(),
            notes: Vec::new(),
            explanation: String::new(),
            extra: Vec::new(),
            likelihood: Likelihood::Certain,
        }
    }

    /// Reads a number by a layout: its time, worker id and sequence, with an explanation of how to compute them from
    /// its bits.
    ///
    /// # Errors
    /// [`LayoutError`] if the number has bits outside the layout.
    ///
    /// ```
    /// use floe_id::{Layout, WideId, inspect::Reading};
    ///
    /// let id: WideId = "1541815603606036480".parse()?;
    /// let reading = Reading::by_layout(id, &Layout::TWITTER)?;
    /// assert_eq!(reading.time.unwrap().text, "2022-06-28T16:07:40.105Z");
    /// assert!(reading.explanation.contains("datacenter << 5 | worker = 378  worker id"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_layout(id: WideId, layout: &Layout) -> Result<Self, LayoutError> {
        Ok(Self::of_parts(id, layout, &layout.split(id.get())?))
    }

    pub(super) fn of_parts(id: WideId, layout: &Layout, parts: &Parts) -> Self {
        const KIND: &str = "snowflake";
        let mut reading = Self::new(KIND, KIND, "decimal", id.to_string())
            .fact("layout", layout.to_string())
            .at(parts.time)
            .with("layout", layout.to_string())
            .with("worker", parts.worker)
            .with("sequence", parts.sequence);
        for part in parts.fields.iter().filter(|part| part.field.kind() != FieldKind::Time) {
            reading = reading.fact(part.field.name(), part.value.to_string());
        }
        if parts.fields.iter().filter(|part| part.field.kind() == FieldKind::Node).count() > 1 {
            reading = reading.fact("worker id", format!("{} (the node fields together)", parts.worker));
        }
        let fields = parts.fields.iter().map(|part| BitField {
            name: part.field.name().to_owned(),
            bits: part.field.bits(),
            shift: part.field.shift(),
            value: part.value.into(),
        });
        reading.bits(fields.collect(), &[]).explained(arithmetic(id, layout, parts))
    }

    /// Replaces the kind, for kinds whose IDs hold an ID of another kind.
    ///
    /// ```
    /// use floe_id::inspect::Reading;
    /// let uuid = Reading::new("uuid7", "UUID, version 7", "hyphens", "01890a5d-ac96-774b-bcce-b302099a8057");
    /// let user = uuid
    ///     .of_kind("typeid")
    ///     .titled("TypeID of a user")
    ///     .written("base32", "user_01h455vb4pex5vsknk084sn02q")
    ///     .explained("the 26 digits after user_ are the UUID in base32".to_owned());
    /// assert_eq!((user.kind.as_str(), user.form.as_str()), ("typeid", "base32"));
    /// ```
    #[must_use]
    pub fn of_kind(self, kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..self }
    }

    /// Replaces the title. [`of_kind`](Self::of_kind) has an example.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Replaces the text by another one, in the form `form`. [`of_kind`](Self::of_kind) has an example.
    #[must_use]
    pub fn written(self, form: &str, text: &str) -> Self {
        Self { form: form.to_owned(), text: text.to_owned(), ..self }
    }

    /// Replaces the explanation of how to compute the values. [`of_kind`](Self::of_kind) has an example.
    #[must_use]
    pub fn explained(self, explanation: String) -> Self {
        Self { explanation, ..self }
    }

    /// Replaces the likelihood. [`Reading`] has an example.
    #[must_use]
    pub fn that_is(self, likelihood: Likelihood) -> Self {
        Self { likelihood, ..self }
    }

    /// Adds a value for people. [`Reading`] has an example.
    #[must_use]
    pub fn fact(mut self, label: &str, value: impl Into<String>) -> Self {
        self.facts.push((label.to_owned(), value.into()));
        self
    }

    /// Sets its time, and adds it as a value for people. [`Reading`] has an example.
    #[must_use]
    pub fn at(mut self, time: impl Into<Moment>) -> Self {
        let time = time.into();
        self.facts.push(("time".to_owned(), time.text.clone()));
        self.time = Some(time);
        self
    }

    /// Sets its bits, and explains how to get them from its number. `sums` are further lines of the explanation.
    /// [`Reading`] has an example.
    #[must_use]
    pub fn bits(mut self, fields: Vec<BitField>, sums: &[(String, String)]) -> Self {
        self.explanation = shifts(&fields, sums);
        self.fields = fields;
        self
    }

    /// Adds a note that helps to judge it. [`Reading`] has an example.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a value for programs, and replaces an earlier one of the same key. [`Reading`] has an example.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Datum>) -> Self {
        self.extra.retain(|(other, _)| other != key);
        self.extra.push((key.to_owned(), value.into()));
        self
    }

    /// Adds a note if its time is not plausible at `now`, and lowers the likelihood. [`Reading`] has an example.
    #[must_use]
    pub fn judged(mut self, now: UnixMillis) -> Self {
        let Some(time) = &self.time else { return self };
        if !time.is_credible(now) {
            self.likelihood = self.likelihood.less();
        }
        match time.flaw(now) {
            Some(flaw) => self.note(flaw),
            None => self,
        }
    }
}

impl Likelihood {
    fn less(self) -> Self {
        match self {
            Self::Certain => Self::Likely,
            Self::Likely => Self::Possible,
            Self::Possible | Self::Unlikely => Self::Unlikely,
        }
    }
}

impl From<u64> for Datum {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u8> for Datum {
    fn from(number: u8) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// The consecutive fields of a number, high to low: `(name, bits, value)`.
pub(super) fn fields<const N: usize>(fields: [(&str, u32, u128); N]) -> Vec<BitField> {
    let mut below: u32 = fields.iter().map(|(_, bits, _)| bits).sum();
    let field = |(name, bits, value): (&str, u32, u128)| {
        below -= bits;
        BitField { name: name.to_owned(), bits, shift: below, value }
    };
    fields.into_iter().map(field).collect()
}

/// How a field is taken out of a number of `total` bits.
fn taken(shift: u32, bits: u32, total: u32) -> String {
    let mask = u128::MAX >> u128::BITS.saturating_sub(bits).min(u128::BITS - 1);
    match (shift, shift + bits == total) {
        (0, true) => "id".to_owned(),
        (0, false) => format!("id & {mask:#x}"),
        // Nothing lies above the highest field, so there is nothing to mask.
        (_, true) => format!("id >> {shift}"),
        (_, false) => format!("(id >> {shift}) & {mask:#x}"),
    }
}

/// A line for each field of the number, and what follows from them.
fn shifts(fields: &[BitField], sums: &[(String, String)]) -> String {
    let total = fields.iter().map(|field| field.bits).sum();
    let lines = fields.iter().map(|field| {
        let value = field.value;
        let value = if field.bits > 64 { format!("{value:#x}") } else { value.to_string() };
        (taken(field.shift, field.bits, total), format!("{value}  {}", field.name))
    });
    equations(&lines.chain(sums.iter().cloned()).collect::<Vec<_>>())
}

/// Equations one below the other.
fn equations(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(left, right)| format!("  {left:>width$} = {right}\n")).collect()
}

/// A line of shifts and masks for each field, and where a piece of the worker id goes.
fn arithmetic(id: WideId, layout: &Layout, parts: &Parts) -> String {
    let total = layout.total_bits();
    let mut lines: Vec<(String, String)> = vec![("id".to_owned(), id.to_string())];
    for part in &parts.fields {
        let (field, value) = (part.field, part.value);
        let taken = taken(field.shift(), field.bits(), total);
        if field.kind() != FieldKind::Time {
            lines.push((taken, format!("{value}  {}", field.name())));
            continue;
        }
        lines.push((taken.clone(), format!("{value}  ticks of {} since {}", tick(layout), layout.epoch())));
        let ticks = if taken == "id" { taken } else { format!("({taken})") };
        let scaled = match layout.tick_millis() {
            1 => ticks,
            millis => format!("{ticks} * {millis}"),
        };
        let epoch = layout.epoch().get();
        lines.push((
            format!("{scaled} + {epoch}"),
            format!("{}  ms since 1970: {}", parts.time.get(), parts.time),
        ));
    }
    let nodes: Vec<&Part> = parts.fields.iter().filter(|part| part.field.kind() == FieldKind::Node).collect();
    if nodes.len() > 1 {
        // High to low: each piece is shifted by the bits of those after it.
        let mut below: u32 = nodes.iter().map(|part| part.field.bits()).sum();
        let pieces = nodes.iter().map(|part| {
            below -= part.field.bits();
            match below {
                0 => part.field.name().to_owned(),
                shift => format!("{} << {shift}", part.field.name()),
            }
        });
        lines.push((pieces.collect::<Vec<_>>().join(" | "), format!("{}  worker id", parts.worker)));
    }
    equations(&lines)
}

fn tick(layout: &Layout) -> String {
    match layout.tick_millis() {
        millis if millis.is_multiple_of(1000) => format!("{} s", millis / 1000),
        millis => format!("{millis} ms"),
    }
}

/// How long that is, in the largest unit of which there is a whole one.
fn span(millis: i64) -> String {
    const UNITS: [(i64, &str); 4] =
        [(31_556_952_000, "years"), (86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")];
    match UNITS.into_iter().find(|(unit, _)| millis >= 2 * unit) {
        Some((unit, name)) => format!("{} {name}", millis / unit),
        None => format!("{} s", millis / 1_000),
    }
}

/// Up to so many bits a number is exact in every program that reads JSON.
#[cfg(feature = "serde")]
const EXACT_BITS: u32 = 53;

#[cfg(feature = "serde")]
impl serde::Serialize for Reading {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.extra {
            match value {
                Datum::Number(number) => map.serialize_entry(key, number)?,
                Datum::Text(text) => map.serialize_entry(key, text)?,
            }
        }
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("form", &self.form)?;
        map.serialize_entry("text", &self.text)?;
        if let Some(time) = self.time.as_ref().filter(|_| !self.extra.iter().any(|(key, _)| key == "time")) {
            map.serialize_entry("time", &time.text)?;
            map.serialize_entry("time_ms", &time.millis.get())?;
        }
        if !self.fields.is_empty() {
            map.serialize_entry("fields", &self.fields)?;
        }
        if !self.notes.is_empty() {
            map.serialize_entry("notes", &self.notes)?;
        }
        map.end()
    }
}

/// A value of more than 53 bits is a hexadecimal text, which no program rounds.
#[cfg(feature = "serde")]
impl serde::Serialize for BitField {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("bits", &self.bits)?;
        map.serialize_entry("shift", &self.shift)?;
        match u64::try_from(self.value) {
            Ok(small) if self.bits <= EXACT_BITS => map.serialize_entry("value", &small)?,
            _ => map.serialize_entry("value", &format!("{:#x}", self.value))?,
        }
        map.end()
    }
}
