//! The parts of kinds with a time: the steady clock, randomness, and what a process has only once.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::process::Process;
use super::random::Random;
use super::run::PastLimit;
use crate::clock::{Clock, ClockPolicy, Stamp, system};
use crate::error::{MintError, Stopped};
use crate::sync::{AtomicU64, Ordering};

/// The clock holds through rollbacks of any size, because the uniqueness of these kinds does not depend on time.
const POLICY: ClockPolicy = ClockPolicy { wait_ms: 5, max_hold_ms: u64::MAX };

/// One for the whole process, as ObjectIds need it: its clock has one thread, which is parked while nothing is minted.
static SYSTEM: OnceLock<Arc<Origin>> = OnceLock::new();

/// A draw would have gone past its limit, by the time `millis`; `last` is the last position that was drawn.
pub(super) struct Late {
    pub(super) last: u64,
    pub(super) millis: u64,
}

/// Reads nanoseconds since 1970, or `None` before it.
type WallNanos = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// Where time and randomness come from.
pub(crate) struct Origin {
    clock: Arc<Clock>,
    /// The wall clock, for kinds that are finer than the steady clock.
    wall_nanos: WallNanos,
    pub(crate) random: Random,
    /// The last seen era of the clock. A new one means that the process slept or was copied.
    era: AtomicU64,
    pub(super) process: Process,
}

impl Origin {
    fn new(clock: Arc<Clock>, wall_nanos: WallNanos, random: Random) -> Self {
        Self { clock, wall_nanos, random, era: AtomicU64::new(0), process: Process::new() }
    }

    /// The operating system's clocks and randomness.
    pub(crate) fn system() -> Arc<Self> {
        let new = || Self::new(system::clock(POLICY), Box::new(system::wall_nanos), Random::System);
        Arc::clone(SYSTEM.get_or_init(|| Arc::new(new())))
    }

    /// An origin whose clock and randomness are arguments.
    #[cfg(test)]
    pub(crate) fn given(
        time: impl crate::clock::TimeSource + 'static,
        wall_nanos: impl Fn() -> Option<u64> + Send + Sync + 'static,
        random: Random,
    ) -> Arc<Self> {
        Arc::new(Self::new(Arc::new(Clock::new(POLICY, Box::new(time))), Box::new(wall_nanos), random))
    }

    /// An origin whose clock stands, with its time at hand.
    #[cfg(test)]
    pub(crate) fn standing() -> Arc<Self> {
        let clock = crate::clock::FixedClock::at(crate::time::UnixMillis::new(1_772_366_400_000));
        let clock = Arc::new(Clock::new(POLICY, Box::new(clock)));
        clock.tick();
        Self::with_clock(clock, || None, Random::given(|| 7))
    }

    /// An origin whose clock is an argument, with its ticker.
    #[cfg(test)]
    pub(crate) fn with_clock(
        clock: Arc<Clock>,
        wall_nanos: impl Fn() -> Option<u64> + Send + Sync + 'static,
        random: Random,
    ) -> Arc<Self> {
        Arc::new(Self::new(clock, Box::new(wall_nanos), random))
    }

    /// Milliseconds since 1970 by the steady clock, at most about a millisecond old.
    ///
    /// # Errors
    /// [`MintError::Stopped`] if the wall clock is outside 1970 to 2500.
    #[inline]
    pub(crate) fn millis(&self) -> Result<u64, MintError> {
        self.stamp().map(Stamp::millis)
    }

    /// [`Origin::millis`] with the clock's era, which every invalidation ends.
    ///
    /// # Errors
    /// As [`Origin::millis`].
    #[inline]
    pub(crate) fn stamp(&self) -> Result<Stamp, MintError> {
        self.clock
            .stamp()
            .map_err(|why| MintError::Stopped(Stopped::clock(why)))
            .map(|stamp| self.notice(stamp))
    }

    /// The stamp if it is at hand, without noticing a new era: for comparison with an earlier stamp.
    #[inline]
    pub(crate) fn at_hand(&self) -> Option<Stamp> {
        self.clock.at_hand()
    }

    /// [`Origin::millis`], if the time is at hand, in the era that was noticed last.
    #[inline(always)]
    pub(crate) fn millis_at_hand(&self) -> Option<u64> {
        let stamp = self.at_hand()?;
        (self.era.load(Ordering::Acquire) == stamp.era()).then(|| stamp.millis())
    }

    /// [`Origin::millis`] by reading the clocks directly, for a caller that would otherwise fail: the thread that
    /// keeps the time at hand may be late, or missing in a forked child.
    #[cold]
    pub(crate) fn look(&self) -> Result<u64, MintError> {
        let now = self.clock.look();
        now.refusal().map_or_else(
            || Ok(self.notice(now.stamp).millis()),
            |why| Err(MintError::Stopped(Stopped::clock(why))),
        )
    }

    /// Draws by a time that is read now. If this thread had to wait between the look at the clock and its draw, other
    /// threads may have gone past the limit of that look, so it looks again for as long as the clock moves.
    ///
    /// # Errors
    /// As [`Origin::millis`], and those of `draw`.
    #[cold]
    pub(super) fn draw_late(
        &self,
        draw: impl Fn(u64) -> Result<Result<u64, PastLimit>, MintError>,
    ) -> Result<Result<u64, Late>, MintError> {
        let mut millis = self.look()?;
        loop {
            let last = match draw(millis)? {
                Ok(first) => return Ok(Ok(first)),
                Err(PastLimit { last }) => last,
            };
            let now = self.look()?;
            if now == millis {
                return Ok(Err(Late { last, millis }));
            }
            millis = now;
        }
    }

    /// Time in units of 1/4096 millisecond: the wall clock's time if the steady clock agrees with it, otherwise the
    /// steady clock's, in whole milliseconds.
    ///
    /// # Errors
    /// As [`Origin::millis`].
    pub(crate) fn parts(&self) -> Result<u64, MintError> {
        /// The steady clock's cached time may be a little old, and older if the machine is busy.
        const NEAR_MS: u64 = 1_000;
        const PER_MS: u64 = 1_000_000;
        let steady = self.millis()?;
        let agrees = |nanos: &u64| (nanos / PER_MS).checked_sub(steady).is_some_and(|by| by < NEAR_MS);
        let fine = (self.wall_nanos)().filter(agrees);
        Ok(fine.map_or(steady * 4096, |nanos| nanos / PER_MS * 4096 + nanos % PER_MS * 4096 / PER_MS))
    }

    #[inline]
    fn notice(&self, stamp: Stamp) -> Stamp {
        if self.era.load(Ordering::Acquire) != stamp.era() {
            self.new_era(stamp.era());
        }
        stamp
    }

    #[cold]
    fn new_era(&self, era: u64) {
        // A thread that sees the new era relies on it that nothing drawn before is left.
        self.random.invalidate();
        self.process.invalidate();
        self.era.store(era, Ordering::Release);
    }

    /// Drops what was drawn ahead, here and everywhere with this origin.
    pub(crate) fn invalidate(&self) {
        self.random.invalidate();
        self.process.invalidate();
        self.clock.invalidate();
    }
}

/// [`Origin::invalidate`] of the system's, if there is one yet.
pub(crate) fn invalidate() {
    if let Some(origin) = SYSTEM.get() {
        origin.invalidate();
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin").field("random", &self.random).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models;
