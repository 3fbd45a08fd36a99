//! Many IDs, held as one run of positions.

use std::sync::Arc;

use crate::cursor::Drawn;
use crate::definition::{DatedId, DatedShape};
use crate::error::MintError;
use crate::layout::{IdRun, Layout, Placer};
use crate::stream::placer;
use crate::{Id, IdRepr};

/// IDs that were minted in one step. It is an iterator that holds a run of positions and makes each ID on demand.
///
/// The IDs increase. IDs that you do not take are skipped; they are never minted again.
///
/// ```
/// use floe::{Floe, ledger::Memory};
/// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
/// let mut batch = tickets.mint_many(1_000)?;
/// assert_eq!((batch.next().map(|id| id.get()), batch.len()), (Some(1), 999));
/// drop(batch);
/// assert_eq!(tickets.mint()?.get(), 1_001);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// # let floe = floe::Floe::open(floe::ledger::Memory::default()).unwrap();
/// let batch = floe.segment("orders").unwrap().mint_many(10).unwrap();
/// let same_ids = batch.clone();
/// ```
#[derive(Debug)]
pub struct Batch<I = Id> {
    next: u64,
    end: u64,
    places: Places<I>,
}

#[derive(Debug)]
enum Places<I> {
    Layout(Placer<I>),
    Numbers(IdRun<I>),
}

impl<I: IdRepr> Batch<I> {
    pub(crate) fn of_layout(layout: &Layout, drawn: Drawn) -> Self {
        let places = Places::Layout(placer(layout, drawn.tag));
        Self { next: drawn.start, end: drawn.start + drawn.count, places }
    }
}

impl Batch<Id> {
    /// The numbers `offset + increment * n` for n in `start..start + count`, all of which are at most 2^63 - 1.
    pub(crate) fn of_numbers(start: u64, count: u64, increment: u64, offset: u64) -> Self {
        let run = IdRun::new(number(offset + increment * start), number(increment), count);
        Self { next: start, end: start + count, places: Places::Numbers(run) }
    }
}

impl<I: IdRepr> Batch<I> {
    /// Writes the batch to `ids`, which must have exactly one place for each ID.
    pub(crate) fn write(self, ids: &mut [I]) {
        assert_eq!(
            u64::try_from(ids.len()),
            Ok(self.end - self.next),
            "a batch has a place for each ID (I3)"
        );
        match self.places {
            Places::Layout(placer) => placer.place_run(self.next, ids),
            Places::Numbers(run) => run.write(ids),
        }
    }
}

/// The ID of a number that a ledger has handed out.
#[expect(
    clippy::expect_used,
    reason = "ranges end below the largest ID; minting on past it would repeat IDs"
)]
#[inline(always)]
pub(crate) fn number(number: u64) -> Id {
    Id::try_from(number).expect("a reserved number has at most 63 bits")
}

impl<I: IdRepr> Iterator for Batch<I> {
    type Item = I;

    #[inline]
    fn next(&mut self) -> Option<I> {
        if self.next >= self.end {
            return None;
        }
        let position = self.next;
        self.next += 1;
        match &mut self.places {
            Places::Layout(placer) => Some(placer.place(position)),
            Places::Numbers(run) => run.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl<I: IdRepr> ExactSizeIterator for Batch<I> {}
impl<I: IdRepr> std::iter::FusedIterator for Batch<I> {}

/// IDs of one day, month or year that were minted in one step. It cannot be cloned, since a clone would hand out the
/// same IDs:
///
/// ```compile_fail,E0599
/// fn again(batch: floe::DatedBatch) -> floe::DatedBatch {
///     batch.clone()
/// }
/// ```
#[derive(Debug)]
pub struct DatedBatch {
    next: u64,
    end: u64,
    shape: Arc<DatedShape>,
}

impl DatedBatch {
    /// The `count` positions from `start` on.
    pub(crate) fn new(start: u64, count: u64, shape: &Arc<DatedShape>) -> Self {
        Self { next: start, end: start + count, shape: Arc::clone(shape) }
    }
}

impl Iterator for DatedBatch {
    type Item = DatedId;

    fn next(&mut self) -> Option<DatedId> {
        let position = self.next;
        if position >= self.end {
            return None;
        }
        self.next += 1;
        DatedId::at(position, &self.shape)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl ExactSizeIterator for DatedBatch {}

/// Mints one ID for each place and writes them. If there are no places, it mints nothing.
pub(crate) fn fill<I: IdRepr>(
    ids: &mut [I],
    mint_many: impl FnOnce(u64) -> Result<Batch<I>, MintError>,
) -> Result<(), MintError> {
    if !ids.is_empty() {
        mint_many(u64::try_from(ids.len()).unwrap_or(u64::MAX))?.write(ids);
    }
    Ok(())
}

/// The results of `mint`, up to and including the first error.
pub(crate) fn until_error<I>(
    mut mint: impl FnMut() -> Result<I, MintError>,
) -> impl Iterator<Item = Result<I, MintError>> {
    let mut over = false;
    std::iter::from_fn(move || {
        let minted = (!over).then(&mut mint)?;
        over = minted.is_err();
        Some(minted)
    })
}
