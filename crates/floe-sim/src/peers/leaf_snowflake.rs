//! Meituan's Leaf, snowflake mode: Twitter's layout with the two node fields as one of 10 bits, handed out by ZooKeeper.
//!
//! It promises unique IDs that increase roughly with time, and "to start in spite of ZooKeeper being down". A node's worker
//! id is the number of a persistent sequential ZooKeeper node named after its address, so it keeps it for ever; a copy
//! in a local file serves where ZooKeeper fails. From 1 s after its start and every 3 s, a thread writes the clock into
//! the ZooKeeper node, unless the clock is behind what it wrote last. A node that starts compares its clock with its own
//! node's time, and that alone. Whatever fails during that, the comparison included, makes it use the local file if there
//! is one: then it neither compares nor reports. The sequence begins at random below 100 in every millisecond. A
//! clock that is at most 5 ms behind is waited for, twice as long as it lacks; one that is further behind is an error.
//!
//! Read from: Meituan-Dianping/Leaf, `SnowflakeIDGenImpl.java` (`get`), `SnowflakeZookeeperHolder.java` (`init`,
//! `updateNewData`, `checkInitTimeStamp`). Its start is one act here, so two first starts cannot cross.

use std::collections::BTreeSet;

use super::{Entry, Registry, Reply, Request, signed, snowflake, spin};
use crate::model::{Ask, Fleet, Machine, Model, Parts, Setup, Silence, Verdict};

pub(super) const EPOCH: i64 = 1_288_834_974_657;
const SEQUENCE_MASK: u64 = 4095;
const MOST_WORKER: u64 = 1023;
const FIRST_REPORT_MS: u64 = 1_000;
const REPORT_MS: u64 = 3_000;
const WAITS_FOR_MS: i64 = 5;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct LeafSnowflake;

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    generator: Generator,
    /// Its ZooKeeper node; `None` where it has started from the local file.
    path: Option<String>,
    /// The report on its way.
    report: Option<u64>,
    last_report: i64,
}

/// `SnowflakeIDGenImpl`.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    pub(super) worker: u64,
    last: i64,
    sequence: u64,
    spinning: bool,
    /// Threads in `wait`, which lets others in.
    waiting: BTreeSet<u64>,
}

impl Generator {
    pub(super) fn new<M: Model>(worker: u64, machine: &mut Machine<'_, M>) -> Self {
        if worker > MOST_WORKER {
            machine.die("workerID must gte 0 and lte 1023");
        }
        let now = machine.now.wall;
        machine.holds(|| format!("worker {worker}"), now, None);
        Self { worker, last: -1, sequence: 0, spinning: false, waiting: BTreeSet::new() }
    }

    pub(super) fn mint<M: Model>(&mut self, ask: &Ask, machine: &mut Machine<'_, M>) -> Verdict {
        let now = machine.wall();
        let waited = self.waiting.remove(&ask.id);
        if self.spinning {
            if now <= self.last {
                return spin(machine, self.last);
            }
            self.spinning = false;
        } else if now < self.last {
            let behind = self.last - now;
            if waited {
                return Verdict::Refused("the clock is still behind after a wait (-1)".into());
            } else if behind > WAITS_FOR_MS {
                return Verdict::Refused(format!("the clock is {behind} ms behind (-3)"));
            }
            self.waiting.insert(ask.id);
            return Verdict::Again(machine.now.mono.plus(behind.unsigned_abs() * 2));
        } else if now == self.last {
            self.sequence = (self.sequence + 1) & SEQUENCE_MASK;
            if self.sequence == 0 {
                self.sequence = machine.random.below(100);
                self.spinning = true;
                return spin(machine, self.last);
            }
        } else {
            self.sequence = machine.random.below(100);
        }
        self.last = now;
        Verdict::Minted(vec![signed(now - EPOCH, 22, self.worker << 12 | self.sequence)])
    }
}

impl LeafSnowflake {
    /// What ZooKeeper gives: the worker id and the path, or why not.
    fn register(store: Option<&mut Registry>, node: usize, now: i64) -> Result<(u64, String), &'static str> {
        let store = store.ok_or("ZooKeeper does not answer")?;
        let path = format!("forever/{node}");
        let Some(entry) = store.get(&path) else {
            let number = store.increment("forever");
            store.put(&path, Entry { number, stamp: Some(now) });
            return Ok((number, path));
        };
        if entry.stamp.is_some_and(|stamp| stamp > now) {
            return Err("init timestamp check error,forever node timestamp gt this node time");
        }
        Ok((entry.number, path))
    }
}

impl Model for LeafSnowflake {
    keeps_a_registry!();

    /// `workerID.properties`.
    type Disk = Option<u64>;
    type Process = Node;

    fn store(&mut self, _fleet: &Fleet) -> Registry {
        Registry::default()
    }

    fn start(&mut self, _: &Setup, store: Option<&mut Registry>, machine: &mut Machine<'_, Self>) -> Node {
        let (worker, path) = match Self::register(store, machine.life.node, machine.wall()) {
            Ok((worker, path)) => {
                machine.says(|| format!("takes worker id {worker} of its ZooKeeper node"));
                *machine.disk = Some(worker);
                machine.wake_in(FIRST_REPORT_MS);
                (worker, Some(path))
            }
            Err(why) => {
                let kept = *machine.disk;
                match kept {
                    Some(worker) => {
                        machine.says(|| format!("takes worker id {worker} from its local file: {why}"));
                    }
                    None => machine.die(format!("Snowflake Id Gen is not init ok: {why}")),
                }
                (kept.unwrap_or_default(), None)
            }
        };
        Node { generator: Generator::new(worker, machine), path, report: None, last_report: 0 }
    }

    fn wake(&mut self, process: &mut Node, machine: &mut Machine<'_, Self>) {
        let now = machine.wall();
        let Some(path) = &process.path else { return };
        if now < process.last_report {
            machine.says(|| "skips its report: the clock is behind the last one".into());
            machine.wake_in(REPORT_MS);
            return;
        }
        let entry = Entry { number: process.generator.worker, stamp: Some(now) };
        process.report = Some(machine.send(Request::Update(path.clone(), entry)));
        let wall = machine.now.wall;
        machine.says(|| format!("reports its clock, {wall}"));
    }

    fn answer(
        &mut self,
        process: &mut Node,
        number: u64,
        answer: Result<Reply, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        if process.report != Some(number) {
            return;
        }
        process.report = None;
        if answer == Ok(Reply::Done(true)) {
            process.last_report = machine.wall();
        } else {
            machine.says(|| "fails to report, and logs it".into());
        }
        machine.wake_in(REPORT_MS);
    }

    fn mint(&mut self, process: &mut Node, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        process.generator.mint(ask, machine)
    }

    fn stop(&mut self, _process: &mut Node, _machine: &mut Machine<'_, Self>) {}

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::hand::{Hand, NOON, increasing};

    #[test]
    fn it_mints_in_its_layout_and_waits_for_a_clock_that_is_five_behind() {
        let mut hand = Hand::new(LeafSnowflake);
        let mut other = hand.start();
        assert_eq!(other.generator.worker, 0);
        hand.become_node(1);
        let mut node = hand.start();
        let id = hand.id(&mut node);
        assert_eq!(id >> 22, u128::from((NOON - EPOCH).unsigned_abs()));
        assert_eq!(id >> 12 & 1023, 1);
        assert!(id & 4095 < 100);
        increasing(&mut hand, &mut node, 10_000);

        hand.step(-5);
        let before = hand.now.mono;
        let Verdict::Again(at) = hand.mint(&mut node) else { unreachable!() };
        assert_eq!(at.since(before), 10);
        hand.pass(10);
        assert!(matches!(hand.again(&mut node), Verdict::Minted(_)));
        hand.step(-5);
        hand.mint(&mut node);
        hand.step(-6);
        hand.pass(10);
        assert!(matches!(hand.again(&mut node), Verdict::Refused(why) if why.ends_with("(-1)")));
        hand.id(&mut other);
        hand.step(-6);
        assert!(matches!(hand.mint(&mut other), Verdict::Refused(why) if why.ends_with("(-3)")));
    }

    #[test]
    fn it_compares_its_clock_with_its_own_report_unless_a_local_file_is_there() {
        let mut hand = Hand::new(LeafSnowflake);
        let mut node = hand.start();
        hand.run(&mut node, true);
        assert_eq!((hand.now.wall.get(), node.last_report), (NOON + 1_000, NOON + 1_000));
        hand.run(&mut node, false);
        assert_eq!(node.last_report, NOON + 1_000, "silence is logged");
        hand.run(&mut node, true);
        assert_eq!(node.last_report, NOON + 7_000);
        hand.step(-1);
        assert!(hand.start().path.is_none(), "the local file");
        assert_eq!(hand.died(), None);
        hand.disk = None;
        hand.start();
        assert!(hand.died().is_some_and(|why| why.contains("timestamp check error")));
        hand.step(1);
        assert!(hand.start().path.is_some(), "as late as its report is late enough");
        assert!(hand.start_alone().path.is_none());
        assert_eq!(hand.died(), None);
        hand.disk = None;
        hand.start_alone();
        assert!(hand.died().is_some());
    }

    #[test]
    fn what_it_minted_since_its_last_report_it_mints_again() {
        let mut hand = Hand::new(LeafSnowflake);
        let mut node = hand.start();
        hand.run(&mut node, true);
        hand.pass(2_000);
        let first = hand.id(&mut node) >> 12;
        hand.pass(500);
        hand.step(-500);
        let mut node = hand.start();
        assert!(node.path.is_some(), "the check has passed");
        assert_eq!(hand.id(&mut node) >> 12, first);
    }
}
