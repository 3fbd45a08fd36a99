//! A floe by a clock that stands, as the tests of other programs use it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use floe::layout::Width;
use floe::ledger::Memory;
use floe::{
    Builder, DatedShape, Definition, FixedClock, Floe, Generator, Layout, MintError, Name, NameOptions,
    Overflow, StopReason, Stopped, UnixMillis, WorkerChoice,
};

use crate::executor::{Woken, block_on};
use crate::faulty::within;

/// 2026-11-23T10:00:00Z.
const AT: UnixMillis = UnixMillis::new(1_795_428_000_000);

#[test]
fn its_ids_are_the_same_in_each_run() {
    let run = || {
        let (floe, clock) = Floe::fixed(7, AT).unwrap();
        let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
        let tickets = floe.segment("tickets").unwrap();
        let shape = DatedShape::new("UTC", 4, "INV", Overflow::Refuse).unwrap();
        let invoices = floe.dated("invoices", shape).unwrap();
        let mut minted = Vec::new();
        for pass in [0, 1, 5_000, 86_400_000, 3_600_000_000] {
            clock.advance(Duration::from_millis(pass));
            let ids = orders.mint_many(3).unwrap();
            minted.extend(ids.map(|id| id.to_string()));
            minted.push(block_on(orders.mint_async()).unwrap().to_string());
            minted.push(tickets.mint().unwrap().to_string());
            minted.push(invoices.mint().unwrap().to_string());
            let said = orders.inspect(orders.mint().unwrap()).unwrap();
            assert_eq!((said.time, said.worker, said.sequence), (clock.now(), 7, 4));
        }
        minted
    };
    let minted = run();
    assert_eq!(minted, run());
    assert_eq!(
        &minted[..6],
        [
            "2124805152568274944",
            "2124805152568274945",
            "2124805152568274946",
            "2124805152568274947",
            "1",
            "INV202611230001"
        ]
    );
}

#[test]
fn a_clock_that_steps_back_is_held_through_and_one_that_is_far_off_stops() {
    let (floe, clock) = Floe::fixed(7, AT).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let first = orders.mint().unwrap();
    clock.step_to(AT.plus(-60_000));
    let second = orders.mint().unwrap();
    assert!(first < second && orders.inspect(second).unwrap().time >= AT);
    clock.step_to(AT.plus(-86_400_000));
    let error = orders.mint().unwrap_err();
    assert!(matches!(error, MintError::Stopped(Stopped { reason: StopReason::Clock, .. })), "{error}");
    clock.step_to(AT);
    assert!(second < orders.mint().unwrap());
}

/// A floe by a clock that stands.
fn standing(builder: Builder) -> (Floe, FixedClock) {
    let clock = FixedClock::at(AT);
    (builder.worker(WorkerChoice::Fixed(7)).clock(&clock).open(Memory::default()).unwrap(), clock)
}

/// A name whose IDs never tell a time that has not come.
fn never_ahead(floe: &Floe, layout: Layout) -> Generator {
    let definition = Definition::Snowflake { layout, own: false };
    let options = NameOptions { max_ahead: Duration::ZERO, ..NameOptions::default() };
    floe.define(&Name::new("orders").unwrap(), &definition, &options).unwrap().get().cloned().unwrap()
}

#[test]
fn a_call_that_no_time_can_help_gives_up() {
    let (floe, clock) = standing(Floe::builder().max_wait(Duration::from_millis(20)));
    let orders = never_ahead(&floe, Layout::TWITTER);
    // The first window may take longer than a call waits, on a machine that does much else.
    within(Duration::from_secs(10), || match orders.mint_many(4_096) {
        Err(MintError::Unavailable { .. }) => false,
        minted => minted.unwrap().count() == 4_096,
    });
    assert!(matches!(orders.mint(), Err(MintError::Busy { .. })));
    assert!(matches!(block_on(orders.mint_async()), Err(MintError::Busy { .. })));
    clock.advance(Duration::from_millis(1));
    assert_eq!(orders.inspect(orders.mint().unwrap()).unwrap().sequence, 0);
}

/// The window was there, and the time was not: a retry may be too early, and nothing is wrong with the ledger.
#[test]
fn a_batch_that_waits_for_a_tick_gives_up_as_busy_also_where_it_began_with_a_window() {
    let (floe, _clock) = standing(Floe::builder().max_wait(Duration::from_secs(2)));
    let orders = never_ahead(&floe, Layout::TWITTER);
    let waited = orders.mint_many(4_097).unwrap_err();
    assert!(matches!(waited, MintError::Busy { .. }), "{waited}");
}

/// Who waits is woken by the clock, and not by the time of the day.
#[test]
fn a_call_goes_on_when_the_clock_is_moved() {
    let (floe, clock) = standing(Floe::builder().max_wait(Duration::from_secs(600)));
    let orders = never_ahead(&floe, Layout::TWITTER);
    orders.mint_many(4_096).unwrap();
    let waiting = [orders.clone(), orders];
    std::thread::scope(|scope| {
        let [thread, future] = &waiting;
        let thread = scope.spawn(|| thread.mint().unwrap());
        let future = scope.spawn(|| block_on(future.mint_async()).unwrap());
        clock.advance(Duration::from_secs(40));
        assert_ne!(thread.join().unwrap(), future.join().unwrap());
    });
}

/// The time to a tick of a minute, as the clock counted it before it was moved, is no reason to wait for it.
#[test]
fn a_call_that_waits_for_a_far_tick_is_woken_when_the_clock_is_moved_there() {
    let (floe, clock) =
        standing(Floe::builder().window(Duration::from_secs(600)).max_wait(Duration::from_secs(600)));
    let minutes = Layout::new("time:20 worker:4 sequence:1", 60_000, AT, Width::Narrow).unwrap();
    let orders = never_ahead(&floe, minutes);
    orders.mint_many(2).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting = Box::pin(orders.mint_async());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(woken.times(), 0);
    clock.advance(Duration::from_secs(60));
    assert!(woken.times() > 0, "it is called by who moves the clock");
    let Poll::Ready(id) = waiting.as_mut().poll(&mut Context::from_waker(&waker)) else {
        panic!("it waits on")
    };
    assert_eq!(orders.inspect(id.unwrap()).unwrap().time, AT.plus(60_000));
}
