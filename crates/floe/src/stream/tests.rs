//! Whether a table that is sharded by `id % n` fills its shards evenly, and how far ahead of the clock a draw may reach.

use std::collections::BTreeSet;

use crate::Id;
use crate::clock::Stamp;
use crate::signal::Signal;

use super::*;

const START_MS: i64 = 1_700_000_000_000;
const IDS: i64 = 100_000;

#[test]
fn the_sequence_rolls_where_the_stream_may_run_a_tick_ahead() {
    assert_eq!(Stream::default_start(&Layout::TWITTER, 1), Start::Rolling);
    assert_eq!(Stream::default_start(&Layout::TWITTER, 0), Start::Random(64));
    assert_eq!(Stream::default_start(&quarter(), 0), Start::Random(1), "its ticks have fewer than 64");
    for (ahead_ms, layout, may) in [
        (0, Layout::TWITTER, false),
        (1, Layout::TWITTER, true),
        (999, second(), false),
        (1_000, second(), true),
    ] {
        let checked = Stream::check_start(&layout, Start::Rolling, ahead_ms);
        assert_eq!(checked.is_ok(), may, "{layout}, {ahead_ms} ms ahead: {checked:?}");
    }
}

#[test]
fn a_start_is_read_from_its_own_text_and_from_no_other() {
    for start in [Start::Zero, Start::Rolling, Start::Random(1), Start::Random(u64::MAX)] {
        assert_eq!(start.to_string().parse(), Ok(start));
    }
    for text in
        ["", "Zero", "rolling ", "random", "random:", "random:0", "random:-1", "rolling:1", "ramdom:1"]
    {
        let read = text.parse::<Start>();
        assert!(read.is_err(), "{text}: {read:?}");
    }
}

/// Four IDs a tick.
fn quarter() -> Layout {
    "time:41 worker:10 sequence:2 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse().unwrap()
}

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
            let id: Id = stream.mint_one(stamp).expect("one ID never waits");
            id.get()
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

#[test]
fn a_random_start_is_below_its_bound_which_is_what_a_tick_has_at_most() {
    let layout = quarter();
    for below in 1..=4 {
        assert_eq!(Stream::check_start(&layout, Start::Random(below), 0), Ok(()));
        let ids = one_every(1, &layout, Start::Random(below));
        let begun: BTreeSet<u64> = ids.iter().map(|id| id % 4).collect();
        assert_eq!(begun, (0..below).collect());
    }
    assert!(Stream::check_start(&layout, Start::Random(5), 0).is_err());
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

/// Worker 0 too, which a closed stream looks like.
#[test]
fn a_stream_that_is_opened_again_begins_with_a_new_tick() {
    for worker in [0, 3] {
        let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
        let (now, stamp) = (START_MS.unsigned_abs(), Stamp::new(0, UnixMillis::new(START_MS)));
        let ticks = [(); 2].map(|()| {
            stream.own(worker, now, now + 1_000, 0);
            let id: Id = stream.mint_one(stamp).unwrap();
            stream.close();
            stream.layout.split(id.to_u128()).unwrap().tick
        });
        assert!(ticks[0] < ticks[1], "worker {worker}: {ticks:?}");
    }
}

/// A burst loses nothing but the beginning of its first tick.
#[test]
fn a_tick_that_follows_a_full_one_is_full_whatever_its_start() {
    for start in [Start::Zero, Start::Random(4), Start::Rolling] {
        let stream = Stream::new(quarter(), start, 0, 42, Arc::<Signal>::default());
        stream.own(3, START_MS.unsigned_abs(), (START_MS + 1_000).unsigned_abs(), 0);
        let burst = |later| {
            let stamp = Stamp::new(0, UnixMillis::new(START_MS + later));
            std::iter::from_fn(|| stream.mint_one::<Id>(stamp)).count()
        };
        burst(0);
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(burst), [4; 8], "{start}");
    }
}

/// The first outputs of SplitMix64 from the seed 1234567, as Rosetta Code has them.
#[test]
fn what_ticks_begin_at_is_as_random_as_split_mix_64() {
    // It counts the seed up after an output, and not before.
    let seed = 1_234_567_u64.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let stream = Stream::new(Layout::TWITTER, Start::Rolling, 10, seed, Arc::<Signal>::default());
    assert_eq!(
        [(); 5].map(|()| stream.random()),
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821
        ]
    );
}

#[test]
fn a_renewal_goes_on_behind_the_last_id() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let (now, stamp) = (START_MS.unsigned_abs(), Stamp::new(0, UnixMillis::new(START_MS)));
    let first = stream.layout.position_at(stamp.time()).unwrap();
    for more in 0..3 {
        stream.own(3, now, now + 1_000 + more, 0);
        let id: Id = stream.mint_one(stamp).unwrap();
        assert_eq!(id.get(), stream.layout.place(first + more, 3));
    }
}

/// A new worker's first tick is no later than it has to be.
#[test]
fn another_worker_begins_in_the_tick_behind_a_full_one() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let (now, stamp) = (START_MS.unsigned_abs(), Stamp::new(0, UnixMillis::new(START_MS)));
    stream.own(3, now, now + 1_000, 0);
    assert!(matches!(stream.draw(stamp, 4_096, true, 0), Ok(Draw::Got(_))));
    stream.own(2, now, now + 1_000, 0);
    let id: Id = stream.mint_one(stamp).unwrap();
    let parts = stream.layout.split(id.to_u128()).unwrap();
    assert_eq!((parts.time, parts.worker), (UnixMillis::new(START_MS + 1), 2));
}

#[test]
fn behind_the_last_position_of_a_layout_another_worker_finds_it_used_up() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let last = Layout::TWITTER.time_of(Layout::TWITTER.ticks() - 1);
    let (end, stamp) = (last.plus(1).get().unsigned_abs(), Stamp::new(0, last));
    stream.own(3, end - 1_000, end, 0);
    assert!(matches!(stream.draw(stamp, 4_096, true, 0), Ok(Draw::Got(_))));
    for worker in [3, 2, 3] {
        stream.own(worker, end - 1_000, end, 0);
        let draw = stream.draw(stamp, 1, true, 0);
        assert!(matches!(draw, Err(MintError::Exhausted(_))), "{worker}: {draw:?}");
        stream.close();
    }
}

#[test]
fn a_layout_whose_last_position_was_drawn_ahead_of_the_clock_is_used_up_before_its_horizon() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let end = Layout::TWITTER.horizon().get().unsigned_abs();
    let stamp = Stamp::new(0, UnixMillis::new(Layout::TWITTER.horizon().get() - 5));
    stream.own(3, end - 1_000, end, 0);
    for tick in 0..5 {
        assert_eq!(stream.barred(stamp), None, "{tick}");
        assert!(matches!(stream.draw(stamp, 4_096, true, 0), Ok(Draw::Got(_))), "{tick}");
    }
    assert!(matches!(stream.barred(stamp), Some(MintError::Exhausted(_))));
    assert!(matches!(stream.draw(stamp, 1, true, 0), Err(MintError::Exhausted(_))));
}

/// By the short path. In a window that ends with the tick as well.
#[test]
fn one_id_leaves_a_lease_to_the_end_of_its_tick() {
    for ticks in [1, 1_000] {
        for alone in [true, false] {
            let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
            let (now, stamp) = (START_MS.unsigned_abs(), Stamp::new(0, UnixMillis::new(START_MS)));
            stream.own(3, now, now + ticks, 0);
            if alone {
                assert!(matches!(stream.draw(stamp, 1, true, 0), Ok(Draw::Got(_))));
                stream.lease(stamp);
            } else {
                assert!(stream.mint_one::<Id>(stamp).is_some());
            }
            let leased = std::iter::from_fn(|| stream.mint_leased::<Id>(stamp)).count();
            assert_eq!(leased, 4_095, "{ticks} ticks");
        }
    }
}

/// Neither a draw nor a batch is a tick early.
#[test]
fn a_draw_reaches_exactly_as_far_as_may_be_run_ahead() {
    for (layout, ahead_ms, ticks) in
        [(Layout::TWITTER, 0, 0), (Layout::TWITTER, 1, 1), (Layout::TWITTER, 10, 10), (second(), 10, 0)]
    {
        let stream = Stream::new(layout.clone(), Start::Zero, ahead_ms, 42, Arc::<Signal>::default());
        let window = START_MS.unsigned_abs()..(START_MS + 100_000).unsigned_abs();
        stream.own(3, window.start, window.end, 0);
        let now = START_MS + 5_000;
        let stamp = Stamp::new(0, UnixMillis::new(now));
        let tick = layout.tick_at(stamp.time()).unwrap();
        let mut last = 0;
        let later = loop {
            match stream.draw(stamp, 1 << 40, false, 0).unwrap() {
                Draw::Got(Drawn { start, count, .. }) => last = start + count - 1,
                Draw::Later(position) => break position,
                Draw::NeedRange => panic!("the window lasts longer"),
            }
        };
        assert_eq!(
            layout.tick_of(last),
            tick + ticks,
            "{layout} {ahead_ms}: the last tick that may be minted in"
        );
        assert_eq!(layout.tick_of(later), tick + ticks + 1);
        assert_eq!(stream.due(last), layout.time_of(tick), "it is due now");
        assert_eq!(stream.due(later), layout.time_of(tick + 1), "and the next not before the next tick");
    }
}

/// As far as that, by the lease that the first of them leaves behind, and in a tick that the stamp has come to.
#[test]
fn ids_one_by_one_reach_as_far_as_a_draw() {
    for (ahead_ms, ticks) in [(0, 1), (1, 2), (10, 11)] {
        let stream = Stream::new(Layout::TWITTER, Start::Zero, ahead_ms, 42, Arc::<Signal>::default());
        stream.own(3, START_MS.unsigned_abs(), (START_MS + 100_000).unsigned_abs(), 0);
        for later in [0, 50] {
            let stamp = Stamp::new(0, UnixMillis::new(START_MS + later));
            let first = Layout::TWITTER.position_at(stamp.time()).unwrap();
            let minted: Vec<Id> = std::iter::from_fn(|| stream.mint_one(stamp)).collect();
            let all = first..first + ticks * Layout::TWITTER.per_tick();
            let all = all.map(|position| Layout::TWITTER.place(position, 3));
            assert!(minted.into_iter().map(Id::get).eq(all), "{ahead_ms} ms ahead, {later} ms later");
        }
    }
}

/// What a tick was drawn from is not given back, be it one position of it.
/// Nor does the lease that the last of them leaves behind reach further, or a minter that comes after it.
#[test]
fn what_follows_the_last_id_that_is_due_waits() {
    for ahead_ms in [0, 10] {
        let stream = Stream::new(Layout::TWITTER, Start::Zero, ahead_ms, 42, Arc::<Signal>::default());
        stream.own(3, START_MS.unsigned_abs(), (START_MS + 100_000).unsigned_abs(), 0);
        let all_but_one = (ahead_ms + 1) * Layout::TWITTER.per_tick() - 1;
        let at = |later| {
            let stamp = Stamp::new(0, UnixMillis::new(START_MS + later));
            assert!(matches!(stream.draw(stamp, all_but_one, true, 0), Ok(Draw::Got(_))));
            stamp
        };
        let stamp = at(0);
        assert_eq!(std::iter::from_fn(|| stream.mint_one::<Id>(stamp)).count(), 1, "{ahead_ms} ms ahead");
        let (stamp, mut chunk) = (at(50), Chunk::<Id>::new(&stream));
        assert_eq!(chunk.refill(&stream, stamp), Ok(None));
        assert!(chunk.take(&stream, stamp, None).is_some());
        assert!(matches!(chunk.refill(&stream, stamp), Ok(Some(Draw::Later(_)))), "{ahead_ms} ms ahead");
    }
}

#[test]
fn closing_gives_back_from_the_first_tick_in_which_nothing_was_drawn() {
    for (count, ticks) in [(1, 1), (4_095, 1), (4_096, 1), (4_097, 2)] {
        let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
        let now = START_MS.unsigned_abs();
        stream.own(3, now, now + 1_000, 0);
        let draw = stream.draw(Stamp::new(0, UnixMillis::new(START_MS)), count, true, 0);
        assert!(matches!(draw, Ok(Draw::Got(_))), "{draw:?}");
        assert_eq!(stream.close(), Some(UnixMillis::new(START_MS + ticks)), "{count}");
    }
}

/// The IDs of another worker begin with a tick of their own: the worker id stands above the sequence, and a smaller one
/// would make them smaller than the last ID.
#[test]
fn another_workers_ids_begin_in_a_tick_of_their_own() {
    for closed in [false, true] {
        let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
        let now = START_MS.unsigned_abs();
        let stamp = Stamp::new(0, UnixMillis::new(START_MS));
        let mint = || stream.mint_one::<Id>(stamp).unwrap();
        stream.own(3, now, now + 1_000, 0);
        let before = mint();
        if closed {
            stream.close();
        }
        stream.own(2, now, now + 1_000, 0);
        let after = mint();
        assert!(after > before, "{after} after {before}, closed: {closed}");
    }
}

/// Before the node learns of it: the stamp alone tells the minter.
#[test]
fn a_chunk_ends_with_its_era_and_with_its_time() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let now = START_MS.unsigned_abs();
    stream.own(3, now, now + 1_000, 0);
    let at = |era, millis| Stamp::new(era, UnixMillis::new(START_MS + millis));
    let mut chunk = Chunk::<Id>::new(&stream);
    while chunk.left() < 16 {
        while chunk.take(&stream, at(0, 0), None).is_some() {}
        assert_eq!(chunk.refill(&stream, at(0, 0)), Ok(None));
    }
    let by =
        |chunk: &mut Chunk<_>, stamp| chunk.take_by(&stream, || Ok::<_, MintError>((stamp, true))).unwrap().1;
    assert_ne!(chunk.take(&stream, at(0, 0), None), None);
    assert_eq!(chunk.take_again(), None, "the clock does not keep that stamp");
    assert_ne!(by(&mut chunk, at(0, 0)), None);
    let mut last = at(0, 0);
    let mut taken = |chunk: &mut Chunk<_>, stamp| {
        if stamp != last {
            // As the clock does.
            last = stamp;
            stream.shared.cursor.pulse().beat();
        }
        let (again, left) = (chunk.take_again(), chunk.left());
        assert_eq!(chunk.is_good(&stream, stamp), by(chunk, stamp).is_some());
        (again.is_some(), chunk.left() < left)
    };
    assert_eq!(taken(&mut chunk, at(0, 0)), (true, true));
    assert_eq!(taken(&mut chunk, at(0, 11)), (false, true), "a tick and what may be run ahead");
    assert_eq!(taken(&mut chunk, at(0, 11)), (true, true), "nothing has changed since");
    assert_eq!(taken(&mut chunk, at(0, 12)), (false, false), "a millisecond more");
    for millis in [-1_000, 0, 1, 11] {
        assert_eq!(taken(&mut chunk, at(1, millis)), (false, false), "a copy of the process has it as well");
    }
    assert_eq!(taken(&mut chunk, at(0, 11)), (false, true));
    stream.close();
    assert_eq!(taken(&mut chunk, at(0, 11)), (false, false), "it was closed");
}

/// The stamp that a call has read may be of the era before. The next call begins after that has ended.
#[test]
fn a_clock_that_changes_while_it_is_read_is_looked_at_by_the_next_call() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let now = START_MS.unsigned_abs();
    stream.own(3, now, now + 1_000, 0);
    let stamp = Stamp::new(0, UnixMillis::new(START_MS));
    let mut chunk = Chunk::<Id>::new(&stream);
    while chunk.left() < 4 {
        while chunk.take(&stream, stamp, None).is_some() {}
        assert_eq!(chunk.refill(&stream, stamp), Ok(None));
    }
    let read = || {
        stream.shared.cursor.pulse().beat();
        Ok::<_, MintError>((stamp, true))
    };
    assert!(chunk.take_by(&stream, read).unwrap().1.is_some());
    assert_eq!(chunk.take_again(), None);
}

/// What was drawn under another worker id is given up with it.
#[test]
fn a_chunk_has_the_worker_id_of_its_draw() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let (now, stamp) = (START_MS.unsigned_abs(), Stamp::new(0, UnixMillis::new(START_MS)));
    let mut chunk = Chunk::<Id>::new(&stream);
    for worker in [3, 2, 5] {
        stream.own(worker, now, now + 1_000, 0);
        assert_eq!(chunk.take(&stream, stamp, None), None);
        for _ in 0..3 {
            assert_eq!(chunk.refill(&stream, stamp), Ok(None));
            let id = chunk.take(&stream, stamp, None).unwrap();
            assert_eq!(Layout::TWITTER.split(id.get().into()).unwrap().worker, worker);
        }
    }
}

#[test]
fn a_chunk_that_is_drawn_before_the_last_one_expires_lasts_its_own_time() {
    let stream = Stream::new(Layout::TWITTER, Start::Zero, 10, 42, Arc::<Signal>::default());
    let at = |millis: u64| Stamp::new(0, UnixMillis::new(START_MS)).plus(millis);
    let now = START_MS.unsigned_abs();
    stream.own(3, now, now + 1_000, 0);
    let mut chunk = Chunk::<Id>::new(&stream);
    let [first, second] = [0, 1].map(|drawn| {
        assert_eq!(chunk.refill(&stream, at(drawn)), Ok(None));
        stream.expiry(at(drawn))
    });
    assert!(first < second && chunk.take(&stream, second, None).is_some());
    assert_eq!(chunk.take(&stream, second.plus(1), None), None);
}

/// Its IDs are made tick by tick, and those of the next tick end with the others.
#[test]
fn the_rest_of_a_chunk_in_the_next_tick_ends_with_its_era_and_with_its_time() {
    let layout: Layout =
        "time:41 worker:14 sequence:8 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    let at = |era, millis| Stamp::new(era, UnixMillis::new(START_MS + millis));
    let now = START_MS.unsigned_abs();
    for what in 0..5 {
        let stream = Stream::new(layout.clone(), Start::Zero, 10, 42, Arc::<Signal>::default());
        stream.own(3, now, now + 1_000, 0);
        let mut chunk = Chunk::<Id>::new(&stream);
        stream.mint_one::<Id>(at(0, 0)).unwrap();
        while !chunk.in_hand.is_empty() || chunk.next == chunk.end {
            if chunk.take(&stream, at(0, 0), None).is_none() {
                assert_eq!(chunk.refill(&stream, at(0, 0)), Ok(None));
                chunk.take(&stream, at(0, 0), None).unwrap();
            }
        }
        match what {
            0 => stream.own(2, now, now + 1_000, 0),
            1 => drop(stream.close()),
            // At the last moment: that begins no time of its own.
            4 => assert!(chunk.take(&stream, at(0, 11), None).is_some()),
            _ => {}
        }
        let stamp = [at(0, 0), at(0, 0), at(1, 0), at(0, 12), at(0, 12)][what];
        assert_eq!(chunk.take(&stream, stamp, None), None, "{what}");
        let size = chunk.size;
        let _ = chunk.refill(&stream, stamp);
        assert_eq!(chunk.size, (size / 2).max(1), "{what}: fewer are drawn where some went stale");
    }
}

/// A chunk that was given up leaves nothing behind for the next one, and one that lies in two ticks gives its IDs as they lie there.
#[test]
fn a_chunk_gives_the_ids_of_its_positions_and_no_others() {
    // Where the clock keeps no stamp, each ID is looked for anew.
    for kept in [true, false] {
        chunks_give_the_ids_of_their_positions(kept);
    }
}

fn chunks_give_the_ids_of_their_positions(kept: bool) {
    let layout: Layout =
        "time:41 worker:14 sequence:8 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    let stream = Stream::new(layout, Start::Zero, 10, 42, Arc::<Signal>::default());
    let now = START_MS.unsigned_abs();
    stream.own(3, now, now + 1_000, 0);
    let stamp = Stamp::new(0, UnixMillis::new(START_MS));
    let (placer, first) = (placer::<Id>(&stream.layout, 3), stream.layout.position_at(stamp.time()).unwrap());
    let take =
        |chunk: &mut Chunk<Id>| chunk.take_by(&stream, || Ok::<_, MintError>((stamp, kept))).unwrap().1;
    let mut alone = Chunk::<Id>::new(&stream);
    let nothing_is_lost = (first..first + 600).all(|position| {
        let mut taken = || alone.take_again().or_else(|| take(&mut alone));
        let id = taken().or_else(|| {
            assert_eq!(alone.refill(&stream, stamp), Ok(None));
            take(&mut alone)
        });
        id == Some(placer.place(position))
    });
    assert!(nothing_is_lost, "also where a chunk lies in two ticks");
    let (mut chunk, mut other) = (Chunk::<Id>::new(&stream), Chunk::<Id>::new(&stream));
    let mut ids = Vec::new();
    let mut minted = 0;
    while ids.len() < 600 {
        for chunk in [&mut chunk, &mut other] {
            // Every third time what is left is given up.
            minted += 1;
            if minted % 3 > 0
                && let Some(id) = chunk.take_again().or_else(|| take(chunk))
            {
                ids.push(id);
            } else {
                assert_eq!(chunk.refill(&stream, stamp), Ok(None));
            }
        }
    }
    let end = stream.shared.cursor.next().unwrap();
    let own: Vec<Id> = (first..end).map(|position| placer.place(position)).collect();
    assert!(ids.iter().all(|id| own.binary_search(id).is_ok()), "each was drawn");
    assert!(stream.layout.tick_of(end) > stream.layout.tick_of(first) + 1, "they lie in several ticks");
    ids.sort_unstable();
    assert!(ids.is_sorted_by(|one, next| one < next), "each once");
}

/// What is discarded of a chunk when it grows old is small, however many IDs there are in a tick.
#[test]
fn a_chunk_has_two_positions_at_first_and_256_at_most_and_a_sixteenth_of_a_tick() {
    for (layout, most) in [
        (second(), 256),
        (Layout::TWITTER, 256),
        ("time:41 worker:14 sequence:8 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse().unwrap(), 16),
        (quarter(), 1),
    ] {
        let stream = Stream::new(layout, Start::Zero, 10_000, 42, Arc::<Signal>::default());
        let now = START_MS.unsigned_abs();
        stream.own(3, now, now + 1_000_000, 0);
        let stamp = Stamp::new(0, UnixMillis::new(START_MS));
        let mut chunk = Chunk::<Id>::new(&stream);
        let sizes: Vec<u64> = (0..12)
            .map(|_| {
                while chunk.take(&stream, stamp, None).is_some() {}
                assert_eq!(chunk.refill(&stream, stamp), Ok(None));
                chunk.left()
            })
            .collect();
        let doubled: Vec<u64> = (1..=12).map(|times| (1 << times).min(most)).collect();
        assert_eq!(sizes, doubled, "{}", stream.layout);
    }
}
