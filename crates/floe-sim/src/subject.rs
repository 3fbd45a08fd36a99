//! floe itself in the simulated fleet: the library without threads, and an auditor beside it.

use std::collections::{BTreeMap, BTreeSet};

use floe::ledger::{Memory, Reply};
use floe::manual::Op;
use floe::{Ledger, LedgerError, MintError, StopReason, UnixMillis};

use crate::model::{
    Ask, Fleet, Life, Machine, Micros, Model, NameInfo, Note, Pace, Parts, Setup, Silence, Verdict,
};
use crate::random::Random;
use crate::scenario::{SECOND, Scenario, What};

mod books;
mod names;
mod process;

use books::{LedgerBook, LifeBook, Mark, Marks, Wants};
use process::{Effects, How, Input, Running, Start};

/// The longest that a caller waits.
const PATIENCE_MS: u64 = 1_000;
/// After this time without faults, every node that can have a slot mints.
const SETTLED: Micros = 5 * SECOND;

/// See the module.
pub struct Subject {
    fleet: Fleet,
    ledger: LedgerBook,
    memory: Memory,
    /// Whether memory will be copied in this history.
    journaling: bool,
    /// The right clock's time at true time 0, in milliseconds since 1970.
    begin_ms: i64,
    settled_from: Micros,
    /// Asks whose thread paused between its look at the clock and its draw.
    preempted: BTreeSet<u64>,
    /// Since when each ask waits that was not answered at once.
    waits: BTreeMap<u64, Micros>,
    in_contract: bool,
    /// Whether one node has other definitions.
    odd: bool,
}

/// One life.
pub struct Process {
    /// `None` if it could not start.
    running: Option<Running>,
    book: LifeBook,
    setup: Setup,
    stopping: bool,
    /// The second of its last ledger call, and how many calls it made in that second.
    calls: (u64, u32),
    /// When it last looked, what its steady clock said then, and when that clock last jumped.
    pulse: (Micros, u64, Micros),
    /// It runs in copied memory. Its original may have given back ranges that it still believes to hold.
    copied: bool,
    /// Its memory was copied, and it has not looked at its clock since.
    restored: bool,
}

/// A call from floe to its ledger.
#[derive(Clone)]
pub struct Request {
    op: Op,
    /// The process's steady clock when it asked.
    steady: u64,
    window_ms: u64,
    moves: u32,
}

/// The ledger. A copy of it also has its marks.
pub struct Store {
    memory: Memory,
    marks: Marks,
}

/// The ledger's answer.
#[derive(Clone)]
pub enum Answer {
    /// The answer to a reservation.
    Reserved(Result<Reply, LedgerError>),
    /// The time of its clock.
    Clock(Option<UnixMillis>),
    /// The end of a give-back, whether it succeeded or not.
    Over,
}

impl Subject {
    /// floe for one scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let copies = |what: &What| matches!(what, What::Snapshot { .. } | What::Clone { .. });
        Self {
            fleet: scenario.fleet.clone(),
            ledger: LedgerBook::default(),
            memory: Memory::default(),
            journaling: scenario.faults.iter().any(|fault| copies(&fault.what)),
            begin_ms: scenario.begin_ms,
            settled_from: scenario.heal + SETTLED,
            preempted: BTreeSet::new(),
            waits: BTreeMap::new(),
            in_contract: scenario.is_in_contract(),
            odd: scenario.setups.iter().any(|setup| setup.odd),
        }
    }

    /// Hands an input to a process, and handles its effects.
    fn act(
        &mut self,
        process: &mut Process,
        input: Input,
        machine: &mut Machine<'_, Self>,
        mut here: Option<&mut Option<Verdict>>,
        straight: bool,
    ) {
        let moved = process.book.look(machine.now, machine.ran);
        if std::mem::take(&mut process.restored) && !moved {
            // The documentation says so: a copy cannot be noticed if the clock does not move.
            self.ledger.copied(machine.life, process.book.owned());
        }
        let Some(running) = &mut process.running else { return };
        let (asker, how) = match &input {
            Input::Mint(ask, how) => (Some(ask.id), Some(*how)),
            _ => (None, None),
        };
        let Effects { calls, wake, answered, preempted, steady, refused, spins } =
            running.act(machine.now, input);
        if let Some(at) = wake {
            // A thread needs a moment to start.
            machine.wake_at(at.max(machine.now.mono));
        }
        if preempted && let (Some(here), Some(ask)) = (&mut here, asker) {
            self.preempted.insert(ask);
            **here = Some(Verdict::Again(machine.now.mono.plus(machine.random.spread(0, 3_000))));
        }
        if spins {
            machine.violation("the node looks around without end while its clock stands still".to_owned());
        }
        let (looked, showed, jumped) = process.pulse;
        let jumps = steady > showed + (machine.ran - looked) / 1_000 + PROBED_AGAIN_MS / 2;
        process.pulse = (machine.ran, steady, if jumps { machine.ran } else { jumped });
        let moves = process.book.moves();
        let second = machine.now.mono.get() / 1_000;
        for call in calls {
            process.calls =
                if process.calls.0 == second { (second, process.calls.1 + 1) } else { (second, 1) };
            if process.calls.1 == MOST_CALLS {
                machine.violation("the node asks the ledger again and again without a pause".to_owned());
            }
            if let Op::Count(reserve) = &call.op
                && Mark::of(&reserve.key) == Some(Mark::Name(names::INVOICE))
                && (reserve.floor >> 40) < steady / DAY_MS
            {
                machine.violation(format!("asks for numbers of day {} at {steady}", reserve.floor >> 40));
            }
            if let Err(words) = self.check_clock(process, &call.op) {
                machine.violation(words);
            }
            if let Err(words) = process.book.asks(machine.next_request(), call.id, &call.op) {
                machine.violation(words);
            }
            machine.send(Request { op: call.op, steady, window_ms: process.setup.window_ms, moves });
        }
        for (ask, result) in answered {
            let at_once = asker == Some(ask.id);
            let verdict = match result {
                Ok(ids) => {
                    let prompt = !self.preempted.contains(&ask.id);
                    let straight = straight && at_once && prompt;
                    if process.stopping && at_once {
                        let label = names::NAMES[ask.name].label;
                        machine
                            .violation(format!("{label} minted for a caller who came after it was closed"));
                    }
                    // A caller's thread that was preempted may bring a time from before the era ended. A counter's
                    // callers wait for an answer of their own. Neither is checked.
                    let looked = prompt && !(at_once && how == Some(How::Preempted));
                    if looked && ask.name < names::COUNT {
                        self.check_era(process, &ask, &ids, machine);
                    }
                    self.check(process, &ask, &ids, steady, straight, machine);
                    Verdict::Minted(ids)
                }
                Err(error) => {
                    if let Some(words) =
                        self.check_error(process, &ask, &error, steady, refused, machine.life)
                    {
                        machine.violation(words);
                    }
                    Verdict::Refused(error.to_string())
                }
            };
            match &mut here {
                Some(here) if at_once => **here = Some(verdict),
                _ => machine.deliver(ask.id, verdict),
            }
        }
    }

    /// Checks that no window is requested before the ledger has told its clock, or with a clock far ahead of the ledger's.
    ///
    /// # Errors
    /// A text that says how far ahead it was.
    fn check_clock(&self, process: &Process, op: &Op) -> Result<(), String> {
        match op {
            Op::Reserve(reserve) if matches!(Mark::of(&reserve.key), Some(Mark::Slot { .. })) => {
                // A node with a fixed worker id continues from its own mark, wherever that is.
                let bound = if process.setup.fixed { u64::MAX } else { AHEAD_OF_LEDGER_MS };
                match process.book.ahead_of_ledger(reserve.floor) {
                    None => Err(format!("asks for {} before it knows the ledger's clock", reserve.key)),
                    Some(ahead) if ahead > bound => Err(format!(
                        "asks for {} from {} on, {ahead} ms ahead of the ledger's clock",
                        reserve.key, reserve.floor
                    )),
                    Some(_) => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// The violation in an error that a caller got; `None` if there is none.
    fn check_error(
        &self,
        process: &Process,
        ask: &Ask,
        error: &MintError,
        steady: u64,
        refused: bool,
        life: Life,
    ) -> Option<String> {
        // A copy that cannot know it is one competes with its original, so any error is allowed.
        if process.stopping || self.ledger.is_copy(life) {
            return None;
        }
        let label = names::NAMES[ask.name].label;
        let bits = names::bits(ask.name, &self.fleet);
        let settled = ask.asked_at >= self.settled_from && self.in_contract;
        if refused {
            // The ledger's clock shows which of two times is wrong.
            let known = settled && self.fleet.store_clock.is_some() && bits.is_some();
            return known
                .then(|| format!("{label} was refused although the clock had been set right: {error}"));
        }
        // A thread that was preempted may bring a time from before everything was dropped.
        let prompt = !self.preempted.contains(&ask.id);
        let held = bits.filter(|bits| prompt && process.book.has_window(bits, steady));
        // 41 bits of time end in 2089, and a wild clock shows 2099.
        if bits.is_some_and(|bits| steady >= bits.horizon()) {
            return None;
        }
        match (error, bits) {
            (MintError::Unavailable { .. } | MintError::Exhausted(_), _)
                if held.is_some() && ask.count == 1 =>
            {
                Some(format!("{label} was refused although the node held a window for {steady}: {error}"))
            }
            (MintError::Exhausted(_), None) => {
                Some(format!("{label} was refused, and nothing of it is used up: {error}"))
            }
            (MintError::Exhausted(_), Some(bits)) => {
                let worker = process.setup.fixed.then_some(process.setup.worker);
                let since = steady.saturating_sub(PROBED_AGAIN_MS);
                let free = !self.ledger.are_taken(bits.worker, worker, since);
                // It looks with the time that it has: after a jump, the time from before it, until it looks again.
                let jumped = process.pulse.0 - process.pulse.2 < 2 * PROBED_AGAIN_MS * 1_000;
                (free && settled && !jumped)
                    .then(|| format!("{label} was told that slots are out, and one was free: {error}"))
            }
            (MintError::Busy { .. } | MintError::Unavailable { .. }, _) if settled => Some(format!(
                "{label} was refused although nothing had gone wrong for {} s: {error}",
                SETTLED / SECOND
            )),
            (MintError::Stopped(why), _)
                if settled
                    && why.reason == StopReason::Clock
                    && why.cause.contains("the clock of the ledger") =>
            {
                Some(format!("{label} was refused although the clock had been right for a while: {why}"))
            }
            (MintError::Stopped(why), _)
                if self.in_contract && !process.copied && why.reason == StopReason::Ledger =>
            {
                Some(format!("{label} was stopped by a ledger that had done nothing wrong: {why}"))
            }
            _ => None,
        }
    }

    /// Checks that no ID was reserved before the process could notice that it may be a copy.
    fn check_era(&self, process: &Process, ask: &Ask, ids: &[u128], machine: &mut Machine<'_, Self>) {
        let mut spans =
            ids.iter().filter_map(|&id| books::span(ask.name, id, &self.fleet, process.setup.odd));
        if let Some((mark, span)) = spans.find(|(mark, span)| process.book.is_of_an_ended_era(*mark, span)) {
            machine.violation(format!(
                "minted {span:?} of {mark}, which was reserved before the clock moved or before it was told that it may be a copy (I5)"
            ));
        }
    }

    fn check(
        &self,
        process: &mut Process,
        ask: &Ask,
        ids: &[u128],
        steady: u64,
        straight: bool,
        machine: &mut Machine<'_, Self>,
    ) {
        let label = names::NAMES[ask.name].label;
        let waited = self.waits.get(&ask.id).map_or(0, |since| (machine.ran - since) / 1_000);
        let prompt = !self.preempted.contains(&ask.id) && ask.name != 2 && ask.name < names::COUNT;
        // A copy that repeats a request gets the window that its original requested, which may begin later.
        let prompt = prompt && !self.ledger.is_copy(machine.life);
        // If ticks are small, other callers take the IDs that are due.
        let prompt = prompt && (!self.fleet.few || ask.name > 2);
        let mut before = None;
        for &id in ids {
            let Some((mark, span)) = books::span(ask.name, id, &self.fleet, process.setup.odd) else {
                machine.violation(format!("{label} handed out {id}, which is none of its IDs"));
                continue;
            };
            // All IDs of one tick are judged alike, so one check is enough.
            if before.replace((mark, span.clone())) == Some((mark, span.clone())) {
                continue;
            }
            if let Err(words) = process.book.minted(mark, &span) {
                machine.violation(words);
            }
            if prompt && process.book.was_late(mark, &span, waited, steady) {
                machine.violation(format!(
                    "a caller of {label} slept on, {waited} ms in all, while there was something to mint"
                ));
            }
            let Some(bits) = names::bits(ask.name, &self.fleet) else { continue };
            if !books::is_due(span.start, steady, &bits) {
                machine.violation(format!(
                    "{label} handed out an ID of {}, {} ms ahead of the steady clock",
                    span.start,
                    span.start - steady
                ));
            }
            // A minter's chunk may be older, but only by this much.
            let age = if ask.name == 1 { bits.tick_ms + names::AHEAD_MS } else { 0 };
            if straight && span.end + age <= steady {
                machine.violation(format!(
                    "{label} handed out an ID of {}, {} ms behind the steady clock",
                    span.start,
                    steady - span.start
                ));
            }
            let wall = machine.now.wall.position().unwrap_or(0);
            if straight && steady > wall + MAX_HOLD_MS + 1_000 {
                machine.violation(format!(
                    "{label} minted at {steady} although the wall clock says {wall}: that is held through for an hour at most"
                ));
            }
        }
    }
}

/// While all slots are taken, a node looks at its slots once in this time.
const PROBED_AGAIN_MS: u64 = 1_500;
const MAX_HOLD_MS: u64 = 3_600_000;
const AHEAD_OF_LEDGER_MS: u64 = 10_000;
const DAY_MS: u64 = 86_400_000;
/// A process makes more ledger calls than this within a second only if it fails to wait.
const MOST_CALLS: u32 = 400;

impl Model for Subject {
    const PACE: Pace = Pace::AT_ONCE;

    type Store = Store;
    type Disk = ();
    type Process = Process;
    type Request = Request;
    type Reply = Answer;

    fn names(&self) -> &[NameInfo] {
        names::NAMES
    }

    fn most_at_once(&self, name: usize) -> u64 {
        names::most_at_once(name)
    }

    fn store(&mut self, _fleet: &Fleet) -> Store {
        Store { memory: self.memory.clone(), marks: Marks::default() }
    }

    fn copy(&self, store: &Store) -> Store {
        Store { memory: store.memory.backup(), marks: self.ledger.marks() }
    }

    fn execute(&mut self, store: &mut Store, from: Life, request: &Request, now: Micros) -> Answer {
        match &request.op {
            Op::Reserve(reserve) | Op::Count(reserve) => {
                let reply = store.memory.reserve(reserve);
                if let Ok(reply) = &reply {
                    self.ledger.reserved(
                        (from, request.moves),
                        reserve,
                        reply,
                        request.steady,
                        request.window_ms,
                    );
                }
                Answer::Reserved(reply)
            }
            Op::Clock => {
                let millis = i64::try_from(now / 1_000).unwrap_or(i64::MAX);
                let shows = |off| UnixMillis::new(self.begin_ms).plus(millis).plus(off);
                Answer::Clock(self.fleet.store_clock.map(shows))
            }
            Op::GiveBack { key, token, from } => {
                let took = store.memory.give_back(key, *token, *from).unwrap_or(false);
                self.ledger.given_back(key, *token, *from, took);
                Answer::Over
            }
        }
    }

    fn forget(&mut self, store: &mut Store, copy: &Store) {
        store.memory.restore(&copy.memory);
        self.ledger.forgot(&copy.marks);
    }

    fn delete_record(&mut self, store: &mut Store, random: &mut Random) -> Option<String> {
        let records = store.memory.list("", "", usize::MAX).unwrap_or_default();
        if records.is_empty() {
            return None;
        }
        let mark = Mark::named(&random.choose(&records).key)?;
        let key = match mark {
            Mark::Slot { bits, worker } => floe::ledger::Key::slot(bits, worker),
            Mark::Name(name) => floe::ledger::Key::name(&floe::Name::new(names::NAMES[name].label).ok()?),
        };
        store.memory.lose(&key);
        self.ledger.deleted(mark);
        Some(format!("the record of {mark}"))
    }

    fn start(
        &mut self,
        setup: &Setup,
        store: Option<&mut Store>,
        machine: &mut Machine<'_, Self>,
    ) -> Process {
        let start = Start {
            fleet: self.fleet.clone(),
            setup: setup.clone(),
            life: machine.life,
            first: machine.now,
            entropy: Random::new(machine.random.number()),
            memory: self.memory.clone(),
            reachable: store.is_some(),
        };
        let running = Running::start(start, self.journaling);
        let mut process = Process {
            running: None,
            book: LifeBook::new(machine.now),
            setup: setup.clone(),
            stopping: false,
            calls: (0, 0),
            pulse: (0, 0, 0),
            copied: false,
            restored: false,
        };
        match running {
            Err(why) => machine.die(why),
            Ok(running) => {
                for (name, info) in names::NAMES.iter().enumerate() {
                    let stored =
                        floe::Name::new(info.label).ok().and_then(|label| running.floe().stored(&label).ok());
                    let differs = stored.flatten().is_some_and(|stored| !running.serves(name, &stored));
                    if differs {
                        machine.violation(format!(
                            "serves {} although the ledger has it bound to another definition (I4)",
                            info.label
                        ));
                    }
                }
                process.running = Some(running);
                self.act(&mut process, Input::Wake, machine, None, false);
            }
        }
        process
    }

    fn wake(&mut self, process: &mut Process, machine: &mut Machine<'_, Self>) {
        self.act(process, Input::Wake, machine, None, false);
    }

    fn answer(
        &mut self,
        process: &mut Process,
        number: u64,
        answer: Result<Answer, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        let Some(asked) = process.book.asked(number) else { return };
        let call = asked.call;
        let silent = || LedgerError::Unavailable("the ledger does not answer".to_owned());
        let input = match (asked.wants, answer) {
            (_, Ok(Answer::Reserved(reply))) => Input::Answer(call, reply),
            (_, Ok(Answer::Clock(said))) => Input::Clock(call, Ok(said)),
            (Wants::Mark(_), Err(Silence)) => Input::Answer(call, Err(silent())),
            (Wants::Clock, Err(Silence)) => Input::Clock(call, Err(silent())),
            (Wants::Nothing, Err(Silence)) | (_, Ok(Answer::Over)) => Input::Over(call),
        };
        let reply = match &input {
            Input::Answer(_, Ok(reply)) => Some(reply),
            _ => None,
        };
        process.book.look(machine.now, machine.ran);
        if let Input::Clock(_, Ok(said)) = &input {
            process.book.hears_clock(number, *said);
        }
        if let Some((mark, range)) = process.book.hears(number, reply) {
            machine.note(|| Note::Holds {
                what: mark.to_string(),
                start: range.start,
                end: range.end,
                time: matches!(mark, Mark::Slot { .. }),
            });
        }
        self.act(process, input, machine, None, false);
    }

    fn mint(&mut self, process: &mut Process, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let how = match machine.random.below(10) {
            0 => How::Preempted,
            1..=3 => How::AtHand,
            _ => How::Straight,
        };
        let mut verdict = None;
        self.act(process, Input::Mint(*ask, how), machine, Some(&mut verdict), how == How::Straight);
        verdict.unwrap_or_else(|| {
            self.waits.insert(ask.id, machine.ran);
            Verdict::Later
        })
    }

    fn leave(&mut self, process: &mut Process, ask: u64, machine: &mut Machine<'_, Self>) {
        self.act(process, Input::Leave(ask), machine, None, false);
    }

    fn invalidate(&mut self, process: &mut Process, machine: &mut Machine<'_, Self>) {
        process.book.drop_all();
        self.act(process, Input::Invalidate, machine, None, false);
    }

    fn stop(&mut self, process: &mut Process, machine: &mut Machine<'_, Self>) {
        process.stopping = true;
        self.act(process, Input::Stop, machine, None, false);
    }

    fn memory(&mut self, process: &Process, fresh: Random) -> Option<Process> {
        let running = Some(process.running.as_ref()?.copy(fresh)?);
        let Process { book, setup, stopping, calls, pulse, .. } = process;
        let (book, setup) = (book.clone(), setup.clone());
        Some(Process {
            running,
            book,
            setup,
            stopping: *stopping,
            calls: *calls,
            pulse: *pulse,
            copied: true,
            restored: true,
        })
    }

    fn patience_ms(&self, ask: u64) -> Option<u64> {
        // If the system does not run a thread, floe is not what makes it wait.
        (!self.preempted.contains(&ask)).then_some(PATIENCE_MS)
    }

    fn may_repeat(&self, name: usize, id: u128) -> bool {
        let odd = [false, true];
        odd.iter().any(|&odd| self.ledger.may_repeat(books::span(name, id, &self.fleet, odd)))
    }

    fn read(&self, name: usize, id: u128) -> Option<Parts> {
        if self.odd && name == 0 {
            // An ID does not tell which of two layouts its name is bound to.
            return None;
        }
        let names::Bits { sequence, .. } = names::bits(name, &self.fleet)?;
        let (Mark::Slot { worker, .. }, span) = books::span(name, id, &self.fleet, false)? else {
            return None;
        };
        let sequence = u64::try_from(id).ok()? & ((1 << sequence) - 1);
        Some(Parts { worker, time: UnixMillis::from_position(span.start), sequence })
    }

    fn broken(&mut self) -> Vec<String> {
        self.ledger.take_broken()
    }
}
