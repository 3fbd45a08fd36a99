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
            // Within a tick one ID follows another by a step that never changes, and the whole tick lies inside the layout.
            let behind = self.sequence_mask - (position & self.sequence_mask);
            let count =
                usize::try_from(behind).map_or(rest.len(), |behind| rest.len().min(behind.saturating_add(1)));
            let (run, after) = rest.split_at_mut(count);
            self.place(position).series(1 << self.sequence_shift, run);
            position += run.len() as u64;
            rest = after;
        }
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
