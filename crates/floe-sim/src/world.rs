//! The world: a heap of events over machines with clocks, processes that start and end, and a store behind a network.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use floe::{MonoMillis, Reading};

use crate::history::{Event as Told, Happened, History, Mint, STOPPED, Violation, Wrong, rank};
use crate::host::Host;
use crate::model::{Ask, Life, Machine, Micros, Model, Order, Outbox, Setup, Silence, Verdict};
use crate::random::Random;
use crate::scenario::{Fault, Moment, SECOND, Scenario, What};

/// A client gives up on a request after this time without a reply.
const TIMEOUT: Micros = SECOND;
/// A caller counts as unanswered after this time.
const PATIENCE: Micros = SECOND;
/// This many calls come in quick succession to a process that has just started, and to one that is about to crash.
const BUSY: u64 = 40;
/// How long such a burst takes.
const LOADED: Micros = 40_000;
/// How much longer than its patience a caller may wait, for a process to be scheduled.
const SLACK: Micros = SECOND / 4;
/// If a restored machine's wall clock moved by this much against its memory, the machine must notice.
const NOTICED_MS: i64 = 1_500;
/// A supervisor starts a process that gave up again after this time.
const RESTART: Micros = 2 * SECOND;

/// How a history is run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Mode {
    /// Whether all events are kept, for a story or a picture, and not only the mints.
    pub noting: bool,
    /// Whether the history ends at the first violation.
    pub until_wrong: bool,
    /// The only kind of violation that counts, if a story is to show it.
    pub only: Option<Wrong>,
}

pub(crate) struct World<'a, M: Model> {
    model: &'a mut M,
    scenario: &'a Scenario,
    history: &'a mut History,
    store: M::Store,
    down: bool,
    /// Copies that the store will be put back to, with the index of the fault.
    copies: Vec<(usize, M::Store)>,
    now: Micros,
    heap: BinaryHeap<Reverse<Entry<M>>>,
    scheduled: u64,
    hosts: Vec<Host>,
    /// Each node's disk on each host.
    disks: BTreeMap<(usize, usize), M::Disk>,
    /// When each host's sleep ends; 0 while it is awake.
    asleep: Vec<Micros>,
    nodes: Vec<Node<M>>,
    asks: Vec<Asked>,
    outbox: Outbox<M::Request>,
    network: Random,
    load: Random,
}

/// A node: its configuration, and its current process if one runs.
struct Node<M: Model> {
    setup: Setup,
    process: Option<M::Process>,
    life: Life,
    random: Random,
    last_request: u64,
    /// Requests without an answer.
    open: Vec<u64>,
    alarm: Option<(MonoMillis, u64)>,
    /// The faults that stop it at present.
    pauses: Vec<usize>,
    paused_since: Micros,
    paused: Micros,
    /// The events that arrived while it stood still.
    backlog: Vec<Event<M>>,
    cut: u32,
    slow: Option<Micros>,
    lossy: bool,
    crash: Option<Crash>,
    /// How far its monotonic clock is behind its host's, after a restore from a snapshot.
    lag_ms: u64,
    snapshot: Option<(M::Process, Vec<u64>, Reading)>,
    /// The largest ID that this life handed out under each name.
    top: Vec<Option<i128>>,
}

#[derive(Clone, Copy)]
struct Crash {
    moment: Moment,
    back_in: Micros,
    elsewhere: bool,
    times: u32,
}

/// An ask that has been made.
struct Asked {
    ask: Ask,
    life: Life,
    /// The answer must be larger than this.
    above: Option<i128>,
    /// How long its node had been paused by then.
    paused: Micros,
    open: bool,
}

enum Event<M: Model> {
    Start {
        node: usize,
        host: usize,
    },
    Crash {
        node: usize,
        life: Life,
        crash: Crash,
    },
    Load {
        node: usize,
    },
    Burst {
        node: usize,
        left: u64,
        /// All under one name, or each under any name.
        name: Option<usize>,
    },
    Storm,
    Ask {
        ask: u64,
    },
    Again {
        ask: u64,
    },
    /// A caller gives up.
    Leave {
        ask: u64,
    },
    Invalidate {
        node: usize,
    },
    Alarm {
        node: usize,
        number: u64,
    },
    /// Boxed, like replies, because the heap moves its entries.
    Request {
        life: Life,
        number: u64,
        request: Box<M::Request>,
        sent: Micros,
        back: Option<Micros>,
    },
    Reply {
        life: Life,
        number: u64,
        reply: Result<Box<M::Reply>, Silence>,
    },
    Exit {
        life: Life,
        back_in: Micros,
        elsewhere: bool,
    },
    Fault(usize),
    Over(usize),
    Heal,
}

struct Entry<M: Model> {
    at: Micros,
    number: u64,
    event: Event<M>,
}

impl<M: Model> PartialEq for Entry<M> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl<M: Model> Eq for Entry<M> {}
impl<M: Model> PartialOrd for Entry<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<M: Model> Ord for Entry<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<'a, M: Model> World<'a, M> {
    pub(crate) fn new(
        model: &'a mut M,
        scenario: &'a Scenario,
        history: &'a mut History,
        mode: Mode,
    ) -> Self {
        let store = model.store(&scenario.fleet);
        history.clear(model.names());
        history.only = mode.only;
        let random = Random::new(scenario.seed);
        let hosts: Vec<_> = scenario
            .clocks
            .iter()
            .map(|&(skew_ms, drift)| Host::new(scenario.begin_ms, skew_ms, drift))
            .collect();
        let mut world = Self {
            asleep: vec![0; hosts.len()],
            disks: BTreeMap::new(),
            hosts,
            nodes: Vec::new(),
            asks: Vec::new(),
            outbox: Outbox::new(mode.noting),
            network: random.fork(2),
            load: random.fork(3),
            heap: BinaryHeap::new(),
            copies: Vec::new(),
            model,
            scenario,
            history,
            store,
            down: false,
            now: 0,
            scheduled: 0,
        };
        let names = world.model.names().len();
        for (node, setup) in scenario.setups.iter().enumerate() {
            let node = Node::new(node, setup.clone(), &random, names);
            world.nodes.push(node);
        }
        for (node, start) in scenario.starts.iter().enumerate() {
            if let &Some(at) = start {
                world.schedule(at, Event::Start { node, host: node });
                world.schedule(at, Event::Load { node });
            }
        }
        for (index, fault) in scenario.faults.iter().enumerate() {
            world.schedule(fault.at, Event::Fault(index));
            // These faults hit while calls are under way.
            let (node, before) = match fault.what {
                What::Crash { node, .. } => (node, LOADED),
                What::Stop { node, .. } => (node, LOADED / 2),
                _ => continue,
            };
            // A separate stream, so that a later fault changes nothing before it.
            let mut load = random.fork(fault.at);
            let name = load.chance(500).then(|| place(load.below(number(names))));
            let at = fault.at.saturating_sub(before);
            world.schedule(at, Event::Burst { node, left: BUSY, name });
        }
        world.schedule(SECOND, Event::Storm);
        world.schedule(scenario.heal, Event::Heal);
        world
    }

    /// Runs to the end, or to the first violation if `until_wrong` is set.
    pub(crate) fn run(&mut self, until_wrong: bool) {
        while let Some(Reverse(Entry { at, event, .. })) = self.heap.pop() {
            let wrong = until_wrong && !self.history.violations.is_empty();
            if at > self.scenario.until || wrong {
                break;
            }
            self.now = at;
            self.handle(event);
        }
        if !until_wrong || self.history.violations.is_empty() {
            self.now = self.scenario.until;
        }
        self.count_unanswered();
        if self.outbox.noting {
            let read = self.history.mints.iter().map(|mint| self.model.read(mint.name, mint.id));
            self.history.parts = read.collect();
        }
    }

    fn count_unanswered(&mut self) {
        for index in 0..self.asks.len() {
            let Asked { ask, life, open, .. } = self.asks[index];
            if open && self.now >= ask.asked_at + PATIENCE {
                self.history.counts.unanswered += 1;
                if self.nodes[life.node].life == life && self.nodes[life.node].process.is_some() {
                    self.check_patience(index);
                }
            }
        }
    }

    fn schedule(&mut self, at: Micros, event: Event<M>) {
        self.scheduled += 1;
        self.heap.push(Reverse(Entry { at, number: self.scheduled, event }));
    }

    fn handle(&mut self, event: Event<M>) {
        let node = match &event {
            Event::Alarm { node, .. } => Some(*node),
            Event::Invalidate { node } => Some(*node),
            Event::Ask { ask } | Event::Again { ask } | Event::Leave { ask } => {
                Some(self.asks[place(*ask)].life.node)
            }
            Event::Reply { life, .. } | Event::Exit { life, .. } => Some(life.node),
            _ => None,
        };
        if let Some(node) = node.map(|node| &mut self.nodes[node]).filter(|node| !node.pauses.is_empty()) {
            return node.backlog.push(event);
        }
        match event {
            Event::Start { node, host } => self.start(node, host),
            Event::Crash { node, life, crash } => {
                if self.nodes[node].life == life && self.nodes[node].process.is_some() {
                    self.crash(node, crash, "killed (SIGKILL)");
                }
            }
            Event::Load { node } => self.some_load(node),
            Event::Burst { node, left, name } => {
                self.ask(node, name);
                if left > 0 {
                    let at = self.now + self.load.below(2 * LOADED / BUSY);
                    self.schedule(at, Event::Burst { node, left: left - 1, name });
                }
            }
            Event::Storm => {
                (0..self.nodes.len())
                    .for_each(|node| self.schedule(self.now, Event::Burst { node, left: 3, name: None }));
                let at = self.now + self.load.between(SECOND / 2, 4 * SECOND);
                self.schedule(at, Event::Storm);
            }
            Event::Ask { ask } | Event::Again { ask } => self.mint(ask),
            Event::Leave { ask } => self.leave(ask),
            Event::Invalidate { node } => {
                self.call(node, |model, process, machine| model.invalidate(process, machine));
            }
            Event::Alarm { node, number } => self.alarm(node, number),
            Event::Request { life, number, request, sent, back } => {
                self.request(life, number, &request, sent, back);
            }
            Event::Reply { life, number, reply } => self.reply(life, number, reply),
            Event::Exit { life, back_in, elsewhere } => {
                if self.nodes[life.node].life == life && self.nodes[life.node].process.is_some() {
                    self.end(life.node, STOPPED);
                    self.start_again(life.node, back_in, elsewhere);
                }
            }
            Event::Fault(index) => self.fault(index),
            Event::Over(index) => self.over(index),
            Event::Heal => self.heal(),
        }
    }

    // ---- processes ----

    fn reading(&self, node: usize) -> Reading {
        let Node { life, lag_ms, .. } = &self.nodes[node];
        let Reading { wall, mono } = self.hosts[life.host].read(self.now);
        Reading { wall, mono: MonoMillis::new(mono.get().saturating_sub(*lag_ms)) }
    }

    /// Calls a process, and handles its effects.
    fn call<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut M, &mut M::Process, &mut Machine<'_, M>) -> T,
    ) -> Option<T> {
        let now = self.reading(node);
        let this = &mut self.nodes[node];
        let life = this.life;
        let mut process = this.process.take()?;
        self.outbox.last_request = this.last_request;
        let ran = self.now - this.paused_until(self.now);
        let disk = self.disks.entry((life.host, node)).or_default();
        let random = &mut this.random;
        let mut machine = Machine { now, life, disk, random, outbox: &mut self.outbox, ran, at: self.now };
        let result = act(self.model, &mut process, &mut machine);
        let this = &mut self.nodes[node];
        this.process = Some(process);
        this.last_request = self.outbox.last_request;
        self.collect(node);
        Some(result)
    }

    fn collect(&mut self, node: usize) {
        let mut requests = std::mem::take(&mut self.outbox.requests);
        for (number, request) in requests.drain(..) {
            self.send(node, number, request);
        }
        self.outbox.requests = requests;
        if let Some(at) = self.outbox.wake.take() {
            self.set_alarm(node, at);
        }
        if self.outbox.noting {
            for note in std::mem::take(&mut self.outbox.notes) {
                self.tell(Some(node), || Happened::Note(note));
            }
        }
        for words in std::mem::take(&mut self.outbox.violations) {
            let (at, wrong) = (self.now, Wrong::Rule);
            self.history.violate(Violation { at, wrong, node: Some(node), words, mints: None });
        }
        let mut delivered = std::mem::take(&mut self.outbox.delivered);
        for (ask, verdict) in delivered.drain(..) {
            self.answered(ask, verdict);
        }
        self.outbox.delivered = delivered;
        if let Some(why) = self.outbox.died.take() {
            self.end(node, &why);
            self.start_again(node, RESTART, false);
        }
    }

    fn start(&mut self, node: usize, host: usize) {
        if self.nodes[node].process.is_some() {
            return;
        }
        if self.asleep[host] > self.now {
            return self.schedule(self.asleep[host] + 1, Event::Start { node, host });
        }
        let names = self.model.names().len();
        let reachable = !self.down && self.nodes[node].cut == 0;
        let this = &mut self.nodes[node];
        this.life = Life { node, number: this.life.number + 1, host };
        (this.open, this.alarm, this.lag_ms, this.snapshot) = (Vec::new(), None, 0, None);
        this.top.clear();
        this.top.resize(names, None);
        let life = this.life;
        let error_ms = self.hosts[host].error_ms(self.now);
        self.history.digest(self.now ^ u64::from(life.number));
        self.tell(Some(node), || Happened::Started { life, error_ms });
        let now = self.reading(node);
        let this = &mut self.nodes[node];
        let ran = self.now - this.paused_until(self.now);
        let (disk, random) = (self.disks.entry((host, node)).or_default(), &mut this.random);
        self.outbox.last_request = this.last_request;
        let mut machine = Machine { now, life, disk, random, outbox: &mut self.outbox, ran, at: self.now };
        let store = reachable.then_some(&mut self.store);
        this.process = Some(self.model.start(&this.setup, store, &mut machine));
        this.last_request = self.outbox.last_request;
        self.collect(node);
        self.burst(self.now + 1_000, node, BUSY);
    }

    /// The process ends.
    fn end(&mut self, node: usize, why: &str) {
        if self.nodes[node].process.take().is_none() {
            return;
        }
        let wall = self.reading(node).wall;
        self.model.ended(self.nodes[node].life, wall);
        let this = &mut self.nodes[node];
        this.open.clear();
        this.backlog.clear();
        if !this.pauses.is_empty() {
            this.paused += self.now - this.paused_since;
        }
        this.pauses.clear();
        (this.alarm, this.crash) = (None, None);
        self.tell(Some(node), || Happened::Died(why.to_owned()));
    }

    fn start_again(&mut self, node: usize, after: Micros, elsewhere: bool) {
        let after = after.max(self.model.pace().start);
        let (here, nodes) = (self.nodes[node].life.host, self.scenario.fleet.nodes);
        // From its own host to its other one, and back. A clone has only one host.
        let host = match elsewhere && node < nodes {
            true if here == node => nodes + node,
            true => node,
            false => here,
        };
        self.schedule(self.now + after, Event::Start { node, host });
    }

    fn crash(&mut self, node: usize, crash: Crash, why: &str) {
        self.end(node, why);
        self.start_again(node, crash.back_in, crash.elsewhere);
        if crash.times > 1 {
            // Repeatedly, soon after each start.
            let number = self.nodes[node].life.number + 1;
            let life = Life { number, ..self.nodes[node].life };
            let host = match crash.elsewhere {
                true => None,
                false => Some(life.host),
            };
            let back_in = crash.back_in.max(self.model.pace().start);
            let at = self.now + back_in + self.network.spread(1, 400_000);
            if let Some(host) = host {
                let crash = Crash { times: crash.times - 1, moment: Moment::Now, ..crash };
                self.schedule(at, Event::Crash { node, life: Life { host, ..life }, crash });
            }
        }
    }

    fn set_alarm(&mut self, node: usize, at: MonoMillis) {
        self.scheduled += 1;
        let number = self.scheduled;
        self.nodes[node].alarm = Some((at, number));
        self.schedule_alarm(node);
    }

    fn schedule_alarm(&mut self, node: usize) {
        let this = &self.nodes[node];
        let Some((at, number)) = this.alarm else { return };
        let at = MonoMillis::new(at.get().saturating_add(this.lag_ms));
        // While the machine sleeps, its clock stands still. The alarm is set again when the machine wakes.
        if let Some(at) = self.hosts[this.life.host].when(at) {
            self.schedule(at.max(self.now), Event::Alarm { node, number });
        }
    }

    fn alarm(&mut self, node: usize, number: u64) {
        let Some((at, _)) = self.nodes[node].alarm.filter(|&(_, alarm)| alarm == number) else { return };
        if self.reading(node).mono < at {
            return self.schedule_alarm(node);
        }
        self.nodes[node].alarm = None;
        self.call(node, |model, process, machine| model.wake(process, machine));
    }

    // ---- callers ----

    fn some_load(&mut self, node: usize) {
        if self.load.chance(80) {
            let left = self.load.between(10, 30);
            self.burst(self.now, node, left);
        } else {
            self.ask(node, None);
        }
        let at = self.now + self.load.between(50_000, 2_500_000);
        self.schedule(at, Event::Load { node });
    }

    /// Many calls in quick succession.
    fn burst(&mut self, at: Micros, node: usize, left: u64) {
        let name = self.load.chance(500).then(|| self.any_name());
        self.schedule(at, Event::Burst { node, left, name });
    }

    fn any_name(&mut self) -> usize {
        place(self.load.below(number(self.model.names().len())))
    }

    fn ask(&mut self, node: usize, name: Option<usize>) {
        let name = name.unwrap_or_else(|| self.any_name());
        let count = self.load.spread(1, self.model.most_at_once(name));
        let this = &self.nodes[node];
        if this.process.is_none() {
            return;
        }
        let ask = Ask { id: number(self.asks.len()), name, count, asked_at: self.now };
        let above = match self.model.names()[name].order {
            Order::Life => this.top[name],
            Order::Fleet => self.history.top(name),
            Order::None => None,
        };
        let paused = this.paused_until(self.now);
        self.asks.push(Asked { ask, life: this.life, above, paused, open: true });
        self.history.counts.asked += 1;
        self.handle(Event::Ask { ask: ask.id });
    }

    fn mint(&mut self, ask: u64) {
        let Asked { ask, life, open, .. } = self.asks[place(ask)];
        let node = life.node;
        if !open || self.nodes[node].life != life {
            return;
        }
        let Some(verdict) = self.call(node, |model, process, machine| model.mint(process, &ask, machine))
        else {
            return;
        };
        let crash = self.nodes[node].crash;
        if let (Verdict::Minted(_), Some(crash)) =
            (&verdict, crash.filter(|it| it.moment == Moment::AfterMint))
        {
            return self.crash(node, crash, "killed after minting, before it answers");
        }
        self.answered(ask.id, verdict);
    }

    fn leave(&mut self, ask: u64) {
        let Asked { life, open, .. } = &mut self.asks[place(ask)];
        let (life, was_open) = (*life, std::mem::take(open));
        if was_open && self.nodes[life.node].life == life {
            self.call(life.node, |model, process, machine| model.leave(process, ask, machine));
        }
    }

    fn answered(&mut self, ask: u64, verdict: Verdict) {
        let index = place(ask);
        let Asked { ask, life, above, open, .. } = self.asks[index];
        // Its caller is gone with the process, or with the connection of a restored machine.
        if !open || self.nodes[life.node].life != life {
            return;
        }
        match verdict {
            Verdict::Later => {
                if self.load.chance(50) {
                    let at = self.now + self.load.spread(200, 300_000);
                    self.schedule(at, Event::Leave { ask: ask.id });
                }
                return;
            }
            Verdict::Again(at) => {
                let at = MonoMillis::new(at.get().saturating_add(self.nodes[life.node].lag_ms));
                // Clocks are read in whole milliseconds, and a sleep never ends early.
                let host = &self.hosts[life.host];
                let due = host.when(at).map_or(self.now + 1_000, |due| due + host.begun(self.now));
                return self.schedule(due.max(self.now + 100), Event::Again { ask: ask.id });
            }
            Verdict::Minted(ids) => self.minted(&ask, life, above, &ids),
            Verdict::Refused(why) => {
                self.history.counts.refused += 1;
                self.history.digest(2);
                self.tell(Some(life.node), || Happened::Refused(why));
            }
        }
        self.check_patience(index);
        self.asks[index].open = false;
    }

    fn check_patience(&mut self, index: usize) {
        let Asked { ask, life, paused, .. } = self.asks[index];
        let Some(patience) = self.model.patience_ms(ask.id) else { return };
        let waited = self.now - ask.asked_at - (self.nodes[life.node].paused_until(self.now) - paused);
        if waited > patience * 1000 + SLACK {
            let words = format!(
                "a caller waited for {} ms, and {patience} ms was the most that it had been promised",
                waited / 1000
            );
            let (at, wrong, node) = (self.now, Wrong::Starved, Some(life.node));
            self.history.violate(Violation { at, wrong, node, words, mints: None });
        }
    }

    fn minted(&mut self, ask: &Ask, life: Life, mut above: Option<i128>, ids: &[u128]) {
        let info = self.model.names()[ask.name];
        let first = self.history.mints.len();
        let error_ms = self.hosts[life.host].error_ms(self.now);
        self.tell(Some(life.node), || Happened::Minted { first, count: ids.len(), error_ms });
        for &id in ids {
            let (place, rank) = (self.history.mints.len(), rank(id));
            let mint = Mint { at: self.now, life, name: ask.name, id };
            let (at, node) = (self.now, Some(life.node));
            if let Some(earlier) = self.history.mint(mint, &info)
                && !self.model.may_repeat(ask.name, id)
            {
                let words = format!("{} handed out {rank} for a second time", info.label);
                let mints = Some((earlier, place));
                self.history.violate(Violation { at, wrong: Wrong::Twice, node, words, mints });
            }
            if info.order != Order::None {
                if above.is_some_and(|above| rank <= above) && !self.model.may_repeat(ask.name, id) {
                    self.history.counts.disorder += 1;
                    let words = format!(
                        "{} handed out {rank} to a call that began after {} had been returned",
                        info.label,
                        above.unwrap_or(0)
                    );
                    let wrong = Wrong::Disorder;
                    let larger =
                        |mint: &Mint| mint.name == ask.name && Some(crate::history::rank(mint.id)) == above;
                    // Only a story needs to know which one that was, and finding it takes a search.
                    let earlier = &self.history.mints[..if self.outbox.noting { place } else { 0 }];
                    let mints = earlier.iter().rposition(larger).map(|earlier| (earlier, place));
                    self.history.violate(Violation { at, wrong, node, words, mints });
                }
                above = above.max(Some(rank));
            }
            let top = &mut self.nodes[life.node].top[ask.name];
            *top = (*top).max(Some(rank));
        }
    }

    // ---- the network and the store ----

    fn send(&mut self, node: usize, number: u64, request: M::Request) {
        let Node { life, slow, lossy, cut, .. } = self.nodes[node];
        self.nodes[node].open.push(number);
        let network = &mut self.network;
        let mut way = || {
            let usual = network.spread(60, 2_000);
            slow.map_or(usual, |up_to| usual + network.below(up_to))
        };
        let (there, back) = (way(), way());
        let lost = |network: &mut Random| lossy && network.chance(150);
        let (never_there, never_back) = (cut > 0 || lost(network), lost(network));
        let twice = lossy && network.chance(150);
        let later = network.spread(1_000, 3_000_000);
        let sent = self.now;
        if twice {
            let request = Box::new(request.clone());
            let event = Event::Request { life, number, request, sent, back: Some(back) };
            self.schedule(sent + there + later, event);
        }
        if never_there || there > TIMEOUT {
            self.schedule(sent + TIMEOUT, Event::Reply { life, number, reply: Err(Silence) });
        }
        if !never_there {
            let (back, request) = ((!never_back).then_some(back), Box::new(request));
            self.schedule(sent + there, Event::Request { life, number, request, sent, back });
        }
    }

    fn request(&mut self, life: Life, number: u64, request: &M::Request, sent: Micros, back: Option<Micros>) {
        let silence = Event::Reply { life, number, reply: Err(Silence) };
        if self.down {
            // The connection is refused, or reset.
            return self.schedule(self.now + 500, silence);
        }
        let timeout = (sent + TIMEOUT).max(self.now);
        let reply = self.model.execute(&mut self.store, life, request, self.now);
        self.history.digest(number ^ self.now.rotate_left(20) ^ 1);
        for words in self.model.broken() {
            let (at, wrong) = (self.now, Wrong::Rule);
            self.history.violate(Violation { at, wrong, node: Some(life.node), words, mints: None });
        }
        match back {
            Some(back) => {
                if self.now + back > timeout {
                    self.schedule(timeout, silence);
                }
                self.schedule(self.now + back, Event::Reply { life, number, reply: Ok(Box::new(reply)) });
            }
            None => self.schedule(timeout, silence),
        }
        let this = &self.nodes[life.node];
        if let Some(crash) = this.crash.filter(|it| it.moment == Moment::AfterWrite)
            && this.life == life
        {
            self.crash(life.node, crash, "killed between the store's write and the reply");
        }
    }

    fn reply(&mut self, life: Life, number: u64, reply: Result<Box<M::Reply>, Silence>) {
        let this = &mut self.nodes[life.node];
        if this.life != life || this.process.is_none() {
            return;
        }
        let cut = reply.is_ok() && (self.down || this.cut > 0);
        let open = this.open.iter().position(|&open| open == number);
        if cut {
            if open.is_some() {
                self.schedule(self.now + TIMEOUT, Event::Reply { life, number, reply: Err(Silence) });
            }
            return;
        }
        match open {
            Some(open) => drop(this.open.swap_remove(open)),
            None if reply.is_err() => return,
            None => {}
        }
        self.history.digest(number << 1 | u64::from(reply.is_ok()));
        let reply = reply.map(|reply| *reply);
        self.call(life.node, |model, process, machine| model.answer(process, number, reply, machine));
    }

    // ---- faults ----

    fn fault(&mut self, index: usize) {
        let Fault { what, at } = &self.scenario.faults[index];
        let (now, at) = (self.now, *at);
        let over = |world: &mut Self, lasts: Micros| world.schedule(at + lasts, Event::Over(index));
        match what.clone() {
            What::Step { host, by_ms } => {
                self.hosts[host].step(now, by_ms);
                self.tell_of_clock(host, by_ms);
            }
            What::Slew { host, ppm, lasts } => {
                self.hosts[host].slew(now, ppm);
                self.tell_host(host, || Happened::Fault(format!("its clock is slewed by {ppm} ppm")));
                over(self, lasts);
            }
            What::Freeze { host, lasts } => {
                self.hosts[host].slew(now, -crate::host::RIGHT);
                self.tell_host(host, || Happened::Fault("its clock stands still".to_owned()));
                over(self, lasts);
            }
            What::Wild { host, says_ms, lasts } => {
                let before = self.hosts[host].read(now).wall.get();
                self.hosts[host].set(now, says_ms);
                self.tell_of_clock(host, says_ms - before);
                over(self, lasts);
            }
            What::Crash { node, moment, back_in, elsewhere, times } => {
                let crash = Crash { moment, back_in, elsewhere, times };
                match moment {
                    Moment::Now if self.nodes[node].process.is_some() => {
                        self.crash(node, crash, "killed (SIGKILL)");
                    }
                    Moment::Now => {}
                    Moment::AfterWrite | Moment::AfterMint => self.nodes[node].crash = Some(crash),
                }
            }
            What::Stop { node, back_in, elsewhere } => {
                self.tell(Some(node), || Happened::Stopping);
                if self.call(node, |model, process, machine| model.stop(process, machine)).is_some() {
                    let life = self.nodes[node].life;
                    let at = now + self.model.pace().stop + self.network.between(1_000, 300_000);
                    self.schedule(at, Event::Exit { life, back_in, elsewhere });
                }
            }
            What::Pause { node, lasts } => {
                self.pause(node, index);
                over(self, lasts);
            }
            What::Sleep { node, lasts } => {
                let host = self.nodes[node].life.host;
                let alone = |other: &Node<M>| other.life.host != host || other.life.node == node;
                if self.asleep[host] == 0 && self.nodes.iter().all(alone) {
                    self.asleep[host] = now + lasts;
                    self.hosts[host].sleep(now);
                    self.pause(node, index);
                    over(self, lasts);
                }
            }
            What::Cut { node, lasts } => {
                self.nodes[node].cut += 1;
                self.tell(Some(node), || Happened::Cut(true));
                over(self, lasts);
            }
            What::Slow { node, lasts, up_to } => {
                self.nodes[node].slow = Some(up_to);
                let words = format!("its messages to the store take up to {} ms", up_to / 1000);
                self.tell(Some(node), || Happened::Fault(words));
                over(self, lasts);
            }
            What::Lossy { node, lasts } => {
                self.nodes[node].lossy = true;
                let words = "its requests and replies get lost or doubled";
                self.tell(Some(node), || Happened::Fault(words.to_owned()));
                over(self, lasts);
            }
            What::Outage { lasts } => {
                self.set_down(true);
                over(self, lasts);
            }
            What::Forget { lasts, backup } => {
                self.copies.push((index, self.model.copy(&self.store)));
                let words = if backup { "a backup is taken" } else { "the replica has seen all up to here" };
                self.tell(None, || Happened::Fault(words.to_owned()));
                over(self, lasts);
            }
            What::DeleteRecord => {
                let deleted = self.model.delete_record(&mut self.store, &mut self.network);
                let words =
                    deleted.map_or("no record to delete".to_owned(), |record| format!("{record} is deleted"));
                self.tell(None, || Happened::Fault(words));
            }
            What::Snapshot { node, lasts } => {
                let then = self.reading(node);
                let Some(memory) = self.memory(node) else { return };
                let this = &mut self.nodes[node];
                this.snapshot = Some((memory, this.open.clone(), then));
                self.tell(Some(node), || Happened::Snapshot);
                over(self, lasts);
            }
            What::Invalidate { node } => {
                self.tell(Some(node), || {
                    Happened::Fault("it is told to drop the ranges that it holds".to_owned())
                });
                self.burst(now, node, 20);
                self.schedule(now + 4_000, Event::Invalidate { node });
            }
            What::Clone { node } => self.clone_machine(node),
        }
    }

    fn memory(&mut self, node: usize) -> Option<M::Process> {
        let this = &self.nodes[node];
        if !this.pauses.is_empty() {
            return None;
        }
        let fresh = this.random.fork(self.now);
        self.model.memory(this.process.as_ref()?, fresh)
    }

    fn over(&mut self, index: usize) {
        let now = self.now;
        match self.scenario.faults[index].what {
            What::Slew { host, .. } => {
                self.hosts[host].slew(now, 0);
                self.tell_host(host, || Happened::Fault("its clock runs right again".to_owned()));
            }
            What::Freeze { host, .. } | What::Wild { host, .. } => self.set_right(host),
            What::Pause { node, .. } => self.resume(node, index),
            What::Sleep { node, .. } => {
                if let Some(host) = self.asleep.iter().position(|until| *until == now) {
                    self.asleep[host] = 0;
                    self.hosts[host].awake(now);
                }
                self.schedule_alarm(node);
                self.resume(node, index);
            }
            What::Cut { node, .. } => {
                self.nodes[node].cut = self.nodes[node].cut.saturating_sub(1);
                self.tell(Some(node), || Happened::Cut(false));
            }
            What::Slow { node, .. } => self.nodes[node].slow = None,
            What::Lossy { node, .. } => self.nodes[node].lossy = false,
            What::Outage { .. } => self.set_down(false),
            What::Forget { backup, .. } => {
                let Some(at) = self.copies.iter().position(|(copy, _)| *copy == index) else { return };
                let (_, copy) = self.copies.swap_remove(at);
                self.model.forget(&mut self.store, &copy);
                self.model.store_starts(&mut self.store, now);
                let words = match backup {
                    true => "the store is restored from the backup",
                    false => "the store fails over to the replica",
                };
                self.tell(None, || Happened::Fault(words.to_owned()));
            }
            What::Snapshot { node, .. } => self.restore(node),
            What::Step { .. }
            | What::Crash { .. }
            | What::Stop { .. }
            | What::DeleteRecord
            | What::Invalidate { .. }
            | What::Clone { .. } => {}
        }
    }

    fn restore(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        let Some((memory, open, then)) = this.snapshot.take() else { return };
        if this.process.is_none() || !this.pauses.is_empty() {
            return;
        }
        let host = this.life.host;
        self.set_right(host);
        let shown = self.hosts[host].read(self.now);
        if shown.wall.since(then.wall).abs() < NOTICED_MS {
            // It looks like a copy whose clock was copied too, which is a fault of its own.
            return;
        }
        let this = &mut self.nodes[node];
        this.lag_ms = shown.mono.since(then.mono);
        this.process = Some(memory);
        this.life.number += 1;
        (this.open, this.alarm, this.crash) = (open.clone(), None, None);
        this.top.iter_mut().for_each(|top| *top = None);
        let life = this.life;
        self.tell(Some(node), || Happened::Restored);
        for number in open {
            self.schedule(self.now + 1, Event::Reply { life, number, reply: Err(Silence) });
        }
        self.call(node, |model, process, machine| model.wake(process, machine));
    }

    fn clone_machine(&mut self, node: usize) {
        let Some(memory) = self.memory(node) else { return };
        let (index, host) = (self.nodes.len(), self.hosts.len());
        let original = &self.nodes[node];
        let random = original.random.fork(self.now ^ 1);
        let mut clone = Node::new(index, original.setup.clone(), &random, self.model.names().len());
        clone.life = Life { node: index, number: 1, host };
        (clone.lag_ms, clone.last_request) = (original.lag_ms, original.last_request);
        clone.open.clone_from(&original.open);
        clone.process = Some(memory);
        self.hosts.push(self.hosts[original.life.host]);
        self.asleep.push(0);
        if let Some(disk) = self.disks.get(&(original.life.host, node)).cloned() {
            self.disks.insert((host, index), disk);
        }
        let (life, open) = (clone.life, clone.open.clone());
        self.nodes.push(clone);
        self.tell(Some(index), || Happened::CloneOf(node));
        for number in open {
            self.schedule(self.now + 1, Event::Reply { life, number, reply: Err(Silence) });
        }
        self.schedule(self.now, Event::Load { node: index });
        self.call(index, |model, process, machine| model.wake(process, machine));
    }

    fn pause(&mut self, node: usize, fault: usize) {
        let now = self.now;
        let this = &mut self.nodes[node];
        if this.pauses.is_empty() {
            this.paused_since = now;
        }
        this.pauses.push(fault);
        self.tell(Some(node), || Happened::Paused(true));
    }

    /// This fault is over. If the process has died meanwhile, nothing is left to resume.
    fn resume(&mut self, node: usize, fault: usize) {
        let now = self.now;
        let this = &mut self.nodes[node];
        let Some(at) = this.pauses.iter().position(|&pause| pause == fault) else { return };
        this.pauses.swap_remove(at);
        if !this.pauses.is_empty() {
            return;
        }
        this.paused += now - this.paused_since;
        let backlog = std::mem::take(&mut this.backlog);
        self.tell(Some(node), || Happened::Paused(false));
        for event in backlog {
            if let Event::Ask { ask } = event
                && now > self.asks[place(ask)].ask.asked_at + PATIENCE
            {
                // Its caller has given up meanwhile.
                self.asks[place(ask)].open = false;
                self.history.counts.unanswered += 1;
                continue;
            }
            // The process finds these events in any order when it continues.
            let at = now + self.network.spread(1, 5_000);
            self.schedule(at, event);
        }
    }

    fn set_down(&mut self, down: bool) {
        match (self.down, down) {
            (false, true) => self.model.store_dies(&mut self.store, self.now),
            (true, false) => self.model.store_starts(&mut self.store, self.now),
            _ => {}
        }
        self.down = down;
        self.tell(None, || Happened::Down(down));
    }

    fn set_right(&mut self, host: usize) {
        let error_ms = self.hosts[host].error_ms(self.now);
        self.hosts[host].set_right(self.now);
        self.tell_of_clock(host, -error_ms);
    }

    fn tell_of_clock(&mut self, host: usize, by_ms: i64) {
        let error_ms = self.hosts[host].error_ms(self.now);
        self.tell_host(host, || Happened::ClockSet { by_ms, error_ms });
    }

    /// Records an event for every node on a host.
    fn tell_host(&mut self, host: usize, what: impl Fn() -> Happened) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].life.host == host {
                self.tell(Some(node), &what);
            }
        }
    }

    /// No faults happen from here on.
    fn heal(&mut self) {
        self.copies.clear();
        for host in 0..self.hosts.len() {
            self.asleep[host] = 0;
            self.hosts[host].awake(self.now);
            self.set_right(host);
        }
        if self.down {
            self.set_down(false);
        }
        for node in 0..self.nodes.len() {
            let this = &mut self.nodes[node];
            (this.cut, this.slow, this.lossy, this.crash, this.snapshot) = (0, None, false, None, None);
            if let Some(&last) = this.pauses.last() {
                this.pauses.retain(|&pause| pause == last);
                self.resume(node, last);
            }
            self.schedule_alarm(node);
        }
        self.tell(None, || Happened::Healed);
    }

    fn tell(&mut self, node: Option<usize>, what: impl FnOnce() -> Happened) {
        if self.outbox.noting {
            self.history.events.push(Told { at: self.now, node, what: what() });
        }
    }
}

impl<M: Model> Node<M> {
    fn new(node: usize, setup: Setup, random: &Random, names: usize) -> Self {
        Self {
            setup,
            process: None,
            life: Life { node, number: 0, host: node },
            random: random.fork(100 + number(node)),
            last_request: 0,
            open: Vec::new(),
            alarm: None,
            pauses: Vec::new(),
            paused_since: 0,
            paused: 0,
            backlog: Vec::new(),
            cut: 0,
            slow: None,
            lossy: false,
            crash: None,
            lag_ms: 0,
            snapshot: None,
            top: vec![None; names],
        }
    }

    /// How long it has stood still in total.
    fn paused_until(&self, now: Micros) -> Micros {
        self.paused + if !self.pauses.is_empty() { now - self.paused_since } else { 0 }
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn number(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}
