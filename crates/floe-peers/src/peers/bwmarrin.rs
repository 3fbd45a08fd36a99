//! bwmarrin/snowflake, the snowflake of most Go programs: Twitter's layout and epoch, 10 bits of node.
//!
//! It promises unique IDs while no two generators have the same node number, which the operator assigns. It reads the
//! wall clock only at its start, and then counts by the monotonic clock. So a step of the wall clock changes nothing
//! until the next start. If 4096 are not enough in a millisecond, it waits for the next one. It keeps nothing over a
//! restart, and refuses nothing.
//!
//! Read from: bwmarrin/snowflake cdbb8ee (v0.3.0), `snowflake.go` (`NewNode`, `Generate`). `originals.rs` plays the
//! package itself beside this model.

use super::{claim, signed, snowflake};
use floe::MonoMillis;
use floe_sim::model::{Ask, Machine, Model, Pace, Parts, Setup, Verdict};

const EPOCH: i64 = 1_288_834_974_657;
const STEP_MASK: u64 = 4095;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct Bwmarrin;

/// A generator.
#[derive(Clone, Debug)]
pub struct Node {
    node: u64,
    /// The clocks at the start: milliseconds since the epoch, and the monotonic clock.
    began: (i64, MonoMillis),
    time: i64,
    step: u64,
    /// A thread waits for the next millisecond and holds the lock.
    spinning: bool,
}

impl Model for Bwmarrin {
    const PACE: Pace = Pace::NATIVE;

    keeps_nothing!(());

    type Process = Node;

    fn start(&mut self, setup: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> Node {
        let node = setup.worker;
        let now = machine.now;
        claim(node, 1023, "Node number must be between 0 and 1023", machine);
        Node { node, began: (now.wall.get() - EPOCH, now.mono), time: 0, step: 0, spinning: false }
    }

    fn mint(&mut self, process: &mut Node, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let (at, mono) = process.began;
        let now = at.saturating_add_unsigned(machine.now.mono.since(mono));
        if !process.spinning {
            process.step = if now == process.time { (process.step + 1) & STEP_MASK } else { 0 };
            process.spinning = now == process.time && process.step == 0;
        }
        if process.spinning && now <= process.time {
            return Verdict::Again(machine.now.mono.plus(1));
        }
        process.spinning = false;
        process.time = now;
        Verdict::Minted(vec![signed(now, 22, process.node << 12 | process.step)])
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    /// bwmarrin/snowflake v0.3.0, snowflake.go, NewNode and Generate.
    #[test]
    fn a_step_of_the_wall_clock_is_seen_at_the_next_start_alone() {
        let mut host = ManualHost::new(Bwmarrin);
        host.setup.worker = 9;
        let mut node = host.start();
        let first = host.id(&mut node);
        assert_eq!(first, u128::from((NOON - EPOCH).unsigned_abs()) << 22 | 9 << 12);
        host.step(-60_000);
        assert_eq!(host.id(&mut node), first + 1);
        increasing(&mut host, &mut node, 5_000);
        assert_eq!(host.now.wall.get(), NOON - 60_000 + 1, "4096 a millisecond");
        host.step(59_999);
        let mut node = host.start();
        assert_eq!(host.id(&mut node), first, "a restart knows nothing");
        host.setup.worker = 1024;
        host.start();
        assert_eq!(host.died(), Some("Node number must be between 0 and 1023"));
    }
}
