//! Counters: linearizable over threads, floes and lost replies.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use floe::ledger::{Key, Memory};
use floe::{Counter, Floe, MintError, Name};

use crate::faulty::{Faulty, Mode, poll, within};

/// One call: when it began and returned on the clock that all threads share, and what it got.
#[derive(Clone, Copy, Debug)]
struct Call {
    start: u64,
    end: u64,
    first: u64,
    count: u64,
}

/// Records what `threads` threads on each counter do.
fn record(counters: &[Counter], threads: u64, calls: u64) -> Vec<Call> {
    let clock = AtomicU64::new(0);
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .flat_map(|thread| counters.iter().map(move |counter| (thread, counter.clone())))
            .map(|(thread, counter)| {
                scope.spawn(move || {
                    let call = |n: u64| {
                        let count = 1 + (n * 7 + thread) % 4;
                        let start = tick();
                        let mut batch = counter.mint_many(count).unwrap();
                        let end = tick();
                        assert_eq!(batch.len(), usize::try_from(count).unwrap());
                        Call { start, end, first: batch.next().unwrap().get(), count }
                    };
                    (0..calls).map(call).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// # Errors
/// Two calls that got one number, or of which the later one got the smaller.
fn linearizable(history: &[Call]) -> Result<(), String> {
    let mut by_value = history.to_vec();
    by_value.sort_by_key(|call| call.first);
    if let Some(pair) = by_value.windows(2).find(|pair| pair[0].first + pair[0].count > pair[1].first) {
        return Err(format!("{pair:?} share a number"));
    }
    // In the order of their numbers no call may begin before... one that has a smaller number and began after its end.
    let mut latest_start = 0;
    for call in by_value {
        if call.end < latest_start {
            return Err(format!(
                "{call:?} had returned when one with smaller numbers began, at {latest_start}"
            ));
        }
        latest_start = latest_start.max(call.start);
    }
    Ok(())
}

fn patient() -> floe::Builder {
    Floe::builder().max_wait(Duration::from_secs(30))
}

#[test]
fn the_checker_finds_what_it_is_for() {
    let call = |start, end, first, count| Call { start, end, first, count };
    assert!(linearizable(&[call(0, 3, 5, 1), call(1, 2, 1, 4)]).is_ok(), "they overlap in time");
    assert!(linearizable(&[call(0, 1, 5, 1), call(2, 3, 1, 4)]).is_err(), "the later one is smaller");
    assert!(linearizable(&[call(0, 1, 1, 3), call(2, 3, 3, 1)]).is_err(), "3 comes twice");
}

#[test]
fn many_threads_on_one_floe() {
    let floe = patient().open(Memory::default()).unwrap();
    let history = record(&[floe.counter("orders").unwrap()], 8, 500);
    linearizable(&history).unwrap();
    // Nothing was lost either: no reply was.
    let numbers: u64 = history.iter().map(|call| call.count).sum();
    assert_eq!(history.iter().map(|call| call.first + call.count - 1).max(), Some(numbers));
}

#[test]
fn two_floes_on_one_ledger() {
    let ledger = Memory::default();
    let floes = [patient().open(ledger.clone()).unwrap(), patient().open(ledger).unwrap()];
    let counters = floes.each_ref().map(|floe| floe.counter("orders").unwrap());
    linearizable(&record(&counters, 4, 500)).unwrap();
}

#[test]
fn replies_that_are_lost() {
    let ledger = Faulty::new(Mode::Losing(4));
    let floes = [patient().open(ledger.clone()).unwrap(), patient().open(ledger.clone()).unwrap()];
    let counters = floes.each_ref().map(|floe| floe.counter("orders").unwrap());
    let history = record(&counters, 4, 20);
    linearizable(&history).unwrap();
    // The replies were lost after their effect: those numbers are nobody's.
    let numbers: u64 = history.iter().map(|call| call.count).sum();
    assert!(history.iter().map(|call| call.first + call.count - 1).max() > Some(numbers));
    assert!(ledger.calls() > 8);
}

#[test]
fn calls_that_come_while_the_ledger_is_asked_share_the_next_trip() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = patient().open(ledger.clone()).unwrap();
    let counter = floe.counter("orders").unwrap();
    ledger.set(Mode::Held);
    thread::scope(|scope| {
        let first = scope.spawn(|| counter.mint().unwrap().get());
        ledger.wait_for_calls(1);
        let mut others: Vec<_> = (0..50).map(|_| Box::pin(counter.mint_async())).collect();
        others.iter_mut().for_each(|other| assert!(poll(other.as_mut()).is_pending()));
        ledger.set(Mode::Fine);
        assert_eq!(first.join().unwrap(), 1, "what was reserved for it alone");
        let mut numbers = Vec::new();
        within(Duration::from_secs(10), || {
            others.retain_mut(|other| match poll(other.as_mut()) {
                std::task::Poll::Ready(number) => {
                    numbers.push(number.unwrap().get());
                    false
                }
                std::task::Poll::Pending => true,
            });
            others.is_empty()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (2..=51).collect::<Vec<_>>());
    });
    assert_eq!(ledger.calls(), 2);
}

#[test]
fn the_numbers_of_a_dropped_future_are_discarded() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = patient().open(ledger.clone()).unwrap();
    let counter = floe.counter("orders").unwrap();
    ledger.set(Mode::Held);
    {
        let mut dropped = pin!(counter.mint_many_async(5));
        assert!(poll(dropped.as_mut()).is_pending());
        ledger.wait_for_calls(1);
    }
    ledger.set(Mode::Fine);
    assert_eq!(counter.mint().unwrap().get(), 6, "never handed to a later caller");
}

#[test]
fn an_outage_is_told_with_the_time_since_and_ends_by_itself() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::builder().max_wait(Duration::from_secs(1)).open(ledger.clone()).unwrap();
    let counter = floe.counter("orders").unwrap();
    assert_eq!(counter.mint().unwrap().get(), 1);
    let before = floe.status().clock.steady;
    ledger.set(Mode::Gone);
    let mut first = None;
    for _ in 0..2 {
        let Err(MintError::Unavailable { since, cause }) = counter.mint() else { panic!("it counts") };
        let after = floe.status().clock.steady;
        assert!(since >= before && since <= after, "{before} {since} {after}");
        // The first time that it failed, also when it fails again.
        assert_eq!(*first.get_or_insert(since), since);
        assert_eq!(cause, "the test took it away");
    }
    ledger.set(Mode::Fine);
    let mut number = None;
    within(Duration::from_secs(1), || {
        number = counter.mint().ok();
        number.is_some()
    });
    // Those who gave up got nothing, and nothing was reserved for them.
    assert_eq!(number.unwrap().get(), 2);
}

/// The ledger neither answers nor fails, as one does that is frozen.
#[test]
fn a_silence_is_told_with_the_time_when_it_began_by_every_name() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::builder().max_wait(Duration::from_millis(20)).open(ledger.clone()).unwrap();
    let counter = floe.counter("count").unwrap();
    // That one may take longer than a call waits, on a machine that does much else.
    within(Duration::from_secs(5), || counter.mint().is_ok());
    let mut told = Vec::new();
    for (tickets, seats) in [("tickets", "seats"), ("cats", "dogs")] {
        let (tickets, seats) = (floe.segment(tickets).unwrap(), floe.segment(seats).unwrap());
        ledger.set(Mode::Held);
        let mint = |error: MintError| match error {
            MintError::Unavailable { since, .. } => since,
            other => panic!("{other}"),
        };
        let since = mint(counter.mint().unwrap_err());
        let others = [tickets.mint().err(), counter.mint().err(), seats.mint().err()];
        for error in others {
            assert_eq!(mint(error.unwrap()), since, "it stays where it was");
        }
        told.push(since);
        ledger.set(Mode::Fine);
        within(Duration::from_secs(5), || counter.mint().is_ok());
    }
    assert!(told[0] < told[1], "an answer ends a silence: {told:?}");
}

#[test]
fn a_count_outside_its_range_is_refused_with_the_range() {
    let floe = Floe::open(Memory::default()).unwrap();
    let counter = floe.counter("orders").unwrap();
    for asked in [0, (1 << 32) + 1, 1_000_000_000_000_000_000, u64::MAX] {
        assert_eq!(counter.mint_many(asked).err(), Some(MintError::Count { asked, max: 1 << 32 }));
    }
    assert_eq!(counter.mint_many(1 << 32).unwrap().len(), 1 << 32);
    assert_eq!(counter.mint().unwrap().get(), (1 << 32) + 1);
}

#[test]
fn the_last_number_is_minted_and_then_it_is_used_up() {
    let floe = Floe::open(Memory::default()).unwrap();
    let counter = floe.counter("orders").unwrap();
    let key = Key::name(&Name::new("orders").unwrap());
    floe.ledger().raise(&key, (1 << 63) - 3).unwrap();
    let numbers: Vec<_> = counter.mint_many(2).unwrap().map(|id| id.get()).collect();
    assert_eq!(numbers, [(1 << 63) - 2, (1 << 63) - 1]);
    let Err(MintError::Exhausted(text)) = counter.mint() else { panic!("it counts past 2^63") };
    assert!(text.contains("orders") && text.contains("bind a new name"), "{text}");
}
