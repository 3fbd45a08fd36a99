//! PostgreSQL's sequences: with `CACHE`, and under Hibernate's pooled optimizers.
//!
//! They promise unique numbers. `nextval` takes the next number of one row. With `CACHE` a session takes many at once
//! and keeps them in the server's memory, so the numbers of several sessions are in no order. The log, which is written
//! ahead, holds the number 32 fetches later: after a crash, and on a replica that has that record, the sequence
//! continues from there and skips the numbers between. A backup, or a replica without the record, repeats numbers.
//!
//! Hibernate's sequence has an increment of 50 (`allocationSize`): a process takes one number, and makes 50 IDs of it
//! in its memory. With the default optimizer (`pooled`) that number is the last of the 50; only the sequence's first
//! number is a single ID. With `pooled-lo` it is the first of the 50. A thread that needs a number holds a lock until
//! it has it. An exception ends its call, and the next thread asks again.
//!
//! Read from: postgres/postgres 0076f26, `src/backend/commands/sequence.c` (`nextval_internal`, `SEQ_LOG_VALS`);
//! hibernate/hibernate-orm 0029172, `PooledOptimizer.java` (`generate`), `PooledLoOptimizer.java` (`generate`),
//! `SequenceStyleGenerator.java` (`determineIncrementSize`). Checkpoints are left out: the `nextval` after one always
//! writes to the log, which skips more numbers and repeats none. Each client has one connection.

use std::collections::{BTreeMap, VecDeque};

use floe_sim::model::{
    Ask, Fleet, Life, Machine, Micros, Model, NameInfo, Note, Order, Pace, Setup, Silence, Verdict,
};
use floe_sim::random::Random;

const IN_ORDER: &[NameInfo] = &[NameInfo { label: "id", domain: 0, order: Order::Life }];
const IN_NO_ORDER: &[NameInfo] = &[NameInfo { label: "id", domain: 0, order: Order::None }];

/// `SEQ_LOG_VALS`.
const LOGGED_AHEAD: u64 = 32;
/// `DEFAULT_INCREMENT_SIZE`, and `CACHE` here.
const AT_ONCE: u64 = 50;

/// How clients use the sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequences {
    /// `CREATE SEQUENCE … CACHE 50`, and one `nextval` for each ID.
    Cache,
    /// Hibernate's default optimizer, on `INCREMENT BY 50`.
    Pooled,
    /// `hibernate.id.optimizer.pooled.preferred=pooled-lo`.
    PooledLo,
}

/// The sequence's row, and the numbers that its sessions keep.
#[derive(Clone, Debug)]
pub struct Sequence {
    last: u64,
    called: bool,
    /// How many numbers may be fetched before the log is written again, and the last number in the log.
    log: u64,
    logged: Option<u64>,
    increment: u64,
    cache: u64,
    /// For each connection: the last number that it was given, and the last that is kept for it.
    sessions: BTreeMap<(usize, u32, u64), (u64, u64)>,
}

impl Sequence {
    /// `nextval_internal`.
    fn nextval(&mut self, session: (usize, u32, u64)) -> u64 {
        if let Some((last, cached)) = self.sessions.get_mut(&session)
            && *last != *cached
        {
            *last += self.increment;
            return *last;
        }
        let (mut fetch, mut count) = (self.cache, 0);
        let (mut next, mut last, mut result) = (self.last, self.last, self.last);
        if !self.called {
            count += 1;
            fetch -= 1;
        }
        let writes = self.log < fetch || !self.called;
        if writes {
            fetch += LOGGED_AHEAD;
            self.log = fetch;
        }
        while fetch > 0 {
            next += self.increment;
            fetch -= 1;
            if count < self.cache {
                self.log -= 1;
                count += 1;
                last = next;
                if count == 1 {
                    result = next;
                }
            }
        }
        if writes {
            self.logged = Some(next);
        }
        (self.last, self.called) = (last, true);
        self.sessions.insert(session, (result, last));
        result
    }

    /// The state in the log, without the numbers in the sessions' memory.
    fn recovered(&self) -> Self {
        let last = self.logged.unwrap_or(self.last);
        Self { last, called: self.logged.is_some(), log: 0, sessions: BTreeMap::new(), ..self.clone() }
    }
}

/// `nextval`, on this connection of the process.
#[derive(Clone, Copy, Debug)]
pub struct NextVal(u64);

/// A client: the rest of its last number, and its waiting threads.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// The next ID, and the exclusive end of its IDs.
    left: Option<(u64, u64)>,
    /// The asks of threads. The first one holds the lock; its request is next.
    waiting: VecDeque<u64>,
    asked: Option<u64>,
    connection: u64,
    /// Without an optimizer, each ask has its own request.
    open: BTreeMap<u64, u64>,
}

impl Sequences {
    /// The IDs of a number.
    fn range(self, number: u64, first: bool) -> (u64, u64) {
        match self {
            Self::Cache => (number, number + 1),
            Self::PooledLo => (number, number + AT_ONCE),
            // The sequence's first number is its initial value.
            Self::Pooled if first && number == 1 => (1, 2),
            Self::Pooled => ((number + 1).saturating_sub(AT_ONCE), number + 1),
        }
    }

    /// Threads continue in turn until one needs a number.
    fn go_on(process: &mut Client, machine: &mut Machine<'_, Self>) {
        while let Some(&ask) = process.waiting.front() {
            match process.left.as_mut().filter(|(next, end)| next < end) {
                Some((next, _)) => {
                    machine.deliver(ask, Verdict::Minted(vec![u128::from(*next)]));
                    *next += 1;
                    process.waiting.pop_front();
                }
                None => {
                    process.asked = Some(machine.send(NextVal(process.connection)));
                    return;
                }
            }
        }
    }
}

impl Model for Sequences {
    const PACE: Pace = Pace::JVM;

    type Store = Sequence;
    type Disk = ();
    type Process = Client;
    type Request = NextVal;
    type Reply = u64;

    fn names(&self) -> &[NameInfo] {
        if *self == Self::Cache { IN_NO_ORDER } else { IN_ORDER }
    }

    fn store(&mut self, _fleet: &Fleet) -> Sequence {
        let (increment, cache) = if *self == Self::Cache { (1, AT_ONCE) } else { (AT_ONCE, 1) };
        Sequence { last: 1, called: false, log: 0, logged: None, increment, cache, sessions: BTreeMap::new() }
    }

    /// A base backup, or a replica: both hold the state in the log.
    fn copy(&self, store: &Sequence) -> Sequence {
        store.recovered()
    }

    fn execute(&mut self, store: &mut Sequence, from: Life, request: &NextVal, _now: Micros) -> u64 {
        store.nextval((from.node, from.number, request.0))
    }

    fn store_dies(&mut self, store: &mut Sequence, _now: Micros) {
        *store = store.recovered();
    }

    fn start(&mut self, _: &Setup, _: Option<&mut Sequence>, _: &mut Machine<'_, Self>) -> Client {
        Client::default()
    }

    fn answer(
        &mut self,
        process: &mut Client,
        number: u64,
        answer: Result<u64, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        if answer.is_err() {
            process.connection += 1;
        }
        let refused = || Verdict::Refused("could not extract ResultSet: no answer".into());
        if let Some(ask) = process.open.remove(&number) {
            let verdict = answer.map_or_else(|_| refused(), |id| Verdict::Minted(vec![u128::from(id)]));
            return machine.deliver(ask, verdict);
        }
        // Any other number belongs to a closed connection.
        if process.asked != Some(number) {
            return;
        }
        process.asked = None;
        match answer {
            Ok(number) => {
                let (start, end) = self.range(number, process.left.is_none());
                machine.note(|| Note::Holds { what: "id".into(), start, end, time: false });
                process.left = Some((start, end));
            }
            Err(Silence) => {
                if let Some(ask) = process.waiting.pop_front() {
                    machine.deliver(ask, refused());
                }
            }
        }
        Self::go_on(process, machine);
    }

    fn mint(&mut self, process: &mut Client, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if *self == Self::Cache {
            process.open.insert(machine.send(NextVal(process.connection)), ask.id);
            return Verdict::Later;
        }
        process.waiting.push_back(ask.id);
        if process.asked.is_none() {
            Self::go_on(process, machine);
        }
        Verdict::Later
    }

    fn memory(&mut self, process: &Client, _fresh: Random) -> Option<Client> {
        Some(process.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::Sequences;
    use crate::peers::tests::manual_fleet::ManualFleet;

    fn take(fleet: &mut ManualFleet<Sequences>, node: usize, count: usize) -> Vec<u128> {
        (0..count).map(|_| fleet.minted(node)).collect()
    }

    /// hibernate-orm 0029172, PooledOptimizer.java, generate.
    #[test]
    fn a_pooled_number_is_the_last_of_its_fifty_save_the_first_one() {
        let mut fleet = ManualFleet::new(Sequences::Pooled, 2);
        assert_eq!(take(&mut fleet, 0, 51), (1..=51).collect::<Vec<_>>());
        assert_eq!(take(&mut fleet, 1, 2), [52, 53], "101 is the last one of the other's");
        assert_eq!(fleet.minted(0), 102);
        assert_eq!(fleet.held, [(1, 2), (2, 52), (52, 102), (102, 152)]);
    }

    /// hibernate-orm 0029172, PooledLoOptimizer.java, generate.
    #[test]
    fn a_pooled_lo_number_is_the_first_of_its_fifty() {
        let mut fleet = ManualFleet::new(Sequences::PooledLo, 2);
        assert_eq!(take(&mut fleet, 0, 50), (1..=50).collect::<Vec<_>>());
        assert_eq!(fleet.minted(1), 51);
        assert_eq!(fleet.minted(0), 101);
    }

    #[test]
    fn a_number_that_got_lost_is_skipped_and_repeats_nothing() {
        for model in [Sequences::Pooled, Sequences::PooledLo, Sequences::Cache] {
            let mut fleet = ManualFleet::new(model, 1);
            fleet.lose_replies = 1;
            assert!(fleet.refused(0).ends_with("no answer"));
            assert!(fleet.minted(0) > 1, "{model:?}: 1 is lost");
        }
    }

    /// postgres 0076f26, sequence.c, nextval_internal: elm->last and elm->cached.
    #[test]
    fn a_session_keeps_fifty_numbers_for_itself() {
        let mut fleet = ManualFleet::new(Sequences::Cache, 2);
        assert_eq!(take(&mut fleet, 0, 3), [1, 2, 3]);
        assert_eq!(take(&mut fleet, 1, 2), [51, 52]);
        assert_eq!(take(&mut fleet, 0, 48), (4..=50).chain([101]).collect::<Vec<_>>());
    }

    /// The same: cached numbers are lost with their connection.
    #[test]
    fn a_call_without_an_answer_closes_its_connection_and_what_that_kept() {
        let mut fleet = ManualFleet::new(Sequences::Cache, 1);
        assert_eq!(take(&mut fleet, 0, 2), [1, 2]);
        fleet.lose_replies = 1;
        fleet.refused(0);
        assert_eq!(take(&mut fleet, 0, 2), [51, 52]);
    }

    /// postgres 0076f26, sequence.c, SEQ_LOG_VALS: the log has the number 32 fetches ahead.
    #[test]
    fn a_crash_skips_what_was_logged_ahead_and_repeats_nothing() {
        let mut fleet = ManualFleet::new(Sequences::PooledLo, 1);
        assert_eq!(fleet.minted(0), 1);
        fleet.host.store_is_down_for(0);
        take(&mut fleet, 0, 49);
        assert_eq!(fleet.minted(0), 1 + 33 * 50);
        let mut fleet = ManualFleet::new(Sequences::Cache, 1);
        assert_eq!(take(&mut fleet, 0, 2), [1, 2]);
        fleet.host.store_is_down_for(0);
        assert_eq!(fleet.minted(0), 50 + 32 + 1);
    }

    #[test]
    fn a_replica_repeats_numbers_only_beyond_the_last_record_that_it_has_seen() {
        let mut fleet = ManualFleet::new(Sequences::PooledLo, 1);
        assert_eq!(fleet.minted(0), 1);
        let replica = fleet.copy();
        let before = take(&mut fleet, 0, 50 * 33 - 1);
        fleet.forget(&replica);
        fleet.start(true);
        assert!(!before.contains(&fleet.minted(1)), "33 numbers are in one record");
        let mut fleet = ManualFleet::new(Sequences::PooledLo, 1);
        assert_eq!(fleet.minted(0), 1);
        let replica = fleet.copy();
        let before = take(&mut fleet, 0, 50 * 60);
        fleet.forget(&replica);
        fleet.start(true);
        assert!(before.contains(&fleet.minted(1)));
    }
}
