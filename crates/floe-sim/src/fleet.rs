//! A large fleet on one ledger, and what it asks of that ledger.
//!
//! The nodes are real floes, driven by hand on one heap of events. Nothing is kept of what they mint (that is what a
//! [`history`](crate::history) is for): counters alone, so that a hundred thousand of them fit into one process. Their
//! clocks are right, and the ledger is reached by everybody or by nobody; what is asked here is how much, and how soon.
//!
//! The course of a run: all nodes start at once on a new realm. Restarts go on from then. When slots that restarts left
//! have had the time to be passed over and to come back, a stretch is **measured**. Then the restarts end, and the ledger is
//! gone for as long as the plan says. The run ends a window after everybody mints again.

use std::time::Duration;

use floe::Layout;
use floe::layout::Width;

mod count;
mod course;
mod node;

pub use count::{Peaks, Spread};

/// What is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many nodes there are.
    pub nodes: usize,
    /// The layout of their one snowflake name.
    pub layout: Layout,
    /// How long a window is, in milliseconds.
    pub window_ms: u64,
    /// So many times a minute a process is killed and started again a second later.
    pub kills_per_minute: u64,
    /// So many times a minute a process is stopped in order and started again a second later.
    pub stops_per_minute: u64,
    /// How long the ledger is gone, in milliseconds; 0 for not at all.
    pub outage_ms: u64,
    /// So many numbers a second each node takes from one segment; 0 for no segment.
    pub numbers_per_second: u64,
    /// How many calls the ledger serves in a second, one after the other; any number without.
    pub ledger_rate: Option<u64>,
    /// What all randomness comes from.
    pub seed: u64,
}

/// Why a plan cannot be run, and the way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(String);

/// The most nodes of a plan: about as many as fit into the memory of a small machine.
pub const MOST_NODES: usize = 200_000;
/// The most slots of a plan.
const MOST_SLOTS: u64 = 1 << 24;
/// The most restarts in a minute.
const MOST_RESTARTS: u64 = 600_000;

impl Plan {
    /// `nodes` nodes with windows of 30 seconds to which nothing happens, on [`layout_for`] so many.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn new(nodes: usize, seed: u64) -> Result<Self, PlanError> {
        let layout = layout_for(nodes)?;
        Ok(Self {
            nodes,
            layout,
            window_ms: 30_000,
            kills_per_minute: 0,
            stops_per_minute: 0,
            outage_ms: 0,
            numbers_per_second: 0,
            ledger_rate: None,
            seed,
        })
    }

    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), PlanError> {
        let no = |text: String| Err(PlanError(text));
        let (nodes, slots) = (count::wide(self.nodes), self.layout.workers());
        match self {
            _ if self.nodes == 0 || self.nodes > MOST_NODES => {
                no(format!("a fleet has 1 to {MOST_NODES} nodes, not {}", self.nodes))
            }
            _ if self.layout.width() == Width::Wide => no(format!(
                "the layout \"{}\" has more than 63 bits: take one of at most 63 bits with as many worker bits, which puts the same load on the ledger",
                self.layout
            )),
            _ if slots > MOST_SLOTS => no(format!(
                "a simulated realm has at most {MOST_SLOTS} slots, and the layout has {slots}: take fewer worker bits"
            )),
            _ if slots < nodes => no(format!(
                "{nodes} nodes need as many slots, and the layout \"{}\" has {slots}: take one with more worker bits, such as \"{}\"",
                self.layout,
                layout_for(self.nodes)?
            )),
            Self { window_ms: ..1_000 | 3_600_001.., .. } => {
                no("a simulated window is 1s to 1h long".to_owned())
            }
            Self { outage_ms: 14_400_001.., .. } => no("a simulated outage lasts 4h at most".to_owned()),
            Self { kills_per_minute, stops_per_minute, .. }
                if kills_per_minute.saturating_add(*stops_per_minute) > MOST_RESTARTS =>
            {
                no(format!("at most {MOST_RESTARTS} processes are restarted in a minute"))
            }
            Self { numbers_per_second: 10_001.., .. } => {
                no("a simulated node takes at most 10000 numbers a second".to_owned())
            }
            Self { ledger_rate: Some(0), .. } => no("a ledger serves at least one call a second".to_owned()),
            _ => Ok(()),
        }
    }

    /// How long the measured stretch is, in milliseconds: at least four windows and a minute.
    pub fn measured_ms(&self) -> u64 {
        (4 * self.window_ms).max(60_000)
    }

    /// When it begins: what a slot's last life left has passed, and its quiet time as well.
    pub fn settled_ms(&self) -> u64 {
        3 * self.window_ms + 12_000
    }
}

/// Twitter's layout as far as it reaches, and then the narrowest with two slots for each node.
///
/// # Errors
/// Where no layout has so many.
pub fn layout_for(nodes: usize) -> Result<Layout, PlanError> {
    if nodes <= 1_024 {
        return Ok(Layout::TWITTER);
    }
    let bits = nodes.saturating_mul(2).checked_next_power_of_two().map_or(64, usize::trailing_zeros);
    let fields = format!("time:41 worker:{bits} sequence:{}", 22_u32.saturating_sub(bits));
    Layout::new(&fields, 1, Layout::TWITTER.epoch(), Width::Narrow)
        .map_err(|error| PlanError(format!("no layout serves {nodes} nodes: {error}")))
}

/// What came of a plan. Two runs of one plan are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    /// What was written in a second of the measured stretch.
    pub writes: Peaks,
    /// What was asked in a second of it, refusals included.
    pub calls: Peaks,
    /// The slots whose mark lay ahead, sampled in it.
    pub slots: Peaks,
    /// The slots that a first look passes over: those, and all that have been quiet for less than a window and 10 s.
    pub recent: Peaks,
    /// Round trips until an acquisition got its slot, from the end of the start to the outage.
    pub probes: Spread,
    /// The same while all started at once.
    pub probes_at_start: Spread,
    /// The most writes in one second of the start.
    pub writes_at_start: u64,
    /// How long it took from the start until all minted, if they ever did.
    pub start: Option<Duration>,
    /// What followed the outage, where there was one.
    pub outage: Option<Outage>,
    /// Mints that were refused for want of a slot.
    pub slots_out: u64,
    /// How many IDs were minted, of those that somebody asked for now and then.
    pub minted: u64,
    /// How much virtual time passed.
    pub lasted: Duration,
}

/// What an outage did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// How many nodes had nothing left to mint from when the ledger returned.
    pub dry: u64,
    /// The most calls in one second while it was gone.
    pub calls: u64,
    /// The most writes in one second after it had returned.
    pub writes: u64,
    /// How long it took from its return until all minted, if they ever did.
    pub until_all_mint: Option<Duration>,
    /// How many nodes had to take another slot.
    pub moved: u64,
}

/// Runs a plan.
///
/// # Errors
/// [`PlanError`].
pub fn run(plan: &Plan) -> Result<Figures, PlanError> {
    plan.check()?;
    course::Course::new(plan).run()
}
