//! The node by hand: a clock that the test moves, a ledger that answers when the test says so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::*;
use crate::clock::{ClockPolicy, Stamp, TimeSource};
use crate::cursor::{Draw, Drawn, Owned};
use crate::definition::DatedShape;
use crate::error::MintError;
use crate::layout::{Layout, Workers};
use crate::ledger::{Ledger, Memory};
use crate::shared_cursor::SharedCursor;
use crate::signal::Signal;
use crate::stream::{Start, Stream};
use crate::supply::SegmentSupply;
use crate::ticket::Ticket;
use crate::time::Reading;

mod asking;
mod at_hand;
mod closing;
mod counts;
mod dated;
mod eras;
mod fixed;
mod fleet;
mod horizon;
mod ledger_clock;
mod numbers;
mod slots;
mod unloading;
mod windows;

/// Where every test's clock begins: 2026-03-01T12:00:00Z.
const BEGIN: i64 = 1_772_366_400_000;
const WINDOW: u64 = 1_000;

/// A clock that stands until it is moved.
#[derive(Clone)]
struct Hands(Arc<Mutex<Reading>>);

impl TimeSource for Hands {
    fn read(&self) -> Reading {
        *self.0.lock().unwrap()
    }
}

impl Hands {
    fn at(wall: i64) -> Self {
        Self(Arc::new(Mutex::new(Reading { wall: UnixMillis::new(wall), mono: MonoMillis::new(5_000) })))
    }

    /// Time passes.
    fn pass(&self, millis: u64) {
        let mut reading = self.0.lock().unwrap();
        reading.wall = reading.wall.plus(i64::try_from(millis).unwrap());
        reading.mono = reading.mono.plus(millis);
    }

    /// The wall clock is set.
    fn set(&self, by: i64) {
        let mut reading = self.0.lock().unwrap();
        reading.wall = reading.wall.plus(by);
    }
}

/// One node with its clock, and the ledger that it asks.
struct Rig {
    node: Node,
    clock: Clock,
    hands: Hands,
    ledger: Memory,
    signal: Arc<Signal>,
    /// Asked and not answered.
    calls: VecDeque<Call>,
    ledger_clock: LedgersClock,
}

/// The ledger's own clock. It runs with the monotonic clock of the machine.
enum LedgersClock {
    /// So many milliseconds from the time that the machine's clock showed at first; `None` if there is none.
    AtOnce(Option<i64>),
    /// Questions wait in `calls`, as others do.
    ByHand,
}

/// What a mint came to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Mint {
    Got {
        position: u64,
        worker: u64,
    },
    Later,
    /// There is nothing to mint from, and why, where that is known.
    Empty(Option<MintError>),
}

fn owner(host: &str, pid: u32) -> Owner {
    let text = format!("host={host} boot=b pid={pid} started=1 version=0 instance=");
    text.parse().unwrap()
}

impl Rig {
    fn new(ledger: &Memory, seed: u64) -> Self {
        Self::with(ledger, seed, Hands::at(BEGIN), WINDOW, false)
    }

    fn with(ledger: &Memory, seed: u64, hands: Hands, window_ms: u64, renew_idle: bool) -> Self {
        let mut random = seed;
        let settings = NodeSettings {
            window_ms,
            renew_idle,
            check_clock: true,
            ledger: "memory:".to_owned(),
            owner: owner("here", u32::try_from(seed % 1_000).unwrap()),
            is_gone: Box::new(|owner| owner.host == "gone"),
            at_hand: Box::new(|_| Vec::new()),
            entropy: Box::new(move || {
                let mut bytes = [0; 16];
                for half in bytes.chunks_mut(8) {
                    random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mixed = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    half.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
                }
                bytes
            }),
        };
        Self {
            node: Node::new(settings),
            clock: Clock::new(ClockPolicy::default(), Box::new(hands.clone())),
            hands,
            ledger: ledger.clone(),
            signal: Arc::default(),
            calls: VecDeque::new(),
            ledger_clock: LedgersClock::AtOnce(None),
        }
    }

    fn snowflake(&mut self, layout: &Layout, workers: Workers) -> Arc<Stream> {
        let stream = Stream::new(layout.clone(), Start::Zero, 10, 1, Arc::clone(&self.signal));
        let stream = Arc::new(stream);
        self.node.add_stream(workers, Arc::clone(&stream));
        stream
    }

    /// A stream of the usual layout in any of its slots.
    fn twitter(&mut self) -> Arc<Stream> {
        self.snowflake(&Layout::TWITTER, Workers::all(10).unwrap())
    }

    fn segment(&mut self, name: &str, steps: Steps) -> Arc<SegmentSupply> {
        self.segment_of(name, steps, 1, 1)
    }

    fn segment_of(&mut self, name: &str, steps: Steps, increment: u64, offset: u64) -> Arc<SegmentSupply> {
        let name = Name::new(name).unwrap();
        self.ledger.bind(&name, "segment", true).unwrap();
        let shared = SharedCursor::new(0, Arc::clone(&self.signal));
        let numbers = Arc::new(SegmentSupply::new(increment, offset, shared));
        self.node.add_segment(SegmentState::new(Key::name(&name), Arc::clone(&numbers), steps));
        numbers
    }

    fn queue(&mut self, name: &str, shape: Option<DatedShape>) -> Name {
        let name = Name::new(name).unwrap();
        self.ledger.bind(&name, "counted", true).unwrap();
        let queue = CounterQueue::new(name.clone(), shape.map(Arc::new));
        self.node.add_queue(queue);
        name
    }

    fn enqueue(&mut self, name: &Name, count: u64) -> Arc<Ticket> {
        let ticket = Ticket::new(count);
        self.node.enqueue(name, &ticket, &self.clock).unwrap();
        self.collect();
        ticket
    }

    /// Three callers come. The first one's answer shows that more come at once, so that after the answer to the others
    /// the name waits a moment for more callers.
    fn gather(&mut self, name: &Name) {
        (0..3).for_each(|_| drop(self.enqueue(name, 1)));
        let first = self.call();
        self.serve(first);
        let (id, request) = self.reserve();
        let answer = self.ledger.reserve(&request);
        assert_eq!(self.node.handle_answer(id, answer, &self.clock), Some(name.clone()));
    }

    fn now(&self) -> u64 {
        self.clock.look().stamp.millis()
    }

    /// For how long the node sleeps if nothing happens; `None` without end.
    fn sleep(&self) -> Option<u64> {
        let now = self.clock.look();
        Some(self.node.deadline(&now)?.since(now.mono))
    }

    /// The node looks around; what it asks waits in `calls`.
    fn step(&mut self) {
        self.node.step(&self.clock);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(call) = self.node.poll_call() {
            match (&call.op, &self.ledger_clock) {
                (Op::Clock, LedgersClock::AtOnce(ahead)) => {
                    let said = ahead.map(|ahead| self.right_time().plus(ahead));
                    self.node.handle_clock(call.id, Ok(said), &self.clock);
                }
                _ => self.calls.push_back(call),
            }
        }
    }

    /// What the machine's clock would show if nobody had set it.
    fn right_time(&self) -> UnixMillis {
        let ran = self.hands.read().mono.since(MonoMillis::new(5_000));
        UnixMillis::new(BEGIN).plus(i64::try_from(ran).unwrap())
    }

    /// The next question.
    fn call(&mut self) -> Call {
        self.step();
        self.calls.pop_front().expect("the node asks something")
    }

    fn reserve(&mut self) -> (u64, Reserve) {
        match self.call() {
            Call { id, op: Op::Reserve(request) | Op::Count(request) } => (id, request),
            other => panic!("{other:?} is no reservation"),
        }
    }

    fn answer(&mut self, id: u64, answer: Result<Reply, LedgerError>) {
        if let Some(name) = self.node.handle_answer(id, answer, &self.clock) {
            self.node.gathered(&name, &self.clock);
        }
        self.collect();
    }

    /// The ledger does what was asked, and the node hears of it.
    fn serve(&mut self, call: Call) {
        let id = call.id;
        match self.effect(&call) {
            Some(answer) => self.answer(id, answer),
            None => self.node.handle_over(id),
        }
    }

    /// The ledger does what was asked; the node does not hear of it yet.
    fn effect(&self, call: &Call) -> Option<Result<Reply, LedgerError>> {
        match &call.op {
            Op::Reserve(request) | Op::Count(request) => Some(self.ledger.reserve(request)),
            Op::GiveBack { key, token, from } => {
                self.ledger.give_back(key, *token, *from).unwrap();
                None
            }
            Op::Clock => panic!("the ledger's clock is answered by hand"),
        }
    }

    /// Until nothing more is asked.
    fn settle(&mut self) {
        self.step();
        for _ in 0..10_000 {
            let Some(call) = self.calls.pop_front() else { return };
            self.serve(call);
            self.step();
        }
        panic!("the node asks without end");
    }

    /// As [`settle`](Self::settle) on a ledger that is gone: every question fails, once. How many there were.
    fn fail_all(&mut self) -> usize {
        self.step();
        let calls: Vec<_> = self.calls.drain(..).collect();
        for call in &calls {
            self.answer(call.id, Err(LedgerError::Unavailable("gone".to_owned())));
        }
        calls.len()
    }

    fn mint(&self, stream: &Stream) -> Mint {
        let stamp = self.clock.look();
        if let Some(refusal) = stamp.refusal() {
            return Mint::Empty(Some(MintError::Stopped(Stopped::clock(refusal))));
        }
        match stream.draw(stamp.stamp, 1, true, 0) {
            Err(error) => Mint::Empty(Some(error)),
            Ok(Draw::Got(Drawn { start, tag, .. })) => Mint::Got { position: start, worker: tag },
            Ok(Draw::Later(_)) => Mint::Later,
            Ok(Draw::NeedRange) => {
                stream.shared.want(1);
                Mint::Empty(stream.shared.check().err())
            }
        }
    }

    /// Mints after whatever reservation that takes, and says in which slot.
    fn mint_in(&mut self, stream: &Stream) -> u64 {
        if matches!(self.mint(stream), Mint::Empty(_)) {
            self.settle();
        }
        match self.mint(stream) {
            Mint::Got { worker, .. } => worker,
            other => panic!("{other:?}"),
        }
    }

    /// `count` numbers that follow one another, or why not.
    fn number(&self, numbers: &SegmentSupply, count: u64) -> Result<u64, Option<MintError>> {
        match numbers.draw(self.clock.look().stamp.era(), count, true) {
            Draw::Got(Drawn { start, .. }) => Ok(start),
            _ => Err(numbers.shared.check().err()),
        }
    }

    fn numbers_after_settling(&mut self, numbers: &SegmentSupply, count: u64) -> u64 {
        self.number(numbers, count).unwrap_or_else(|_| {
            self.settle();
            self.number(numbers, count).unwrap()
        })
    }

    fn mark(&self, key: &Key) -> u64 {
        self.ledger.list(key.as_str(), "", 10).unwrap().iter().find(|r| r.key == key.as_str()).unwrap().mark
    }

    /// Somebody else reserves.
    fn other(&self, key: &Key, floor: u64, count: u64, note: Option<&str>) -> u64 {
        let request = Reserve {
            key: key.clone(),
            floor,
            count,
            max_mark: crate::ledger::MAX_MARK - count,
            token: Token::random().unwrap(),
            create: true,
            note: note.map(ToOwned::to_owned),
        };
        match self.ledger.reserve(&request).unwrap() {
            Reply::Got { end, .. } => end,
            refused => panic!("{refused:?}"),
        }
    }
}

const STEPS: Steps = Steps { min: 10, max: 80, refill_ms: 60_000 };

fn unavailable() -> Result<Reply, LedgerError> {
    Err(LedgerError::Unavailable("gone".to_owned()))
}
