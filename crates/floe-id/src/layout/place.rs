//! From a position and a worker id to an ID: the work of a generator for every ID.

use super::repr::sealed::FromLayout;
use super::repr::{IdRepr, last};
use super::{FieldKind, Layout, LayoutError, Width};

/// A layout with a worker id, ready to place positions: the hot path of a generator.
///
/// The node fields are in place already, wherever they lie, so that one worker's IDs cost the same in every layout.
///
/// ```
/// use floe_id::{Id, Layout};
/// let placer = Layout::TWITTER.placer::<Id>(33)?;
/// assert_eq!(placer.place(Layout::TWITTER.position(5, 3)).get(), 5 << 22 | 33 << 12 | 3);
/// # Ok::<(), floe_id::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placer<I> {
    /// The ID of tick 0 and sequence 0.
    node: I,
    end: u64,
    sequence_mask: u64,
    sequence_bits: u32,
    time_shift: u32,
    sequence_shift: u32,
}

impl<I: IdRepr> Placer<I> {
    /// Returns the ID at `position`. [`Placer`] has an example.
    ///
    /// # Panics
    /// If `position` is not below [`Layout::end_position`]. A generator's positions always are; otherwise, it would
    /// repeat IDs.
    #[inline]
    pub fn place(&self, position: u64) -> I {
        assert!(position < self.end, "the position lies outside the layout");
        let tick = position.wrapping_shr(self.sequence_bits);
        let sequence = position & self.sequence_mask;
        let id = self.node.with(tick, self.time_shift, FromLayout::new());
        id.with(sequence, self.sequence_shift, FromLayout::new())
    }

    /// Fills `ids` with the IDs at `start` and the positions after it, about as fast as memory can be written.
    ///
    /// ```
    /// use floe_id::{Id, Layout};
    /// let placer = Layout::TWITTER.placer::<Id>(33)?;
    /// let (start, mut ids) = (Layout::TWITTER.position(5, 4_095), [Id::MAX; 2]);
    /// placer.place_run(start, &mut ids);
    /// assert_eq!(ids, [placer.place(start), placer.place(start + 1)]);
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Panics
    /// As [`place`](Self::place), if one of the positions is not below [`Layout::end_position`].
    pub fn place_run(&self, start: u64, ids: &mut [I]) {
        let (mut position, mut rest) = (start, ids);
        while !rest.is_empty() {
            let left = self.left_of_tick(position);
            let (run, after) =
                rest.split_at_mut(usize::try_from(left).map_or(rest.len(), |left| rest.len().min(left)));
            self.place(position).series(1 << self.sequence_shift, run);
            position += run.len() as u64;
            rest = after;
        }
    }

    /// Returns the IDs at `start` and the positions after it, and their count: at most `most`, and only those of one
    /// tick. Each is made from the one before, which costs less than [`place`](Self::place).
    ///
    /// ```
    /// use floe_id::{Id, Layout};
    /// let placer = Layout::TWITTER.placer::<Id>(33)?;
    /// let start = Layout::TWITTER.position(5, 4_094);
    /// let (run, count) = placer.run(start, 10);
    /// assert_eq!(count, 2, "a tick has 4,096");
    /// assert!(run.eq([placer.place(start), placer.place(start + 1)]));
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Panics
    /// As [`place`](Self::place).
    pub fn run(&self, start: u64, most: u64) -> (IdRun<I>, u64) {
        // A layout has fewer bits than the number, so that what follows the last ID is another number than the first.
        let count = most.min(self.left_of_tick(start));
        let (next, step) = (self.place(start), I::ZERO.with(1, self.sequence_shift, FromLayout::new()));
        (IdRun { next, end: next.plus(step, count, FromLayout::new()), step }, count)
    }

    /// How many positions there are from this one to the end of its tick, all of which lie inside the layout if it
    /// does.
    fn left_of_tick(&self, position: u64) -> u64 {
        (self.sequence_mask - (position & self.sequence_mask)).saturating_add(1)
    }
}

/// An iterator over IDs with a constant step: those of one tick ([`Placer::run`]), or numbers. The default is empty. It
/// cannot be cloned, since a clone would hand out the same IDs.
#[derive(Debug)]
pub struct IdRun<I> {
    next: I,
    /// What would follow the last one.
    end: I,
    step: I,
}

impl<I: IdRepr> IdRun<I> {
    /// Returns the `count` IDs `first`, `first + step`, …
    ///
    /// ```
    /// use floe_id::{Id, layout::IdRun};
    /// let [first, step] = [7_u64, 10].map(|number| Id::try_from(number).unwrap());
    /// assert!(IdRun::new(first, step, 3).map(Id::get).eq([7, 17, 27]));
    /// ```
    ///
    /// # Panics
    /// If the step is 0, if the last ID has more bits than this type, or if the number after it has more than 128 bits.
    /// Otherwise, IDs would repeat.
    pub fn new(first: I, step: I, count: u64) -> Self {
        let last = |count| last(first.to_u128(), step.to_u128(), count);
        let fits = last(count).is_some_and(|last| last <= I::LAST.to_u128());
        let ends = count.checked_add(1).and_then(last).is_some();
        assert!(step > I::ZERO && fits && ends, "the IDs repeat, or the last one has too many bits");
        Self { next: first, end: first.plus(step, count, FromLayout::new()), step }
    }

    /// Fills `ids` with the next IDs, about as fast as memory can be written.
    ///
    /// ```
    /// use floe_id::{Id, layout::IdRun};
    /// let [first, step] = [7_u64, 10].map(|number| Id::try_from(number).unwrap());
    /// let mut ids = [Id::MAX; 2];
    /// IdRun::new(first, step, 2).write(&mut ids);
    /// assert_eq!(ids.map(Id::get), [7, 17]);
    /// ```
    ///
    /// # Panics
    /// If there are fewer IDs than places.
    pub fn write(self, ids: &mut [I]) {
        let last = last(self.next.to_u128(), self.step.to_u128(), ids.len() as u64);
        let enough = ids.is_empty() || last.is_some_and(|last| last < self.end.to_u128());
        assert!(enough, "there are fewer IDs than places");
        self.next.series(self.step.to_u128(), ids);
    }

    /// Returns whether there are no more IDs.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.next == self.end
    }
}

impl<I: IdRepr> Iterator for IdRun<I> {
    type Item = I;

    #[inline(always)]
    fn next(&mut self) -> Option<I> {
        if self.is_empty() {
            return None;
        }
        let id = self.next;
        self.next = id.plus(self.step, 1, FromLayout::new());
        Some(id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let far = self.end.to_u128() - self.next.to_u128();
        let left = usize::try_from(far.checked_div(self.step.to_u128()).unwrap_or_default());
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl<I: IdRepr> core::iter::FusedIterator for IdRun<I> {}

impl<I: IdRepr> Default for IdRun<I> {
    fn default() -> Self {
        Self { next: I::ZERO, end: I::ZERO, step: I::ZERO }
    }
}

impl Layout {
    /// Combines this layout with `worker`, to place positions. [`Placer`] has an example.
    ///
    /// # Errors
    /// [`LayoutError::WorkerOutOfRange`]; [`LayoutError::NeedsWide`] if the IDs do not fit `I`.
    pub fn placer<I: IdRepr>(&self, worker: u64) -> Result<Placer<I>, LayoutError> {
        I::check(self)?;
        self.check_worker(worker)?;
        Ok(Placer {
            node: I::place(self, 0, worker),
            end: self.end,
            sequence_mask: self.sequence_mask,
            sequence_bits: u32::from(self.sequence_bits),
            time_shift: u32::from(self.time_shift),
            sequence_shift: u32::from(self.sequence_shift),
        })
    }

    /// Returns the ID at `position` of `worker`. For many positions of one worker, use a [`placer`](Self::placer).
    ///
    /// Every pair of a position and a worker id has its own ID (I4).
    ///
    /// ```
    /// use floe_id::Layout;
    /// let layout = Layout::TWITTER;
    /// assert_eq!(layout.place(layout.position(5, 3), 33), 5 << 22 | 33 << 12 | 3);
    /// ```
    ///
    /// # Panics
    /// If `position` is not below [`end_position`](Self::end_position), if `worker` is not below
    /// [`workers`](Self::workers), or if the layout is wide. A generator's own values are always valid; otherwise, it
    /// would repeat IDs.
    // Left to itself the compiler calls it, which costs a shared generator a fifth.
    #[inline(always)]
    pub fn place(&self, position: u64, worker: u64) -> u64 {
        assert!(
            position < self.narrow_end && worker <= self.max_worker,
            "the position or the worker id lies outside the layout, or the layout is wide"
        );
        let node = match self.worker_shift {
            Some(shift) => worker << shift,
            None => self.scattered(worker).fold(0, |node, (value, shift)| node | value << shift),
        };
        self.tick_of(position) << self.time_shift | self.sequence_of(position) << self.sequence_shift | node
    }

    /// Returns the ID at `position` of `worker`, as [`place`](Self::place) does, for layouts of either width.
    ///
    /// ```
    /// use floe_id::{Layout, UnixMillis, layout::Width};
    /// let layout = Layout::new("time:43 server:24 sequence:18", 1, UnixMillis::EPOCH, Width::Wide)?;
    /// assert_eq!(layout.place_wide(layout.position(5, 3), 33), 5 << 42 | 33 << 18 | 3);
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Panics
    /// If `position` or `worker` is outside the layout.
    #[inline]
    pub fn place_wide(&self, position: u64, worker: u64) -> u128 {
        assert!(
            position < self.end && worker <= self.max_worker,
            "the position or the worker id lies outside the layout"
        );
        let node = match self.worker_shift {
            Some(shift) => u128::from(worker) << shift,
            None => self.scattered(worker).fold(0, |node, (value, shift)| node | u128::from(value) << shift),
        };
        let tick = u128::from(self.tick_of(position));
        let sequence = u128::from(self.sequence_of(position));
        tick << self.time_shift | sequence << self.sequence_shift | node
    }

    /// Returns what all IDs of one tick and worker have in common, for [`IdRepr::place_in_tick`]: in a narrow layout the
    /// distance between an ID and its shifted position, in a wide one the worker id.
    ///
    /// ```
    /// use floe_id::{Id, IdRepr, Layout};
    /// let layout = Layout::TWITTER;
    /// let key = layout.tick_key(layout.position(5, 3), 33);
    /// assert_eq!(Id::place_in_tick(&layout, layout.position(5, 7), key).get(), 5 << 22 | 33 << 12 | 7);
    /// ```
    ///
    /// # Panics
    /// If `position` or `worker` is outside the layout.
    pub fn tick_key(&self, position: u64, worker: u64) -> u64 {
        match self.width() {
            Width::Narrow => self.place(position, worker).wrapping_sub(self.number_in_tick(position, 0)),
            Width::Wide => worker,
        }
    }

    /// The layout keeps the shift below 64, so the wrapping shift is the plain one without its check.
    #[inline(always)]
    pub(super) fn number_in_tick(&self, position: u64, key: u64) -> u64 {
        position.wrapping_shl(u32::from(self.sequence_shift)).wrapping_add(key)
    }

    /// The value and the shift of each node field for `worker`, low to high.
    fn scattered(&self, worker: u64) -> impl Iterator<Item = (u64, u32)> {
        let nodes = self.fields().rev().filter(|field| field.kind() == FieldKind::Node);
        nodes.scan(worker, |rest, field| {
            let value = *rest & field.max();
            *rest >>= field.bits();
            Some((value, field.shift()))
        })
    }
}
