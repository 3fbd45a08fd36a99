//! From a position and a worker id to an ID: what a generator does for every ID.

use super::repr::IdRepr;
use super::repr::sealed::FromLayout;
use super::{FieldKind, Layout, LayoutError};

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
    /// The ID at `position`.
    ///
    /// # Panics
    /// Where `position` is not below [`Layout::end_position`]. A generator's own never is; should it be, minting on
    /// would repeat IDs.
    #[inline]
    pub fn place(&self, position: u64) -> I {
        assert!(position < self.end, "the position lies outside the layout");
        let tick = position.wrapping_shr(self.sequence_bits);
        let sequence = position & self.sequence_mask;
        let id = self.node.with(tick, self.time_shift, FromLayout::new());
        id.with(sequence, self.sequence_shift, FromLayout::new())
    }

    /// Fills `ids` with those at `start` and the positions behind it, about as fast as memory takes them.
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
    /// Where one of the positions is not below [`Layout::end_position`], as [`place`](Self::place) does.
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

    /// The IDs at `start` and at the positions behind it, and how many they are: at most `most`, and those of one tick alone. Each
    /// is made from the one before, for less than [`place`](Self::place) takes.
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
    /// As [`place`](Self::place) does.
    pub fn run(&self, start: u64, most: u64) -> (IdRun<I>, u64) {
        // A layout has fewer bits than the number, so that what follows the last ID is another number than the first.
        let count = most.min(self.left_of_tick(start));
        let (next, step) = (self.place(start), I::ZERO.with(1, self.sequence_shift, FromLayout::new()));
        (IdRun { next, end: next.plus(step, count, FromLayout::new()), step }, count)
    }

    /// How many positions there are from this one to the end of its tick, all of which lie inside the layout if it does.
    fn left_of_tick(&self, position: u64) -> u64 {
        (self.sequence_mask - (position & self.sequence_mask)).saturating_add(1)
    }
}

/// IDs of which each is the one before and a step: those of one tick ([`Placer::run`]), or numbers. The default has none. It cannot
/// be cloned, since a clone would hand out the same IDs.
#[derive(Debug)]
pub struct IdRun<I> {
    next: I,
    /// What would follow the last one.
    end: I,
    step: I,
}

impl<I: IdRepr> IdRun<I> {
    /// The `count` IDs `first`, `first + step`, …
    ///
    /// ```
    /// use floe_id::{Id, layout::IdRun};
    /// let [first, step] = [7_u64, 10].map(|number| Id::try_from(number).unwrap());
    /// assert!(IdRun::new(first, step, 3).map(Id::get).eq([7, 17, 27]));
    /// ```
    ///
    /// # Panics
    /// Where the step is 0, the last ID has more bits than an ID of this type has, or what would follow it has more than 128.
    /// Minting on would repeat IDs.
    pub fn new(first: I, step: I, count: u64) -> Self {
        let far = |count: u64| first.to_u128().checked_add(step.to_u128().checked_mul(u128::from(count))?);
        let fits = count == 0 || far(count - 1).is_some_and(|last| last <= I::LAST.to_u128());
        assert!(
            step > I::ZERO && fits && far(count).is_some(),
            "the IDs repeat, or the last one has too many bits"
        );
        Self { next: first, end: first.plus(step, count, FromLayout::new()), step }
    }

    /// Whether there are no more.
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
    /// This layout with `worker`, to place positions.
    ///
    /// # Errors
    /// [`LayoutError::WorkerOutOfRange`]; [`LayoutError::NeedsWide`] where the IDs do not fit `I`.
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

    /// The ID at `position` of `worker`. For many positions of one worker take a [`placer`](Self::placer).
    ///
    /// One position and one worker id make one ID, and no other pair makes it (I4).
    ///
    /// ```
    /// use floe_id::Layout;
    /// let layout = Layout::TWITTER;
    /// assert_eq!(layout.place(layout.position(5, 3), 33), 5 << 22 | 33 << 12 | 3);
    /// ```
    ///
    /// # Panics
    /// Where `position` is not below [`end_position`](Self::end_position), `worker` not below
    /// [`workers`](Self::workers), or the layout is wide. A generator's own positions and worker never are; should
    /// they be, minting on would repeat IDs.
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

    /// [`place`](Self::place) for layouts of either width.
    ///
    /// # Panics
    /// Where `position` or `worker` lies outside the layout.
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
