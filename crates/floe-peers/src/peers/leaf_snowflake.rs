//! Meituan's Leaf, snowflake mode: Twitter's layout, with both node fields as one of 10 bits. ZooKeeper hands out worker ids.
//!
//! It promises unique IDs that increase roughly with time, and "to start in spite of ZooKeeper being down". A node's
//! worker id is the number of a persistent sequential ZooKeeper node named after its address and port. It keeps that id
//! as long as it keeps those; on another host it is another node. A node that finds no ZooKeeper node at all creates
//! the first one, and keeps worker id 0, whatever number that one got. All nodes that look before the first one exists
//! do the same. A copy of the worker id in a local file serves if ZooKeeper fails. From 1 s after its start and every 3
//! s, a thread writes the clock into the ZooKeeper node, unless the clock is behind the last write. A node that starts
//! compares its clock only with its own ZooKeeper node's time. If anything fails during that, also the comparison, it
//! uses the local file if there is one; then it neither compares nor reports. The sequence begins at random below 100
//! in every millisecond. If the clock is at most 5 ms behind, it waits twice as long as it lacks; further behind is an
//! error.
//!
//! Read from: Meituan-Dianping/Leaf 86a6441, `SnowflakeIDGenImpl.java` (`get`), `SnowflakeZookeeperHolder.java`
//! (`init`, `createNode`, `updateNewData`, `checkInitTimeStamp`, `updateLocalWorkerID`). If a request of a start is not
//! answered within a second, it has failed, as in `RetryUntilElapsed(1000, 4)`.

use std::collections::BTreeSet;

use super::{Entry, Registry, Reply, Request, claim, signed, snowflake, spin};
use floe_sim::model::{Ask, Fleet, Life, Machine, Model, Pace, Parts, Setup, Silence, Verdict};

pub(super) const EPOCH: i64 = 1_288_834_974_657;
const SEQUENCE_MASK: u64 = 4095;
const WORKER_BITS: u32 = 10;
const FIRST_REPORT_MS: u64 = 1_000;
const REPORT_MS: u64 = 3_000;
const WAITS_FOR_MS: i64 = 5;
/// `PATH_FOREVER`.
const FOREVER: &str = "forever";

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct LeafSnowflake {
    most_worker: u64,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// `None` until it has started.
    generator: Option<Generator>,
    step: Step,
    /// The request that the current step waits for.
    asked: Option<u64>,
    /// Its ZooKeeper node; `None` if it started from the local file.
    path: Option<String>,
    /// The report on its way.
    report: Option<u64>,
    last_report: i64,
}

/// `init`, request by request.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// `checkExists`: does any node exist?
    Exists,
    /// `createNode`, if there was none.
    First,
    /// `getChildren`.
    List,
    /// `checkInitTimeStamp` of its own node: path and worker id.
    Check(String, u64),
    /// `createNode`, if there were others.
    Create,
    Started,
}

/// `SnowflakeIDGenImpl`.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    pub(super) worker: u64,
    last: i64,
    sequence: u64,
    spinning: bool,
    /// Threads in `wait`, which lets other threads in.
    waiting: BTreeSet<u64>,
}

impl Generator {
    /// `most` is 1023, or less if a scenario wants fewer worker ids than nodes.
    pub(super) fn new<M: Model>(worker: u64, most: u64, machine: &mut Machine<'_, M>) -> Self {
        claim(worker, most, "workerID must gte 0 and lte 1023", machine);
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

/// `listenAddress`, with the dash that follows. Every host has its address, and every node its port.
fn listens(life: Life) -> String {
    format!("10.0.0.{}:{}-", life.host, 8080 + life.node)
}

impl Node {
    fn go(&mut self, step: Step, machine: &mut Machine<'_, LeafSnowflake>) {
        let request = match &step {
            Step::Exists | Step::List => Request::List(format!("{FOREVER}/")),
            Step::First | Step::Create => {
                Request::Sequential(FOREVER.into(), listens(machine.life), machine.wall())
            }
            Step::Check(path, _) => Request::Get(path.clone()),
            Step::Started => return,
        };
        self.step = step;
        self.asked = Some(machine.send(request));
    }

    fn next(&mut self, reply: Reply, most: u64, machine: &mut Machine<'_, LeafSnowflake>) {
        match (self.step.clone(), reply) {
            (Step::Exists, Reply::Entries(all)) if all.is_empty() => self.go(Step::First, machine),
            (Step::Exists, Reply::Entries(_)) => self.go(Step::List, machine),
            (Step::First, Reply::Entry(Some(entry))) => {
                machine.says(|| "found no node, creates the first one, and keeps worker id 0".into());
                self.took(0, entry.number, most, machine);
            }
            (Step::List, Reply::Entries(all)) => {
                let own = format!("{FOREVER}/{}", listens(machine.life));
                match all.into_iter().rfind(|(key, _)| key.starts_with(&own)) {
                    Some((path, entry)) => self.go(Step::Check(path, entry.number), machine),
                    None => self.go(Step::Create, machine),
                }
            }
            (Step::Check(_, worker), Reply::Entry(Some(entry))) => {
                if entry.stamp.is_some_and(|stamp| stamp > machine.wall()) {
                    let why = "init timestamp check error,forever node timestamp gt this node time";
                    return self.fails(why, most, machine);
                }
                self.took(worker, worker, most, machine);
            }
            (Step::Create, Reply::Entry(Some(entry))) => self.took(entry.number, entry.number, most, machine),
            _ => self.fails("KeeperException", most, machine),
        }
    }

    /// Takes this worker id, and the ZooKeeper node of that number.
    fn took(&mut self, worker: u64, number: u64, most: u64, machine: &mut Machine<'_, LeafSnowflake>) {
        machine.says(|| format!("takes worker id {worker} of its ZooKeeper node"));
        *machine.disk = Some(worker);
        machine.wake_in(FIRST_REPORT_MS);
        self.path = Some(format!("{FOREVER}/{}{number:010}", listens(machine.life)));
        self.step = Step::Started;
        self.generator = Some(Generator::new(worker, most, machine));
    }

    /// The catch clause: the local file, or the start fails.
    fn fails(&mut self, why: &str, most: u64, machine: &mut Machine<'_, LeafSnowflake>) {
        self.step = Step::Started;
        match *machine.disk {
            Some(worker) => {
                machine.says(|| format!("takes worker id {worker} from its local file: {why}"));
                self.generator = Some(Generator::new(worker, most, machine));
            }
            None => machine.die(format!("Snowflake Id Gen is not init ok: {why}")),
        }
    }
}

impl Model for LeafSnowflake {
    const PACE: Pace = Pace::JVM;

    // The disk: `workerID.properties`.
    keeps_a_registry!(Option<u64>);

    type Process = Node;

    fn store(&mut self, fleet: &Fleet) -> Registry {
        self.most_worker = (1 << fleet.worker_bits.min(WORKER_BITS)) - 1;
        Registry::default()
    }

    fn start(&mut self, _: &Setup, store: Option<&mut Registry>, machine: &mut Machine<'_, Self>) -> Node {
        let (asked, path, report) = (None, None, None);
        let mut node = Node { generator: None, step: Step::Exists, asked, path, report, last_report: 0 };
        match store {
            Some(_) => node.go(Step::Exists, machine),
            None => node.fails("ZooKeeper does not answer", self.most_worker, machine),
        }
        node
    }

    fn wake(&mut self, process: &mut Node, machine: &mut Machine<'_, Self>) {
        let now = machine.wall();
        let (Some(path), Some(generator)) = (&process.path, &process.generator) else { return };
        if now < process.last_report {
            machine.says(|| "skips its report: the clock is behind the last one".into());
            machine.wake_in(REPORT_MS);
            return;
        }
        let number = path.rsplit('-').next().and_then(|number| number.parse().ok());
        let entry = Entry { number: number.unwrap_or(generator.worker), stamp: Some(now) };
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
        if process.asked == Some(number) {
            process.asked = None;
            match answer {
                Ok(reply) => process.next(reply, self.most_worker, machine),
                Err(Silence) => process.fails("ConnectionLoss", self.most_worker, machine),
            }
        } else if process.report == Some(number) {
            process.report = None;
            if answer == Ok(Reply::Done(true)) {
                process.last_report = machine.wall();
            } else {
                machine.says(|| "fails to report, and logs it".into());
            }
            machine.wake_in(REPORT_MS);
        }
    }

    fn mint(&mut self, process: &mut Node, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        match &mut process.generator {
            Some(generator) => generator.mint(ask, machine),
            None => Verdict::Refused("it is starting".into()),
        }
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, WORKER_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    fn started(host: &mut ManualHost<LeafSnowflake>) -> Node {
        let mut node = host.start();
        host.serve(&mut node, true);
        node
    }

    fn worker(node: &Node) -> Option<u64> {
        node.generator.as_ref().map(|generator| generator.worker)
    }

    #[test]
    fn it_mints_in_its_layout_and_waits_for_a_clock_that_is_five_behind() {
        let mut host = ManualHost::new(LeafSnowflake::default());
        let mut other = started(&mut host);
        assert_eq!(worker(&other), Some(0));
        host.become_node(1);
        let mut node = started(&mut host);
        let id = host.id(&mut node);
        assert_eq!(id >> 22, u128::from((NOON - EPOCH).unsigned_abs()));
        assert_eq!(id >> 12 & 1023, 1);
        assert!(id & 4095 < 100);
        increasing(&mut host, &mut node, 10_000);

        host.step(-5);
        let before = host.now.mono;
        let Verdict::Again(at) = host.mint(&mut node) else { unreachable!() };
        assert_eq!(at.since(before), 10);
        host.pass(10);
        assert!(matches!(host.again(&mut node), Verdict::Minted(_)));
        host.step(-5);
        host.mint(&mut node);
        host.step(-6);
        host.pass(10);
        assert!(matches!(host.again(&mut node), Verdict::Refused(why) if why.ends_with("(-1)")));
        host.id(&mut other);
        host.step(-6);
        assert!(matches!(host.mint(&mut other), Verdict::Refused(why) if why.ends_with("(-3)")));
    }

    /// Leaf 86a6441, SnowflakeZookeeperHolder.init and .checkInitTimeStamp.
    #[test]
    fn it_compares_its_clock_with_its_own_report_unless_a_local_file_is_there() {
        let mut host = ManualHost::new(LeafSnowflake::default());
        let mut node = started(&mut host);
        host.run(&mut node, true);
        assert_eq!((host.now.wall.get(), node.last_report), (NOON + 1_000, NOON + 1_000));
        host.run(&mut node, false);
        assert_eq!(node.last_report, NOON + 1_000, "silence is logged");
        host.run(&mut node, true);
        assert_eq!(node.last_report, NOON + 7_000);
        host.step(-1);
        assert!(started(&mut host).path.is_none(), "the local file");
        assert_eq!(host.died(), None);
        host.disk = None;
        started(&mut host);
        assert!(host.died().is_some_and(|why| why.contains("timestamp check error")));
        host.step(1);
        assert!(started(&mut host).path.is_some(), "as late as its report is late enough");
        assert!(host.start_alone().path.is_none());
        assert_eq!(host.died(), None);
        let mut silent = host.start();
        host.serve(&mut silent, false);
        assert_eq!((worker(&silent), silent.path), (Some(0), None), "ZooKeeper that falls silent, too");
        host.disk = None;
        host.start_alone();
        assert!(host.died().is_some());
    }

    /// Leaf 86a6441, SnowflakeZookeeperHolder's constructor and init: the key is ip:port.
    #[test]
    fn on_another_host_it_is_another_node() {
        let mut host = ManualHost::new(LeafSnowflake::default());
        assert_eq!(worker(&started(&mut host)), Some(0));
        host.life.host = 2;
        host.disk = None;
        assert_eq!(worker(&started(&mut host)), Some(1), "a new worker id");
        assert_eq!(worker(&started(&mut host)), Some(1));
        host.life.host = 0;
        host.disk = None;
        assert_eq!(worker(&started(&mut host)), Some(0), "back at the address that it had");
    }

    /// Leaf 86a6441, SnowflakeZookeeperHolder.init: "worker id 默认是0", whatever createNode returned.
    #[test]
    fn all_that_see_no_node_keep_worker_id_zero() {
        let mut host = ManualHost::new(LeafSnowflake::default());
        let mut first = host.start();
        host.serve_once(&mut first);
        let late = std::mem::take(&mut host.outbox.requests);
        host.become_node(1);
        let mut second = started(&mut host);
        host.become_node(0);
        host.outbox.requests = late;
        host.serve(&mut first, true);
        assert_eq!((worker(&first), worker(&second)), (Some(0), Some(0)));
        assert_ne!(first.path, second.path, "though ZooKeeper has numbered them");
        let same = [host.id(&mut first) >> 12, host.id(&mut second) >> 12];
        assert_eq!(same[0], same[1]);
        assert_eq!(worker(&started(&mut host)), Some(1), "its next life has its own number");
    }

    /// Leaf 86a6441, SnowflakeIDGenImpl's constructor.
    #[test]
    fn a_number_beyond_the_worker_ids_is_refused() {
        let mut host = ManualHost::new(LeafSnowflake::default());
        for node in 0..4 {
            host.become_node(node);
            started(&mut host);
            assert_eq!(host.died(), None);
        }
        host.become_node(4);
        started(&mut host);
        assert_eq!(host.died(), Some("workerID must gte 0 and lte 1023"));
    }

    #[test]
    fn what_it_minted_since_its_last_report_it_mints_again() {
        let mut host = ManualHost::new(LeafSnowflake::default());
        let mut node = started(&mut host);
        host.run(&mut node, true);
        host.pass(2_000);
        let first = host.id(&mut node) >> 12;
        host.pass(500);
        host.step(-500);
        let mut node = started(&mut host);
        assert!(node.path.is_some(), "the check has passed");
        assert_eq!(host.id(&mut node) >> 12, first);
    }
}
