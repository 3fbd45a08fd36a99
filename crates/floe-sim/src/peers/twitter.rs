//! Twitter's snowflake, the original: 41 bits of milliseconds since 2010-11-04T01:42:54.657Z, 5 of datacenter, 5 of
//! worker, 12 of sequence.
//!
//! It promises IDs that are unique while no two generators have the same datacenter and worker ids, which come from the
//! operator, and that increase on each generator. It looks at the clock for every ID, counts within a millisecond from
//! 0, waits for the next one where 4096 are not enough, and refuses while the clock is behind the last ID. It keeps
//! nothing: a generator that starts knows nothing of what the one before it minted.
//!
//! Read from: twitter-archive/snowflake, `IdWorker.scala` (`nextId`, `tilNextMillis`), in its last version of 2012. The
//! server around it (`SnowflakeServer.scala`) has more than is modelled here, which is what the many copies have: at its
//! start it claims the worker id as an ephemeral node in ZooKeeper and compares its clock with its peers' mean, to 10 s.

use super::{signed, snowflake, spin};
use crate::model::{Ask, Machine, Model, Parts, Setup, Silence, Verdict};

const EPOCH: i64 = 1_288_834_974_657;
const SEQUENCE_MASK: u64 = 4095;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Twitter;

/// A generator.
#[derive(Clone, Debug)]
pub struct IdWorker {
    /// Datacenter and worker id together.
    worker: u64,
    last: i64,
    sequence: u64,
    /// A thread is in `tilNextMillis`. It holds the lock; which thread gets which ID makes no difference.
    spinning: bool,
}

impl Model for Twitter {
    keeps_nothing!();

    type Process = IdWorker;

    fn start(&mut self, setup: &Setup, _store: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> IdWorker {
        let worker = setup.worker;
        if worker > 1023 {
            machine.die("worker Id can't be greater than 31 or less than 0");
        }
        let now = machine.now.wall;
        machine.holds(|| format!("worker {worker}"), now, None);
        IdWorker { worker, last: -1, sequence: 0, spinning: false }
    }

    fn wake(&mut self, _process: &mut IdWorker, _machine: &mut Machine<'_, Self>) {}

    fn answer(&mut self, _: &mut IdWorker, _: u64, _: Result<(), Silence>, _: &mut Machine<'_, Self>) {}

    fn mint(&mut self, process: &mut IdWorker, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let now = machine.wall();
        if process.spinning {
            if now <= process.last {
                return spin(machine, process.last);
            }
            process.spinning = false;
        } else if now < process.last {
            let lacks = process.last - now;
            return Verdict::Refused(format!(
                "Clock moved backwards.  Refusing to generate id for {lacks} milliseconds"
            ));
        } else if now == process.last {
            process.sequence = (process.sequence + 1) & SEQUENCE_MASK;
            if process.sequence == 0 {
                process.spinning = true;
                return spin(machine, process.last);
            }
        } else {
            process.sequence = 0;
        }
        process.last = now;
        Verdict::Minted(vec![signed(now - EPOCH, 22, process.worker << 12 | process.sequence)])
    }

    fn stop(&mut self, _process: &mut IdWorker, _machine: &mut Machine<'_, Self>) {}

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::hand::{Hand, increasing};

    #[test]
    fn it_mints_an_id_that_twitter_has_published() {
        // Wikipedia's tweet of 2022-06-28T16:07:40.105Z.
        let mut hand = Hand::new(Twitter);
        hand.step(1_656_432_460_105 - hand.now.wall.get());
        hand.setup.worker = 11 << 5 | 26;
        let mut worker = hand.start();
        assert_eq!(hand.id(&mut worker), 1_541_815_603_606_036_480);
        increasing(&mut hand, &mut worker, 10_000);
        assert_eq!(hand.now.wall.get(), 1_656_432_460_107, "4096 a millisecond");
    }

    #[test]
    fn it_refuses_while_the_clock_is_behind_and_knows_nothing_after_a_restart() {
        let mut hand = Hand::new(Twitter);
        let mut worker = hand.start();
        let first = hand.id(&mut worker);
        hand.step(-1);
        assert!(
            matches!(hand.mint(&mut worker), Verdict::Refused(why) if why.ends_with("for 1 milliseconds"))
        );
        hand.step(1);
        assert_eq!(hand.id(&mut worker), first + 1);
        let mut worker = hand.start();
        assert_eq!(hand.id(&mut worker), first, "the same millisecond from 0 again");
        hand.setup.worker = 1024;
        hand.start();
        assert!(hand.died().is_some());
    }
}
