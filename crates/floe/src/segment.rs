//! Segments: numbers from reserved ranges, with a whole range in hand behind the one in use.

use std::sync::Arc;

use crate::Id;
use crate::batch::{Batch, fill, number, until_error};
use crate::clock::{Clock, Stamp};
use crate::cursor::{Draw, Drawn};
use crate::driver::Link;
use crate::error::MintError;
use crate::name::Name;
use crate::supply::{NumberChunk, SegmentSupply};
use crate::wait::{self, Attempt, Step, Waiters};

/// Mints numbers of a segment, from any number of threads. The n-th number (from 0) is `offset + increment * n`.
///
/// It is lock-free, and a clone is cheap. It keeps its floe open, as a clone of the [`Floe`](crate::Floe) does. Numbers
/// increase on one node. Each node mints from its own ranges, so the numbers of several nodes interleave.
///
/// ```
/// use floe::{Floe, ledger::Memory};
/// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
/// assert_eq!([tickets.mint()?.get(), tickets.mint()?.get()], [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Segment {
    name: Name,
    pub(crate) numbers: Arc<SegmentSupply>,
    shared: Link,
    /// The clock of `shared`, held here to save an indirection.
    clock: Arc<Clock>,
}

/// The largest count for one call.
pub(crate) const MAX_BATCH: u64 = 1 << 32;

impl Segment {
    pub(crate) fn new(name: Name, numbers: Arc<SegmentSupply>, shared: Link) -> Self {
        Self { name, numbers, clock: Arc::clone(&shared.clock), shared }
    }

    /// Returns the largest count for one call, 2^32.
    pub const fn max_batch(&self) -> u64 {
        MAX_BATCH
    }

    /// Returns the name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Mints one number. It waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.segment("tickets")?;
    /// assert_eq!(tickets.mint()?.get(), 1);
    /// floe.close();
    /// assert!(!tickets.mint().unwrap_err().is_retryable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; after `Busy` and `Unavailable` a retry can succeed.
    #[inline]
    pub fn mint(&self) -> Result<Id, MintError> {
        match self.try_mint() {
            Some(id) => Ok(id),
            None => self.wait_for_one(),
        }
    }

    /// One number if that needs no wait: the path of nearly every call, without a batch of one.
    #[inline(always)]
    fn try_mint(&self) -> Option<Id> {
        let position = self.numbers.draw_one(self.clock.at_hand()?)?;
        Some(number(self.numbers.number_at(position)))
    }

    /// This also works when no time is at hand: numbers do not depend on the time, so they go on while the clock is
    /// refused.
    #[cold]
    fn wait_for_one(&self) -> Result<Id, MintError> {
        self.mint_many(1)?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// [`mint`](Self::mint) as a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint`](Self::mint).
    pub async fn mint_async(&self) -> Result<Id, MintError> {
        match self.try_mint() {
            Some(id) => Ok(id),
            None => {
                self.mint_many_async(1).await?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
            }
        }
    }

    /// Mints `count` consecutive numbers of the segment, 1 to 2^32. It waits at most
    /// [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// assert_eq!(tickets.mint_many(3)?.map(|id| id.get()).collect::<Vec<_>>(), [1, 2, 3]);
    /// assert!(tickets.mint_many(0).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Count` says how many numbers one call can mint.
    pub fn mint_many(&self, count: u64) -> Result<Batch, MintError> {
        match self.try_mint_many(count)? {
            Some(batch) => Ok(batch),
            None => wait::block(MintMany { segment: self, count }, &*self.shared, self.shared.max_wait_ms),
        }
    }

    /// Mints a number for each place of `ids` in one step, at most [`Segment::max_batch`]. It runs about as fast as
    /// memory can be written.
    ///
    /// ```
    /// use floe::{Floe, Id, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// let mut ids = [Id::MAX; 3];
    /// tickets.fill(&mut ids)?;
    /// assert_eq!(ids.map(Id::get), [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; then no place was written. `Count` says how many numbers one call can mint.
    pub fn fill(&self, ids: &mut [Id]) -> Result<(), MintError> {
        fill(ids, |count| self.mint_many(count))
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime.
    /// [`Generator::mint_many_async`](crate::Generator::mint_many_async) has an example.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
    pub async fn mint_many_async(&self, count: u64) -> Result<Batch, MintError> {
        match self.try_mint_many(count)? {
            Some(batch) => Ok(batch),
            None => {
                wait::wait(MintMany { segment: self, count }, &*self.shared, self.shared.max_wait_ms).await
            }
        }
    }

    /// Mints `count` consecutive numbers, 1 to 2^32, if that needs no wait. `None` means that the floe must reserve
    /// first.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// tickets.mint()?;
    /// let next = tickets.try_mint_many(2)?.map(|ids| ids.map(|id| id.get()).collect::<Vec<_>>());
    /// assert_eq!(next, Some(vec![2, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Count` says how many numbers one call can mint.
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Batch>, MintError> {
        check_count(count, MAX_BATCH)?;
        match self.numbers.draw(self.clock.era(), count, true) {
            Draw::Got(drawn) => Ok(Some(self.batch(drawn))),
            Draw::Later(_) | Draw::NeedRange => Ok(None),
        }
    }

    /// Returns a minter for one thread, which mints several times as fast. [`SegmentMinter`] has an example.
    pub fn minter(&self) -> SegmentMinter {
        SegmentMinter { chunk: NumberChunk::new(&self.numbers), segment: self.clone() }
    }

    /// Discards every window and segment of this floe, in a process that was copied while it ran; see
    /// [`Generator::invalidate`](crate::Generator::invalidate).
    pub fn invalidate(&self) {
        self.shared.invalidate();
    }

    fn batch(&self, Drawn { start, count, .. }: Drawn) -> Batch {
        Batch::of_numbers(start, count, self.numbers.increment, self.numbers.offset)
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Segment({})", self.name)
    }
}

/// Mints from a [`Segment`] for one thread. It draws up to 256 numbers at a time, and mints from them without touching
/// anything shared.
///
/// Its numbers are strictly increasing. If it is dropped, or the segment gets another range, the numbers that it has
/// drawn and not minted become a gap.
///
/// ```
/// use floe::{Floe, ledger::Memory};
/// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
/// let mut minter = tickets.minter();
/// assert!(minter.mint()? < minter.mint()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It cannot be cloned, since a clone would hand out the same numbers:
///
/// ```compile_fail,E0599
/// fn again(minter: floe::SegmentMinter) -> floe::SegmentMinter {
///     minter.clone()
/// }
/// ```
pub struct SegmentMinter {
    segment: Segment,
    chunk: NumberChunk,
}

impl SegmentMinter {
    /// Mints one number. It waits at most [`Builder::max_wait`](crate::Builder::max_wait). [`SegmentMinter`] has an
    /// example.
    ///
    /// # Errors
    /// [`MintError`]; after `Busy` and `Unavailable` a retry can succeed.
    #[inline]
    pub fn mint(&mut self) -> Result<Id, MintError> {
        match self.take_again() {
            Some(id) => Ok(id),
            None => self.mint_slowly(),
        }
    }

    #[inline(always)]
    fn take_again(&mut self) -> Option<Id> {
        self.chunk.take_again()
    }

    #[cold]
    fn mint_slowly(&mut self) -> Result<Id, MintError> {
        self.take().map_or_else(|| self.segment.wait_for_one(), Ok)
    }

    /// This also works when no time is at hand: numbers do not depend on the time.
    fn take(&mut self) -> Option<Id> {
        let clock = &self.segment.clock;
        self.chunk.take(&self.segment.numbers, || {
            let stamp = clock.at_hand();
            // While no time is at hand, nobody else looks at the clock, so each call has to.
            (stamp.map_or_else(|| clock.era(), Stamp::era), stamp.is_some())
        })
    }

    /// Mints one number if that needs no wait. `None` means that the floe must reserve first.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// let mut minter = tickets.minter();
    /// let first = minter.mint()?;
    /// if let Some(next) = minter.try_mint()? {
    ///     assert!(next > first);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint(&mut self) -> Result<Option<Id>, MintError> {
        match self.take_again().or_else(|| self.take()) {
            Some(id) => Ok(Some(id)),
            None => self.segment.numbers.shared.check().map(|()| None),
        }
    }

    /// Returns an iterator over new numbers. It does not end by itself; the first error is its last item.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// let numbers = tickets.minter().ids().take(3).collect::<Result<Vec<_>, _>>()?;
    /// assert!(numbers.len() == 3 && numbers.is_sorted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&mut self) -> impl Iterator<Item = Result<Id, MintError>> {
        until_error(|| self.mint())
    }
}

impl std::fmt::Debug for SegmentMinter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SegmentMinter({})", self.segment.name)
    }
}

/// # Errors
/// `Count` outside `1..=max`.
pub(crate) fn check_count(asked: u64, max: u64) -> Result<(), MintError> {
    match (1..=max).contains(&asked) {
        true => Ok(()),
        false => Err(MintError::Count { asked, max }),
    }
}

struct MintMany<'a> {
    segment: &'a Segment,
    count: u64,
}

impl Attempt for MintMany<'_> {
    type Output = Batch;

    fn attempt(&mut self) -> Result<Step<Batch>, MintError> {
        match self.segment.try_mint_many(self.count)? {
            Some(batch) => Ok(Step::Ready(batch)),
            None => {
                self.segment.numbers.shared.check()?;
                Ok(Step::Wait { millis: None })
            }
        }
    }

    fn waiters(&self) -> &Waiters {
        &self.segment.numbers.shared.waiters
    }

    fn give_up(&mut self) -> MintError {
        self.segment.shared.too_late(&self.segment.numbers.shared, true, None)
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
