//! One seed, one history; and many seeds on all cores.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::history::{Counts, History, Wrong};
use crate::model::Model;
use crate::scenario::{Class, Scenario};
use crate::subject::Subject;
use crate::world::World;

pub use crate::world::Mode;

/// An algorithm that can be run.
#[derive(Clone, Copy)]
pub struct Entrant {
    /// Its name on the command line.
    pub name: &'static str,
    /// The place where it is published.
    pub source: &'static str,
    /// Its configuration.
    pub setting: &'static str,
    /// Its users' word for the store; empty if it has none.
    pub store: &'static str,
    /// Its rule as its users know it: how a worker id or a number is made, and what a start knows of the time before.
    pub rule: &'static str,
    /// What the rule was read in: the repository, its commit, the files, and their functions.
    pub read: &'static str,
    /// Runs it through a scenario: [`play`] with its model.
    pub play: fn(&Scenario, &mut History, Mode),
}

/// The library itself.
pub const FLOE: Entrant = Entrant {
    name: "floe",
    source: "this repository, crates/floe",
    setting: "its defaults, on a shared ledger",
    store: "the ledger",
    rule: "A node reserves a window of time in the ledger before it mints in it. A window is never handed out twice, so \
           that neither a restart nor a clock can bring back an ID.",
    read: "this repository, crates/floe: docs/guarantees.md",
    play: |s, h, m| play(Subject::new(s), s, h, m),
};

/// One history: a model on the nodes of a fleet, through a scenario.
pub fn play<M: Model>(mut model: M, scenario: &Scenario, history: &mut History, mode: Mode) {
    World::new(&mut model, scenario, history, mode).run(mode.until_wrong);
}

impl Entrant {
    /// Runs it through a scenario.
    pub fn run(&self, scenario: &Scenario, history: &mut History, mode: Mode) {
        (self.play)(scenario, history, mode);
    }

    /// The violation that a story of a scenario should show: a repeated ID, if the algorithm repeats one there.
    pub fn worst(&self, scenario: &Scenario, history: &mut History) -> Option<Wrong> {
        let twice = Some(Wrong::Twice);
        self.run(scenario, history, Mode { noting: false, until_wrong: true, only: twice });
        twice.filter(|_| !history.violations.is_empty())
    }

    /// Whether it is floe. A violation of floe's is always a bug.
    pub fn is_floe(&self) -> bool {
        self.name == FLOE.name
    }
}

/// Which scenarios to draw from which seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of nodes in the fleet.
    pub nodes: usize,
    /// The length of one history in virtual seconds.
    pub seconds: u64,
    /// The classes of faults that a seed may pick from.
    pub classes: Vec<Class>,
    /// Whether a seed picks all of them.
    pub every: bool,
}

impl Plan {
    /// The scenario of one seed.
    pub fn scenario(&self, seed: u64) -> Scenario {
        Scenario::new(seed, self.nodes, self.seconds, &self.classes, self.every)
    }
}

/// The results of many seeds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Histories.
    pub seeds: u64,
    /// The sums over all histories.
    pub counts: Counts,
    /// How many had a violation of any kind.
    pub bad: u64,
    /// How many of them handed out an ID twice.
    pub repeating: u64,
    /// The smallest seeds of those histories.
    pub repeats: Vec<u64>,
    /// For each kind of [`Wrong`], in the order of its variants: the smallest seed that shows it, and the first text.
    pub first: [Option<(u64, String)>; 4],
    /// Changes with everything that happened in any history.
    pub digest: u64,
}

/// How many such seeds are kept. The story shows the one in which an ID repeats soonest.
const MOST_REPEATS: usize = 5;

impl Outcome {
    /// The smallest seed that shows this.
    pub fn first(&self, wrong: Wrong) -> Option<&(u64, String)> {
        self.first[wrong as usize].as_ref()
    }

    /// The smallest seed with any violation.
    pub fn smallest(&self) -> Option<u64> {
        self.first.iter().flatten().map(|(seed, _)| *seed).min()
    }

    fn take(&mut self, seed: u64, history: &History) {
        self.counts.add(&history.counts);
        self.seeds += 1;
        self.bad += u64::from(!history.violations.is_empty());
        self.repeating += u64::from(history.counts.twice > 0);
        if history.violations.iter().any(|it| it.wrong == Wrong::Twice) {
            self.remember(&[seed]);
        }
        // A sum, so that it does not depend on the order in which threads finish.
        self.digest = self.digest.wrapping_add(history.digest ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for violation in &history.violations {
            let first = &mut self.first[violation.wrong as usize];
            if first.as_ref().is_none_or(|(earlier, _)| seed < *earlier) {
                *first = Some((seed, violation.words.clone()));
            }
        }
    }

    fn remember(&mut self, seeds: &[u64]) {
        self.repeats.extend_from_slice(seeds);
        self.repeats.sort_unstable();
        self.repeats.truncate(MOST_REPEATS);
    }

    fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.seeds += other.seeds;
        self.bad += other.bad;
        self.repeating += other.repeating;
        self.remember(&other.repeats);
        self.digest = self.digest.wrapping_add(other.digest);
        for (mine, theirs) in self.first.iter_mut().zip(other.first) {
            let earlier = |(seed, _): &(u64, String)| mine.as_ref().is_none_or(|(first, _)| seed < first);
            if theirs.as_ref().is_some_and(earlier) {
                *mine = theirs;
            }
        }
    }
}

/// Runs all seeds of a plan on `threads` threads. `progress` is called now and then with how many are done.
pub fn seeds(entrant: &Entrant, plan: &Plan, threads: usize, progress: &(dyn Fn(u64) + Sync)) -> Outcome {
    let next = AtomicU64::new(0);
    let total = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let (mut outcome, mut history) = (Outcome::default(), History::default());
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= plan.seeds {
                        break;
                    }
                    let seed = plan.first + index;
                    let mode = Mode { until_wrong: entrant.is_floe(), ..Mode::default() };
                    entrant.run(&plan.scenario(seed), &mut history, mode);
                    outcome.take(seed, &history);
                    progress(index + 1);
                }
                total.lock().unwrap_or_else(PoisonError::into_inner).merge(outcome);
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}
