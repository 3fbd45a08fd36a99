//! Meituan Leaf in segment mode.
//!
//! It promises unique numbers that tend upwards, and service for a while without its database. MySQL has a row
//! `leaf_alloc(biz_tag, max_id, step)`. `UPDATE … SET max_id = max_id + step` and a `SELECT` in one transaction give
//! the server the segment `[max_id - step, max_id)`. A server has two segments: once less than nine tenths of the
//! current one are left, a thread loads the other. A caller that finds the current one used up while that thread runs
//! spins 10,000 times, sleeps 10 ms, and gets -3 if the other one is still not there. The step doubles, up to
//! 1,000,000, if a segment lasted under 15 minutes by the wall clock; it halves, down to the row's, if it lasted 30 or
//! more. A database exception is logged; the next call tries again. Names are learned at the start and once a minute;
//! an unknown name is -2. (-1 means that `init` has not run, which no caller can see.)
//!
//! It claims no order for one server, and has none if a first load failed twice. Then a load by the caller and one by
//! the thread run together, and the thread's lower segment may be used after the caller's.
//!
//! Read in: Meituan-Dianping/Leaf, `leaf-core/…/segment/SegmentIDGenImpl.java`, `model/SegmentBuffer.java`,
//! `model/Segment.java`, `dao/IDAllocMapper.java`, `dao/impl/IDAllocDaoImpl.java`, `scripts/leaf_alloc.sql`.

use std::collections::VecDeque;

use floe::MonoMillis;

use floe_sim::model::{
    Ask, Fleet, Life, Machine, Micros, Model, NameInfo, Note, Order, Pace, Setup, Silence, Verdict,
};

const NAMES: &[NameInfo] = &[NameInfo { label: "leaf-segment", domain: 0, order: Order::None }];

const MAX_STEP: u64 = 1_000_000;
const SEGMENT_DURATION_MS: i64 = 15 * 60 * 1000;
const REFRESH_MS: u64 = 60 * 1000;
const SLEEP_MS: u64 = 10;
/// The `max_id` of a new row.
const FIRST_MAX_ID: u64 = 1;

const NO_SUCH_KEY: &str = "Result{id=-2, status=EXCEPTION}";
const NO_SEGMENT: &str = "Result{id=-3, status=EXCEPTION}";

/// A fleet of Leaf servers.
#[derive(Clone, Copy, Debug)]
pub struct LeafSegment {
    /// The row's `step`, which an operator chooses: the numbers used in ten minutes of peak load.
    pub step: u64,
}

impl Default for LeafSegment {
    /// Small enough that a short history sees many segments.
    fn default() -> Self {
        Self { step: 10 }
    }
}

/// The row of `leaf_alloc`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    max_id: u64,
    step: u64,
}

/// A transaction.
#[derive(Clone, Copy, Debug)]
pub enum Query {
    /// `getAllTags`.
    Tags,
    /// `updateMaxIdAndGetLeafAlloc`, or with a step `updateMaxIdByCustomStepAndGetLeafAlloc`.
    Take(Option<u64>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    value: u64,
    max: u64,
    step: u64,
}

impl Segment {
    fn take(&mut self) -> Option<u64> {
        let value = self.value;
        self.value += 1;
        (value < self.max).then_some(value)
    }

    /// `getIdle() < 0.9 * getStep()`; `getIdle` may be negative.
    fn is_low(&self) -> bool {
        10 * self.max < 10 * self.value + 9 * self.step
    }
}

/// The use that `updateSegmentFromDb` makes of the row when it arrives.
#[derive(Clone, Copy, Debug)]
enum Update {
    First,
    Second,
    Step(u64),
}

/// An open transaction, for the segment at that place.
#[derive(Clone, Copy, Debug)]
struct Load {
    number: u64,
    place: usize,
    update: Update,
}

/// One Leaf server, with its `SegmentBuffer`.
#[derive(Clone, Debug, Default)]
pub struct Server {
    cached: bool,
    refresh: Option<u64>,
    refresh_at: Option<MonoMillis>,
    init_ok: bool,
    segments: [Segment; 2],
    current: usize,
    next_ready: bool,
    step: u64,
    min_step: u64,
    updated_at: i64,
    /// The load of the first caller in `waiting`. The others wait for the buffer's monitor.
    initial: Option<Load>,
    waiting: VecDeque<u64>,
    /// `threadRunning`.
    thread: Option<Load>,
    sleeping: VecDeque<(MonoMillis, u64)>,
}

impl Server {
    /// The first half of `updateSegmentFromDb`.
    fn load(&self, place: usize, machine: &mut Machine<'_, LeafSegment>) -> Load {
        let update = if !self.init_ok {
            Update::First
        } else if self.updated_at == 0 {
            Update::Second
        } else {
            let duration = machine.wall() - self.updated_at;
            Update::Step(if duration < SEGMENT_DURATION_MS {
                if self.step * 2 > MAX_STEP { self.step } else { self.step * 2 }
            } else if duration < SEGMENT_DURATION_MS * 2 || self.step / 2 < self.min_step {
                self.step
            } else {
                self.step / 2
            })
        };
        let step = if let Update::Step(step) = update { Some(step) } else { None };
        Load { number: machine.send(Query::Take(step)), place, update }
    }

    /// The second half.
    fn fill(&mut self, load: Load, row: Row, machine: &mut Machine<'_, LeafSegment>) {
        match load.update {
            Update::First => self.step = row.step,
            Update::Second => self.updated_at = machine.wall(),
            Update::Step(step) => {
                self.updated_at = machine.wall();
                self.step = step;
            }
        }
        self.min_step = row.step;
        let start = row.max_id.saturating_sub(self.step);
        self.segments[load.place] = Segment { value: start, max: row.max_id, step: self.step };
        machine.note(|| Note::Holds { what: "leaf-segment".into(), start, end: row.max_id, time: false });
    }

    /// `get`, up to the monitor and from there on.
    fn get(&mut self, ask: u64, machine: &mut Machine<'_, LeafSegment>) -> Option<Verdict> {
        if !self.init_ok {
            self.waiting.push_back(ask);
            if self.initial.is_none() {
                self.initial = Some(self.load(self.current, machine));
            }
            return None;
        }
        self.id(ask, false, machine)
    }

    /// `getIdFromSegmentBuffer`, from its start or, for a caller that has slept, from the write lock. `None`: it sleeps.
    fn id(&mut self, ask: u64, mut slept: bool, machine: &mut Machine<'_, LeafSegment>) -> Option<Verdict> {
        loop {
            if !slept {
                if !self.next_ready && self.segments[self.current].is_low() && self.thread.is_none() {
                    self.thread = Some(self.load(1 - self.current, machine));
                }
                if let Some(id) = self.segments[self.current].take() {
                    return Some(Verdict::Minted(vec![u128::from(id)]));
                }
                if self.thread.is_some() {
                    self.sleeping.push_back((machine.now.mono.plus(SLEEP_MS), ask));
                    return None;
                }
            }
            slept = false;
            if let Some(id) = self.segments[self.current].take() {
                return Some(Verdict::Minted(vec![u128::from(id)]));
            }
            if !self.next_ready {
                return Some(Verdict::Refused(NO_SEGMENT.into()));
            }
            self.current = 1 - self.current;
            self.next_ready = false;
        }
    }

    fn deliver(&mut self, ask: u64, slept: bool, machine: &mut Machine<'_, LeafSegment>) {
        if let Some(verdict) = self.id(ask, slept, machine) {
            machine.deliver(ask, verdict);
        }
    }

    /// The caller that loaded the first segment continues, whether it got it or not. Then comes the monitor's next one.
    fn leave_monitor(&mut self, machine: &mut Machine<'_, LeafSegment>) {
        if let Some(ask) = self.waiting.pop_front() {
            self.deliver(ask, false, machine);
        }
        while self.init_ok
            && let Some(ask) = self.waiting.pop_front()
        {
            self.deliver(ask, false, machine);
        }
        if !self.waiting.is_empty() {
            self.initial = Some(self.load(self.current, machine));
        }
    }

    fn set_alarm(&self, machine: &mut Machine<'_, LeafSegment>) {
        let sleeper = self.sleeping.front().map(|(at, _)| *at);
        if let Some(at) = sleeper.into_iter().chain(self.refresh_at).min() {
            machine.wake_at(at);
        }
    }
}

impl Model for LeafSegment {
    const PACE: Pace = Pace::JVM;

    keeps!(Row, (), Query, Row);

    type Process = Server;

    fn names(&self) -> &[NameInfo] {
        NAMES
    }

    fn store(&mut self, _fleet: &Fleet) -> Row {
        Row { max_id: FIRST_MAX_ID, step: self.step }
    }

    fn execute(&mut self, store: &mut Row, _from: Life, request: &Query, _now: Micros) -> Row {
        if let Query::Take(step) = request {
            store.max_id += step.unwrap_or(store.step);
        }
        *store
    }

    fn start(&mut self, _setup: &Setup, store: Option<&mut Row>, machine: &mut Machine<'_, Self>) -> Server {
        let refresh_at = Some(machine.now.mono.plus(REFRESH_MS));
        let server = Server { cached: store.is_some(), refresh_at, ..Server::default() };
        server.set_alarm(machine);
        server
    }

    fn wake(&mut self, process: &mut Server, machine: &mut Machine<'_, Self>) {
        let now = machine.now.mono;
        if process.refresh_at.is_some_and(|at| at <= now) {
            process.refresh_at = None;
            process.refresh = Some(machine.send(Query::Tags));
        }
        while let Some((at, ask)) = process.sleeping.front().copied()
            && at <= now
        {
            process.sleeping.pop_front();
            process.deliver(ask, true, machine);
        }
        process.set_alarm(machine);
    }

    fn answer(
        &mut self,
        process: &mut Server,
        number: u64,
        answer: Result<Row, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        // Any other number belongs to a closed connection.
        if process.refresh == Some(number) {
            process.refresh = None;
            process.refresh_at = Some(machine.now.mono.plus(REFRESH_MS));
            process.cached |= answer.is_ok();
        } else if let Some(load) = process.initial.take_if(|load| load.number == number) {
            if let Ok(row) = answer {
                process.fill(load, row, machine);
                process.init_ok = true;
            }
            process.leave_monitor(machine);
        } else if let Some(load) = process.thread.take_if(|load| load.number == number)
            && let Ok(row) = answer
        {
            process.fill(load, row, machine);
            process.next_ready = true;
        }
        process.set_alarm(machine);
    }

    fn mint(&mut self, process: &mut Server, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if !process.cached {
            return Verdict::Refused(NO_SUCH_KEY.into());
        }
        let verdict = process.get(ask.id, machine);
        process.set_alarm(machine);
        verdict.unwrap_or(Verdict::Later)
    }
}

#[cfg(test)]
mod tests;
