//! katsubushi with `-redis`: 42 bits of milliseconds since 2015-01-01, 10 of worker id, 12 of sequence.
//!
//! It promises unique IDs that increase on a server. A server reads the wall clock at its start, and then counts by the
//! monotonic clock: setting the wall clock while it runs changes nothing. It stores no time, so a server that starts
//! knows nothing of what its worker id minted before.
//!
//! With `-redis` the worker id is one of 1 to 1023 that Redis keeps a lock for. A start listens for 3 s to what the
//! others publish every second. It takes at random one of the ten lowest ids that it has not heard of, with `SET NX`
//! and a lifetime of 600 s; if that is taken, it tries another. Every second a server publishes its id, and writes
//! itself into the lock (`GETSET`) for another 600 s. If it finds another server's name there, it ends; if the lock is
//! gone, it writes it again and logs an error. A stop ends all connections and deletes the lock.
//!
//! Read from: kayac/go-katsubushi 357220b, `generator.go` (`NextID`, `timestamp`, `waitUntilNextTick`), `cmd/katsubushi/main.go`
//! (`init`, `assignWorkerID`), `app.go` (`handleConn`); fujiwara/raus v0.1.0 (66192d4), `raus.go` (`subscribe`, `publish`,
//! `holdLock`). Here Redis keeps confirmed writes over a restart, which takes an append-only file. Messages that were
//! published while nobody listened are lost, as are the last 3 s of them when Redis restarts.

use std::collections::{BTreeMap, BTreeSet};

use super::{signed, snowflake, spin_for};
use floe::MonoMillis;
use floe_sim::model::{Ask, Fleet, Life, Machine, Micros, Model, Pace, Parts, Setup, Silence, Verdict};
use floe_sim::random::Random;
use floe_sim::scenario::SECOND;

const EPOCH: i64 = 1_420_070_400_000;
const SEQUENCE_MASK: u64 = 4095;
/// `SubscribeTimeout`, `LockExpires` as katsubushi sets it, and the ticker.
const LISTENS_MS: u64 = 3_000;
const EXPIRES: Micros = 600 * SECOND;
const HOLD_MS: u64 = 1_000;
const MOST_CANDIDATES: usize = 10;

/// Servers with worker ids from Redis.
#[derive(Clone, Copy, Default, Debug)]
pub struct Katsubushi {
    most_worker: u64,
}

/// Redis: who holds each worker id until when, and when each was last published.
#[derive(Clone, Default, Debug)]
pub struct Locks {
    locks: BTreeMap<u64, (u64, Micros)>,
    published: BTreeMap<u64, Micros>,
}

impl Locks {
    fn holder(&self, worker: u64, now: Micros) -> Option<u64> {
        self.locks.get(&worker).filter(|(_, until)| *until > now).map(|(name, _)| *name)
    }
}

/// A command, or the messages of a subscription.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// The messages of the last 3 s.
    Heard,
    /// `SET raus:id:<worker> <name> NX EX 600`.
    SetNx(u64, u64),
    /// `PUBLISH`, `GETSET`, `EXPIRE`.
    Hold(u64, u64),
    /// `DEL`.
    Del(u64),
}

/// Redis' answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Worker ids.
    Workers(Vec<u64>),
    /// Whether it was set or deleted.
    Done(bool),
    /// The name that was there.
    Was(Option<u64>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Listens(MonoMillis),
    /// Waits for the answer to this request.
    Hears(u64),
    Locks(u64, u64),
    Serves,
    Stops,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its UUID.
    name: u64,
    step: Step,
    used: BTreeSet<u64>,
    hold: Option<u64>,
    worker: u64,
    /// The wall clock at its start, counted from the epoch, and the monotonic clock then.
    offset: i64,
    started: MonoMillis,
    last: i64,
    sequence: u64,
    /// A thread is in `waitUntilNextTick` and holds the lock.
    spinning: bool,
}

impl Server {
    /// `timestamp`.
    fn timestamp<M: Model>(&self, machine: &Machine<'_, M>) -> i64 {
        self.offset + i64::try_from(machine.now.mono.since(self.started)).unwrap_or(i64::MAX)
    }

    /// One of the lowest ids that no server is known to have.
    fn lock(&mut self, most_worker: u64, machine: &mut Machine<'_, Katsubushi>) {
        let free = (1..=most_worker).filter(|worker| !self.used.contains(worker));
        let candidates: Vec<_> = free.take(MOST_CANDIDATES).collect();
        if candidates.is_empty() {
            return machine.die("no more available id");
        }
        let worker = *machine.random.choose(&candidates);
        self.step = Step::Locks(machine.send(Command::SetNx(worker, self.name)), worker);
    }
}

impl Model for Katsubushi {
    const PACE: Pace = Pace::NATIVE;

    keeps!(Locks, (), Command, Answer);

    type Process = Server;

    fn names(&self) -> &[floe_sim::model::NameInfo] {
        super::NAMES
    }

    fn store(&mut self, fleet: &Fleet) -> Locks {
        self.most_worker = (1 << fleet.worker_bits) - 1;
        Locks::default()
    }

    fn execute(&mut self, store: &mut Locks, _from: Life, request: &Command, now: Micros) -> Answer {
        match *request {
            Command::Heard => {
                let since = now.saturating_sub(LISTENS_MS * 1_000);
                let heard = store.published.iter().filter(|(_, at)| **at >= since);
                Answer::Workers(heard.map(|(worker, _)| *worker).collect())
            }
            Command::SetNx(worker, name) => {
                let free = store.holder(worker, now).is_none();
                if free {
                    store.locks.insert(worker, (name, now + EXPIRES));
                }
                Answer::Done(free)
            }
            Command::Hold(worker, name) => {
                let was = store.holder(worker, now);
                store.published.insert(worker, now);
                store.locks.insert(worker, (name, now + EXPIRES));
                Answer::Was(was)
            }
            Command::Del(worker) => Answer::Done(store.locks.remove(&worker).is_some()),
        }
    }

    fn store_dies(&mut self, store: &mut Locks, _now: Micros) {
        store.published.clear();
    }

    fn delete_record(&mut self, store: &mut Locks, random: &mut Random) -> Option<String> {
        let workers: Vec<_> = store.locks.keys().copied().collect();
        let worker = *random.choose(workers.get(..).filter(|all| !all.is_empty())?);
        store.locks.remove(&worker);
        Some(format!("the key raus:id:{worker}"))
    }

    fn start(&mut self, _: &Setup, store: Option<&mut Locks>, machine: &mut Machine<'_, Self>) -> Server {
        if store.is_none() {
            machine.die("failed to get lock by SET NX");
        }
        machine.wake_in(LISTENS_MS);
        Server {
            name: machine.random.number(),
            step: Step::Listens(machine.now.mono.plus(LISTENS_MS)),
            used: BTreeSet::new(),
            hold: None,
            worker: 0,
            offset: 0,
            started: machine.now.mono,
            last: 0,
            sequence: 0,
            spinning: false,
        }
    }

    fn wake(&mut self, process: &mut Server, machine: &mut Machine<'_, Self>) {
        match process.step {
            Step::Listens(until) if until <= machine.now.mono => {
                process.step = Step::Hears(machine.send(Command::Heard));
            }
            Step::Listens(until) => machine.wake_at(until),
            Step::Serves => {
                process.hold = Some(machine.send(Command::Hold(process.worker, process.name)));
                machine.wake_in(HOLD_MS);
            }
            Step::Hears(_) | Step::Locks(..) | Step::Stops => {}
        }
    }

    fn answer(
        &mut self,
        process: &mut Server,
        number: u64,
        answer: Result<Answer, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        match (process.step, answer) {
            (Step::Hears(asked), Ok(Answer::Workers(workers))) if asked == number => {
                process.used.extend(workers);
                process.lock(self.most_worker, machine);
            }
            (Step::Locks(asked, worker), Ok(Answer::Done(true))) if asked == number => {
                (process.step, process.worker) = (Step::Serves, worker);
                (process.offset, process.started) = (machine.wall() - EPOCH, machine.now.mono);
                machine.says(|| format!("takes worker id {worker} from Redis"));
                machine.claims(worker);
                machine.wake_in(HOLD_MS);
            }
            (Step::Locks(asked, worker), Ok(_)) if asked == number => {
                process.used.insert(worker);
                process.lock(self.most_worker, machine);
            }
            (Step::Hears(asked) | Step::Locks(asked, _), _) if asked == number => {
                machine.die("failed to get lock by SET NX");
            }
            (Step::Serves, Ok(Answer::Was(was))) if process.hold == Some(number) => match was {
                Some(name) if name != process.name => machine.die("unexpected uuid got"),
                Some(_) => {}
                None => machine.says(|| "finds its lock gone, and writes it anew".into()),
            },
            (Step::Serves, Err(Silence)) if process.hold == Some(number) => {
                machine.says(|| "logs that Redis does not answer, and goes on".into());
            }
            _ => {}
        }
    }

    fn mint(&mut self, process: &mut Server, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if process.step != Step::Serves {
            return Verdict::Refused("connection refused".into());
        }
        let now = process.timestamp(machine);
        if process.spinning {
            if now <= process.last {
                return spin_for(machine, process.last - now);
            }
            process.spinning = false;
        } else if now < process.last {
            return Verdict::Refused("system clock was rollbacked".into());
        } else if now == process.last {
            process.sequence = (process.sequence + 1) & SEQUENCE_MASK;
            if process.sequence == 0 {
                process.spinning = true;
                return spin_for(machine, process.last - now);
            }
        } else {
            process.sequence = 0;
        }
        process.last = now;
        Verdict::Minted(vec![signed(now, 22, process.worker << 12 | process.sequence)])
    }

    fn stop(&mut self, process: &mut Server, machine: &mut Machine<'_, Self>) {
        if process.step == Step::Serves {
            machine.send(Command::Del(process.worker));
        }
        process.step = Step::Stops;
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// Runs it until it serves or ends itself.
    fn started(host: &mut ManualHost<Katsubushi>) -> Server {
        let mut server = host.start();
        while server.step != Step::Serves && host.died().is_none() {
            host.run(&mut server, true);
        }
        server
    }

    /// go-katsubushi 357220b, generator.go, NextID and timestamp: the monotonic clock, counted from the wall clock of the start.
    #[test]
    fn it_looks_at_the_wall_clock_at_its_start_alone() {
        let mut host = ManualHost::new(Katsubushi::default());
        let mut server = started(&mut host);
        let id = host.id(&mut server);
        let time = u128::from((NOON + 3_000 - EPOCH).unsigned_abs());
        assert_eq!(id, time << 22 | u128::from(server.worker) << 12);
        host.step(-3_600_000);
        increasing(&mut host, &mut server, 4_095);
        assert_eq!(host.id(&mut server) >> 22, time + 1, "4,096 in one millisecond");
        increasing(&mut host, &mut server, 10_000);
        host.pass(1_000);
        assert!(host.id(&mut server) >> 22 > time + 1_000);
        let worker = server.worker;
        host.store.locks.clear();
        let mut again = started(&mut host);
        again.worker = worker;
        assert!(host.id(&mut again) >> 22 < time, "a start believes the clock that it finds");
    }

    /// raus v0.1.0, raus.go, subscribe: ids that were heard are left out, and a lock that is taken leads to another.
    #[test]
    fn a_start_takes_an_id_that_nobody_publishes_and_nobody_has_locked() {
        let mut host = ManualHost::new(Katsubushi::default());
        let mut first = started(&mut host);
        host.run(&mut first, true);
        host.become_node(1);
        let second = started(&mut host);
        host.become_node(2);
        let third = started(&mut host);
        let mut all = [first.worker, second.worker, third.worker];
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
        host.become_node(0);
        started(&mut host);
        assert_eq!(host.died(), Some("no more available id"), "the fleet has three");
        host.pass(600_000);
        started(&mut host);
        assert_eq!(host.died(), None, "nobody has held them for 600 s");
        host.start_alone();
        assert!(host.died().is_some());
    }

    /// The same: ids that others publish count even if their locks are gone.
    #[test]
    fn a_start_leaves_out_an_id_that_is_published_and_not_locked() {
        let mut host = ManualHost::new(Katsubushi::default());
        let mut first = started(&mut host);
        host.run(&mut first, true);
        let published = host.store.published.clone();
        for _ in 0..20 {
            host.store.locks.clear();
            host.store.published = published.keys().map(|worker| (*worker, host.true_time)).collect();
            host.become_node(1);
            assert_ne!(started(&mut host).worker, first.worker);
        }
        host.store.published = published.keys().map(|worker| (*worker, host.true_time)).collect();
        host.store_is_down_for(1);
        let heard = host.model.execute(&mut host.store, host.life, &Command::Heard, host.true_time);
        assert!(matches!(heard, Answer::Workers(workers) if workers.is_empty()), "Redis keeps no messages");
    }

    /// raus v0.1.0, raus.go, subscribe and MaxCandidate; go-katsubushi 357220b, main.go, which sets LockExpires.
    #[test]
    fn a_lock_lasts_for_six_hundred_seconds_and_is_one_of_the_ten_lowest() {
        let mut host = ManualHost::new(Katsubushi::default());
        host.model.most_worker = 1_023;
        let mut workers = BTreeSet::new();
        for _ in 0..200 {
            host.store = Locks::default();
            let Server { worker, name, .. } = started(&mut host);
            let holder = |after| host.store.holder(worker, host.true_time + after);
            assert_eq!([holder(599_999_999), holder(600_000_000)], [Some(name), None]);
            workers.insert(worker);
        }
        assert_eq!(workers, (1..=10).collect());
    }

    /// raus v0.1.0, raus.go, holdLock and publish.
    #[test]
    fn who_finds_another_name_in_its_lock_ends_and_a_stop_deletes_it() {
        let mut host = ManualHost::new(Katsubushi::default());
        let mut server = started(&mut host);
        host.store.locks.remove(&server.worker);
        host.run(&mut server, true);
        assert_eq!(host.died(), None, "a lock that is gone is written anew");
        assert_eq!(host.store.holder(server.worker, 0), Some(server.name));
        host.run(&mut server, false);
        assert_eq!(host.died(), None);
        host.stop(&mut server, true);
        assert_eq!(host.store.holder(server.worker, 0), None);
        assert!(matches!(host.mint(&mut server), Verdict::Refused(_)));
        let mut server = started(&mut host);
        host.store.locks.insert(server.worker, (server.name ^ 1, Micros::MAX));
        host.run(&mut server, true);
        assert_eq!(host.died(), Some("unexpected uuid got"));
    }
}
