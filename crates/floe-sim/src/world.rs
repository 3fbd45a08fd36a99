//! The world: a heap of events over machines with clocks, processes that start and end, and a store behind a network.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use floe::{MonoMillis, Reading};

use crate::history::{Event as Told, Happened, History, STOPPED, Violation, Wrong};
use crate::host::Host;
use crate::model::{Ask, Life, Micros, Model, Outbox, Setup, Silence};
use crate::random::Random;
use crate::scenario::{Moment, SECOND, Scenario, What};

mod callers;
mod faults;
mod network;
mod processes;

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

/// What comes next. Nodes, asks and faults go by their numbers.
enum Event<M: Model> {
    Start {
        node: usize,
        host: usize,
    },
    Crash {
        life: Life,
        crash: Crash,
    },
    Load(usize),
    /// All under one name, or each under any name.
    Burst {
        node: usize,
        left: u64,
        name: Option<usize>,
    },
    Storm,
    Ask(u64),
    Again(u64),
    /// A caller gives up.
    Leave(u64),
    Invalidate(usize),
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
                world.schedule(at, Event::Load(node));
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

    fn schedule(&mut self, at: Micros, event: Event<M>) {
        self.scheduled += 1;
        self.heap.push(Reverse(Entry { at, number: self.scheduled, event }));
    }

    fn handle(&mut self, event: Event<M>) {
        let node = match &event {
            Event::Alarm { node, .. } | Event::Invalidate(node) => Some(*node),
            Event::Ask(ask) | Event::Again(ask) | Event::Leave(ask) => Some(self.asks[place(*ask)].life.node),
            Event::Reply { life, .. } | Event::Exit { life, .. } => Some(life.node),
            _ => None,
        };
        if let Some(node) = node.map(|node| &mut self.nodes[node]).filter(|node| !node.pauses.is_empty()) {
            return node.backlog.push(event);
        }
        match event {
            Event::Start { node, host } => self.start(node, host),
            Event::Crash { life, crash } => {
                if self.runs(life) {
                    self.crash(life.node, crash, "killed (SIGKILL)");
                }
            }
            Event::Load(node) => self.some_load(node),
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
            Event::Ask(ask) | Event::Again(ask) => self.mint(ask),
            Event::Leave(ask) => self.leave(ask),
            Event::Invalidate(node) => {
                self.call(node, |model, process, machine| model.invalidate(process, machine));
            }
            Event::Alarm { node, number } => self.alarm(node, number),
            Event::Request { life, number, request, sent, back } => {
                self.request(life, number, &request, sent, back);
            }
            Event::Reply { life, number, reply } => self.reply(life, number, reply),
            Event::Exit { life, back_in, elsewhere } => {
                if self.runs(life) {
                    self.end(life.node, STOPPED);
                    self.start_again(life.node, back_in, elsewhere);
                }
            }
            Event::Fault(index) => self.fault(index),
            Event::Over(index) => self.over(index),
            Event::Heal => self.heal(),
        }
    }

    /// Whether this life still runs.
    fn runs(&self, life: Life) -> bool {
        let node = &self.nodes[life.node];
        node.life == life && node.process.is_some()
    }

    fn violate(&mut self, wrong: Wrong, node: Option<usize>, words: String, mints: Option<(usize, usize)>) {
        self.history.violate(Violation { at: self.now, wrong, node, words, mints });
    }

    fn tell_fault(&mut self, node: Option<usize>, words: impl Into<String>) {
        self.tell(node, || Happened::Fault(words.into()));
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

/// A request without an answer.
fn silence<M: Model>(life: Life, number: u64) -> Event<M> {
    Event::Reply { life, number, reply: Err(Silence) }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn number(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}
