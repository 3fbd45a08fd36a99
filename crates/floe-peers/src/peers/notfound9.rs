//! NotFound9's Leaf with worker ids that are recycled.
//!
//! It promises what Leaf promises, and that worker ids do not run out. ZooKeeper holds them in two pools. A node that
//! starts takes the first unused id, unless the time written there is ahead of its clock (then it fails to start), and
//! moves it to the used ones. It reports its clock there every 3 s, as in Leaf. Every 2 minutes, each node looks through
//! the used ids, and moves back those that have not been reported for an hour *by its own clock*: another node's id, which
//! mints on, or its own. A node whose reports have failed for an hour stops minting for good. It mints as Leaf does.
//!
//! Read from: NotFound9/Leaf 896882e, `RecyclableZookeeperHolder.java` (`init`, `initAllNode`, `updateNewData`,
//! `checkWorkIdUploadStatus`), `SnowflakeIDGenImpl.java`, and `SnowflakeService.java`, which leaves `maxWorkId` at 1024.
//! Four of its details are kept. The pool has ids 0 to 1024; the generator refuses the last one after it has been taken
//! from the pool for good. The margin of 2 * 2 minutes is added as 4 ms. A recycled id keeps the time that its last
//! user reported, because the new time is set on the object and the old bytes are written. A pool node that was never
//! reported is never recycled. ZooKeeper lists a pool in no order; here the lowest id comes first. If two nodes take
//! the same id at once, one fails to start.

use super::leaf_snowflake::{EPOCH, Generator};
use super::{Entry, Registry, Reply, Request, snowflake};
use floe::MonoMillis;
use floe_sim::model::{Ask, Fleet, Machine, Model, Pace, Parts, Setup, Silence, Verdict};

const FIRST_REPORT_MS: u64 = 1_000;
const REPORT_MS: u64 = 3_000;
const CHECK_MS: u64 = 120_000;
const MOST_FAILING_MS: i64 = 3_600_000;
const MARGIN_MS: i64 = 4;
const MOST_TIME: i64 = (1 << 41) - 1;

/// The algorithm.
#[derive(Clone, Copy, Default, Debug)]
pub struct NotFound9 {
    /// `maxWorkId`, one more than the generator accepts.
    most_worker: u64,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    generator: Generator,
    key: String,
    minting: bool,
    last_report: Option<i64>,
    /// When the next report is due, or its request.
    report: Task,
    /// When the next look through the pool is due, or the request that it waits for.
    check: Task,
    /// Ids to recycle, the last one first. That one has been removed if `removed` is set.
    stale: Vec<(String, Entry)>,
    removed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Task {
    Due(MonoMillis),
    Sent(u64),
    Never,
}

impl Node {
    /// Sets the alarm for the task that is due first.
    fn set_alarm(&self, machine: &mut Machine<'_, NotFound9>) {
        let due = |task| if let Task::Due(at) = task { Some(at) } else { None };
        if let Some(at) = due(self.report).into_iter().chain(due(self.check)).min() {
            machine.wake_at(at);
        }
    }

    fn report(&mut self, machine: &mut Machine<'_, NotFound9>) {
        let now = machine.wall();
        if self.last_report.is_some_and(|last| now < last) {
            self.report = Task::Due(machine.now.mono.plus(REPORT_MS));
            return;
        }
        let entry = Entry { number: self.generator.worker, stamp: Some(now) };
        self.report = Task::Sent(machine.send(Request::Update(self.key.clone(), entry)));
    }

    fn reported(&mut self, done: bool, machine: &mut Machine<'_, NotFound9>) {
        let now = machine.wall();
        self.report = Task::Due(machine.now.mono.plus(REPORT_MS));
        if done {
            self.last_report = Some(now);
        } else if self.last_report.is_some_and(|last| now - last > MOST_FAILING_MS) {
            // The exception that it throws ends the schedule too.
            self.minting = false;
            self.report = Task::Never;
            machine.says(|| "stops minting: an hour without a report".into());
        } else {
            machine.says(|| "fails to report, and logs it".into());
        }
    }

    /// Continues the look through the pool, one request at a time. Any failure ends it.
    fn checked(&mut self, answer: Option<Reply>, machine: &mut Machine<'_, NotFound9>) {
        let now = machine.wall();
        self.check = Task::Due(machine.now.mono.plus(CHECK_MS));
        match answer {
            Some(Reply::Entries(used)) => {
                let old = |at: Option<i64>| at.is_some_and(|at| now - at > MOST_FAILING_MS + MARGIN_MS);
                self.stale = used.into_iter().rev().filter(|(_, entry)| old(entry.stamp)).collect();
                self.removed = false;
            }
            Some(Reply::Done(true)) if !self.removed => self.removed = true,
            Some(Reply::Done(true)) => {
                self.stale.pop();
                self.removed = false;
            }
            _ => self.stale.clear(),
        }
        let Some((key, entry)) = self.stale.last() else { return };
        let request = if self.removed {
            machine.says(|| format!("puts worker id {} back into the pool", entry.number));
            Request::Create(unused(entry.number), *entry)
        } else {
            Request::Remove(key.clone())
        };
        self.check = Task::Sent(machine.send(request));
    }
}

fn unused(worker: u64) -> String {
    format!("notuse/{worker:04}")
}

impl NotFound9 {
    fn take(&self, store: Option<&mut Registry>, now: i64) -> Result<(u64, String), &'static str> {
        let store = store.ok_or("Connect Zookeeper failed")?;
        if store.increment("recycle") == 0 {
            for number in 0..=self.most_worker {
                store.put(&unused(number), Entry { number, stamp: None });
            }
        }
        let (key, entry) = store.list("notuse/").into_iter().next().ok_or("no userful Node in /notuse")?;
        if entry.stamp.is_some_and(|stamp| stamp > now) {
            return Err("init timestamp check error,forever node timestamp gt this node time");
        }
        let used = format!("inuse/{:04}", entry.number);
        store.remove(&key);
        store.put(&used, entry);
        Ok((entry.number, used))
    }
}

impl Model for NotFound9 {
    const PACE: Pace = Pace::JVM;

    keeps_a_registry!(());

    type Process = Node;

    fn store(&mut self, fleet: &Fleet) -> Registry {
        self.most_worker = 1 << fleet.worker_bits.min(10);
        Registry::default()
    }

    fn start(&mut self, _: &Setup, store: Option<&mut Registry>, machine: &mut Machine<'_, Self>) -> Node {
        let (worker, key) = self.take(store, machine.wall()).unwrap_or_else(|why| {
            machine.die(why);
            (0, String::new())
        });
        machine.says(|| format!("takes worker id {worker} from the pool"));
        let mono = machine.now.mono;
        let node = Node {
            generator: Generator::new(worker, self.most_worker - 1, machine),
            key,
            minting: true,
            last_report: None,
            report: Task::Due(mono.plus(FIRST_REPORT_MS)),
            check: Task::Due(mono.plus(CHECK_MS)),
            stale: Vec::new(),
            removed: false,
        };
        node.set_alarm(machine);
        node
    }

    fn wake(&mut self, process: &mut Node, machine: &mut Machine<'_, Self>) {
        let due = |task| matches!(task, Task::Due(at) if at <= machine.now.mono);
        let (report, check) = (due(process.report), due(process.check));
        if report {
            process.report(machine);
        }
        if check {
            process.check = Task::Sent(machine.send(Request::List("inuse/".into())));
        }
        process.set_alarm(machine);
    }

    fn answer(
        &mut self,
        process: &mut Node,
        number: u64,
        answer: Result<Reply, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        if process.report == Task::Sent(number) {
            process.reported(answer == Ok(Reply::Done(true)), machine);
        } else if process.check == Task::Sent(number) {
            process.checked(answer.ok(), machine);
        }
        process.set_alarm(machine);
    }

    fn mint(&mut self, process: &mut Node, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        if !process.minting {
            return Verdict::Refused("lost connect to zookeeper over maxDisConnectTime (-4)".into());
        } else if machine.wall() > EPOCH + MOST_TIME {
            return Verdict::Refused("current timestamp is over maxTimeStamp".into());
        }
        process.generator.mint(ask, machine)
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, increasing};

    const HOUR: i64 = 3_600_000;

    /// NotFound9/Leaf 896882e, RecyclableZookeeperHolder.initAllNode (`i <= maxWorkId`, which is 1024) and
    /// SnowflakeIDGenImpl's constructor; here 4 stands for 1024.
    #[test]
    fn every_start_takes_another_worker_id_while_there_are_any_and_one_of_them_is_of_no_use() {
        let mut host = ManualHost::new(NotFound9::default());
        for worker in 0..4 {
            let mut node = host.start();
            assert_eq!(host.id(&mut node) >> 12 & 1023, worker);
            increasing(&mut host, &mut node, 5_000);
        }
        host.start();
        assert_eq!(host.died(), Some("workerID must gte 0 and lte 1023"));
        host.start();
        assert_eq!(host.died(), Some("no userful Node in /notuse"), "it is gone from the pool all the same");
        host.start_alone();
        assert!(host.died().is_some());
    }

    #[test]
    fn an_hour_without_reports_stops_it_and_a_clock_an_hour_ahead_takes_what_others_use() {
        let mut host = ManualHost::new(NotFound9::default());
        let mut first = host.start();
        host.run(&mut first, true);
        host.become_node(1);
        let mut second = host.start();
        host.run(&mut second, true);
        host.step(HOUR);
        for _ in 0..42 {
            host.run(&mut second, true);
        }
        assert!(host.store.get("inuse/0000").is_none(), "the first has reported nothing for an hour");
        assert!(host.store.get("inuse/0001").is_some());
        assert!(host.store.get("notuse/0000").is_some_and(|entry| entry.stamp.is_some()));
        assert_eq!(host.start().generator.worker, 0, "two have it now");

        host.step(-HOUR);
        host.store.remove("inuse/0000");
        while host.now.wall.get() - first.last_report.unwrap() <= HOUR {
            host.outbox.wake = Some(host.now.mono.plus(REPORT_MS));
            host.run(&mut first, true);
        }
        assert!(matches!(host.mint(&mut first), Verdict::Refused(_)));
    }

    /// NotFound9/Leaf 896882e, SnowflakeIDGenImpl.get: OverMaxTimeStampException.
    #[test]
    fn it_refuses_past_its_bits() {
        let mut host = ManualHost::new(NotFound9::default());
        let mut node = host.start();
        host.step(EPOCH + MOST_TIME - host.now.wall.get());
        assert!(matches!(host.mint(&mut node), Verdict::Minted(_)));
        host.step(1);
        assert!(matches!(host.mint(&mut node), Verdict::Refused(_)));
    }

    #[test]
    fn a_time_ahead_of_the_clock_in_the_pool_fails_every_start() {
        let mut host = ManualHost::new(NotFound9::default());
        host.start();
        let now = host.now.wall.get();
        host.store.put("notuse/0001", Entry { number: 1, stamp: Some(now + 1) });
        host.start();
        assert!(host.died().is_some());
        host.step(1);
        assert_eq!(host.start().generator.worker, 1);
    }
}
