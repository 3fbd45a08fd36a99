//! The machine's clocks: the one file that reads them.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::{Clock, ClockPolicy, TimeSource};
use crate::time::{MonoMillis, Reading, UnixMillis};

/// The operating system's wall and monotonic clocks.
pub(crate) struct System {
    start: Instant,
}

impl System {
    #[expect(clippy::disallowed_methods, reason = "this file owns the clocks")]
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl TimeSource for System {
    #[expect(clippy::disallowed_methods, reason = "this file owns the clocks")]
    fn read(&self) -> Reading {
        let signed = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let wall = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => signed(since),
            Err(before) => -signed(before.duration()),
        };
        let mono = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Reading { wall: UnixMillis::new(wall), mono: MonoMillis::new(mono) }
    }
}

/// The wall clock alone, in nanoseconds since 1970: it may step either way. `None` before 1970 and after 2554.
#[expect(clippy::disallowed_methods, reason = "this file owns the clocks")]
pub(crate) fn wall_nanos() -> Option<u64> {
    u64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
}

/// Times one call.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this file owns the clocks")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since the start.
    pub(crate) fn micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// How often the ticker looks at the clocks while somebody mints.
const PERIOD: Duration = Duration::from_millis(1);
/// It parks after this many rounds in which nobody minted.
const IDLE_ROUNDS: u32 = 10;

/// The clock of this machine, with a ticker: a thread that keeps the time at hand while minting is fast, so that a
/// mint costs a load and not a system call. It parks 10 ms after the last mint, and ends with the clock.
pub(crate) fn clock(policy: ClockPolicy) -> Arc<Clock> {
    let clock = Arc::new(Clock::new(policy, Box::new(System::new())));
    let weak = Arc::downgrade(&clock);
    // Where no thread can be had every mint reads the clock itself: slower, and as right.
    if let Ok(handle) = thread::Builder::new().name("floe-ticker".to_owned()).spawn(move || run(&weak)) {
        clock.ticker.get_or_init(|| handle.thread().clone());
    }
    clock
}

pub(super) fn run(clock: &Weak<Clock>) {
    let mut idle = IDLE_ROUNDS;
    loop {
        if idle >= IDLE_ROUNDS {
            if let Some(clock) = clock.upgrade() {
                clock.put_away();
            }
            thread::park();
            idle = 0;
        } else {
            thread::park_timeout(PERIOD);
        }
        let Some(clock) = clock.upgrade() else { return };
        idle = if clock.tick() { 0 } else { idle + 1 };
    }
}
