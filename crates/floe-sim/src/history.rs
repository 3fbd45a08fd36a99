//! The result of a run: every ID that was handed out, and every violation.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use floe::UnixMillis;

use crate::model::{Life, Micros, NameInfo, Note, Order, Parts};

/// An ID that a caller was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mint {
    /// When, in true time.
    pub at: Micros,
    /// The life that minted it.
    pub life: Life,
    /// The name it was minted under.
    pub name: usize,
    /// The ID.
    pub id: u128,
}

/// A violation: something that must never happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// When it was noticed, in true time.
    pub at: Micros,
    /// Its kind.
    pub wrong: Wrong,
    /// The node on which it was noticed.
    pub node: Option<usize>,
    /// A text for people.
    pub words: String,
    /// The places in [`History::mints`] of the two mints that collide or are out of order. For a disorder only if
    /// events are kept.
    pub mints: Option<(usize, usize)>,
}

/// The kinds of violations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// One ID was handed out twice.
    Twice,
    /// A call that began after another had returned got a smaller ID.
    Disorder,
    /// A caller waited longer than it was promised.
    Starved,
    /// A rule of the algorithm was broken: for floe, an invariant.
    Rule,
}

/// Something that happened, for a story or a picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// True time.
    pub at: Micros,
    /// The node; `None` for the store and the world.
    pub node: Option<usize>,
    /// What happened.
    pub what: Happened,
}

/// The kinds of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// A life began, on a host whose clock is off by so many milliseconds.
    Started {
        /// The life.
        life: Life,
        /// How far its wall clock is off.
        error_ms: i64,
    },
    /// The process died, and why.
    Died(String),
    /// The process is told to stop (SIGTERM).
    Stopping,
    /// A wall clock was set.
    ClockSet {
        /// By so many milliseconds.
        by_ms: i64,
        /// How far it is off now.
        error_ms: i64,
    },
    /// The process stands still, or continues.
    Paused(bool),
    /// The connection to the store is cut, or restored.
    Cut(bool),
    /// The store is down, or up again.
    Down(bool),
    /// Memory and disk are copied, for a later restore.
    Snapshot,
    /// The machine continues from the snapshot.
    Restored,
    /// A copy of that node, with its memory, runs beside it.
    CloneOf(usize),
    /// No faults happen from here on, and all earlier ones are over.
    Healed,
    /// Any other fault, or its end.
    Fault(String),
    /// A note of the process.
    Note(Note),
    /// IDs were handed out.
    Minted {
        /// Their start in [`History::mints`].
        first: usize,
        /// How many.
        count: usize,
        /// How far the wall clock is off.
        error_ms: i64,
    },
    /// A caller got an error.
    Refused(String),
}

/// Why a process died if it was told to stop.
pub const STOPPED: &str = "stopped";

impl fmt::Display for Happened {
    /// Writes it as a clause that follows the name of the node.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { life, error_ms } => {
                write!(f, "starts on host {}", life.host)?;
                if *error_ms != 0 { write!(f, "; its clock is {}", Off(*error_ms)) } else { Ok(()) }
            }
            Self::Died(why) if why == STOPPED => f.write_str("ends"),
            Self::Died(why) => write!(f, "dies: {why}"),
            Self::Stopping => f.write_str("is told to stop (SIGTERM)"),
            Self::ClockSet { by_ms, error_ms } => {
                let way = if *by_ms < 0 { "back" } else { "ahead" };
                let by = Length(by_ms.unsigned_abs());
                write!(f, "its clock is set {way} by {by} and is {} now", Off(*error_ms))
            }
            Self::Paused(true) => f.write_str("stands still"),
            Self::Paused(false) => f.write_str("goes on"),
            Self::Cut(true) => f.write_str("is cut off from the store"),
            Self::Cut(false) => f.write_str("can reach the store again"),
            Self::Down(true) => f.write_str("goes down"),
            Self::Down(false) => f.write_str("is back"),
            Self::Snapshot => f.write_str("a snapshot is taken of its machine"),
            Self::Restored => f.write_str("its machine is restored from the snapshot"),
            Self::CloneOf(node) => write!(f, "begins as a clone of node {node}"),
            Self::Healed => f.write_str("nothing goes wrong from here on"),
            Self::Fault(words) | Self::Note(Note::Says(words)) => f.write_str(words),
            Self::Note(Note::Holds { what, start, end, time: true }) => {
                write!(f, "holds {what} from {}", UnixMillis::from_position(*start))?;
                match *end {
                    u64::MAX => f.write_str(" on"),
                    end => write!(f, " to {}", UnixMillis::from_position(end)),
                }
            }
            Self::Note(Note::Holds { what, start, end, time: false }) => {
                write!(f, "holds {what} {start}..{end}")
            }
            Self::Minted { count: 1, .. } => f.write_str("hands out an ID"),
            Self::Minted { count, .. } => write!(f, "hands out {count} IDs"),
            Self::Refused(why) => write!(f, "refuses a caller: {why}"),
        }
    }
}

/// Milliseconds, written for people.
pub struct Length(pub u64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(millis) = *self;
        match millis {
            0..1_000 => write!(f, "{millis} ms"),
            1_000..120_000 => write!(f, "{}.{:03} s", millis / 1_000, millis % 1_000),
            120_000..7_200_000 => write!(f, "{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
            7_200_000..172_800_000 => {
                write!(f, "{} h {} min", millis / 3_600_000, millis % 3_600_000 / 60_000)
            }
            _ => write!(f, "{} days", millis / 86_400_000),
        }
    }
}

/// How far a clock is off, in milliseconds: "1.200 s behind".
pub struct Off(pub i64);

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("right"),
            off => {
                let way = if off < 0 { "behind" } else { "ahead" };
                write!(f, "{} {way}", Length(off.unsigned_abs()))
            }
        }
    }
}

/// The counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Calls.
    pub asked: u64,
    /// Calls that got an error.
    pub refused: u64,
    /// Calls that got no answer within a second.
    pub unanswered: u64,
    /// IDs.
    pub minted: u64,
    /// IDs that had been handed out before.
    pub twice: u64,
    /// IDs that were smaller than one from a call that had returned before their own call began.
    pub disorder: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, more: &Self) {
        self.asked += more.asked;
        self.refused += more.refused;
        self.unanswered += more.unanswered;
        self.minted += more.minted;
        self.twice += more.twice;
        self.disorder += more.disorder;
    }
}

/// See the module.
#[derive(Default, Debug)]
pub struct History {
    /// The names that IDs were minted under.
    pub names: Vec<NameInfo>,
    /// Every ID that was handed out, in order of time.
    pub mints: Vec<Mint>,
    /// The parts of each of them, if the run keeps them.
    pub parts: Vec<Option<Parts>>,
    /// The events, if the run keeps them.
    pub events: Vec<Event>,
    /// The violations: the first hundred, and the first of each kind.
    pub violations: Vec<Violation>,
    /// The counts of the run.
    pub counts: Counts,
    /// Changes with everything that happens.
    pub digest: u64,
    seen: HashMap<(u8, u128), usize, BuildHasherDefault<Mix>>,
    /// The largest ID of the fleet under each name.
    top: Vec<Option<i128>>,
    /// The only kind of violation that counts, if it is set.
    pub(crate) only: Option<Wrong>,
}

const MOST_VIOLATIONS: usize = 100;

impl History {
    /// Clears everything, but keeps the memory allocated.
    pub(crate) fn clear(&mut self, names: &[NameInfo]) {
        self.mints.clear();
        self.parts.clear();
        self.events.clear();
        self.violations.clear();
        self.seen.clear();
        self.top.clear();
        self.top.resize(names.len(), None);
        self.names.clear();
        self.names.extend_from_slice(names);
        (self.counts, self.digest) = (Counts::default(), 0);
    }

    /// Mixes a number into the digest.
    pub(crate) fn digest(&mut self, number: u64) {
        self.digest = (self.digest.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        if self.only.is_some_and(|only| only != violation.wrong) {
            return;
        }
        let known = |it: &Violation| it.wrong == violation.wrong;
        if self.violations.len() < MOST_VIOLATIONS || !self.violations.iter().any(known) {
            self.violations.push(violation);
        }
    }

    /// The largest ID that any caller was given under this name.
    pub(crate) fn top(&self, name: usize) -> Option<i128> {
        self.top.get(name).copied().flatten()
    }

    /// Records an ID that a caller was given, and returns where the same ID was handed out before.
    pub(crate) fn mint(&mut self, mint: Mint, info: &NameInfo) -> Option<usize> {
        let place = self.mints.len();
        self.mints.push(mint);
        self.counts.minted += 1;
        let (high, low) = halves(mint.id);
        self.digest(low ^ high.rotate_left(32) ^ mint.at.rotate_left(17));
        if info.order == Order::Fleet
            && let Some(top) = self.top.get_mut(mint.name)
        {
            *top = (*top).max(Some(rank(mint.id)));
        }
        match self.seen.entry((info.domain, mint.id)) {
            std::collections::hash_map::Entry::Occupied(first) => {
                self.counts.twice += 1;
                Some(*first.get())
            }
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(place);
                None
            }
        }
    }
}

/// A hash for IDs. Nobody chooses IDs that collide.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn write_u128(&mut self, number: u128) {
        let (high, low) = halves(number);
        self.write_u64(high);
        self.write_u64(low);
    }
}

/// An ID's place in the order that its callers see. Callers read 64 bits with the highest set as a negative number.
pub fn rank(id: u128) -> i128 {
    let number = i128::try_from(id).unwrap_or(i128::MAX);
    if (1 << 63..1 << 64).contains(&number) { number - (1 << 64) } else { number }
}

/// The two words of an ID.
fn halves(id: u128) -> (u64, u64) {
    let word = |half: u128| u64::try_from(half & u128::from(u64::MAX)).unwrap_or(0);
    (word(id >> 64), word(id))
}
