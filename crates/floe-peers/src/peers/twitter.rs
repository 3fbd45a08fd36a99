//! Twitter's snowflake, the original: 41 bits of milliseconds since 2010-11-04T01:42:54.657Z, 5 of datacenter, 5 of
//! worker, 12 of sequence.
//!
//! It promises unique IDs that increase on each generator, while no two generators have the same datacenter and worker
//! ids. The operator assigns those. It looks at the clock for every ID, counts within a millisecond from 0, waits for
//! the next one if 4096 are not enough, and refuses while the clock is behind the last ID. It keeps nothing: a
//! generator that starts knows nothing of what the one before it minted.
//!
//! This is only the class, which is what the many copies have. The server around it is [`twitter_service`](super::twitter_service).
//!
//! Read from: twitter-archive/snowflake, tag snowflake-2010 (a8cb075), `IdWorker.scala` (`nextId`, `tilNextMillis`).

use super::{claim, signed, snowflake, spin};
use floe_sim::model::{Ask, Machine, Model, Pace, Parts, Setup, Verdict};

pub(super) const EPOCH: i64 = 1_288_834_974_657;
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
    /// A thread is in `tilNextMillis` and holds the lock. It makes no difference which thread gets which ID.
    spinning: bool,
}

impl IdWorker {
    pub(super) fn new<M: Model>(worker: u64, machine: &mut Machine<'_, M>) -> Self {
        claim(worker, 1023, "worker Id can't be greater than 31 or less than 0", machine);
        Self { worker, last: -1, sequence: 0, spinning: false }
    }

    /// `nextId`.
    pub(super) fn next<M: Model>(&mut self, machine: &Machine<'_, M>) -> Verdict {
        let now = machine.wall();
        if self.spinning {
            if now <= self.last {
                return spin(machine, self.last);
            }
            self.spinning = false;
        } else if now < self.last {
            let lacks = self.last - now;
            return Verdict::Refused(format!(
                "Clock moved backwards.  Refusing to generate id for {lacks} milliseconds"
            ));
        } else if now == self.last {
            self.sequence = (self.sequence + 1) & SEQUENCE_MASK;
            if self.sequence == 0 {
                self.spinning = true;
                return spin(machine, self.last);
            }
        } else {
            self.sequence = 0;
        }
        self.last = now;
        Verdict::Minted(vec![signed(now - EPOCH, 22, self.worker << 12 | self.sequence)])
    }
}

impl Model for Twitter {
    const PACE: Pace = Pace::JVM;

    keeps_nothing!(());

    type Process = IdWorker;

    fn start(&mut self, setup: &Setup, _store: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> IdWorker {
        IdWorker::new(setup.worker, machine)
    }

    fn mint(&mut self, process: &mut IdWorker, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        process.next(machine)
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, increasing};

    #[test]
    fn it_mints_an_id_that_twitter_has_published() {
        // Wikipedia's tweet of 2022-06-28T16:07:40.105Z.
        let mut host = ManualHost::new(Twitter);
        host.step(1_656_432_460_105 - host.now.wall.get());
        host.setup.worker = 11 << 5 | 26;
        let mut worker = host.start();
        assert_eq!(host.id(&mut worker), 1_541_815_603_606_036_480);
        increasing(&mut host, &mut worker, 10_000);
        assert_eq!(host.now.wall.get(), 1_656_432_460_107, "4096 a millisecond");
    }

    #[test]
    fn it_refuses_while_the_clock_is_behind_and_knows_nothing_after_a_restart() {
        let mut host = ManualHost::new(Twitter);
        let mut worker = host.start();
        let first = host.id(&mut worker);
        host.step(-1);
        assert!(
            matches!(host.mint(&mut worker), Verdict::Refused(why) if why.ends_with("for 1 milliseconds"))
        );
        host.step(1);
        assert_eq!(host.id(&mut worker), first + 1);
        let mut worker = host.start();
        assert_eq!(host.id(&mut worker), first, "the same millisecond from 0 again");
        host.setup.worker = 1024;
        host.start();
        assert!(host.died().is_some());
    }
}
