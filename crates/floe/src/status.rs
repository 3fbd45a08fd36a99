//! A snapshot of a floe for metrics and for people.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::ClockState;
use crate::definition::Definition;
use crate::error::{MintError, StopReason, Stopped};
use crate::ledger::{LedgerError, Reply};
use crate::name::Name;
use crate::shared_cursor::BlockReason;
use crate::time::UnixMillis;

/// A snapshot of a floe: [`Floe::status`](crate::Floe::status).
#[derive(Clone, Debug)]
pub struct Status {
    /// The realm's random id; empty until the ledger has answered once.
    pub realm_id: String,
    /// The ledger in one line, without credentials.
    pub ledger: String,
    /// Whether the floe mints at all.
    pub state: State,
    /// The state of the steady clock.
    pub clock: ClockStatus,
    /// The slots, one for each number of worker bits in use.
    pub slots: Vec<SlotStatus>,
    /// The served names, sorted.
    pub names: Vec<NameStatus>,
    /// The calls to the ledger since the start.
    pub calls: LedgerCalls,
}

/// Whether a floe mints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// It mints.
    Running,
    /// It was closed, or uniqueness is at stake. The text says what happened.
    Stopped(String),
}

/// The steady clock, compared with the wall clock and the ledger's clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClockStatus {
    /// The steady time.
    pub steady: UnixMillis,
    /// The time of the wall clock.
    pub wall: UnixMillis,
    /// How the steady clock treats the wall clock.
    pub state: ClockState,
    /// Why the clock allows no mint; `None` if it does.
    pub refused: Option<String>,
    /// How many milliseconds the wall clock is ahead of the ledger's, negative if it is behind; `None` if that is not
    /// known.
    pub ledger_offset_ms: Option<i64>,
    /// Why the ledger's clock allows no more reservations of windows; `None` if it does.
    pub apart: Option<String>,
}

impl ClockStatus {
    /// Returns the steady time minus the wall time, in milliseconds. It is above 0 while the node holds through a
    /// rollback.
    ///
    /// ```
    /// use floe::{Floe, Layout};
    /// let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// floe.snowflake("orders", Layout::TWITTER)?.mint()?;
    /// clock.step_to("2026-11-23T09:59:00Z".parse()?);
    /// let clock = floe.status().clock;
    /// assert!(clock.offset_ms() >= 60_000 && clock.held_ms() >= 60_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn offset_ms(&self) -> i64 {
        self.steady.since(self.wall)
    }

    /// Returns how many milliseconds of rollback the steady clock is holding through; 0 if it is not.
    pub fn held_ms(&self) -> u64 {
        match self.state {
            ClockState::Holding(behind) => behind,
            _ => 0,
        }
    }
}

/// The slot that serves all layouts with one number of worker bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotStatus {
    /// The number of worker bits.
    pub worker_bits: u32,
    /// The worker id, while the node holds a slot.
    pub worker: Option<u64>,
    /// The end of the window, while the node holds a slot.
    pub window_end: Option<UnixMillis>,
    /// How many milliseconds are left of the window.
    pub window_left_ms: u64,
    /// Why the node has no slot or no window; `None` if nothing is wrong.
    pub trouble: Option<NameState>,
    /// Worker ids whose records were deleted from the ledger, as far as this floe has met them. It does not use these
    /// slots.
    pub deleted: Vec<u64>,
}

/// The state of one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameStatus {
    /// The name.
    pub name: Name,
    /// The definition to which it is bound.
    pub definition: Definition,
    /// Whether it mints.
    pub state: NameState,
    /// What is left of the reservation: milliseconds of the window (snowflake), numbers (segment); 0 for other kinds.
    pub left: u64,
    /// How many milliseconds the next ID's tick is ahead of the steady clock; 0 for other kinds.
    pub ahead_ms: u64,
    /// When the layout's time bits run out; `None` for kinds other than snowflake.
    pub horizon: Option<UnixMillis>,
}

/// Whether a name mints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameState {
    /// It can mint.
    Ready,
    /// The reserved range is used up, and the ledger does not answer.
    Unavailable {
        /// When the ledger first failed to answer.
        since: UnixMillis,
        /// The ledger's error.
        cause: String,
    },
    /// The bits, numbers or slots are used up; the text says which.
    Exhausted(String),
    /// This machine's clock and the ledger's do not agree; the text says by how much. The name mints again when they
    /// agree.
    ClockApart(String),
    /// This machine's clock went back too far, or shows a time that the name cannot use. The text says how far, or
    /// which time. The name mints again when the clock is right.
    ClockRefused(String),
    /// Uniqueness is at stake, or no later ID can be written; the text says why.
    Stopped(String),
}

impl NameState {
    /// Why the next ID cannot be minted, whatever is left.
    pub(crate) fn barred(error: MintError) -> Self {
        match error {
            MintError::Exhausted(cause) => Self::Exhausted(cause),
            MintError::Stopped(Stopped { reason, cause }) if reason != StopReason::Clock => {
                Self::Stopped(cause)
            }
            // Trouble with the time is temporary.
            error => Self::ClockRefused(error.to_string()),
        }
    }

    pub(crate) fn of(trouble: Option<BlockReason>, left: u64) -> Self {
        match trouble {
            None => Self::Ready,
            // Something is left, so callers do not notice the trouble yet.
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

/// The upper bounds of the latency histogram's buckets, in microseconds. One more bucket, without a bound, follows
/// them.
pub const LATENCY_BOUNDS_MICROS: [u64; 10] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// The calls to reserve that this floe has made to the ledger since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LedgerCalls {
    /// Reservations granted.
    pub granted: u64,
    /// Reservations refused because another node had moved the mark.
    pub refused: u64,
    /// Calls that failed.
    pub errors: u64,
    /// How many calls took at most the bound of the same index in [`LATENCY_BOUNDS_MICROS`], and longer than the bound
    /// before it. The last element counts all longer calls.
    pub latency: [u64; LATENCY_BOUNDS_MICROS.len() + 1],
    /// The sum of all latencies, in microseconds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_holds_says_by_how_much_and_no_other_does() {
        let held = |state| {
            let (steady, wall) = (UnixMillis::new(5_000), UnixMillis::new(2_000));
            ClockStatus { steady, wall, state, refused: None, ledger_offset_ms: None, apart: None }.held_ms()
        };
        assert_eq!(held(ClockState::Holding(3_000)), 3_000);
        for state in [ClockState::Level, ClockState::Waiting(3), ClockState::Refused(3_000)] {
            assert_eq!(held(state), 0, "{state:?}");
        }
    }

    /// An operator is told of what callers notice.
    #[test]
    fn trouble_is_told_from_the_moment_on_at_which_nothing_is_left() {
        let since = UnixMillis::new(7);
        let why = || "why".to_owned();
        assert_eq!(NameState::of(None, 0), NameState::Ready);
        for (trouble, told) in [
            (
                BlockReason::Unavailable { since, cause: why() },
                NameState::Unavailable { since, cause: why() },
            ),
            (BlockReason::Exhausted(why()), NameState::Exhausted(why())),
            (BlockReason::ClockApart(why()), NameState::ClockApart(why())),
        ] {
            assert_eq!(NameState::of(Some(trouble.clone()), 1), NameState::Ready, "{trouble:?}");
            assert_eq!(NameState::of(Some(trouble), 0), told);
        }
    }

    #[test]
    fn a_call_is_counted_by_its_outcome_and_in_the_bucket_of_its_latency() {
        let calls = Calls::default();
        let got = Ok(Reply::Got { start: 0, end: 1, previous_mark: 0 });
        let refused = Ok(Reply::Refused { mark: 1, note: None });
        let failed = Err(LedgerError::Unavailable("gone".to_owned()));
        for (answer, micros) in
            [(&got, 0), (&got, 100), (&refused, 101), (&failed, 1_000_000), (&got, 1_000_001)]
        {
            calls.record(answer, micros);
        }
        let LedgerCalls { granted, refused, errors, latency, latency_sum_micros } = calls.snapshot();
        assert_eq!((granted, refused, errors), (3, 1, 1));
        assert_eq!(latency, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(latency_sum_micros, 2_000_202);
    }

    /// Metrics have these bounds in their labels, and queries name them.
    #[test]
    fn each_bound_of_a_latency_is_the_longest_of_its_own_bucket() {
        let bounds = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];
        for (at, bound) in bounds.into_iter().enumerate() {
            let calls = Calls::default();
            for micros in [bound, bound + 1] {
                calls.record(&Ok(Reply::Got { start: 0, end: 1, previous_mark: 0 }), micros);
            }
            let latency = calls.snapshot().latency;
            assert_eq!((latency[at], latency[at + 1]), (1, 1), "{bound}: {latency:?}");
        }
    }
}
