//! What came of a run: every ID that was handed out, and what was wrong with it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::model::{Life, Micros, NameInfo, Note, Order};

/// An ID that a caller was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mint {
    /// When, in true time.
    pub at: Micros,
    /// By whom.
    pub life: Life,
    /// Under which name.
    pub name: usize,
    /// The ID.
    pub id: u128,
}

/// Something that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// When it was seen, in true time.
    pub at: Micros,
    /// What it is.
    pub wrong: Wrong,
    /// On which node it was seen.
    pub node: Option<usize>,
    /// In words.
    pub words: String,
    /// The places of the two mints that collide, in [`History::mints`].
    pub mints: Option<(usize, usize)>,
}

/// What kinds of wrong there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// One ID was handed out twice.
    Twice,
    /// A call that began after another had returned got a smaller ID.
    Disorder,
    /// A caller waited longer than it was promised.
    Starved,
    /// A rule of the algorithm's own was broken: of floe, an invariant.
    Rule,
}

/// Something that happened, for a story or a picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// True time.
    pub at: Micros,
    /// Whose it is; `None` for the store's and the world's.
    pub node: Option<usize>,
    /// What.
    pub what: Happened,
}

/// What happened.
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
    /// A wall clock was set by so many milliseconds.
    ClockSet(i64),
    /// The process stands still, or goes on.
    Paused(bool),
    /// The way to the store is cut, or whole again.
    Cut(bool),
    /// The store is gone, or back.
    Down(bool),
    /// Anything else that goes wrong, or right again.
    Fault(String),
    /// What the process notes.
    Note(Note),
    /// IDs were handed out.
    Minted {
        /// Where in [`History::mints`] they begin.
        first: usize,
        /// How many.
        count: usize,
    },
    /// A caller got an error.
    Refused(String),
}

/// How many there were.
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
    /// IDs that were smaller than one of a call that had returned before theirs began.
    pub disorder: u64,
}

/// See the module.
#[derive(Default, Debug)]
pub struct History {
    /// Every ID that was handed out, in order of time.
    pub mints: Vec<Mint>,
    /// What happened, where somebody wants to know.
    pub events: Vec<Event>,
    /// What must not be: the first hundred, and the first of each kind.
    pub violations: Vec<Violation>,
    /// How many there were.
    pub counts: Counts,
    /// Changes with everything that happens.
    pub digest: u64,
    seen: HashMap<(u8, u128), usize, BuildHasherDefault<Mix>>,
    /// The largest ID of the fleet under each name.
    top: Vec<Option<u128>>,
}

const MOST_VIOLATIONS: usize = 100;

impl History {
    /// Forgets everything, and keeps the room for it.
    pub(crate) fn clear(&mut self, names: usize) {
        self.mints.clear();
        self.events.clear();
        self.violations.clear();
        self.seen.clear();
        self.top.clear();
        self.top.resize(names, None);
        (self.counts, self.digest) = (Counts::default(), 0);
    }

    /// Takes a number into the digest.
    pub(crate) fn digest(&mut self, number: u64) {
        self.digest = (self.digest.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub(crate) fn violate(&mut self, violation: Violation) {
        let known = |it: &Violation| it.wrong == violation.wrong;
        if self.violations.len() < MOST_VIOLATIONS || !self.violations.iter().any(known) {
            self.violations.push(violation);
        }
    }

    /// The largest ID that anyone was given under this name.
    pub(crate) fn top(&self, name: usize) -> Option<u128> {
        self.top.get(name).copied().flatten()
    }

    /// Takes in an ID that a caller was given, and says where the same one was handed out before.
    pub(crate) fn mint(&mut self, mint: Mint, info: &NameInfo) -> Option<usize> {
        let place = self.mints.len();
        self.mints.push(mint);
        self.counts.minted += 1;
        let (high, low) = ((mint.id >> 64) as u64, (mint.id & u128::from(u64::MAX)) as u64);
        self.digest(low ^ high.rotate_left(32) ^ mint.at.rotate_left(17));
        if info.order == Order::Fleet
            && let Some(top) = self.top.get_mut(mint.name)
        {
            *top = (*top).max(Some(mint.id));
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

/// A hash for IDs: nobody chooses them to collide.
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
        self.write_u64((number >> 64) as u64);
        self.write_u64((number & u128::from(u64::MAX)) as u64);
    }
}
