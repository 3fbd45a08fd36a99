//! Baidu's uid-generator, `CachedUidGenerator`: 28 bits of seconds since 2016-05-20 in China, 22 of worker id, 13 of
//! sequence.
//!
//! It promises unique IDs that do not depend on the clock while it runs, "even if the clock goes back". A start inserts a
//! row into a table, whose auto-increment number is its worker id: none is used twice. A ring of 65,536 slots is filled
//! with all the IDs of one second after the other, the first one being the second after the start's; the clock is never
//! read again. Whenever less than half is left, the ring is filled: what does not fit of a second is dropped. So the
//! seconds in the IDs lag behind the clock, or run ahead of it, as the demand has it.
//!
//! Read from: baidu/uid-generator, `CachedUidGenerator.java` (`nextIdsForOneSecond`, `initRingBuffer`),
//! `BufferPaddingExecutor.java` (`paddingBuffer`), `RingBuffer.java` (`put`, `take`), `BitsAllocator.java`,
//! `DisposableWorkerIdAssigner.java`; in forks that keep the same logic. Padding is done at once here, where the library
//! leaves it to a pool of threads. The default bits ended on 2024-11-20; this generator checks that nowhere, so that since
//! then its IDs are negative as signed numbers, and are here what their 64 bits are.

use std::collections::VecDeque;

use super::{Registry, Reply, field, signed};
use crate::model::{Ask, Fleet, Machine, Model, Parts, Setup, Silence, Verdict};
use floe::UnixMillis;

const EPOCH_S: i64 = 1_463_673_600;
const WORKER_BITS: u32 = 22;
const SEQUENCE_BITS: u32 = 13;
const PER_SECOND: u64 = 1 << SEQUENCE_BITS;
/// `boostPower` 3.
const RING: u64 = PER_SECOND << 3;
/// `paddingFactor` 50.
const PAD_BELOW: u64 = RING / 2;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Baidu;

/// A generator.
#[derive(Clone, Debug)]
pub struct CachedUidGenerator {
    worker: u64,
    last_second: i64,
    /// The ring's content, as runs of IDs: the next one, and how many.
    ring: VecDeque<(u128, u64)>,
    left: u64,
}

impl CachedUidGenerator {
    /// Fills the ring, and goes on to the next second even where nothing fits.
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

impl Model for Baidu {
    keeps_a_registry!();

    type Disk = ();
    type Process = CachedUidGenerator;

    fn store(&mut self, _fleet: &Fleet) -> Registry {
        Registry::default()
    }

    fn start(
        &mut self,
        _setup: &Setup,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> CachedUidGenerator {
        // The column counts from 1.
        let worker = store.map_or(0, |store| store.increment("worker_node") + 1);
        if worker == 0 {
            machine.die("the database does not answer");
        } else if worker >> WORKER_BITS > 0 {
            machine.die(format!("Worker id {worker} exceeds the max {}", (1 << WORKER_BITS) - 1));
        }
        machine.says(|| format!("takes worker id {worker}, a new row's number"));
        let now = machine.now.wall;
        machine.holds(|| format!("worker {worker}"), now, None);
        let last_second = machine.wall() / 1000;
        let mut generator = CachedUidGenerator { worker, last_second, ring: VecDeque::new(), left: 0 };
        generator.pad();
        generator
    }

    fn wake(&mut self, _process: &mut CachedUidGenerator, _machine: &mut Machine<'_, Self>) {}

    fn answer(
        &mut self,
        _process: &mut CachedUidGenerator,
        _number: u64,
        _answer: Result<Reply, Silence>,
        _machine: &mut Machine<'_, Self>,
    ) {
    }

    fn mint(
        &mut self,
        process: &mut CachedUidGenerator,
        _ask: &Ask,
        _machine: &mut Machine<'_, Self>,
    ) -> Verdict {
        let Some(id) = process.take() else {
            return Verdict::Refused("Rejected take buffer.".into());
        };
        if process.left < PAD_BELOW {
            process.pad();
        }
        Verdict::Minted(vec![id])
    }

    fn stop(&mut self, _process: &mut CachedUidGenerator, _machine: &mut Machine<'_, Self>) {}

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        // 28 bits of seconds ended in 2024; the sign has become one of them.
        let seconds = i64::try_from(field(id, WORKER_BITS + SEQUENCE_BITS, 29)).ok()?;
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
    use crate::peers::hand::{Hand, NOON, increasing};

    #[test]
    fn it_mints_seconds_ahead_of_a_clock_that_it_does_not_look_at() {
        let mut hand = Hand::new(Baidu);
        let mut generator = hand.start();
        let second = u128::from((NOON / 1000 + 1 - EPOCH_S).unsigned_abs());
        assert_eq!(hand.id(&mut generator), second << 35 | 1 << 13);
        assert_eq!(second >> 28, 1, "past the bits that it has");
        assert!(second << 35 >> 63 == 1, "negative as a signed number");
        increasing(&mut hand, &mut generator, 8_191);
        hand.step(-1_000_000);
        assert_eq!(hand.id(&mut generator), (second + 1) << 35 | 1 << 13);
        increasing(&mut hand, &mut generator, 100_000);
        assert!(hand.id(&mut generator) >> 35 > second + 12);
    }

    #[test]
    fn every_start_has_a_worker_id_of_its_own_or_fails() {
        let mut hand = Hand::new(Baidu);
        assert_eq!((hand.start().worker, hand.start().worker), (1, 2));
        hand.start_alone();
        assert!(hand.died().is_some());
    }
}
