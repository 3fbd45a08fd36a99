//! Layouts: how a tick, a worker id and a sequence number become one ID, and back.
//!
//! A [`Layout`] is an ordered list of bit fields with a tick and an epoch:
//!
//! ```text
//! time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z
//!
//!  63 62                                     22 21     17 16     12 11          0
//! +--+-----------------------------------------+---------+---------+-------------+
//! | 0|                  time                   | datac.  | worker  |  sequence   |
//! +--+-----------------------------------------+---------+---------+-------------+
//! ```
//!
//! A layout is valid by construction: an invalid one cannot be built, and no value is ever cut to fit. The fields fill
//! the low bits of the ID, the first field highest. Exactly one field is called `time` (ticks since the epoch), and
//! exactly one `sequence`. All others are node fields. Together, from high to low, they are the **worker id**. They may
//! stand anywhere, also apart.
//!
//! A layout holds no clock: every question about time takes the time as an argument.

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use core::ops::{Range, RangeInclusive};

use crate::time::{Tick, UnixMillis};

mod error;
mod field;
mod parse;
mod place;
mod presets;
mod proposals;
mod repr;
mod rules;
#[cfg(test)]
mod tests;
mod workers;

pub use error::LayoutError;
pub use field::{Field, FieldKind};
pub use parse::{parse_epoch, parse_tick};
pub use place::{IdRun, Placer};
pub use presets::{PRESETS, Preset};
pub use proposals::{Proposal, TooWide};
pub use repr::IdRepr;
pub use workers::Workers;

/// The width of the IDs of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Width {
    /// At most 63 bits, so that an ID is the same number as an `i64` and as a `u64`. The type is [`Id`](crate::Id).
    #[default]
    Narrow,
    /// At most 95 bits, in a number of 128. The type is [`WideId`](crate::WideId).
    Wide,
}

/// The bit fields, the tick and the epoch of the IDs of a snowflake name.
///
/// `Display` writes its one canonical text, and `FromStr` reads it back as the same layout. The text is part of the
/// fingerprint of a name's definition (I4).
///
/// ```
/// use floe_id::{Layout, UnixMillis, layout::Width};
///
/// let orders = Layout::new("time:41 shard:10 sequence:12", 1, UnixMillis::new(1_577_836_800_000), Width::Narrow)?;
/// assert_eq!(orders.to_string(), "time:41 shard:10 sequence:12 tick=1ms epoch=2020-01-01T00:00:00.000Z");
/// assert_eq!(orders.to_string().parse::<Layout>()?, orders);
///
/// let tick = orders.tick_at(UnixMillis::new(1_577_836_801_500))?;
/// let id = orders.compose(tick, 7, 42)?;
/// let parts = orders.split(id)?;
/// assert_eq!((parts.tick, parts.worker, parts.sequence), (1_500, 7, 42));
/// # Ok::<(), floe_id::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// High to low, then `None`.
    fields: [Option<Field>; Self::MAX_FIELDS],
    tick_millis: u64,
    epoch: UnixMillis,
    width: Width,
    // What follows is a function of the above, kept for the hot path.
    /// The first position that does not fit.
    end: u64,
    /// `end`, or 0 where the layout is wide: one comparison refuses both.
    narrow_end: u64,
    max_worker: u64,
    sequence_mask: u64,
    time_bits: u8,
    sequence_bits: u8,
    worker_bits: u8,
    time_shift: u8,
    sequence_shift: u8,
    /// Where the worker id lies, if it lies in one piece.
    worker_shift: Option<u8>,
}

/// The values in an ID of a layout; see [`Layout::split`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The value of the time field.
    pub tick: Tick,
    /// The time at which that tick begins.
    pub time: UnixMillis,
    /// The worker id: the node fields together, high to low.
    pub worker: u64,
    /// The value of the sequence field.
    pub sequence: u64,
    /// Every field, high to low, with its value.
    pub fields: Vec<Part>,
}

/// One field of an ID with its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The field: its name, bits, shift and kind.
    pub field: Field,
    /// Its value in this ID.
    pub value: u64,
}

impl Layout {
    /// The largest number of fields.
    pub const MAX_FIELDS: usize = 8;

    /// The largest number of bits of the node fields together.
    pub const MAX_WORKER_BITS: u32 = 32;

    /// The largest number of bits of the time and the sequence field together, in either width. A generator's position
    /// is both of them in one `u64`, and a ledger's marks stay below `2^63`.
    pub const MAX_POSITION_BITS: u32 = 63;

    /// The longest tick, one day, in milliseconds.
    pub const MAX_TICK_MILLIS: u64 = 86_400_000;

    /// Makes a layout of `fields`, high to low, such as `"time:41 worker:10 sequence:12"`. A tick lasts `tick_millis`
    /// milliseconds, 1 ms to one day. Ticks are counted from `epoch`, in the years 1970 to 9998.
    ///
    /// ```
    /// use floe_id::{Layout, LayoutError, UnixMillis, layout::Width};
    /// let epoch = UnixMillis::new(1_577_836_800_000); // 2020
    /// let layout = Layout::new("time:41 worker:10 sequence:12", 1, epoch, Width::Narrow)?;
    /// assert_eq!((layout.workers(), layout.per_tick(), layout.total_bits()), (1_024, 4_096, 63));
    /// let wide = Layout::new("time:41 worker:16 sequence:12", 1, epoch, Width::Narrow);
    /// assert!(matches!(wide, Err(LayoutError::TooWide { .. }))); // 69 bits
    /// # Ok::<(), LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError`] names the rule that the layout breaks. [`LayoutError::TooWide`] proposes the nearest layouts
    /// that fit.
    pub fn new(fields: &str, tick_millis: u64, epoch: UnixMillis, width: Width) -> Result<Self, LayoutError> {
        let fields = parse::fields(fields)?;
        match rules::first_flaw(&fields, tick_millis, epoch, width) {
            None => Ok(Self::assemble(&fields, tick_millis, epoch, width)),
            Some(flaw) => Err(LayoutError::of(flaw, &fields, tick_millis, epoch, width)),
        }
    }

    /// The layout of fields that break no rule. A preset that does not compile is one that breaks a rule.
    ///
    /// # Panics
    /// Where a rule is broken.
    pub(super) const fn assemble(
        parts: &[(&str, u32)],
        tick_millis: u64,
        epoch: UnixMillis,
        width: Width,
    ) -> Self {
        assert!(rules::first_flaw(parts, tick_millis, epoch, width).is_none(), "the layout breaks a rule");
        let mut layout = Self {
            fields: [None; Self::MAX_FIELDS],
            tick_millis,
            epoch,
            width,
            end: 0,
            narrow_end: 0,
            max_worker: 0,
            sequence_mask: 0,
            time_bits: 0,
            sequence_bits: 0,
            worker_bits: 0,
            time_shift: 0,
            sequence_shift: 0,
            worker_shift: Some(0),
        };
        let mut shift = 0;
        // Whether a node field has been passed, and after it another field.
        let mut node_seen = false;
        let mut node_passed = false;
        let mut at = parts.len();
        while at > 0 {
            at -= 1;
            let (name, bits) = parts[at];
            // The rules hold every field, and all together, to 128 bits.
            #[expect(clippy::cast_possible_truncation)]
            let bits = bits as u8;
            let field = Field::new(name, bits, shift);
            layout.fields[at] = Some(field);
            match field.kind() {
                FieldKind::Time => {
                    layout.time_bits = bits;
                    layout.time_shift = shift;
                    node_passed = node_seen;
                }
                FieldKind::Sequence => {
                    layout.sequence_bits = bits;
                    layout.sequence_shift = shift;
                    node_passed = node_seen;
                }
                FieldKind::Node => {
                    if !node_seen {
                        layout.worker_shift = Some(shift);
                    } else if node_passed {
                        layout.worker_shift = None;
                    }
                    node_seen = true;
                    layout.worker_bits += bits;
                }
            }
            shift += bits;
        }
        layout.max_worker = (1 << layout.worker_bits) - 1;
        layout.sequence_mask = (1 << layout.sequence_bits) - 1;
        layout.end = 1 << (layout.time_bits + layout.sequence_bits);
        layout.narrow_end = match width {
            Width::Narrow => layout.end,
            Width::Wide => 0,
        };
        layout
    }

    /// Returns how long a tick lasts, in milliseconds.
    #[inline]
    pub const fn tick_millis(&self) -> u64 {
        self.tick_millis
    }

    /// Returns when tick 0 begins.
    #[inline]
    pub const fn epoch(&self) -> UnixMillis {
        self.epoch
    }

    /// Returns whether the IDs have at most 63 bits, or more.
    pub const fn width(&self) -> Width {
        self.width
    }

    /// Returns the number of bits of the time field.
    pub const fn time_bits(&self) -> u32 {
        self.time_bits as u32
    }

    /// Returns the number of bits of the sequence field.
    pub const fn sequence_bits(&self) -> u32 {
        self.sequence_bits as u32
    }

    /// Returns the number of bits of the node fields together. It is 0 if there is only one worker.
    pub const fn worker_bits(&self) -> u32 {
        self.worker_bits as u32
    }

    /// Returns the number of bits of an ID.
    pub const fn total_bits(&self) -> u32 {
        self.time_bits() + self.sequence_bits() + self.worker_bits()
    }

    /// Returns the number of worker ids, `2^worker_bits`.
    pub const fn workers(&self) -> u64 {
        self.max_worker + 1
    }

    /// Returns how many IDs one worker can mint in one tick, `2^sequence_bits`.
    pub const fn per_tick(&self) -> u64 {
        1 << self.sequence_bits
    }

    /// Returns the number of ticks, `2^time_bits`.
    #[inline]
    pub const fn ticks(&self) -> u64 {
        1 << self.time_bits
    }

    /// Returns the fields, high to low.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = &Field> + Clone {
        self.fields.iter().flatten()
    }

    /// Returns the fields alone, as [`new`](Self::new) takes them: `time:41 worker:10 sequence:12`.
    pub fn spec(&self) -> String {
        let fields: Vec<_> =
            self.fields().map(|field| format!("{}:{}", field.name(), field.bits())).collect();
        fields.join(" ")
    }

    /// Checks that the epoch is not later than `now`.
    ///
    /// ```
    /// use floe_id::{Layout, UnixMillis};
    /// assert!(Layout::TWITTER.check_epoch(Layout::TWITTER.epoch()).is_ok());
    /// assert!(Layout::TWITTER.check_epoch(UnixMillis::EPOCH).is_err());
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::EpochAhead`].
    pub fn check_epoch(&self, now: UnixMillis) -> Result<(), LayoutError> {
        if self.epoch > now { Err(LayoutError::EpochAhead { epoch: self.epoch, now }) } else { Ok(()) }
    }

    /// Returns the tick in which `time` lies.
    ///
    /// ```
    /// use floe_id::{Layout, LayoutError, UnixMillis};
    /// let epoch = Layout::TWITTER.epoch();
    /// assert_eq!(Layout::TWITTER.tick_at(epoch.plus(1_500))?, 1_500);
    /// assert!(matches!(Layout::TWITTER.tick_at(epoch.plus(-1)), Err(LayoutError::BeforeEpoch { .. })));
    /// # Ok::<(), LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::BeforeEpoch`] and [`LayoutError::PastHorizon`].
    #[inline]
    pub fn tick_at(&self, time: UnixMillis) -> Result<Tick, LayoutError> {
        if time < self.epoch {
            return Err(self.before_epoch(time));
        }
        let since = time.get().abs_diff(self.epoch.get());
        // Most layouts count milliseconds, and a division costs as much as the rest of minting an ID.
        let tick = if self.tick_millis == 1 { since } else { since / self.tick_millis };
        if tick < self.ticks() { Ok(tick) } else { Err(self.past_horizon(time)) }
    }

    /// Returns the first position of the tick in which `time` lies: [`position`](Self::position) of
    /// [`tick_at`](Self::tick_at), with sequence 0.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let (layout, time) = (Layout::SONYFLAKE, Layout::SONYFLAKE.epoch().plus(1_509)); // its ticks have 10 ms
    /// assert_eq!(layout.position_at(time)?, layout.position(150, 0));
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`tick_at`](Self::tick_at).
    #[inline]
    pub fn position_at(&self, time: UnixMillis) -> Result<u64, LayoutError> {
        let tick = self.tick_at(time)?;
        // Together the time and the sequence have at most 63 bits, so nothing is shifted out.
        Ok(tick.wrapping_shl(u32::from(self.sequence_bits)))
    }

    #[cold]
    fn before_epoch(&self, time: UnixMillis) -> LayoutError {
        LayoutError::BeforeEpoch { epoch: self.epoch, time }
    }

    #[cold]
    fn past_horizon(&self, time: UnixMillis) -> LayoutError {
        LayoutError::PastHorizon { horizon: self.horizon(), time }
    }

    /// Returns when `tick` begins. A tick past the layout's last begins at the [`horizon`](Self::horizon) or later. If
    /// no `UnixMillis` can express the time, the result is the last one.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let layout = Layout::SONYFLAKE; // its ticks have 10 ms
    /// assert_eq!(layout.time_of(150), layout.epoch().plus(1_500));
    /// assert_eq!(layout.time_of(layout.ticks()), layout.horizon());
    /// ```
    #[inline]
    pub fn time_of(&self, tick: Tick) -> UnixMillis {
        let time = i128::from(self.epoch.get()) + i128::from(tick) * i128::from(self.tick_millis);
        UnixMillis::new(i64::try_from(time).unwrap_or(i64::MAX))
    }

    /// Returns the first instant that no longer fits: the end of the last tick.
    ///
    /// ```
    /// use floe_id::Layout;
    /// assert_eq!(Layout::TWITTER.horizon().to_string(), "2080-07-10T17:30:30.209Z");
    /// ```
    pub fn horizon(&self) -> UnixMillis {
        // The rules hold it to the range of `UnixMillis`.
        self.time_of(self.ticks())
    }

    /// Returns the ticks that lie *completely* inside `[start, end)` and that the layout has. A window is rounded
    /// inward, so that two adjacent windows never share a tick (I3). The range is empty if there is no such tick.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let layout = Layout::SONYFLAKE; // a tick has 10 ms
    /// let at = |millis| layout.epoch().plus(millis);
    /// assert_eq!(layout.ticks_inside(at(5), at(35)), 1..3);
    /// assert!(layout.ticks_inside(at(5), at(15)).is_empty());
    /// ```
    pub fn ticks_inside(&self, start: UnixMillis, end: UnixMillis) -> Range<Tick> {
        let ticks = i128::from(self.ticks());
        let first = self.ceil_tick(start).clamp(0, ticks);
        let last = self.floor_tick(end).clamp(first, ticks);
        // Both lie in 0..=2^62 now.
        u64::try_from(first).unwrap_or(0)..u64::try_from(last).unwrap_or(0)
    }

    /// Returns the smallest and the largest ID with a time in `[from, to)`, so that all rows of a day are `WHERE id
    /// BETWEEN first AND last`. The range is empty if the layout has no such time. The time of an ID is when its tick
    /// began.
    ///
    /// ```
    /// use floe_id::{Id, Layout, layout};
    /// let day = layout::parse_epoch("2026-11-20T00:00:00Z")?;
    /// let ids = Layout::TWITTER.ids_between::<Id>(day, day.plus(86_400_000))?;
    /// assert_eq!(ids.start().to_string(), "2123566994027446272");
    /// assert_eq!(Layout::TWITTER.split((*ids.end()).into())?.time.to_string(), "2026-11-20T23:59:59.999Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Unordered`] if the time is not the highest field; [`LayoutError::NeedsWide`].
    pub fn ids_between<I: IdRepr>(
        &self,
        from: UnixMillis,
        to: UnixMillis,
    ) -> Result<RangeInclusive<I>, LayoutError> {
        I::check(self)?;
        if self.fields().next().is_none_or(|field| field.kind() != FieldKind::Time) {
            return Err(LayoutError::Unordered { layout: self.to_string() });
        }
        // It lies in 0..=2^62 then.
        let first = |time: UnixMillis| {
            u64::try_from(self.ceil_tick(time).clamp(0, i128::from(self.ticks()))).unwrap_or(0)
        };
        let ticks = first(from)..first(to);
        let at_first = |tick: Tick| I::place(self, self.position(tick, 0), 0);
        let at_last = |tick: Tick| I::place(self, self.position(tick, self.per_tick() - 1), self.max_worker);
        Ok(match ticks.is_empty() {
            true => at_last(self.ticks() - 1)..=at_first(0),
            false => at_first(ticks.start)..=at_last(ticks.end - 1),
        })
    }

    /// The number of the tick in which `time` lies, whether or not the layout has it.
    fn floor_tick(&self, time: UnixMillis) -> i128 {
        (i128::from(time.get()) - i128::from(self.epoch.get())).div_euclid(i128::from(self.tick_millis))
    }

    /// The number of the first tick that does not begin before `time`, whether or not the layout has it.
    fn ceil_tick(&self, time: UnixMillis) -> i128 {
        let tick_millis = i128::from(self.tick_millis);
        (i128::from(time.get()) - i128::from(self.epoch.get()) + tick_millis - 1).div_euclid(tick_millis)
    }

    /// Returns the first position that the layout does not have, `2^(time_bits + sequence_bits)`.
    ///
    /// A position is a tick and a sequence number in one number: `tick << sequence_bits | sequence`.
    #[inline]
    pub const fn end_position(&self) -> u64 {
        self.end
    }

    /// Returns the position of `sequence` in `tick`.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let position = Layout::TWITTER.position(5, 3);
    /// assert_eq!(position, 5 << 12 | 3);
    /// assert_eq!((Layout::TWITTER.tick_of(position), Layout::TWITTER.sequence_of(position)), (5, 3));
    /// ```
    ///
    /// # Panics
    /// If the layout has no such tick or sequence number. For values from outside, use [`compose`](Self::compose),
    /// which checks them.
    #[inline]
    pub const fn position(&self, tick: Tick, sequence: u64) -> u64 {
        assert!(tick < self.ticks(), "the tick does not fit the time field");
        assert!(sequence < self.per_tick(), "the sequence number does not fit the sequence field");
        tick << self.sequence_bits | sequence
    }

    /// Returns the positions of a range of ticks, as [`ticks_inside`](Self::ticks_inside) returns it.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let layout = Layout::TWITTER;
    /// assert_eq!(layout.positions(&(5..7)), layout.position(5, 0)..layout.position(7, 0));
    /// ```
    ///
    /// # Panics
    /// If the range ends after the layout's last tick.
    #[inline]
    pub fn positions(&self, ticks: &Range<Tick>) -> Range<u64> {
        assert!(ticks.start <= ticks.end && ticks.end <= self.ticks(), "the ticks do not fit the time field");
        ticks.start << self.sequence_bits..ticks.end << self.sequence_bits
    }

    /// Returns the tick of a position. [`position`](Self::position) has an example.
    #[inline]
    pub const fn tick_of(&self, position: u64) -> Tick {
        position >> self.sequence_bits
    }

    /// Returns the sequence number of a position. [`position`](Self::position) has an example.
    #[inline]
    pub const fn sequence_of(&self, position: u64) -> u64 {
        position & self.sequence_mask
    }

    /// Makes the ID of these values, and checks each of them.
    ///
    /// ```
    /// use floe_id::{Layout, LayoutError};
    /// assert_eq!(Layout::TWITTER.compose(5, 33, 3)?, 5 << 22 | 33 << 12 | 3);
    /// assert!(matches!(Layout::TWITTER.compose(5, 1_024, 3), Err(LayoutError::WorkerOutOfRange { .. })));
    /// # Ok::<(), LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::TickOutOfRange`], [`LayoutError::WorkerOutOfRange`], [`LayoutError::SequenceOutOfRange`].
    pub fn compose(&self, tick: Tick, worker: u64, sequence: u64) -> Result<u128, LayoutError> {
        if tick >= self.ticks() {
            return Err(LayoutError::TickOutOfRange {
                tick,
                max: self.ticks() - 1,
                layout: self.to_string(),
            });
        }
        self.check_worker(worker)?;
        if sequence >= self.per_tick() {
            let (max, layout) = (self.per_tick() - 1, self.to_string());
            return Err(LayoutError::SequenceOutOfRange { sequence, max, layout });
        }
        Ok(self.place_wide(self.position(tick, sequence), worker))
    }

    /// Takes an ID apart: the exact inverse of [`compose`](Self::compose).
    ///
    /// ```
    /// use floe_id::{Layout, LayoutError};
    /// let parts = Layout::TWITTER.split(5 << 22 | 33 << 12 | 3)?;
    /// assert_eq!((parts.tick, parts.worker, parts.sequence), (5, 33, 3));
    /// assert!(matches!(Layout::TWITTER.split(1 << 63), Err(LayoutError::ForeignBits { .. })));
    /// # Ok::<(), LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::ForeignBits`] if `id` has a bit set that no field of the layout covers.
    pub fn split(&self, id: u128) -> Result<Parts, LayoutError> {
        if id >> self.total_bits() != 0 {
            return Err(LayoutError::ForeignBits { id, bits: self.total_bits(), layout: self.to_string() });
        }
        let fields: Vec<_> = self.fields().map(|&field| Part { field, value: field.read(id) }).collect();
        let mut parts = Parts { tick: 0, time: self.epoch, worker: 0, sequence: 0, fields };
        for part in &parts.fields {
            match part.field.kind() {
                FieldKind::Time => parts.tick = part.value,
                FieldKind::Sequence => parts.sequence = part.value,
                FieldKind::Node => parts.worker = parts.worker << part.field.bits() | part.value,
            }
        }
        parts.time = self.time_of(parts.tick);
        Ok(parts)
    }

    /// Checks that the node fields can hold a worker id.
    ///
    /// ```
    /// use floe_id::Layout;
    /// assert!(Layout::TWITTER.check_worker(1_023).is_ok());
    /// assert!(Layout::TWITTER.check_worker(1_024).is_err());
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::WorkerOutOfRange`], with the range and the layout.
    #[inline]
    pub fn check_worker(&self, worker: u64) -> Result<(), LayoutError> {
        if worker <= self.max_worker {
            return Ok(());
        }
        Err(LayoutError::WorkerOutOfRange { worker, max: self.max_worker, of: format!("`{self}`") })
    }

    /// Returns the worker id for a value of every node field.
    ///
    /// ```
    /// use floe_id::Layout;
    /// assert_eq!(Layout::TWITTER.worker_id(&[("datacenter", 3), ("worker", 7)])?, 3 << 5 | 7);
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::UnknownField`], [`LayoutError::FieldOutOfRange`], and [`LayoutError::NodeFields`] if a field is
    /// missing or comes twice.
    pub fn worker_id(&self, values: &[(&str, u64)]) -> Result<u64, LayoutError> {
        let mut named = BTreeMap::new();
        for &(name, value) in values {
            if named.insert(name.to_owned(), value).is_some() {
                return Err(self.node_fields(name, "comes twice"));
            }
        }
        if let Some(missing) = self.nodes().find(|field| !named.contains_key(field.name())) {
            return Err(self.node_fields(missing.name(), "is missing"));
        }
        self.pinned(&named).map(|workers| workers.first())
    }

    /// Returns the worker ids in which the given node fields have the given values, and the others have any.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let pinned = Layout::TWITTER.pinned(&[("datacenter".to_owned(), 3)].into())?;
    /// assert_eq!(pinned.len(), 32);
    /// assert_eq!(pinned.nth(7), Some(3 << 5 | 7));
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::UnknownField`] and [`LayoutError::FieldOutOfRange`].
    pub fn pinned(&self, values: &BTreeMap<String, u64>) -> Result<Workers, LayoutError> {
        if let Some(unknown) = values.keys().find(|name| self.nodes().all(|field| field.name() != **name)) {
            let known = self.nodes().map(|field| field.name().to_owned()).collect();
            let field = unknown.clone();
            return Err(LayoutError::UnknownField { field, known, layout: self.to_string() });
        }
        let (mut base, mut free) = (0, 0);
        for field in self.nodes() {
            let (value, open) = match values.get(field.name()) {
                None => (0, field.max()),
                Some(&value) if value <= field.max() => (value, 0),
                Some(&value) => {
                    let (name, layout) = (field.name().to_owned(), self.to_string());
                    return Err(LayoutError::FieldOutOfRange {
                        field: name,
                        value,
                        max: field.max(),
                        layout,
                    });
                }
            };
            base = base << field.bits() | value;
            free = free << field.bits() | open;
        }
        Ok(Workers::masked(base, free))
    }

    fn nodes(&self) -> impl Iterator<Item = &Field> {
        self.fields().filter(|field| field.kind() == FieldKind::Node)
    }

    fn node_fields(&self, field: &str, problem: &'static str) -> LayoutError {
        LayoutError::NodeFields { field: field.to_owned(), problem, layout: self.to_string() }
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout({self})")
    }
}
