//! Hutool's `Snowflake`, which `IdUtil.getSnowflakeNextId` uses: Twitter's layout and epoch, 5 bits of datacenter, 5 of
//! worker.
//!
//! It promises unique IDs that increase on a generator. By default the datacenter id comes from the MAC address, and
//! the worker id from that and the process id, as in [`mybatis_plus`](super::mybatis_plus). While the clock is less
//! than 2 s behind the last ID, it keeps counting in the last ID's millisecond, and refuses if 4096 are not enough
//! there. If the clock is not behind, it waits for the next millisecond. If the clock is further behind, it refuses. It
//! keeps nothing over a restart.
//!
//! Read from: dromara/hutool 95a363c (5.8.29), `Snowflake.java` (`nextId`, `tilNextMillis`), `IdUtil.java` (`getSnowflake`,
//! `getDataCenterId`, `getWorkerId`). `originals.rs` plays the class itself beside this model.

use super::mybatis_plus::{Card, by_card_and_process};
use super::{claim, signed, snowflake, spin};
use floe_sim::model::{Ask, Machine, Model, Pace, Parts, Setup, Verdict};

const EPOCH: i64 = 1_288_834_974_657;
const SEQUENCE_MASK: u64 = 4095;
/// `DEFAULT_TIME_OFFSET`.
const COUNTS_ON_MS: i64 = 2_000;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Hutool {
    /// Whether the operator gave each node a worker id.
    pub configured: bool,
}

/// A generator.
#[derive(Clone, Debug)]
pub struct Snowflake {
    /// Datacenter and worker id together.
    worker: u64,
    last: i64,
    sequence: u64,
    /// A thread is in `tilNextMillis` and holds the lock.
    spinning: bool,
}

impl Snowflake {
    fn id(&mut self, time: i64, sequence: u64) -> Verdict {
        (self.last, self.sequence) = (time, sequence);
        Verdict::Minted(vec![signed(time - EPOCH, 22, self.worker << 12 | sequence)])
    }

    /// `tilNextMillis`.
    fn til_next(&mut self, machine: &Machine<'_, Hutool>) -> Verdict {
        let now = machine.wall();
        self.spinning = now == self.last;
        if self.spinning {
            spin(machine, self.last)
        } else if now < self.last {
            refusal(self.last - now)
        } else {
            self.id(now, 0)
        }
    }
}

fn refusal(behind: i64) -> Verdict {
    Verdict::Refused(format!("Clock moved backwards. Refusing to generate id for {behind}ms"))
}

impl Model for Hutool {
    const PACE: Pace = Pace::JVM;

    keeps_nothing!(Card);

    type Process = Snowflake;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> Snowflake {
        let worker = match self.configured {
            true => setup.worker,
            false => by_card_and_process(machine.disk, machine.random),
        };
        claim(worker, 1023, "The value must be between 0 and 31.", machine);
        Snowflake { worker, last: -1, sequence: 0, spinning: false }
    }

    fn mint(&mut self, process: &mut Snowflake, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if process.spinning {
            return process.til_next(machine);
        }
        let behind = process.last - machine.wall();
        if behind >= COUNTS_ON_MS {
            return refusal(behind);
        } else if behind < 0 {
            return process.id(machine.wall(), 0);
        }
        match (process.sequence + 1) & SEQUENCE_MASK {
            0 => process.til_next(machine),
            sequence => process.id(process.last, sequence),
        }
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// hutool-core 5.8.29, Snowflake.java, nextId and tilNextMillis.
    #[test]
    fn it_counts_on_while_the_clock_is_less_than_two_seconds_behind() {
        let mut host = ManualHost::new(Hutool { configured: true });
        host.setup.worker = 9;
        let mut snowflake = host.start();
        let first = host.id(&mut snowflake);
        assert_eq!(first, u128::from((NOON - EPOCH).unsigned_abs()) << 22 | 9 << 12);
        host.step(-1_999);
        assert_eq!(host.id(&mut snowflake), first + 1);
        increasing(&mut host, &mut snowflake, 4_094);
        for _ in 0..2 {
            let why = "Clock moved backwards. Refusing to generate id for 1999ms";
            assert_eq!(host.mint(&mut snowflake), Verdict::Refused(why.into()), "4096 are not enough");
        }
        host.step(1_999);
        assert_eq!(host.id(&mut snowflake), first + (1 << 22), "it waits for the next millisecond");
        host.step(-2_000);
        let why = "Clock moved backwards. Refusing to generate id for 2000ms";
        assert_eq!(host.mint(&mut snowflake), Verdict::Refused(why.into()), "two seconds are too much");
    }

    /// hutool-core 5.8.29, IdUtil.java, getDataCenterId and getWorkerId.
    #[test]
    fn a_host_keeps_its_datacenter_id_and_a_process_has_a_worker_id_of_its_own() {
        let mut host = ManualHost::new(Hutool::default());
        let first = host.start().worker;
        let others: Vec<_> = (0..50).map(|_| host.start().worker).collect();
        assert!(others.iter().all(|id| id >> 5 == first >> 5) && others.iter().any(|id| *id != first));
    }
}
