//! Many threads on one generator: no ID twice, and order between calls that follow each other.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use crate::kind::{
    KsuidGenerator, Mint, NanoIdGenerator, ObjectIdGenerator, UlidGenerator, Uuid, UuidV4Generator,
    UuidV7Generator,
};

const THREADS: usize = 4;
const ROUNDS: usize = 20_000;

/// Mints on several threads by the machine's clock and randomness, singly and in batches. Each thread's own IDs are
/// increasing where `ordered` says so; none comes twice.
fn race<G: Mint + Clone>(ids: &G, ordered: bool)
where
    G::Id: Ord + Hash + Copy + Debug + Send,
{
    let all: Vec<Vec<G::Id>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let ids = ids.clone();
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    for round in 0..ROUNDS {
                        match round % 100 {
                            0 => mine.extend(ids.mint_many(50).unwrap()),
                            _ => mine.push(ids.mint().unwrap()),
                        }
                    }
                    mine
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut seen = HashSet::new();
    for mine in all {
        assert!(!ordered || mine.is_sorted_by(|one, next| one < next));
        for id in mine {
            assert!(seen.insert(id), "{id:?} came twice");
        }
    }
    assert_eq!(seen.len(), THREADS * ROUNDS / 100 * 149);
}

#[test]
fn random_kinds_do_not_repeat() {
    race(&UuidV4Generator::new(), false);
    race(&KsuidGenerator::new(), false);
    race(&NanoIdGenerator::default(), false);
}

#[test]
fn ordered_kinds_do_not_repeat_and_keep_each_threads_order() {
    race(&UuidV7Generator::new(), true);
    race(&UuidV7Generator::precise(), true);
    race(&UlidGenerator::new(), true);
    race(&ObjectIdGenerator::new(), true);
}

/// Minters on several threads beside the generator itself, whose IDs come between theirs: no place in the order is taken
/// twice, and each thread's minter is in order.
fn race_minters<M>(minter: impl Fn() -> M + Sync, shared: impl Fn() -> u128 + Sync)
where
    M: FnMut() -> u128,
{
    let all: Vec<(Vec<u128>, Vec<u128>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let (mut minter, mut mine, mut others) = (minter(), Vec::new(), Vec::new());
                    for round in 0..ROUNDS {
                        mine.push(minter());
                        if round % 7 == 0 {
                            others.push(shared());
                        }
                    }
                    (mine, others)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut seen = HashSet::new();
    for (mine, others) in all {
        for places in [mine, others] {
            assert!(places.is_sorted_by(|one, next| one < next));
            for place in places {
                assert!(seen.insert(place), "{place:x} came twice");
            }
        }
    }
}

#[test]
fn minters_do_not_repeat_and_keep_their_order() {
    // Without their random bits, which would hide a place that is taken twice.
    let place = |id: Uuid| id.get() >> 54;
    for ids in [UuidV7Generator::new(), UuidV7Generator::precise()] {
        let minter = || {
            let mut minter = ids.minter();
            move || place(minter.mint().unwrap())
        };
        race_minters(minter, || place(ids.mint().unwrap()));
    }
    let ids = UlidGenerator::new();
    let minter = || {
        let mut minter = ids.minter();
        move || minter.mint().unwrap().get()
    };
    race_minters(minter, || ids.mint().unwrap().get());
}

/// One thread mints, tells another by a channel, and that one's next ID is larger.
#[test]
fn a_call_that_begins_after_another_returned_mints_a_larger_id() {
    fn hand_over<G: Mint + Clone>(ids: &G)
    where
        G::Id: Ord + Debug + Send,
    {
        let (to, from) = std::sync::mpsc::sync_channel::<G::Id>(0);
        std::thread::scope(|scope| {
            let there = ids.clone();
            scope.spawn(move || {
                for _ in 0..5_000 {
                    to.send(there.mint().unwrap()).unwrap();
                }
            });
            for told in from {
                let mine = ids.mint().unwrap();
                assert!(mine > told, "{mine:?} after {told:?}");
            }
        });
    }
    hand_over(&UuidV7Generator::new());
    hand_over(&UuidV7Generator::precise());
    hand_over(&UlidGenerator::new());
    hand_over(&ObjectIdGenerator::new());
}

#[test]
fn generators_of_one_process_share_the_object_ids() {
    let one = ObjectIdGenerator::new();
    let (first, next) = (one.mint().unwrap(), ObjectIdGenerator::new().mint().unwrap());
    assert!(first.random() != next.random() || first < next, "the same five bytes and another counter");
    assert_ne!(first, next);
}

#[test]
fn several_generators_do_not_repeat_each_other() {
    let mut seen = HashSet::new();
    for _ in 0..200 {
        for id in UuidV7Generator::new().mint_many(100).unwrap() {
            assert!(seen.insert(id.get()));
        }
        for id in UlidGenerator::new().mint_many(100).unwrap() {
            assert!(seen.insert(id.get()));
        }
    }
}
