//! The model that the world runs: an algorithm that mints IDs on the nodes of a fleet.
//!
//! floe is one [`Model`], and each published algorithm is another. A model sees the world only through its [`Machine`]:
//! a wall clock that may be wrong, a monotonic clock, a disk, and requests to one shared store that may be late, lost
//! or executed twice.

use std::fmt;

use floe::{MonoMillis, Reading, UnixMillis};

use crate::random::Random;

/// True time in microseconds since the history began. No process can read it.
pub type Micros = u64;

/// One life of a node: from a start to a crash, a stop, or the end of the history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Life {
    /// The node, from 0. It keeps its number and its configuration when it restarts.
    pub node: usize,
    /// Counts the node's starts, from 0.
    pub number: u32,
    /// The machine that it runs on, from 0: clocks and disks belong to hosts.
    pub host: usize,
}

/// A node's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The worker id in its configuration file: its own number, unless an operator gave two nodes the same one by mistake.
    pub worker: u64,
    /// Whether floe also uses that worker id, and does not take a free slot.
    pub fixed: bool,
    /// The length of floe's windows.
    pub window_ms: u64,
    /// Whether its definitions differ from the other nodes' definitions.
    pub odd: bool,
}

/// The settings that all nodes of a fleet share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fleet {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many bits worker ids have if an algorithm can choose: few, if there must be fewer slots than nodes.
    pub worker_bits: u32,
    /// Whether floe renews its windows while no caller mints.
    pub renew_idle: bool,
    /// How many milliseconds the store's own clock is off the true time; `None` if it has no clock.
    pub store_clock: Option<i64>,
    /// Whether the layout of most of floe's names has few IDs per tick, so that batches wait for the clock.
    pub few: bool,
}

/// A caller's request for IDs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// Its number, from 0, in the order of the asks.
    pub id: u64,
    /// The index of its name in [`Model::names`].
    pub name: usize,
    /// How many; 1 for a model that mints one at a time.
    pub count: u64,
    /// When it was asked, in true time.
    pub asked_at: Micros,
}

/// The answer to an [`Ask`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// These IDs, in order.
    Minted(Vec<u128>),
    /// An error of the algorithm, which the caller gets.
    Refused(String),
    /// The caller's thread waits inside the algorithm. At this time [`Model::mint`] is called again with the same ask.
    Again(MonoMillis),
    /// The answer will come by [`Machine::deliver`].
    Later,
}

/// Which IDs of a name must differ, and in which order they must come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameInfo {
    /// The name for people.
    pub label: &'static str,
    /// IDs of names in one domain must differ from one another.
    pub domain: u8,
    /// The order that is promised.
    pub order: Order,
}

/// If a call begins after another has returned, it gets a larger ID, provided that both were made …
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// … to the same life of a node.
    Life,
    /// … anywhere in the fleet.
    Fleet,
    /// Nothing is promised.
    None,
}

/// The parts of a snowflake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Its node fields together, as one number.
    pub worker: u64,
    /// When its tick begins.
    pub time: UnixMillis,
    /// Its number within the tick.
    pub sequence: u64,
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {}, {}, sequence {}", self.worker, self.time, self.sequence)
    }
}

/// The store did not answer in time. Nobody knows whether the request took effect; it may still do so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence;

/// How fast a process starts and stops. That depends on its platform and on the work that it does when it stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The least time from the end of one life to the first call of the next.
    pub start: Micros,
    /// The least time from the signal to stop until the process ends.
    pub stop: Micros,
}

impl Pace {
    /// A JVM with a framework: a new life begins at least 1 s after the last one ended.
    pub const JVM: Self = Self { start: 1_000_000, stop: 0 };
    /// A Go, Rust or C binary: 50 ms.
    pub const NATIVE: Self = Self { start: 50_000, stop: 0 };
    /// Faster than any machine can. floe's own histories use it, because they must be the harder ones.
    pub const AT_ONCE: Self = Self { start: 0, stop: 0 };
}

/// A process's view of the world during one call.
pub struct Machine<'a, M: Model + ?Sized> {
    /// The readings of its clocks.
    pub now: Reading,
    /// The life that is called.
    pub life: Life,
    /// Its disk. The next life on that host reads what this life writes.
    pub disk: &'a mut M::Disk,
    /// Its own randomness.
    pub random: &'a mut Random,
    /// The effects that it wants.
    pub outbox: &'a mut Outbox<M::Request>,
    /// True time without the time that the process stood still: for checks, never for an algorithm.
    pub ran: Micros,
    /// True time: for messages between processes that bypass the store, never for an algorithm.
    pub at: Micros,
}

/// The effects that a process wants.
#[derive(Debug)]
pub struct Outbox<R> {
    /// Requests to the store, with their numbers.
    pub requests: Vec<(u64, R)>,
    /// When its alarm must fire.
    pub wake: Option<MonoMillis>,
    /// Answers to asks that were told [`Verdict::Later`].
    pub delivered: Vec<(u64, Verdict)>,
    /// Its notes.
    pub notes: Vec<Note>,
    /// Rules that it broke itself.
    pub violations: Vec<String>,
    /// Whether notes are kept.
    pub noting: bool,
    /// Why it gave up.
    pub died: Option<String>,
    /// The number of its last request.
    pub last_request: u64,
}

impl<R> Outbox<R> {
    /// An empty outbox. `noting` says whether notes are kept.
    pub fn new(noting: bool) -> Self {
        Self {
            requests: Vec::new(),
            wake: None,
            delivered: Vec::new(),
            notes: Vec::new(),
            violations: Vec::new(),
            noting,
            died: None,
            last_request: 0,
        }
    }
}

/// A detail for a picture or a story.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// From here on the life may mint in this range. For a window or a claim on a worker id, it is a range of time in
    /// Unix milliseconds. For a segment, it is a range of numbers.
    Holds {
        /// `slot 3`, `orders`.
        what: String,
        /// Inclusive.
        start: u64,
        /// Exclusive; `u64::MAX` if the algorithm knows no end.
        end: u64,
        /// Whether the range is one of Unix milliseconds.
        time: bool,
    },
    /// Any other detail that the story's reader needs, as a clause: "reports that it has used up to …".
    Says(String),
}

impl<M: Model + ?Sized> Machine<'_, M> {
    /// The wall clock in milliseconds since 1970.
    pub fn wall(&self) -> i64 {
        self.now.wall.get()
    }

    /// The monotonic clock in milliseconds since the host started.
    pub fn mono(&self) -> u64 {
        self.now.mono.get()
    }

    /// Sends a request to the shared store. Its answer, or [`Silence`], goes to [`Model::answer`] under the number that
    /// this returns.
    pub fn send(&mut self, request: M::Request) -> u64 {
        self.outbox.last_request += 1;
        self.outbox.requests.push((self.outbox.last_request, request));
        self.outbox.last_request
    }

    /// The number of the next request.
    pub(crate) fn next_request(&self) -> u64 {
        self.outbox.last_request + 1
    }

    /// Asks for a call of [`Model::wake`] at that time of the monotonic clock. There is one alarm: the last call counts.
    pub fn wake_at(&mut self, at: MonoMillis) {
        self.outbox.wake = Some(at);
    }

    /// [`Machine::wake_at`], this many milliseconds from now.
    pub fn wake_in(&mut self, millis: u64) {
        self.wake_at(self.now.mono.plus(millis));
    }

    /// Answers an ask that got [`Verdict::Later`].
    pub fn deliver(&mut self, ask: u64, verdict: Verdict) {
        self.outbox.delivered.push((ask, verdict));
    }

    /// Reports a rule that the algorithm itself has broken.
    pub(crate) fn violation(&mut self, words: String) {
        self.outbox.violations.push(words);
    }

    /// Ends the process: the algorithm gives up. Its supervisor starts it again two seconds later.
    pub fn die(&mut self, why: impl Into<String>) {
        self.outbox.died = Some(why.into());
    }

    /// Adds a note for the picture and the story. It costs nothing if neither is wanted.
    pub fn note(&mut self, note: impl FnOnce() -> Note) {
        if self.outbox.noting {
            self.outbox.notes.push(note());
        }
    }

    /// [`Note::Says`].
    pub fn says(&mut self, words: impl FnOnce() -> String) {
        self.note(|| Note::Says(words()));
    }

    /// [`Note::Holds`] of a worker id from now on. The algorithm knows no end.
    pub fn claims(&mut self, worker: u64) {
        let start = self.now.wall.position().unwrap_or(0);
        self.note(|| Note::Holds { what: format!("worker {worker}"), start, end: u64::MAX, time: true });
    }
}

/// An algorithm that mints IDs, and the store that keeps its state.
pub trait Model {
    /// How fast the processes of its platform start and end.
    const PACE: Pace;

    /// The shared store.
    type Store;
    /// The content of a host's disk.
    type Disk: Clone + Default;
    /// One life of a node.
    type Process;
    /// A process's request to the store.
    type Request: Clone;
    /// The store's answer.
    type Reply: Clone;

    /// The names that it mints under.
    fn names(&self) -> &[NameInfo];

    /// The most IDs that one ask may want.
    fn most_at_once(&self, _name: usize) -> u64 {
        1
    }

    /// A new, empty store for a fleet.
    fn store(&mut self, fleet: &Fleet) -> Self::Store;

    /// A copy of the store at this moment: a backup, or a replica that is up to date.
    fn copy(&self, store: &Self::Store) -> Self::Store;

    /// The store executes a request, at once and atomically.
    fn execute(
        &mut self,
        store: &mut Self::Store,
        from: Life,
        request: &Self::Request,
        now: Micros,
    ) -> Self::Reply;

    /// The store loses everything that happened since `copy` was taken.
    fn forget(&mut self, store: &mut Self::Store, copy: &Self::Store) {
        *store = self.copy(copy);
    }

    /// Deletes one record. Returns which one, in words, or `None` if there is no record.
    fn delete_record(&mut self, _store: &mut Self::Store, _random: &mut Random) -> Option<String> {
        None
    }

    /// The store dies and loses what is not durable yet. It is up again at [`store_starts`](Self::store_starts).
    fn store_dies(&mut self, _store: &mut Self::Store, _now: Micros) {}

    /// The store starts again, with its own data or with the copy that replaced it.
    fn store_starts(&mut self, _store: &mut Self::Store, _now: Micros) {}

    /// How fast its processes start and end, with its settings.
    fn pace(&self) -> Pace {
        Self::PACE
    }

    /// A process starts. `store` is for the synchronous work of an algorithm before it serves; it is `None` while the
    /// store is out of reach.
    fn start(
        &mut self,
        setup: &Setup,
        store: Option<&mut Self::Store>,
        machine: &mut Machine<'_, Self>,
    ) -> Self::Process;

    /// The process's alarm fires.
    fn wake(&mut self, _process: &mut Self::Process, _machine: &mut Machine<'_, Self>) {}

    /// The answer to request `number`, or its timeout. Late and repeated answers arrive too.
    fn answer(
        &mut self,
        _process: &mut Self::Process,
        _number: u64,
        _answer: Result<Self::Reply, Silence>,
        _machine: &mut Machine<'_, Self>,
    ) {
    }

    /// A caller asks for IDs.
    fn mint(&mut self, process: &mut Self::Process, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict;

    /// The caller of an ask that got [`Verdict::Later`] has left.
    fn leave(&mut self, _process: &mut Self::Process, _ask: u64, _machine: &mut Machine<'_, Self>) {}

    /// Tells the process that its memory may have been copied, if it has a way to hear that.
    fn invalidate(&mut self, _process: &mut Self::Process, _machine: &mut Machine<'_, Self>) {}

    /// Tells the process to stop (SIGTERM). It runs on for a short time.
    fn stop(&mut self, _process: &mut Self::Process, _machine: &mut Machine<'_, Self>) {}

    /// A life has ended in some way, at this time of its host's wall clock. The operator knows it; the host's next
    /// process does not.
    fn ended(&mut self, _life: Life, _wall: UnixMillis) {}

    /// A copy of the process's current memory, for a machine's snapshot or clone. From now on the copy draws its system
    /// randomness from `fresh`.
    fn memory(&mut self, process: &Self::Process, fresh: Random) -> Option<Self::Process>;

    /// The longest that the caller of an ask waits, in milliseconds, if the algorithm promises a limit.
    fn patience_ms(&self, _ask: u64) -> Option<u64> {
        None
    }

    /// Whether the documentation predicts that this ID may repeat, after what happened to the store.
    fn may_repeat(&self, _name: usize, _id: u128) -> bool {
        false
    }

    /// The parts of an ID if it is a snowflake.
    fn read(&self, _name: usize, _id: u128) -> Option<Parts> {
        None
    }

    /// The rules broken since the last call.
    fn broken(&mut self) -> Vec<String> {
        Vec::new()
    }
}
