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
    /// For how many counts a ledger reserves ahead: one count in so many waits for a flush, and a crash skips so much at
    /// most. `PostgreSQL`'s own sequences write down 32 numbers at a time.
    pub const AHEAD: u64 = 32;

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

    /// Reserves for a counter as [`reserve`](Self::reserve) does, and `calls` times as many numbers ahead, so that the next
    /// counts need not wait for a write. The numbers from `used` to the mark are left of what was reserved ahead before.
    ///
    /// The reply is the range of this request alone. The mark in the new record is the end of what is reserved ahead. It
    /// is at most the last position that the caller may have. The new record has no token.
    ///
    /// ```
    /// use floe::Name;
    /// use floe::ledger::{Key, MAX_MARK, Mark, Reply, Reserve, Token};
    /// let (key, token) = (Key::name(&Name::new("visits")?), Token::random()?);
    /// let request = Reserve { key, floor: 1, count: 2, max_mark: MAX_MARK, token, create: false, note: None };
    /// let record = Mark { mark: 34, ..Mark::default() };
    /// let (reply, record) = record.reserve_ahead(33, &request, Mark::AHEAD)?;
    /// assert_eq!(reply, Reply::Got { start: 33, end: 35, previous_mark: 33 });
    /// assert_eq!(record.map(|record| record.mark), Some(35 + 64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Overflow`.
    pub fn reserve_ahead(
        &self,
        used: u64,
        request: &Reserve,
        calls: u64,
    ) -> Result<(Reply, Option<Self>), LedgerError> {
        let left = Self { mark: used, note: self.note.clone(), ..Self::default() };
        let (reply, new) = Self::reserve(Some(&left), request)?;
        let (Reply::Got { end, .. }, Some(_)) = (&reply, new) else { return Ok((reply, None)) };
        // Not past what the caller may have of this key (the end of its day): others would be refused for no reason.
        let most = request.max_mark.saturating_add(request.count).min(MAX_MARK);
        let mark = end.saturating_add(request.count.saturating_mul(calls)).min(most).max(*end).max(self.mark);
        let start = mutate!(self.mark.max(request.floor).min(mark), RestAsItWasRead => used);
        let previous = mutate!(self.mark, RestAsItWasRead => used);
        Ok((reply, Some(Self { previous, start, mark, token: None, note: self.note.clone() })))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(floor: u64, count: u64, max_mark: u64) -> Reserve {
        let (key, create, note, token) = (Key::slot(1, 0), false, None, Token::random().unwrap());
        Reserve { key, floor, count, max_mark, token, create, note }
    }

    #[test]
    fn what_is_reserved_ahead_never_moves_the_mark_back() {
        let record = Mark { mark: 100, ..Mark::default() };
        let (reply, new) = record.reserve_ahead(10, &request(0, 1, 20), Mark::AHEAD).unwrap();
        assert_eq!(reply, Reply::Got { start: 10, end: 11, previous_mark: 10 });
        assert_eq!(new.map(|new| (new.start, new.mark)), Some((100, 100)));
    }

    /// The same numbers would be the caller's and, reserved ahead, everybody's.
    #[test]
    fn a_reservation_that_is_asked_for_again_does_not_get_what_was_reserved_ahead_since() {
        let first = request(0, 10, MAX_MARK);
        let (_, record) = Mark::reserve(Some(&Mark::default()), &first).unwrap();
        let (_, ahead) = record.unwrap().reserve_ahead(10, &request(0, 1, MAX_MARK), Mark::AHEAD).unwrap();
        let ahead = ahead.unwrap();
        let (again, _) = Mark::reserve(Some(&ahead), &first).unwrap();
        let (start, end) = (ahead.mark, ahead.mark + 10);
        assert_eq!(again, Reply::Got { start, end, previous_mark: start });
        assert_eq!(ahead.give_back(first.token, start), None);
    }

    #[test]
    fn what_is_reserved_ahead_ends_with_the_last_position_of_the_callers_day() {
        let reserved = |max_mark: u64| {
            let record = Mark { mark: 1_090, ..Mark::default() };
            let (_, new) = record.reserve_ahead(1_090, &request(1_000, 3, max_mark), Mark::AHEAD).unwrap();
            new.map(|new| new.mark)
        };
        assert_eq!(reserved(1_097), Some(1_100));
        assert_eq!(reserved(u64::MAX), Some(1_093 + 3 * Mark::AHEAD), "no end");
    }

    #[test]
    fn what_is_handed_out_lies_below_the_mark_also_where_the_floor_lies_above_the_bound() {
        let record = Mark { mark: 50, ..Mark::default() };
        let (reply, new) = record.reserve_ahead(40, &request(200, 10, 100), Mark::AHEAD).unwrap();
        assert_eq!(reply, Reply::Got { start: 200, end: 210, previous_mark: 40 });
        assert_eq!(new.map(|new| (new.start, new.mark)), Some((200, 210)));
    }

    #[test]
    fn what_is_reserved_ahead_keeps_the_records_note_and_a_refusal_tells_it() {
        let note = Some("host=web-1".to_owned());
        let record = Mark { mark: 30, note: note.clone(), ..Mark::default() };
        let (_, new) = record.reserve_ahead(10, &request(0, 1, 20), Mark::AHEAD).unwrap();
        assert_eq!(new.unwrap().note, note);
        let (refused, new) = record.reserve_ahead(21, &request(0, 1, 20), Mark::AHEAD).unwrap();
        assert_eq!((refused, new), (Reply::Refused { mark: 21, note }, None));
    }
}
