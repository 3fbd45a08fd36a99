//! Counters and dated names: every call is one with the ledger, and many calls share one reservation.

use std::fmt;
use std::sync::Arc;

use crate::Id;
use crate::batch::{Batch, DatedBatch};
use crate::definition::{DatedId, DatedShape};
use crate::driver::Link;
use crate::error::MintError;
use crate::name::Name;
use crate::segment::{MAX_BATCH, check_count};
use crate::ticket::Ticket;
use crate::wait::{self, Attempt, Step, Waiters};

/// Mints 1, 2, 3, … strictly increasing over the whole cluster: a call that begins after another has returned gets a
/// larger number.
///
/// It keeps its floe open, as a clone of the [`Floe`](crate::Floe) does. Every call needs the ledger; calls that come at
/// once share a trip to it. Numbers can be missing: what was reserved for a caller that went away, or whose process was
/// killed, is never handed out.
#[derive(Clone)]
pub struct Counter(Counting);

/// Mints IDs of a date and a counter that begins at 1 each day, month or year, increasing over the whole cluster.
#[derive(Clone)]
pub struct Dated {
    counting: Counting,
    shape: Arc<DatedShape>,
}

#[derive(Clone)]
struct Counting {
    name: Name,
    shared: Link,
}

/// Waits for a ticket's answer, and lets the node know when nobody waits any more.
struct Queued<'a> {
    ticket: Arc<Ticket>,
    counting: &'a Counting,
}

impl Attempt for Queued<'_> {
    type Output = u64;

    fn attempt(&mut self) -> Result<Step<u64>, MintError> {
        match self.ticket.answered() {
            Some(result) => result.map(Step::Ready),
            None => Ok(Step::Wait { millis: None }),
        }
    }

    fn waiters(&self) -> &Waiters {
        self.ticket.waiters()
    }

    fn give_up(&mut self) -> MintError {
        self.counting.shared.why_not_counted(&self.counting.name)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.ticket.abandon();
    }
}

impl Counting {
    fn queue(&self, count: u64) -> Result<Queued<'_>, MintError> {
        check_count(count, MAX_BATCH)?;
        let ticket = Ticket::new(count);
        self.shared.enqueue(&self.name, &ticket)?;
        Ok(Queued { ticket, counting: self })
    }

    fn mint(&self, count: u64) -> Result<u64, MintError> {
        wait::block(self.queue(count)?, &*self.shared, self.shared.max_wait_ms)
    }

    async fn mint_async(&self, count: u64) -> Result<u64, MintError> {
        wait::wait(self.queue(count)?, &*self.shared, self.shared.max_wait_ms).await
    }
}

impl Counter {
    pub(crate) fn new(name: Name, shared: Link) -> Self {
        Self(Counting { name, shared })
    }

    /// The name.
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// Mints the next number, waiting at most `max_wait`.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn mint(&self) -> Result<Id, MintError> {
        self.mint_many(1)?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// [`Counter::mint`] in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_async(&self) -> Result<Id, MintError> {
        self.mint_many_async(1).await?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// Mints the next `count` numbers, 1 to 2^32, which follow one another.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn mint_many(&self, count: u64) -> Result<Batch, MintError> {
        Ok(Batch::of_numbers(self.0.mint(count)?, count, 1, 1))
    }

    /// [`Counter::mint_many`] in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<Batch, MintError> {
        Ok(Batch::of_numbers(self.0.mint_async(count).await?, count, 1, 1))
    }
}

impl Dated {
    pub(crate) fn new(name: Name, shape: Arc<DatedShape>, shared: Link) -> Self {
        Self { counting: Counting { name, shared }, shape }
    }

    /// The name.
    pub fn name(&self) -> &Name {
        &self.counting.name
    }

    /// Zone, date, digits, prefix and overflow.
    pub fn shape(&self) -> &DatedShape {
        &self.shape
    }

    /// Mints the next ID of the day, month or year, waiting at most `max_wait`.
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` when the period's digits are used up.
    pub fn mint(&self) -> Result<DatedId, MintError> {
        self.mint_many(1)?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// [`Dated::mint`] in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_async(&self) -> Result<DatedId, MintError> {
        self.mint_many_async(1).await?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// Mints `count` IDs of one period, which follow one another.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn mint_many(&self, count: u64) -> Result<DatedBatch, MintError> {
        let start = self.counting.mint(count)?;
        Ok(DatedBatch::new(start, count, &self.shape))
    }

    /// [`Dated::mint_many`] in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<DatedBatch, MintError> {
        let start = self.counting.mint_async(count).await?;
        Ok(DatedBatch::new(start, count, &self.shape))
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counter({})", self.0.name)
    }
}

impl fmt::Debug for Dated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dated({}, {:?})", self.counting.name, self.shape)
    }
}
