//! A histogram of durations that is observed without a lock: on a busy connection every read of the socket is one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// The least bound; each of the others is twice the one before it: 10 us to 5 s.
const FIRST_NANOS: u64 = 10_000;
const BOUNDS: usize = 20;

/// See the module. Clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// How many lie between each bound and the one before it; the last place is for all that are longer.
    buckets: [AtomicU64; BOUNDS + 1],
    nanos: AtomicU64,
}

impl Durations {
    pub(super) fn observe(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.0.buckets.get(bucket(nanos)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.0.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// The place of the first bound that is not below `nanos`.
fn bucket(nanos: u64) -> usize {
    let firsts = nanos.div_ceil(FIRST_NANOS).max(1);
    let doublings = u64::BITS - (firsts - 1).leading_zeros();
    usize::try_from(doublings).unwrap_or(BOUNDS).min(BOUNDS)
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let bounds = std::iter::successors(Some(FIRST_NANOS), |bound| bound.checked_mul(2)).take(BOUNDS);
        let bounds = bounds.map(|nanos| Duration::from_nanos(nanos).as_secs_f64()).chain([f64::INFINITY]);
        let counts = self.0.buckets.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<_> = bounds.zip(counts).collect();
        let sum = Duration::from_nanos(self.0.nanos.load(Ordering::Relaxed)).as_secs_f64();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_is_past_the_last_is_counted_too() {
        for (nanos, expected) in [
            (0, 0),
            (1, 0),
            (10_000, 0),
            (10_001, 1),
            (20_000, 1),
            (20_001, 2),
            (40_000, 2),
            (10_000 << 19, 19),
            ((10_000 << 19) + 1, 20),
            (u64::MAX, 20),
        ] {
            assert_eq!(bucket(nanos), expected, "{nanos} ns");
        }
        let durations = Durations::default();
        [1, 30, 30, 3_600_000_000]
            .into_iter()
            .for_each(|micros| durations.observe(Duration::from_micros(micros)));
        let counts: Vec<u64> =
            durations.0.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        assert_eq!((counts[0], counts[2], counts[20], counts.iter().sum()), (1, 2, 1, 4));
    }
}
