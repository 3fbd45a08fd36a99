//! Twitter's snowflake as a service: the server around [`IdWorker`].
//!
//! Its worker id comes from its host's name, by a map in which no two hosts share one. At its start it asks each server
//! registered in ZooKeeper for its worker id and its time. The start ends if a server does not answer, or if the mean
//! of the clocks is over 10 s from its own. Then it claims its worker id as an ephemeral node; if that exists already,
//! it tries twice more, a second apart. Then it sleeps for 10 s, and only then serves. The client renews its ZooKeeper
//! session of 3 s. If the session has ended, the client connects again, but nothing claims the worker id again.
//!
//! A server that has registered and still sleeps does not answer, so the servers of a fleet start one after another.
//! The supervisor starts a server again that ended itself.
//!
//! Read from: twitter-archive/snowflake, tag snowflake-2010 (a8cb075), `SnowflakeServer.scala` (`start`,
//! `sanityCheckPeers`, `registerWorkerId`), `SnowflakeConfig.scala` (`workerIdFor`, `startupSleepMs`);
//! twitter-archive/scala-zookeeper-client 72dc4a1 (3.0.6), `ZookeeperClientConfig.scala` (`sessionTimeout`), `ZooKeeperClient.scala`
//! (`sessionEvent`).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use super::twitter::{EPOCH, IdWorker};
use super::{Entry, Registry, Reply, Request, snowflake};
use floe::MonoMillis;
use floe_sim::model::{Ask, Fleet, Life, Machine, Micros, Model, Pace, Parts, Setup, Silence, Verdict};

const SLEEP_MS: u64 = 10_000;
const SESSION_MS: u64 = 3_000;
const PING_MS: u64 = SESSION_MS / 3;
const CLAIM_AGAIN_MS: u64 = 1_000;
const MORE_CLAIMS: u32 = 2;
const MOST_APART_MS: i64 = 10_000;
/// A peer that has been paused for this long does not answer within the client's second.
const SILENT: Micros = 2_000_000;

/// The algorithm.
#[derive(Clone, Default, Debug)]
pub struct TwitterService {
    /// The servers that can be asked for their time, by node.
    peers: BTreeMap<usize, Weak<Cell<Told>>>,
}

/// A server's answer: its clock at a true time, once it serves.
#[derive(Clone, Copy, Debug)]
struct Told {
    wall: i64,
    at: Micros,
    serves: bool,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    worker: u64,
    step: Step,
    claims: u32,
    session: u64,
    told: Rc<Cell<Told>>,
    /// `Some` once it serves.
    generator: Option<IdWorker>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Waits for the answer to this request.
    Connects(u64),
    ChecksPeers(u64),
    Claims(u64),
    /// Waits until this time.
    ClaimsAt(MonoMillis),
    ServesAt(MonoMillis),
    Serves,
}

/// `workerIdFor`: the map holds each host that a server may run on, and a node's own host has its configured number.
fn worker_of(setup: &Setup, life: Life) -> u64 {
    match life.host == life.node {
        true => setup.worker,
        false => u64::try_from(life.host).unwrap_or(0),
    }
}

impl Server {
    fn tell(&self, machine: &Machine<'_, TwitterService>) {
        let serves = self.step == Step::Serves;
        self.told.set(Told { wall: machine.wall(), at: machine.at, serves });
    }

    fn claim(&mut self, machine: &mut Machine<'_, TwitterService>) {
        let number = u64::try_from(machine.life.node).unwrap_or(0);
        let entry = Entry { number, stamp: None };
        let hold = Request::Hold(self.session, format!("servers/{}", self.worker), entry);
        self.step = Step::Claims(machine.send(hold));
    }
}

impl TwitterService {
    /// `sanityCheckPeers`, of the other registered servers.
    fn check(&self, registered: &[(String, Entry)], machine: &Machine<'_, Self>) -> Result<(), String> {
        let mut times = Vec::new();
        for (key, entry) in registered {
            let node = usize::try_from(entry.number).unwrap_or(usize::MAX);
            if node == machine.life.node {
                continue;
            }
            let told = self.peers.get(&node).and_then(Weak::upgrade).map(|told| told.get());
            let answers = |told: &Told| told.serves && machine.at.saturating_sub(told.at) < SILENT;
            let told = told.filter(answers).ok_or_else(|| format!("Couldn't talk to peer {key}"))?;
            let since = machine.at.saturating_sub(told.at) / 1000;
            times.push(told.wall + i64::try_from(since).unwrap_or(0));
        }
        let Ok(count @ 1..) = i64::try_from(times.len()) else { return Ok(()) };
        let mean = times.iter().sum::<i64>() / count;
        if (machine.wall() - mean).abs() > MOST_APART_MS {
            return Err("timestamp sanity check failed".into());
        }
        Ok(())
    }
}

impl Model for TwitterService {
    const PACE: Pace = Pace::JVM;

    keeps_a_registry!(());

    type Process = Server;

    fn store(&mut self, _fleet: &Fleet) -> Registry {
        Registry::default()
    }

    fn start(
        &mut self,
        setup: &Setup,
        store: Option<&mut Registry>,
        machine: &mut Machine<'_, Self>,
    ) -> Server {
        if store.is_none() {
            machine.die("ZooKeeper does not answer");
        }
        let told = Rc::new(Cell::new(Told { wall: machine.wall(), at: machine.at, serves: false }));
        self.peers.insert(machine.life.node, Rc::downgrade(&told));
        let step = Step::Connects(machine.send(Request::Open(SESSION_MS)));
        let worker = worker_of(setup, machine.life);
        Server { worker, step, claims: 0, session: 0, told, generator: None }
    }

    fn wake(&mut self, process: &mut Server, machine: &mut Machine<'_, Self>) {
        let now = machine.now.mono;
        machine.wake_in(PING_MS);
        machine.send(Request::Ping(process.session));
        match process.step {
            Step::ClaimsAt(at) if at <= now => process.claim(machine),
            Step::ServesAt(at) if at <= now => {
                process.step = Step::Serves;
                process.generator = Some(IdWorker::new(process.worker, machine));
            }
            _ => {}
        }
        process.tell(machine);
    }

    fn answer(
        &mut self,
        process: &mut Server,
        number: u64,
        answer: Result<Reply, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        let now = machine.now.mono;
        match (process.step, answer) {
            (Step::Connects(asked), Ok(Reply::Session(session))) if asked == number => {
                process.session = session;
                machine.wake_in(PING_MS);
                process.step = Step::ChecksPeers(machine.send(Request::List("servers/".into())));
            }
            (Step::ChecksPeers(asked), Ok(Reply::Entries(all))) if asked == number => {
                match self.check(&all, machine) {
                    Ok(()) => process.claim(machine),
                    Err(why) => machine.die(why),
                }
            }
            (Step::Claims(asked), Ok(Reply::Done(true))) if asked == number => {
                let worker = process.worker;
                machine.says(|| format!("claims worker id {worker}, and sleeps for 10 s"));
                process.step = Step::ServesAt(now.plus(SLEEP_MS));
            }
            (Step::Claims(asked), Ok(_)) if asked == number && process.claims < MORE_CLAIMS => {
                process.claims += 1;
                process.step = Step::ClaimsAt(now.plus(CLAIM_AGAIN_MS));
            }
            (Step::Claims(asked), Ok(_)) if asked == number => machine.die("NodeExistsException"),
            (Step::Connects(asked) | Step::ChecksPeers(asked) | Step::Claims(asked), _)
                if asked == number =>
            {
                machine.die("KeeperException");
            }
            _ => {}
        }
    }

    fn mint(&mut self, process: &mut Server, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        process.tell(machine);
        match &mut process.generator {
            Some(generator) => generator.next(machine),
            None => Verdict::Refused("connection refused: it is starting".into()),
        }
    }

    fn read(&self, _name: usize, id: u128) -> Option<Parts> {
        Some(snowflake(id, EPOCH, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::ManualHost;

    /// Runs it until it serves or ends itself.
    fn started(host: &mut ManualHost<TwitterService>) -> Server {
        let mut server = host.start();
        host.serve(&mut server, true);
        while server.step != Step::Serves && host.died().is_none() {
            host.run(&mut server, true);
        }
        server
    }

    fn serving(host: &mut ManualHost<TwitterService>) -> Server {
        let server = started(host);
        assert_eq!(host.died(), None);
        server
    }

    /// Snowflake a8cb075, SnowflakeServer.start: Thread.sleep(startupSleepMs), which SnowflakeConfig has at 10,000.
    #[test]
    fn it_sleeps_for_ten_seconds_before_it_serves() {
        let mut host = ManualHost::new(TwitterService::default());
        let before = host.now.wall;
        let mut server = host.start();
        host.serve(&mut server, true);
        assert!(matches!(host.mint(&mut server), Verdict::Refused(_)));
        while server.step != Step::Serves {
            host.run(&mut server, true);
        }
        assert_eq!(host.now.wall.since(before), 10_000);
        assert!(matches!(host.mint(&mut server), Verdict::Minted(_)));
        host.start_alone();
        assert!(host.died().is_some());
    }

    /// Snowflake a8cb075, SnowflakeConfig.workerIdFor and SnowflakeServer.registerWorkerId.
    #[test]
    fn its_worker_id_is_its_hosts_and_one_that_is_claimed_already_ends_the_start() {
        let mut host = ManualHost::new(TwitterService::default());
        let mut first = serving(&mut host);
        assert_eq!(host.id(&mut first) >> 12 & 1023, 0);
        host.pass(1_500);
        let again = started(&mut host);
        assert_eq!((host.died(), again.claims), (None, 2), "its own last session ended meanwhile");
        drop(first);

        let mut other = ManualHost::new(TwitterService::default());
        let mut holder = serving(&mut other);
        let taken = (Entry { number: 0, stamp: None }, Request::Open(60_000));
        let Reply::Session(session) = other.store.execute(&taken.1, 0) else { unreachable!() };
        other.store.remove("servers/0");
        other.store.execute(&Request::Hold(session, "servers/0".into(), taken.0), 0);
        started(&mut other);
        assert_eq!(other.died(), Some("NodeExistsException"));
        assert!(matches!(other.mint(&mut holder), Verdict::Minted(_)), "who serves is told nothing");
        other.life.host = 5;
        let mut elsewhere = serving(&mut other);
        assert_eq!(other.id(&mut elsewhere) >> 12 & 1023, 5);
    }

    /// Snowflake a8cb075, SnowflakeServer.sanityCheckPeers: 10 s from the mean, and every peer has to answer.
    #[test]
    fn a_start_compares_its_clock_with_its_peers() {
        let mut host = ManualHost::new(TwitterService::default());
        let mut first = serving(&mut host);
        let clock = host.now;
        for (step, fits) in [(10_000, true), (10_001, false), (-10_001, false)] {
            host.become_node(0);
            host.mint(&mut first);
            host.become_node(1);
            host.step(step);
            let mut second = host.start();
            host.serve(&mut second, true);
            assert_eq!(host.died().is_none(), fits, "{step}: {:?}", host.died());
            host.store.remove("servers/1");
            host.step(-step);
        }
        assert_eq!(host.now, clock);
        host.start();
        drop(first);
        let mut second = host.start();
        host.serve(&mut second, true);
        assert_eq!(host.died(), Some("Couldn't talk to peer servers/0"), "it is registered, and is no more");
    }
}
