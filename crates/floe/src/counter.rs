//! Counters and dated names: every call needs the ledger, and many calls share one reservation.

use std::fmt;
use std::sync::Arc;

use crate::Id;
use crate::batch::{Batch, DatedBatch};
use crate::definition::{DatedId, DatedShape};
use crate::driver::{Caller, Link};
use crate::error::MintError;
use crate::name::Name;
use crate::segment::{MAX_BATCH, check_count};
use crate::ticket::Ticket;
use crate::wait::{self, Attempt, Step, Waiters};

/// Mints 1, 2, 3, …, strictly increasing over the whole cluster: a call that begins after another has returned gets a
/// larger number.
///
/// It keeps its floe open, as a clone of the [`Floe`](crate::Floe) does. Every call needs the ledger; calls that come
/// at the same time share one reservation. Numbers can be missing: a number that was reserved for a caller that went
/// away, or whose process was killed, is never handed out.
///
/// ```
/// use floe::{Floe, ledger::Memory};
/// let invoices = Floe::open(Memory::default())?.counter("invoices")?;
/// assert_eq!([invoices.mint()?.get(), invoices.mint()?.get()], [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Counter(Counting);

/// Mints IDs of a date and a number that begins at 1 each day, month or year, increasing over the whole cluster.
///
/// It keeps its floe open. Every call needs the ledger, as for a [`Counter`].
///
/// ```
/// use floe::{DatedShape, Floe, Overflow};
/// let (floe, clock) = Floe::fixed(7, "2026-11-23T23:59:59Z".parse()?)?;
/// let invoices = floe.dated("invoices", DatedShape::new("UTC", 4, "INV", Overflow::Refuse)?)?;
/// assert_eq!(invoices.mint()?.to_string(), "INV202611230001");
/// assert_eq!(invoices.mint()?.to_string(), "INV202611230002");
/// clock.advance(std::time::Duration::from_secs(1));
/// assert_eq!(invoices.mint()?.to_string(), "INV202611240001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// Waits for a ticket's answer, and tells the node when no caller waits for it any more.
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
    fn queue(&self, count: u64, caller: Caller) -> Result<Queued<'_>, MintError> {
        check_count(count, MAX_BATCH)?;
        let ticket = Ticket::new(count);
        self.shared.enqueue(&self.name, &ticket, caller)?;
        Ok(Queued { ticket, counting: self })
    }

    fn mint(&self, count: u64) -> Result<u64, MintError> {
        wait::block(self.queue(count, Caller::Thread)?, &*self.shared, self.shared.max_wait_ms)
    }

    async fn mint_async(&self, count: u64) -> Result<u64, MintError> {
        wait::wait(self.queue(count, Caller::Future)?, &*self.shared, self.shared.max_wait_ms).await
    }
}

impl Counter {
    pub(crate) fn new(name: Name, shared: Link) -> Self {
        Self(Counting { name, shared })
    }

    /// Returns the name.
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// Mints the next number. It waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let ledger = Memory::default();
    /// let one = Floe::open(ledger.clone())?.counter("invoices")?;
    /// let other = Floe::open(ledger)?.counter("invoices")?; // another node
    /// assert_eq!([one.mint()?.get(), other.mint()?.get(), one.mint()?.get()], [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; after `Busy` and `Unavailable` a retry can succeed.
    pub fn mint(&self) -> Result<Id, MintError> {
        self.mint_many(1)?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// [`mint`](Self::mint) as a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint`](Self::mint).
    pub async fn mint_async(&self) -> Result<Id, MintError> {
        self.mint_many_async(1).await?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// Mints the next `count` numbers, 1 to 2^32, which are consecutive.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let invoices = Floe::open(Memory::default())?.counter("invoices")?;
    /// assert_eq!(invoices.mint_many(3)?.map(|id| id.get()).collect::<Vec<_>>(), [1, 2, 3]);
    /// assert_eq!(invoices.mint()?.get(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Count` says how many numbers one call can mint.
    pub fn mint_many(&self, count: u64) -> Result<Batch, MintError> {
        Ok(Batch::of_numbers(self.0.mint(count)?, count, 1, 1))
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime.
    /// [`Generator::mint_many_async`](crate::Generator::mint_many_async) has an example.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
    pub async fn mint_many_async(&self, count: u64) -> Result<Batch, MintError> {
        Ok(Batch::of_numbers(self.0.mint_async(count).await?, count, 1, 1))
    }
}

impl Dated {
    pub(crate) fn new(name: Name, shape: Arc<DatedShape>, shared: Link) -> Self {
        Self { counting: Counting { name, shared }, shape }
    }

    /// Returns the name.
    pub fn name(&self) -> &Name {
        &self.counting.name
    }

    /// Returns the zone, date format, digits, prefix and overflow.
    pub fn shape(&self) -> &DatedShape {
        &self.shape
    }

    /// Mints the next ID of the day, month or year. It waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{DatedShape, Floe, MintError, Overflow};
    /// let (floe, _clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let short = floe.dated("short", DatedShape::new("UTC", 1, "", Overflow::Refuse)?)?;
    /// for number in 1..=9 {
    ///     assert_eq!(short.mint()?.to_string(), format!("20261123{number}"));
    /// }
    /// assert!(matches!(short.mint(), Err(MintError::Exhausted(_)))); // tomorrow it goes on
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` when the period's digits are used up.
    pub fn mint(&self) -> Result<DatedId, MintError> {
        self.mint_many(1)?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// [`mint`](Self::mint) as a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint`](Self::mint).
    pub async fn mint_async(&self) -> Result<DatedId, MintError> {
        self.mint_many_async(1).await?.next().ok_or(MintError::Count { asked: 1, max: MAX_BATCH })
    }

    /// Mints `count` consecutive IDs, all of the same day, month or year.
    ///
    /// ```
    /// use floe::{DatedShape, Floe, Overflow};
    /// let (floe, _clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let invoices = floe.dated("invoices", DatedShape::new("UTC", 4, "", Overflow::Refuse)?)?;
    /// let ids: Vec<_> = invoices.mint_many(2)?.map(|id| id.to_string()).collect();
    /// assert_eq!(ids, ["202611230001", "202611230002"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` if the period has no `count` numbers left.
    pub fn mint_many(&self, count: u64) -> Result<DatedBatch, MintError> {
        let start = self.counting.mint(count)?;
        Ok(DatedBatch::new(start, count, &self.shape))
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime.
    /// [`Generator::mint_many_async`](crate::Generator::mint_many_async) has an example.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
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

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
