//! A fleet that tests drive: a store that a test makes slow, silent or forgetful, and one clock.

use std::collections::{BTreeMap, VecDeque};

use floe::{MonoMillis, Reading, UnixMillis};

use floe_sim::model::{Ask, Fleet, Life, Machine, Model, Note, Outbox, Setup, Silence, Verdict};
use floe_sim::random::Random;

/// A node of the fleet.
struct Node<M: Model> {
    process: M::Process,
    disk: M::Disk,
    alarm: Option<MonoMillis>,
    last_request: u64,
}

/// A request on its way to the store.
struct Sent<M: Model> {
    node: usize,
    number: u64,
    request: M::Request,
}

/// A request that the store has executed. Its answer is still on its way.
pub(crate) struct Done<M: Model> {
    node: usize,
    number: u64,
    reply: M::Reply,
}

impl<M: Model> Done<M> {
    /// The store's answer.
    pub(crate) fn reply(&self) -> &M::Reply {
        &self.reply
    }
}

/// A fleet under test.
pub(crate) struct ManualFleet<M: Model> {
    model: M,
    store: M::Store,
    nodes: Vec<Node<M>>,
    requests: VecDeque<Sent<M>>,
    asks: u64,
    verdicts: BTreeMap<u64, Verdict>,
    random: Random,
    /// Milliseconds since the test began.
    pub(crate) now: u64,
    /// How many of the next answers arrive only after the timeout.
    pub(crate) lose_replies: usize,
    /// Whether each request is executed, and answered, twice.
    pub(crate) double: bool,
    /// The ranges that were held, in order.
    pub(crate) held: Vec<(u64, u64)>,
}

const SETUP: Setup = Setup { worker: 0, fixed: false, window_ms: 0, odd: false };

impl<M: Model> ManualFleet<M> {
    /// A fleet whose nodes have just started.
    pub(crate) fn new(mut model: M, nodes: usize) -> Self {
        let store = model.store(&Fleet { nodes, worker_bits: 10, keep: true, store_clock: None, few: false });
        let mut fleet = Self {
            model,
            store,
            nodes: Vec::new(),
            requests: VecDeque::new(),
            asks: 0,
            verdicts: BTreeMap::new(),
            random: Random::new(0),
            now: 0,
            lose_replies: 0,
            double: false,
            held: Vec::new(),
        };
        for _ in 0..nodes {
            fleet.start(true);
        }
        fleet
    }

    /// One more node starts.
    pub(crate) fn start(&mut self, store_in_reach: bool) {
        let node = self.nodes.len();
        let mut disk = M::Disk::default();
        let mut outbox = empty(0);
        let mut machine = Machine {
            now: reading(self.now),
            life: life(node),
            disk: &mut disk,
            random: &mut self.random,
            outbox: &mut outbox,
            ran: 0,
            at: self.now * 1000,
        };
        let store = store_in_reach.then_some(&mut self.store);
        let process = self.model.start(&SETUP, store, &mut machine);
        self.nodes.push(Node { process, disk, alarm: None, last_request: 0 });
        self.collect(node, outbox);
    }

    /// A caller asks. [`outcome`](Self::outcome) returns the verdict.
    pub(crate) fn ask(&mut self, node: usize, count: u64) -> u64 {
        let ask = Ask { id: self.asks, name: 0, count, asked_at: self.now * 1000 };
        self.asks += 1;
        let verdict = self.call(node, |model, process, machine| model.mint(process, &ask, machine));
        if verdict != Verdict::Later {
            self.verdicts.insert(ask.id, verdict);
        }
        ask.id
    }

    /// The verdict on an ask, after the store and the clock have done their part.
    pub(crate) fn outcome(&mut self, ask: u64) -> Verdict {
        loop {
            self.run();
            if let Some(verdict) = self.verdicts.remove(&ask) {
                return verdict;
            }
            let next = self.nodes.iter().filter_map(|node| node.alarm).min();
            self.pass(next.expect("nobody is going to answer").get() - self.now);
        }
    }

    /// Whether an ask already has its verdict.
    pub(crate) fn is_answered(&self, ask: u64) -> bool {
        self.verdicts.contains_key(&ask)
    }

    /// One ID.
    pub(crate) fn minted(&mut self, node: usize) -> u128 {
        self.batch(node, 1)[0]
    }

    /// This many IDs in one call.
    pub(crate) fn batch(&mut self, node: usize, count: u64) -> Vec<u128> {
        let ask = self.ask(node, count);
        match self.outcome(ask) {
            Verdict::Minted(ids) => ids,
            other => panic!("{other:?}"),
        }
    }

    /// An error.
    pub(crate) fn refused(&mut self, node: usize) -> String {
        let ask = self.ask(node, 1);
        match self.outcome(ask) {
            Verdict::Refused(words) => words,
            other => panic!("{other:?}"),
        }
    }

    /// The store serves all requests, and those that its answers cause.
    pub(crate) fn run(&mut self) {
        while let Some(sent) = self.requests.pop_front() {
            let mut done = vec![self.execute(&sent)];
            if self.double {
                done.push(self.execute(&sent));
            }
            if self.lose_replies > 0 {
                self.lose_replies -= 1;
                self.answer(sent.node, sent.number, Err(Silence));
            }
            for done in done {
                self.arrive(done);
            }
        }
    }

    /// The store serves the oldest request. Its answer arrives when the test calls for it.
    pub(crate) fn serve(&mut self) -> Done<M> {
        let sent = self.requests.pop_front().expect("a request");
        self.execute(&sent)
    }

    /// The oldest request is lost.
    pub(crate) fn lose(&mut self) {
        let sent = self.requests.pop_front().expect("a request");
        self.answer(sent.node, sent.number, Err(Silence));
    }

    /// An answer arrives.
    pub(crate) fn arrive(&mut self, done: Done<M>) {
        self.answer(done.node, done.number, Ok(done.reply));
    }

    /// Time passes, and alarms fire.
    pub(crate) fn pass(&mut self, millis: u64) {
        self.now += millis;
        for node in 0..self.nodes.len() {
            if self.nodes[node].alarm.take_if(|at| at.get() <= self.now).is_some() {
                self.call(node, |model, process, machine| model.wake(process, machine));
            }
        }
    }

    /// A backup of the store.
    pub(crate) fn copy(&self) -> M::Store {
        self.model.copy(&self.store)
    }

    /// The store is put back.
    pub(crate) fn forget(&mut self, copy: &M::Store) {
        self.model.forget(&mut self.store, copy);
    }

    /// The store dies, and starts again at once.
    pub(crate) fn crash_store(&mut self) {
        let now = self.now * 1000;
        self.model.store_dies(&mut self.store, now);
        self.model.store_starts(&mut self.store, now);
    }

    /// The store loses a record.
    pub(crate) fn delete_record(&mut self) -> Option<String> {
        self.model.delete_record(&mut self.store, &mut self.random)
    }

    fn execute(&mut self, sent: &Sent<M>) -> Done<M> {
        let reply = self.model.execute(&mut self.store, life(sent.node), &sent.request, self.now * 1000);
        Done { node: sent.node, number: sent.number, reply }
    }

    fn answer(&mut self, node: usize, number: u64, answer: Result<M::Reply, Silence>) {
        self.call(node, |model, process, machine| model.answer(process, number, answer, machine));
    }

    fn call<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut M, &mut M::Process, &mut Machine<'_, M>) -> T,
    ) -> T {
        let Node { process, disk, last_request, .. } = &mut self.nodes[node];
        let mut outbox = empty(*last_request);
        let mut machine = Machine {
            now: reading(self.now),
            life: life(node),
            disk,
            random: &mut self.random,
            outbox: &mut outbox,
            ran: 0,
            at: self.now * 1000,
        };
        let result = act(&mut self.model, process, &mut machine);
        self.collect(node, outbox);
        result
    }

    fn collect(&mut self, node: usize, outbox: Outbox<M::Request>) {
        self.nodes[node].last_request = outbox.last_request;
        if outbox.wake.is_some() {
            self.nodes[node].alarm = outbox.wake;
        }
        self.verdicts.extend(outbox.delivered);
        for (number, request) in outbox.requests {
            self.requests.push_back(Sent { node, number, request });
        }
        for note in outbox.notes {
            if let Note::Holds { start, end, .. } = note {
                self.held.push((start, end));
            }
        }
    }
}

fn empty<R>(last_request: u64) -> Outbox<R> {
    Outbox { last_request, ..Outbox::new(true) }
}

fn life(node: usize) -> Life {
    Life { node, number: 0, host: node }
}

fn reading(now: u64) -> Reading {
    let wall = UnixMillis::new(1_700_000_000_000 + i64::try_from(now).expect("a short test"));
    Reading { wall, mono: MonoMillis::new(now) }
}
