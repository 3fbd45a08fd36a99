//! The names that the simulated fleet mints under: every kind, and what an outsider can read from their IDs.

use std::sync::LazyLock;

use floe::{
    Counter, Dated, DatedShape, DefineError, Definition, Floe, Generator, Layout, Minter, Name, NameOptions,
    Overflow, Segment, SegmentMinter, UnixMillis,
};

use crate::model::{Fleet, NameInfo, Order};

/// A name, as a process serves it.
pub(super) enum Served {
    /// It does not serve the name, for this reason.
    Not(String),
    Generator(Generator),
    /// One thread's minter on a generator that other threads share.
    Minter(Generator, Minter),
    /// Batches from that generator.
    Bulk(Generator),
    Segment(Segment),
    /// One thread's minter on a segment.
    SegmentMinter(Segment, SegmentMinter),
    Counter(Counter),
    Dated(Dated),
}

/// All snowflakes of one layout are unique together, under any name.
pub(super) const NAMES: &[NameInfo] = &[
    NameInfo { label: "orders", domain: 0, order: Order::Life },
    NameInfo { label: "chat", domain: 0, order: Order::Life },
    NameInfo { label: "bulk", domain: 0, order: Order::Life },
    NameInfo { label: "slow", domain: 1, order: Order::Life },
    NameInfo { label: "tickets", domain: 2, order: Order::Life },
    NameInfo { label: "count", domain: 3, order: Order::Fleet },
    NameInfo { label: "invoice", domain: 4, order: Order::Fleet },
];
pub(super) const SLOW: usize = 3;
pub(super) const TICKETS: usize = 4;
pub(super) const COUNT: usize = 5;
pub(super) const INVOICE: usize = 6;

/// The most IDs that one ask wants.
pub(super) fn most_at_once(name: usize) -> u64 {
    match name {
        2 => 40,
        TICKETS => 30,
        COUNT | INVOICE => 3,
        _ => 1,
    }
}

/// The bits of a snowflake name, split without the library's help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bits {
    pub(super) worker: u32,
    pub(super) sequence: u32,
    pub(super) tick_ms: u64,
    pub(super) epoch_ms: u64,
}

impl Bits {
    /// When the bits of time run out.
    pub(super) fn horizon(&self) -> u64 {
        self.epoch_ms + (self.tick_ms << TIME_BITS)
    }
}

/// Every layout here has this many bits of time.
const TIME_BITS: u32 = 41;
pub(super) const AHEAD_MS: u64 = 10;
const EPOCH_MS: u64 = 1_577_836_800_000; // 2020-01-01

/// The bits of a name's IDs; `None` for numbers. An odd node's `orders` have another layout.
pub(super) fn bits(name: usize, fleet: &Fleet) -> Option<Bits> {
    let worker = fleet.worker_bits;
    match name {
        // A batch of 40 takes five ticks.
        0..=2 if fleet.few => Some(Bits { worker, sequence: 3, tick_ms: 10, epoch_ms: EPOCH_MS - 1_000 }),
        0..=2 => Some(Bits { worker, sequence: 22 - worker, tick_ms: 1, epoch_ms: EPOCH_MS }),
        SLOW => Some(Bits { worker, sequence: 3, tick_ms: 10, epoch_ms: EPOCH_MS }),
        _ => None,
    }
}

static SHAPE: LazyLock<Result<DatedShape, String>> =
    LazyLock::new(|| DatedShape::new("UTC", 6, "", Overflow::Widen).map_err(|error| error.to_string()));

/// The definition of a name. An odd node has other definitions for two of them.
///
/// # Errors
/// The definition's own error if it is not valid.
pub(super) fn definition(name: usize, fleet: &Fleet, odd: bool) -> Result<Definition, DefineError> {
    let invalid = |error: String| DefineError::Invalid(error);
    Ok(match (bits(name, fleet), name) {
        (Some(Bits { worker, sequence, tick_ms, epoch_ms }), _) => {
            let sequence = if odd && name == 0 { sequence - 1 } else { sequence };
            let fields = format!("time:{TIME_BITS} worker:{worker} sequence:{sequence}");
            let epoch = UnixMillis::new(i64::try_from(epoch_ms).unwrap_or(0));
            let width = Layout::TWITTER.width();
            let layout = Layout::new(&fields, tick_ms, epoch, width).map_err(|it| invalid(it.to_string()))?;
            Definition::Snowflake { layout, own: false }
        }
        (None, TICKETS) => Definition::Segment { increment: if odd { 3 } else { 2 }, offset: 1 },
        (None, COUNT) => Definition::Counter,
        (None, _) => Definition::Dated(SHAPE.clone().map_err(invalid)?),
    })
}

/// Binds a name and serves it; a segment by one thread's `minter`, or by batches.
///
/// # Errors
/// The errors of [`Floe::define`].
pub(super) fn define(
    floe: &Floe,
    name: usize,
    fleet: &Fleet,
    odd: bool,
    minter: bool,
) -> Result<Served, DefineError> {
    let options = NameOptions {
        min_step: 8,
        max_step: 512,
        refill: std::time::Duration::from_secs(4),
        ..NameOptions::default()
    };
    let label = Name::new(NAMES[name].label)?;
    let handle = floe.define(&label, &definition(name, fleet, odd)?, &options)?;
    let generator = |generator: &Generator| match name {
        1 => Served::Minter(generator.clone(), generator.minter()),
        2 => Served::Bulk(generator.clone()),
        _ => Served::Generator(generator.clone()),
    };
    let segment = || {
        let segment: Segment = handle.get().cloned()?;
        Some(match minter {
            true => Served::SegmentMinter(segment.clone(), segment.minter()),
            false => Served::Segment(segment),
        })
    };
    let counter = || handle.get().cloned().map(Served::Counter);
    let dated = || handle.get().cloned().map(Served::Dated);
    let served = handle.get().map(generator).or_else(segment).or_else(counter).or_else(dated);
    served.ok_or_else(|| DefineError::Invalid("no name here is wide, or a text".to_owned()))
}
