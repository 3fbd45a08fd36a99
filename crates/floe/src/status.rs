//! A snapshot of a floe for metrics and for people.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::ClockState;
use crate::definition::Definition;
use crate::error::MintError;
use crate::ledger::{LedgerError, Reply};
use crate::name::Name;
use crate::shared_cursor::BlockReason;
use crate::time::UnixMillis;

/// How a floe is doing.
#[derive(Clone, Debug)]
pub struct Status {
    /// The realm's random id.
    pub realm_id: String,
    /// The ledger in one line, without credentials.
    pub ledger: String,
    /// Whether it mints at all.
    pub state: State,
    /// The steady clock.
    pub clock: ClockStatus,
    /// One per number of worker bits in use.
    pub slots: Vec<SlotStatus>,
    /// One per name.
    pub names: Vec<NameStatus>,
    /// What the ledger was asked.
    pub calls: LedgerCalls,
}

/// Whether a floe mints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It does.
    Running,
    /// It was closed, or uniqueness is at stake: the text says what happened.
    Stopped(String),
}

/// How the steady clock stands to the wall clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClockStatus {
    /// The steady time.
    pub steady: UnixMillis,
    /// What the wall clock says.
    pub wall: UnixMillis,
    /// What the steady clock makes of it.
    pub state: ClockState,
    /// Why nothing is minted on account of the clock.
    pub refused: Option<String>,
    /// How far the wall clock is ahead of the ledger's in milliseconds, below 0 where it is behind; `None` where that
    /// is not known.
    pub ledger_offset_ms: Option<i64>,
    /// Why no more windows are reserved on account of the ledger's clock.
    pub apart: Option<String>,
}

impl ClockStatus {
    /// Steady minus wall, in milliseconds: above 0 while a rollback is held through.
    pub fn offset_ms(&self) -> i64 {
        self.steady.since(self.wall)
    }

    /// The rollback that is held through, in milliseconds.
    pub fn held_ms(&self) -> u64 {
        match self.state {
            ClockState::Holding(behind) => behind,
            _ => 0,
        }
    }
}

/// The slot of one number of worker bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotStatus {
    /// The number of worker bits of the layouts that it serves.
    pub worker_bits: u32,
    /// The worker id, while a slot is held.
    pub worker: Option<u64>,
    /// The end of the window.
    pub window_end: Option<UnixMillis>,
    /// What is left of the window, in milliseconds.
    pub window_left_ms: u64,
    /// Why there is none.
    pub trouble: Option<NameState>,
    /// Worker ids whose records somebody deleted from the ledger, as far as this floe has met them. It leaves these
    /// slots alone.
    pub deleted: Vec<u64>,
}

/// One name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameStatus {
    /// The name.
    pub name: Name,
    /// What it is bound to.
    pub definition: Definition,
    /// Whether it mints.
    pub state: NameState,
    /// Milliseconds left of the window (snowflake) or numbers left in hand (segment); 0 for counter and dated.
    pub left: u64,
    /// How many milliseconds the next ID's tick is ahead of the steady clock; 0 for other kinds.
    pub ahead_ms: u64,
    /// When the layout's time bits run out.
    pub horizon: Option<UnixMillis>,
}

/// Whether a name mints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameState {
    /// It does, or will when it is asked.
    Ready,
    /// What was reserved has run out, and the ledger does not answer.
    Unavailable {
        /// When the ledger was first seen not to.
        since: UnixMillis,
        /// Its own words.
        cause: String,
    },
    /// Bits, numbers or slots are used up; the text says which.
    Exhausted(String),
    /// This machine's clock and the ledger's do not agree; the text says by how much. It mints when they do.
    ClockApart(String),
    /// This machine's clock went back too far, or says a time that the name cannot use; the text says how far, or which. It mints
    /// when the clock is right.
    ClockRefused(String),
    /// Uniqueness is at stake; the text says why.
    Stopped(String),
}

impl NameState {
    /// Why the next ID cannot be minted, whatever is left.
    pub(crate) fn barred(error: MintError) -> Self {
        match error {
            MintError::Exhausted(cause) => Self::Exhausted(cause),
            // What the time forbids passes.
            error => Self::ClockRefused(error.to_string()),
        }
    }

    pub(crate) fn of(trouble: Option<BlockReason>, left: u64) -> Self {
        match trouble {
            None => Self::Ready,
            // The ledger is gone, and nobody notices yet.
            Some(
                BlockReason::Unavailable { .. } | BlockReason::Exhausted(_) | BlockReason::ClockApart(_),
            ) if left > 0 => Self::Ready,
            Some(BlockReason::Unavailable { since, cause }) => Self::Unavailable { since, cause },
            Some(BlockReason::Exhausted(cause)) => Self::Exhausted(cause),
            Some(BlockReason::ClockApart(cause)) => Self::ClockApart(cause),
            Some(BlockReason::Stopped(stopped)) => Self::Stopped(stopped.cause),
        }
    }
}

/// The upper bounds of the latency histogram's buckets, in microseconds; one more is open above.
pub const LATENCY_BOUNDS_MICROS: [u64; 10] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// What the ledger was asked to reserve, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LedgerCalls {
    /// Reservations granted.
    pub granted: u64,
    /// Reservations refused because somebody else's mark was there.
    pub refused: u64,
    /// Calls that failed.
    pub errors: u64,
    /// How many calls took at most the bound of the same index, and longer than the one before; the last is open.
    pub latency: [u64; LATENCY_BOUNDS_MICROS.len() + 1],
    /// All latencies together, in microseconds.
    pub latency_sum_micros: u64,
}

#[derive(Default)]
pub(crate) struct Calls {
    granted: AtomicU64,
    refused: AtomicU64,
    errors: AtomicU64,
    latency: [AtomicU64; LATENCY_BOUNDS_MICROS.len() + 1],
    sum: AtomicU64,
}

impl Calls {
    pub(crate) fn record(&self, answer: &Result<Reply, LedgerError>, micros: u64) {
        let outcome = match answer {
            Ok(Reply::Got { .. }) => &self.granted,
            Ok(Reply::Refused { .. }) => &self.refused,
            Err(_) => &self.errors,
        };
        let bucket = LATENCY_BOUNDS_MICROS.partition_point(|&bound| bound < micros);
        for counter in [outcome, &self.latency[bucket]] {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> LedgerCalls {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LedgerCalls {
            granted: load(&self.granted),
            refused: load(&self.refused),
            errors: load(&self.errors),
            latency: self.latency.each_ref().map(load),
            latency_sum_micros: load(&self.sum),
        }
    }
}
