//! Errors of layouts and of values for them, with the way out.

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

/// Why a layout is invalid, or a value does not fit one.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// The text has a word that is neither a field nor a setting, or that comes twice or in the wrong place.
    Word {
        /// The word.
        word: String,
    },
    /// The text lacks a setting.
    Unsaid {
        /// An example of the missing setting.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// There is no preset of this name.
    UnknownPreset {
        /// The name.
        name: String,
        /// The preset with the most similar name, if there is one.
        nearest: Option<&'static str>,
        /// All presets.
        known: String,
    },
    /// The name of a field breaks the rule for names.
    FieldName {
        /// The name.
        field: String,
    },
    /// The bits of a field are not a number from 1 to 128.
    FieldBits {
        /// The field.
        field: String,
        /// The text that was given for its bits.
        bits: String,
    },
    /// Two fields have the same name.
    FieldTwice {
        /// The name.
        field: String,
        /// The fields of the layout.
        spec: String,
    },
    /// There are more than [`Layout::MAX_FIELDS`] fields.
    TooManyFields {
        /// The number of fields.
        count: usize,
    },
    /// There is no field `time` or no field `sequence`.
    FieldMissing {
        /// `time` or `sequence`.
        field: &'static str,
        /// A usual number of bits for it.
        example: u32,
        /// The fields of the layout.
        spec: String,
    },
    /// The tick is outside 1 ms to one day.
    Tick {
        /// The tick.
        millis: u64,
    },
    /// The text is not a tick.
    TickText {
        /// The text.
        text: String,
    },
    /// The epoch is before 1970, or in the year 9999 or later.
    Epoch {
        /// The epoch.
        epoch: UnixMillis,
    },
    /// The text is not an epoch.
    EpochText {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The fields have more bits together than the width. The text proposes the nearest layouts that fit.
    TooWide(Box<TooWide>),
    /// Time and sequence have more than [`Layout::MAX_POSITION_BITS`] bits together.
    PositionBits {
        /// The fields of the layout.
        spec: String,
        /// The bits of both together.
        bits: u32,
    },
    /// The worker id has more than [`Layout::MAX_WORKER_BITS`] bits.
    WorkerBits {
        /// The bits of the node fields together.
        bits: u32,
    },
    /// The time bits reach past the last instant of [`UnixMillis`].
    Lifetime {
        /// The bits of the time field.
        bits: u32,
        /// The tick.
        tick: String,
        /// The epoch.
        epoch: UnixMillis,
    },
    /// There is no time zone of this name.
    Zone {
        /// The name.
        zone: String,
    },
    /// The epoch is in the future.
    EpochAhead {
        /// The epoch.
        epoch: UnixMillis,
        /// The time of the clock.
        now: UnixMillis,
    },
    /// The time is before the epoch.
    BeforeEpoch {
        /// The epoch.
        epoch: UnixMillis,
        /// The time.
        time: UnixMillis,
    },
    /// The time is too late for the time field.
    PastHorizon {
        /// The first instant that no longer fits.
        horizon: UnixMillis,
        /// The time.
        time: UnixMillis,
    },
    /// The tick is too large for the time field.
    TickOutOfRange {
        /// The tick.
        tick: Tick,
        /// The last tick.
        max: Tick,
        /// The layout.
        layout: String,
    },
    /// The sequence number is too large for the sequence field.
    SequenceOutOfRange {
        /// The sequence number.
        sequence: u64,
        /// The largest.
        max: u64,
        /// The layout.
        layout: String,
    },
    /// The worker id is too large for the node fields.
    WorkerOutOfRange {
        /// The worker id.
        worker: u64,
        /// The largest.
        max: u64,
        /// The layout, or its number of worker bits.
        of: String,
    },
    /// The range of worker ids is empty.
    NoWorkers {
        /// The first of the range.
        first: u64,
        /// The last of the range.
        last: u64,
    },
    /// The value is too large for the node field.
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
    /// The layout has no node field of this name.
    UnknownField {
        /// The field.
        field: String,
        /// The node fields of the layout.
        known: Vec<String>,
        /// The layout.
        layout: String,
    },
    /// A worker id needs exactly one value for each node field.
    NodeFields {
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: &'static str,
        /// The layout.
        layout: String,
    },
    /// The ID has more bits than the layout.
    ForeignBits {
        /// The ID.
        id: u128,
        /// The bits of the layout.
        bits: u32,
        /// The layout.
        layout: String,
    },
    /// The IDs of a span of time are not one range, since the time is not the highest field.
    Unordered {
        /// The layout.
        layout: String,
    },
    /// The layout is wide, but the requested IDs have 63 bits.
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
                "`{word}` is out of place in a layout: write its fields first, high to low, each as name:bits, then tick=…, epoch=…, and `wide` for up to 128 bits; or write a preset, and tick=… and epoch=… after it to change them"
            ),
            Self::Unsaid { what, text } => {
                write!(f, "the layout `{text}` is not complete: add for example {what}, or name a preset")
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
                "the time and sequence fields of `{spec}` have {bits} bits together, and at most {max} are allowed: give one of them fewer",
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
                "{id} is not an ID of `{layout}`: it has bits set above the lowest {bits}, and the layout has no more"
            ),
            Self::Unordered { layout } => write!(
                f,
                "the highest field of `{layout}` is not the time, so its IDs are not in order of time: no range of IDs is a span of time"
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
