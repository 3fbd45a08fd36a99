//! What the world runs: an algorithm that mints IDs on the nodes of a fleet.
//!
//! floe is one [`Model`], and each published algorithm is another. A model sees the world only through the
//! [`Machine`] that it is called with: a wall clock that may be wrong, a monotonic clock, a disk, and requests to one
//! shared store that may be late, lost or executed twice.

use std::fmt;

use floe::{MonoMillis, Reading, UnixMillis};

use crate::random::Random;

/// True time in microseconds since the history began. No process can read it.
pub type Micros = u64;

/// One life of a node: from a start to a crash, a stop, or the end of the history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Life {
    /// The node, from 0. It keeps its number and its configuration over restarts.
    pub node: usize,
    /// Counts the node's starts, from 0.
    pub number: u32,
    /// The machine that it runs on, from 0: clocks and disks belong to hosts.
    pub host: usize,
}

/// How an operator has set a node up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The worker id in its configuration file: its own number, unless two nodes were given the same one by mistake.
    pub worker: u64,
    /// Whether floe is given that worker id, too, instead of taking a free slot.
    pub fixed: bool,
    /// How long floe's windows are.
    pub window_ms: u64,
    /// Whether its definitions differ from those of the other nodes.
    pub odd: bool,
}

/// What is the same for every node of a fleet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fleet {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many bits worker ids have where an algorithm lets that be chosen: few, where slots are to be fewer than nodes.
    pub worker_bits: u32,
    /// Whether slots of floe's are held while nobody mints.
    pub keep: bool,
    /// How many milliseconds the store's own clock is off the true time; `None` where it has none.
    pub store_clock: Option<i64>,
    /// Whether a tick of the layout that most of floe's names share has few IDs, so that batches wait for the clock.
    pub few: bool,
}

/// Someone wants IDs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// Its number, from 0 in the order of asking.
    pub id: u64,
    /// Which of [`Model::names`].
    pub name: usize,
    /// How many; 1 for a model that mints one at a time.
    pub count: u64,
    /// When it was asked, in true time.
    pub asked_at: Micros,
}

/// What became of an [`Ask`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// These, in order.
    Minted(Vec<u128>),
    /// An error: the algorithm's own, told to the caller.
    Refused(String),
    /// The caller's thread waits inside the algorithm: [`Model::mint`] is called again with the same ask then.
    Again(MonoMillis),
    /// The answer will come through [`Machine::deliver`].
    Later,
}

/// What is unique and what is ordered about the IDs of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameInfo {
    /// For people.
    pub label: &'static str,
    /// IDs of names in one domain must differ from one another.
    pub domain: u8,
    /// What order is promised.
    pub order: Order,
}

/// A call that begins after another has returned gets a larger ID, if both were made …
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// … to the same life of a node.
    Life,
    /// … anywhere in the fleet.
    Fleet,
    /// Nothing is promised.
    None,
}

/// What a snowflake says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Its node fields together.
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

/// The store did not answer in time. Whether the request took effect is unknown; it may still do so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence;

/// How fast a process starts and ends, which hangs on what it runs on and on what it does at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// From the end of one life to the next one's first call, at the least.
    pub start: Micros,
    /// From being told to stop to its end, at the least.
    pub stop: Micros,
}

impl Pace {
    /// A JVM with a framework in it: no life begins sooner than 1 s after the last one's end.
    pub const JVM: Self = Self { start: 1_000_000, stop: 0 };
    /// A binary of Go, Rust or C: 50 ms.
    pub const NATIVE: Self = Self { start: 50_000, stop: 0 };
    /// Sooner than any machine can: floe's own histories, which are to be the harder ones.
    pub const AT_ONCE: Self = Self { start: 0, stop: 0 };
}

/// A process's view of the world, for the length of one call.
pub struct Machine<'a, M: Model + ?Sized> {
    /// What its clocks say.
    pub now: Reading,
    /// Whose call it is.
    pub life: Life,
    /// Its disk: what one life has written the next one on that host reads.
    pub disk: &'a mut M::Disk,
    /// Randomness of its own.
    pub random: &'a mut Random,
    /// What it wants of the world.
    pub outbox: &'a mut Outbox<M::Request>,
    /// True time, less what the process stood still: for checks, never for an algorithm.
    pub ran: Micros,
    /// True time: for what processes tell each other without the store, never for an algorithm.
    pub at: Micros,
}

/// What a process wants of the world.
#[derive(Debug)]
pub struct Outbox<R> {
    /// Requests to the store, with their numbers.
    pub requests: Vec<(u64, R)>,
    /// When its alarm is to ring.
    pub wake: Option<MonoMillis>,
    /// Answers to asks that were told [`Verdict::Later`].
    pub delivered: Vec<(u64, Verdict)>,
    /// What it has noted.
    pub notes: Vec<Note>,
    /// Rules that it has broken itself.
    pub violations: Vec<String>,
    /// Whether notes are kept.
    pub noting: bool,
    /// Why it has given up.
    pub died: Option<String>,
    /// The number of its last request.
    pub last_request: u64,
}

impl<R> Outbox<R> {
    /// Wants nothing yet; `noting` says whether notes are kept.
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

/// Something that a picture or a story tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// From here on the life may mint in this range: of time in Unix milliseconds for a window or a claim on a worker id,
    /// of numbers for a segment.
    Holds {
        /// `slot 3`, `orders`.
        what: String,
        /// Inclusive.
        start: u64,
        /// Exclusive; `u64::MAX` where the algorithm knows of no end.
        end: u64,
        /// Whether the range is one of Unix milliseconds.
        time: bool,
    },
    /// Anything else that a reader of the story needs, as a clause: "reports that it has used up to …".
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

    /// Sends a request to the shared store. Its answer, or [`Silence`], comes to [`Model::answer`] under the number that
    /// this returns.
    pub fn send(&mut self, request: M::Request) -> u64 {
        self.outbox.last_request += 1;
        self.outbox.requests.push((self.outbox.last_request, request));
        self.outbox.last_request
    }

    /// The number that the next request will have.
    pub(crate) fn next_request(&self) -> u64 {
        self.outbox.last_request + 1
    }

    /// Has [`Model::wake`] called at that time of the monotonic clock. There is one alarm: the last call counts.
    pub fn wake_at(&mut self, at: MonoMillis) {
        self.outbox.wake = Some(at);
    }

    /// [`Machine::wake_at`] so many milliseconds from now.
    pub fn wake_in(&mut self, millis: u64) {
        self.wake_at(self.now.mono.plus(millis));
    }

    /// Answers an ask that was told [`Verdict::Later`].
    pub fn deliver(&mut self, ask: u64, verdict: Verdict) {
        self.outbox.delivered.push((ask, verdict));
    }

    /// A rule that the algorithm itself has broken.
    pub(crate) fn violation(&mut self, words: String) {
        self.outbox.violations.push(words);
    }

    /// Ends the process: the algorithm gives up. Two seconds later its supervisor starts it again.
    pub fn die(&mut self, why: impl Into<String>) {
        self.outbox.died = Some(why.into());
    }

    /// Notes something for the picture and the story; costs nothing while neither is wanted.
    pub fn note(&mut self, note: impl FnOnce() -> Note) {
        if self.outbox.noting {
            self.outbox.notes.push(note());
        }
    }

    /// [`Note::Says`].
    pub fn says(&mut self, words: impl FnOnce() -> String) {
        self.note(|| Note::Says(words()));
    }

    /// [`Note::Holds`] of a span of time.
    pub fn holds(&mut self, what: impl FnOnce() -> String, start: UnixMillis, end: Option<UnixMillis>) {
        let position = |time: UnixMillis| time.position().unwrap_or(0);
        self.note(|| Note::Holds {
            what: what(),
            start: position(start),
            end: end.map_or(u64::MAX, position),
            time: true,
        });
    }
}

/// An algorithm that mints IDs, and the store that it keeps its state in.
pub trait Model {
    /// The shared store.
    type Store;
    /// What a host's disk holds of it.
    type Disk: Clone + Default;
    /// One life of a node.
    type Process;
    /// What a process asks the store.
    type Request: Clone;
    /// What the store answers.
    type Reply: Clone;

    /// The names that it mints under.
    fn names(&self) -> &[NameInfo];

    /// The most IDs that one ask wants.
    fn most_at_once(&self, _name: usize) -> u64 {
        1
    }

    /// A new, empty store for a fleet.
    fn store(&mut self, fleet: &Fleet) -> Self::Store;

    /// A copy of the store as it is: a backup, or a replica that has caught up.
    fn copy(&self, store: &Self::Store) -> Self::Store;

    /// The store does what a request asks for, at once and alone.
    fn execute(
        &mut self,
        store: &mut Self::Store,
        from: Life,
        request: &Self::Request,
        now: Micros,
    ) -> Self::Reply;

    /// The store forgets what happened since `copy` was taken.
    fn forget(&mut self, store: &mut Self::Store, copy: &Self::Store) {
        *store = self.copy(copy);
    }

    /// One record is eaten; which, in words, or `None` where there is none.
    fn eat(&mut self, _store: &mut Self::Store, _random: &mut Random) -> Option<String> {
        None
    }

    /// The store dies; what it had not made durable is gone. It is up again at [`store_starts`](Self::store_starts).
    fn store_dies(&mut self, _store: &mut Self::Store, _now: Micros) {}

    /// The store has started again, on what it had, or on the copy that it has been put back to.
    fn store_starts(&mut self, _store: &mut Self::Store, _now: Micros) {}

    /// How fast its processes start and end.
    fn pace(&self) -> Pace;

    /// A process starts. `store` is for what an algorithm does synchronously before it serves; `None` is what it sees
    /// while the store is out of reach.
    fn start(
        &mut self,
        setup: &Setup,
        store: Option<&mut Self::Store>,
        machine: &mut Machine<'_, Self>,
    ) -> Self::Process;

    /// The process's alarm has rung.
    fn wake(&mut self, _process: &mut Self::Process, _machine: &mut Machine<'_, Self>) {}

    /// The store has answered request `number`, or has not in time. Late and doubled answers come as well.
    fn answer(
        &mut self,
        _process: &mut Self::Process,
        _number: u64,
        _answer: Result<Self::Reply, Silence>,
        _machine: &mut Machine<'_, Self>,
    ) {
    }

    /// Someone wants IDs.
    fn mint(&mut self, process: &mut Self::Process, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict;

    /// The caller of an ask that was told [`Verdict::Later`] has gone.
    fn leave(&mut self, _process: &mut Self::Process, _ask: u64, _machine: &mut Machine<'_, Self>) {}

    /// The process is told that its memory may have been copied, where it can be told.
    fn invalidate(&mut self, _process: &mut Self::Process, _machine: &mut Machine<'_, Self>) {}

    /// The process is told to stop (SIGTERM). It goes on running for a little while.
    fn stop(&mut self, _process: &mut Self::Process, _machine: &mut Machine<'_, Self>) {}

    /// A life has ended, however it did, at this time of its host's wall clock. The operator knows it; its next process does
    /// not.
    fn ended(&mut self, _life: Life, _wall: UnixMillis) {}

    /// A copy of the process's memory as it is, for a machine's snapshot or clone. What the copy draws from its
    /// system's randomness from now on is `fresh`.
    fn memory(&mut self, process: &Self::Process, fresh: Random) -> Option<Self::Process>;

    /// How long the caller of an ask waits at most, in milliseconds, where the algorithm promises that.
    fn patience_ms(&self, _ask: u64) -> Option<u64> {
        None
    }

    /// Whether the documentation predicts that this ID may be handed out again, after what has happened to the store.
    fn may_repeat(&self, _name: usize, _id: u128) -> bool {
        false
    }

    /// What an ID says about itself, where it is a snowflake.
    fn read(&self, _name: usize, _id: u128) -> Option<Parts> {
        None
    }

    /// The rules that were broken since the last call.
    fn broken(&mut self) -> Vec<String> {
        Vec::new()
    }
}
