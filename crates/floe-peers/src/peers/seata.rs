//! Apache Seata's `IdWorker`: 10 bits of worker id, then 41 of milliseconds since 2020-05-03 (Beijing's midnight) and 12 of
//! sequence as one number.
//!
//! It promises unique IDs that increase on a generator, bursts without waiting, and no dependence on a clock that goes
//! back. Time and sequence are one counter, which begins at the clock's time and from then on only counts. It looks at
//! the clock only to slow down: while the counter is not behind the clock, each call sleeps for 5 ms, once, and
//! continues. It keeps nothing over a restart. By default the worker id is the lower 10 bits of the first network
//! card's MAC address: it differs between hosts, and is the same for two processes on one host.
//!
//! Read from: apache/incubator-seata f43e2a9 (2.0.0), `IdWorker.java` (`nextId`, `waitIfNecessary`,
//! `generateWorkerIdBaseOnMac`). `originals.rs` plays the class itself beside this model.

use std::collections::BTreeMap;

use super::{claim, field};
use floe::{MonoMillis, UnixMillis};
use floe_sim::model::{Ask, Machine, Model, Pace, Parts, Setup, Verdict};

const EPOCH: i64 = 1_588_435_200_000;
const SLEEP_MS: u64 = 5;
const COUNTER_MASK: u64 = (1 << 53) - 1;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seata {
    /// Whether the operator gave each node a worker id.
    pub configured: bool,
}

/// A generator.
#[derive(Clone, Debug)]
pub struct IdWorker {
    worker: u64,
    /// `timestampAndSequence` of the last ID.
    counter: u64,
    /// The asks whose threads sleep, and until when. There is no lock.
    sleeping: BTreeMap<u64, MonoMillis>,
}

impl Model for Seata {
    const PACE: Pace = Pace::JVM;

    keeps_nothing!(Option<u64>);

    type Process = IdWorker;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> IdWorker {
        let Machine { disk, random, .. } = machine;
        let worker = match self.configured {
            true => setup.worker,
            false => *disk.get_or_insert_with(|| random.below(1 << 10)),
        };
        claim(worker, 1023, "worker Id can't be greater than 1023 or less than 0", machine);
        let counter = (machine.wall() - EPOCH).cast_unsigned() << 12;
        IdWorker { worker, counter, sleeping: BTreeMap::new() }
    }

    fn mint(&mut self, process: &mut IdWorker, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        match process.sleeping.get(&ask.id) {
            Some(until) if machine.now.mono < *until => return Verdict::Again(*until),
            Some(_) => drop(process.sleeping.remove(&ask.id)),
            None if (process.counter >> 12).cast_signed() >= machine.wall() - EPOCH => {
                let until = machine.now.mono.plus(SLEEP_MS);
                process.sleeping.insert(ask.id, until);
                return Verdict::Again(until);
            }
            None => {}
        }
        process.counter = process.counter.wrapping_add(1);
        Verdict::Minted(vec![u128::from(process.worker << 53 | process.counter & COUNTER_MASK)])
    }

    fn leave(&mut self, process: &mut IdWorker, ask: u64, _machine: &mut Machine<'_, Self>) {
        process.sleeping.remove(&ask);
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(Parts {
            worker: field(id, 53, 10),
            time: UnixMillis::new(field(id, 12, 41).cast_signed() + EPOCH),
            sequence: field(id, 0, 12),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// seata-common 2.0.0, IdWorker.java, nextId and waitIfNecessary.
    #[test]
    fn it_counts_from_its_start_and_sleeps_once_while_it_is_not_behind_the_clock() {
        let mut host = ManualHost::new(Seata { configured: true });
        host.setup.worker = 9;
        let mut worker = host.start();
        let first = host.id(&mut worker);
        assert_eq!(first, 9 << 53 | u128::from((NOON - EPOCH).unsigned_abs()) << 12 | 1);
        assert_eq!(host.now.wall.get(), NOON + 5, "in the millisecond of its start it sleeps");
        increasing(&mut host, &mut worker, 5 * 4_096);
        assert!(host.now.wall.get() <= NOON + 20, "and then it need not");
        host.step(-3_600_000);
        let Verdict::Again(at) = host.mint(&mut worker) else { unreachable!() };
        assert_eq!(at.since(host.now.mono), 5);
        host.pass(5);
        assert!(
            matches!(host.again(&mut worker), Verdict::Minted(ids) if ids[0] > first),
            "a step back is not seen"
        );
    }

    /// seata-common 2.0.0, IdWorker.java, generateWorkerIdBaseOnMac and initTimestampAndSequence.
    #[test]
    fn the_worker_id_is_the_hosts_and_a_restart_knows_nothing() {
        let mut host = ManualHost::new(Seata::default());
        let mut worker = host.start();
        let first = host.id(&mut worker);
        host.step(-5);
        let mut second = host.start();
        assert_eq!(second.worker, worker.worker, "two processes on one host share it");
        assert_eq!(host.id(&mut second), first);
        host.become_node(1);
        assert_ne!(host.start().worker, worker.worker);
    }
}
