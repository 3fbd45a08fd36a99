//! A clock for the tests of programs that mint.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use super::TimeSource;
use super::system::System;
use crate::signal::Signal;
use crate::sync::lock_std;
use crate::time::{MonoMillis, Reading, UnixMillis, millis};

/// A clock that stands until somebody moves it, so that a test knows which IDs it gets. [`Builder::clock`] gives it to a floe,
/// and [`Floe::fixed`] makes both.
///
/// IDs that are minted while it stands differ in their sequence, and run ahead of it by [`NameOptions::max_ahead`] at most. Where
/// all that is used up a call waits, as it does by any clock, and gives up after [`Builder::max_wait`] of real time.
///
/// Kinds that need no ledger (`uuid7`, `ulid` and their like) go by the system's clock all the same.
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
    /// Calls lose their patience by it.
    real: System,
    /// Of those who look at the clock again when it was moved.
    signals: Mutex<Vec<Weak<Signal>>>,
}

impl FixedClock {
    /// One that stands at a time.
    pub fn at(time: UnixMillis) -> Self {
        let reading = Mutex::new(Reading { wall: time, mono: MonoMillis::new(0) });
        Self(Arc::new(Standing { reading, real: System::new(), signals: Mutex::default() }))
    }

    /// What it shows.
    pub fn now(&self) -> UnixMillis {
        lock_std(&self.0.reading).wall
    }

    /// Lets time pass: whole milliseconds of it.
    pub fn advance(&self, by: Duration) {
        let passed = millis(by);
        self.set(|reading| Reading {
            wall: reading.wall.plus(i64::try_from(passed).unwrap_or(i64::MAX)),
            mono: reading.mono.plus(passed),
        });
    }

    /// Steps the wall clock, back or ahead, as an operator or a time server does, while no time passes. As after a real step, IDs
    /// follow one of more than ten seconds ahead only once it has stood for 30 s; to be at another time, [`advance`](Self::advance).
    pub fn step_to(&self, time: UnixMillis) {
        self.set(|reading| Reading { wall: time, ..reading });
    }

    fn set(&self, moved: impl FnOnce(Reading) -> Reading) {
        let mut reading = lock_std(&self.0.reading);
        *reading = moved(*reading);
        drop(reading);
        lock_std(&self.0.signals).retain(|signal| {
            signal.upgrade().is_some_and(|signal| {
                signal.raise();
                true
            })
        });
    }

    /// Raises the signal whenever the clock is moved.
    pub(crate) fn tell(&self, signal: &Arc<Signal>) {
        lock_std(&self.0.signals).push(Arc::downgrade(signal));
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
