//! One life of a floe process: the library without threads.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use floe::ledger::{Memory, Reply};
use floe::manual::{self, Call, Glance, Manual, Surroundings};
use floe::{
    DatedId, DefineError, Definition, Floe, Id, IdRepr, LedgerError, MintError, MonoMillis, Outcome, Owner,
    Reading, UnixMillis, WorkerChoice,
};

use super::names::{self, Served};
use crate::ledger::SimLedger;
use crate::model::{Ask, Fleet, Life, Setup};
use crate::random::Random;

/// An input to a process.
#[derive(Clone)]
pub(super) enum Input {
    /// Its alarm fires.
    Wake,
    /// The ledger's answer, or its timeout.
    Answer(u64, Result<Reply, LedgerError>),
    /// The time of the ledger's clock, or its timeout.
    Clock(u64, Result<Option<UnixMillis>, LedgerError>),
    /// A call to give back has ended.
    Over(u64),
    /// A caller asks for IDs.
    Mint(Ask, How),
    /// A caller has left.
    Leave(u64),
    /// It is told that it may have been copied.
    Invalidate,
    /// It is told to stop.
    Stop,
    /// Its memory is a copy. From here on its system gives it this randomness.
    Copied(Random),
}

/// How a caller's thread mints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// Without a pause.
    Straight,
    /// The thread reads the clock and is preempted there. When it is called again, it continues with that reading.
    Preempted,
    /// With the time that the ticker's thread keeps ready.
    AtHand,
}

/// The effects of an input.
#[derive(Default)]
pub(super) struct Effects {
    /// The calls to send to the ledger.
    pub(super) calls: Vec<Call>,
    /// When to wake it.
    pub(super) wake: Option<MonoMillis>,
    /// Asks with their answers.
    pub(super) answered: Vec<(Ask, Result<Vec<u128>, MintError>)>,
    /// The asks whose thread was preempted.
    pub(super) preempted: bool,
    /// The steady time, and whether the clock forbids minting.
    pub(super) steady: u64,
    pub(super) refused: bool,
    /// It looked around repeatedly although the time did not advance.
    pub(super) spins: bool,
}

/// Everything that a process needs to start.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) fleet: Fleet,
    pub(super) setup: Setup,
    pub(super) life: Life,
    pub(super) first: Reading,
    pub(super) entropy: Random,
    pub(super) memory: Memory,
    pub(super) reachable: bool,
}

/// See the module.
pub(super) struct Running {
    start: Start,
    manual: Manual,
    floe: Floe,
    names: Vec<Served>,
    clock: Arc<Hands>,
    entropy: Arc<Mutex<Random>>,
    waiting: Vec<Waiting>,
    preempted: Vec<(u64, Glance)>,
    woken: Arc<Woken>,
    /// All inputs, if its memory may have to be copied: the copy replays them.
    journal: Option<Vec<(Reading, Input)>>,
    turns: (u64, u32),
}

struct Waiting {
    ask: Ask,
    future: Minting,
}

type Minting = Pin<Box<dyn Future<Output = Result<Vec<u128>, MintError>> + Send>>;

/// The process's clocks, as the world sets them.
#[derive(Default)]
struct Hands {
    wall: AtomicI64,
    mono: AtomicU64,
}

impl Hands {
    fn set(&self, reading: Reading) {
        self.wall.store(reading.wall.get(), Relaxed);
        self.mono.store(reading.mono.get(), Relaxed);
    }

    fn read(&self) -> Reading {
        Reading {
            wall: UnixMillis::new(self.wall.load(Relaxed)),
            mono: MonoMillis::new(self.mono.load(Relaxed)),
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A node looks around at most this often within a millisecond. More means a loop that does not wait.
const MOST_TURNS: u32 = 1_000;

impl Running {
    /// Starts it.
    ///
    /// # Errors
    /// Why it ends at once: the ledger is out of reach.
    pub(super) fn start(start: Start, journaling: bool) -> Result<Self, String> {
        let clock = Arc::new(Hands::default());
        clock.set(start.first);
        let entropy = Arc::new(Mutex::new(start.entropy.clone()));
        let (read, draw) = (Arc::clone(&clock), Arc::clone(&entropy));
        let node = start.life.node;
        let surroundings = Surroundings {
            clock: Box::new(move || read.read()),
            entropy: Box::new(move || draw.lock().unwrap_or_else(PoisonError::into_inner).bytes()),
            owner: owner(start.life),
            // The same node on the same machine: two of them never run at the same time.
            is_gone: Box::new(move |owner| owner.host == host_name(start.life) && owner.pid == pid(node)),
        };
        let mut builder = Floe::builder()
            .window(Duration::from_millis(start.setup.window_ms))
            .renew_idle(start.fleet.renew_idle)
            .max_wait(Duration::from_millis(super::PATIENCE_MS));
        if start.setup.fixed {
            builder = builder.worker(WorkerChoice::Fixed(start.setup.worker));
        }
        let ledger = SimLedger::to(&start.memory, start.reachable);
        let (floe, manual) =
            manual::open(builder, ledger, surroundings).map_err(|error| error.to_string())?;
        let mut names = Vec::with_capacity(names::NAMES.len());
        for name in 0..names::NAMES.len() {
            match names::define(&floe, name, &start.fleet, start.setup.odd, node % 2 == 1) {
                Err(DefineError::Unavailable(why)) => return Err(why),
                served => names.push(served.unwrap_or_else(|error| Served::Not(error.to_string()))),
            }
        }
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let (waiting, preempted, journal) = (Vec::new(), Vec::new(), journaling.then(Vec::new));
        let turns = (0, 0);
        Ok(Self { start, manual, floe, names, clock, entropy, waiting, preempted, woken, journal, turns })
    }

    /// A copy of its memory: a process that has replayed the same inputs. Its further randomness is `fresh`, as in a
    /// copied machine.
    pub(super) fn copy(&self, fresh: Random) -> Option<Self> {
        let journal = self.journal.as_ref()?;
        let mut copy = Self::start(Start { reachable: true, ..self.start.clone() }, true).ok()?;
        for (now, input) in journal {
            copy.act(*now, input.clone());
        }
        let (now, _) = journal.last()?;
        copy.act(*now, Input::Copied(fresh));
        Some(copy)
    }

    /// Whether its definition of a name is `stored`. Also `true` if it does not serve the name.
    pub(super) fn serves(&self, name: usize, stored: &Definition) -> bool {
        matches!(self.names[name], Served::Not(_))
            || names::definition(name, &self.start.fleet, self.start.setup.odd).is_ok_and(|it| it == *stored)
    }

    pub(super) fn floe(&self) -> &Floe {
        &self.floe
    }

    /// Takes one input, and does everything that follows from it at this time.
    pub(super) fn act(&mut self, now: Reading, input: Input) -> Effects {
        if let Some(journal) = &mut self.journal {
            journal.push((now, input.clone()));
        }
        self.clock.set(now);
        let mut effects = Effects::default();
        let mut due = true;
        match input {
            Input::Wake => {}
            Input::Copied(fresh) => {
                *self.entropy.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
                due = false;
            }
            Input::Answer(id, answer) => self.manual.answer(id, answer),
            Input::Clock(id, answer) => self.manual.answer_clock(id, answer),
            Input::Over(id) => self.manual.over(id),
            Input::Leave(ask) => {
                self.waiting.retain(|waiting| waiting.ask.id != ask);
                due = false;
            }
            Input::Invalidate => self.floe.invalidate(),
            Input::Stop => self.manual.close(),
            Input::Mint(ask, how) => {
                due = false;
                self.mint(&ask, how, &mut effects);
            }
        }
        while due || self.manual.is_called() || self.woken.0.load(Relaxed) {
            due = false;
            let turn = self.manual.turn();
            effects.calls.extend(turn.calls);
            effects.wake = turn.wake;
            if self.woken.0.swap(false, Relaxed) {
                self.poll(&mut effects);
            }
            self.turns = match self.turns {
                (at, turns) if at == now.mono.get() => (at, turns + 1),
                _ => (now.mono.get(), 1),
            };
            if self.turns.1 > MOST_TURNS {
                effects.spins = true;
                break;
            }
        }
        // This is part of the replay, because every look at a clock may change the node.
        let (steady, refusal) = self.manual.steady();
        (effects.steady, effects.refused) = (steady.position().unwrap_or(0), refusal.is_some());
        effects
    }

    fn poll(&mut self, effects: &mut Effects) {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut context = Context::from_waker(&waker);
        self.waiting.retain_mut(|Waiting { ask, future }| match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => {
                effects.answered.push((*ask, result));
                false
            }
            Poll::Pending => true,
        });
    }

    fn mint(&mut self, ask: &Ask, how: How, effects: &mut Effects) {
        if let Some(at) = self.preempted.iter().position(|(preempted, _)| *preempted == ask.id) {
            let (_, glance) = self.preempted.swap_remove(at);
            if let Served::Generator(generator) | Served::Bulk(generator) | Served::Minter(generator, _) =
                &self.names[ask.name]
            {
                match manual::mint_at(generator, glance) {
                    Ok(Outcome::Ready(id)) => effects.answered.push((*ask, Ok(vec![id.to_u128()]))),
                    Ok(_) => self.wait(ask, effects),
                    Err(error) => effects.answered.push((*ask, Err(error))),
                }
                return;
            }
        }
        match how {
            How::AtHand => self.manual.tick(),
            How::Straight => self.manual.put_away(),
            How::Preempted => {
                if let (Served::Generator(_), Ok(glance)) = (&self.names[ask.name], self.manual.glance()) {
                    self.preempted.push((ask.id, glance));
                    effects.preempted = true;
                    return;
                }
            }
        }
        let at_once = match &mut self.names[ask.name] {
            Served::Not(why) => Err(MintError::stopped(why.clone())),
            Served::Generator(generator) => generator.try_mint().map(one),
            Served::Minter(_, minter) => minter.try_mint().map(one),
            Served::Segment(segment) => {
                segment.try_mint_many(ask.count).map(|batch| batch.map(|ids| ids.map(Id::to_u128).collect()))
            }
            // IDs minted before an error, or before the numbers ran out, are lost.
            Served::SegmentMinter(_, minter) => {
                (0..ask.count).map(|_| minter.try_mint().map(|id| id.map(Id::to_u128))).collect()
            }
            Served::Bulk(_) | Served::Counter(_) | Served::Dated(_) => Ok(None),
        };
        match at_once {
            Ok(Some(ids)) => effects.answered.push((*ask, Ok(ids))),
            Ok(None) => self.wait(ask, effects),
            Err(error) => effects.answered.push((*ask, Err(error))),
        }
    }

    /// The caller's future is polled now, and again when something wakes it.
    fn wait(&mut self, ask: &Ask, effects: &mut Effects) {
        let count = ask.count;
        let mut future: Minting = match &self.names[ask.name] {
            Served::Not(_) => return,
            Served::Generator(generator) | Served::Minter(generator, _) => {
                let generator = generator.clone();
                Box::pin(async move { Ok(vec![generator.mint_async().await?.to_u128()]) })
            }
            Served::Bulk(generator) => {
                let generator = generator.clone();
                Box::pin(
                    async move { Ok(generator.mint_many_async(count).await?.map(Id::to_u128).collect()) },
                )
            }
            Served::Segment(segment) | Served::SegmentMinter(segment, _) => {
                let segment = segment.clone();
                Box::pin(async move { Ok(segment.mint_many_async(count).await?.map(Id::to_u128).collect()) })
            }
            Served::Counter(counter) => {
                let counter = counter.clone();
                Box::pin(async move { Ok(counter.mint_many_async(count).await?.map(Id::to_u128).collect()) })
            }
            Served::Dated(dated) => {
                let dated = dated.clone();
                Box::pin(
                    async move { Ok(dated.mint_many_async(count).await?.map(|id| number(&id)).collect()) },
                )
            }
        };
        let waker = Waker::from(Arc::clone(&self.woken));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => effects.answered.push((*ask, result)),
            Poll::Pending => self.waiting.push(Waiting { ask: *ask, future }),
        }
    }
}

fn one(outcome: Outcome<Id>) -> Option<Vec<u128>> {
    match outcome {
        Outcome::Ready(id) => Some(vec![id.to_u128()]),
        Outcome::WaitUntil(_) | Outcome::NeedWindow => None,
    }
}

/// A dated ID as one number in the order of days and counts.
fn number(id: &DatedId) -> u128 {
    let day = id.date();
    let day = u32::from(day.year().unsigned_abs()) * 10_000
        + u32::from(day.month().unsigned_abs()) * 100
        + u32::from(day.day().unsigned_abs());
    u128::from(day) << 64 | u128::from(id.counter())
}

fn host_name(life: Life) -> String {
    format!("host-{}", life.host)
}

fn pid(node: usize) -> u32 {
    u32::try_from(node).unwrap_or(u32::MAX)
}

fn owner(life: Life) -> Owner {
    Owner {
        host: host_name(life),
        boot: "simulated".to_owned(),
        pid: pid(life.node),
        started: life.number.into(),
        version: "0".to_owned(),
        machine: String::new(),
        pids: String::new(),
        instance: String::new(),
        since: None,
    }
}
