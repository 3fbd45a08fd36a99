//! The course of a run: one heap of events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use floe::ledger::{Key, Memory, Reply, Reserve};
use floe::manual::{Call, Manual, Op};
use floe::{Ledger, LedgerError};

use super::count::{Peaks, Seconds, Spread, wide};
use super::node::{Clock, Minted, Node};
use super::{Figures, Outage, Plan, PlanError};
use crate::model::Micros;
use crate::random::Random;

/// A message takes at least this long, one way.
const LEAST_TRIP: Micros = 500;
const MOST_TRIP: Micros = 2_000;
/// A node gives up on an unanswered call after this time, as the adapters do.
const GIVEN_UP: Micros = 5_000_000;
/// An ended process starts again after this time.
const BACK_IN: Micros = 1_000_000;
const QUIET_MS: u64 = 10_000;

/// When restarts begin, in microseconds.
const STARTED_BY: Micros = 1_000_000;

enum Event {
    /// A node's alarm. It is stale if the alarm has since been set to another time.
    Wake {
        node: usize,
    },
    /// A call reaches the ledger and takes effect.
    Effect {
        node: usize,
        life: u32,
        call: Box<Call>,
    },
    /// Its answer reaches the node.
    Answer {
        node: usize,
        life: u32,
        id: u64,
        answer: Box<Result<Reply, LedgerError>>,
    },
    /// A call to give back has ended.
    Over {
        node: usize,
        life: u32,
        id: u64,
    },
    Start {
        node: usize,
    },
    Kill,
    Stop,
    Sample,
    Gone,
    Returned,
}

/// An event and its time. Of events at the same time, the one that was planned first comes first.
struct Due(Reverse<(Micros, u64)>, Event);

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// See the module.
pub(super) struct Course<'a> {
    plan: &'a Plan,
    heap: BinaryHeap<Due>,
    planned: u64,
    /// The visits of callers who want IDs: when, and to which life of which node. The interval is the same for all, so
    /// the next visits stand at the front.
    visits: VecDeque<(Micros, usize, u32)>,
    now: Micros,
    clock: Clock,
    random: Random,
    memory: Memory,
    gone: bool,
    /// When a ledger with a rate has served all calls that reached it.
    served_until: Micros,
    nodes: Vec<Option<Node>>,
    lives: Vec<u32>,
    /// How many nodes do not mint, including those that are down.
    dry: usize,
    /// The marks of the slots.
    marks: Vec<u64>,
    writes: Seconds,
    calls: Seconds,
    slots: Peaks,
    recent: Peaks,
    probes_at_start: Spread,
    probes: Spread,
    slots_out: u64,
    minted: u64,
    all_mint: Option<Micros>,
    /// When the ledger returned with how many dry nodes, and when all minted again.
    returned: Option<(Micros, usize)>,
    all_mint_again: Option<Micros>,
    moved: u64,
}

impl<'a> Course<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let slots = usize::try_from(plan.layout.workers()).unwrap_or(0);
        Self {
            plan,
            heap: BinaryHeap::new(),
            planned: 0,
            visits: VecDeque::new(),
            now: 0,
            clock: Clock::default(),
            random: Random::new(plan.seed),
            memory: Memory::default(),
            gone: false,
            served_until: 0,
            nodes: std::iter::repeat_with(|| None).take(plan.nodes).collect(),
            lives: vec![0; plan.nodes],
            dry: plan.nodes,
            marks: vec![0; slots],
            writes: Seconds::default(),
            calls: Seconds::default(),
            slots: Peaks::default(),
            recent: Peaks::default(),
            probes_at_start: Spread::default(),
            probes: Spread::default(),
            slots_out: 0,
            minted: 0,
            all_mint: None,
            returned: None,
            all_mint_again: None,
            moved: 0,
        }
    }

    pub(super) fn run(mut self) -> Result<Figures, PlanError> {
        (0..self.plan.nodes).for_each(|node| self.plan_at(0, Event::Start { node }));
        let every = self.visit_every();
        let visits =
            (0..self.plan.nodes).map(|node| (every * wide(node + 1) / wide(self.plan.nodes), node, 0));
        self.visits = visits.collect();
        let plan = self.plan;
        for (per_minute, event) in
            [(plan.kills_per_minute, Event::Kill), (plan.stops_per_minute, Event::Stop)]
        {
            if let Some(every) = Micros::checked_div(60_000_000, per_minute) {
                // Only after all nodes of the first second have started.
                self.plan_at(STARTED_BY + every, event);
            }
        }
        let restarts_end = micros(plan.settled_ms() + plan.measured_ms());
        self.plan_at(micros(plan.settled_ms()), Event::Sample);
        if plan.outage_ms > 0 {
            self.plan_at(restarts_end, Event::Gone);
            self.plan_at(restarts_end + micros(plan.outage_ms), Event::Returned);
        }
        let patience = restarts_end + micros(plan.outage_ms + (4 * plan.window_ms).max(600_000));
        while let Some(at) = self.next_time() {
            let end = match self.all_mint_again {
                _ if plan.outage_ms == 0 => restarts_end,
                Some(all_mint) => all_mint + micros(plan.window_ms),
                None => patience,
            };
            if at >= end {
                self.now = end;
                break;
            }
            self.now = at;
            self.clock.set(at / 1_000);
            if let Some((_, node, life)) = self.visits.front().copied().filter(|visit| visit.0 == at) {
                self.visits.pop_front();
                self.visit(node, life);
            } else if let Some(Due(_, event)) = self.heap.pop() {
                self.happen(event, restarts_end);
            }
        }
        Ok(self.figures(restarts_end))
    }

    fn figures(self, measured_end: Micros) -> Figures {
        let (from, to) = (self.plan.settled_ms(), measured_end / 1_000);
        let after = |since: Micros| move |at: Micros| Duration::from_micros(at - since);
        let outage = self.returned.map(|(returned, dry)| Outage {
            dry: wide(dry),
            calls: self.calls.between(to, returned / 1_000).peak,
            writes: self.writes.between(returned / 1_000, self.now / 1_000).peak,
            until_all_mint: self.all_mint_again.map(after(returned)),
            moved: self.moved,
        });
        Figures {
            writes: self.writes.between(from, to),
            calls: self.calls.between(from, to),
            writes_at_start: self.writes.between(0, from).peak,
            slots: self.slots,
            recent: self.recent,
            probes: self.probes,
            probes_at_start: self.probes_at_start,
            start: self.all_mint.map(after(0)),
            outage,
            slots_out: self.slots_out,
            minted: self.minted,
            lasted: Duration::from_micros(self.now),
        }
    }

    fn next_time(&self) -> Option<Micros> {
        let event = self.heap.peek().map(|due| due.0.0.0);
        let visit = self.visits.front().map(|visit| visit.0);
        event.into_iter().chain(visit).min()
    }

    fn plan_at(&mut self, at: Micros, event: Event) {
        self.planned += 1;
        self.heap.push(Due(Reverse((at, self.planned)), event));
    }

    fn now_ms(&self) -> u64 {
        self.now / 1_000
    }

    fn happen(&mut self, event: Event, restarts_end: Micros) {
        match event {
            Event::Wake { node } => {
                let due = |it: &Node| it.wake_ms.is_some_and(|at| micros(at) <= self.now);
                if self.nodes[node].as_ref().is_some_and(due) {
                    self.turn(node);
                }
            }
            Event::Effect { node, life, call } => self.effect(node, life, *call),
            Event::Answer { node, life, id, answer } => self.answer(node, life, id, *answer),
            Event::Over { node, life, id } => {
                if let Some(it) = self.nodes[node].as_ref().filter(|_| self.lives[node] == life) {
                    it.over(id);
                }
            }
            Event::Start { node } => self.start(node),
            Event::Kill if self.now < restarts_end => {
                self.plan_at(self.now + 60_000_000 / self.plan.kills_per_minute, Event::Kill);
                self.end_one(false);
            }
            Event::Stop if self.now < restarts_end => {
                self.plan_at(self.now + 60_000_000 / self.plan.stops_per_minute, Event::Stop);
                self.end_one(true);
            }
            Event::Kill | Event::Stop => {}
            Event::Sample if self.now < restarts_end => {
                self.sample();
                let next = (self.plan.window_ms / 16).max(1_000);
                self.plan_at(self.now + micros(next), Event::Sample);
            }
            Event::Sample => {}
            Event::Gone => self.gone = true,
            Event::Returned => {
                self.gone = false;
                // A caller asks each node, so that it is known which ones have run dry.
                (0..self.plan.nodes).for_each(|node| self.mint(node));
                self.returned = Some((self.now, self.dry));
                if self.dry == 0 {
                    self.all_mint_again = Some(self.now);
                }
            }
        }
    }

    fn start(&mut self, node: usize) {
        let number = self.lives[node];
        let random = self.random.fork((wide(node) << 32) + u64::from(number));
        let pid = u32::try_from(node).unwrap_or(u32::MAX);
        match Node::start(self.plan, pid, &self.memory, !self.gone, &self.clock, random) {
            Ok(started) => {
                self.nodes[node] = Some(started);
                self.turn(node);
                if number > 0 {
                    self.visits.push_back((self.now + self.visit_every(), node, number));
                }
            }
            // A supervisor starts it again.
            Err(_) => self.plan_at(self.now + BACK_IN, Event::Start { node }),
        }
    }

    /// Ends a process: any one that is running.
    fn end_one(&mut self, in_order: bool) {
        let count = self.plan.nodes;
        let first = usize::try_from(self.random.below(wide(count))).unwrap_or(0);
        let up = (0..count).map(|step| (first + step) % count).find(|&node| self.nodes[node].is_some());
        let Some(node) = up else { return };
        let Some(mut ended) = self.nodes[node].take() else { return };
        if in_order {
            let calls = ended.close();
            calls.into_iter().for_each(|call| self.send(node, call));
        }
        self.dry += usize::from(ended.mints);
        self.lives[node] += 1;
        self.plan_at(self.now + BACK_IN, Event::Start { node });
    }

    fn visit_every(&self) -> Micros {
        micros((self.plan.window_ms / 4).max(1_000))
    }

    /// A caller asks a node for IDs.
    fn visit(&mut self, node: usize, life: u32) {
        let (now_ms, per_second) = (self.now_ms(), self.plan.numbers_per_second);
        let Some(it) = self.nodes[node].as_mut().filter(|_| self.lives[node] == life) else { return };
        it.take_numbers(now_ms, per_second);
        self.mint(node);
        if self.nodes[node].as_ref().is_some_and(Node::is_called) {
            self.turn(node);
        }
        self.visits.push_back((self.now + self.visit_every(), node, life));
    }

    fn mint(&mut self, node: usize) {
        let Some(it) = &mut self.nodes[node] else { return };
        let minted = it.mint();
        self.slots_out += u64::from(minted == Minted::SlotsOut);
        self.minted += u64::from(minted == Minted::Id);
        let mints = minted == Minted::Id;
        let before = std::mem::replace(&mut it.mints, mints);
        self.dry = self.dry + usize::from(before) - usize::from(mints);
        if self.dry == 0 {
            self.all_mint.get_or_insert(self.now);
            if self.returned.is_some() {
                self.all_mint_again.get_or_insert(self.now);
            }
        }
    }

    fn turn(&mut self, node: usize) {
        let Some(it) = &mut self.nodes[node] else { return };
        let before = it.wake_ms;
        let mut calls = it.turn();
        // This ledger has no clock, and says so at once. The question is not a write, and a node asks it once at its
        // start and then at most every five minutes.
        while let Some(at) = calls.iter().position(|call| call.op == Op::Clock) {
            calls.remove(at).into_iter().for_each(|call| it.answer_clock(call.id, Ok(None)));
            calls.extend(it.turn());
        }
        let after = it.wake_ms;
        calls.into_iter().for_each(|call| self.send(node, call));
        // An alarm set for the same time is still in the heap, unless it has just fired.
        if let Some(at) = after.filter(|_| after != before || before.is_some_and(|at| at <= self.now_ms())) {
            self.plan_at(micros(at).max(self.now), Event::Wake { node });
        }
    }

    /// A call leaves its node. A ledger with a rate serves one call after the other, and skips calls that it could not
    /// answer in time.
    fn send(&mut self, node: usize, call: Call) {
        let life = self.lives[node];
        let arrives = self.now + self.trip();
        let Some(rate) = self.plan.ledger_rate else {
            return self.plan_at(arrives, Event::Effect { node, life, call: Box::new(call) });
        };
        let served = arrives.max(self.served_until) + 1_000_000 / rate;
        if served <= self.now + GIVEN_UP {
            self.served_until = served;
            return self.plan_at(served, Event::Effect { node, life, call: Box::new(call) });
        }
        let at = self.now + GIVEN_UP;
        match call.op {
            Op::Reserve(_) | Op::Count(_) => {
                self.plan_at(at, Event::Answer { node, life, id: call.id, answer: Box::new(Err(busy())) });
            }
            Op::Clock => {}
            Op::GiveBack { .. } => self.plan_at(at, Event::Over { node, life, id: call.id }),
        }
    }

    fn trip(&mut self) -> Micros {
        self.random.between(LEAST_TRIP, MOST_TRIP)
    }

    fn effect(&mut self, node: usize, life: u32, call: Call) {
        let now_ms = self.now_ms();
        self.calls.add(now_ms);
        let back = self.now + self.trip();
        match &call.op {
            Op::Reserve(request) | Op::Count(request) => {
                let answer = if self.gone {
                    Err(LedgerError::Unavailable("the simulated ledger is out of reach".to_owned()))
                } else {
                    self.memory.reserve(request).and_then(|reply| Manual::check(reply, &call))
                };
                self.note(node, life, request, &answer);
                self.plan_at(back, Event::Answer { node, life, id: call.id, answer: Box::new(answer) });
            }
            Op::Clock => {}
            Op::GiveBack { key, token, from } => {
                if !self.gone && self.memory.give_back(key, *token, *from) == Ok(true) {
                    self.writes.add(now_ms);
                    self.mark(key, *from);
                }
                self.plan_at(back, Event::Over { node, life, id: call.id });
            }
        }
    }

    /// Counts what the ledger did.
    fn note(&mut self, node: usize, life: u32, request: &Reserve, answer: &Result<Reply, LedgerError>) {
        if let Ok(Reply::Got { end, .. }) = answer {
            self.writes.add(self.now_ms());
            self.mark(&request.key, *end);
        }
        // A node that takes a slot leaves a note; one that renews a slot does not.
        let Some(it) = self.nodes[node].as_mut().filter(|_| self.lives[node] == life) else { return };
        if request.note.is_none() || answer.is_err() {
            return;
        }
        it.probes += 1;
        if matches!(answer, Ok(Reply::Got { .. })) {
            let probes = std::mem::take(&mut it.probes);
            self.moved += u64::from(self.returned.is_some());
            match self.all_mint {
                None => self.probes_at_start.add(probes),
                Some(_) => self.probes.add(probes),
            }
        }
    }

    fn mark(&mut self, key: &Key, mark: u64) {
        let worker = Key::parse_slot(key.as_str()).and_then(|(_, worker)| usize::try_from(worker).ok());
        if let Some(slot) = worker.and_then(|worker| self.marks.get_mut(worker)) {
            *slot = mark;
        }
    }

    fn answer(&mut self, node: usize, life: u32, id: u64, answer: Result<Reply, LedgerError>) {
        let Some(it) = self.nodes[node].as_ref().filter(|_| self.lives[node] == life) else { return };
        let got = matches!(answer, Ok(Reply::Got { .. }));
        let waits = !it.mints;
        it.answer(id, answer);
        if got && waits {
            // A caller that waited there mints at once.
            self.mint(node);
        }
        self.turn(node);
    }

    fn sample(&mut self) {
        let now = Clock::mark(self.now_ms());
        let quiet = now.saturating_sub(self.plan.window_ms + QUIET_MS);
        let (mut taken, mut recent) = (0, 0);
        for &mark in &self.marks {
            taken += u64::from(mark > now);
            recent += u64::from(mark > quiet);
        }
        self.slots.add(taken);
        self.recent.add(recent);
    }
}

fn micros(ms: u64) -> Micros {
    ms * 1_000
}

fn busy() -> LedgerError {
    LedgerError::Unavailable("the ledger is busy".to_owned())
}
