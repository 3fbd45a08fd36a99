//! Several nodes mint on one ledger, over HTTP, Redis' and memcached's protocols and Thrift, while a seed chooses
//! faults. Nodes are killed, frozen, and shown other clocks. The ledger is killed and frozen, its replies are lost, and its network is
//! cut. No ID may occur twice, no counter may go back, and at the end every node must mint every name again.
//!
//! The seed chooses the faults, their order and their length. The processes and the network are real, so the same seed
//! does the same things at slightly different moments.

use std::fmt;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use floe_testbed::{Home, Proxy, Rig, Server, Signal, faketime};

use crate::Result;
use crate::clients::{Clients, NAMES, Record, WIRES};
use crate::measure::{now, pass};

const NODES: u64 = 3;

/// Short, so that faults last longer than windows.
const WINDOW: &str = "2s";

/// How long a client waits after each answer: the machine has to run the nodes, the ledger and the clients.
const PAUSE: Duration = Duration::from_millis(2);

/// How soon after the last fault every node must answer all of its clients.
const AGAIN: Duration = Duration::from_secs(60);

/// The parameters of a run.
#[derive(Default)]
pub(crate) struct Chaos {
    /// The ledger's name: `all`, one of those in [`Rig::ALL`], `sqlite`, or `memory`, which nodes do not share and which
    /// is lost at a restart.
    pub(crate) ledger: Option<String>,
    /// `None` for a fresh seed.
    pub(crate) seed: Option<u64>,
}

/// A ledger's name, and how to start its server if it has one.
type Kept = (&'static str, Option<fn() -> Rig>);

impl Chaos {
    /// Runs for this many seconds on each wanted ledger, up to the first with a finding, and prints the faults and the
    /// findings. Returns whether no ID occurred twice, no counter went back, and every client was served at the end.
    ///
    /// # Errors
    /// An unknown ledger, or a file that cannot be written.
    pub(crate) fn run(&self, binary: &Path, seconds: u32) -> Result<bool> {
        let wanted = self.ledger.as_deref().unwrap_or("sqlite");
        let shared = Rig::ALL.map(|(name, start)| (name, Some(start)));
        let mut ledgers: Vec<Kept> = [("sqlite", None)].into_iter().chain(shared).collect();
        if wanted != "all" {
            ledgers.push(("memory", None));
            let known: Vec<_> = ledgers.iter().map(|(name, _)| *name).collect();
            ledgers.retain(|(name, _)| *name == wanted);
            if ledgers.is_empty() {
                return Err(format!(
                    "there is no ledger {wanted}: choose one of {}, or all",
                    known.join(", ")
                )
                .into());
            }
        }
        for ledger in ledgers {
            if !self.run_on(ledger, binary, seconds)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run_on(&self, (name, rig): Kept, binary: &Path, seconds: u32) -> Result<bool> {
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()) >> 32);
        println!("seed {seed} on {name}: {NODES} nodes for {seconds} s");
        let stage = Stage::set(binary, name, rig)?;
        let mut clients = Vec::new();
        for node in &stage.nodes {
            clients.push(Clients::start(node.server.port(), 1, Some(PAUSE))?);
        }
        let end = now() + Duration::from_secs(seconds.into());
        thread::scope(|scope| {
            scope.spawn(|| stage.trouble_the_nodes(Dice::of(seed, 1), end));
            scope.spawn(|| stage.trouble_the_ledger(Dice::of(seed, 2), end));
        });
        let served = stage.recovers(&clients);
        let mut record = Record::default();
        for clients in clients {
            clients.stop(&mut record)?;
        }
        println!("{stage}");
        let found = record.check();
        println!(
            "seed {seed} on {name}: {} IDs, {} duplicates, {} went back",
            found.ids, found.twice, found.back
        );
        Ok(served && found.ids > 0 && found.twice == 0 && found.back == 0)
    }
}

/// The nodes, the ledger, and their faults so far.
struct Stage {
    nodes: Vec<Node>,
    ledger: Option<(Rig, Proxy)>,
    done: Done,
    has_clocks: bool,
    /// The directory of the binary, the configuration and a data directory.
    _home: Home,
}

#[derive(Default)]
struct Done {
    kills: AtomicU64,
    freezes: AtomicU64,
    steps: AtomicU64,
    ends: AtomicU64,
    ledger_kills: AtomicU64,
    ledger_freezes: AtomicU64,
    cuts: AtomicU64,
}

impl Stage {
    fn set(binary: &Path, name: &str, rig: Option<fn() -> Rig>) -> Result<Self> {
        let home = Home::new("chaos");
        // The nodes run as an ordinary user, who may not be able to read the build directory.
        let floe = home.path().join("floe");
        fs::copy(binary, &floe).map_err(|error| format!("{}: {error}", binary.display()))?;
        let ledger = rig.map(|start| {
            let rig = start();
            let proxy = Proxy::before(rig.server.port());
            (rig, proxy)
        });
        let line = match &ledger {
            Some((rig, proxy)) => format!("ledger = '{}'\n", (rig.url)(proxy.port())),
            None if name == "memory" => "ledger = 'memory:'\n".to_owned(),
            None => String::new(),
        };
        let config = home.write("floe.toml", &format!("realm = 'chaos'\nwindow = '{WINDOW}'\n{line}{NAMES}"));
        let data = line.is_empty().then(|| home.path().join("data"));
        let library = faketime();
        let nodes = (0..NODES).map(|_| Node::start(&floe, &config, data.as_deref(), library.as_deref()));
        let nodes = nodes.collect::<Result<_>>()?;
        Ok(Self { nodes, ledger, done: Done::default(), has_clocks: library.is_some(), _home: home })
    }

    fn trouble_the_nodes(&self, mut dice: Dice, end: Instant) {
        while now() < end {
            pass(dice.millis(200..1_500));
            self.start_what_ended();
            let number = dice.below(NODES);
            let Some(node) = self.nodes.iter().zip(0..).find_map(|(node, n)| (n == number).then_some(node))
            else {
                continue;
            };
            match dice.below(10) {
                0..=4 => {
                    node.server.kill();
                    add(&self.done.kills);
                    if dice.below(2) == 0 {
                        self.step(node, dice.clock());
                    }
                    pass(dice.millis(0..500));
                    node.server.run();
                }
                5..=6 => {
                    node.server.freeze();
                    add(&self.done.freezes);
                    pass(dice.millis(100..4_000));
                    node.server.thaw();
                }
                _ => self.step(node, dice.clock()),
            }
        }
    }

    fn trouble_the_ledger(&self, mut dice: Dice, end: Instant) {
        let Some((rig, proxy)) = &self.ledger else { return };
        while now() < end {
            pass(dice.millis(300..2_000));
            let lasts = dice.millis(100..3_000);
            match dice.below(8) {
                0..=1 => {
                    rig.server.kill();
                    add(&self.done.ledger_kills);
                    pass(lasts);
                    rig.server.run();
                }
                2 => {
                    rig.server.freeze();
                    add(&self.done.ledger_freezes);
                    pass(lasts);
                    rig.server.thaw();
                }
                3..=4 => {
                    proxy.lose_replies(true);
                    pass(lasts);
                    proxy.lose_replies(false);
                }
                5..=6 => {
                    proxy.sever(true);
                    pass(lasts);
                    proxy.sever(false);
                }
                _ => {
                    proxy.cut(true);
                    add(&self.done.cuts);
                    pass(lasts);
                    proxy.cut(false);
                }
            }
        }
    }

    fn step(&self, node: &Node, millis: i64) {
        if self.has_clocks {
            node.show(millis);
            add(&self.done.steps);
        }
    }

    /// A node refuses to start if its clock is far from the ledger's. An operator corrects the clock and starts it again.
    fn start_what_ended(&self) {
        for node in &self.nodes {
            if node.server.home().processes().is_empty() {
                node.server.stop();
                add(&self.done.ends);
                self.step(node, 0);
                node.server.run();
            }
        }
    }

    /// Whether all clients of every node are served again, by a new process with the true clock.
    fn recovers(&self, clients: &[Clients]) -> bool {
        for node in &self.nodes {
            node.server.kill();
            self.step(node, 0);
        }
        let before: Vec<_> = clients.iter().map(Clients::answered).collect();
        self.nodes.iter().for_each(|node| node.server.run());
        let end = now() + AGAIN;
        loop {
            let mut waiting = Vec::new();
            for ((node, clients), before) in self.nodes.iter().zip(clients).zip(&before) {
                for ((url, _), (before, after)) in WIRES.iter().zip(before.iter().zip(clients.answered())) {
                    if after == *before {
                        waiting.push((node, url));
                    }
                }
            }
            let Some((node, _)) = waiting.first() else { return true };
            if now() > end {
                for (node, url) in &waiting {
                    println!("{url} of the node at port {} was not served again", node.server.port());
                }
                let log = node.server.home().log();
                let last: Vec<_> = log.lines().rev().take(20).collect();
                last.iter().rev().for_each(|line| println!("  {line}"));
                return false;
            }
            pass(Duration::from_millis(50));
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { kills, freezes, steps, ends, ledger_kills, ledger_freezes, cuts } = &self.done;
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        write!(f, "nodes:  {} killed, {} frozen, ", count(kills), count(freezes))?;
        if self.has_clocks {
            write!(f, "{} clock steps, ", count(steps))?;
        } else {
            write!(f, "no clock steps (libfaketime is not installed), ")?;
        }
        writeln!(f, "{} ended by themselves and were started again", count(ends))?;
        match &self.ledger {
            Some((_, proxy)) => write!(
                f,
                "ledger: {} killed and restarted, {} frozen, {} network cuts, {} replies lost",
                count(ledger_kills),
                count(ledger_freezes),
                count(cuts),
                proxy.lost_replies()
            ),
            None => write!(f, "ledger: it has no server, so none was killed and no reply was lost"),
        }
    }
}

/// A `floe serve`, with its own clock if libfaketime is installed.
struct Node {
    server: Server,
}

impl Node {
    fn start(floe: &Path, config: &Path, data: Option<&Path>, library: Option<&Path>) -> Result<Self> {
        let home = Home::new("node");
        home.write(CLOCK, "+0");
        let [floe, config] = [floe, config].map(PathBuf::from);
        let [data, library] = [data, library].map(|path| path.map(PathBuf::from));
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&floe);
            command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--mysql", "off", "--config"]);
            command.arg(&config);
            if let Some(data) = &data {
                command.arg("--data-dir").arg(data);
            }
            if let Some(library) = &library {
                command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", home.path().join(CLOCK));
                // libfaketime reads the file again when its last reading is a second old.
                command.env("FAKETIME_CACHE_DURATION", "1");
                // The monotonic clock continues through a step of the wall clock.
                command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
            }
            command
        };
        // Do not wait for it: with a wrong clock, or without its ledger, it may never be ready.
        Ok(Self { server: Server::new(home, Signal::TERM, start, |_| true) })
    }

    /// Shows it a wall clock that is this many milliseconds ahead.
    fn show(&self, millis: i64) {
        let (sign, ahead) = (if millis < 0 { '-' } else { '+' }, millis.unsigned_abs());
        let file =
            self.server.home().write("clock.next", &format!("{sign}{}.{:03}", ahead / 1_000, ahead % 1_000));
        // Atomically: nobody reads half a file.
        if let Err(error) = fs::rename(&file, file.with_file_name(CLOCK)) {
            eprintln!("{}: {error}", file.display());
        }
    }
}

/// The file with the error of a node's clock.
const CLOCK: &str = "clock";

/// The choices of a seed, one after the other (SplitMix64).
struct Dice(u64);

impl Dice {
    /// Each storyline of a seed has its own choices.
    fn of(seed: u64, storyline: u64) -> Self {
        let mut dice = Self(seed ^ (storyline << 56));
        dice.roll();
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.below(range.end - range.start))
    }

    /// The error of a clock in milliseconds: none, seconds, within `max_hold`, or beyond it.
    fn clock(&mut self) -> i64 {
        let most = [1, 5_000, 3_600_000, 3 * 3_600_000];
        let range = most.into_iter().nth(usize::try_from(self.below(4)).unwrap_or_default()).unwrap_or(1);
        let off = i64::try_from(self.below(range)).unwrap_or_default();
        if self.below(2) == 0 { off } else { -off }
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
