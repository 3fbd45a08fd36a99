//! The steady clock: it takes readings of the wall and the monotonic clock, and gives one time that does not go back when
//! the wall clock does.
//!
//! | the wall clock | the steady clock |
//! |---|---|
//! | runs | is equal to it |
//! | goes back by up to `wait` | stands still until the wall clock has caught up |
//! | goes back by up to `max_hold` | **holds**: runs at 95 % of the monotonic rate until they meet |
//! | goes back further | refuses, until the wall clock is within `max_hold` again |
//! | is frozen, or runs slower than 95 % | holds as well: it never runs slower than 95 % of the monotonic rate |
//! | jumps ahead by up to 10 s | follows at once |
//! | jumps ahead further | runs at the monotonic rate, and follows once wall and monotonic have run level for 30 s |
//!
//! If the ledger has a clock, its reading is an argument too ([`Steady::hear`]). The monotonic clock carries it on:
//!
//! | the ledger's clock | the steady clock |
//! |---|---|
//! | agrees with a wall clock that jumped ahead | follows at once |
//! | disagrees with the wall clock | runs at the monotonic rate, and does not approach the wall clock |
//! | agrees with the wall clock, and the steady one is ahead | goes back as far as nothing can be minted, and waits |
//!
//! The ledger's answer counts only within the era in which it was asked for: if a clock has moved, the machine may have
//! slept.
//!
//! A process that was restored from a snapshot or cloned sees its wall clock move against the monotonic one. So a move
//! of over 1 s begins a new **era**, in which nothing that was reserved before is used.

use std::sync::{Arc, OnceLock};
use std::thread::Thread;

pub(crate) use ledger_time::Heard;

use crate::mutation::mutate;
use crate::pulse::Pulse;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::time::{MonoMillis, Reading, UnixMillis};

mod fixed;
pub(crate) mod ledger_time;
#[cfg(all(test, loom))]
pub(crate) mod models;
pub(crate) mod system;
#[cfg(test)]
mod tests;

pub use fixed::FixedClock;
pub(crate) use fixed::Watcher;

/// Which rollbacks of the wall clock the steady clock waits out, and which it holds through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockPolicy {
    /// The steady clock waits out rollbacks of up to this many milliseconds; the default is 5.
    pub wait_ms: u64,
    /// The steady clock runs on through rollbacks of up to this many milliseconds, and refuses larger ones; the default
    /// is an hour.
    pub max_hold_ms: u64,
}

impl Default for ClockPolicy {
    fn default() -> Self {
        Self { wait_ms: 5, max_hold_ms: 3_600_000 }
    }
}

/// How the steady clock treats the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockState {
    /// The two clocks are equal.
    Level,
    /// The wall clock is this many milliseconds behind, and the steady clock waits for it: the difference is small, or
    /// the ledger's clock says that the wall clock is right.
    Waiting(u64),
    /// The wall clock is this many milliseconds behind, and the steady clock runs on without it.
    Holding(u64),
    /// The wall clock jumped this many milliseconds ahead, and the steady clock does not follow it yet.
    Doubting(u64),
    /// The wall clock is this many milliseconds ahead, and the ledger's clock says that it is wrong. The steady clock
    /// runs on without it.
    Contradicted(u64),
    /// The wall clock is this many milliseconds behind, more than `max_hold_ms`. No ID with a time in it is minted.
    Refused(u64),
    /// The wall clock is outside 1970 to 2500. No ID with a time in it is minted.
    Insane(UnixMillis),
}

/// The largest step ahead that the steady clock follows at once.
pub(crate) const FOLLOWED_MS: u64 = 10_000;
/// After a larger step, wall and monotonic clock must run level this long before the steady clock follows.
pub(crate) const LEVEL_MS: u64 = 30_000;
/// A wall clock that moves more than this against the monotonic one begins a new era.
pub(crate) const MOVED_MS: u64 = 1_000;
/// While holding, the steady clock loses one part in this many.
pub(crate) const SLEW: u64 = 20;
/// A stamp has this many bits for the time: milliseconds to the year 2527, and 2^20 eras above them.
const TIME_BITS: u32 = 44;
/// A wall clock that falls this many milliseconds behind the lowest rate counts as frozen. Both clocks are read in
/// whole ms.
const STANDS_MS: u64 = 20;
const LAST_SANE: i64 = 16_725_225_600_000; // 2500-01-01

/// The steady time and its era in one word, so that every reader of the time also sees that an era has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Stamp(u64);

impl Stamp {
    pub(crate) fn new(era: u64, time: UnixMillis) -> Self {
        let time = time.position().filter(|time| time >> TIME_BITS == 0);
        assert!(
            era >> (64 - TIME_BITS) == 0,
            "the clock has moved over a million times: restart the process"
        );
        Self(era << TIME_BITS | time.unwrap_or_default())
    }

    pub(crate) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    pub(crate) fn era(self) -> u64 {
        self.0 >> TIME_BITS
    }

    pub(crate) fn time(self) -> UnixMillis {
        UnixMillis::from_position(self.millis())
    }

    pub(crate) fn millis(self) -> u64 {
        self.0 & ((1 << TIME_BITS) - 1)
    }

    /// This stamp and `millis` more, still in its era.
    pub(crate) fn plus(self, millis: u64) -> Self {
        Self::new(self.era(), UnixMillis::from_position(self.millis().saturating_add(millis)))
    }
}

/// The pure part: a function of its state and the readings.
#[derive(Clone, Debug)]
pub(crate) struct Steady {
    policy: ClockPolicy,
    time: UnixMillis,
    last: Reading,
    state: ClockState,
    era: u64,
    /// Twentieths of a millisecond that holding has not yet taken off.
    slewed: u64,
    /// How far the wall clock has fallen short of the least rate, in twentieths of a millisecond.
    short: u64,
    /// Since when, and at which distance of wall and monotonic clock, a jump has been doubted.
    doubted: Option<(MonoMillis, i64)>,
    /// What the ledger has said about its clock in this era.
    heard: Heard,
    /// The last time at which the ledger's clock did not contradict this one. Windows are reserved only then. What was
    /// minted later lies in such a window, and the next window begins behind it.
    agreed: UnixMillis,
    /// `lead_ms` at that time.
    agreed_lead_ms: i64,
    /// How far the time is ahead of its own calculation because it continued from a predecessor's mark.
    lead_ms: i64,
}

impl Steady {
    pub(crate) fn new(policy: ClockPolicy, first: Reading) -> Self {
        let mut steady = Self {
            policy,
            time: first.wall,
            last: first,
            state: ClockState::Level,
            era: 0,
            slewed: 0,
            short: 0,
            doubted: None,
            heard: Heard::Nothing,
            agreed: UnixMillis::EPOCH,
            agreed_lead_ms: 0,
            lead_ms: 0,
        };
        if !sane(first.wall) {
            steady.time = UnixMillis::EPOCH;
            steady.state = ClockState::Insane(first.wall);
        }
        steady
    }

    /// Takes a look at the clocks.
    pub(crate) fn observe(&mut self, reading: Reading) {
        let Reading { wall, mono } = reading;
        let elapsed = mono.since(self.last.mono);
        let moved = wall.since(self.last.wall).abs_diff(i64::try_from(elapsed).unwrap_or(i64::MAX));
        if moved > MOVED_MS {
            self.invalidate();
        }
        let stands = self.stands(wall, elapsed);
        self.last = reading;
        if !sane(wall) {
            (self.short, self.doubted) = (0, None);
            self.state = ClockState::Insane(wall);
            return;
        }
        if self.time == UnixMillis::EPOCH {
            // The wall clock has been insane from the start, so there is no earlier time to keep.
            self.time = wall;
        }
        if !self.goes_back(reading) {
            self.follow(reading, elapsed, stands);
        }
        if wall <= self.time {
            self.lead_ms = self.lead_ms.min(self.time.since(wall));
        }
        if self.is_agreed() {
            (self.agreed, self.agreed_lead_ms) = (self.time, self.lead_ms);
        }
    }

    fn follow(&mut self, reading: Reading, elapsed: u64, stands: bool) {
        let wall = reading.wall;
        if mutate!(wall < self.time, HoldIgnored => false) {
            self.doubted = None;
            self.behind(wall, elapsed, stands);
            return;
        }
        let least = i64::try_from(elapsed - elapsed / SLEW).unwrap_or(i64::MAX);
        if stands && wall < self.time.plus(least) {
            self.behind(wall, elapsed, true);
            return;
        }
        let level = self.time.plus(i64::try_from(elapsed).unwrap_or(i64::MAX));
        let ahead = u64::try_from(wall.since(level)).unwrap_or(0);
        let known = self.heard.time().is_some();
        if ahead > FOLLOWED_MS && self.is_contradicted(wall) {
            (self.time, self.doubted) = (level, None);
            self.state = ClockState::Contradicted(ahead);
        } else if ahead <= FOLLOWED_MS || known || self.has_run_level(reading) {
            (self.time, self.doubted) = (wall, None);
            self.state = ClockState::Level;
        } else {
            self.time = level;
            self.state = ClockState::Doubting(ahead);
        }
    }

    /// Whether the ledger's clock says that the wall clock is wrong.
    fn is_contradicted(&self, wall: UnixMillis) -> bool {
        self.heard.time().is_some_and(|ledger| ledger.apart(wall, self.last.mono).is_some())
    }

    /// If this clock is ahead of the ledger's, and the wall clock agrees with the ledger's, then the wall clock was
    /// wrong and has been set right. The time goes back in a new era, to the last time at which the two agreed at most,
    /// and stands still there until it is trusted again. Otherwise a node that was started an hour ahead would hold that
    /// hour for most of a day.
    fn goes_back(&mut self, Reading { wall, mono }: Reading) -> bool {
        let Some(ledger) = self.heard.time() else { return false };
        let ahead = ledger.apart(self.own(), mono) > Some(0) && ledger.apart(wall, mono).is_none();
        if !mutate!(ahead, AheadForEver => false) {
            return false;
        }
        let right = wall.max(self.agreed);
        self.era += u64::from(right < self.time);
        (self.time, self.doubted, self.slewed) = (right.min(self.time), None, 0);
        // A wall clock that was ahead has hidden what the predecessor's mark added.
        self.lead_ms = self.agreed_lead_ms;
        let behind = u64::try_from(self.time.since(wall)).unwrap_or(0);
        self.state = match behind {
            0 => ClockState::Level,
            _ if behind <= self.policy.max_hold_ms.max(self.policy.wait_ms) => ClockState::Waiting(behind),
            // Nothing contradicted that time, so it does not go back further.
            _ => ClockState::Refused(behind),
        };
        true
    }

    /// The time without what a predecessor's mark has added, since this machine has not measured that part.
    fn own(&self) -> UnixMillis {
        self.time.plus(-self.lead_ms)
    }

    fn is_agreed(&self) -> bool {
        match self.heard {
            Heard::Nothing => false,
            Heard::NoClock(_) => true,
            Heard::Time(ledger) => ledger.apart(self.own(), self.last.mono).is_none(),
        }
    }

    /// Takes the ledger's answer about its clock, if it was asked in this era.
    pub(crate) fn hear(&mut self, heard: Heard, era: u64) {
        if era == self.era {
            self.heard = heard;
        }
    }

    /// Whether the wall clock has run slower than the least rate for a while.
    fn stands(&mut self, wall: UnixMillis, elapsed: u64) -> bool {
        const ENOUGH: u64 = STANDS_MS * SLEW;
        // A clock that was set back tells nothing about its rate.
        if let Ok(ran) = u64::try_from(wall.since(self.last.wall)) {
            let least = elapsed.saturating_mul(SLEW - 1);
            let short = self.short.saturating_add(least).saturating_sub(ran.saturating_mul(SLEW));
            // A larger lag is dropped, so that a clock that runs again is trusted within a second.
            self.short = short.min(2 * ENOUGH);
        }
        self.short > ENOUGH
    }

    fn behind(&mut self, wall: UnixMillis, elapsed: u64, stands: bool) {
        let behind = u64::try_from(self.time.since(wall)).unwrap_or(0);
        let max_hold_ms = mutate!(self.policy.max_hold_ms, MaxHoldIgnored => u64::MAX);
        if behind <= self.policy.wait_ms && !stands {
            self.state = ClockState::Waiting(behind);
        } else if behind <= max_hold_ms {
            // The time does not converge towards a wall clock that is known to be wrong.
            self.slewed += if self.is_contradicted(wall) { 0 } else { elapsed };
            let lost = self.slewed / SLEW;
            self.slewed -= lost * SLEW;
            let held = self.time.plus(i64::try_from(elapsed - lost).unwrap_or(i64::MAX));
            // After a long time without a look. A part of it would have been refused.
            let furthest = wall.plus(i64::try_from(max_hold_ms).unwrap_or(i64::MAX));
            self.time = held.min(furthest).max(self.time);
            let behind = u64::try_from(self.time.since(wall)).unwrap_or(0);
            self.state = match stands && held > furthest {
                true => ClockState::Refused(behind),
                false => ClockState::Holding(behind),
            };
        } else {
            self.state = ClockState::Refused(behind);
        }
    }

    fn has_run_level(&mut self, Reading { wall, mono }: Reading) -> bool {
        let distance = wall.get().saturating_sub(i64::try_from(mono.get()).unwrap_or(i64::MAX));
        match self.doubted {
            Some((since, doubted)) if distance.abs_diff(doubted) <= MOVED_MS => mono.since(since) >= LEVEL_MS,
            _ => {
                self.doubted = Some((mono, distance));
                false
            }
        }
    }

    /// Begins a new era by hand.
    pub(crate) fn invalidate(&mut self) {
        self.era += 1;
        self.heard = mutate!(Heard::Nothing, LedgerTimeKept => self.heard);
    }

    /// Continues from `mark`, if this process's predecessor may have minted up to it. False if it is further ahead
    /// than `max_hold`.
    pub(crate) fn start_at(&mut self, mark: UnixMillis) -> bool {
        let ahead = u64::try_from(mark.since(self.last.wall)).unwrap_or(0);
        let allowed = ahead <= self.policy.max_hold_ms;
        if allowed {
            self.lead_ms = self.lead_ms.saturating_add(mark.since(self.time).max(0));
            self.time = self.time.max(mark);
        }
        allowed
    }

    pub(crate) fn now(&self) -> Now {
        Now {
            stamp: Stamp::new(self.era, self.time),
            mono: self.last.mono,
            wall: self.last.wall,
            state: self.state,
            own: self.own(),
            heard: self.heard,
            wait_ms: self.policy.wait_ms,
        }
    }
}

fn sane(wall: UnixMillis) -> bool {
    (1..LAST_SANE).contains(&wall.get())
}

/// One look at the steady clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Now {
    pub(crate) stamp: Stamp,
    pub(crate) mono: MonoMillis,
    pub(crate) wall: UnixMillis,
    pub(crate) state: ClockState,
    /// The steady time without what a predecessor's mark has added.
    own: UnixMillis,
    pub(crate) heard: Heard,
    /// See [`ClockPolicy`].
    wait_ms: u64,
}

impl Now {
    /// How far the steady clock is ahead of the ledger's, in milliseconds, if that is more than they may differ.
    /// Negative if it is behind.
    pub(crate) fn apart(&self) -> Option<i64> {
        self.heard.time()?.apart(self.own, self.mono)
    }

    /// How far the wall clock is ahead of the ledger's, where that is known.
    pub(crate) fn ledger_offset_ms(&self) -> Option<i64> {
        Some(self.heard.time()?.offset(self.wall, self.mono))
    }

    /// How far the steady time comes at least in the next `millis` milliseconds, if the wall clock is left alone.
    pub(crate) fn comes(&self, millis: u64) -> u64 {
        match self.state {
            ClockState::Level | ClockState::Doubting(_) | ClockState::Contradicted(_) => millis,
            ClockState::Waiting(behind) => millis.saturating_sub(behind),
            ClockState::Holding(behind) => {
                // At the end of a hold it waits, and loses all that is left of it.
                let lost = millis.div_ceil(SLEW);
                millis.saturating_sub(if behind.saturating_sub(lost) > self.wait_ms { lost } else { behind })
            }
            ClockState::Refused(_) | ClockState::Insane(_) => 0,
        }
    }

    /// Why nothing may be minted, if so.
    pub(crate) fn refusal(&self) -> Option<String> {
        match self.state {
            ClockState::Refused(behind) => Some(format!(
                "the wall clock went back by {behind} ms, which is more than max_hold: set the clock right, or raise clock.max_hold"
            )),
            ClockState::Insane(wall) => Some(format!(
                "the wall clock says {wall}, which is outside 1970 to 2500: set the clock right"
            )),
            _ => None,
        }
    }
}

/// Where readings come from.
pub(crate) trait TimeSource: Send + Sync {
    fn read(&self) -> Reading;

    /// The monotonic clock for the waits of calls. It runs even if the other clocks stand still.
    fn patience(&self) -> MonoMillis {
        self.read().mono
    }
}

/// The steady clock as threads share it.
pub(crate) struct Clock {
    source: Box<dyn TimeSource>,
    steady: Mutex<Steady>,
    /// The stamp while the ticker keeps it fresh; `STALE` while it is parked, and while nothing may be minted.
    cached: AtomicU64,
    /// Set by whoever reads the cached stamp, cleared by the ticker.
    used: AtomicBool,
    /// How often the clock was read directly within one millisecond: many reads are worth a ticker.
    direct: AtomicU64,
    ticker: OnceLock<Thread>,
    /// Beaten after each change of the cached stamp.
    pulse: Arc<Pulse>,
}

const STALE: u64 = 0;
/// This many direct reads in one millisecond wake the ticker.
const WORTH_A_TICKER: u64 = 16;

impl Clock {
    pub(crate) fn new(policy: ClockPolicy, source: Box<dyn TimeSource>) -> Self {
        let first = source.read();
        Self {
            source,
            steady: Mutex::new(Steady::new(policy, first)),
            cached: AtomicU64::new(STALE),
            used: AtomicBool::new(false),
            direct: AtomicU64::new(0),
            ticker: OnceLock::new(),
            pulse: Arc::default(),
        }
    }

    /// It beats when the stamp at hand changes, and when an era ends.
    pub(crate) fn pulse(&self) -> &Arc<Pulse> {
        &self.pulse
    }

    /// The stamp if it is at hand, at most about a millisecond old.
    #[inline]
    pub(crate) fn at_hand(&self) -> Option<Stamp> {
        let cached = self.cached.load(Ordering::Relaxed);
        if cached == STALE {
            return None;
        }
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        Some(Stamp(cached))
    }

    /// Whether this is the stamp at hand: then the pulse beats when time moves on. This call does not keep the time at
    /// hand; the next different stamp is asked for anyway.
    pub(crate) fn keeps(&self, stamp: Stamp) -> bool {
        let cached = self.cached.load(Ordering::Relaxed);
        cached != STALE && cached == stamp.0
    }

    /// The stamp, at hand or read.
    ///
    /// # Errors
    /// Why nothing may be minted.
    #[inline]
    pub(crate) fn stamp(&self) -> Result<Stamp, String> {
        self.at_hand().map_or_else(|| self.read(), Ok)
    }

    /// The era, also while nothing that depends on the time may be minted.
    #[inline]
    pub(crate) fn era(&self) -> u64 {
        self.at_hand().unwrap_or_else(|| self.read_now().stamp).era()
    }

    #[cold]
    fn read(&self) -> Result<Stamp, String> {
        let now = self.read_now();
        now.refusal().map_or(Ok(now.stamp), Err)
    }

    fn read_now(&self) -> Now {
        let before = lock(&self.steady).last.mono;
        let now = self.look();
        if now.mono != before {
            self.direct.store(0, Ordering::Relaxed);
        } else if self.direct.fetch_add(1, Ordering::Relaxed) == WORTH_A_TICKER
            && let Some(ticker) = self.ticker.get()
        {
            ticker.unpark();
        }
        now
    }

    /// Looks at the clocks.
    pub(crate) fn look(&self) -> Now {
        let mut steady = lock(&self.steady);
        // Read under the lock: a reading that waited for it would look like a clock that went back.
        steady.observe(self.source.read());
        let now = steady.now();
        if self.cached.load(Ordering::Relaxed) != STALE {
            self.keep_at_hand(&now);
        }
        now
    }

    /// The monotonic clock, for measuring waits: nothing is observed.
    pub(crate) fn mono(&self) -> MonoMillis {
        self.source.patience()
    }

    /// One round of the ticker: whether the stamp was used since the last one. It is at hand from the first round on,
    /// until [`Clock::put_away`].
    pub(crate) fn tick(&self) -> bool {
        let used = self.used.swap(false, Ordering::Relaxed);
        let mut steady = lock(&self.steady);
        steady.observe(self.source.read());
        self.keep_at_hand(&steady.now());
        used
    }

    fn keep_at_hand(&self, now: &Now) {
        let word = if now.refusal().is_some() { STALE } else { now.stamp.0 };
        if self.cached.swap(word, Ordering::Relaxed) != word {
            self.pulse.beat();
        }
    }

    pub(crate) fn put_away(&self) {
        let _steady = lock(&self.steady);
        self.cached.store(STALE, Ordering::Relaxed);
        // Also if nothing was at hand: the era may have ended.
        self.pulse.beat();
    }

    /// Begins a new era: earlier reservations are not used again. The stamp is removed until the ticker runs again: a
    /// forked child has no ticker, so its stamp would never change.
    pub(crate) fn invalidate(&self) {
        lock(&self.steady).invalidate();
        self.put_away();
    }

    /// Takes in the ledger's answer to a question about its clock that was put at `asked` in `era`, and looks.
    pub(crate) fn hear(&self, said: Option<UnixMillis>, asked: MonoMillis, era: u64) -> Now {
        let answered = self.look().mono;
        lock(&self.steady).hear(Heard::new(said, asked, answered), era);
        self.look()
    }

    /// See [`Steady::start_at`].
    pub(crate) fn start_at(&self, mark: UnixMillis) -> bool {
        let allowed = lock(&self.steady).start_at(mark);
        self.look();
        allowed
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Some(ticker) = self.ticker.get() {
            ticker.unpark();
        }
    }
}
