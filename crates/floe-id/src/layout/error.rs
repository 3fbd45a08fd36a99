//! What is wrong with a layout, or with a value for one, and what to do about it.

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use super::parse::TickText;
use super::presets::PRESETS;
use super::proposals::{TooWide, spec};
use super::rules::{Flaw, MAX_FIELD_BITS};
use super::{Field, Layout, Width};
use crate::time::{Tick, UnixMillis};

/// Why a layout cannot be, or a value does not fit one.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A word of the text form that is no field and no setting, or that comes twice or out of place.
    Word {
        /// The word.
        word: String,
    },
    /// The text form lacks a setting.
    Unsaid {
        /// An example of what is missing.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// A name of a preset that there is not.
    UnknownPreset {
        /// The name.
        name: String,
        /// The preset whose name is nearest, if one is near.
        nearest: Option<&'static str>,
        /// All presets.
        known: String,
    },
    /// A name of a field that breaks the rule for names.
    FieldName {
        /// The name.
        field: String,
    },
    /// A number of bits that is none, or 0, or over 128.
    FieldBits {
        /// The field.
        field: String,
        /// What was given for its bits.
        bits: String,
    },
    /// Two fields of one name.
    FieldTwice {
        /// The name.
        field: String,
        /// The fields of the layout.
        spec: String,
    },
    /// More fields than a layout has.
    TooManyFields {
        /// How many there are.
        count: usize,
    },
    /// No field `time` or no field `sequence`.
    FieldMissing {
        /// `time` or `sequence`.
        field: &'static str,
        /// A usual number of bits for it.
        example: u32,
        /// The fields of the layout.
        spec: String,
    },
    /// A tick outside 1 ms to one day.
    Tick {
        /// The tick.
        millis: u64,
    },
    /// A text that is no tick.
    TickText {
        /// The text.
        text: String,
    },
    /// An epoch before 1970 or in the year 9999 and later.
    Epoch {
        /// The epoch.
        epoch: UnixMillis,
    },
    /// A text that is no epoch.
    EpochText {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More bits than the width has. The text proposes the nearest layouts that fit.
    TooWide(Box<TooWide>),
    /// Too many bits for the time and the sequence together.
    PositionBits {
        /// The fields of the layout.
        spec: String,
        /// The bits of the two.
        bits: u32,
    },
    /// Too many bits for the worker id.
    WorkerBits {
        /// The bits of the node fields together.
        bits: u32,
    },
    /// Time bits that reach past the last instant there is.
    Lifetime {
        /// The bits of the time field.
        bits: u32,
        /// The tick.
        tick: String,
        /// The epoch.
        epoch: UnixMillis,
    },
    /// A name of a time zone that there is not.
    Zone {
        /// The name.
        zone: String,
    },
    /// An epoch that is still to come.
    EpochAhead {
        /// The epoch.
        epoch: UnixMillis,
        /// What the clock says.
        now: UnixMillis,
    },
    /// A time that lies before the epoch.
    BeforeEpoch {
        /// The epoch.
        epoch: UnixMillis,
        /// The time.
        time: UnixMillis,
    },
    /// A time for which the time field has no bits.
    PastHorizon {
        /// The first instant that no longer fits.
        horizon: UnixMillis,
        /// The time.
        time: UnixMillis,
    },
    /// A tick for which the time field has no bits.
    TickOutOfRange {
        /// The tick.
        tick: Tick,
        /// The last one.
        max: Tick,
        /// The layout.
        layout: String,
    },
    /// A sequence number for which the sequence field has no bits.
    SequenceOutOfRange {
        /// The sequence number.
        sequence: u64,
        /// The largest.
        max: u64,
        /// The layout.
        layout: String,
    },
    /// A worker id for which the node fields have no bits.
    WorkerOutOfRange {
        /// The worker id.
        worker: u64,
        /// The largest.
        max: u64,
        /// The layout, or what is known of it.
        of: String,
    },
    /// A range of worker ids that holds none.
    NoWorkers {
        /// The first of the range.
        first: u64,
        /// The last of the range.
        last: u64,
    },
    /// A value for which a node field has no bits.
    FieldOutOfRange {
        /// The field.
        field: String,
        /// The value.
        value: u64,
        /// The largest.
        max: u64,
        /// The layout.
        layout: String,
    },
    /// A value for a node field that the layout does not have.
    UnknownField {
        /// The field.
        field: String,
        /// The node fields that there are.
        known: Vec<String>,
        /// The layout.
        layout: String,
    },
    /// The values for a worker id are not exactly one for each node field.
    NodeFields {
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: &'static str,
        /// The layout.
        layout: String,
    },
    /// An ID with more bits than the layout.
    ForeignBits {
        /// The ID.
        id: u128,
        /// The bits of the layout.
        bits: u32,
        /// The layout.
        layout: String,
    },
    /// The IDs of a span of time do not follow one another.
    Unordered {
        /// The layout.
        layout: String,
    },
    /// A wide layout where IDs of 63 bits were asked for.
    NeedsWide {
        /// The layout.
        layout: String,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word { word } => write!(
                f,
                "`{word}` is out of place in a layout: write its fields first, high to low, each as name:bits, then tick=…, epoch=…, and `wide` for up to 128 bits; or a preset, and behind it tick=… and epoch=… where they are not its own"
            ),
            Self::Unsaid { what, text } => {
                write!(f, "the layout `{text}` does not say all: add for example {what}, or name a preset")
            }
            Self::UnknownPreset { name, nearest, known } => write!(
                f,
                "there is no preset `{name}`{}: write one of {known}, or fields such as `time:41 worker:10 sequence:12`",
                nearest.map(|nearest| format!(" (`{nearest}` is near)")).unwrap_or_default()
            ),
            Self::FieldName { field } => write!(
                f,
                "`{field}` cannot name a field: take 1 to {max} characters of a-z, 0-9 and _, a letter first",
                max = Field::MAX_NAME_BYTES
            ),
            Self::FieldBits { field, bits } => write!(
                f,
                "the field `{field}` cannot have `{bits}` bits: write a whole number from 1 to {MAX_FIELD_BITS}"
            ),
            Self::FieldTwice { field, spec } => {
                write!(f, "the layout `{spec}` has two fields `{field}`: rename or remove one")
            }
            Self::TooManyFields { count } => write!(
                f,
                "a layout has at most {max} fields, and this one has {count}: join some node fields",
                max = Layout::MAX_FIELDS
            ),
            Self::FieldMissing { field, example, spec } => write!(
                f,
                "the layout `{spec}` has no field `{field}`: add one, for example `{field}:{example}`"
            ),
            Self::Tick { millis } => {
                write!(f, "a tick cannot last {millis} ms: take 1 to {max}", max = Layout::MAX_TICK_MILLIS)
            }
            Self::TickText { text } => write!(
                f,
                "`{text}` is not a tick: write whole milliseconds or seconds up to a day, such as 1ms, 10ms or 1s"
            ),
            Self::Epoch { epoch } => write!(
                f,
                "the epoch {epoch} lies outside the years 1970 to 9998: take the day on which the first ID is minted, or earlier"
            ),
            Self::EpochText { text, reason } => write!(
                f,
                "`{text}` is not an epoch ({reason}): write it as RFC 3339, such as 2010-11-04T01:42:54.657Z"
            ),
            Self::TooWide(proposal) => write!(f, "{proposal}"),
            Self::PositionBits { spec, bits } => write!(
                f,
                "the time and sequence fields of `{spec}` have {bits} bits together, and at most {max} can be counted through: give one of them fewer",
                max = Layout::MAX_POSITION_BITS
            ),
            Self::WorkerBits { bits } => write!(
                f,
                "a worker id has at most {max} bits, and here it has {bits}: give the node fields fewer",
                max = Layout::MAX_WORKER_BITS
            ),
            Self::Lifetime { bits, tick, epoch } => write!(
                f,
                "{bits} bits of {tick} ticks from {epoch} outlast every clock (292 million years): give the time field fewer bits"
            ),
            Self::Zone { zone } => {
                write!(f, "there is no time zone `{zone}`: write an IANA name such as UTC or Asia/Shanghai")
            }
            Self::EpochAhead { epoch, now } => write!(
                f,
                "the layout's epoch {epoch} is later than now ({now}): IDs cannot be minted before it; take an earlier epoch, or correct the clock"
            ),
            Self::BeforeEpoch { epoch, time } => write!(
                f,
                "{time} lies before the layout's epoch {epoch}: correct the clock, or take a layout with an earlier epoch"
            ),
            Self::PastHorizon { horizon, time } => write!(
                f,
                "{time} lies past the layout's horizon {horizon}, where its time bits run out: correct the clock, or move to a new name with more time bits, a coarser tick or a later epoch. Its IDs can equal the old ones unless its first one is larger or it has a table of its own"
            ),
            Self::TickOutOfRange { tick, max, layout } => {
                write!(f, "the tick {tick} does not fit: it is 0..={max} in `{layout}`")
            }
            Self::SequenceOutOfRange { sequence, max, layout } => {
                write!(f, "the sequence number {sequence} does not fit: it is 0..={max} in `{layout}`")
            }
            Self::WorkerOutOfRange { worker, max, of } => {
                write!(f, "the worker id {worker} does not fit: it is 0..={max} in {of}")
            }
            Self::NoWorkers { first, last } => {
                write!(f, "no worker id lies in {first}..={last}: write the smaller one first")
            }
            Self::FieldOutOfRange { field, value, max, layout } => {
                write!(f, "the value {value} does not fit the field `{field}`: it is 0..={max} in `{layout}`")
            }
            Self::UnknownField { field, known, layout } => {
                write!(f, "there is no node field `{field}` in `{layout}`: {}", node_fields(known))
            }
            Self::NodeFields { field, problem, layout } => write!(
                f,
                "the node field `{field}` {problem}: give every node field of `{layout}` exactly one value"
            ),
            Self::ForeignBits { id, bits, layout } => write!(
                f,
                "{id} is not an ID of `{layout}`: it has bits set above the lowest {bits}, which is all that the layout has"
            ),
            Self::Unordered { layout } => write!(
                f,
                "the highest field of `{layout}` is not the time, so IDs of one time lie among those of others: no range of IDs is a span of time"
            ),
            Self::NeedsWide { layout } => write!(
                f,
                "the IDs of `{layout}` need more than 63 bits: ask for wide IDs, or take a layout that is not wide"
            ),
        }
    }
}

crate::__error!(LayoutError);

impl LayoutError {
    /// The error that says what `flaw` is in this layout.
    pub(super) fn of(
        flaw: Flaw,
        fields: &[(&str, u32)],
        tick_millis: u64,
        epoch: UnixMillis,
        width: Width,
    ) -> Self {
        let spec = || spec(fields);
        let name = |at: usize| fields.get(at).map(|field| field.0.to_owned()).unwrap_or_default();
        let bits_of =
            |named: fn(&str) -> bool| fields.iter().filter(|f| named(f.0)).map(|f| f.1).sum::<u32>();
        match flaw {
            Flaw::TooManyFields => Self::TooManyFields { count: fields.len() },
            Flaw::Name(at) => Self::FieldName { field: name(at) },
            Flaw::Bits(at) => {
                let bits = fields.get(at).map(|field| field.1.to_string()).unwrap_or_default();
                Self::FieldBits { field: name(at), bits }
            }
            Flaw::Twice(at) => Self::FieldTwice { field: name(at), spec: spec() },
            Flaw::NoTime => Self::FieldMissing { field: "time", example: 41, spec: spec() },
            Flaw::NoSequence => Self::FieldMissing { field: "sequence", example: 12, spec: spec() },
            Flaw::Tick => Self::Tick { millis: tick_millis },
            Flaw::Epoch => Self::Epoch { epoch },
            Flaw::Total => Self::TooWide(Box::new(TooWide::new(fields, tick_millis, epoch, width))),
            Flaw::Position => {
                Self::PositionBits { spec: spec(), bits: bits_of(|name| matches!(name, "time" | "sequence")) }
            }
            Flaw::Worker => Self::WorkerBits { bits: bits_of(|name| !matches!(name, "time" | "sequence")) },
            Flaw::Lifetime => {
                let tick = TickText(tick_millis).to_string();
                Self::Lifetime { bits: bits_of(|name| name == "time"), tick, epoch }
            }
        }
    }

    pub(super) fn unknown_preset(name: &str) -> Self {
        let nearest = PRESETS
            .iter()
            .map(|preset| (distance(name, preset.name), preset.name))
            .filter(|&(distance, known)| distance * 2 < known.len())
            .min()
            .map(|(_, known)| known);
        let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        Self::UnknownPreset { name: name.to_owned(), nearest, known: known.join(", ") }
    }
}

fn node_fields(known: &[String]) -> String {
    if known.is_empty() {
        "it has none, and so one worker id, 0".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    }
}

/// How many letters to add, drop or change to make `one` into `other` (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    // A name is short; what is not cannot be near.
    if one.len() > 64 {
        return usize::MAX / 2;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, from) in one.bytes().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], line + 1);
        for (at, to) in other.bytes().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[at + 1];
            row[at + 1] = change.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}
