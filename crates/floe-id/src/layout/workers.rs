//! Sets of worker ids: which slots a node may take.

use alloc::format;
use core::ops::RangeInclusive;

use super::{Layout, LayoutError};

/// A set of worker ids that is never empty: all of a layout's, one, a range, or those with fixed values in some node
/// fields ([`Layout::pinned`]).
///
/// ```
/// use floe_id::layout::Workers;
/// let pool = Workers::range(10, 512..=1023)?;
/// assert_eq!((pool.len(), pool.nth(0), pool.nth(512)), (512, Some(512), None));
/// assert!(pool.contains(600) && !pool.contains(511));
/// # Ok::<(), floe_id::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Workers {
    /// The first id.
    base: u64,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Shape {
    /// `base` with any of these bits set as well.
    Mask(u64),
    /// `base` and as many that follow.
    Run(u64),
}

impl Workers {
    /// Returns all worker ids of `bits` bits.
    ///
    /// ```
    /// use floe_id::layout::Workers;
    /// assert_eq!(Workers::all(10)?.len(), 1_024);
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::WorkerBits`] above [`Layout::MAX_WORKER_BITS`].
    pub fn all(bits: u32) -> Result<Self, LayoutError> {
        Ok(Self::masked(0, max(bits)?))
    }

    /// Returns one worker id of `bits` bits.
    ///
    /// ```
    /// use floe_id::layout::Workers;
    /// assert_eq!(Workers::one(10, 7)?.iter().collect::<Vec<_>>(), [7]);
    /// assert!(Workers::one(10, 1_024).is_err());
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::WorkerOutOfRange`]; [`LayoutError::WorkerBits`].
    pub fn one(bits: u32, worker: u64) -> Result<Self, LayoutError> {
        Self::range(bits, worker..=worker)
    }

    /// Returns the worker ids of `range`, both ends included, of `bits` bits. [`Workers`] has an example.
    ///
    /// # Errors
    /// [`LayoutError::WorkerOutOfRange`]; [`LayoutError::NoWorkers`] if the range is empty;
    /// [`LayoutError::WorkerBits`].
    pub fn range(bits: u32, range: RangeInclusive<u64>) -> Result<Self, LayoutError> {
        let (first, last, max) = (*range.start(), *range.end(), max(bits)?);
        if range.is_empty() {
            return Err(LayoutError::NoWorkers { first, last });
        }
        if last > max {
            let of = format!("a layout with {bits} worker bits");
            return Err(LayoutError::WorkerOutOfRange { worker: last, max, of });
        }
        Ok(Self { base: first, shape: Shape::Run(last - first) })
    }

    /// `base`, and every number that differs from it in the `free` bits only.
    pub(super) const fn masked(base: u64, free: u64) -> Self {
        Self { base: base & !free, shape: Shape::Mask(free) }
    }

    /// Returns how many there are, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(&self) -> u64 {
        match self.shape {
            Shape::Mask(free) => 1 << free.count_ones(),
            Shape::Run(more) => more + 1,
        }
    }

    /// Returns the smallest.
    pub const fn first(&self) -> u64 {
        self.base
    }

    /// Returns the worker id with this index, in ascending order; `None` from [`len`](Self::len) on. [`Workers`] has an
    /// example.
    pub const fn nth(&self, index: u64) -> Option<u64> {
        if index >= self.len() {
            return None;
        }
        match self.shape {
            Shape::Run(_) => Some(self.base + index),
            Shape::Mask(mut free) => {
                // The bits of the index go to the free bits, lowest first.
                let (mut worker, mut index) = (self.base, index);
                while index > 0 {
                    let lowest = free & free.wrapping_neg();
                    if index & 1 == 1 {
                        worker |= lowest;
                    }
                    free ^= lowest;
                    index >>= 1;
                }
                Some(worker)
            }
        }
    }

    /// Returns whether the set contains `worker`. [`Workers`] has an example.
    pub const fn contains(&self, worker: u64) -> bool {
        match self.shape {
            Shape::Mask(free) => worker & !free == self.base,
            Shape::Run(more) => worker >= self.base && worker - self.base <= more,
        }
    }

    /// Returns all worker ids, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + use<> {
        let workers = *self;
        (0..self.len()).filter_map(move |index| workers.nth(index))
    }
}

fn max(bits: u32) -> Result<u64, LayoutError> {
    if bits <= Layout::MAX_WORKER_BITS { Ok((1 << bits) - 1) } else { Err(LayoutError::WorkerBits { bits }) }
}
