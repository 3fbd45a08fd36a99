//! Yitter's IdGenerator, method 1 ("drift"): milliseconds since 2020-02-19T18:20:02Z, 6 bits of worker id, 6 of sequence.
//!
//! It promises short unique IDs that increase on a generator, bursts without waiting, and a clock that may go back any
//! number of times. The operator assigns the worker id. A millisecond's sequence begins at 5. When it ends, the
//! generator drifts: it moves to the next millisecond without the clock, up to 2000 times before it waits. While it
//! drifts it does not notice that the clock goes back. Otherwise, each ID while the clock is behind has an earlier
//! millisecond, one further back each time, with the reserved sequence number of that rollback: 1 to 4 in turn, one for
//! each rollback. It keeps nothing over a restart.
//!
//! Read from: yitter/IdGenerator 942ba6a, `Go/source/idgen/SnowWorkerM1.go` (`NextNormalId`, `NextOverCostId`), with
//! the defaults of `IdGeneratorOptions.go` and the checks of `DefaultIdGenerator.go`. Its README (`README.md`, "常规集成"
//! 9) asks the operator to start a service again only when the clock is past its last stop; no code checks that. In
//! [`AfterStop`] a supervisor checks it, and tries again 2 s later. [`yitter_redis`](super::yitter_redis) has its tool
//! that takes worker ids from Redis.

use std::collections::BTreeMap;

use super::{field, signed, spin, time};
use floe::UnixMillis;
use floe_sim::model::{Ask, Life, Machine, Model, Pace, Parts, Setup, Verdict};

const EPOCH: i64 = 1_582_136_402_000;
const FIRST: u64 = 5;
const MOST: u64 = 63;
const MOST_WORKER: u64 = 63;
const MOST_DRIFT: u32 = 2_000;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Yitter;

/// A generator.
#[derive(Clone, Debug)]
pub struct SnowWorker {
    worker: u64,
    last: i64,
    sequence: u64,
    /// The next ID's millisecond while the clock is behind; 0 while it is not.
    turn_back: i64,
    turn: u64,
    drifting: bool,
    drifted: u32,
    waiting: bool,
}

impl SnowWorker {
    pub(super) fn new<M: Model>(worker: u64, machine: &mut Machine<'_, M>) -> Self {
        if worker > MOST_WORKER {
            machine.die("WorkerId error. (range:[0, 63]");
        } else if machine.wall() < EPOCH {
            machine.die("BaseTime error.");
        }
        machine.claims(worker);
        SnowWorker {
            worker,
            last: 0,
            sequence: FIRST,
            turn_back: 0,
            turn: 0,
            drifting: false,
            drifted: 0,
            waiting: false,
        }
    }

    /// `Next`.
    pub(super) fn next<M: Model>(&mut self, machine: &Machine<'_, M>) -> Verdict {
        let now = machine.wall() - EPOCH;
        if self.waiting || self.drifting {
            if now > self.last {
                self.waiting = false;
                return self.settle(now);
            } else if self.waiting || self.drifted >= MOST_DRIFT {
                self.waiting = true;
                return spin(machine, self.last + EPOCH);
            } else if self.sequence > MOST {
                self.drift();
            }
            return self.id();
        }
        if now < self.last {
            if self.turn_back < 1 {
                self.turn_back = self.last - 1;
                self.turn = self.turn % 4 + 1;
            }
            let id = signed(self.turn_back, 12, (self.worker << 6) + self.turn);
            self.turn_back -= 1;
            return Verdict::Minted(vec![id]);
        }
        self.turn_back = 0;
        if now > self.last {
            return self.settle(now);
        } else if self.sequence > MOST {
            self.drifted = 0;
            self.drift();
        }
        self.id()
    }

    fn id(&mut self) -> Verdict {
        let id = signed(self.last, 12, (self.worker << 6) + self.sequence);
        self.sequence += 1;
        Verdict::Minted(vec![id])
    }

    fn settle(&mut self, now: i64) -> Verdict {
        (self.last, self.sequence, self.drifting, self.drifted) = (now, FIRST, false, 0);
        self.id()
    }

    fn drift(&mut self) {
        self.last += 1;
        self.sequence = FIRST;
        self.drifting = true;
        self.drifted += 1;
    }
}

impl Model for Yitter {
    const PACE: Pace = Pace::NATIVE;

    keeps_nothing!(());

    type Process = SnowWorker;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> SnowWorker {
        SnowWorker::new(setup.worker, machine)
    }

    fn mint(&mut self, process: &mut SnowWorker, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        process.next(machine)
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(read(id))
    }
}

/// The algorithm with a supervisor that compares a node's clock with its last stop.
#[derive(Clone, Default, Debug)]
pub struct AfterStop {
    /// The clock of a node's last life at its end.
    stops: BTreeMap<usize, i64>,
    /// The lives that the supervisor did not begin.
    held_back: BTreeMap<usize, u32>,
}

impl Model for AfterStop {
    const PACE: Pace = Pace::NATIVE;

    keeps_nothing!(());

    type Process = SnowWorker;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> SnowWorker {
        let Life { node, number, .. } = machine.life;
        if self.stops.get(&node).is_some_and(|stop| machine.wall() <= *stop) {
            self.held_back.insert(node, number);
            machine.die("its clock is not past its last stop");
        }
        SnowWorker::new(setup.worker, machine)
    }

    fn mint(&mut self, process: &mut SnowWorker, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        process.next(machine)
    }

    fn ended(&mut self, life: Life, wall: UnixMillis) {
        if self.held_back.get(&life.node) != Some(&life.number) {
            self.stops.insert(life.node, wall.get());
        }
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(read(id))
    }
}

/// The parts of an ID.
pub(super) fn read(id: u128) -> Parts {
    Parts { worker: field(id, 6, 6), time: UnixMillis::new(time(id, 12) + EPOCH), sequence: field(id, 0, 6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    #[test]
    fn it_mints_in_its_layout_and_drifts_two_thousand_milliseconds() {
        let mut host = ManualHost::new(Yitter);
        host.setup.worker = 9;
        let mut worker = host.start();
        let time = u128::from((NOON - EPOCH).unsigned_abs());
        assert_eq!(host.id(&mut worker), time << 12 | 9 << 6 | 5);
        increasing(&mut host, &mut worker, 58);
        assert_eq!(host.id(&mut worker), (time + 1) << 12 | 9 << 6 | 5, "it drifts");
        increasing(&mut host, &mut worker, 1_999 * 59);
        assert_eq!(host.now.wall.get(), NOON, "without a wait");
        increasing(&mut host, &mut worker, 100);
        assert_eq!(host.now.wall.get(), NOON + 2_001, "then it waits");
    }

    /// yitter 942ba6a, SnowWorkerM1.go, NextNormalId: `_TurnBackIndex` moves where `_TurnBackTimeTick` is set.
    #[test]
    fn a_clock_that_is_behind_makes_ids_that_go_back() {
        let mut host = ManualHost::new(Yitter);
        let mut worker = host.start();
        let first = host.id(&mut worker);
        let time = first >> 12;
        host.step(-10);
        assert_eq!(host.id(&mut worker), (time - 1) << 12 | 1);
        assert_eq!(host.id(&mut worker), (time - 2) << 12 | 1, "the same number for one rollback");
        host.step(10);
        assert_eq!(host.id(&mut worker), first + 1);
        for turn in [2, 3, 4, 1] {
            host.step(-10);
            assert_eq!(host.id(&mut worker), (time - 1) << 12 | turn, "the next one for the next rollback");
            host.step(10);
            host.id(&mut worker);
        }
        let mut worker = host.start();
        assert_eq!(host.id(&mut worker), first, "a restart knows nothing");
        host.setup.worker = 64;
        host.start();
        assert!(host.died().is_some());
    }

    /// yitter 942ba6a, README.md: "确保服务再次启动时的系统时间大于最后一次关闭时的时间".
    #[test]
    fn a_supervisor_starts_it_again_when_the_clock_is_past_its_last_stop() {
        let mut host = ManualHost::new(AfterStop::default());
        let mut worker = host.start();
        let first = host.id(&mut worker);
        host.end();
        host.step(-1_000);
        for _ in 0..2 {
            host.start();
            assert_eq!(host.died(), Some("its clock is not past its last stop"));
            host.end();
        }
        host.step(1_000);
        host.start();
        assert!(host.died().is_some(), "it has to be past it");
        host.end();
        host.pass(1);
        let mut worker = host.start();
        assert_eq!(host.died(), None);
        assert!(host.id(&mut worker) > first);
        host.step(-5_000);
        host.end();
        host.pass(1);
        let mut worker = host.start();
        assert_eq!(host.died(), None, "the last stop is what counts, not the last ID");
        assert!(host.id(&mut worker) < first);
    }
}
