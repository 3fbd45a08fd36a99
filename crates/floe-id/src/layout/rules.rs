//! What makes a layout valid, in one place for the presets (checked when they are compiled) and for all others.

use super::{Field, FieldKind, Layout, Width};
use crate::time::UnixMillis;

/// The first rule that a layout breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    TooManyFields,
    /// The name of the field with this index.
    Name(usize),
    /// The bits of the field with this index.
    Bits(usize),
    /// The field with this index repeats a name.
    Twice(usize),
    NoTime,
    NoSequence,
    Tick,
    Epoch,
    /// All fields together.
    Total,
    /// The time and the sequence field together.
    Position,
    /// The node fields together.
    Worker,
    /// Time bits that outlast `UnixMillis`.
    Lifetime,
}

/// The most bits that a field of either width can be asked for; the other rules narrow it down.
pub(super) const MAX_FIELD_BITS: u32 = 128;

/// 9999-01-01T00:00:00Z: RFC 3339 writes four digits of a year, and jiff ends hours before the year does.
const MAX_EPOCH: UnixMillis = UnixMillis::new(253_370_764_800_000);

impl Width {
    /// The most bits that an ID of this width has.
    pub const fn max_bits(self) -> u32 {
        match self {
            Self::Narrow => 63,
            Self::Wide => 128,
        }
    }
}

/// The first rule that these fields break, in the order in which a person would fix them.
pub(super) const fn first_flaw(
    fields: &[(&str, u32)],
    tick_millis: u64,
    epoch: UnixMillis,
    width: Width,
) -> Option<Flaw> {
    if fields.len() > Layout::MAX_FIELDS {
        return Some(Flaw::TooManyFields);
    }
    let (mut time, mut sequence, mut worker) = (0, 0, 0);
    let mut at = 0;
    while at < fields.len() {
        let (name, bits) = fields[at];
        if !Field::is_name(name) {
            return Some(Flaw::Name(at));
        }
        if bits == 0 || bits > MAX_FIELD_BITS {
            return Some(Flaw::Bits(at));
        }
        let mut earlier = 0;
        while earlier < at {
            if same(fields[earlier].0.as_bytes(), name.as_bytes()) {
                return Some(Flaw::Twice(at));
            }
            earlier += 1;
        }
        match FieldKind::of(name.as_bytes()) {
            FieldKind::Time => time = bits,
            FieldKind::Sequence => sequence = bits,
            FieldKind::Node => worker += bits,
        }
        at += 1;
    }
    if time == 0 {
        Some(Flaw::NoTime)
    } else if sequence == 0 {
        Some(Flaw::NoSequence)
    } else if tick_millis == 0 || tick_millis > Layout::MAX_TICK_MILLIS {
        Some(Flaw::Tick)
    } else if epoch.get() < 0 || epoch.get() > MAX_EPOCH.get() {
        Some(Flaw::Epoch)
    } else if time + sequence + worker > width.max_bits() {
        Some(Flaw::Total)
    } else if time + sequence > Layout::MAX_POSITION_BITS {
        Some(Flaw::Position)
    } else if worker > Layout::MAX_WORKER_BITS {
        Some(Flaw::Worker)
    } else if (tick_millis as u128) << time > (i64::MAX.abs_diff(epoch.get())) as u128 {
        Some(Flaw::Lifetime)
    } else {
        None
    }
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
