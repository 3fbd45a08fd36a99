//! What a node does with the ledger: slots and their windows, segments, counts. It does no I/O.
//!
//! [`Node::step`] looks at the clock and at the requests of the minting side. [`Node::poll_call`] returns the next
//! call to the ledger, and [`Node::handle_answer`] takes its answer. [`Node::deadline`] says when to step again at
//! the latest. The caller owns time, randomness and the ledger: a thread in a process, a heap of events in a
//! simulator.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use crate::clock::{Clock, Now};
use crate::error::{MintError, StopReason, Stopped};
use crate::layout::Workers;
use crate::ledger::{AtHand, Key, LedgerError, Reply, Reserve, Token};
use crate::mutation::mutate;
use crate::name::Name;
use crate::owner::Owner;
use crate::shared_cursor::{BlockReason, SharedCursor, WakeList};
use crate::status::SlotStatus;
use crate::stream::Stream;
use crate::ticket::Ticket;
use crate::time::{MonoMillis, UnixMillis};
use ledger_clock::LedgerClock;
use past::Past;
use slot_group::SlotGroup;

mod counter_queue;
pub(crate) mod ledger_clock;
pub(crate) mod past;
mod segment_state;
pub(crate) mod slot_group;
#[cfg(test)]
mod tests;

pub(crate) use counter_queue::CounterQueue;
pub(crate) use segment_state::{SegmentState, Steps};

/// A request to the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Call [`Ledger::reserve`](crate::Ledger::reserve).
    Reserve(Reserve),
    /// Call [`Ledger::count`](crate::Ledger::count), for the callers of a counter.
    Count(Reserve),
    /// Call [`Ledger::clock`](crate::Ledger::clock).
    Clock,
    /// Call [`Ledger::give_back`](crate::Ledger::give_back).
    GiveBack {
        /// The key of the mark.
        key: Key,
        /// The reservation's token.
        token: Token,
        /// The first position that was not minted.
        from: u64,
    },
}

/// A request to the ledger, with the number under which the answer must come back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The number.
    pub id: u64,
    /// The request.
    pub op: Op,
}

/// The process settings of a node.
pub(crate) struct NodeSettings {
    /// How long a window is.
    pub(crate) window_ms: u64,
    /// Whether windows are renewed while nobody mints.
    pub(crate) renew_idle: bool,
    /// Whether windows are reserved only while this machine's clock agrees with the ledger's.
    pub(crate) check_clock: bool,
    /// The ledger in one line.
    pub(crate) ledger: String,
    /// Who it is, for the owner notes.
    pub(crate) owner: Owner,
    /// Whether the owner of a note can no longer mint: it was an earlier run of this instance.
    pub(crate) is_gone: Box<dyn Fn(&Owner) -> bool + Send>,
    /// The slots of this many worker bits that the ledger can serve from its own store, without asking another ledger.
    pub(crate) at_hand: Box<dyn Fn(u32) -> Vec<AtHand> + Send>,
    /// Fresh random bytes for tokens and for the order of probing.
    pub(crate) entropy: Box<dyn FnMut() -> [u8; 16] + Send>,
}

/// See the module.
pub(crate) struct Node {
    requests: RequestQueue,
    groups: Vec<SlotGroup>,
    /// By the number of each segment's entry in the wake list. A number is used once.
    segments: BTreeMap<usize, SegmentState>,
    next_segment: usize,
    queues: HashMap<Name, CounterQueue>,
    past: Past,
    /// Where segments say that they are wanted.
    wake_list: Arc<WakeList>,
    /// The segments and counts with waiting callers. A step touches no others.
    busy_segments: BTreeSet<usize>,
    busy_queues: BTreeSet<Name>,
    era: u64,
    stopped: Option<Stopped>,
}

/// What the parts of a node share: the queue of requests to the ledger, and the ledger's state.
pub(crate) struct RequestQueue {
    pub(crate) settings: NodeSettings,
    calls: VecDeque<Call>,
    asked: HashMap<u64, Purpose>,
    last_call: u64,
    /// Since when the ledger has not answered, and its own words.
    down: Option<(UnixMillis, String)>,
    /// If the ledger gives no answer at all: when the first caller that gave up began to wait.
    silent: Option<UnixMillis>,
    ledger_clock: LedgerClock,
}

/// The part of the node that an answer is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    SlotGroup(usize),
    SegmentState(usize),
    CounterQueue(Name),
    Clock,
    GiveBack,
}

impl RequestQueue {
    pub(crate) fn ask(&mut self, purpose: Purpose, op: Op) -> u64 {
        self.last_call += 1;
        self.asked.insert(self.last_call, purpose);
        self.calls.push_back(Call { id: self.last_call, op });
        self.last_call
    }

    pub(crate) fn token(&mut self) -> Token {
        loop {
            if let Some(token) = Token::from_bytes((self.settings.entropy)()) {
                return token;
            }
        }
    }

    pub(crate) fn random(&mut self) -> u64 {
        let bytes = (self.settings.entropy)();
        bytes.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// How much to reserve for a first window. After a power cut or an outage, nodes start together, and those that
    /// renew their windows would renew together for ever. So the first window is between a half and a whole one.
    /// Renewals move the end by a whole window, so they stay spread. The first window is never shorter than what a
    /// node has left when it renews.
    pub(crate) fn first_window(&mut self) -> u64 {
        let NodeSettings { window_ms, renew_idle, .. } = self.settings;
        if renew_idle { window_ms - self.random() % (window_ms / 2) } else { window_ms }
    }

    /// What to tell waiting callers after the ledger did not answer, and when to ask again. If the node can still
    /// mint for `left` milliseconds, the pause may be an eighth of that.
    pub(crate) fn unavailable(
        &mut self,
        cause: String,
        now: &Now,
        pause: &mut Pause,
        left: u64,
    ) -> BlockReason {
        let random = self.random();
        pause.longer(now.mono, left / 8, random);
        let first = self.silent.unwrap_or(now.stamp.time());
        let since = self.down.get_or_insert((first, String::new())).0;
        self.down = Some((since, cause.clone()));
        BlockReason::Unavailable { since, cause }
    }

    /// Notes that the ledger has said something.
    fn answered(&mut self) {
        (self.down, self.silent) = (None, None);
    }
}

/// When to ask again. Pauses double from 25 ms to 400 ms, or to what the caller can spare. Each is shortened by up to
/// a half at random. So nodes mint again within a second of the ledger's return, and do not all ask it at the same
/// moment.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Pause {
    until: Option<MonoMillis>,
    millis: u64,
}

impl Pause {
    const FIRST_MS: u64 = 25;
    const LONGEST_MS: u64 = 400;

    fn longer(&mut self, now: MonoMillis, spare: u64, random: u64) {
        self.millis = (self.millis * 2).clamp(Self::FIRST_MS, Self::LONGEST_MS.max(spare));
        let millis = self.millis - random % (self.millis / 2);
        self.until = Some(now.plus(mutate!(millis, PauseForEver => u64::from(u32::MAX))));
    }

    pub(crate) fn set(&mut self, until: MonoMillis) {
        self.until = Some(until);
    }

    pub(crate) fn is_over(&self, now: MonoMillis) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    pub(crate) fn until(&self) -> Option<MonoMillis> {
        self.until
    }
}

impl Node {
    pub(crate) fn new(settings: NodeSettings) -> Self {
        let (calls, asked) = (VecDeque::new(), HashMap::new());
        let ledger_clock = LedgerClock::default();
        Self {
            requests: RequestQueue {
                settings,
                calls,
                asked,
                last_call: 0,
                down: None,
                silent: None,
                ledger_clock,
            },
            groups: Vec::new(),
            segments: BTreeMap::new(),
            next_segment: 0,
            queues: HashMap::new(),
            past: Past::default(),
            wake_list: Arc::default(),
            busy_segments: BTreeSet::new(),
            busy_queues: BTreeSet::new(),
            era: 0,
            stopped: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn requests(&mut self) -> &mut RequestQueue {
        &mut self.requests
    }

    /// A fresh token for a reservation.
    pub(crate) fn token(&mut self) -> Token {
        self.requests.token()
    }

    /// A fresh random number.
    pub(crate) fn random(&mut self) -> u64 {
        self.requests.random()
    }

    /// Whether windows are reserved only while this machine's clock agrees with the ledger's.
    pub(crate) fn checks_clock(&self) -> bool {
        self.requests.settings.check_clock
    }

    /// How far the two clocks are apart, if that is too far.
    pub(crate) fn apart(&self, now: &Now) -> Option<String> {
        self.requests.apart(now)
    }

    /// Since when the ledger has not answered, and its own words.
    pub(crate) fn down(&self) -> Option<(UnixMillis, String)> {
        self.requests.down.clone()
    }

    /// Notes that a caller has waited in vain since this time. Returns since when the ledger is silent.
    pub(crate) fn silent_since(&mut self, since: UnixMillis) -> UnixMillis {
        *self.requests.silent.get_or_insert(since)
    }

    /// Adds a stream, which shares the slots of these workers with the other streams of its worker bits.
    pub(crate) fn add_stream(&mut self, workers: Workers, stream: Arc<Stream>) {
        let bits = stream.layout.worker_bits();
        let known = self.groups.iter().position(|group| group.bits == bits && group.workers == workers);
        let at = known.unwrap_or_else(|| {
            self.groups.push(SlotGroup::new(bits, workers));
            self.groups.len() - 1
        });
        self.groups[at].add(stream);
        if let Some(stopped) = &self.stopped {
            // It was being bound while the node stopped.
            self.groups[at].stop(stopped);
        }
    }

    /// Wakes the calls that wait for their tick.
    pub(crate) fn wake_minters(&self) {
        self.groups.iter().for_each(SlotGroup::wake_minters);
    }

    /// The state of each group of slots at a time of the steady clock.
    pub(crate) fn slots(&self, steady: UnixMillis) -> Vec<SlotStatus> {
        self.groups.iter().map(|group| group.status(steady)).collect()
    }

    pub(crate) fn add_segment(&mut self, mut segment: SegmentState) {
        if let Some(mark) = self.past.take(segment.key()) {
            segment.was_at(mark);
        }
        if let Some(stopped) = &self.stopped {
            segment.stop(stopped);
        }
        segment.numbers.shared.enlist(&self.wake_list, self.next_segment);
        self.segments.insert(self.next_segment, segment);
        self.next_segment += 1;
    }

    pub(crate) fn add_queue(&mut self, mut queue: CounterQueue) {
        if let Some(mark) = self.past.take(&Key::name(queue.name())) {
            queue.was_at(mark);
        }
        self.queues.insert(queue.name().clone(), queue);
    }

    pub(crate) fn queue(&self, name: &Name) -> Option<&CounterQueue> {
        self.queues.get(name)
    }

    /// Unloads a segment and gives its unminted tail back. Returns whether it did: a segment with waiting callers
    /// stays, and so does one that is stopped for ever.
    pub(crate) fn unload_segment(&mut self, shared: &SharedCursor, clock: &Clock) -> bool {
        let Some(number) = shared.number() else { return false };
        // A caller may have asked since the node stepped last.
        let idle = |segment: &SegmentState| !segment.waits() && !segment.is_stopped() && !shared.is_wanted();
        if self.stopped.is_some() || !self.segments.get(&number).is_some_and(idle) {
            return false;
        }
        if let Some(mut segment) = self.segments.remove(&number) {
            let mark = segment.give_back(&mut self.requests, &clock.look());
            let cause = "the name was unloaded, since nobody used it: define it again".to_owned();
            segment.stop(&Stopped { reason: StopReason::Closed, cause });
            self.past.note(segment.key(), mark);
        }
        true
    }

    /// Unloads a counter or a dated name. Returns whether it did: one with waiting callers stays, and so does one
    /// that is stopped for ever.
    pub(crate) fn unload_queue(&mut self, name: &Name) -> bool {
        let idle = |queue: &CounterQueue| !queue.waits() && !queue.gathers() && queue.stopped().is_none();
        if self.stopped.is_some() || !self.queues.get(name).is_some_and(idle) {
            return false;
        }
        if let Some(queue) = self.queues.remove(name) {
            self.past.note(&Key::name(name), queue.last_end());
        }
        true
    }

    /// Puts a caller in a name's queue, and asks the ledger if it makes sense now. Returns whether it does.
    ///
    /// # Errors
    /// `Stopped`; `Busy` if the queue is full.
    pub(crate) fn enqueue(
        &mut self,
        name: &Name,
        ticket: &Arc<Ticket>,
        clock: &Clock,
    ) -> Result<bool, MintError> {
        if let Some(stopped) = &self.stopped {
            return Err(MintError::Stopped(stopped.clone()));
        }
        let Some(queue) = self.queues.get_mut(name) else {
            let (reason, cause) = (StopReason::Closed, format!("{name} is not served any more"));
            return Err(MintError::Stopped(Stopped { reason, cause }));
        };
        let now_is_the_time = queue.enqueue(ticket)?;
        if now_is_the_time {
            queue.step(&mut self.requests, &clock.look());
        }
        if !self.busy_queues.contains(name) {
            self.busy_queues.insert(name.clone());
        }
        Ok(now_is_the_time)
    }

    /// Why nothing is minted any more, for ever.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.stopped.as_ref().map(|stopped| stopped.cause.as_str())
    }

    /// Does what is due now, by the clock and by the requests of the minting side.
    pub(crate) fn step(&mut self, clock: &Clock) {
        if self.stopped.is_some() {
            return;
        }
        let now = clock.look();
        self.busy_segments.extend(self.wake_list.take());
        if now.stamp.era() != self.era {
            // All discard what they hold.
            self.era = now.stamp.era();
            self.busy_segments.extend(self.segments.keys());
        }
        self.requests.pursue_clock(&now);
        if now.refusal().is_some() && self.groups.iter().any(SlotGroup::is_used) {
            // The ledger's clock may show that this machine's clock is right again.
            self.requests.ask_clock(&now);
        }
        for (index, group) in self.groups.iter_mut().enumerate() {
            group.step(index, &mut self.requests, &now);
        }
        self.busy_segments.retain(|&index| {
            self.segments.get_mut(&index).is_some_and(|segment| {
                segment.step(index, &mut self.requests, &now);
                segment.waits()
            })
        });
        self.busy_queues.retain(|name| {
            self.queues.get_mut(name).is_some_and(|queue| {
                queue.step(&mut self.requests, &now);
                queue.waits()
            })
        });
    }

    /// The next question to the ledger.
    pub(crate) fn poll_call(&mut self) -> Option<Call> {
        self.requests.calls.pop_front()
    }

    /// Takes the answer to a reserve. If it returns a name, the node waits a moment for more callers of that name;
    /// then [`gathered`](Self::gathered) is due.
    pub(crate) fn handle_answer(
        &mut self,
        id: u64,
        answer: Result<Reply, LedgerError>,
        clock: &Clock,
    ) -> Option<Name> {
        let purpose = self.requests.asked.remove(&id)?;
        if !matches!(answer, Err(LedgerError::Unavailable(_))) {
            self.requests.answered();
        }
        if self.stopped.is_some() {
            return None;
        }
        if let Err(LedgerError::Unfit(cause)) = &answer {
            self.stop(&Stopped::ledger(cause));
            return None;
        }
        let now = clock.look();
        match purpose {
            Purpose::SlotGroup(index) => {
                self.groups[index].handle(id, answer, index, &mut self.requests, &now, clock)
            }
            Purpose::SegmentState(index) => {
                self.segments.get_mut(&index)?.handle(id, answer, &mut self.requests, &now);
            }
            Purpose::CounterQueue(name) => {
                let queue = self.queues.get_mut(&name)?;
                queue.handle(id, answer, &mut self.requests, &now);
                return queue.gathers().then_some(name);
            }
            Purpose::Clock | Purpose::GiveBack => {}
        }
        None
    }

    /// Ends the wait for more callers of the name.
    pub(crate) fn gathered(&mut self, name: &Name, clock: &Clock) {
        let queue = self.queues.get_mut(name).filter(|_| self.stopped.is_none());
        if let Some(queue) = queue {
            queue.gathered(&mut self.requests, &clock.look());
        }
    }

    /// Notes that a give-back has ended, well or not, or that a call will not be made any more. There is nothing left
    /// to do in either case.
    pub(crate) fn handle_over(&mut self, id: u64) {
        self.requests.asked.remove(&id);
    }

    /// When to step again at the latest.
    pub(crate) fn deadline(&self, now: &Now) -> Option<MonoMillis> {
        if self.stopped.is_some() {
            return None;
        }
        let groups = self.groups.iter().filter_map(|group| group.deadline(&self.requests.settings, now));
        let segments = self.busy_segments.iter().filter_map(|index| self.segments.get(index)?.deadline());
        let queues = self.busy_queues.iter().filter_map(|name| self.queues.get(name)?.deadline());
        groups.chain(segments).chain(queues).chain(self.requests.clock_deadline()).min()
    }

    /// Uniqueness is at stake: the node mints nothing from here on.
    pub(crate) fn stop(&mut self, stopped: &Stopped) {
        self.stopped.get_or_insert_with(|| stopped.clone());
        self.end(stopped);
    }

    /// Closes every generator, then gives back to the ledger what can no longer be minted (I1). Reservations that
    /// were not asked for yet are dropped.
    pub(crate) fn close(&mut self, clock: &Clock) {
        let unasked = take_reservations(&mut self.requests.calls);
        unasked.iter().for_each(|call| self.handle_over(call.id));
        if self.stopped.is_none() {
            // Looked at now: in a copy of a process, only the original may mint the tails.
            let now = clock.look();
            for group in &mut self.groups {
                group.give_back(&mut self.requests, &now);
            }
            for segment in self.segments.values_mut() {
                segment.give_back(&mut self.requests, &now);
            }
        }
        mutate!(GiveBackBeforeClose => return);
        self.stop(&Stopped::closed());
    }

    /// Whether every question has been answered.
    pub(crate) fn is_drained(&self) -> bool {
        self.requests.calls.is_empty() && self.requests.asked.is_empty()
    }

    fn end(&mut self, stopped: &Stopped) {
        self.groups.iter().for_each(|group| group.stop(stopped));
        self.segments.values().for_each(|segment| segment.stop(stopped));
        self.queues.values_mut().for_each(|queue| queue.stop(stopped));
    }
}

/// Removes the calls that are not made once a floe closes. Give-backs of unloaded names stay.
pub(crate) fn take_reservations(calls: &mut VecDeque<Call>) -> VecDeque<Call> {
    let (given_back, unasked) =
        std::mem::take(calls).into_iter().partition(|call| matches!(call.op, Op::GiveBack { .. }));
    *calls = given_back;
    unasked
}

/// The error for a ledger with a mark below what it has handed out before (I1).
pub(crate) fn went_back(key: &Key, mark: u64, held: u64) -> String {
    format!(
        "the ledger went backwards: the mark of {} was {mark}, and this process holds a range up to {held}. It was restored from an older backup, or it lost writes that it had confirmed. Minting on would repeat IDs: raise the marks above every ID in use (`floe marks raise`), then start again. (If only this machine was restored from a snapshot, starting again is enough.)",
        key.subject()
    )
}
