//! Whether a table that is sharded by `id % n` fills its shards evenly.

use crate::clock::Stamp;
use crate::signal::Signal;

use super::*;

const START_MS: i64 = 1_700_000_000_000;
const IDS: i64 = 100_000;

/// `IDS` IDs, one every `every` milliseconds of a virtual clock.
fn one_every(every: i64, layout: &Layout, start: Start) -> Vec<u64> {
    let stream = Stream::new(layout.clone(), start, 10, 42, Arc::<Signal>::default());
    let window = START_MS.unsigned_abs()..(START_MS + IDS * every + 1_000_000).unsigned_abs();
    stream.own(3, window.start, window.end, 0);
    // The window's first tick may be cut off.
    let first = START_MS + i64::try_from(layout.tick_millis()).unwrap();
    let stamps = (0..IDS).map(|n| Stamp::new(0, UnixMillis::new(first + n * every)));
    stamps
        .map(|stamp| {
            let (position, worker) = stream.draw_one(stamp).expect("one ID never waits");
            layout.place(position, worker)
        })
        .collect()
}

/// The chi-squared statistic of `id % shards` against an even spread, and what it exceeds once in 10,000 where the
/// spread is even (Wilson and Hilferty 1931).
#[expect(clippy::cast_precision_loss, reason = "a statistic")]
fn chi_squared(ids: &[u64], shards: u64) -> (f64, f64) {
    let mut counts = vec![0_u32; usize::try_from(shards).unwrap()];
    for id in ids {
        counts[usize::try_from(id % shards).unwrap()] += 1;
    }
    let expected = ids.len() as f64 / shards as f64;
    let statistic = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let freedom = (shards - 1) as f64;
    let part = 2.0 / (9.0 * freedom);
    (statistic, freedom * (3.719 * part.sqrt() + 1.0 - part).powi(3))
}

fn spread_evenly(ids: &[u64]) {
    for shards in [2, 8, 1024] {
        let (statistic, limit) = chi_squared(ids, shards);
        assert!(statistic < limit, "id % {shards}: {statistic} is over {limit}");
    }
}

fn second() -> Layout {
    "time:32 worker:9 sequence:22 tick=1s epoch=2020-01-01T00:00:00.000Z".parse().unwrap()
}

#[test]
fn ids_that_are_minted_one_a_millisecond_spread_evenly_by_default() {
    let start = Stream::default_start(&Layout::TWITTER, 10);
    assert_eq!(start, Start::Rolling);
    spread_evenly(&one_every(1, &Layout::TWITTER, start));
    spread_evenly(&one_every(7, &Layout::TWITTER, start));
}

#[test]
fn they_do_not_where_every_tick_begins_at_zero() {
    let ids = one_every(1, &Layout::TWITTER, Start::Zero);
    for shards in [2, 8, 1024] {
        let (statistic, limit) = chi_squared(&ids, shards);
        assert!(statistic > 1_000.0 * limit, "id % {shards}: {statistic} ought to be far over {limit}");
    }
}

#[test]
fn they_do_on_ticks_of_a_second_that_begin_at_random() {
    let layout = second();
    let start = Stream::default_start(&layout, 10);
    assert_eq!(start, Start::Random(1 << 16), "such a tick cannot be run ahead of");
    spread_evenly(&one_every(1, &layout, start));
    // One a tick: the start is all there is.
    spread_evenly(&one_every(1_000, &layout, start));
}

#[test]
fn the_check_finds_a_shard_with_a_tenth_more() {
    let even = (0..100_000_u64).map(|n| if n % 20 == 1 { n - 1 } else { n }).collect::<Vec<_>>();
    let (statistic, limit) = chi_squared(&even, 2);
    assert!(statistic > limit, "{statistic} ought to be over {limit}");
}
