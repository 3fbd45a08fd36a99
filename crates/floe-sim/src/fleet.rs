//! A large fleet on one ledger, and the load that it puts on that ledger.
//!
//! The nodes are real floes without threads, driven by one heap of events. The run keeps only counters, not the IDs (for
//! those, see [`history`](crate::history)), so a hundred thousand nodes fit into one process. Their clocks are right, and
//! either all nodes reach the ledger or none does. The run measures how many calls the ledger gets, and when.
//!
//! A run goes like this. All nodes start at once on a new realm. Restarts begin then. When slots that restarts left
//! have had time to be skipped and to come back, a stretch is **measured**. Then the restarts end, and the ledger is
//! down for as long as the plan says. The run ends one window after all nodes mint again.

use std::time::Duration;

use floe::Layout;
use floe::layout::Width;

mod count;
mod course;
mod node;

pub use count::{Peaks, Spread};

/// The parameters of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many nodes there are.
    pub nodes: usize,
    /// The layout of their one snowflake name.
    pub layout: Layout,
    /// How long a window is, in milliseconds.
    pub window_ms: u64,
    /// How often a minute a process is killed. It starts again a second later.
    pub kills_per_minute: u64,
    /// How often a minute a process is stopped in order. It starts again a second later.
    pub stops_per_minute: u64,
    /// How long the ledger is down, in milliseconds; 0 for no outage.
    pub outage_ms: u64,
    /// How many numbers a second each node takes from one segment; 0 for no segment.
    pub numbers_per_second: u64,
    /// How many calls the ledger serves in a second, one after the other; `None` for no limit.
    pub ledger_rate: Option<u64>,
    /// The source of all randomness.
    pub seed: u64,
}

/// Why a plan cannot be run, and what to change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(String);

/// The most nodes of a plan: about as many as fit into a small machine's memory.
pub const MOST_NODES: usize = 200_000;
/// The most slots of a plan.
const MOST_SLOTS: u64 = 1 << 24;
/// The most restarts in a minute.
const MOST_RESTARTS: u64 = 600_000;

impl Plan {
    /// `nodes` nodes with windows of 30 seconds, on the layout of [`layout_for`], without any faults.
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
    /// [`PlanError`] says what is wrong with the plan.
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

    /// When it begins: the time that ended lives left in their slots has passed, and the quiet time after it too.
    pub fn settled_ms(&self) -> u64 {
        3 * self.window_ms + 12_000
    }
}

/// Twitter's layout if it has enough slots, else the narrowest layout with two slots for each node.
///
/// # Errors
/// [`PlanError`] if no layout has enough slots.
pub fn layout_for(nodes: usize) -> Result<Layout, PlanError> {
    if nodes <= 1_024 {
        return Ok(Layout::TWITTER);
    }
    let bits = nodes.saturating_mul(2).checked_next_power_of_two().map_or(64, usize::trailing_zeros);
    let fields = format!("time:41 worker:{bits} sequence:{}", 22_u32.saturating_sub(bits));
    Layout::new(&fields, 1, Layout::TWITTER.epoch(), Width::Narrow)
        .map_err(|error| PlanError(format!("no layout serves {nodes} nodes: {error}")))
}

/// The results of a run. Two runs of one plan are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Writes in a second of the measured stretch.
    pub writes: Peaks,
    /// Calls in a second of it, including refused ones.
    pub calls: Peaks,
    /// Slots with a mark in the future, sampled in it.
    pub slots: Peaks,
    /// Slots that a first search skips: those, and all that have been quiet for less than a window and 10 s.
    pub recent: Peaks,
    /// Round trips per acquisition of a slot, from the end of the start to the outage.
    pub probes: Spread,
    /// The same while all nodes started at once.
    pub probes_at_start: Spread,
    /// The most writes in one second of the start.
    pub writes_at_start: u64,
    /// The time from the start until all nodes minted, if they ever did.
    pub start: Option<Duration>,
    /// The effects of the outage, if there was one.
    pub outage: Option<Outage>,
    /// Mints that were refused because no slot was free.
    pub slots_out: u64,
    /// How many IDs were minted. Each node is asked for some now and then.
    pub minted: u64,
    /// How much virtual time passed.
    pub lasted: Duration,
}

/// The effects of an outage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// How many nodes had nothing left to mint from when the ledger returned.
    pub dry: u64,
    /// The most calls in one second during the outage.
    pub calls: u64,
    /// The most writes in one second after the ledger's return.
    pub writes: u64,
    /// The time from the ledger's return until all nodes minted, if they ever did.
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
