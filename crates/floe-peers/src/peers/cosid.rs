//! CosId's snowflake, with machine ids from Redis: 41 bits of milliseconds since 2019-12-24T16:00Z, 10 (or as configured) of
//! machine id, 12 of sequence.
//!
//! It promises unique IDs that increase on a generator, machine ids that are handed out and recycled automatically, and
//! protection against a clock that goes back, also over restarts. The sequence continues from millisecond to
//! millisecond, and is reset once it is past 2047. If the clock is 1 ms behind, it spins; up to 500 ms behind, it
//! sleeps; further behind is an error. At the start it does the same with the time in the local state file or in Redis.
//!
//! A stable instance is named after its address and port. It has a local state file, which keeps its machine id, and
//! then asks Redis for none. The default instance is named after its address and process id, and has no file. Without a
//! file, Redis gives an instance the machine id that it had, or one that was given back, with the later of the time
//! written there and the instance's clock; or the next number; or one whose instance has been silent for 5 minutes by
//! the asker's clock. A guardian writes the clock to the file and to Redis every minute; if that fails, or another
//! instance has taken the machine id, it logs that. A stop writes the clock once more and gives the machine id back (a
//! stable instance keeps it in Redis, and its file is removed). This happens in the phase that Spring stops
//! first: the web server ends later, and mints until then.
//!
//! Read from: Ahoo-Wang/CosId fc29da0 (3.2.1), `AbstractSnowflakeId.java`, `ClockSyncSnowflakeId.java`,
//! `DefaultClockBackwardsSynchronizer.java`, `AbstractMachineIdDistributor.java` (`distribute`, `revert`),
//! `LocalMachineStateStorage.java`, `DefaultMachineIdGuarder.java`, `CosIdMachineAutoConfiguration.java` (`instanceId`,
//! `machineStateStorage`), `CosIdMachineIdLifecycle.java`, and the scripts `machine_id_distribute.lua`,
//! `machine_id_guard.lua`, `machine_id_revert.lua`, `machine_id_revert_stable.lua`.

use std::collections::BTreeMap;

use super::{Entry, Registry, Reply, Request, signed, snowflake, spin};
use floe::MonoMillis;
use floe_sim::model::{Ask, Fleet, Life, Machine, Model, Pace, Parts, Setup, Silence, Verdict};

const EPOCH: i64 = 1_577_203_200_000;
const SEQUENCE_MASK: u64 = 4095;
const RESET_FROM: u64 = 2047;
const SPINS_FOR_MS: i64 = 1;
const SLEEPS_FOR_MS: i64 = 500;
const GUARD_MS: u64 = 60_000;
const SAFE_GUARD_MS: i64 = 300_000;

/// The algorithm.
#[derive(Clone, Copy, Debug)]
pub struct CosId {
    /// Whether instances are named by address and port and keep their machine ids (`stable`), as is advised for fixed
    /// machines. The default is a name with the process id, which changes at every start.
    pub stable: bool,
    /// `machine-bit`.
    bits: u32,
}

/// The state file: for each instance, its machine id and a time.
pub type Files = BTreeMap<String, (u64, i64)>;

/// An instance.
#[derive(Clone, Debug)]
pub struct Instance {
    name: String,
    machine_id: u64,
    bits: u32,
    guard: Option<u64>,
    /// The last message to Redis. The file is removed when it has arrived.
    revert: Option<u64>,
    /// A start that waits for the clock.
    starting: Option<Wait>,
    last: i64,
    sequence: u64,
    spinning: bool,
    /// Threads inside the synchronizer.
    waiting: BTreeMap<u64, Wait>,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    Spin(i64),
    Sleep(MonoMillis),
}

/// `DefaultClockBackwardsSynchronizer.sync`: how to wait until the clock reaches `last`, if at all.
fn sync<M: Model>(last: i64, machine: &Machine<'_, M>) -> Result<Option<Wait>, String> {
    let behind = last.saturating_sub(machine.wall());
    if behind <= 0 {
        Ok(None)
    } else if behind <= SPINS_FOR_MS {
        Ok(Some(Wait::Spin(last)))
    } else if behind > SLEEPS_FOR_MS {
        Err(format!("Clock moved backwards by {behind} ms, more than {SLEEPS_FOR_MS}"))
    } else {
        Ok(Some(Wait::Sleep(machine.now.mono.plus(behind.unsigned_abs()))))
    }
}

/// When to look again, or `None` if the wait is over.
fn still<M: Model>(wait: Wait, machine: &Machine<'_, M>) -> Option<Verdict> {
    match wait {
        Wait::Spin(last) => (machine.wall() < last).then(|| spin(machine, last - 1)),
        Wait::Sleep(until) => (machine.now.mono < until).then_some(Verdict::Again(until)),
    }
}

impl CosId {
    /// Instances with stable names, or with the default ones.
    pub fn new(stable: bool) -> Self {
        Self { stable, bits: 10 }
    }

    /// `machine_id_distribute.lua`.
    fn distribute(self, store: &mut Registry, name: &str, now: i64) -> Option<u64> {
        let own = format!("itc/{name}");
        let safe_guard_at = if self.stable { 0 } else { (now - SAFE_GUARD_MS).max(0) };
        let found = if let Some(entry) = store.get(&own) {
            Some((entry.number, entry.stamp.unwrap_or(now).max(now)))
        } else if let Some((key, entry)) = store.list("revert/").into_iter().next() {
            store.remove(&key);
            Some((entry.number, entry.stamp.unwrap_or(now).max(now)))
        } else if store.peek("adder") < 1 << self.bits {
            Some((store.increment("adder"), now))
        } else {
            let silent = |stamp: Option<i64>| stamp.is_none_or(|stamp| stamp <= safe_guard_at);
            store.list("itc/").into_iter().find(|(_, entry)| silent(entry.stamp)).map(|(key, entry)| {
                store.remove(&key);
                (entry.number, now)
            })
        };
        found.map(|(number, stamp)| {
            store.put(&own, Entry { number, stamp: Some(stamp) });
            number
        })
    }

    /// `AbstractMachineIdDistributor.distribute`.
    fn machine_id(
        self,
        name: &str,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> Result<(u64, Option<Wait>), String> {
        if let Some((id, stamp)) = machine.disk.get(name).copied() {
            machine.says(|| format!("takes machine id {id} from its state file"));
            return Ok((id, sync(stamp, machine)?));
        }
        let now = machine.wall();
        let store = store.ok_or("Redis does not answer")?;
        let id = self.distribute(store, name, now).ok_or("MachineIdOverflowException")?;
        let given = store.get(&format!("itc/{name}")).and_then(|entry| entry.stamp).unwrap_or(now);
        machine.says(|| format!("takes machine id {id} from Redis"));
        let wait = sync(given, machine)?;
        machine.disk.insert(name.to_owned(), (id, now));
        Ok((id, wait))
    }

    /// `resetStorage`: writes the clock to the file, unless it is behind, and returns the file's time then.
    fn reset(process: &Instance, machine: &mut Machine<'_, Self>) -> Option<i64> {
        let now = machine.wall();
        let (_, stamp) = machine.disk.get_mut(&process.name)?;
        *stamp = now.max(*stamp);
        Some(*stamp)
    }
}

impl Instance {
    fn generate(&mut self, machine: &Machine<'_, CosId>) -> Verdict {
        let now = machine.wall();
        if self.spinning {
            if now <= self.last {
                return spin(machine, self.last);
            }
            self.spinning = false;
        } else {
            if now > self.last && self.sequence >= RESET_FROM {
                self.sequence = 0;
            }
            self.sequence = (self.sequence + 1) & SEQUENCE_MASK;
            if self.sequence == 0 {
                self.spinning = true;
                return spin(machine, self.last);
            }
        }
        self.last = now;
        Verdict::Minted(vec![signed(now - EPOCH, 12 + self.bits, self.machine_id << 12 | self.sequence)])
    }
}

impl Model for CosId {
    const PACE: Pace = Pace::JVM;

    keeps_a_registry!(Files);

    type Process = Instance;

    fn store(&mut self, fleet: &Fleet) -> Registry {
        self.bits = fleet.worker_bits.clamp(1, 10);
        Registry::default()
    }

    fn start(
        &mut self,
        _: &Setup,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> Instance {
        let Life { node, number, host } = machine.life;
        let name =
            if self.stable { format!("{host}:{}", 8080 + node) } else { format!("{host}:{node}-{number}") };
        let (machine_id, starting) = self.machine_id(&name, store, machine).unwrap_or_else(|why| {
            machine.die(why);
            (0, None)
        });
        machine.claims(machine_id);
        machine.wake_in(GUARD_MS);
        Instance {
            name,
            machine_id,
            bits: self.bits,
            guard: None,
            revert: None,
            starting,
            last: -1,
            sequence: 0,
            spinning: false,
            waiting: BTreeMap::new(),
            closed: false,
        }
    }

    fn wake(&mut self, process: &mut Instance, machine: &mut Machine<'_, Self>) {
        if process.closed {
            return;
        }
        match Self::reset(process, machine) {
            Some(stamp) => {
                let guard = Request::Stamp(format!("itc/{}", process.name), stamp);
                process.guard = Some(machine.send(guard));
            }
            None => machine.wake_in(GUARD_MS),
        }
    }

    fn answer(
        &mut self,
        process: &mut Instance,
        number: u64,
        answer: Result<Reply, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        if process.revert == Some(number) && answer.is_ok() {
            machine.disk.remove(&process.name);
        }
        if process.guard != Some(number) || process.closed {
            return;
        }
        process.guard = None;
        machine.wake_in(GUARD_MS);
        match answer {
            Ok(Reply::Done(true)) => machine.says(|| "guards its machine id".into()),
            Ok(_) => machine.says(|| "logs that its machine id is lost, and goes on".into()),
            Err(Silence) => machine.says(|| "logs that its guardian failed, and goes on".into()),
        }
    }

    fn mint(&mut self, process: &mut Instance, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let waited = process.waiting.remove(&ask.id);
        if let Some(again) = process.starting.and_then(|wait| still(wait, machine)) {
            return again;
        }
        process.starting = None;
        if let Some((wait, again)) = waited.and_then(|wait| Some((wait, still(wait, machine)?))) {
            process.waiting.insert(ask.id, wait);
            return again;
        }
        if process.spinning || machine.wall() >= process.last {
            return process.generate(machine);
        }
        if waited.is_some() {
            return Verdict::Refused("ClockBackwardsException".into());
        }
        match sync(process.last, machine) {
            Ok(None) => process.generate(machine),
            Ok(Some(wait)) => {
                process.waiting.insert(ask.id, wait);
                still(wait, machine).unwrap_or(Verdict::Again(machine.now.mono))
            }
            Err(why) => Verdict::Refused(why),
        }
    }

    fn stop(&mut self, process: &mut Instance, machine: &mut Machine<'_, Self>) {
        process.closed = true;
        let Some(stamp) = Self::reset(process, machine) else { return };
        let own = format!("itc/{}", process.name);
        let revert = match self.stable {
            true => Request::Stamp(own, stamp),
            false => Request::Move(own, "revert/".into(), stamp),
        };
        process.revert = Some(machine.send(revert));
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, self.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// CosId fc29da0, DefaultClockBackwardsSynchronizer.sync: 1 and 500 ms.
    #[test]
    fn it_mints_in_its_layout_and_synchronizes_with_the_clock() {
        let mut host = ManualHost::new(CosId::new(true));
        host.start();
        host.become_node(1);
        let mut instance = host.start();
        let time = u128::from((NOON - EPOCH).unsigned_abs());
        assert_eq!(host.id(&mut instance), time << 14 | 1 << 12 | 1, "two bits of machine id");
        host.pass(1);
        assert_eq!(host.id(&mut instance), (time + 1) << 14 | 1 << 12 | 2, "the sequence runs on");
        increasing(&mut host, &mut instance, 10_000);
        for (behind, refused) in [(1, false), (2, false), (500, false), (501, true)] {
            host.id(&mut instance);
            host.step(-behind);
            let verdict = host.mint(&mut instance);
            assert_eq!(matches!(verdict, Verdict::Refused(_)), refused, "{behind}: {verdict:?}");
            host.pass(behind.unsigned_abs());
        }
    }

    #[test]
    fn a_start_compares_its_clock_with_a_file_that_is_up_to_a_minute_old() {
        let mut host = ManualHost::new(CosId::new(true));
        let mut instance = host.start();
        host.run(&mut instance, true);
        assert_eq!(host.disk["0:8080"], (0, NOON + 60_000), "address and port");
        host.pass(50_000);
        let first = host.id(&mut instance);
        host.step(-50_000);
        let mut instance = host.start_alone();
        assert_eq!(host.died(), None);
        host.pass(50_000);
        assert_eq!(host.id(&mut instance), first, "again");
        host.step(-50_501);
        host.start();
        assert!(host.died().is_some());
    }

    #[test]
    fn machine_ids_are_given_back_and_taken_after_five_silent_minutes() {
        let mut host = ManualHost::new(CosId::new(false));
        let mut first = host.start();
        for id in 1..4 {
            assert_eq!(host.start().machine_id, id);
        }
        host.start();
        assert!(host.died().is_some(), "overflow");
        host.stop(&mut first, true);
        assert_eq!(host.start().machine_id, 0, "given back");
        host.pass(300_000);
        assert_eq!(host.start().machine_id, 1, "not heard of for 5 minutes");
        host.start_alone();
        assert!(host.died().is_some());
    }

    /// CosId fc29da0, machine_id_distribute.lua (DistributeBySelf) and AbstractMachineIdDistributor.distribute.
    #[test]
    fn a_start_without_a_file_waits_for_the_time_in_redis() {
        let mut host = ManualHost::new(CosId::new(true));
        let mut instance = host.start();
        host.run(&mut instance, true);
        host.disk.clear();
        host.step(-400);
        let mut next = host.start();
        let Verdict::Again(at) = host.mint(&mut next) else { unreachable!() };
        assert_eq!(at.since(host.now.mono), 400);
        host.disk.clear();
        host.step(-101);
        host.start();
        assert!(host.died().is_some_and(|why| why.contains("501 ms")));
    }

    /// CosId fc29da0, AbstractMachineIdDistributor.revert (the file is removed), machine_id_revert_stable.lua, and
    /// CosIdMachineIdLifecycle, a SmartLifecycle without a phase of its own: it is stopped before the web server.
    #[test]
    fn a_stop_writes_the_clock_to_redis_removes_the_file_and_mints_on() {
        for stable in [true, false] {
            let mut host = ManualHost::new(CosId::new(stable));
            let mut instance = host.start();
            host.pass(10_000);
            let name = instance.name.clone();
            host.stop(&mut instance, true);
            assert!(host.disk.is_empty());
            let stamp = |key: &str| host.store.get(key).and_then(|entry| entry.stamp);
            let key = if stable { format!("itc/{name}") } else { "revert/0".into() };
            assert_eq!(stamp(&key), Some(NOON + 10_000));
            assert!(matches!(host.mint(&mut instance), Verdict::Minted(_)));
            assert_eq!(host.start().machine_id, 0, "another one mints with it meanwhile");
        }
        let mut host = ManualHost::new(CosId::new(true));
        let mut instance = host.start();
        host.stop(&mut instance, false);
        assert_eq!(host.disk.len(), 1, "a Redis that is silent is an exception, before the file is removed");
    }

    /// CosId fc29da0, CosIdMachineAutoConfiguration.instanceId: address and port, so another address makes another instance.
    #[test]
    fn on_another_host_a_stable_instance_is_another_one() {
        let mut host = ManualHost::new(CosId::new(true));
        assert_eq!(host.start().machine_id, 0);
        (host.life.host, host.disk) = (5, Files::default());
        assert_eq!(host.start().machine_id, 1);
        (host.life.host, host.disk) = (0, Files::default());
        assert_eq!(host.start().machine_id, 0, "Redis remembers");
    }

    #[test]
    fn a_lost_machine_id_is_logged() {
        let mut host = ManualHost::new(CosId::new(false));
        let mut instance = host.start();
        host.store = Registry::default();
        host.run(&mut instance, true);
        assert!(matches!(host.mint(&mut instance), Verdict::Minted(_)));
    }
}
