//! Sony's Sonyflake, version 2: 39 bits of 10 ms since 2025-01-01, 8 of sequence, 16 of machine id, in this order.
//!
//! It promises unique IDs that increase on a generator while machine ids differ. By default the machine id is the lower
//! half of the host's private IPv4 address: it differs between hosts, and is the same for two processes on one host. It
//! ignores a clock that goes back: the generator stays at its last unit and keeps counting. If 256 are not enough, it
//! moves to the next unit and sleeps until the clock is there, however long, before it returns. It keeps nothing over a
//! restart. If the operator's `CheckMachineID` says that the machine id is in use, there is no generator; it is not
//! asked again later. The operator decides how to check. Here each process holds its machine id as an ephemeral record
//! with a session of 10 s, as in ZooKeeper or etcd.
//!
//! Read from: sony/sonyflake f167a9d, `v2/sonyflake.go` (`New`, `NextID`, `sleep`, `toID`, `lower16BitPrivateIP`). Version 1
//! (`sonyflake.go`) is the same since 2014-09-01.

use super::{Entry, Registry, Reply, Request, field, signed, time};
use floe::{MonoMillis, UnixMillis};
use floe_sim::model::{Ask, Fleet, Life, Machine, Model, Pace, Parts, Setup, Silence, Verdict};

const UNIT_MS: i64 = 10;
const START: i64 = 1_735_689_600_000 / UNIT_MS;
const SEQUENCE_MASK: u64 = 255;
/// The addresses of the other hosts, which nodes start on after a crash.
const OTHER_HOSTS: u64 = 0x0100;
const SESSION_MS: u64 = 10_000;
const PING_MS: u64 = SESSION_MS / 3;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sonyflake {
    /// Whether there is a `CheckMachineID`.
    pub checked: bool,
}

/// A generator.
#[derive(Clone, Debug)]
pub struct Generator {
    machine_id: u64,
    elapsed: i64,
    sequence: u64,
    /// A thread sleeps and holds the lock. It has made its ID, and returns it then.
    sleeping: Option<MonoMillis>,
    check: Check,
    session: u64,
}

/// `CheckMachineID`, request by request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    Connects(u64),
    Claims(u64),
    Passed,
}

/// `lower16BitPrivateIP`. A node's own host has the address that its operator gave it. Twins have the same lower halves
/// in two networks.
fn lower_half(setup: &Setup, life: Life) -> u64 {
    match life.host == life.node {
        true => setup.worker & 0xffff,
        false => OTHER_HOSTS + u64::try_from(life.host).unwrap_or(0),
    }
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
    const PACE: Pace = Pace::NATIVE;

    keeps_a_registry!(());

    type Process = Generator;

    fn store(&mut self, _fleet: &Fleet) -> Registry {
        Registry::default()
    }

    fn start(
        &mut self,
        setup: &Setup,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> Generator {
        let machine_id = lower_half(setup, machine.life);
        if machine.wall() < START * UNIT_MS {
            machine.die("start time is ahead");
        }
        let check = match (self.checked, store) {
            (false, _) => Check::Passed,
            (true, Some(_)) => Check::Connects(machine.send(Request::Open(SESSION_MS))),
            (true, None) => {
                machine.die("invalid machine id: nobody can be asked");
                Check::Passed
            }
        };
        machine.claims(machine_id);
        Generator { machine_id, elapsed: 0, sequence: SEQUENCE_MASK, sleeping: None, check, session: 0 }
    }

    fn wake(&mut self, process: &mut Generator, machine: &mut Machine<'_, Self>) {
        machine.send(Request::Ping(process.session));
        machine.wake_in(PING_MS);
    }

    fn answer(
        &mut self,
        process: &mut Generator,
        number: u64,
        answer: Result<Reply, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        match (process.check, answer) {
            (Check::Connects(asked), Ok(Reply::Session(session))) if asked == number => {
                process.session = session;
                machine.wake_in(PING_MS);
                let hold =
                    Request::Hold(session, format!("machine/{}", process.machine_id), Entry::default());
                process.check = Check::Claims(machine.send(hold));
            }
            (Check::Claims(asked), Ok(Reply::Done(true))) if asked == number => process.check = Check::Passed,
            (Check::Connects(asked) | Check::Claims(asked), _) if asked == number => {
                machine.die("invalid machine id");
            }
            _ => {}
        }
    }

    fn mint(&mut self, process: &mut Generator, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if process.check != Check::Passed {
            return Verdict::Refused("there is no generator yet".into());
        }
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
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    #[test]
    fn it_mints_in_its_layout_and_sleeps_where_256_are_not_enough() {
        let mut host = ManualHost::new(Sonyflake::default());
        host.setup.worker = 0x0102;
        host.step(3);
        let mut generator = host.start();
        let time = u128::from((NOON / UNIT_MS - START).unsigned_abs());
        assert_eq!(host.id(&mut generator), time << 24 | 0x0102);
        increasing(&mut host, &mut generator, 255);
        assert_eq!(host.now.wall.get(), NOON + 3);
        assert_eq!(host.id(&mut generator), (time + 1) << 24 | 0x0102);
        assert_eq!(host.now.wall.get(), NOON + 10, "a sleep to the unit's beginning");
        increasing(&mut host, &mut generator, 10_000);
    }

    #[test]
    fn a_clock_that_goes_back_makes_it_count_on_and_then_sleep_it_off() {
        let mut host = ManualHost::new(Sonyflake::default());
        let mut generator = host.start();
        let first = host.id(&mut generator);
        host.step(-1_000);
        assert_eq!(host.id(&mut generator), first + (1 << 16));
        increasing(&mut host, &mut generator, 254);
        let Verdict::Again(at) = host.mint(&mut generator) else { unreachable!() };
        assert_eq!(at.since(host.now.mono), 1_010);
        let mut generator = host.start();
        host.step(1_000);
        assert_eq!(host.id(&mut generator), first, "a restart knows nothing");
    }

    /// Sonyflake f167a9d, v2/sonyflake.go, lower16BitPrivateIP.
    #[test]
    fn the_machine_id_is_the_hosts() {
        let mut host = ManualHost::new(Sonyflake::default());
        let own = host.start().machine_id;
        host.life.host = 5;
        let other = host.start();
        assert_ne!(other.machine_id, own);
        host.life.node = 1;
        assert_eq!(host.start().machine_id, other.machine_id, "two processes on one host share it");
    }

    /// Sonyflake f167a9d, v2/sonyflake.go, New: no generator where CheckMachineID says no.
    #[test]
    fn a_machine_id_that_is_in_use_makes_no_generator_where_it_is_checked() {
        let mut host = ManualHost::new(Sonyflake { checked: true });
        let mut first = host.start();
        assert!(matches!(host.mint(&mut first), Verdict::Refused(_)));
        host.serve(&mut first, true);
        let mut second = host.start();
        host.serve(&mut second, true);
        assert_eq!(host.died(), Some("invalid machine id"));
        host.start_alone();
        assert!(host.died().is_some());
        host.id(&mut first);
        host.pass(SESSION_MS);
        let mut third = host.start();
        host.serve(&mut third, true);
        assert_eq!(host.died(), None, "its session has ended");
        assert!(matches!(host.mint(&mut third), Verdict::Minted(_)));
        assert!(matches!(host.mint(&mut first), Verdict::Minted(_)), "and nobody tells the first one");
    }
}
