//! MyBatis-Plus's `Sequence`, which makes the keys of `IdType.ASSIGN_ID`: Twitter's layout and epoch, 5 bits of datacenter,
//! 5 of worker.
//!
//! It promises unique IDs that increase on a generator. By default no operator assigns a worker id: the datacenter id is 5
//! bits of the MAC address's last two bytes, and the worker id a hash of that and the process id. A millisecond's sequence
//! begins at 1 or 2, at random. If the clock is up to 5 ms behind the last ID, it waits twice as long, without its lock,
//! and looks once more. If the clock is further behind, or still behind, it refuses. It keeps nothing over a restart.
//!
//! It reads a copy of the clock that a thread updates each millisecond. The model leaves out that this copy can be late.
//!
//! Read from: baomidou/mybatis-plus 0707918 (3.5.7), `Sequence.java` (`nextId`, `tilNextMillis`, `getDatacenterId`,
//! `getMaxWorkerId`), `SystemClock.java`. `originals.rs` plays the class itself beside this model.

use std::collections::BTreeMap;

use super::{claim, signed, snowflake, spin};
use floe::MonoMillis;
use floe_sim::model::{Ask, Machine, Model, Pace, Parts, Setup, Verdict};
use floe_sim::random::Random;

const EPOCH: i64 = 1_288_834_974_657;
const SEQUENCE_MASK: u64 = 4095;
const WAITS_FOR_MS: i64 = 5;
/// Linux assigns process ids up to here on 64 bits, unless `kernel.pid_max` is set.
const MOST_PROCESSES: u64 = 4_194_304;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct MybatisPlus {
    /// Whether the operator gave each node a worker id.
    pub configured: bool,
}

/// A generator.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Datacenter and worker id together.
    worker: u64,
    last: i64,
    sequence: u64,
    /// A thread is in `tilNextMillis` and holds the lock.
    spinning: bool,
    /// The asks whose threads are in `wait`: until when, and how far behind the clock was.
    waiting: BTreeMap<u64, (MonoMillis, i64)>,
}

/// A host's lasting data: the lower 16 bits of its network card's address, once something has read them.
pub type Card = Option<u64>;

/// This host's card. Its address is random.
pub(super) fn card(disk: &mut Card, random: &mut Random) -> u64 {
    *disk.get_or_insert_with(|| random.below(1 << 16))
}

/// `getDatacenterId`, of the last two bytes of a MAC address.
pub(super) fn datacenter(card: u64) -> u64 {
    let (last_but_one, last) = (card >> 8, card & 0xff);
    (last_but_one | last << 8) >> 6 & 31
}

/// `getMaxWorkerId`: Java's hash of the datacenter id and the process id, as text.
pub(super) fn worker(datacenter: u64, process: u64) -> u64 {
    let text = format!("{datacenter}{process}");
    let hash = text.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    u64::from(hash & 0xffff) % 32
}

/// Both together, for a process that has just started.
pub(super) fn by_card_and_process(disk: &mut Card, random: &mut Random) -> u64 {
    let datacenter = datacenter(card(disk, random));
    datacenter << 5 | worker(datacenter, random.between(2, MOST_PROCESSES))
}

impl Sequence {
    fn id(&mut self, now: i64) -> Verdict {
        self.last = now;
        Verdict::Minted(vec![signed(now - EPOCH, 22, self.worker << 12 | self.sequence)])
    }
}

fn refusal(offset: i64) -> Verdict {
    Verdict::Refused(format!("Clock moved backwards.  Refusing to generate id for {offset} milliseconds"))
}

impl Model for MybatisPlus {
    const PACE: Pace = Pace::JVM;

    keeps_nothing!(Card);

    type Process = Sequence;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> Sequence {
        let worker = match self.configured {
            true => setup.worker,
            false => by_card_and_process(machine.disk, machine.random),
        };
        claim(worker, 1023, "datacenter Id can't be greater than 31 or less than 0", machine);
        Sequence { worker, last: -1, sequence: 0, spinning: false, waiting: BTreeMap::new() }
    }

    fn mint(&mut self, process: &mut Sequence, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let (now, mono) = (machine.wall(), machine.now.mono);
        let waited = process.waiting.get(&ask.id).copied();
        if let Some((until, _)) = waited.filter(|(until, _)| mono < *until) {
            return Verdict::Again(until);
        }
        if process.spinning {
            if now <= process.last {
                return spin(machine, process.last);
            }
            (process.spinning, process.sequence) = (false, 0);
            process.waiting.remove(&ask.id);
            return process.id(now);
        }
        process.waiting.remove(&ask.id);
        let behind = process.last - now;
        match waited {
            Some((_, offset)) if behind > 0 => return refusal(offset),
            None if behind > WAITS_FOR_MS => return refusal(behind),
            None if behind > 0 => {
                let until = mono.plus(2 * behind.unsigned_abs());
                process.waiting.insert(ask.id, (until, behind));
                return Verdict::Again(until);
            }
            _ => {}
        }
        if now > process.last {
            process.sequence = machine.random.between(1, 2);
            return process.id(now);
        }
        process.sequence = (process.sequence + 1) & SEQUENCE_MASK;
        if process.sequence == 0 {
            process.spinning = true;
            return spin(machine, process.last);
        }
        process.id(now)
    }

    fn leave(&mut self, process: &mut Sequence, ask: u64, _machine: &mut Machine<'_, Self>) {
        process.waiting.remove(&ask);
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// mybatis-plus-core 3.5.7, Sequence.java, nextId and tilNextMillis.
    #[test]
    fn it_begins_at_one_or_two_and_waits_for_a_clock_that_is_five_behind() {
        let mut host = ManualHost::new(MybatisPlus { configured: true });
        host.setup.worker = 7 << 5 | 3;
        let mut sequence = host.start();
        let time = u128::from((NOON - EPOCH).unsigned_abs());
        let first = host.id(&mut sequence);
        assert!([1, 2].contains(&(first - (time << 22 | (7 << 5 | 3) << 12))), "{first}");
        increasing(&mut host, &mut sequence, 5_000);
        assert_eq!(host.now.wall.get(), NOON + 1, "the next millisecond");
        host.step(-5);
        let Verdict::Again(at) = host.mint(&mut sequence) else { unreachable!() };
        assert_eq!(at.since(host.now.mono), 10, "twice as long");
        host.step(-6);
        host.pass(10);
        assert!(
            matches!(host.again(&mut sequence), Verdict::Refused(why) if why.ends_with("for 5 milliseconds"))
        );
        host.step(-5);
        assert!(
            matches!(host.mint(&mut sequence), Verdict::Refused(why) if why.ends_with("for 6 milliseconds"))
        );
        host.setup.worker = 1024;
        host.start();
        assert!(host.died().is_some());
    }

    /// mybatis-plus-core 3.5.7, Sequence.java, getDatacenterId and getMaxWorkerId.
    #[test]
    fn the_worker_id_is_the_network_cards_and_the_processs() {
        let mut host = ManualHost::new(MybatisPlus::default());
        let ids: BTreeSet<_> = (0..500).map(|_| host.start().worker).collect();
        let datacenters: BTreeSet<_> = ids.iter().map(|id| id >> 5).collect();
        assert_eq!(
            (datacenters.len(), ids.len()),
            (1, 32),
            "a host has one card, and its processes a number each"
        );
        // The hash of "811" is 55,384.
        assert_eq!((datacenter(0x0002), worker(8, 11)), (8, 55_384 % 32));
        let containers: BTreeSet<_> = (2..=254).map(datacenter).map(|it| (it, worker(it, 1))).collect();
        assert_eq!(containers.len(), 8, "of all whose cards count up from 00:02, with process id 1");
    }
}
