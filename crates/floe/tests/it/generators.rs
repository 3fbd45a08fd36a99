//! Snowflake generators under many threads: unique over all, increasing as contract 2 says.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::ledger::Memory;
use floe::{
    Definition, Floe, Generator, Id, Layout, MintError, Name, NameOptions, Outcome, Start, WideId,
    WorkerChoice,
};

use crate::checker::{Returned, increasing_and_unique, unique};
use crate::executor::block_on;

const THREADS: u64 = 4;

fn layout(text: &str) -> Layout {
    format!("{text} epoch=2020-01-01T00:00:00.000Z").parse().unwrap()
}

/// 2^20 IDs a millisecond: minting never waits for the clock.
fn roomy() -> Layout {
    layout("time:41 worker:2 sequence:20 tick=1ms")
}

/// A floe whose callers have the patience for ticks of a second on a busy machine.
fn patient() -> Floe {
    Floe::builder().max_wait(Duration::from_secs(20)).open(Memory::default()).unwrap()
}

fn from_threads(threads: u64, mint: impl Fn(u64) -> Vec<Id> + Send + Sync + 'static) -> Vec<Vec<Id>> {
    let mint = Arc::new(mint);
    let threads: Vec<_> = (0..threads)
        .map(|thread| {
            let mint = Arc::clone(&mint);
            thread::spawn(move || mint(thread))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// `count` IDs of one generator from four threads, by `mint` alone.
fn all_hold(layout: Layout, count: u64) {
    let floe = patient();
    let orders = floe.snowflake("orders", layout).unwrap();
    let each = count / THREADS;
    let (generator, returned) = (orders.clone(), Returned::default());
    let lists = from_threads(THREADS, move |_| {
        (0..each).map(|_| returned.check(|| generator.mint().unwrap())).collect()
    });
    assert_eq!(increasing_and_unique(&lists), each * THREADS);
    let workers = lists.iter().filter_map(|list| list.last());
    assert!(workers.clone().all(|&id| orders.inspect(id).is_ok()) && workers.count() == 4);
}

#[test]
fn ten_million_ids_from_four_threads_are_unique_and_increase() {
    all_hold(roomy(), 10_000_000);
}

#[test]
fn so_they_do_where_the_sequence_has_two_bits() {
    all_hold(layout("time:41 worker:10 sequence:2 tick=1ms"), 20_000);
}

#[test]
fn so_they_do_on_ticks_of_ten_milliseconds() {
    all_hold(layout("time:38 worker:4 sequence:21 tick=10ms"), 1_000_000);
}

#[test]
fn so_they_do_on_ticks_of_a_second() {
    all_hold(layout("time:32 worker:4 sequence:24 tick=1s"), 1_000_000);
}

#[test]
fn so_they_do_on_every_start() {
    for start in [Start::Zero, Start::Random(100), Start::Rolling] {
        let floe = patient();
        let definition = Definition::Snowflake { layout: Layout::TWITTER, own: false };
        let options = NameOptions { start: Some(start), ..NameOptions::default() };
        let orders = snowflake(&floe, "orders", &definition, &options);
        let returned = Returned::default();
        let lists = from_threads(THREADS, move |_| {
            (0..20_000).map(|_| returned.check(|| orders.mint().unwrap())).collect()
        });
        assert_eq!(increasing_and_unique(&lists), 20_000 * THREADS, "{start}");
    }
}

fn snowflake(floe: &Floe, name: &str, definition: &Definition, options: &NameOptions) -> Generator {
    floe.define(&Name::new(name).unwrap(), definition, options).unwrap().get().cloned().unwrap()
}

/// `try_mint` until it has one.
fn try_until_minted(generator: &Generator) -> Id {
    loop {
        match generator.try_mint().unwrap() {
            Outcome::Ready(id) => return id,
            Outcome::WaitUntil(_) | Outcome::NeedWindow => thread::yield_now(),
        }
    }
}

#[test]
fn every_way_to_mint_draws_from_the_same_ids() {
    let floe = patient();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let returned = Returned::default();
    let each = 5_000;
    let lists = from_threads(6, move |thread| match thread {
        0 => (0..each).map(|_| returned.check(|| orders.mint().unwrap())).collect(),
        1 => (0..each).map(|_| returned.check(|| try_until_minted(&orders))).collect(),
        2 => (0..each).map(|_| returned.check(|| block_on(orders.mint_async()).unwrap())).collect(),
        3 => (0..each / 50).flat_map(|_| orders.mint_many(50).unwrap()).collect(),
        4 => (0..each / 50).flat_map(|_| block_on(orders.mint_many_async(50)).unwrap()).collect(),
        _ => {
            let mut minter = orders.minter();
            (0..each).map(|_| minter.mint().unwrap()).collect()
        }
    });
    assert_eq!(increasing_and_unique(&lists), 6 * each);
}

/// So whoever takes IDs of two names in turn finds the numbers of one in half of 64 shards, unless it has a generator of its own.
#[test]
fn names_that_share_a_generator_take_its_numbers_in_turn() {
    for (own, shards) in [(false, 32), (true, 64)] {
        let floe = patient();
        let definition = Definition::Snowflake { layout: Layout::TWITTER, own };
        let orders = snowflake(&floe, "orders", &definition, &NameOptions::default());
        let invoices = floe.snowflake("invoices", Layout::TWITTER).unwrap();
        let in_turn = (0..64).map(|_| {
            let order = orders.mint().unwrap();
            invoices.mint().unwrap();
            order.get() % 64
        });
        assert_eq!(in_turn.collect::<HashSet<_>>().len(), shards, "a generator of its own: {own}");
    }
}

#[test]
fn names_that_share_a_layout_share_uniqueness_and_order() {
    let floe = patient();
    let names = ["orders", "users", "events"].map(|name| floe.snowflake(name, Layout::TWITTER).unwrap());
    let returned = Returned::default();
    let lists = from_threads(3, move |thread| {
        let generator = names.iter().cycle().nth(usize::try_from(thread).unwrap()).unwrap();
        (0..20_000).map(|_| returned.check(|| generator.mint().unwrap())).collect()
    });
    assert_eq!(increasing_and_unique(&lists), 60_000);
}

#[test]
fn a_name_of_its_own_mints_apart_from_the_others_of_its_layout() {
    let floe = patient();
    let layout = layout("time:32 worker:4 sequence:12 tick=1s");
    let options = NameOptions { start: Some(Start::Zero), ..NameOptions::default() };
    let definition = |own| Definition::Snowflake { layout: layout.clone(), own };
    let shared = ["orders", "users"].map(|name| snowflake(&floe, name, &definition(false), &options));
    let own = snowflake(&floe, "sessions", &definition(true), &options);
    let mut ids: Vec<_> = shared.iter().map(|generator| generator.mint().unwrap()).collect();
    let mut own_ids = Vec::new();
    // Both begin a tick at 0, so they meet as soon as both mint in one tick.
    for _ in 0..10_000 {
        ids.extend(shared.iter().map(|generator| generator.mint().unwrap()));
        own_ids.push(own.mint().unwrap());
        if own_ids.iter().any(|id| ids.contains(id)) {
            break;
        }
    }
    assert!(own_ids.iter().any(|id| ids.contains(id)), "sessions mints from a sequence of its own");
    unique(ids);
    unique(own_ids);
}

#[test]
fn floes_on_one_ledger_and_lives_after_lives_share_uniqueness() {
    let ledger = Arc::new(Memory::default());
    let lists = from_threads(3, move |_| {
        let mut ids = Vec::new();
        for _ in 0..5 {
            let floe = Floe::builder().max_wait(Duration::from_secs(20)).open(Arc::clone(&ledger)).unwrap();
            let orders = floe.snowflake("orders", layout("time:41 worker:3 sequence:12 tick=1ms")).unwrap();
            ids.extend((0..2_000).map(|_| orders.mint().unwrap()));
        }
        ids
    });
    unique(lists.concat());
}

#[test]
fn ids_go_on_increasing_over_invalidate() {
    let floe = patient();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let mut minter = orders.minter();
    let returned = Returned::default();
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.extend((0..100).map(|_| returned.check(|| orders.mint().unwrap())));
        ids.extend((0..100).map(|_| returned.check(|| minter.mint().unwrap())));
        floe.invalidate();
    }
    unique(ids);
}

/// Most are drawn by a lease, which every invalidation ends.
#[test]
fn threads_go_on_increasing_beside_many_invalidations() {
    let floe = patient();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let tickets = floe.segment("tickets").unwrap();
    let minters = AtomicUsize::new(4);
    let minting = |mint: &dyn Fn() -> Id| {
        let minted = (0..200_000).map(|_| mint()).collect::<Vec<_>>();
        minters.fetch_sub(1, Ordering::Relaxed);
        minted
    };
    let (ids, numbers, invalidations) = thread::scope(|scope| {
        let ids = [(); 2].map(|()| scope.spawn(|| minting(&|| orders.mint().unwrap())));
        let numbers = [(); 2].map(|()| scope.spawn(|| minting(&|| tickets.mint().unwrap())));
        let mut invalidations = 0;
        // Each takes a worker slot, and the layout has 1,024.
        while minters.load(Ordering::Relaxed) > 0 && invalidations < 500 {
            floe.invalidate();
            orders.mint().unwrap();
            invalidations += 1;
        }
        (
            ids.map(|minter| minter.join().unwrap()),
            numbers.map(|minter| minter.join().unwrap()),
            invalidations,
        )
    });
    assert!(invalidations > 3, "{invalidations}");
    for lists in [&ids, &numbers] {
        assert_eq!(increasing_and_unique(lists), 400_000);
    }
}

#[test]
fn a_batch_as_large_as_they_come_is_minted() {
    let floe = Floe::builder().max_wait(Duration::from_millis(300)).open(Memory::default()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    orders.mint().unwrap();
    let most = orders.max_batch();
    assert_eq!(most, 300 * 4096, "what comes due within max_wait");
    let batch = orders.mint_many(most).unwrap();
    assert_eq!(increasing_and_unique(&[batch.collect()]), most);
    for wrong in [0, most + 1] {
        assert_eq!(orders.mint_many(wrong).unwrap_err(), MintError::Count { asked: wrong, max: most });
        assert_eq!(orders.try_mint_many(wrong).unwrap_err(), MintError::Count { asked: wrong, max: most });
    }
}

#[test]
fn slices_are_filled_beside_every_other_way_to_mint() {
    for (layout, count) in [(roomy(), 100_000), (Layout::TWITTER, 2_000)] {
        let floe = patient();
        let orders = floe.snowflake("orders", layout).unwrap();
        let lists = from_threads(THREADS, move |thread| match thread {
            0 => (0..count).map(|_| orders.mint().unwrap()).collect(),
            1 => orders.mint_many(count).unwrap().collect(),
            _ => {
                let mut ids = vec![Id::MAX; usize::try_from(count).unwrap()];
                // Slices of many lengths, which end within ticks and behind them.
                let (first, second) = ids.split_at_mut(7);
                orders.fill(first).unwrap();
                second.chunks_mut(1_234).for_each(|chunk| orders.fill(chunk).unwrap());
                ids
            }
        });
        assert_eq!(increasing_and_unique(&lists), THREADS * count);
    }
}

#[test]
fn a_slice_that_cannot_be_filled_is_not_touched() {
    let floe = Floe::builder().max_wait(Duration::from_millis(300)).open(Memory::default()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let max = orders.max_batch();
    let mark = Id::try_from(42_u64).unwrap();
    let mut ids = vec![mark; usize::try_from(max + 1).unwrap()];
    assert_eq!(orders.fill(&mut ids), Err(MintError::Count { asked: max + 1, max }));
    orders.fill(&mut []).unwrap();
    floe.close();
    assert!(matches!(orders.fill(&mut ids[..100]), Err(MintError::Stopped(_))));
    assert!(ids.iter().all(|id| *id == mark));
}

#[test]
fn wide_ids_fill_a_slice() {
    let floe = patient();
    let orders = floe.wide_snowflake("orders", Layout::GAME).unwrap();
    let before = orders.mint().unwrap();
    let mut ids = [WideId::MAX; 100];
    orders.fill(&mut ids).unwrap();
    assert!(before < ids[0] && ids.is_sorted_by(|one, next| one < next));
    assert!(ids.iter().all(|id| orders.inspect(*id).is_ok()));
}

/// A batch of more might fit no window that is renewed before its end.
#[test]
fn a_batch_holds_no_more_than_half_a_window() {
    let builder = Floe::builder().window(Duration::from_secs(2)).max_wait(Duration::from_secs(10));
    let floe = builder.open(Memory::default()).unwrap();
    assert_eq!(floe.snowflake("orders", Layout::TWITTER).unwrap().max_batch(), 1_000 * 4096);
}

#[test]
fn a_process_that_mints_one_id_and_ends_does_not_mint_even_ids_alone() {
    let odd = |_: &u32| {
        let floe = patient();
        floe.snowflake("orders", Layout::TWITTER).unwrap().mint().unwrap().get() % 2 == 1
    };
    let odd = (0..64).filter(odd).count();
    assert!((8..=56).contains(&odd), "{odd} of 64 first IDs are odd: outside this once in 10^10 runs");
}

#[test]
fn a_closed_floe_mints_nothing_more() {
    let floe = patient();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let mut minter = orders.minter();
    for _ in 0..100 {
        minter.mint().unwrap();
    }
    floe.close();
    assert!(matches!(minter.mint(), Err(MintError::Stopped(_))), "not even what the minter held");
    assert!(matches!(orders.mint(), Err(MintError::Stopped(_))));
    assert!(matches!(orders.try_mint(), Err(MintError::Stopped(_))));
    assert!(matches!(orders.mint_many(2), Err(MintError::Stopped(_))));
    assert!(matches!(block_on(orders.mint_async()), Err(MintError::Stopped(_))));
}

#[test]
fn ticks_longer_than_any_caller_waits_are_minted_in_at_once_and_told_when_full() {
    // A tick of an hour that began a minute ago, and two IDs in each.
    let begin = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(2 * 3_600 + 60);
    let layout: Layout = format!("time:30 worker:4 sequence:1 tick=3600s epoch={begin:.0}").parse().unwrap();
    let floe = Floe::builder().max_wait(Duration::from_millis(200)).window(Duration::from_secs(3 * 3_600));
    let floe = floe.open(Memory::default()).unwrap();
    let orders = snowflake(
        &floe,
        "orders",
        &Definition::Snowflake { layout, own: false },
        &NameOptions { start: Some(Start::Zero), ..NameOptions::default() },
    );
    unique(vec![orders.mint().unwrap(), block_on(orders.mint_async()).unwrap()]);
    let batches = [orders.mint_many(2), block_on(orders.mint_many_async(2))];
    let of_batches = batches.map(|batch| batch.map(|mut ids| ids.next().unwrap()));
    for busy in [orders.mint(), block_on(orders.mint_async())].into_iter().chain(of_batches) {
        let Err(MintError::Busy { retry }) = busy else { panic!("{busy:?}") };
        assert!(retry > Duration::from_secs(60), "the next tick is far: {retry:?}");
    }
}

/// A window that begins within a tick holds the next one whole only if it is two ticks long.
#[test]
fn a_window_is_no_shorter_than_two_ticks_and_what_is_minted_ahead() {
    let snowflake =
        Definition::Snowflake { layout: layout("time:32 worker:10 sequence:21 tick=1s"), own: false };
    let options = NameOptions { max_ahead: Duration::from_millis(500), ..NameOptions::default() };
    for (window, fits) in [(2_499, false), (2_500, true)] {
        let floe = Floe::builder().window(Duration::from_millis(window)).open(Memory::default()).unwrap();
        let defined = floe.define(&Name::new("orders").unwrap(), &snowflake, &options);
        assert_eq!(defined.is_ok(), fits, "{window}");
        assert!(fits || defined.unwrap_err().to_string().contains("make it at least 2500 ms"));
    }
}

#[test]
fn names_that_share_a_generator_have_its_options_or_are_not_bound() {
    let (floe, late) = (patient(), Name::new("late").unwrap());
    let snowflake = |own| Definition::Snowflake { layout: Layout::TWITTER, own };
    let options = |start, ahead_ms| NameOptions {
        start: Some(start),
        max_ahead: Duration::from_millis(ahead_ms),
        ..NameOptions::default()
    };
    floe.define(&Name::new("orders").unwrap(), &snowflake(false), &options(Start::Zero, 10)).unwrap();
    for other in [options(Start::Rolling, 10), options(Start::Zero, 20)] {
        let refused = floe.define(&late, &snowflake(false), &other).unwrap_err().to_string();
        assert!(refused.contains("share its generator") && refused.contains("own = true"), "{refused}");
        assert_eq!(floe.stored(&late), Ok(None), "a binding is permanent");
    }
    floe.define(&late, &snowflake(true), &options(Start::Zero, 20)).unwrap();
}

/// Whatever is defined between them: the names of a layout differ from each other.
#[test]
fn a_generator_of_its_own_is_not_shared_with_later_names() {
    let (floe, _clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse().unwrap()).unwrap();
    let first = floe.snowflake("first", Layout::TWITTER).unwrap();
    let own = Definition::Snowflake { layout: Layout::TWITTER, own: true };
    floe.define(&Name::new("own").unwrap(), &own, &NameOptions::default()).unwrap();
    let second = floe.snowflake("second", Layout::TWITTER).unwrap();
    let ids: Vec<_> = (0..3).flat_map(|_| [first.mint().unwrap(), second.mint().unwrap()]).collect();
    assert!(ids.is_sorted_by(|before, after| before < after), "{ids:?}");
}

/// Two layouts may have the field that is pinned in different bits of the worker id.
#[test]
fn a_field_that_is_pinned_has_its_value_in_every_layout() {
    let pinned = WorkerChoice::Pinned([("datacenter".to_owned(), 3)].into());
    let floe =
        Floe::builder().worker(pinned).max_wait(Duration::from_secs(20)).open(Memory::default()).unwrap();
    for (name, layout) in
        [("high", Layout::TWITTER), ("low", layout("time:41 worker:5 datacenter:5 sequence:12 tick=1ms"))]
    {
        let generator = floe.snowflake(name, layout).unwrap();
        let worker = generator.inspect(generator.mint().unwrap()).unwrap().worker;
        assert_eq!(if name == "high" { worker >> 5 } else { worker & 31 }, 3, "{name}: {worker}");
    }
}
