//! One life of a node: a real floe, without threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use floe::ledger::{Memory, Reply};
use floe::manual::{self, Call, Manual, Surroundings};
use floe::{
    Floe, Generator, LedgerError, MintError, MonoMillis, Outcome, Owner, Reading, Segment, UnixMillis,
};

use super::Plan;
use crate::ledger::SimLedger;
use crate::random::Random;

/// The one clock of all nodes: milliseconds since the run began.
#[derive(Clone, Default)]
pub(super) struct Clock(Arc<AtomicU64>);

/// 2026-03-01T12:00:00Z.
const BEGIN_MS: i64 = 1_772_366_400_000;

impl Clock {
    pub(super) fn set(&self, ms: u64) {
        self.0.store(ms, Relaxed);
    }

    fn read(&self) -> Reading {
        let ms = self.0.load(Relaxed);
        let wall = UnixMillis::new(BEGIN_MS).plus(i64::try_from(ms).unwrap_or(i64::MAX));
        Reading { wall, mono: MonoMillis::new(ms) }
    }

    /// The mark for this time.
    pub(super) fn mark(ms: u64) -> u64 {
        UnixMillis::new(BEGIN_MS).position().unwrap_or(0) + ms
    }
}

/// The result of a mint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Minted {
    Id,
    /// No ID: the node is asking the ledger, or the ledger does not answer.
    Nothing,
    /// No ID: no slot is free.
    SlotsOut,
}

/// See the module.
pub(super) struct Node {
    manual: Manual,
    generator: Generator,
    segment: Option<Segment>,
    /// Fractions of a number, in thousandths, that the segment's callers have not asked for yet.
    owed: u64,
    visited_ms: u64,
    /// Whether its last mint got an ID.
    pub(super) mints: bool,
    /// How many probes of the current acquisition were answered.
    pub(super) probes: u64,
    /// When to wake it.
    pub(super) wake_ms: Option<u64>,
}

impl Node {
    /// # Errors
    /// The ledger's error if it cannot be reached.
    pub(super) fn start(
        plan: &Plan,
        number: u32,
        memory: &Memory,
        reachable: bool,
        clock: &Clock,
        mut random: Random,
    ) -> Result<Self, String> {
        let read = clock.clone();
        let surroundings = Surroundings {
            clock: Box::new(move || read.read()),
            entropy: Box::new(move || random.bytes()),
            owner: Owner {
                host: "fleet".to_owned(),
                boot: "simulated".to_owned(),
                pid: number,
                started: 0,
                version: "0".to_owned(),
                machine: String::new(),
                pids: String::new(),
                instance: String::new(),
                since: None,
            },
            is_gone: Box::new(|_| false),
        };
        let builder = Floe::builder().window(Duration::from_millis(plan.window_ms)).renew_idle(true);
        let ledger = SimLedger::to(memory, reachable);
        let (floe, manual) =
            manual::open(builder, ledger, surroundings).map_err(|error| error.to_string())?;
        let generator = floe.snowflake("orders", plan.layout.clone()).map_err(|error| error.to_string())?;
        let segment = match plan.numbers_per_second {
            0 => None,
            _ => Some(floe.segment("tickets").map_err(|error| error.to_string())?),
        };
        let visited_ms = clock.read().mono.get();
        Ok(Self { manual, generator, segment, owed: 0, visited_ms, mints: false, probes: 0, wake_ms: None })
    }

    /// A caller asks for an ID.
    pub(super) fn mint(&mut self) -> Minted {
        match self.generator.try_mint() {
            Ok(Outcome::Ready(_)) => Minted::Id,
            Err(MintError::Exhausted(_)) => Minted::SlotsOut,
            Ok(Outcome::NeedWindow | Outcome::WaitUntil(_)) | Err(_) => Minted::Nothing,
        }
    }

    /// Takes the numbers that callers have wanted since the last visit. Callers that get none leave.
    pub(super) fn take_numbers(&mut self, now_ms: u64, per_second: u64) {
        let Some(segment) = &self.segment else { return };
        self.owed += (now_ms - self.visited_ms) * per_second;
        self.visited_ms = now_ms;
        let count = self.owed / 1_000;
        self.owed %= 1_000;
        if count > 0 {
            // The result does not matter here: only the load on the ledger does.
            let _ = segment.try_mint_many(count);
        }
    }

    /// Lets it look around until it has nothing left to do at this time.
    pub(super) fn turn(&mut self) -> VecDeque<Call> {
        let mut calls = VecDeque::new();
        loop {
            let mut turn = self.manual.turn();
            calls.append(&mut turn.calls);
            self.wake_ms = turn.wake.map(MonoMillis::get);
            if !self.manual.is_called() {
                return calls;
            }
        }
    }

    pub(super) fn is_called(&self) -> bool {
        self.manual.is_called()
    }

    pub(super) fn answer(&self, id: u64, answer: Result<Reply, LedgerError>) {
        self.manual.answer(id, answer);
    }

    pub(super) fn answer_clock(&self, id: u64, answer: Result<Option<UnixMillis>, LedgerError>) {
        self.manual.answer_clock(id, answer);
    }

    pub(super) fn over(&self, id: u64) {
        self.manual.over(id);
    }

    /// Stops it in order.
    pub(super) fn close(&mut self) -> VecDeque<Call> {
        self.manual.close();
        self.manual.turn().calls
    }
}
