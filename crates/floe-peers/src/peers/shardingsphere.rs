//! Apache ShardingSphere's SNOWFLAKE key generator, on compute nodes of a cluster with ZooKeeper, and outside of
//! cluster mode. There every node without a worker id in its configuration is worker 0.
//!
//! It promises unique keys that increase on a node: 41 bits of milliseconds since 2016-11-01, 10 of worker id, 12 of
//! sequence, which begins at 0 and 1 in turn (`max-vibration-offset` 1). If the clock is less than 10 ms behind the
//! last key, it waits for that long, and does not compare again; further behind is an error.
//!
//! An instance takes the lowest free worker id: it lists them, claims the lowest free one as an ephemeral node (and
//! lists again if another instance was first), and writes it under its own instance id, as ephemeral too. Both end with
//! its session of 60 s, or when it stops: it mints no more then, and closes its session 500 ms later. Then the next
//! instance takes the id, and knows nothing of the old one's clock. If the old one still runs, it mints until its
//! client has noticed that the session is gone, and then takes a new id. A request without an answer is sent again
//! three times, after 500 to 1,500 ms each. After that comes an exception that the repository ignores: a list is then
//! empty, and a claim then succeeds.
//!
//! Read from: apache/shardingsphere 07ef827, `SnowflakeKeyGenerateAlgorithm.java` (`generateKey`,
//! `waitTolerateTimeDifferenceIfNeed`), `ClusterWorkerIdGenerator.java`, `StandaloneWorkerIdGenerator.java`,
//! `ReservationPersistService.java`, `ClusterComputeNodePersistService.java`, `ZookeeperRepository.java`
//! (`buildCuratorClient`, `waitForCacheClose`), `ZookeeperExceptionHandler.java`,
//! `SessionConnectionReconnectListener.java`. The client's part (a ping every third of the session, loss declared one
//! session after the connection was suspended at two thirds) is ZooKeeper's and Curator's documented behaviour.

use super::{Entry, Registry, Reply, Request, signed, snowflake, spin};
use floe::MonoMillis;
use floe_sim::model::{Ask, Fleet, Machine, Model, Pace, Parts, Setup, Silence, Verdict};

/// 2016-11-01T00:00:00 in the system's zone, which is UTC here.
const EPOCH: i64 = 1_477_958_400_000;
const SEQUENCE_MASK: u64 = 4095;
const MOST_VIBRATION: u64 = 1;
const TOLERATES_MS: i64 = 10;
const WORKER_BITS: u32 = 10;
const SESSION_MS: u64 = 60_000;
const PING_MS: u64 = SESSION_MS / 3;
const LOST_MS: u64 = SESSION_MS * 2 / 3 + SESSION_MS;
const RECONNECT_MS: u64 = 5_000;
/// `retryIntervalMilliseconds` and `maxRetries`. Their product is the longest sleep.
const RETRY_MS: u64 = 500;
const RETRIES: u32 = 3;
const CLOSE_MS: u64 = 500;

/// The algorithm.
#[derive(Clone, Copy, Debug)]
pub struct ShardingSphere {
    /// Whether worker ids come from the cluster's ZooKeeper.
    cluster: bool,
    /// Whether each node's configuration has a `worker-id`. It is used only outside of cluster mode.
    configured: bool,
    most_worker: u64,
}

/// An instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its key under the worker ids. The instance id in it is new at every start.
    key: String,
    worker: Option<u64>,
    session: u64,
    heard: MonoMillis,
    ping: Option<u64>,
    step: Step,
    /// The request that the step waits for, and how often it has been sent again.
    asked: Option<u64>,
    retries: u32,
    most_worker: u64,
    ping_at: Option<MonoMillis>,
    again_at: Option<MonoMillis>,
    close_at: Option<MonoMillis>,
    closed: bool,
    last: i64,
    sequence: u64,
    /// The start of the next millisecond's sequence.
    offset: u64,
    spinning: bool,
    sleeping: Option<MonoMillis>,
}

/// Its steps to a worker id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Connect,
    Load,
    List,
    Claim(u64),
    Write(u64),
    Registered,
}

impl Instance {
    fn go(&mut self, step: Step, machine: &mut Machine<'_, ShardingSphere>) {
        self.step = step;
        self.retries = 0;
        self.send(machine);
    }

    fn send(&mut self, machine: &mut Machine<'_, ShardingSphere>) {
        let session = self.session;
        let request = match self.step {
            Step::Connect => Request::Open(SESSION_MS),
            Step::Load => Request::Get(self.key.clone()),
            Step::List => Request::List("worker/".into()),
            Step::Claim(id) => Request::Hold(session, format!("reservation/{id}"), Entry::default()),
            Step::Write(number) => {
                Request::Hold(session, self.key.clone(), Entry { number, ..Entry::default() })
            }
            Step::Registered => return,
        };
        self.asked = Some(machine.send(request));
    }

    /// `ExponentialBackoffRetry`, for all but the first connection: how long it sleeps before the next try, if it tries again.
    fn backoff(&mut self, machine: &mut Machine<'_, ShardingSphere>) -> Option<u64> {
        if self.retries == RETRIES || self.step == Step::Connect {
            return None;
        }
        self.retries += 1;
        let slots = machine.random.below(1 << self.retries).max(1);
        Some((RETRY_MS * slots).min(RETRY_MS * u64::from(RETRIES)))
    }

    /// Sets the alarm for the next task.
    fn set_alarm(&self, machine: &mut Machine<'_, ShardingSphere>) {
        if let Some(at) = [self.ping_at, self.again_at, self.close_at].into_iter().flatten().min() {
            machine.wake_at(at);
        }
    }

    fn took(&mut self, worker: u64, machine: &mut Machine<'_, ShardingSphere>) {
        machine.says(|| format!("takes worker id {worker}"));
        machine.claims(worker);
        self.worker = Some(worker);
        self.step = Step::Registered;
    }

    /// The step after an answer; `None` means a lost connection.
    fn next(&mut self, reply: Option<Reply>, machine: &mut Machine<'_, ShardingSphere>) {
        match (self.step, reply) {
            (Step::Connect, Some(Reply::Session(session))) => {
                self.session = session;
                self.heard = machine.now.mono;
                self.ping_at = Some(machine.now.mono.plus(PING_MS));
                self.go(Step::Load, machine);
            }
            (Step::Connect, _) if self.worker.is_none() => machine.die("cannot connect to ZooKeeper"),
            (Step::Connect, _) => self.again_at = Some(machine.now.mono.plus(RECONNECT_MS)),
            (Step::Load, Some(Reply::Entry(Some(entry)))) => self.took(entry.number, machine),
            (Step::Load, Some(_)) => self.go(Step::List, machine),
            // Only `query` does not ignore it. A start fails; a reconnecting listener just ends.
            (Step::Load, None) if self.worker.is_none() => machine.die("ClusterRepositoryPersistException"),
            (Step::Load, None) => self.step = Step::Registered,
            (Step::List, reply) => {
                let used = if let Some(Reply::Entries(used)) = reply { used } else { Vec::new() };
                let free = |id: &u64| used.iter().all(|(_, entry)| entry.number != *id);
                match (0..=self.most_worker).find(free) {
                    Some(id) => self.go(Step::Claim(id), machine),
                    None if self.worker.is_none() => machine.die("WorkerIdAssignedException"),
                    None => self.step = Step::Registered,
                }
            }
            (Step::Claim(_), Some(Reply::Done(false))) => self.go(Step::List, machine),
            (Step::Claim(id), _) => self.go(Step::Write(id), machine),
            (Step::Write(id), _) => self.took(id, machine),
            (Step::Registered, _) => {}
        }
    }

    fn lost(&mut self, machine: &mut Machine<'_, ShardingSphere>) {
        machine.says(|| "learns that its session is lost, and connects anew".into());
        (self.ping, self.ping_at) = (None, None);
        self.go(Step::Connect, machine);
    }
}

impl ShardingSphere {
    /// Compute nodes of a cluster.
    pub fn cluster() -> Self {
        Self { cluster: true, configured: false, most_worker: 0 }
    }

    /// Nodes outside of cluster mode.
    pub fn standalone() -> Self {
        Self { cluster: false, ..Self::cluster() }
    }

    /// The same, with a `worker-id` in each node's configuration.
    pub fn configured() -> Self {
        Self { configured: true, ..Self::standalone() }
    }
}

impl Model for ShardingSphere {
    const PACE: Pace = Pace::JVM;

    keeps_a_registry!(());

    type Process = Instance;

    fn store(&mut self, fleet: &Fleet) -> Registry {
        self.most_worker = (1 << fleet.worker_bits.min(WORKER_BITS)) - 1;
        Registry::default()
    }

    fn pace(&self) -> Pace {
        let stop = if self.cluster { CLOSE_MS * 1_000 } else { 0 };
        Pace { stop, ..Self::PACE }
    }

    fn start(
        &mut self,
        setup: &Setup,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> Instance {
        let mut instance = Instance {
            key: format!("worker/{}-{}", machine.life.node, machine.life.number),
            worker: None,
            session: 0,
            heard: machine.now.mono,
            ping: None,
            step: Step::Connect,
            asked: None,
            retries: 0,
            most_worker: self.most_worker,
            ping_at: None,
            again_at: None,
            close_at: None,
            closed: false,
            last: 0,
            sequence: 0,
            offset: MOST_VIBRATION,
            spinning: false,
            sleeping: None,
        };
        if !self.cluster {
            instance.took(if self.configured { setup.worker } else { 0 }, machine);
        } else if store.is_some() {
            instance.go(Step::Connect, machine);
        } else {
            machine.die("cannot connect to ZooKeeper");
        }
        instance
    }

    fn wake(&mut self, process: &mut Instance, machine: &mut Machine<'_, Self>) {
        let now = machine.now.mono;
        let due = |at: &mut Option<MonoMillis>| at.take_if(|at| *at <= now).is_some();
        if due(&mut process.close_at) {
            machine.send(Request::Close(process.session));
        }
        if process.closed {
            return process.set_alarm(machine);
        }
        if due(&mut process.again_at) {
            process.send(machine);
        }
        if due(&mut process.ping_at) {
            process.ping = Some(machine.send(Request::Ping(process.session)));
            process.ping_at = Some(now.plus(PING_MS));
        }
        process.set_alarm(machine);
    }

    fn answer(
        &mut self,
        process: &mut Instance,
        number: u64,
        answer: Result<Reply, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        if process.closed {
        } else if process.asked == Some(number) {
            process.asked = None;
            let again = if answer.is_err() { process.backoff(machine) } else { None };
            match again {
                Some(sleep) => process.again_at = Some(machine.now.mono.plus(sleep)),
                None => process.next(answer.ok(), machine),
            }
        } else if process.ping == Some(number) {
            match answer {
                Ok(Reply::Done(true)) => process.heard = machine.now.mono,
                Ok(_) => process.lost(machine),
                Err(Silence) if machine.now.mono.since(process.heard) >= LOST_MS => process.lost(machine),
                Err(Silence) => {}
            }
        }
        process.set_alarm(machine);
    }

    fn mint(&mut self, process: &mut Instance, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let now = machine.wall();
        let Some(worker) = process.worker.filter(|_| !process.closed) else {
            return Verdict::Refused("the instance is not running".into());
        };
        if process.spinning {
            if now <= process.last {
                return spin(machine, process.last);
            }
            process.spinning = false;
            process.last = now;
            return Verdict::Minted(vec![signed(now - EPOCH, 22, worker << 12 | process.sequence)]);
        }
        if let Some(until) = process.sleeping {
            if machine.now.mono < until {
                return Verdict::Again(until);
            }
            process.sleeping = None;
        } else if now < process.last {
            let behind = process.last - now;
            if behind >= TOLERATES_MS {
                let last = process.last;
                return Verdict::Refused(format!(
                    "Clock is moving backwards, last time is {last} milliseconds, current time is {now} milliseconds."
                ));
            }
            let until = machine.now.mono.plus(behind.unsigned_abs());
            process.sleeping = Some(until);
            return Verdict::Again(until);
        }
        if now == process.last {
            process.sequence = (process.sequence + 1) & SEQUENCE_MASK;
            if process.sequence == 0 {
                process.spinning = true;
                return spin(machine, now);
            }
        } else {
            process.offset = if process.offset == MOST_VIBRATION { 0 } else { process.offset + 1 };
            process.sequence = process.offset;
        }
        process.last = now;
        Verdict::Minted(vec![signed(now - EPOCH, 22, worker << 12 | process.sequence)])
    }

    fn stop(&mut self, process: &mut Instance, machine: &mut Machine<'_, Self>) {
        process.closed = true;
        (process.ping_at, process.again_at) = (None, None);
        process.close_at = self.cluster.then(|| machine.now.mono.plus(CLOSE_MS));
        process.set_alarm(machine);
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, WORKER_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    fn started(host: &mut ManualHost<ShardingSphere>) -> Instance {
        let mut instance = host.start();
        host.serve(&mut instance, true);
        instance
    }

    #[test]
    fn it_mints_in_its_layout_and_waits_for_a_clock_that_is_nine_behind() {
        let mut host = ManualHost::new(ShardingSphere::cluster());
        started(&mut host);
        let mut instance = started(&mut host);
        let time = u128::from((NOON - EPOCH).unsigned_abs());
        assert_eq!(host.id(&mut instance), time << 22 | 1 << 12);
        host.pass(1);
        assert_eq!(host.id(&mut instance), (time + 1) << 22 | 1 << 12 | 1, "it vibrates");
        increasing(&mut host, &mut instance, 10_000);
        host.step(-9);
        let Verdict::Again(at) = host.mint(&mut instance) else { unreachable!() };
        assert_eq!(at.since(host.now.mono), 9);
        host.pass(9);
        assert!(matches!(host.again(&mut instance), Verdict::Minted(_)));
        host.step(-10);
        assert!(matches!(host.mint(&mut instance), Verdict::Refused(_)));
    }

    #[test]
    fn a_worker_id_goes_to_the_next_instance_when_the_session_ends() {
        let mut host = ManualHost::new(ShardingSphere::cluster());
        let mut first = started(&mut host);
        host.pass(59_999);
        assert_eq!(started(&mut host).worker, Some(1));
        host.pass(1);
        let second = started(&mut host);
        assert_eq!((first.worker, second.worker), (Some(0), Some(0)), "at once");
        assert!(matches!(host.mint(&mut first), Verdict::Minted(_)), "and the old one mints on");
        host.outbox.wake = Some(host.now.mono);
        host.run(&mut first, true);
        assert_eq!(first.worker, Some(2), "until it hears of it");

        assert_eq!(started(&mut host).worker, Some(3));
        started(&mut host);
        assert!(host.died().is_some(), "there are four in this fleet");
    }

    /// ShardingSphere 07ef827, ZookeeperRepository.close and .waitForCacheClose: 500 ms before the client is closed.
    #[test]
    fn half_a_second_after_a_stop_its_worker_id_is_free() {
        let mut host = ManualHost::new(ShardingSphere::cluster());
        let mut first = started(&mut host);
        let mut second = started(&mut host);
        host.stop(&mut second, true);
        let alarm = host.outbox.wake;
        assert!(matches!(host.mint(&mut second), Verdict::Refused(_)));
        host.pass(499);
        assert_eq!(started(&mut host).worker, Some(2), "not yet");
        host.outbox.wake = alarm;
        host.run(&mut second, true);
        assert_eq!(started(&mut host).worker, Some(1));
        assert!(matches!(host.mint(&mut first), Verdict::Minted(_)));
        assert_eq!(ShardingSphere::cluster().pace().stop, 500_000, "a stop takes so long");
    }

    /// ShardingSphere 07ef827, ZookeeperRepository.buildCuratorClient: ExponentialBackoffRetry(500 ms, 3, 1,500 ms).
    #[test]
    fn only_the_fourth_silence_is_a_lost_connection_and_one_during_the_claim_makes_worker_zero() {
        let mut host = ManualHost::new(ShardingSphere::cluster());
        started(&mut host);
        let mut instance = host.start();
        instance.step = Step::List;
        instance.asked = Some(1);
        host.serve(&mut instance, false);
        let mut sleeps = Vec::new();
        while instance.worker.is_none() {
            sleeps.push(host.outbox.wake.unwrap().since(host.now.mono));
            host.run(&mut instance, false);
        }
        assert_eq!(sleeps.len(), 9, "three more tries of the list, of the claim, and of what is written");
        assert!(sleeps.iter().all(|sleep| (500..=1_500).contains(sleep)), "{sleeps:?}");
        assert_eq!(instance.worker, Some(0));
        host.start_alone();
        assert!(host.died().is_some());

        let mut answered = host.start();
        host.serve(&mut answered, false);
        assert!(host.died().is_some(), "no connection at all");
        let mut late = host.start();
        host.serve_once(&mut late);
        host.serve(&mut late, false);
        host.run(&mut late, true);
        assert_eq!(late.worker, Some(1), "one silence is nothing");
    }

    /// ZooKeeper 05eae83, SessionTrackerImpl's constructor.
    #[test]
    fn a_session_outlasts_an_outage_of_zookeeper() {
        let mut host = ManualHost::new(ShardingSphere::cluster());
        started(&mut host);
        host.store_is_down_for(100_000);
        assert_eq!(started(&mut host).worker, Some(1), "the first one has its full timeout again");
    }

    /// ShardingSphere 07ef827, StandaloneWorkerIdGenerator.generate: DEFAULT_WORKER_ID.
    #[test]
    fn outside_of_cluster_mode_every_node_is_worker_zero() {
        let mut host = ManualHost::new(ShardingSphere::standalone());
        let mut first = host.start_alone();
        host.become_node(1);
        let mut second = host.start_alone();
        assert_eq!((first.worker, second.worker), (Some(0), Some(0)));
        assert_eq!(host.id(&mut first), host.id(&mut second));
    }

    /// ShardingSphere 4a454a0, StandaloneWorkerIdGenerator.generate: WORKER_ID_KEY.
    #[test]
    fn outside_of_cluster_mode_a_node_is_the_worker_that_is_configured() {
        let mut host = ManualHost::new(ShardingSphere::configured());
        let first = host.start_alone();
        host.become_node(1);
        assert_eq!((first.worker, host.start_alone().worker), (Some(0), Some(1)));
    }
}
