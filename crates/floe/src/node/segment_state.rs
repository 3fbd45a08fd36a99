//! Segments: ranges of numbers, reserved before they are needed.

use std::sync::Arc;

use super::{Op, Pause, Purpose, RequestQueue, went_back};
use crate::clock::Now;
use crate::cursor::Owned;
use crate::error::Stopped;
use crate::ledger::{Key, LedgerError, Reply, Reserve, Token};
use crate::mutation::mutate;
use crate::shared_cursor::BlockReason;
use crate::supply::SegmentSupply;
use crate::time::MonoMillis;

/// A step grows by at most this much at once: a burst says little about the rate.
const MOST_GROWTH: u64 = 16;

/// How many numbers a segment reserves at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The interval between two reservations. The step adapts to it.
    pub(crate) refill_ms: u64,
}

/// One segment's supply.
pub(crate) struct SegmentState {
    key: Key,
    pub(crate) numbers: Arc<SegmentSupply>,
    steps: Steps,
    step: u64,
    /// The end of the last range that this process held, without what it gave back (I1).
    last_end: u64,
    /// The last reservation: its token, and where it began.
    last: Option<(Token, u64)>,
    refilled: Option<MonoMillis>,
    asking: Option<(u64, Token)>,
    unanswered: Option<Token>,
    /// How many numbers the ledger has left below the largest one, once that is known to be less than a step.
    room: Option<u64>,
    /// How many consecutive numbers the largest waiting call needs; `None` if no call waits.
    wanted: Option<u64>,
    pause: Pause,
    era: u64,
}

impl SegmentState {
    pub(crate) fn new(key: Key, numbers: Arc<SegmentSupply>, steps: Steps) -> Self {
        Self {
            key,
            numbers,
            steps,
            step: steps.min,
            last_end: 0,
            last: None,
            refilled: None,
            asking: None,
            unanswered: None,
            room: None,
            wanted: None,
            pause: Pause::default(),
            era: 0,
        }
    }

    pub(crate) fn step(&mut self, index: usize, requests: &mut RequestQueue, now: &Now) {
        if let Some(count) = self.numbers.shared.take_wanted() {
            self.wanted = Some(self.wanted.unwrap_or(0).max(count));
        }
        self.on_new_era(now);
        let Some(wanted) = self.wanted else { return };
        if self.is_stopped() || self.asking.is_some() || !self.pause.is_over(now.mono) {
            return;
        }
        if self.numbers.shared.cursor.left() >= self.step && self.longest_run() >= wanted {
            // There are enough numbers, whatever the ledger answered last. If a new era has begun since `now`, a caller of
            // that era has no use for them, and has to ask again.
            self.wanted = None;
            self.numbers.shared.set_trouble(None);
            self.numbers.shared.waiters.wake();
            return;
        }
        self.ask(index, wanted, requests, now);
    }

    /// In a new era, the node neither mints nor gives back what was reserved before.
    fn on_new_era(&mut self, now: &Now) {
        if mutate!(now.stamp.era() == self.era, EraIgnored => true) {
            return;
        }
        self.numbers.shared.cursor.close();
        (self.last, self.asking, self.era) = (None, None, now.stamp.era());
        self.unanswered = mutate!(None, TokenOutlivesItsEra => self.unanswered);
        // The discarded range was not used up, so it says nothing about the rate.
        self.refilled = None;
    }

    fn longest_run(&self) -> u64 {
        let cursor = &self.numbers.shared.cursor;
        let (owned, next) = (cursor.owned(), cursor.next().unwrap_or(u64::MAX));
        [owned.current, owned.spare]
            .iter()
            .map(|range| range.end.saturating_sub(next.max(range.start)))
            .max()
            .unwrap_or(0)
    }

    fn ask(&mut self, index: usize, wanted: u64, requests: &mut RequestQueue, now: &Now) {
        if self.unanswered.is_none() {
            self.fit_step(now);
        }
        // The first reservation is one range for both the segment in use and its spare.
        let count = if self.last.is_none() { self.step.saturating_mul(2) } else { self.step };
        let count =
            count.max(wanted).min(self.room.unwrap_or(u64::MAX)).min(self.numbers.end - self.last_end);
        if count == 0 {
            return self.used_up();
        }
        let token = self.unanswered.take().unwrap_or_else(|| requests.token());
        let request = Reserve {
            key: self.key.clone(),
            floor: self.last_end,
            count,
            max_mark: self.numbers.end - count,
            token,
            create: false,
            note: None,
        };
        self.asking = Some((requests.ask(Purpose::SegmentState(index), Op::Reserve(request)), token));
    }

    /// The step follows the rate, as in Leaf. It grows if the last segment was used up before the interval was over,
    /// and halves if it lasted twice as long. Leaf doubles it. Here it grows in proportion to how much the interval
    /// was missed, within bounds, so that a name survives an outage of minutes after seconds of use.
    fn fit_step(&mut self, now: &Now) {
        if let Some(refilled) = self.refilled {
            let lasted = now.mono.since(refilled);
            if lasted < self.steps.refill_ms {
                let missed = (self.steps.refill_ms / lasted.max(1)).clamp(2, MOST_GROWTH);
                self.step = self.step.saturating_mul(missed).min(self.steps.max);
            } else if lasted > self.steps.refill_ms.saturating_mul(2) {
                self.step = (self.step / 2).max(self.steps.min);
            }
        }
    }

    pub(crate) fn handle(
        &mut self,
        id: u64,
        answer: Result<Reply, LedgerError>,
        requests: &mut RequestQueue,
        now: &Now,
    ) {
        self.on_new_era(now);
        let Some((_, token)) = self.asking.take_if(|(call, _)| *call == id) else { return };
        match answer {
            Ok(Reply::Got { start, end, previous_mark }) => self.got(token, start, end, previous_mark, now),
            Ok(Reply::Refused { mark, .. }) | Err(LedgerError::Overflow { mark, .. }) => {
                self.room = Some(self.numbers.end.saturating_sub(mark));
                if self.room == Some(0) {
                    self.used_up();
                }
            }
            Err(LedgerError::Unavailable(cause)) => {
                self.unanswered = Some(token);
                let trouble = requests.unavailable(cause, now, &mut self.pause, 0);
                self.numbers.shared.set_trouble(Some(trouble));
            }
            Err(error) => self.numbers.shared.stop(&Stopped::ledger(error)),
        }
    }

    fn used_up(&mut self) {
        self.wanted = None;
        let last = self.numbers.number_at(self.numbers.end - 1);
        let text = format!("{} is used up: its last number is {last}. Bind a new name", self.key.subject());
        self.numbers.shared.set_trouble(Some(BlockReason::Exhausted(text)));
    }

    fn got(&mut self, token: Token, start: u64, end: u64, previous_mark: u64, now: &Now) {
        let least = mutate!(self.last_end, WentBackByOneIgnored => self.last_end.saturating_sub(1));
        let below = previous_mark < least || start < least;
        if mutate!(below, WentBackIgnored => false) || end > self.numbers.end {
            let cause = went_back(&self.key, previous_mark, self.last_end);
            return self.stop(&Stopped::ledger(cause));
        }
        let shared = &self.numbers.shared;
        let next = shared.cursor.next();
        let mut owned = if next.is_some() { shared.cursor.owned() } else { Owned::default() };
        if next.is_some_and(|next| next >= owned.current.end) {
            owned.current = std::mem::take(&mut owned.spare);
        }
        let new = mutate!(start, SegmentFromLastEnd => self.last_end)..end;
        // A range that begins where the last one ends extends it. Any other range is the spare.
        match (&mut owned.current, &mut owned.spare) {
            (current, spare) if current.is_empty() => (*current, *spare) = (new, 0..0),
            (current, spare) if spare.is_empty() && current.end == start => current.end = end,
            (_, spare) if spare.is_empty() => *spare = new,
            (_, spare) if spare.end == start => spare.end = end,
            (current, spare) => (*current, *spare) = (spare.clone(), new),
        }
        owned.era = self.era;
        self.numbers.publish(&owned, self.step);
        (self.last, self.last_end, self.refilled) = (Some((token, start)), end, Some(now.mono));
        (self.wanted, self.pause) = (None, Pause::default());
        shared.set_trouble(None);
        shared.waiters.wake();
    }

    /// Closes the cursor and gives back the unminted tail of the last reservation. Returns a lower bound of the mark
    /// from then on.
    pub(crate) fn give_back(&mut self, requests: &mut RequestQueue, now: &Now) -> u64 {
        self.on_new_era(now);
        let cursor = &self.numbers.shared.cursor;
        let next = mutate!(cursor.close(), GiveBackBeforeClose => cursor.next());
        let Some((token, start)) = self.last.take() else { return self.last_end };
        let from = mutate!(next.unwrap_or(self.last_end).max(start), GiveBackOfMinted => start);
        // If another reservation has taken effect meanwhile, the record has another token, and the ledger ignores the give-back.
        if from < self.last_end {
            requests.ask(Purpose::GiveBack, Op::GiveBack { key: self.key.clone(), token, from });
        }
        from.min(self.last_end)
    }

    /// The key of its mark.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// Whether it is stopped for ever.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.numbers.shared.trouble(), Some(BlockReason::Stopped(_)))
    }

    /// The mark was at least here before (I1).
    pub(crate) fn was_at(&mut self, mark: u64) {
        self.last_end = self.last_end.max(mark);
    }

    /// Whether somebody waits for numbers.
    pub(crate) fn waits(&self) -> bool {
        !self.is_stopped() && self.wanted.is_some()
    }

    pub(crate) fn stop(&self, stopped: &Stopped) {
        self.numbers.shared.stop(stopped);
    }

    pub(crate) fn deadline(&self) -> Option<MonoMillis> {
        let waits = self.waits() && self.asking.is_none();
        // Without a pause, the node asks as soon as the current answer is handled.
        if waits { Some(self.pause.until().unwrap_or_default()) } else { None }
    }
}
