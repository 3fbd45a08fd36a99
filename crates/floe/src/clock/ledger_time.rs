//! What is known of the ledger's clock: its last answer, extrapolated by the monotonic clock.

use crate::time::{MonoMillis, UnixMillis};

/// Clocks that are further apart than this do not agree.
pub(crate) const APART_MS: u64 = 10_000;

/// What the ledger has said about its clock in this era.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Heard {
    /// It has not answered.
    #[default]
    Nothing,
    /// It had none to tell of, at this time.
    NoClock(MonoMillis),
    /// What it showed.
    Time(LedgerTime),
}

/// One answer. The ledger read its clock at some time between the question and the answer, so what it shows is known
/// within the length of the call, now as well as then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LedgerTime {
    said: UnixMillis,
    asked: MonoMillis,
    answered: MonoMillis,
}

impl Heard {
    /// The answer to a question, `None` if the ledger has no clock.
    pub(crate) fn new(said: Option<UnixMillis>, asked: MonoMillis, answered: MonoMillis) -> Self {
        said.map_or(Self::NoClock(answered), |said| Self::Time(LedgerTime { said, asked, answered }))
    }

    /// How long ago it answered; `None` if it has not.
    pub(crate) fn age(&self, now: MonoMillis) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::NoClock(answered) | Self::Time(LedgerTime { answered, .. }) => Some(now.since(*answered)),
        }
    }

    pub(crate) fn time(&self) -> Option<LedgerTime> {
        match self {
            Self::Time(time) => Some(*time),
            Self::Nothing | Self::NoClock(_) => None,
        }
    }
}

impl LedgerTime {
    /// How far `time` is ahead of the ledger's clock at `now`, in milliseconds; negative if it is behind. A
    /// difference that the length of the call can explain is not counted.
    fn distance(&self, time: UnixMillis, now: MonoMillis) -> i64 {
        let (least, most) = (self.shown(now.since(self.answered)), self.shown(now.since(self.asked)));
        time.since(most).max(0) + time.since(least).min(0)
    }

    /// [`LedgerTime::distance`], if it is more than two clocks may differ.
    pub(crate) fn apart(&self, time: UnixMillis, now: MonoMillis) -> Option<i64> {
        Some(self.distance(time, now)).filter(|distance| distance.unsigned_abs() > APART_MS)
    }

    /// How far `time` is ahead of the ledger's clock at `now`, if that was read in the middle of the call.
    pub(crate) fn offset(&self, time: UnixMillis, now: MonoMillis) -> i64 {
        let half = self.answered.since(self.asked) / 2;
        time.since(self.shown(now.since(self.asked.plus(half))))
    }

    fn shown(&self, elapsed: u64) -> UnixMillis {
        self.said.plus(i64::try_from(elapsed).unwrap_or(i64::MAX))
    }
}
