//! One thing that a text may be, with all that it then says: for people, and for programs.

use floe::UnixMillis;
use serde_json::{Map, Value, json};

use crate::drawing::{Cell, draw};

/// A text read as an ID of one kind.
pub(crate) struct Reading {
    /// The word for programs: `uuid7`, `ulid`, `snowflake`.
    pub(crate) kind: String,
    /// The same for people.
    pub(crate) title: String,
    /// How the number is written: `decimal`, `hyphens`, `base62`.
    pub(crate) form: String,
    /// The text as whoever mints this kind would have written it.
    pub(crate) text: String,
    pub(crate) time: Option<Moment>,
    /// What it says, in the order in which people read it.
    facts: Vec<(String, String)>,
    /// Its bits, high to low; none where it is no number of fixed width.
    pub(crate) cells: Vec<Cell>,
    notes: Vec<String>,
    /// How anyone computes the same.
    pub(crate) explanation: String,
    /// What only this kind says, for programs.
    extra: Map<String, Value>,
    pub(crate) likelihood: Likelihood,
}

/// How far a text by itself tells that it is of a kind, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Likelihood {
    /// Hardly anything else is written so.
    Certain,
    /// What is written so is most often this.
    Likely,
    /// Other things are written so as often.
    Possible,
    /// Any text of this length reads so.
    Unlikely,
}

/// When an ID was minted, by what it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub(crate) millis: UnixMillis,
    text: String,
}

/// How far a date may lie ahead of this machine's clock and still be believed: a day, for zones and bad clocks.
const BELIEVED_AHEAD_MS: i64 = 86_400_000;
/// How far it may lie ahead and need no word about it: two clocks of a fleet may be so far apart.
const UNSAID_AHEAD_MS: i64 = 10_000;
/// 1990-01-01T00:00:00Z. Nothing that mints an ID of these kinds is older.
const EARLIEST: UnixMillis = UnixMillis::new(631_152_000_000);
/// 100 ns intervals between 1582-10-15, where those of RFC 9562 begin, and 1970 (section 5.1).
const GREGORIAN_TICKS: i64 = 122_192_928_000_000_000;
/// Up to so many bits a number is exact in every program that reads JSON.
const EXACT_BITS: u32 = 53;

impl From<UnixMillis> for Moment {
    fn from(millis: UnixMillis) -> Self {
        Self { millis, text: millis.to_string() }
    }
}

impl Moment {
    /// From the 60 bits of time in a UUID of version 1, 2 or 6.
    pub(crate) fn gregorian(ticks: u64) -> Self {
        let since_1970 = i64::try_from(ticks).unwrap_or(i64::MAX).saturating_sub(GREGORIAN_TICKS);
        let millis = UnixMillis::new(since_1970.div_euclid(10_000));
        let exact = jiff::Timestamp::from_nanosecond(i128::from(since_1970) * 100);
        match exact {
            Ok(time) if since_1970.rem_euclid(10_000) != 0 => Self { millis, text: format!("{time:.7}") },
            _ => millis.into(),
        }
    }

    /// Whether something may have been minted then.
    pub(crate) fn is_credible(&self, now: UnixMillis) -> bool {
        self.millis >= EARLIEST && self.millis.since(now) <= BELIEVED_AHEAD_MS
    }

    /// What is odd about it.
    fn flaw(&self, now: UnixMillis) -> Option<String> {
        let ahead = self.millis.since(now);
        if ahead > UNSAID_AHEAD_MS {
            Some(format!(
                "its time lies in the future, {} ahead of this machine's clock: it was read by the wrong rules, minted by a wrong clock, or made up",
                span(ahead)
            ))
        } else if self.millis < EARLIEST {
            Some("its time lies before 1990, where nobody minted such IDs: it was read by the wrong rules, or made up".to_owned())
        } else {
            None
        }
    }
}

impl Reading {
    pub(crate) fn new(kind: &str, title: impl Into<String>, form: &str, text: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            title: title.into(),
            form: form.to_owned(),
            text: text.into(),
            time: None,
            facts: Vec::new(),
            cells: Vec::new(),
            notes: Vec::new(),
            explanation: String::new(),
            extra: Map::new(),
            likelihood: Likelihood::Certain,
        }
    }

    /// The same as another kind, whose IDs hold one of its own.
    pub(crate) fn of_kind(self, kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..self }
    }

    /// The same under another title.
    pub(crate) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// The same where its text is another, in the form `form`.
    pub(crate) fn written(self, form: &str, text: &str) -> Self {
        Self { form: form.to_owned(), text: text.to_owned(), ..self }
    }

    /// The same with how anyone computes what it says.
    pub(crate) fn explained(self, explanation: String) -> Self {
        Self { explanation, ..self }
    }

    /// The same as likely as that.
    pub(crate) fn that_is(self, likelihood: Likelihood) -> Self {
        Self { likelihood, ..self }
    }

    /// The same with one more line for people.
    pub(crate) fn fact(mut self, label: &str, value: impl Into<String>) -> Self {
        self.facts.push((label.to_owned(), value.into()));
        self
    }

    /// The same with its time, which is also a line for people.
    pub(crate) fn at(mut self, time: impl Into<Moment>) -> Self {
        let time = time.into();
        self.facts.push(("time".to_owned(), time.text.clone()));
        self.time = Some(time);
        self
    }

    /// The same with its bits, and with how they come out of its number; `sums` say what follows from them.
    pub(crate) fn bits(mut self, cells: Vec<Cell>, sums: &[(String, String)]) -> Self {
        self.explanation = shifts(&cells, sums);
        self.cells = cells;
        self
    }

    /// The same with a word that a reader needs to judge it.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same with one more value for programs.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }

    /// Says what is odd about its time, and thinks less of it then.
    pub(crate) fn judged(mut self, now: UnixMillis) -> Self {
        let Some(time) = &self.time else { return self };
        if !time.is_credible(now) {
            self.likelihood = self.likelihood.less();
        }
        match time.flaw(now) {
            Some(flaw) => self.note(flaw),
            None => self,
        }
    }

    /// A line for each thing that the ID says, and its bits.
    pub(crate) fn summary(&self) -> String {
        let mut lines = vec![("id", self.text.as_str()), ("kind", self.title.as_str())];
        lines.extend(self.facts.iter().map(|(label, value)| (label.as_str(), value.as_str())));
        lines.extend(self.notes.iter().map(|note| ("note", note.as_str())));
        let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        let mut text: String =
            lines.iter().map(|(label, value)| format!("{label:width$}  {value}\n")).collect();
        if !self.cells.is_empty() {
            text.push('\n');
            text.push_str(&draw(&self.cells));
        }
        text
    }

    /// `kind  time  what else it says`, for one line of a table.
    pub(crate) fn line(&self) -> [String; 3] {
        let time = self.time.as_ref().map(|time| time.text.clone()).unwrap_or_default();
        let unsaid = |label: &str| {
            matches!(label, "time" | "layout" | "worker id" | "preset" | "written in" | "made of")
        };
        let says = self.facts.iter().filter(|(label, _)| !unsaid(label));
        // What stands in parentheses explains, and a line has no room for that.
        let bare = |value: &str| value.split(" (").next().unwrap_or_default().to_owned();
        let says: Vec<String> = says.map(|(label, value)| format!("{label}={}", bare(value))).collect();
        [self.title.clone(), time, says.join(" ")]
    }

    /// The same for programs, with the words of the server's `/v1/inspect`.
    pub(crate) fn json(&self) -> Value {
        let mut object = self.extra.clone();
        object.insert("kind".to_owned(), self.kind.clone().into());
        object.insert("form".to_owned(), self.form.clone().into());
        object.insert("text".to_owned(), self.text.clone().into());
        if let Some(time) = &self.time {
            object.insert("time".to_owned(), time.text.clone().into());
            object.insert("time_ms".to_owned(), time.millis.get().into());
        }
        if !self.cells.is_empty() {
            object.insert("fields".to_owned(), self.cells.iter().map(field).collect());
        }
        if !self.notes.is_empty() {
            object.insert("notes".to_owned(), self.notes.clone().into());
        }
        Value::Object(object)
    }
}

impl Likelihood {
    pub(crate) fn less(self) -> Self {
        match self {
            Self::Certain => Self::Likely,
            Self::Likely => Self::Possible,
            Self::Possible | Self::Unlikely => Self::Unlikely,
        }
    }
}

fn field(cell: &Cell) -> Value {
    let value = cell.value.unwrap_or_default();
    let value = match u64::try_from(value) {
        Ok(small) if cell.bits <= EXACT_BITS => Value::from(small),
        _ => Value::from(format!("{value:#x}")),
    };
    json!({ "name": cell.name, "bits": cell.bits, "shift": cell.shift, "value": value })
}

/// How a field is taken out of a number of `total` bits.
pub(crate) fn taken(shift: u32, bits: u32, total: u32) -> String {
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
fn shifts(cells: &[Cell], sums: &[(String, String)]) -> String {
    let total = cells.iter().map(|cell| cell.bits).sum();
    let fields = cells.iter().map(|cell| {
        let value = cell.value.unwrap_or_default();
        let value = if cell.bits > 64 { format!("{value:#x}") } else { value.to_string() };
        (taken(cell.shift, cell.bits, total), format!("{value}  {}", cell.name))
    });
    equations(&fields.chain(sums.iter().cloned()).collect::<Vec<_>>())
}

/// Equations one below the other.
pub(crate) fn equations(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(left, right)| format!("  {left:>width$} = {right}\n")).collect()
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
