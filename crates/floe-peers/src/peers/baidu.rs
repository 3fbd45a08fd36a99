//! Baidu's uid-generator, `CachedUidGenerator` and `DefaultUidGenerator`: 29 bits of seconds since 2016-09-20, 21 of worker
//! id, 13 of sequence, as in both sample configurations of its README. (The class's own default, 28 and 22 since
//! 2016-05-20, ended on 2024-11-20.)
//!
//! Each start inserts a row into a table. The row's auto-increment number is its worker id, so none is used twice.
//!
//! The default generator promises unique IDs that increase. It looks at the clock for each ID and counts within a
//! second. If 8,192 are not enough, it waits for the next second. It refuses while the clock is behind the last ID's
//! second, and past its bits.
//!
//! The cached one promises unique IDs "even if the clock goes back". It fills a ring of 65,536 slots with all the IDs
//! of one second after the other, from the second after its start. It never reads the clock again. Whenever less than
//! half is left, it fills the ring, and drops what does not fit of a second. So demand decides whether the seconds in
//! the IDs lag behind the clock or run ahead of it.
//!
//! Read from: baidu/uid-generator 2fcbc13, `DefaultUidGenerator.java` (`nextId`, `getCurrentSecond`),
//! `CachedUidGenerator.java` (`nextIdsForOneSecond`, `initRingBuffer`), `BufferPaddingExecutor.java` (`paddingBuffer`),
//! `RingBuffer.java` (`put`, `take`), `BitsAllocator.java`, `DisposableWorkerIdAssigner.java`, `README.md`. Here
//! padding is done at once; the library leaves it to a pool of threads. It never checks that the bits are used up. The
//! epoch is a day of the system's time zone, which is UTC here.

use std::collections::VecDeque;

use super::{Registry, field, signed, spin};
use floe::UnixMillis;
use floe_sim::model::{Ask, Fleet, Machine, Model, Pace, Parts, Setup, Verdict};

const EPOCH_S: i64 = 1_474_329_600;
const TIME_BITS: u32 = 29;
const WORKER_BITS: u32 = 21;
const SEQUENCE_BITS: u32 = 13;
const PER_SECOND: u64 = 1 << SEQUENCE_BITS;
/// `boostPower` 3.
const RING: u64 = PER_SECOND << 3;
/// `paddingFactor` 50.
const PAD_BELOW: u64 = RING / 2;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Baidu {
    /// Whether it is `CachedUidGenerator`.
    pub cached: bool,
    most_worker: u64,
}

/// A generator.
#[derive(Clone, Debug)]
pub enum Generator {
    /// `DefaultUidGenerator`.
    Default(DefaultUidGenerator),
    /// `CachedUidGenerator`.
    Cached(CachedUidGenerator),
}

/// `DefaultUidGenerator`.
#[derive(Clone, Debug)]
pub struct DefaultUidGenerator {
    worker: u64,
    last_second: i64,
    sequence: u64,
    /// A thread is in `getNextSecond` and holds the lock.
    spinning: bool,
}

impl DefaultUidGenerator {
    fn next(&mut self, machine: &Machine<'_, Baidu>) -> Verdict {
        let now = machine.wall().div_euclid(1000);
        if now - EPOCH_S >= 1 << TIME_BITS {
            self.spinning = false;
            return Verdict::Refused(format!(
                "Timestamp bits is exhausted. Refusing UID generate. Now: {now}"
            ));
        }
        if self.spinning {
            if now <= self.last_second {
                return spin(machine, self.last_second * 1000 + 999);
            }
            self.spinning = false;
        } else if now < self.last_second {
            let lacks = self.last_second - now;
            return Verdict::Refused(format!("Clock moved backwards. Refusing for {lacks} seconds"));
        } else if now == self.last_second {
            self.sequence = (self.sequence + 1) & (PER_SECOND - 1);
            if self.sequence == 0 {
                self.spinning = true;
                return spin(machine, self.last_second * 1000 + 999);
            }
        } else {
            self.sequence = 0;
        }
        self.last_second = now;
        let below = self.worker << SEQUENCE_BITS | self.sequence;
        Verdict::Minted(vec![signed(now - EPOCH_S, WORKER_BITS + SEQUENCE_BITS, below)])
    }
}

/// `CachedUidGenerator`.
#[derive(Clone, Debug)]
pub struct CachedUidGenerator {
    worker: u64,
    last_second: i64,
    /// The ring's content as runs of IDs: the next ID, and how many.
    ring: VecDeque<(u128, u64)>,
    left: u64,
}

impl CachedUidGenerator {
    /// Fills the ring, and moves to the next second even if nothing fits.
    fn pad(&mut self) {
        loop {
            self.last_second += 1;
            let shift = WORKER_BITS + SEQUENCE_BITS;
            let first = signed(self.last_second - EPOCH_S, shift, self.worker << SEQUENCE_BITS);
            let fits = PER_SECOND.min(RING - self.left);
            if fits > 0 {
                self.ring.push_back((first, fits));
                self.left += fits;
            }
            if fits < PER_SECOND {
                return;
            }
        }
    }

    fn take(&mut self) -> Option<u128> {
        let (next, count) = self.ring.front_mut()?;
        let id = *next;
        *next += 1;
        *count -= 1;
        if *count == 0 {
            self.ring.pop_front();
        }
        self.left -= 1;
        Some(id)
    }
}

impl Baidu {
    /// `CachedUidGenerator`, or `DefaultUidGenerator`.
    pub fn new(cached: bool) -> Self {
        Self { cached, ..Self::default() }
    }
}

impl Model for Baidu {
    const PACE: Pace = Pace::JVM;

    keeps_a_registry!(());

    type Process = Generator;

    fn store(&mut self, fleet: &Fleet) -> Registry {
        // It has many more worker ids than others, unless a scenario wants fewer than there are nodes.
        let bits = if fleet.worker_bits < 10 { fleet.worker_bits } else { WORKER_BITS };
        self.most_worker = (1 << bits) - 1;
        Registry::default()
    }

    fn start(
        &mut self,
        _setup: &Setup,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> Generator {
        // The column counts from 1.
        let worker = store.map_or(0, |store| store.increment("worker_node") + 1);
        if worker == 0 {
            machine.die("the database does not answer");
        } else if worker > self.most_worker {
            machine.die(format!("Worker id {worker} exceeds the max {}", self.most_worker));
        }
        machine.says(|| format!("takes worker id {worker}, a new row's number"));
        machine.claims(worker);
        if !self.cached {
            let (last_second, sequence, spinning) = (-1, 0, false);
            return Generator::Default(DefaultUidGenerator { worker, last_second, sequence, spinning });
        }
        let last_second = machine.wall().div_euclid(1000);
        let mut generator = CachedUidGenerator { worker, last_second, ring: VecDeque::new(), left: 0 };
        generator.pad();
        Generator::Cached(generator)
    }

    fn mint(&mut self, process: &mut Generator, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let cached = match process {
            Generator::Default(generator) => return generator.next(machine),
            Generator::Cached(generator) => generator,
        };
        let Some(id) = cached.take() else {
            return Verdict::Refused("Rejected take buffer.".into());
        };
        if cached.left < PAD_BELOW {
            cached.pad();
        }
        Verdict::Minted(vec![id])
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        // Includes the sign bit, which the cached generator reaches when its bits end.
        let seconds = i64::try_from(field(id, WORKER_BITS + SEQUENCE_BITS, TIME_BITS + 1)).ok()?;
        Some(Parts {
            worker: field(id, SEQUENCE_BITS, WORKER_BITS),
            time: UnixMillis::new((seconds + EPOCH_S) * 1_000),
            sequence: field(id, 0, SEQUENCE_BITS),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    const CACHED: Baidu = Baidu { cached: true, most_worker: 0 };

    #[test]
    fn it_mints_seconds_ahead_of_a_clock_that_it_does_not_look_at() {
        let mut host = ManualHost::new(CACHED);
        let mut generator = host.start();
        let second = u128::from((NOON / 1000 + 1 - EPOCH_S).unsigned_abs());
        assert_eq!(host.id(&mut generator), second << 34 | 1 << 13);
        increasing(&mut host, &mut generator, 8_191);
        host.step(-1_000_000);
        assert_eq!(host.id(&mut generator), (second + 1) << 34 | 1 << 13);
        increasing(&mut host, &mut generator, 100_000);
        assert!(host.id(&mut generator) >> 34 > second + 12);
    }

    #[test]
    fn every_start_has_a_worker_id_of_its_own_or_fails() {
        for baidu in [CACHED, Baidu::default()] {
            let mut host = ManualHost::new(baidu);
            for expected in 1..4 {
                let mut generator = host.start();
                assert_eq!(host.id(&mut generator) >> 13 & ((1 << 21) - 1), expected);
            }
            host.start_alone();
            assert!(host.died().is_some());
            host.start();
            assert_eq!(
                host.died(),
                Some("Worker id 4 exceeds the max 3"),
                "two bits of worker ids in this fleet"
            );
        }
    }

    /// uid-generator 2fcbc13, DefaultUidGenerator.nextId and .getCurrentSecond; README.md, both sample configurations.
    #[test]
    fn the_default_generator_looks_at_the_clock_for_each_id() {
        let mut host = ManualHost::new(Baidu::default());
        let mut generator = host.start();
        let second = u128::from((NOON / 1000 - EPOCH_S).unsigned_abs());
        assert_eq!(host.id(&mut generator), second << 34 | 1 << 13);
        increasing(&mut host, &mut generator, 8_191);
        assert_eq!(host.now.wall.get(), NOON, "8,192 a second");
        assert_eq!(host.id(&mut generator), (second + 1) << 34 | 1 << 13);
        assert_eq!(host.now.wall.get(), NOON + 1_000, "then it waits for the next one");
        host.step(-1_000);
        assert!(matches!(host.mint(&mut generator), Verdict::Refused(why) if why.ends_with("for 1 seconds")));
        // 2033-09-24: 2^29 s after 2016-09-20.
        host.step((EPOCH_S + (1 << 29)) * 1000 - 1 - host.now.wall.get());
        assert_eq!(host.id(&mut generator) >> 34, (1 << 29) - 1, "the last second");
        host.step(1);
        assert!(matches!(host.mint(&mut generator), Verdict::Refused(why) if why.contains("exhausted")));
    }
}
