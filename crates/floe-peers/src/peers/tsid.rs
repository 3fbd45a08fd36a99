//! TSID Creator's `TsidFactory`, as `TsidCreator.getTsid()` uses it: 42 bits of milliseconds since 2020-01-01, 10 of
//! node, 12 of counter.
//!
//! It promises IDs that are sorted by time and increase on a factory. By default the node is a random number of 10
//! bits, drawn at each start; the operator can set it instead. In each new millisecond the counter begins at a random
//! number. While the clock is not past the last ID's millisecond, it counts on, past the counter's end into the next
//! millisecond. It never waits, never ends and refuses nothing. It keeps nothing over a restart.
//!
//! Read from: f4b6a3/tsid-creator c5e0282 (5.2.6), `TsidFactory.java` (`create`, `getTime`, `getRandomCounter`,
//! `Builder.getNode`). `originals.rs` plays the class itself beside this model.

use super::{claim, signed, snowflake};
use floe_sim::model::{Ask, Machine, Model, Pace, Parts, Setup, Verdict};

const EPOCH: i64 = 1_577_836_800_000;
const COUNTER_BITS: u32 = 12;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tsid {
    /// Whether the operator gave each node a number.
    pub configured: bool,
}

/// A factory.
#[derive(Clone, Debug)]
pub struct Factory {
    node: u64,
    last: i64,
    counter: u64,
}

impl Model for Tsid {
    const PACE: Pace = Pace::JVM;

    keeps_nothing!(());

    type Process = Factory;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> Factory {
        let node = if self.configured { setup.worker } else { machine.random.below(1 << 10) };
        claim(node, 1023, "Node ID out of range [0, 1023]", machine);
        Factory { node, last: 0, counter: machine.random.below(1 << COUNTER_BITS) }
    }

    fn mint(&mut self, process: &mut Factory, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let now = machine.wall();
        if now > process.last {
            process.last = now;
            process.counter = machine.random.below(1 << COUNTER_BITS);
        } else {
            process.counter += 1;
            if process.counter >> COUNTER_BITS > 0 {
                process.counter = 0;
                process.last += 1;
            }
        }
        Verdict::Minted(vec![signed(
            process.last - EPOCH,
            22,
            process.node << COUNTER_BITS | process.counter,
        )])
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// tsid-creator 5.2.6, TsidFactory.java, getTime.
    #[test]
    fn it_counts_on_from_a_random_number_whatever_the_clock_does() {
        let mut host = ManualHost::new(Tsid { configured: true });
        host.setup.worker = 9;
        let mut factory = host.start();
        let first = host.id(&mut factory);
        assert_eq!(first >> 12, u128::from((NOON - EPOCH).unsigned_abs()) << 10 | 9);
        host.step(-3_600_000);
        assert_eq!(host.id(&mut factory) & 0xfff, (first + 1) & 0xfff);
        increasing(&mut host, &mut factory, 10_000);
        assert_eq!(host.now.wall.get(), NOON - 3_600_000, "and never waits");
        host.setup.worker = 1024;
        host.start();
        assert!(host.died().is_some());
    }

    /// tsid-creator 5.2.6, TsidFactory.java, getTime and getRandomCounter.
    #[test]
    fn each_millisecond_begins_at_a_random_number() {
        let mut host = ManualHost::new(Tsid { configured: true });
        let mut factory = host.start();
        let begins: std::collections::BTreeSet<_> = (0..20)
            .map(|_| {
                host.pass(1);
                host.id(&mut factory) & 0xfff
            })
            .collect();
        assert!(begins.len() > 10, "{begins:?}");
    }

    /// tsid-creator 5.2.6, TsidFactory.java, Builder.getNode.
    #[test]
    fn a_start_draws_another_node() {
        let mut host = ManualHost::new(Tsid::default());
        let first = host.start().node;
        assert!((0..20).any(|_| host.start().node != first));
    }
}
