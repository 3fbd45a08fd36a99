//! A clock for tests.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::TimeSource;
use super::system::System;
use crate::sync::lock_std;
use crate::time::{MonoMillis, Reading, UnixMillis, millis};

/// A clock that stands until the test moves it, so that a test knows which IDs it gets. Pass it to [`Builder::clock`];
/// [`Floe::fixed`] makes a floe and its clock at once. A clone is the same clock.
///
/// While it stands, IDs differ in their sequence, and run at most [`NameOptions::max_ahead`] ahead of it. When all of
/// these are minted, a call waits, and gives up after [`Builder::max_wait`] of real time.
///
/// Kinds that need no ledger, such as `uuid7` and `ulid`, use the system's clock all the same.
///
/// [`Builder::clock`]: crate::Builder::clock
/// [`Builder::max_wait`]: crate::Builder::max_wait
/// [`Floe::fixed`]: crate::Floe::fixed
/// [`NameOptions::max_ahead`]: crate::NameOptions::max_ahead
///
/// ```
/// use std::time::Duration;
/// use floe::{FixedClock, Floe, ledger::Memory};
/// let clock = FixedClock::at("2026-11-23T10:00:00Z".parse()?);
/// let floe = Floe::builder().clock(&clock).open(Memory::default())?;
/// let orders = floe.snowflake("orders", floe::Layout::TWITTER)?;
/// let before = orders.inspect(orders.mint()?)?.time;
/// clock.advance(Duration::from_secs(90));
/// assert_eq!(orders.inspect(orders.mint()?)?.time.since(before), 90_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FixedClock(Arc<Standing>);

struct Standing {
    reading: Mutex<Reading>,
    /// The real clock, for the timeouts of calls.
    real: System,
    watchers: Mutex<Vec<Weak<dyn Watcher>>>,
}

/// Waits by a clock, and looks at it again when a test has moved it.
pub(crate) trait Watcher: Send + Sync {
    fn clock_moved(&self);
}

impl FixedClock {
    /// Makes a clock that stands at `time`. [`FixedClock`] has an example.
    pub fn at(time: UnixMillis) -> Self {
        let reading = Mutex::new(Reading { wall: time, mono: MonoMillis::new(0) });
        Self(Arc::new(Standing { reading, real: System::new(), watchers: Mutex::default() }))
    }

    /// Returns the time that it shows.
    pub fn now(&self) -> UnixMillis {
        lock_std(&self.0.reading).wall
    }

    /// Lets time pass, in whole milliseconds. Both the wall and the monotonic clock move.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::FixedClock;
    /// let clock = FixedClock::at("2026-11-23T10:00:00Z".parse()?);
    /// clock.advance(Duration::from_secs(90));
    /// assert_eq!(clock.now().to_string(), "2026-11-23T10:01:30.000Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance(&self, by: Duration) {
        let passed = millis(by);
        self.set(|reading| Reading {
            wall: reading.wall.plus(i64::try_from(passed).unwrap_or(i64::MAX)),
            mono: reading.mono.plus(passed),
        });
    }

    /// Steps the wall clock back or ahead, as an operator or a time server does, while no time passes.
    ///
    /// As on a real machine, IDs follow a step of more than ten seconds ahead only after 30 s without another step. To
    /// move a test to a later time, use [`advance`](Self::advance).
    ///
    /// ```
    /// use floe::{ClockState, Floe, Layout};
    /// let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// let first = orders.mint()?;
    /// clock.step_to("2026-11-23T09:59:00Z".parse()?);
    /// assert!(orders.mint()? > first);
    /// assert!(matches!(floe.status().clock.state, ClockState::Holding(60_000..)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step_to(&self, time: UnixMillis) {
        self.set(|reading| Reading { wall: time, ..reading });
    }

    fn set(&self, moved: impl FnOnce(Reading) -> Reading) {
        let mut reading = lock_std(&self.0.reading);
        *reading = moved(*reading);
        drop(reading);
        let mut watchers = lock_std(&self.0.watchers);
        watchers.retain(|watcher| watcher.strong_count() > 0);
        let there: Vec<_> = watchers.iter().filter_map(Weak::upgrade).collect();
        // Whoever is woken may move the clock as well.
        drop(watchers);
        there.iter().for_each(|watcher| watcher.clock_moved());
    }

    /// Makes the clock tell `watcher` whenever it is moved.
    pub(crate) fn tell(&self, watcher: Weak<dyn Watcher>) {
        lock_std(&self.0.watchers).push(watcher);
    }
}

impl TimeSource for FixedClock {
    fn read(&self) -> Reading {
        *lock_std(&self.0.reading)
    }

    fn patience(&self) -> MonoMillis {
        self.0.real.patience()
    }
}

impl fmt::Debug for FixedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FixedClock({})", self.now())
    }
}
