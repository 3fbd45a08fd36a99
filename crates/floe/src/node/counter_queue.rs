//! Counters and dated names: group commit. A reservation serves only the callers that were queued when it was sent,
//! in call order. A number that was reserved before a call began would break the cluster's order.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Op, Pause, Purpose, RequestQueue, went_back};
use crate::clock::Now;
use crate::definition::PERIOD_BITS;
use crate::definition::{DatedShape, Overflow};
use crate::error::{MintError, Stopped};
use crate::ledger::{Key, LedgerError, MAX_MARK, Reply, Reserve};
use crate::mutation::mutate;
use crate::name::Name;
use crate::ticket::Ticket;
use crate::time::MonoMillis;

/// The most callers that wait for one name; the next is told that floe is busy.
const MOST_QUEUED: usize = 100_000;
/// After a search of a full queue that found few callers that have gone, so many calls come before the next one.
const SEARCHED_ONCE_IN: u32 = 1_000;

/// One name's queue.
pub(crate) struct CounterQueue {
    name: Name,
    /// `None` for a counter.
    shape: Option<Arc<DatedShape>>,
    queue: VecDeque<Arc<Ticket>>,
    /// How many calls come before a full queue is searched again.
    unsearched: u32,
    asking: Option<Asking>,
    /// How many callers the next call waits for, for a moment. Callers that were just answered often ask again at
    /// once. They should share a trip with those that queued meanwhile, instead of taking turns with them.
    gathering: Option<usize>,
    /// The last end that this process saw (I1).
    last_end: u64,
    /// The latest period (day, month or year) seen in the ledger. A node with a clock that is behind adopts it.
    period: u64,
    /// What is left of the period, once it is known to be less than a caller asked for.
    room: Option<(u64, u64)>,
    pause: Pause,
    stopped: Option<Stopped>,
}

struct Asking {
    call: u64,
    callers: Vec<Arc<Ticket>>,
    period: u64,
}

impl CounterQueue {
    pub(crate) fn new(name: Name, shape: Option<Arc<DatedShape>>) -> Self {
        let (queue, pause) = (VecDeque::new(), Pause::default());
        let (asking, gathering, room, stopped) = (None, None, None, None);
        Self {
            name,
            shape,
            queue,
            unsearched: 0,
            asking,
            gathering,
            last_end: 0,
            period: 0,
            room,
            pause,
            stopped,
        }
    }

    /// Queues a caller, and says whether it is time to ask.
    pub(crate) fn enqueue(&mut self, ticket: &Arc<Ticket>) -> Result<bool, MintError> {
        if let Some(stopped) = &self.stopped {
            return Err(MintError::Stopped(stopped.clone()));
        }
        if self.queue.len() >= MOST_QUEUED && !self.makes_room() {
            return Err(MintError::Busy { retry: std::time::Duration::from_millis(100) });
        }
        self.queue.push_back(Arc::clone(ticket));
        Ok(self.may_ask())
    }

    /// Removes callers that have gone from a full queue, and says whether there was one.
    fn makes_room(&mut self) -> bool {
        if let Some(left) = self.unsearched.checked_sub(1) {
            self.unsearched = left;
            return false;
        }
        self.queue.retain(|ticket| ticket.is_open());
        // Callers of a call that failed come back to a queue that may be full by then.
        let gone = MOST_QUEUED.saturating_sub(self.queue.len());
        self.unsearched = if gone > MOST_QUEUED / 8 { 0 } else { SEARCHED_ONCE_IN };
        gone > 0
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// The mark that was seen last (I1).
    pub(crate) fn last_end(&self) -> u64 {
        self.last_end
    }

    /// The mark was at least here before (I1).
    pub(crate) fn was_at(&mut self, mark: u64) {
        self.last_end = self.last_end.max(mark);
    }

    pub(crate) fn stopped(&self) -> Option<&Stopped> {
        self.stopped.as_ref()
    }

    /// Why no number can be minted now, as far as the ledger's answers show.
    pub(crate) fn barred(&self, now: &Now) -> Option<MintError> {
        match self.bounds(now) {
            Err(error) => Some(error),
            Ok((period, _, end)) => {
                let is_used_up = self.last_end >= end || self.room == Some((period, 0));
                is_used_up.then(|| self.used_up(period, 0))
            }
        }
    }

    /// Whether somebody waits for the ledger.
    pub(crate) fn waits(&self) -> bool {
        self.asking.is_some() || !self.queue.is_empty()
    }

    /// Whether no call is under way, and the queue does not wait for more callers.
    fn may_ask(&self) -> bool {
        self.asking.is_none() && self.gathering.is_none_or(|known| self.queue.len() >= known)
    }

    /// Whether the next question is held back for more callers; [`gathered`](Self::gathered) ends it.
    pub(crate) fn gathers(&self) -> bool {
        self.gathering.is_some()
    }

    /// The moment is over: asks for the callers that are there.
    pub(crate) fn gathered(&mut self, requests: &mut RequestQueue, now: &Now) {
        self.gathering = None;
        self.step(requests, now);
    }

    pub(crate) fn step(&mut self, requests: &mut RequestQueue, now: &Now) {
        if !self.may_ask() || !self.pause.is_over(now.mono) {
            return;
        }
        self.gathering = None;
        self.queue.retain(|ticket| ticket.is_open());
        if self.queue.is_empty() {
            return;
        }
        match self.bounds(now) {
            Ok((period, floor, end)) => {
                self.period = period;
                self.ask(period, floor, end, requests);
            }
            Err(error) => self.fail_all(&error),
        }
    }

    /// The period, its first position (0 for a counter), and the first position after it.
    fn bounds(&self, now: &Now) -> Result<(u64, u64, u64), MintError> {
        let Some(shape) = &self.shape else { return Ok((0, 0, MAX_MARK)) };
        if let Some(refusal) = now.refusal() {
            return Err(MintError::Stopped(Stopped::clock(refusal)));
        }
        let Some(current) = shape.period_at(now.stamp.time()) else {
            return Err(cannot_be_written(shape, now));
        };
        let period = self.period.max(current);
        if shape.date().date_of(period).is_none() {
            return Err(MintError::stopped(format!(
                "the mark of `{}` lies past the year {}, where no date can be written as {}: it was raised too far. Bind a new name",
                self.name,
                shape.date().years().end(),
                shape.date()
            )));
        }
        let most = match shape.overflow() {
            Overflow::Refuse => 10_u64.pow(shape.digits().into()) - 1,
            Overflow::Widen => (1 << PERIOD_BITS) - 1,
        };
        let floor = period << PERIOD_BITS;
        Ok((period, floor, floor + most))
    }

    fn ask(&mut self, period: u64, floor: u64, end: u64, requests: &mut RequestQueue) {
        // A new token for every attempt: a range that an unanswered attempt reserved is discarded. It is drawn while the
        // callers are in the queue, since the node stops if it can draw none, and they have to hear of that.
        let token = requests.token();
        let room = match self.room {
            Some((of, room)) if of == period => room,
            _ => end - floor,
        };
        let mut callers = Vec::new();
        let mut count = 0_u64;
        while let Some(ticket) = self.queue.pop_front() {
            if ticket.count > room - count {
                if count == 0 {
                    // This caller can never be served in this period. Callers behind it may want less.
                    ticket.answer(Err(self.used_up(period, room)));
                    continue;
                }
                self.queue.push_front(ticket);
                break;
            }
            count += ticket.count;
            callers.push(ticket);
        }
        if callers.is_empty() {
            return;
        }
        let request = Reserve {
            key: Key::name(&self.name),
            floor: mutate!(floor, DayFloorIgnored => 0),
            count,
            max_mark: end - count,
            token,
            create: false,
            note: None,
        };
        let call = requests.ask(Purpose::CounterQueue(self.name.clone()), Op::Count(request));
        self.asking = Some(Asking { call, callers, period });
    }

    pub(crate) fn handle(
        &mut self,
        id: u64,
        answer: Result<Reply, LedgerError>,
        requests: &mut RequestQueue,
        now: &Now,
    ) {
        let Some(Asking { callers, period, .. }) = self.asking.take_if(|asking| asking.call == id) else {
            return;
        };
        match answer {
            Ok(Reply::Got { start, end, previous_mark }) => {
                if mutate!(mutate!(previous_mark, WentBackByOneIgnored => previous_mark + 1) < self.last_end, WentBackIgnored => false)
                {
                    self.give_up(callers);
                    let cause = went_back(&Key::name(&self.name), previous_mark, self.last_end);
                    return self.stop(&Stopped::ledger(cause));
                }
                // A new token gets exactly what was asked for (I3).
                if end.checked_sub(start) != Some(callers.iter().map(|ticket| ticket.count).sum()) {
                    self.give_up(callers);
                    return self.stop(&Stopped::ledger(format!(
                        "the ledger answered [{start}, {end}) for `{}`, which is not what it was asked for: it is not fit for use",
                        self.name
                    )));
                }
                self.last_end = end;
                let known = callers.len() + self.queue.len();
                self.gathering = (known > 1).then_some(known);
                self.pause = Pause::default();
                let mut position = start;
                let callers = mutate!(callers, LeftoversHandedOn => self.handed_on(callers));
                for ticket in callers {
                    ticket.answer(Ok(position));
                    position += mutate!(ticket.count, CounterCallersShare => 0);
                }
            }
            Ok(Reply::Refused { mark, .. }) | Err(LedgerError::Overflow { mark, .. }) => {
                self.give_up(callers);
                self.refused(mark, period, now);
            }
            Err(LedgerError::Unavailable(cause)) => {
                self.give_up(callers);
                requests.unavailable(cause, now, &mut self.pause, 0);
            }
            Err(error) => {
                self.give_up(callers);
                self.stop(&Stopped::ledger(error));
            }
        }
        self.step(requests, now);
    }

    /// The mark is too high for what was asked: another node is in a later period already, or the period is nearly used up.
    fn refused(&mut self, mark: u64, period: u64, now: &Now) {
        let reached = if self.shape.is_some() { mark >> PERIOD_BITS } else { 0 };
        if mutate!(reached > period, DatedIgnoresLaterDay => false) {
            self.period = reached;
            return;
        }
        // The next period may have begun since the call. The mark has used nothing of it.
        if let Ok((period, floor, end)) = self.bounds(now) {
            self.room = Some((period, end.saturating_sub(mark.max(floor))));
        }
    }

    /// Puts callers back at the head of the queue.
    fn give_up(&mut self, callers: Vec<Arc<Ticket>>) {
        callers.into_iter().rev().for_each(|ticket| self.queue.push_front(ticket));
    }

    fn used_up(&self, period: u64, room: u64) -> MintError {
        MintError::Exhausted(match &self.shape {
            None => format!("{} has {room} numbers left below 2^63: bind a new name", self.name),
            Some(shape) => format!(
                "{} has {room} numbers left {}: its {} digits are used up until the next {} begins in {}. Ask for fewer, or bind a new name with more digits or overflow \"widen\"",
                self.name,
                shape.date().date_of(period).map_or_else(String::new, |date| shape.date().named(date)),
                shape.digits(),
                shape.date().period(),
                shape.zone()
            ),
        })
    }

    fn fail_all(&mut self, error: &MintError) {
        let asked = self.asking.take().map(|asking| asking.callers).unwrap_or_default();
        for ticket in asked.into_iter().chain(self.queue.drain(..)) {
            ticket.answer(Err(error.clone()));
        }
    }

    pub(crate) fn stop(&mut self, stopped: &Stopped) {
        self.stopped.get_or_insert_with(|| stopped.clone());
        self.fail_all(&MintError::Stopped(stopped.clone()));
    }

    pub(crate) fn deadline(&self) -> Option<MonoMillis> {
        (self.may_ask() && !self.queue.is_empty()).then(|| self.pause.until().unwrap_or_default())
    }
}

/// The name's IDs cannot have the clock's date: two digits of a year run out, and clocks can be wrong.
fn cannot_be_written(shape: &DatedShape, now: &Now) -> MintError {
    let (format, time) = (shape.date(), now.stamp.time());
    match shape.date_at(time) {
        Some(date) if format.is_short() && date.year() > *format.years().end() => {
            MintError::Exhausted(format!(
                "{date} cannot be written as {format}, since its years end with {}: bind a new name with years of four digits",
                format.years().end()
            ))
        }
        _ => MintError::Stopped(Stopped::clock(format!(
            "{} is not a date that can be written as {format}: set the clock right",
            now.wall
        ))),
    }
}

#[cfg(feature = "mutations")]
impl CounterQueue {
    /// The callers; those that have gone are replaced by queued ones.
    fn handed_on(&mut self, mut callers: Vec<Arc<Ticket>>) -> Vec<Arc<Ticket>> {
        for gone in callers.iter_mut().filter(|ticket| !ticket.is_open()) {
            let heir = self.queue.iter().position(|ticket| ticket.is_open() && ticket.count == gone.count);
            if let Some(heir) = heir.and_then(|heir| self.queue.remove(heir)) {
                *gone = heir;
            }
        }
        callers
    }
}
