//! Minters: each one's IDs increase strictly, and all are unique together, whatever becomes of the chunks they hold.

use std::thread;
use std::time::Duration;

use floe::ledger::Memory;
use floe::{Definition, Floe, Id, Layout, MintError, Name, NameOptions, Segment};

use crate::checker::increasing_and_unique;

fn patient() -> Floe {
    Floe::builder().max_wait(Duration::from_secs(20)).open(Memory::default()).unwrap()
}

fn layout(text: &str) -> Layout {
    format!("{text} epoch=2020-01-01T00:00:00.000Z").parse().unwrap()
}

/// `count` IDs from four minters of one generator, beside one thread that mints from the generator itself.
fn all_hold(layout: Layout, count: u64) {
    let floe = patient();
    let orders = floe.snowflake("orders", layout).unwrap();
    let mut threads: Vec<_> = (0..4)
        .map(|_| {
            let mut minter = orders.minter();
            thread::spawn(move || (0..count / 5).map(|_| minter.mint().unwrap()).collect::<Vec<Id>>())
        })
        .collect();
    threads.push(thread::spawn(move || (0..count / 5).map(|_| orders.mint().unwrap()).collect()));
    let lists: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(increasing_and_unique(&lists), count / 5 * 5);
}

#[test]
fn millions_of_ids_are_unique_and_increase() {
    all_hold(layout("time:41 worker:2 sequence:20 tick=1ms"), 5_000_000);
}

#[test]
fn so_they_do_where_every_tick_is_used_up() {
    all_hold(Layout::TWITTER, 500_000);
}

#[test]
fn so_they_do_where_a_chunk_is_a_single_id() {
    all_hold(layout("time:41 worker:10 sequence:2 tick=1ms"), 5_000);
}

#[test]
fn so_they_do_on_ticks_of_a_second() {
    all_hold(layout("time:32 worker:4 sequence:24 tick=1s"), 500_000);
}

#[test]
fn so_they_do_over_many_short_windows() {
    let floe = Floe::builder()
        .window(Duration::from_millis(100))
        .max_wait(Duration::from_secs(20))
        .open(Memory::default())
        .unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut minter = orders.minter();
            thread::spawn(move || (0..1_000_000).map(|_| minter.mint().unwrap()).collect::<Vec<Id>>())
        })
        .collect();
    let lists: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(increasing_and_unique(&lists), 3_000_000);
    let granted = floe.status().calls.granted;
    assert!(granted >= 5, "three million IDs take 730 ms, and were minted in {granted} windows");
}

/// The ledger is asked often, since a range has few numbers: what minters have in hand is given up each time.
#[test]
fn numbers_of_a_segments_minters_are_unique_and_increase() {
    let floe = patient();
    let options = NameOptions { min_step: 100, max_step: 50_000, ..NameOptions::default() };
    let definition = Definition::Segment { increment: 3, offset: 2 };
    let tickets = floe.define(&Name::new("tickets").unwrap(), &definition, &options).unwrap();
    let tickets: Segment = tickets.get().cloned().unwrap();
    let mut threads: Vec<_> = (0..4)
        .map(|_| {
            let mut minter = tickets.minter();
            thread::spawn(move || minter.ids().take(500_000).collect::<Result<Vec<Id>, _>>().unwrap())
        })
        .collect();
    let shared = tickets.clone();
    threads.push(thread::spawn(move || (0..500_000).map(|_| shared.mint().unwrap()).collect()));
    let lists: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(increasing_and_unique(&lists), 2_500_000);
    assert!(lists.iter().flatten().all(|id| id.get() % 3 == 2), "an increment of 3 behind 2");

    let (mut minter, before) = (tickets.minter(), tickets.mint().unwrap());
    assert!(minter.mint().unwrap() > before);
    floe.close();
    assert!(matches!(minter.mint(), Err(MintError::Stopped(_))), "a closed floe mints nothing");
    assert!(matches!(minter.try_mint(), Err(MintError::Stopped(_))));
}

#[test]
fn a_minter_that_rests_goes_on_with_the_time() {
    let floe = patient();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let mut minter = orders.minter();
    // A chunk that is larger than one, with a rest in it.
    let before = (0..10).map(|_| minter.mint().unwrap()).max().unwrap();
    let time = orders.inspect(before).unwrap().time;
    // The others move on, by more than a tick and what may be run ahead.
    while orders.inspect(orders.mint().unwrap()).unwrap().time.since(time) < 50 {
        thread::yield_now();
    }
    let after = minter.mint().unwrap();
    assert!(after > before);
    assert!(
        orders.inspect(after).unwrap().time.since(time) >= 30,
        "what was drawn long ago is not minted: {before}, {after}"
    );
}

/// It holds one number more, and calls before the node has looked at the clock, which it does at once.
#[test]
fn a_segments_minter_drops_what_it_holds_where_its_process_may_be_a_copy() {
    for _ in 0..20 {
        let floe = patient();
        let mut minter = floe.segment("tickets").unwrap().minter();
        assert_eq!([(); 2].map(|()| minter.mint().unwrap().get()), [1, 2]);
        floe.invalidate();
        assert_eq!(minter.mint().unwrap().get(), 2_001, "of a range that no copy has");
    }
}
