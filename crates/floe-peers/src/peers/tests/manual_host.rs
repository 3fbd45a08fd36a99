//! A machine that tests drive: one process at a time, clocks that move on command, a store that answers on command.

use floe::{MonoMillis, Reading, UnixMillis};

use floe_sim::model::{Ask, Fleet, Life, Machine, Micros, Model, Outbox, Setup, Silence, Verdict};
use floe_sim::random::Random;

/// 2026-03-01T12:00:00Z.
pub(crate) const NOON: i64 = 1_772_366_400_000;

/// The machine, the model, and the store.
pub(crate) struct ManualHost<M: Model> {
    pub(crate) model: M,
    pub(crate) store: M::Store,
    pub(crate) disk: M::Disk,
    pub(crate) now: Reading,
    pub(crate) life: Life,
    pub(crate) setup: Setup,
    pub(crate) outbox: Outbox<M::Request>,
    pub(crate) random: Random,
    pub(crate) true_time: Micros,
    asks: u64,
}

impl<M: Model> ManualHost<M> {
    pub(crate) fn new(mut model: M) -> Self {
        let store =
            model.store(&Fleet { nodes: 3, worker_bits: 2, renew_idle: true, store_clock: None, few: false });
        Self {
            model,
            store,
            disk: M::Disk::default(),
            now: Reading { wall: UnixMillis::new(NOON), mono: MonoMillis::new(5_000) },
            life: Life { node: 0, number: 0, host: 0 },
            setup: Setup { worker: 0, fixed: false, window_ms: 3_000, odd: false },
            outbox: Outbox::new(true),
            random: Random::new(1),
            true_time: 0,
            asks: 0,
        }
    }

    /// The machine that a call sees, with the model and the store beside it.
    pub(crate) fn split(&mut self) -> (&mut M, &mut M::Store, Machine<'_, M>) {
        let Self { model, store, disk, now, life, outbox, random, true_time, .. } = self;
        let (now, life, at) = (*now, *life, *true_time);
        (model, store, Machine { now, life, disk, random, outbox, ran: 0, at })
    }

    /// A new life of the node, with the store in reach.
    pub(crate) fn start(&mut self) -> M::Process {
        self.begin(true)
    }

    /// A new life of the node, with the store out of reach.
    pub(crate) fn start_alone(&mut self) -> M::Process {
        self.begin(false)
    }

    fn begin(&mut self, store_in_reach: bool) -> M::Process {
        self.outbox = Outbox::new(true);
        self.life.number += 1;
        let setup = self.setup.clone();
        let (model, store, mut machine) = self.split();
        model.start(&setup, Some(store).filter(|_| store_in_reach), &mut machine)
    }

    /// Another node on another host, whose disk is empty.
    pub(crate) fn become_node(&mut self, node: usize) {
        self.life = Life { node, number: 0, host: node };
        self.setup.worker = u64::try_from(node).unwrap();
        self.disk = M::Disk::default();
    }

    /// Real time passes.
    pub(crate) fn pass(&mut self, millis: u64) {
        self.true_time += millis * 1000;
        self.now.mono = self.now.mono.plus(millis);
        self.step(i64::try_from(millis).unwrap());
    }

    /// The wall clock is set.
    pub(crate) fn step(&mut self, millis: i64) {
        self.now.wall = self.now.wall.plus(millis);
    }

    /// A new ask.
    pub(crate) fn ask(&mut self, count: u64) -> Ask {
        self.asks += 1;
        Ask { id: self.asks, name: 0, count, asked_at: self.true_time }
    }

    /// One ask, once.
    pub(crate) fn mint(&mut self, process: &mut M::Process) -> Verdict {
        self.asks += 1;
        self.again(process)
    }

    /// The same ask again.
    pub(crate) fn again(&mut self, process: &mut M::Process) -> Verdict {
        let ask = Ask { id: self.asks, name: 0, count: 1, asked_at: self.true_time };
        let (model, _, mut machine) = self.split();
        model.mint(process, &ask, &mut machine)
    }

    /// One ID, however long that takes.
    pub(crate) fn id(&mut self, process: &mut M::Process) -> u128 {
        let mut verdict = self.mint(process);
        loop {
            match verdict {
                Verdict::Minted(ids) => return ids[0],
                Verdict::Again(at) => self.pass(at.since(self.now.mono)),
                other => panic!("{other:?}"),
            }
            verdict = self.again(process);
        }
    }

    /// Time passes until the process's alarm fires. The process acts, and the store answers its requests.
    pub(crate) fn run(&mut self, process: &mut M::Process, answered: bool) {
        if let Some(alarm) = self.outbox.wake.take() {
            self.pass(alarm.since(self.now.mono));
            let (model, _, mut machine) = self.split();
            model.wake(process, &mut machine);
        }
        self.serve(process, answered);
    }

    /// The store serves all requests, or none of them.
    pub(crate) fn serve(&mut self, process: &mut M::Process, answered: bool) {
        while !self.outbox.requests.is_empty() {
            self.serve_these(process, answered);
        }
    }

    /// The same, but not for those that its answers cause.
    fn serve_these(&mut self, process: &mut M::Process, answered: bool) {
        for (number, request) in std::mem::take(&mut self.outbox.requests) {
            let answer = if answered { Ok(self.execute(&request)) } else { Err(Silence) };
            let (model, _, mut machine) = self.split();
            model.answer(process, number, answer, &mut machine);
        }
    }

    /// The store executes a request of the current life.
    pub(crate) fn execute(&mut self, request: &M::Request) -> M::Reply {
        self.model.execute(&mut self.store, self.life, request, self.true_time)
    }

    /// The store dies, and is up again after this many milliseconds.
    pub(crate) fn store_is_down_for(&mut self, millis: u64) {
        self.model.store_dies(&mut self.store, self.true_time);
        self.pass(millis);
        self.model.store_starts(&mut self.store, self.true_time);
    }

    /// The store serves the current requests, but not those that its answers cause.
    pub(crate) fn serve_once(&mut self, process: &mut M::Process) {
        self.serve_these(process, true);
    }

    /// The life ends.
    pub(crate) fn end(&mut self) {
        self.model.ended(self.life, self.now.wall);
    }

    /// The process is told to stop, and the store serves its requests, or none of them.
    pub(crate) fn stop(&mut self, process: &mut M::Process, answered: bool) {
        let (model, _, mut machine) = self.split();
        model.stop(process, &mut machine);
        self.serve(process, answered);
    }

    /// Why the process gave up.
    pub(crate) fn died(&self) -> Option<&str> {
        self.outbox.died.as_deref()
    }
}

/// Mints `count` IDs, and fails unless they increase.
pub(crate) fn increasing<M: Model>(host: &mut ManualHost<M>, process: &mut M::Process, count: u64) {
    let mut last = host.id(process);
    for _ in 1..count {
        let id = host.id(process);
        assert!(id > last, "{id} after {last}");
        last = id;
    }
}
