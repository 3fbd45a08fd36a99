//! Sony's Sonyflake, version 2: 39 bits of 10 ms since 2025-01-01, 8 of sequence, 16 of machine id, in this order.
//!
//! It promises unique IDs that increase on a generator while machine ids differ. The machine id is the lower half of the
//! host's private IPv4 address, which the operator's configuration stands for here. A clock that goes back is not
//! looked at: the generator stays at the last unit it had, counts on, and where 256 are not enough goes on to the
//! next unit and sleeps until the clock is there, however long, before it returns. It keeps nothing over a restart.
//!
//! Read from: sony/sonyflake, `v2/sonyflake.go` (`New`, `NextID`, `sleep`, `toID`). Version 1 (`sonyflake.go`) is the same
//! since 2014-09-01.

use super::{field, signed, time};
use crate::model::{Ask, Machine, Model, Parts, Setup, Silence, Verdict};
use floe::{MonoMillis, UnixMillis};

const UNIT_MS: i64 = 10;
const START: i64 = 1_735_689_600_000 / UNIT_MS;
const SEQUENCE_MASK: u64 = 255;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sonyflake;

/// A generator.
#[derive(Clone, Debug)]
pub struct Generator {
    machine_id: u64,
    elapsed: i64,
    sequence: u64,
    /// A thread sleeps and holds the lock; it returns the ID that it has made then.
    sleeping: Option<MonoMillis>,
}

impl Generator {
    fn id(&self) -> Verdict {
        if self.elapsed >= 1 << 39 {
            return Verdict::Refused("over the time limit".into());
        }
        Verdict::Minted(vec![signed(self.elapsed, 24, self.sequence << 16 | self.machine_id)])
    }
}

impl Model for Sonyflake {
    keeps_nothing!();

    type Process = Generator;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> Generator {
        let machine_id = setup.worker;
        if machine_id > 0xffff {
            machine.die("invalid machine id");
        } else if machine.wall() < START * UNIT_MS {
            machine.die("start time is ahead of now");
        }
        let now = machine.now.wall;
        machine.holds(|| format!("worker {machine_id}"), now, None);
        Generator { machine_id, elapsed: 0, sequence: SEQUENCE_MASK, sleeping: None }
    }

    fn wake(&mut self, _process: &mut Generator, _machine: &mut Machine<'_, Self>) {}

    fn answer(&mut self, _: &mut Generator, _: u64, _: Result<(), Silence>, _: &mut Machine<'_, Self>) {}

    fn mint(&mut self, process: &mut Generator, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if let Some(until) = process.sleeping {
            if machine.now.mono < until {
                return Verdict::Again(until);
            }
            process.sleeping = None;
            return process.id();
        }
        let current = machine.wall() / UNIT_MS - START;
        if process.elapsed < current {
            process.elapsed = current;
            process.sequence = 0;
            return process.id();
        }
        process.sequence = (process.sequence + 1) & SEQUENCE_MASK;
        if process.sequence > 0 {
            return process.id();
        }
        process.elapsed += 1;
        let sleep = (process.elapsed - current) * UNIT_MS - machine.wall() % UNIT_MS;
        let until = machine.now.mono.plus(u64::try_from(sleep).unwrap_or(0));
        process.sleeping = Some(until);
        Verdict::Again(until)
    }

    fn stop(&mut self, _process: &mut Generator, _machine: &mut Machine<'_, Self>) {}

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(Parts {
            worker: field(id, 0, 16),
            time: UnixMillis::new((time(id, 24) + START) * UNIT_MS),
            sequence: field(id, 16, 8),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::hand::{Hand, NOON, increasing};

    #[test]
    fn it_mints_in_its_layout_and_sleeps_where_256_are_not_enough() {
        let mut hand = Hand::new(Sonyflake);
        hand.setup.worker = 0x0102;
        hand.step(3);
        let mut generator = hand.start();
        let time = u128::from((NOON / UNIT_MS - START).unsigned_abs());
        assert_eq!(hand.id(&mut generator), time << 24 | 0x0102);
        increasing(&mut hand, &mut generator, 255);
        assert_eq!(hand.now.wall.get(), NOON + 3);
        assert_eq!(hand.id(&mut generator), (time + 1) << 24 | 0x0102);
        assert_eq!(hand.now.wall.get(), NOON + 10, "a sleep to the unit's beginning");
        increasing(&mut hand, &mut generator, 10_000);
    }

    #[test]
    fn a_clock_that_goes_back_makes_it_count_on_and_then_sleep_it_off() {
        let mut hand = Hand::new(Sonyflake);
        let mut generator = hand.start();
        let first = hand.id(&mut generator);
        hand.step(-1_000);
        assert_eq!(hand.id(&mut generator), first + (1 << 16));
        increasing(&mut hand, &mut generator, 254);
        let Verdict::Again(at) = hand.mint(&mut generator) else { unreachable!() };
        assert_eq!(at.since(hand.now.mono), 1_010);
        let mut generator = hand.start();
        hand.step(1_000);
        assert_eq!(hand.id(&mut generator), first, "a restart knows nothing");
    }
}
