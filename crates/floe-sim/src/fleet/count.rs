//! Counters that take the place of a history.

use std::collections::BTreeMap;

/// The events of each second, or the counts of each sample.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Peaks {
    /// The sum of all.
    pub sum: u64,
    /// The number of seconds or samples.
    pub over: u64,
    /// The largest.
    pub peak: u64,
}

impl Peaks {
    /// The mean in thousandths, rounded down; 0 if there is nothing.
    pub fn mean_milli(&self) -> u64 {
        milli(self.sum, self.over)
    }

    pub(super) fn add(&mut self, number: u64) {
        self.sum += number;
        self.over += 1;
        self.peak = self.peak.max(number);
    }
}

/// How often each number was seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spread(BTreeMap<u64, u64>);

impl Spread {
    pub(super) fn add(&mut self, number: u64) {
        *self.0.entry(number).or_default() += 1;
    }

    /// How many numbers were seen.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The mean in thousandths, rounded down; 0 if there is nothing.
    pub fn mean_milli(&self) -> u64 {
        milli(self.0.iter().map(|(number, times)| number * times).sum(), self.count())
    }

    /// The smallest number that at most one in a hundred exceeds; 0 if there is nothing.
    pub fn percentile_99(&self) -> u64 {
        let (all, mut seen) = (self.count(), 0);
        let reaches = |(_, times): &(&u64, &u64)| {
            seen += **times;
            seen * 100 >= all * 99
        };
        self.0.iter().find(reaches).map_or(0, |(number, _)| *number)
    }

    /// The largest.
    pub fn most(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(number, _)| *number)
    }
}

fn milli(sum: u64, over: u64) -> u64 {
    sum.saturating_mul(1_000).checked_div(over).unwrap_or(0)
}

/// Events, counted by second.
#[derive(Default)]
pub(super) struct Seconds(Vec<u32>);

impl Seconds {
    pub(super) fn add(&mut self, at_ms: u64) {
        let second = narrow(at_ms / 1_000);
        if self.0.len() <= second {
            self.0.resize(second + 1, 0);
        }
        self.0[second] += 1;
    }

    /// The whole seconds that begin in `[from, to)`, including those without an event.
    pub(super) fn between(&self, from_ms: u64, to_ms: u64) -> Peaks {
        let mut peaks = Peaks::default();
        for second in from_ms.div_ceil(1_000)..to_ms / 1_000 {
            peaks.add(self.0.get(narrow(second)).copied().unwrap_or(0).into());
        }
        peaks
    }
}

pub(super) fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn narrow(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Seconds, Spread};

    #[test]
    fn a_spread_knows_its_mean_and_its_tail() {
        let mut spread = Spread::default();
        assert_eq!(
            (spread.count(), spread.mean_milli(), spread.percentile_99(), spread.most()),
            (0, 0, 0, 0)
        );
        (0..98).for_each(|_| spread.add(1));
        spread.add(7);
        spread.add(95);
        assert_eq!(
            (spread.count(), spread.mean_milli(), spread.percentile_99(), spread.most()),
            (100, 2_000, 7, 95)
        );
    }

    #[test]
    fn seconds_without_an_event_count() {
        let mut seconds = Seconds::default();
        for at in [999, 1_000, 1_999, 3_000, 3_999, 3_500, 4_000] {
            seconds.add(at);
        }
        let peaks = seconds.between(1_000, 4_000);
        assert_eq!((peaks.sum, peaks.over, peaks.peak, peaks.mean_milli()), (5, 3, 3, 1_666));
        assert_eq!(seconds.between(4_000, 9_000).over, 5);
    }
}
