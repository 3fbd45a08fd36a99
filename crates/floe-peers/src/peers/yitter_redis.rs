//! Yitter's generator with its own tool (`regworkerid`), which takes worker ids from Redis for 15 s at a time.
//!
//! A start increments a number in Redis. That is the worker id, unless a key says that it is taken; then it increments
//! again. Past the largest one, a start may reset the number to the smallest; a second number in Redis allows that to
//! every second start that asks. It writes the key with a lifetime of 15 s. A thread extends it every 5 s if it still
//! exists, and ignores the result. So worker ids go in a circle: an id comes back only after all the others.
//!
//! Read from: yitter/IdGenerator 942ba6a, `Go/regworkerid/regworkerid/reghelper.go` (`RegisterOne`, `getNextWorkerId`,
//! `isAvailable`, `setWorkerIdFlag`, `extendLifeTime`, `canReset`), with worker ids from 0 to 63 and the lifetime of
//! `Go/regworkerid/main.go`. Nothing calls `UnRegister` by itself, so it is never called here. A command without an
//! answer ends the start. Redis keeps what it confirmed over a restart, which takes an append-only file.

use std::collections::BTreeMap;

use super::yitter::SnowWorker;
use floe::MonoMillis;
use floe_sim::model::{Ask, Fleet, Life, Machine, Micros, Model, Pace, Parts, Setup, Silence, Verdict};
use floe_sim::random::Random;
use floe_sim::scenario::SECOND;

const LIFETIME: Micros = 15 * SECOND;
const EXTEND_MS: u64 = 5_000;
const MOST_LOOPS: u64 = 20;
const LOOP_MS: u64 = 200;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct YitterRedis {
    most_worker: i64,
}

/// `IdGen:WorkerId:Index`, `…:Value:Edit`, and when each `…:Value:<id>` expires.
#[derive(Clone, Default, Debug)]
pub struct Keys {
    index: i64,
    edit: i64,
    flags: BTreeMap<i64, Micros>,
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// `INCR` of the index.
    Next,
    /// `INCR` of the edit key.
    Edit,
    /// `SET` of the index to before the smallest id, and of the edit key to 0.
    Reset,
    /// Whether the id's key exists.
    Get(i64),
    /// Writes it, for 15 s.
    Set(i64),
    /// Extends it, if it exists.
    Expire(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Next,
    Edit,
    Reset,
    Get(i64),
    Set(i64),
    /// Sleeps before it starts over.
    Sleeps(MonoMillis),
    Mints,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Registered {
    step: Step,
    asked: u64,
    loops: u64,
    worker: i64,
    generator: Option<SnowWorker>,
}

impl Registered {
    fn go(&mut self, step: Step, command: Command, machine: &mut Machine<'_, YitterRedis>) {
        (self.step, self.asked) = (step, machine.send(command));
    }

    fn sleep(&mut self, millis: u64, machine: &mut Machine<'_, YitterRedis>) {
        self.step = Step::Sleeps(machine.now.mono.plus(millis));
        machine.wake_in(millis);
    }
}

impl Model for YitterRedis {
    const PACE: Pace = Pace::NATIVE;

    // The reply: the number, or 1 for yes and 0 for no.
    keeps!(Keys, (), Command, i64);

    type Process = Registered;

    fn names(&self) -> &[floe_sim::model::NameInfo] {
        super::NAMES
    }

    fn store(&mut self, fleet: &Fleet) -> Keys {
        self.most_worker = (1 << fleet.worker_bits.min(6)) - 1;
        Keys::default()
    }

    fn execute(&mut self, store: &mut Keys, _from: Life, request: &Command, now: Micros) -> i64 {
        store.flags.retain(|_, until| *until > now);
        match *request {
            Command::Next => {
                store.index += 1;
                store.index
            }
            Command::Edit => {
                store.edit += 1;
                store.edit
            }
            Command::Reset => {
                (store.index, store.edit) = (-1, 0);
                1
            }
            Command::Get(worker) => i64::from(store.flags.contains_key(&worker)),
            Command::Set(worker) => {
                store.flags.insert(worker, now + LIFETIME);
                1
            }
            Command::Expire(worker) => {
                let flag = store.flags.get_mut(&worker);
                i64::from(flag.map(|until| *until = now + LIFETIME).is_some())
            }
        }
    }

    fn delete_record(&mut self, store: &mut Keys, random: &mut Random) -> Option<String> {
        let workers: Vec<_> = store.flags.keys().copied().collect();
        let worker = *random.choose(workers.get(..).filter(|all| !all.is_empty())?);
        store.flags.remove(&worker);
        Some(format!("the key IdGen:WorkerId:Value:{worker}"))
    }

    fn start(&mut self, _: &Setup, store: Option<&mut Keys>, machine: &mut Machine<'_, Self>) -> Registered {
        if store.is_none() {
            machine.die("RegisterOne returned -1");
        }
        let mut process = Registered { step: Step::Next, asked: 0, loops: 0, worker: -1, generator: None };
        process.go(Step::Next, Command::Next, machine);
        process
    }

    fn wake(&mut self, process: &mut Registered, machine: &mut Machine<'_, Self>) {
        match process.step {
            Step::Sleeps(until) if until <= machine.now.mono => {
                process.go(Step::Next, Command::Next, machine);
            }
            Step::Sleeps(until) => machine.wake_at(until),
            Step::Mints => {
                machine.send(Command::Expire(process.worker));
                machine.wake_in(EXTEND_MS);
            }
            _ => {}
        }
    }

    fn answer(
        &mut self,
        process: &mut Registered,
        number: u64,
        answer: Result<i64, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        if number != process.asked || process.step == Step::Mints {
            return;
        }
        let Ok(value) = answer else { return machine.die("RegisterOne returned -1") };
        match process.step {
            Step::Next if value > self.most_worker => process.go(Step::Edit, Command::Edit, machine),
            Step::Next => process.go(Step::Get(value), Command::Get(value), machine),
            // The first one that asks may not reset it.
            Step::Edit if value == 1 => process.sleep(LOOP_MS, machine),
            Step::Edit => process.go(Step::Reset, Command::Reset, machine),
            Step::Reset => {
                process.loops += 1;
                if process.loops > MOST_LOOPS {
                    return machine.die("RegisterOne returned -1");
                }
                process.sleep(LOOP_MS * process.loops, machine);
            }
            Step::Get(worker) if value == 0 => process.go(Step::Set(worker), Command::Set(worker), machine),
            Step::Get(_) => process.go(Step::Next, Command::Next, machine),
            Step::Set(worker) => {
                (process.step, process.worker) = (Step::Mints, worker);
                machine.says(|| format!("takes worker id {worker} from Redis"));
                process.generator = Some(SnowWorker::new(worker.unsigned_abs(), machine));
                machine.wake_in(EXTEND_MS);
            }
            Step::Sleeps(_) | Step::Mints => {}
        }
    }

    fn mint(&mut self, process: &mut Registered, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        match &mut process.generator {
            Some(generator) => generator.next(machine),
            None => Verdict::Refused("there is no worker id yet".into()),
        }
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(super::yitter::read(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::ManualHost;

    /// Runs it until it mints or ends itself.
    fn registered(host: &mut ManualHost<YitterRedis>) -> Registered {
        let mut process = host.start();
        host.serve(&mut process, true);
        while process.step != Step::Mints && host.died().is_none() {
            host.run(&mut process, true);
        }
        process
    }

    /// IdGenerator 942ba6a, reghelper.go, getNextWorkerId and isAvailable.
    #[test]
    fn ids_are_handed_out_in_a_circle_and_one_that_somebody_has_is_left_out() {
        let mut host = ManualHost::new(YitterRedis::default());
        let workers: Vec<_> = (0..3).map(|_| registered(&mut host).worker).collect();
        assert_eq!(workers, [1, 2, 3]);
        assert_eq!(registered(&mut host).worker, 0, "the circle begins again");
        host.pass(15_000);
        host.store.flags.insert(1, Micros::MAX);
        assert_eq!(registered(&mut host).worker, 2);
    }

    /// IdGenerator 942ba6a, reghelper.go, canReset and _MaxLoopCount.
    #[test]
    fn where_all_are_taken_a_start_goes_around_twenty_times_and_fails() {
        let mut host = ManualHost::new(YitterRedis::default());
        host.store.flags.extend((0..4).map(|worker| (worker, Micros::MAX)));
        let before = host.now.mono;
        registered(&mut host);
        assert_eq!(host.died(), Some("RegisterOne returned -1"));
        let sleeps = (1..=20).sum::<u64>() * LOOP_MS;
        assert!(host.now.mono.since(before) >= sleeps, "longer and longer");
        host.start_alone();
        assert!(host.died().is_some());
    }

    /// IdGenerator 942ba6a, reghelper.go, canReset and getNextWorkerId.
    #[test]
    fn the_first_one_that_finds_the_circle_ended_leaves_it_to_the_second() {
        let mut host = ManualHost::new(YitterRedis::default());
        host.store.index = 3;
        let before = host.now.mono;
        assert_eq!(registered(&mut host).worker, 0);
        assert_eq!(
            host.now.mono.since(before),
            400,
            "200 ms until it asks once more, and 200 ms after its reset"
        );
        assert_eq!(host.store.edit, 0);
    }

    /// IdGenerator 942ba6a, reghelper.go, setWorkerIdFlag, with the lifetime of main.go.
    #[test]
    fn a_key_lasts_for_fifteen_seconds() {
        let mut host = ManualHost::new(YitterRedis::default());
        let worker = registered(&mut host).worker;
        let mut is_there = |after_ms| {
            host.pass(after_ms);
            host.model.execute(&mut host.store, host.life, &Command::Get(worker), host.true_time)
        };
        assert_eq!([is_there(14_999), is_there(1)], [1, 0]);
    }

    /// IdGenerator 942ba6a, reghelper.go, extendLifeTime: EXPIRE, whatever comes of it.
    #[test]
    fn a_key_that_has_run_out_is_not_written_again_and_its_owner_mints_on() {
        let mut host = ManualHost::new(YitterRedis::default());
        let mut process = registered(&mut host);
        for _ in 0..10 {
            host.run(&mut process, true);
        }
        assert!(host.store.flags.contains_key(&process.worker), "prolonged");
        host.pass(16_000);
        host.run(&mut process, true);
        assert!(!host.store.flags.contains_key(&process.worker));
        host.store.index = process.worker - 1;
        let mut other = registered(&mut host);
        assert_eq!(other.worker, process.worker);
        assert_eq!(host.id(&mut process), host.id(&mut other));
    }
}
