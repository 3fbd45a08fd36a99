//! The contract as arithmetic: how each call changes one record, without a store.

use super::{Key, LedgerError, MAX_MARK, Reply, Reserve, Token};
use crate::mutation::mutate;

/// One record as a store keeps it, and the pure steps from one record to the next.
///
/// If a ledger's store has transactions or versions, the ledger reads the record, calls a function here, and writes the
/// record that it returns, all in one transaction. The functions keep the contract; the store gives durability and
/// isolation.
///
/// ```
/// use floe::ledger::{Key, Mark, Reply, Reserve, Token};
///
/// let token = Token::random()?;
/// let (key, create, note) = (Key::slot(10, 7), true, None);
/// let request = Reserve { key, floor: 1_000, count: 500, max_mark: 1_000, token, create, note };
/// let (reply, record) = Mark::reserve(None, &request)?;
/// assert_eq!(reply, Reply::Got { start: 1_000, end: 1_500, previous_mark: 0 });
/// // The same token again: the same answer, and nothing to write.
/// assert_eq!(Mark::reserve(record.as_ref(), &request)?, (reply, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// The mark before the last reservation.
    pub previous: u64,
    /// Where the last reservation began.
    pub start: u64,
    /// The mark: every position below it may have been handed out.
    pub mark: u64,
    /// The token of the last reservation; `None` after it was given back or the mark was raised.
    pub token: Option<Token>,
    /// The owner note.
    pub note: Option<String>,
}

impl Mark {
    /// Returns the answer of [`Ledger::reserve`](super::Ledger::reserve), and the record that must be written before
    /// the answer is given; `None` if nothing is to be written. [`Mark`] has an example.
    ///
    /// # Errors
    /// `Missing` if no record was `found` and the request makes none; `Overflow`.
    pub fn reserve(found: Option<&Self>, request: &Reserve) -> Result<(Reply, Option<Self>), LedgerError> {
        if found.is_none() && !request.create {
            return Err(LedgerError::Missing(request.key.clone()));
        }
        let old = found.cloned().unwrap_or_default();
        if mutate!(old.token == Some(request.token), SameTokenReservesAgain => false) {
            let again = Reply::Got { start: old.start, end: old.mark, previous_mark: old.previous };
            return Ok((again, None));
        }
        if old.mark > request.max_mark {
            return Ok((Reply::Refused { mark: old.mark, note: old.note }, None));
        }
        let start = mutate!(old.mark.max(request.floor), FloorIgnoredByLedger => old.mark);
        let Some(end) = start.checked_add(request.count).filter(|end| *end <= MAX_MARK) else {
            return Err(LedgerError::Overflow { key: request.key.clone(), mark: old.mark });
        };
        let new = Self {
            previous: old.mark,
            start,
            mark: end,
            token: Some(request.token),
            note: request.note.clone().or(old.note),
        };
        Ok((Reply::Got { start, end, previous_mark: old.mark }, Some(new)))
    }

    /// Returns the record after the tail from `from` on was given back; `None` if the caller may not give it back.
    ///
    /// ```
    /// use floe::ledger::{Mark, Token};
    /// let token = Token::random()?;
    /// let record = Mark { start: 1_000, mark: 1_500, token: Some(token), ..Mark::default() };
    /// assert_eq!(record.give_back(token, 1_200).map(|record| record.mark), Some(1_200));
    /// assert_eq!(record.give_back(Token::random()?, 1_200), None); // another reservation's token
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn give_back(&self, token: Token, from: u64) -> Option<Self> {
        let is_tail = self.token == Some(token) && (self.start..=self.mark).contains(&from);
        mutate!(is_tail, TokenIgnoredInGiveBack => from <= self.mark).then(|| Self {
            mark: from,
            token: None,
            ..self.clone()
        })
    }

    /// Returns the record with its mark raised to `at_least`; `None` if the mark is that high already.
    ///
    /// ```
    /// use floe::ledger::{Key, Mark};
    /// let (key, record) = (Key::slot(10, 7), Mark { mark: 1_500, ..Mark::default() });
    /// assert_eq!(record.raise(&key, 2_000)?.map(|record| record.mark), Some(2_000));
    /// assert_eq!(record.raise(&key, 1_000)?, None);
    /// # Ok::<(), floe::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// `Overflow` above [`MAX_MARK`].
    pub fn raise(&self, key: &Key, at_least: u64) -> Result<Option<Self>, LedgerError> {
        if at_least > MAX_MARK {
            return Err(LedgerError::Overflow { key: key.clone(), mark: self.mark });
        }
        Ok((at_least > self.mark).then(|| Self { mark: at_least, token: None, ..self.clone() }))
    }
}
