//! A fleet that tests drive: a store that a test makes slow, silent or forgetful, and one clock.

use std::collections::{BTreeMap, VecDeque};

use floe::MonoMillis;

use super::manual_host::ManualHost;
use floe_sim::model::{Life, Machine, Model, Note, Silence, Verdict};

/// A node of the fleet.
struct Node<M: Model> {
    process: M::Process,
    alarm: Option<MonoMillis>,
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

/// A fleet under test: processes of one model that share a clock, a store and the host that they run on.
pub(crate) struct ManualFleet<M: Model> {
    pub(crate) host: ManualHost<M>,
    nodes: Vec<Node<M>>,
    requests: VecDeque<Sent<M>>,
    verdicts: BTreeMap<u64, Verdict>,
    /// How many of the next answers arrive only after the timeout.
    pub(crate) lose_replies: usize,
    /// Whether each request is executed, and answered, twice.
    pub(crate) double: bool,
    /// The ranges that were held, in order.
    pub(crate) held: Vec<(u64, u64)>,
}

impl<M: Model> ManualFleet<M> {
    /// A fleet whose nodes have just started.
    pub(crate) fn new(model: M, nodes: usize) -> Self {
        let mut fleet = Self {
            host: ManualHost::new(model),
            nodes: Vec::new(),
            requests: VecDeque::new(),
            verdicts: BTreeMap::new(),
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
        let last_request = self.host.outbox.last_request;
        self.host.become_node(node);
        let process = if store_in_reach { self.host.start() } else { self.host.start_alone() };
        // No process may get the answer to another request of its own.
        self.host.outbox.last_request += last_request;
        self.nodes.push(Node { process, alarm: None });
        self.collect(node);
    }

    /// A caller asks. [`outcome`](Self::outcome) returns the verdict.
    pub(crate) fn ask(&mut self, node: usize, count: u64) -> u64 {
        let ask = self.host.ask(count);
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
            self.pass(next.expect("nobody is going to answer").since(self.host.now.mono));
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
        self.host.pass(millis);
        let now = self.host.now.mono;
        for node in 0..self.nodes.len() {
            if self.nodes[node].alarm.take_if(|at| *at <= now).is_some() {
                self.call(node, |model, process, machine| model.wake(process, machine));
            }
        }
    }

    /// A backup of the store.
    pub(crate) fn copy(&self) -> M::Store {
        self.host.model.copy(&self.host.store)
    }

    /// The store is put back.
    pub(crate) fn forget(&mut self, copy: &M::Store) {
        self.host.model.forget(&mut self.host.store, copy);
    }

    /// The store loses a record.
    pub(crate) fn delete_record(&mut self) -> Option<String> {
        self.host.model.delete_record(&mut self.host.store, &mut self.host.random)
    }

    fn execute(&mut self, sent: &Sent<M>) -> Done<M> {
        self.host.life = life(sent.node);
        Done { node: sent.node, number: sent.number, reply: self.host.execute(&sent.request) }
    }

    fn answer(&mut self, node: usize, number: u64, answer: Result<M::Reply, Silence>) {
        self.call(node, |model, process, machine| model.answer(process, number, answer, machine));
    }

    fn call<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut M, &mut M::Process, &mut Machine<'_, M>) -> T,
    ) -> T {
        self.host.life = life(node);
        let (model, _, mut machine) = self.host.split();
        let result = act(model, &mut self.nodes[node].process, &mut machine);
        self.collect(node);
        result
    }

    /// Takes what a node wants out of the host's outbox.
    fn collect(&mut self, node: usize) {
        let outbox = &mut self.host.outbox;
        self.nodes[node].alarm = outbox.wake.take().or(self.nodes[node].alarm);
        self.verdicts.extend(outbox.delivered.drain(..));
        self.requests.extend(outbox.requests.drain(..).map(|(number, request)| Sent {
            node,
            number,
            request,
        }));
        for note in outbox.notes.drain(..) {
            if let Note::Holds { start, end, .. } = note {
                self.held.push((start, end));
            }
        }
    }
}

fn life(node: usize) -> Life {
    Life { node, number: 1, host: node }
}
