//! The clocks of a machine, as functions of true time.

use floe::{MonoMillis, Reading, UnixMillis};

use crate::model::Micros;

/// Millionths of a true second that a clock counts in one second: a million if it runs right, 0 if it stands still.
pub(crate) const RIGHT: i64 = 1_000_000;

/// A clock that runs at one rate until its time or its rate is set.
#[derive(Clone, Copy, Debug)]
struct Clock {
    since: Micros,
    /// The microseconds that it showed then.
    shown: i64,
    rate: i64,
}

impl Clock {
    fn at(&self, now: Micros) -> i64 {
        let elapsed = i128::from(now) - i128::from(self.since);
        let run = elapsed * i128::from(self.rate) / i128::from(RIGHT);
        self.shown + i64::try_from(run).unwrap_or(0)
    }

    fn go_on(&mut self, now: Micros, by: i64, rate: i64) {
        *self = Self { since: now, shown: self.at(now) + by, rate };
    }

    /// The earliest time at which it will show `shown`; `None` if it stands still.
    fn when(&self, shown: i64) -> Option<Micros> {
        let left = i128::from(shown) - i128::from(self.shown);
        if self.rate <= 0 {
            return None;
        }
        let rate = i128::from(self.rate);
        let run = (left.max(0) * i128::from(RIGHT) + rate - 1) / rate;
        Some(self.since + Micros::try_from(run).unwrap_or(0))
    }
}

/// One machine's clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    wall: Clock,
    mono: Clock,
    /// The rate of the monotonic clock while the machine is awake.
    drift: i64,
    /// The time of a right wall clock at true time 0, in microseconds since 1970.
    begin: i64,
}

impl Host {
    /// A machine that has been up for a while. Its clock is off by `skew` milliseconds, and gains or loses `drift`
    /// millionths.
    pub(crate) fn new(begin_ms: i64, skew_ms: i64, drift: i64) -> Self {
        let begin = begin_ms * 1000;
        let rate = RIGHT + drift;
        Self {
            wall: Clock { since: 0, shown: begin + skew_ms * 1000, rate },
            mono: Clock { since: 0, shown: 5_000_000_000, rate },
            drift: rate,
            begin,
        }
    }

    pub(crate) fn read(&self, now: Micros) -> Reading {
        Reading {
            wall: UnixMillis::new(self.wall.at(now).div_euclid(1000)),
            mono: MonoMillis::new(u64::try_from(self.mono.at(now) / 1000).unwrap_or(0)),
        }
    }

    /// Moves the wall clock by this many milliseconds.
    pub(crate) fn step(&mut self, now: Micros, by_ms: i64) {
        let rate = self.wall.rate;
        self.wall.go_on(now, by_ms.saturating_mul(1000), rate);
    }

    /// Sets the wall clock to this time, in milliseconds since 1970.
    pub(crate) fn set(&mut self, now: Micros, to_ms: i64) {
        self.wall = Clock { since: now, shown: to_ms.saturating_mul(1000), rate: self.wall.rate };
    }

    /// From now on, the wall clock gains or loses this many millionths more than the machine's own drift.
    pub(crate) fn slew(&mut self, now: Micros, ppm: i64) {
        self.wall.go_on(now, 0, (self.drift + ppm).max(0));
    }

    /// Sets the wall clock right to within a millisecond. It then runs at the machine's own rate.
    pub(crate) fn set_right(&mut self, now: Micros) {
        let true_wall = self.begin + i64::try_from(now).unwrap_or(0);
        self.wall = Clock { since: now, shown: true_wall, rate: self.drift };
    }

    /// The machine sleeps: its monotonic clock stands still.
    pub(crate) fn sleep(&mut self, now: Micros) {
        self.mono.go_on(now, 0, 0);
    }

    /// The machine is awake.
    pub(crate) fn awake(&mut self, now: Micros) {
        let drift = self.drift;
        self.mono.go_on(now, 0, drift);
    }

    /// When the monotonic clock will show `at`.
    pub(crate) fn when(&self, at: MonoMillis) -> Option<Micros> {
        self.mono.when(i64::try_from(at.get()).ok()?.checked_mul(1000)?)
    }

    /// How far the monotonic clock is into its current millisecond, in microseconds.
    pub(crate) fn begun(&self, now: Micros) -> Micros {
        Micros::try_from(self.mono.at(now).rem_euclid(1000)).unwrap_or(0)
    }

    /// How far the wall clock is from the true time, in milliseconds.
    pub(crate) fn error_ms(&self, now: Micros) -> i64 {
        (self.wall.at(now) - self.begin - i64::try_from(now).unwrap_or(0)).div_euclid(1000)
    }
}
