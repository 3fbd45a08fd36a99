//! The faults of a fleet: a seed chooses their mix, their times and their sizes.

use std::fmt;
use std::str::FromStr;

use crate::model::{Fleet, Micros, Setup};
use crate::random::Random;

/// A second of true time.
pub const SECOND: Micros = 1_000_000;
const MILLI: Micros = 1_000;

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Clocks that are off, drift, are slewed, stand still for a while, or jump ahead.
    Skew,
    /// A wall clock is set back: by milliseconds, seconds, or hours.
    Rollback,
    /// A wall clock that says 2099, or a time before 1970.
    Wild,
    /// Processes crash and come back: soon or late, on the same host or another, once or repeatedly.
    Crash,
    /// Processes stand still (SIGSTOP, a long garbage collection) for longer than any window, machines sleep and wake.
    Pause,
    /// Partitions, delays, reordering, lost and doubled requests, lost and late replies.
    Network,
    /// The store restarts.
    Outage,
    /// All nodes start at once. If a registry hands out worker ids, it has fewer than there are nodes.
    Crowd,
    /// Two nodes were given the same worker id.
    Twins,
    /// One node's definitions differ from the others'.
    Odd,
    /// A machine is restored from its own snapshot, and its clock is set right at once.
    Snapshot,
    /// The store fails over to a replica that lacks its last writes.
    Failover,
    /// The store is restored from a backup.
    Restore,
    /// One of the store's records is deleted.
    Deleted,
    /// A running machine is cloned with its clock, and both continue.
    Clone,
    /// Now and then a process is killed and started again, rarely enough for timers that wait an hour. A seed that
    /// chooses its classes never picks it, because [`Crash`](Self::Crash) does the same more often.
    Restart,
}

impl Class {
    /// Every class, in the order in which their words and meanings are written down.
    pub const ALL: &'static [Self] = &{
        let mut all = [Self::Skew; ROWS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = ROWS[at].0;
            at += 1;
        }
        all
    };
    /// The classes that floe's contract covers: the ledger keeps every write that it confirmed, and no memory is copied
    /// unnoticed.
    pub const CONTRACT: &'static [Self] = Self::ALL.split_at(12).0;

    /// The word for it on a command line.
    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// One line about it.
    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        ROWS.iter().find(|(class, ..)| *class == self).expect("each class has its row")
    }
}

/// The words for the classes, and what each means.
const ROWS: [(Class, &str, &str); 16] = [
    (Class::Skew, "skew", "clocks are wrong, drift, are slewed, stand still or jump ahead"),
    (Class::Rollback, "rollback", "a wall clock is set back by milliseconds, seconds or hours"),
    (Class::Wild, "wild", "a wall clock says 2099, or a time before 1970"),
    (
        Class::Crash,
        "crash",
        "processes crash once or repeatedly, and start again on the same machine or another: JVMs after 1 s at the \
         earliest, Go, C and PHP after 50 ms, floe at once",
    ),
    (Class::Pause, "pause", "processes stand still for longer than any window; machines sleep and wake"),
    (Class::Network, "network", "partitions, delays, lost and doubled requests, lost and late replies"),
    (Class::Outage, "outage", "the store restarts"),
    (
        Class::Crowd,
        "crowd",
        "all nodes start at one moment; a registry that hands out worker ids has fewer ids than nodes",
    ),
    (Class::Twins, "twins", "two nodes were given the same worker id"),
    (Class::Odd, "odd", "one node's definitions differ from the others'"),
    (Class::Restart, "restart", "a process is killed and started again, 2 to 12 times an hour in the fleet"),
    (Class::Snapshot, "snapshot", "a machine is restored from a snapshot of itself"),
    (Class::Failover, "failover", "the store fails over and loses its last writes"),
    (Class::Restore, "restore", "the store is restored from a backup"),
    (Class::Deleted, "deleted", "one of the store's records is deleted"),
    (Class::Clone, "clone", "a running machine is cloned, clock and all"),
];

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|class| class.word() == word);
        found.copied().ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|class| class.word()).collect();
            format!("there is no fault {word:?}: they are {}", words.join(", "))
        })
    }
}

/// When a crash happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// At once.
    Now,
    /// After the store has executed the process's next request, and before the reply.
    AfterWrite,
    /// After the process's next mint, and before its answer.
    AfterMint,
}

/// The kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each variant says what its fields are")]
pub enum What {
    /// `host`'s wall clock is moved by this many milliseconds.
    Step { host: usize, by_ms: i64 },
    /// It gains or loses this many millionths for a while.
    Slew { host: usize, ppm: i64, lasts: Micros },
    /// It stands still for a while, and is then set right.
    Freeze { host: usize, lasts: Micros },
    /// It shows this time (milliseconds since 1970) for a while, and is then set right.
    Wild { host: usize, says_ms: i64, lasts: Micros },
    /// A process dies, and starts again.
    Crash { node: usize, moment: Moment, back_in: Micros, elsewhere: bool, times: u32 },
    /// A process is told to stop, and starts again.
    Stop { node: usize, back_in: Micros, elsewhere: bool },
    /// A process stands still.
    Pause { node: usize, lasts: Micros },
    /// A machine sleeps.
    Sleep { node: usize, lasts: Micros },
    /// A process cannot reach the store.
    Cut { node: usize, lasts: Micros },
    /// A process's messages to and from the store take up to this long.
    Slow { node: usize, lasts: Micros, up_to: Micros },
    /// Requests and replies are lost, late, or doubled.
    Lossy { node: usize, lasts: Micros },
    /// The store is down for a while.
    Outage { lasts: Micros },
    /// The store is copied, and later put back to the copy.
    Forget { lasts: Micros, backup: bool },
    /// A record is deleted.
    DeleteRecord,
    /// A machine's memory is copied, and later put back. Its wall clock is set right at once.
    Snapshot { node: usize, lasts: Micros },
    /// A process is told, in the middle of a burst, that its memory may have been copied.
    Invalidate { node: usize },
    /// A machine is cloned with its memory and clocks, and both continue.
    Clone { node: usize },
}

/// A fault and its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// True time.
    pub at: Micros,
    /// The fault.
    pub what: What,
}

/// One fleet and all its faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// The seed that it was drawn from. It also decides everything that is not written here.
    pub seed: u64,
    /// The right clock's time at true time 0, in milliseconds since 1970.
    pub begin_ms: i64,
    /// The settings that all nodes share.
    pub fleet: Fleet,
    /// Each node's configuration.
    pub setups: Vec<Setup>,
    /// When each node starts.
    pub starts: Vec<Option<Micros>>,
    /// Each host's clock: how many milliseconds it is off, and how many millionths it gains. The nodes' own hosts come
    /// first, in order, then each node's other host. No two nodes ever share a host.
    pub clocks: Vec<(i64, i64)>,
    /// The faults, in order of time.
    pub faults: Vec<Fault>,
    /// From here on no faults happen, and all earlier ones end.
    pub heal: Micros,
    /// The end of the history.
    pub until: Micros,
}

/// 2026-03-01T12:00:00Z.
const NOON: i64 = 1_772_366_400_000;

impl Scenario {
    /// The scenario of a seed: `nodes` nodes over `seconds`. The seed picks from `classes`, or takes all of them if
    /// `every` is set.
    pub fn new(seed: u64, nodes: usize, seconds: u64, classes: &[Class], every: bool) -> Self {
        let mut random = Random::new(seed).fork(1);
        // Half of them on average. A seed with few classes shows how those act on each other.
        let density = random.between(150, 900);
        let mut pick = |class: &Class| match class {
            Class::Restart => every,
            _ => random.chance(density) || every,
        };
        let picked: Vec<Class> = classes.iter().copied().filter(&mut pick).collect();
        let has = |class| picked.contains(&class);
        let until = seconds * SECOND;
        let heal = until / 5 * 4;
        // Each node has its own host, and another one for a start elsewhere.
        let hosts = 2 * nodes;
        let mut clocks: Vec<_> =
            (0..hosts).map(|_| (signed(&mut random, 20), signed(&mut random, 40))).collect();
        if has(Class::Skew) {
            let skewed = clocks.iter_mut().take(nodes);
            skewed.for_each(|clock| *clock = (signed(&mut random, 4_000), signed(&mut random, 400)));
        }
        let crowd = has(Class::Crowd);
        // In some histories a new day begins.
        let begin_ms = if random.chance(300) { NOON + 43_200_000 - 20_000 } else { NOON };
        let starts = (0..nodes).map(|_| Some(if crowd { 0 } else { random.below(2 * SECOND) })).collect();
        let window_ms = *random.choose(&[200, 500, 1_000, 3_000, 10_000]);
        let twins = has(Class::Twins);
        let fixed = twins || random.chance(250);
        let odd = has(Class::Odd).then(|| random.below(as_u64(nodes)));
        let setups = (0..nodes)
            .map(|node| Setup {
                // The second node was set up by copying the first one's configuration.
                worker: if twins && node == 1 { 0 } else { as_u64(node) },
                fixed: fixed && (!crowd || twins && node < 2),
                window_ms,
                odd: odd == Some(as_u64(node)),
            })
            .collect();
        let worker_bits = if crowd { 2 } else { 10 };
        let renew_idle = random.chance(500);
        // A separate stream, so that it does not change the faults.
        let mut apart = Random::new(seed).fork(5);
        let store_clock = apart.chance(500).then(|| signed(&mut apart, 1_000));
        let fleet = Fleet { nodes, worker_bits, renew_idle, store_clock, few: false };
        let mut scenario =
            Self { seed, begin_ms, fleet, setups, starts, clocks, faults: Vec::new(), heal, until };
        let rolls_back = has(Class::Rollback);
        for class in picked {
            let mut random = random.fork(as_u64(class as usize) + 10);
            // As frequent in a long history as in one of a minute.
            let per = if class == Class::Restart { 1_800 } else { 60 };
            for _ in 0..random.spread(1, 6) * (seconds / per).max(1) {
                let at = random.between(SECOND, heal - SECOND);
                let most = heal - at;
                let what = scenario.draw(class, &mut random, most);
                if let (Some(What::Crash { node, back_in, .. }), true) = (&what, rolls_back) {
                    // The machine comes up with a clock that lost more than the time it was down.
                    let by_ms = -by(back_in / MILLI + random.spread(1, 3_000));
                    let what = What::Step { host: *node, by_ms };
                    scenario.faults.push(Fault { at: at + back_in / 2, what });
                }
                scenario.faults.extend(what.map(|what| Fault { at, what }));
            }
        }
        scenario.faults.sort_by_key(|fault| fault.at);
        scenario
    }

    fn draw(&self, class: Class, random: &mut Random, most: Micros) -> Option<What> {
        let nodes = self.fleet.nodes;
        let node = usize::try_from(random.below(as_u64(nodes))).unwrap_or(0);
        let host = node;
        // Up to a third of the history: longer than any window and, in a long history, than other algorithms' timers.
        let lasts = (random.spread(20, self.until / 3 / MILLI) * MILLI).min(most);
        Some(match class {
            Class::Skew => match random.below(4) {
                0 => What::Slew { host, ppm: signed(random, 50_000), lasts },
                1 => What::Freeze { host, lasts },
                _ => What::Step { host, by_ms: by(random.spread(2, 30_000)) },
            },
            Class::Rollback => {
                let largest = *random.choose(&[20, 2_000, 20_000, 3_000_000, 8_000_000]);
                What::Step { host, by_ms: -by(random.spread(1, largest)) }
            }
            Class::Wild => {
                let says_ms = *random.choose(&[4_070_908_800_000, -3_600_000, 0, 946_684_800_000]);
                What::Wild { host, says_ms, lasts }
            }
            Class::Crash if random.chance(200) => {
                What::Stop { node, back_in: lasts.min(3 * SECOND), elsewhere: random.chance(300) }
            }
            Class::Crash => What::Crash {
                node,
                moment: *random.choose(&[Moment::Now, Moment::Now, Moment::AfterWrite, Moment::AfterMint]),
                back_in: lasts.min(random.spread(1, 5_000) * MILLI),
                elsewhere: random.chance(300),
                times: if random.chance(200) { 8 } else { 1 },
            },
            Class::Restart => What::Crash {
                node,
                moment: Moment::Now,
                back_in: random.spread(1, 5_000) * MILLI,
                elsewhere: random.chance(300),
                times: 1,
            },
            Class::Pause if random.chance(300) => What::Sleep { node, lasts },
            Class::Pause => What::Pause { node, lasts },
            Class::Network => match random.below(3) {
                0 => What::Cut { node, lasts },
                1 => What::Slow { node, lasts, up_to: random.spread(5, 3_000) * MILLI },
                _ => What::Lossy { node, lasts },
            },
            Class::Outage => What::Outage { lasts },
            Class::Snapshot if random.chance(400) => What::Invalidate { node },
            Class::Snapshot => What::Snapshot { node, lasts: lasts.max(1_200 * MILLI).min(most) },
            Class::Failover => What::Forget { lasts: lasts.min(2 * SECOND), backup: false },
            Class::Restore => What::Forget { lasts: lasts.max(SECOND).min(most), backup: true },
            Class::Deleted => What::DeleteRecord,
            Class::Clone => What::Clone { node },
            Class::Crowd | Class::Twins | Class::Odd => return None,
        })
    }

    /// Whether floe's contract covers all of these faults.
    pub fn is_in_contract(&self) -> bool {
        let outside = |fault: &Fault| {
            matches!(fault.what, What::Forget { .. } | What::DeleteRecord | What::Clone { .. })
        };
        !self.faults.iter().any(outside)
    }
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn by(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// From `-most` to `most`.
fn signed(random: &mut Random, most: u64) -> i64 {
    by(random.below(2 * most + 1)) - by(most)
}
