//! How long to wait before another try. Whoever waits together, as the nodes of a fleet after an outage, does not come
//! back together.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Pauses that double from the first to the longest one.
pub(crate) struct Pauses {
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Pauses {
    /// The pause after this many failures before the last one, spread by `random`.
    pub(crate) fn after(&self, failures: u32, random: u32) -> Duration {
        spread((self.first * (1 << failures.min(8))).min(self.longest), random)
    }
}

/// Between half and the whole of `most`. `random` chooses the point between.
pub(crate) fn spread(most: Duration, random: u32) -> Duration {
    most / 2 + most / 2048 * (random % 1024)
}

/// Only fairness depends on this randomness.
pub(crate) fn random() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(0).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_differ_by_up_to_half() {
        let [first, longest] = [20, 500].map(Duration::from_millis);
        let pauses = Pauses { first, longest };
        let most = [20, 40, 80, 160, 320, 500, 500].map(Duration::from_millis);
        for (failures, most) in (0..).zip(most).chain([(31, longest), (32, longest), (u32::MAX, longest)]) {
            let all: Vec<_> = (0..1024).map(|random| pauses.after(failures, random)).collect();
            assert!(all.is_sorted_by(|a, b| a < b), "{failures}");
            let (first, last) = (all[0], all[1023]);
            assert_eq!(first, most / 2);
            assert!(last <= most && last > most / 100 * 99, "{failures}: {last:?} of {most:?}");
            assert_eq!(pauses.after(failures, u32::MAX), last);
        }
    }

    #[test]
    fn who_waits_together_does_not_wake_together() {
        let all: Vec<_> = (0..100).map(|_| random() % 1024).collect();
        assert!(all.iter().any(|random| *random != all[0]), "{all:?}");
    }
}
