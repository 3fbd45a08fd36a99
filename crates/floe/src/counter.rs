//! Counters and dated names: every call is one with the ledger, and many calls share one reservation.

use std::fmt;
use std::sync::Arc;

use jiff::civil::Date;

use crate::Id;
use crate::batch::Batch;
use crate::definition::DatedShape;
use crate::driver::Shared;
use crate::error::MintError;
use crate::name::Name;
use crate::segment::{MAX_BATCH, check_count};
use crate::sync::{Mutex, lock};
use crate::wait::{self, Attempt, Bell, Step};

/// Mints 1, 2, 3, … strictly increasing over the whole cluster: a call that begins after another has returned gets a
/// larger number.
///
/// Every call needs the ledger; calls that come at once share a trip to it. Numbers can be missing: what was reserved for a
/// caller that went away, or whose process was killed, is never handed out.
#[derive(Clone)]
pub struct Counter(Counting);

/// Mints IDs of a date and a counter that begins at 1 each day, month or year, increasing over the whole cluster.
#[derive(Clone)]
pub struct Dated {
    counting: Counting,
    shape: Arc<DatedShape>,
}

/// A dated position is `period * 2^40 + counter - 1`; periods are days, months or years from 1970.
pub(crate) const PERIOD_BITS: u32 = 40;

#[derive(Clone)]
struct Counting {
    name: Name,
    shared: Arc<Shared>,
}

/// One caller's place in a name's queue.
pub(crate) struct Ticket {
    pub(crate) count: u64,
    answer: Mutex<Answer>,
    bell: Bell,
}

enum Answer {
    Open,
    Done(Result<u64, MintError>),
    /// The caller has gone. What was reserved for it is discarded.
    Gone,
}

impl Ticket {
    pub(crate) fn new(count: u64) -> Arc<Self> {
        Arc::new(Self { count, answer: Mutex::new(Answer::Open), bell: Bell::default() })
    }

    /// Whether somebody still waits for the answer.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*lock(&self.answer), Answer::Open)
    }

    /// What it was answered.
    #[cfg(test)]
    pub(crate) fn answered(&self) -> Option<Result<u64, MintError>> {
        match &*lock(&self.answer) {
            Answer::Done(result) => Some(result.clone()),
            Answer::Open | Answer::Gone => None,
        }
    }

    /// A caller that has gone.
    #[cfg(test)]
    pub(crate) fn abandon(&self) {
        *lock(&self.answer) = Answer::Gone;
    }

    /// Answers: the first of the caller's positions, or why there is none.
    pub(crate) fn answer(&self, result: Result<u64, MintError>) {
        let mut answer = lock(&self.answer);
        if matches!(*answer, Answer::Open) {
            *answer = Answer::Done(result);
            drop(answer);
            self.bell.ring();
        }
    }
}

/// Waits for a ticket's answer, and lets the node know when nobody waits any more.
struct Queued<'a> {
    ticket: Arc<Ticket>,
    counting: &'a Counting,
}

impl Attempt for Queued<'_> {
    type Output = u64;

    fn attempt(&mut self) -> Result<Step<u64>, MintError> {
        match &*lock(&self.ticket.answer) {
            Answer::Done(result) => result.clone().map(Step::Ready),
            Answer::Open | Answer::Gone => Ok(Step::Wait { millis: None }),
        }
    }

    fn bell(&self) -> &Bell {
        &self.ticket.bell
    }

    fn give_up(&mut self) -> MintError {
        self.counting.shared.why_not_counted(&self.counting.name)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        *lock(&self.ticket.answer) = Answer::Gone;
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
    pub(crate) fn new(name: Name, shared: Arc<Shared>) -> Self {
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
    pub(crate) fn new(name: Name, shape: Arc<DatedShape>, shared: Arc<Shared>) -> Self {
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
        Ok(DatedBatch { next: start, end: start + count, shape: Arc::clone(&self.shape) })
    }

    /// [`Dated::mint_many`] in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<DatedBatch, MintError> {
        let start = self.counting.mint_async(count).await?;
        Ok(DatedBatch { next: start, end: start + count, shape: Arc::clone(&self.shape) })
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

/// A date and its period's counter. Its text is the prefix, the date as [`DatedShape::date`] says, and the counter, padded
/// with zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatedId {
    date: Date,
    counter: u64,
    shape: Arc<DatedShape>,
}

impl DatedId {
    /// The ID at a position; `None` where its date cannot be written.
    pub(crate) fn at(position: u64, shape: &Arc<DatedShape>) -> Option<Self> {
        let date = shape.date().date_of(position >> PERIOD_BITS)?;
        let counter = (position & ((1 << PERIOD_BITS) - 1)) + 1;
        Some(Self { date, counter, shape: Arc::clone(shape) })
    }

    /// The day; of a name that counts months or years, the first of them.
    pub fn date(&self) -> Date {
        self.date
    }

    /// The period's count, from 1.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// What its text begins with.
    pub fn prefix(&self) -> &str {
        self.shape.prefix()
    }

    /// `date * 10^digits + counter` as one number. A counter that outgrew its digits has a power of ten more for
    /// each; `None` where that passes 63 bits.
    pub fn number(&self) -> Option<Id> {
        let digits = self.counter.ilog10() + 1;
        let scale = 10_u64.checked_pow(digits.max(u32::from(self.shape.digits())))?;
        let date = self.shape.date().digits_of(self.date);
        let number = date.checked_mul(scale)?.checked_add(self.counter)?;
        Id::try_from(number).ok()
    }
}

impl fmt::Display for DatedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(self.shape.digits());
        let (format, prefix) = (self.shape.date(), self.shape.prefix());
        write!(
            f,
            "{prefix}{:0width$}{:0digits$}",
            format.digits_of(self.date),
            self.counter,
            width = format.width()
        )
    }
}

/// IDs of one period that were minted in one step. It cannot be cloned, since a clone would hand out the same IDs:
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_answered_once_and_not_where_its_caller_has_gone() {
        let stopped = || Err(MintError::Stopped("late".to_owned()));
        let ticket = Ticket::new(1);
        ticket.answer(Ok(7));
        ticket.answer(stopped());
        ticket.answer(Ok(8));
        assert_eq!(ticket.answered(), Some(Ok(7)));
        let ticket = Ticket::new(1);
        ticket.abandon();
        ticket.answer(Ok(7));
        assert!(ticket.answered().is_none() && !ticket.is_open());
    }
}
