//! What to take instead of a layout that has too many bits.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::fmt;

use super::parse::TickText;
use super::rules::first_flaw;
use super::{FieldKind, Layout, Width};
use crate::time::UnixMillis;

/// A requested layout whose fields have too many bits together, with proposals that fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooWide {
    /// The requested fields.
    pub spec: String,
    /// Their bits together.
    pub total: u32,
    /// The bits of an ID of this width.
    pub limit: u32,
    /// How long the time field lasts: `2^37 ticks of 1ms are 4.35 years`.
    pub lifetime: String,
    /// The nearest layouts that fit.
    pub proposals: Vec<Proposal>,
    /// The same fields as wide IDs, if they fit those.
    pub wide: Option<Layout>,
}

/// A layout that fits and is similar to the requested one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// The layout.
    pub layout: Layout,
    /// What it has less than the requested one: `1,024 workers in place of 1,048,576`.
    pub gives_up: String,
}

/// A year of the Gregorian calendar on average, in milliseconds.
const YEAR: f64 = 31_556_952_000.0;

/// How long a proposal lasts where the layout that was asked for would not: Twitter's 41 bits of milliseconds do.
const LASTING: f64 = 60.0 * YEAR;

/// Fields that somebody asked for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    fields: &'a [(&'a str, u32)],
    tick_millis: u64,
    epoch: UnixMillis,
    width: Width,
}

impl Layout {
    /// How long its ticks last, for people, and never more than that: `69.68 years`.
    ///
    /// ```
    /// use floe_id::Layout;
    /// assert_eq!(Layout::TWITTER.lifetime(), "69.68 years");
    /// ```
    pub fn lifetime(&self) -> String {
        lifetime(self.time_bits(), self.tick_millis())
    }
}

impl TooWide {
    pub(super) fn new(fields: &[(&str, u32)], tick_millis: u64, epoch: UnixMillis, width: Width) -> Self {
        let asked = Asked { fields, tick_millis, epoch, width };
        let time = asked.bits(FieldKind::Time);
        let tick = TickText(tick_millis);
        Self {
            spec: spec(fields),
            total: asked.total(),
            limit: width.max_bits(),
            lifetime: format!("2^{time} ticks of {tick} are {}", lifetime(time, tick_millis)),
            proposals: asked.proposals(),
            wide: match width {
                Width::Narrow => Asked { width: Width::Wide, ..asked }.layout(fields, tick_millis),
                Width::Wide => None,
            },
        }
    }
}

impl Asked<'_> {
    fn bits(&self, kind: FieldKind) -> u32 {
        let of_kind = self.fields.iter().filter(|(name, _)| FieldKind::of(name.as_bytes()) == kind);
        of_kind.map(|(_, bits)| bits).sum()
    }

    fn total(&self) -> u32 {
        self.fields.iter().map(|(_, bits)| bits).sum()
    }

    fn layout(&self, fields: &[(&str, u32)], tick_millis: u64) -> Option<Layout> {
        match first_flaw(fields, tick_millis, self.epoch, self.width) {
            None => Some(Layout::assemble(fields, tick_millis, self.epoch, self.width)),
            Some(_) => None,
        }
    }

    /// Each way of giving something up, as far as it leads to a layout that fits.
    fn proposals(&self) -> Vec<Proposal> {
        let (time, nodes, sequence) =
            (self.bits(FieldKind::Time), self.bits(FieldKind::Node), self.bits(FieldKind::Sequence));
        let excess = self.total().saturating_sub(self.width.max_bits());
        let (half, rest) = (excess / 2, excess - excess / 2);
        let tick = self.tick_millis;
        let lasting = lasting_bits(tick);
        // What is over, once the time has the bits it should have, is shared by the worker and the sequence.
        let over = (lasting + nodes + sequence).saturating_sub(self.width.max_bits());
        let shared = (nodes.saturating_sub(over - over / 2), sequence.saturating_sub(over / 2));
        let mut ways = vec![
            (time, nodes.saturating_sub(excess), sequence, tick),
            (time, nodes, sequence.saturating_sub(excess), tick),
            (time, nodes.saturating_sub(rest), sequence.saturating_sub(half), tick),
        ];
        if time < lasting {
            ways.push((lasting, shared.0, shared.1, tick));
        }
        if let Some(coarser) = coarser_tick(tick, excess) {
            ways.push((time.saturating_sub(excess), nodes, sequence, coarser));
        }
        // Nobody is advised to take a layout that soon runs out.
        let shorter = time.saturating_sub(excess);
        if millis(shorter, tick) * 4.0 >= LASTING {
            ways.push((shorter, nodes, sequence, tick));
        }
        let mut proposals = self.fitting(&ways);
        if proposals.is_empty() {
            // So far off that no single step leads back: what usually serves beside a time that lasts.
            proposals = self.fitting(&[(lasting, nodes.min(11), sequence.min(10), tick)]);
        }
        proposals
    }

    /// The layouts of these bits for time, nodes and sequence and of this tick, each once, as far as they fit.
    fn fitting(&self, ways: &[(u32, u32, u32, u64)]) -> Vec<Proposal> {
        let mut proposals: Vec<Proposal> = Vec::new();
        for &(time, nodes, sequence, tick) in ways {
            let fields = self.resized(time, nodes, sequence);
            if let Some(layout) = fields.and_then(|fields| self.layout(&fields, tick))
                && proposals.iter().all(|other| other.layout != layout)
            {
                proposals.push(Proposal { gives_up: self.given_up(&layout), layout });
            }
        }
        proposals
    }

    /// These fields with other numbers of bits; `None` where a node field would be left with none.
    fn resized(&self, time: u32, nodes: u32, sequence: u32) -> Option<Vec<(&str, u32)>> {
        let mut fields = self.fields.to_vec();
        for (name, bits) in &mut fields {
            match FieldKind::of(name.as_bytes()) {
                FieldKind::Time => *bits = time,
                FieldKind::Sequence => *bits = sequence,
                FieldKind::Node => {}
            }
        }
        // Each bit is taken from the widest node field.
        for _ in nodes..self.bits(FieldKind::Node) {
            let node_fields =
                fields.iter_mut().filter(|(name, _)| FieldKind::of(name.as_bytes()) == FieldKind::Node);
            let (_, bits) = node_fields.max_by_key(|(_, bits)| *bits)?;
            *bits = bits.checked_sub(1).filter(|bits| *bits > 0)?;
        }
        Some(fields)
    }

    fn given_up(&self, layout: &Layout) -> String {
        let mut less = Vec::new();
        let (nodes, sequence) = (self.bits(FieldKind::Node), self.bits(FieldKind::Sequence));
        if layout.worker_bits() < nodes {
            less.push(format!("{} workers in place of {}", power(layout.worker_bits()), power(nodes)));
        }
        if layout.sequence_bits() < sequence {
            let (now, before) = (power(layout.sequence_bits()), power(sequence));
            less.push(format!("{now} IDs a tick in place of {before}"));
        }
        if layout.tick_millis() > self.tick_millis {
            let (now, before) = (TickText(layout.tick_millis()), TickText(self.tick_millis));
            less.push(format!("ticks of {now} in place of {before}"));
        }
        let time = self.bits(FieldKind::Time);
        if millis(layout.time_bits(), layout.tick_millis()) < millis(time, self.tick_millis) {
            let now = layout.lifetime();
            less.push(format!("{now} in place of {}", lifetime(time, self.tick_millis)));
        }
        less.join(", ")
    }
}

impl fmt::Display for TooWide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, total, limit, lifetime, proposals, wide } = self;
        let holds = if *limit == Width::Narrow.max_bits() {
            "63 fit a 64-bit ID (its sign bit stays 0)".to_owned()
        } else {
            format!("{limit} fit a wide ID")
        };
        write!(f, "the layout `{spec}` has {total} bits, and {holds}; {lifetime}")?;
        if !proposals.is_empty() {
            write!(f, ". The nearest that fit:")?;
        }
        for proposal in proposals {
            write!(f, "\n  {proposal}")?;
        }
        match wide {
            Some(layout) => write!(f, "\nAs written it is minted at 128 bits: `{layout}`"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layout, gives_up) = (&self.layout, &self.gives_up);
        let lasts = layout.lifetime();
        let (spec, tick) = (layout.spec(), TickText(layout.tick_millis()));
        let workers = grouped(u128::from(layout.workers()));
        write!(
            f,
            "`{spec} tick={tick}`: {gives_up} (lasts {lasts}; workers: {workers}, {} each)",
            rate(layout)
        )
    }
}

/// Fields in their text form.
pub(super) fn spec(fields: &[(&str, u32)]) -> String {
    fields.iter().map(|(name, bits)| format!("{name}:{bits}")).collect::<Vec<_>>().join(" ")
}

/// How long `2^bits` ticks last. A float, since a field that was merely asked for may have 128 bits.
fn millis(bits: u32, tick_millis: u64) -> f64 {
    // `core` has no `exp2`; this is exact.
    let ticks = (0..bits).fold(1.0, |ticks: f64, _| ticks * 2.0);
    // A tick is at most a day.
    ticks * f64::from(u32::try_from(tick_millis).unwrap_or(u32::MAX))
}

/// How long `2^bits` ticks last, for people; never more than it is.
fn lifetime(bits: u32, tick_millis: u64) -> String {
    let millis = millis(bits, tick_millis);
    let (number, unit) = [(YEAR * 1e6, "million years"), (YEAR, "years"), (86_400_000.0, "days"), (1e3, "s")]
        .into_iter()
        .find(|(size, _)| millis >= *size)
        .map_or((millis, "ms"), |(size, unit)| (millis / size, unit));
    if number < 100.0 {
        format!("{:.2} {unit}", floor(number * 100.0) / 100.0)
    } else {
        format!("{:.0} {unit}", floor(number))
    }
}

/// The whole number at or below a number from 0 on. `core` has none.
fn floor(number: f64) -> f64 {
    /// 2^52: from here on every float is a whole number, and a smaller one that is added to it becomes one.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    if number >= WHOLE {
        return number;
    }
    let near = number + WHOLE - WHOLE;
    if near > number { near - 1.0 } else { near }
}

/// The least time bits that last.
fn lasting_bits(tick_millis: u64) -> u32 {
    (1..Layout::MAX_POSITION_BITS).find(|&bits| millis(bits, tick_millis) >= LASTING).unwrap_or(1)
}

/// The round number of milliseconds (1, 2 or 5 and zeros) that is nearest to `tick_millis * 2^doublings`, if that
/// is a tick that a person would still call short.
fn coarser_tick(tick_millis: u64, doublings: u32) -> Option<u64> {
    let exact = millis(doublings, tick_millis);
    let decades = (0..8).map(|zeros| 10_u64.pow(zeros));
    let round = decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]);
    let ratio = |tick: u64| {
        let tick = millis(0, tick);
        if tick < exact { exact / tick } else { tick / exact }
    };
    let nearest = round.min_by(|one, other| ratio(*one).total_cmp(&ratio(*other)))?;
    (nearest > tick_millis && nearest <= 10_000).then_some(nearest)
}

/// The IDs that one worker mints, a second or, where that is less than one, a tick.
fn rate(layout: &Layout) -> String {
    match u128::from(layout.per_tick()) * 1000 / u128::from(layout.tick_millis()) {
        0 => {
            format!("{} IDs every {}", grouped(u128::from(layout.per_tick())), TickText(layout.tick_millis()))
        }
        per_second => format!("{} IDs/s", grouped(per_second)),
    }
}

/// `2^bits` in digits, or as a power where the digits would not help.
fn power(bits: u32) -> String {
    if bits < 64 { grouped(1 << bits) } else { format!("2^{bits}") }
}

/// Digits in groups of three.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
