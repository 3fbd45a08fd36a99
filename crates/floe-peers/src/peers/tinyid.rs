//! didi tinyid: the server.
//!
//! It promises unique numbers that tend upwards, also over several databases by `delta` and `remainder`. MySQL has a
//! row `tiny_id_info(max_id, step, delta, remainder, version)`. A server reads it, and writes `max_id + step` if
//! `max_id` and `version` are unchanged, in up to three tries. Then `(max_id, max_id + step]` is its segment, and its
//! IDs are those with `id % delta == remainder`. From the ID at 20 % of the step on, each ID that is handed out has a
//! thread load the next segment, unless it is there or being loaded. A caller that finds the current segment used up
//! and no next one loads one itself, while others wait. An exception ends the whole batch with code 6, and the numbers
//! that it had taken are lost.
//!
//! It claims no order for one server, and has none: such a caller does not wait for the thread's load. If the database
//! serves the thread first, the thread's lower segment is used after the caller's.
//!
//! Several databases (`datasource.tinyid.names`) know nothing of each other. The operator gives the row the same `delta` in all
//! of them, their number, and a different `remainder` in each. A transaction goes to a database drawn at random, with all its
//! statements and its three tries. A database that is down is drawn like any other, and the caller gets the exception.
//!
//! Here each statement is a request of its own, also the commit, and the transaction around them is READ COMMITTED. If
//! an update's answer is lost, that is an exception, which rolls the transaction back. Only if the commit's own answer
//! is lost is its effect unknown. An update that finds the row locked waits, and then finds it changed; here that shows
//! at the commit.
//!
//! Read in: didi/tinyid 49976d3, `tinyid-base/…/generator/impl/CachedIdGenerator.java`, `entity/SegmentId.java`,
//! `factory/AbstractIdGeneratorFactory.java`, `tinyid-server/…/service/impl/DbSegmentIdServiceImpl.java`,
//! `dao/impl/TinyIdInfoDAOImpl.java`, `config/DynamicDataSource.java` (`determineCurrentLookupKey`),
//! `config/DataSourceConfig.java`, `common/Constants.java`, `controller/IdContronller.java`, `db.sql`.

use std::collections::VecDeque;

use floe_sim::model::{
    Ask, Fleet, Life, Machine, Micros, Model, NameInfo, Note, Order, Pace, Setup, Silence, Verdict,
};

const NAMES: &[NameInfo] = &[NameInfo { label: "test", domain: 0, order: Order::None }];

const RETRY: u32 = 3;
const LOADING_PERCENT: i64 = 20;
/// `begin_id`, and the first `max_id`, of the rows in `db.sql`.
const BEGIN_ID: i64 = 1;
/// The most IDs that a caller of a short history asks for; `batch.size.max` is 100,000.
const BATCH: u64 = 10;

/// A fleet of tinyid servers, and the operator's row.
#[derive(Clone, Copy, Debug)]
pub struct TinyId {
    /// How many numbers a segment spans.
    pub step: i64,
    /// The distance from one ID to the next.
    pub delta: i64,
    /// The remainder of each ID divided by `delta`. Each further database has one more.
    pub remainder: i64,
    /// How many databases `datasource.tinyid.names` has.
    pub databases: u8,
}

impl Default for TinyId {
    /// The row `test` of `db.sql`, with a step so small that a short history sees many segments.
    fn default() -> Self {
        Self { step: 10, delta: 1, remainder: 0, databases: 1 }
    }
}

impl TinyId {
    /// The same row in this many databases: `delta` is their number, and the remainders count from 0.
    pub fn on(databases: u8) -> Self {
        Self { delta: i64::from(databases), databases, ..Self::default() }
    }
}

/// The row of `tiny_id_info` in each of the databases.
#[derive(Clone, Debug)]
pub struct Databases(Vec<Row>);

/// That row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The index of its database.
    database: usize,
    max_id: i64,
    step: i64,
    delta: i64,
    remainder: i64,
    version: u64,
}

/// A statement.
#[derive(Clone, Copy, Debug)]
pub enum Statement {
    /// `queryByBizType`, on this database.
    Select(usize),
    /// `updateMaxId`, by a server that has read this row. Nothing changes before the commit.
    Update(Row),
    /// The end of the transaction.
    Commit(Row),
}

/// The database's answer.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The answer to a `Select`.
    Read(Row),
    /// The answer to an `Update`: whether the row is as it was read.
    Matched(bool),
    /// The answer to a `Commit`: whether it changed the row.
    Wrote(bool),
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    current: i64,
    max: i64,
    loading: i64,
    delta: i64,
    remainder: i64,
    is_init: bool,
}

impl Segment {
    /// `convert`, of the row as it was read.
    fn new(row: Row) -> Self {
        Self {
            current: row.max_id,
            max: row.max_id + row.step,
            loading: row.max_id + row.step * LOADING_PERCENT / 100,
            delta: row.delta,
            remainder: row.remainder,
            is_init: false,
        }
    }

    fn fits(&self) -> bool {
        self.current % self.delta == self.remainder
    }

    /// Moves to `delta` before the first ID with the right remainder.
    fn init(&mut self) {
        self.is_init |= self.fits();
        for _ in 0..=self.delta {
            if self.is_init {
                return;
            }
            self.current += 1;
            if self.fits() {
                self.current -= self.delta;
                self.is_init = true;
            }
        }
    }

    /// `nextId`; `None` if it is used up.
    fn next(&mut self) -> Option<i64> {
        if !self.is_init {
            self.init();
        }
        self.current += self.delta;
        (self.current <= self.max).then_some(self.current)
    }
}

/// A `getNextSegmentId` that has begun.
#[derive(Clone, Copy, Debug)]
struct Load {
    number: u64,
    tries: u32,
    /// The database of the transaction's connection.
    database: usize,
    read: Option<Row>,
}

impl Load {
    /// `determineCurrentLookupKey` draws the database.
    fn start(databases: u8, machine: &mut Machine<'_, TinyId>) -> Self {
        let database = match databases {
            1 => 0,
            some => usize::try_from(machine.random.below(u64::from(some))).unwrap_or(0),
        };
        Self { number: machine.send(Statement::Select(database)), tries: 0, database, read: None }
    }

    /// Its next statement, or its result.
    fn go_on(
        &mut self,
        answer: Result<Answer, Silence>,
        machine: &mut Machine<'_, TinyId>,
    ) -> Option<Result<Segment, String>> {
        match (answer, self.read.take()) {
            (Ok(Answer::Read(row)), None) => {
                self.read = Some(row);
                self.number = machine.send(Statement::Update(row));
                None
            }
            (Ok(Answer::Matched(true)), Some(row)) => {
                self.read = Some(row);
                self.number = machine.send(Statement::Commit(row));
                None
            }
            (Ok(Answer::Wrote(true)), Some(row)) => Some(Ok(Segment::new(row))),
            (Ok(Answer::Matched(false) | Answer::Wrote(false)), Some(_)) => {
                self.tries += 1;
                if self.tries == RETRY {
                    return Some(Err("error query segmentId: get next segmentId conflict".into()));
                }
                self.number = machine.send(Statement::Select(self.database));
                None
            }
            _ => Some(Err("error query segmentId: no answer from the database".into())),
        }
    }
}

/// `nextId(batchSize)`, by one caller.
#[derive(Clone, Debug)]
struct Call {
    ask: u64,
    count: u64,
    ids: Vec<u128>,
}

/// One server, with its `CachedIdGenerator`.
#[derive(Clone, Debug, Default)]
pub struct Server {
    databases: u8,
    current: Option<Segment>,
    next: Option<Segment>,
    /// The load of the first caller in `waiting`. The others wait for `loadCurrent`'s monitor.
    load: Option<Load>,
    waiting: VecDeque<Call>,
    /// `isLoadingNext`.
    thread: Option<Load>,
}

impl Server {
    /// Takes the IDs that `call` still wants. `false` if it has to load a segment first.
    fn take(&mut self, call: &mut Call, machine: &mut Machine<'_, TinyId>) -> bool {
        while u64::try_from(call.ids.len()).is_ok_and(|taken| taken < call.count) {
            let Some(id) = self.current.as_mut().and_then(Segment::next) else {
                let Some(next) = self.next.take() else { return false };
                self.current = Some(next);
                continue;
            };
            if self.current.is_some_and(|segment| id >= segment.loading)
                && self.next.is_none()
                && self.thread.is_none()
            {
                self.thread = Some(Load::start(self.databases, machine));
            }
            call.ids.push(u128::from(id.unsigned_abs()));
        }
        true
    }

    /// Callers continue in turn until one has to load a segment.
    fn leave_monitor(&mut self, machine: &mut Machine<'_, TinyId>) {
        while let Some(mut call) = self.waiting.pop_front() {
            if !self.take(&mut call, machine) {
                self.waiting.push_front(call);
                self.load = Some(Load::start(self.databases, machine));
                return;
            }
            machine.deliver(call.ask, Verdict::Minted(call.ids));
        }
    }

    fn hold(segment: Segment, machine: &mut Machine<'_, TinyId>) -> Segment {
        let end = segment.max.unsigned_abs() + 1;
        let start = segment.current.unsigned_abs() + 1;
        machine.note(|| Note::Holds { what: "test".into(), start, end, time: false });
        segment
    }
}

impl Model for TinyId {
    const PACE: Pace = Pace::JVM;

    keeps!(Databases, (), Statement, Answer);

    type Process = Server;

    fn names(&self) -> &[NameInfo] {
        NAMES
    }

    fn most_at_once(&self, _name: usize) -> u64 {
        BATCH
    }

    fn store(&mut self, _fleet: &Fleet) -> Databases {
        let Self { step, delta, remainder, databases } = *self;
        let row = |database: u8| Row {
            database: usize::from(database),
            max_id: BEGIN_ID,
            step,
            delta,
            remainder: remainder + i64::from(database),
            version: 1,
        };
        Databases((0..databases).map(row).collect())
    }

    /// The databases share nothing, so a fault sets back only one of them.
    fn forget(&mut self, store: &mut Databases, copy: &Databases) {
        store.0[0] = copy.0[0];
    }

    fn execute(&mut self, store: &mut Databases, _from: Life, request: &Statement, _now: Micros) -> Answer {
        match request {
            Statement::Select(database) => Answer::Read(store.0[*database]),
            Statement::Update(read) => {
                let row = store.0[read.database];
                Answer::Matched(row.max_id == read.max_id && row.version == read.version)
            }
            Statement::Commit(read) => {
                let row = &mut store.0[read.database];
                let unchanged = row.max_id == read.max_id && row.version == read.version;
                if unchanged {
                    row.max_id = read.max_id + read.step;
                    row.version += 1;
                }
                Answer::Wrote(unchanged)
            }
        }
    }

    fn start(
        &mut self,
        _setup: &Setup,
        _store: Option<&mut Databases>,
        _machine: &mut Machine<'_, Self>,
    ) -> Server {
        Server { databases: self.databases, ..Server::default() }
    }

    fn answer(
        &mut self,
        process: &mut Server,
        number: u64,
        answer: Result<Answer, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        // Any other number belongs to a closed connection.
        if let Some(load) = process.load.as_mut().filter(|load| load.number == number) {
            let Some(result) = load.go_on(answer, machine) else { return };
            process.load = None;
            match result {
                Ok(segment) => process.current = Some(Server::hold(segment, machine)),
                Err(message) => {
                    if let Some(call) = process.waiting.pop_front() {
                        machine.deliver(call.ask, Verdict::Refused(format!("code 6: {message}")));
                    }
                }
            }
            process.leave_monitor(machine);
        } else if let Some(load) = process.thread.as_mut().filter(|load| load.number == number) {
            let Some(result) = load.go_on(answer, machine) else { return };
            process.thread = None;
            process.next = result.ok().map(|segment| Server::hold(segment, machine));
        }
    }

    fn mint(&mut self, process: &mut Server, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let mut call = Call { ask: ask.id, count: ask.count, ids: Vec::new() };
        if process.load.is_none() {
            if process.take(&mut call, machine) {
                return Verdict::Minted(call.ids);
            }
            process.load = Some(Load::start(self.databases, machine));
        }
        process.waiting.push_back(call);
        Verdict::Later
    }
}

#[cfg(test)]
mod tests;
