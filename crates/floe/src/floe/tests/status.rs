//! What an operator is told of each name.

use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use super::*;
use crate::clock::ClockState;
use crate::definition::{DateFormat, Overflow, PERIOD_BITS};
use crate::error::{MintError, StopReason};
use crate::generator::Outcome;
use crate::manual::Op;
use crate::manual::tests::{BEGIN, Rig, poll};
use crate::status::NameState;

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn a_snowflakes_window_and_how_far_it_mints_ahead_are_told() {
    let rig = Rig::new();
    let options = NameOptions { start: Some(Start::Zero), ..NameOptions::default() };
    let handle = rig.define("orders", &Layout::TWITTER.into(), &options);
    let orders: &Generator = handle.get().unwrap();
    let told = || {
        let told = rig.told("orders");
        assert_eq!((told.state, told.horizon), (NameState::Ready, Some(Layout::TWITTER.horizon())));
        (told.left, told.ahead_ms)
    };
    assert_eq!(told(), (0, 0), "nothing is reserved");
    assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow));
    rig.settle();
    let window = rig.floe.status().slots[0].window_left_ms;
    assert!(window > 100, "{window}");
    assert_eq!(told(), (window, 0));
    assert_eq!(orders.try_mint_many(3 * 4_096).unwrap().unwrap().count(), 3 * 4_096);
    assert_eq!(told(), (window, 3), "three ticks are used up");
    rig.clock.advance(Duration::from_millis(1));
    assert_eq!(told(), (window - 1, 2));
    rig.clock.advance(Duration::from_millis(99));
    assert_eq!(told(), (window - 100, 0), "the tick has come, and the next ID is of now");
}

#[test]
fn what_is_left_of_a_segment_is_told_and_nothing_of_what_has_no_reservation() {
    let rig = Rig::new();
    let options = NameOptions { min_step: 10, ..NameOptions::default() };
    let tickets = rig.define("tickets", &Definition::SEGMENT, &options);
    assert!(tickets.try_mint_many(1).unwrap().is_none());
    rig.settle();
    assert_eq!(tickets.try_mint_many(3).unwrap().unwrap().count(), 3);
    rig.define("count", &Definition::Counter, &options);
    rig.define("users", &"uuid7".parse().unwrap(), &options);
    for (name, left) in [("tickets", 17), ("count", 0), ("users", 0)] {
        let told = rig.told(name);
        let expected = (NameState::Ready, left, 0, None);
        assert_eq!((told.state, told.left, told.ahead_ms, told.horizon), expected, "{name}");
    }
}

/// A cache looks into its file, and may wait for other processes there.
#[test]
fn the_ledger_is_asked_what_it_is_while_others_mint_and_for_its_id_once() {
    /// A ledger that says what it is once somebody has minted.
    #[derive(Default)]
    struct Slow {
        ledger: Memory,
        counter: OnceLock<Counter>,
        minted: AtomicU32,
        ids: AtomicU32,
    }
    impl Ledger for Arc<Slow> {
        crate::__hand_on!(self => self.ledger; reserve give_back bind definition names raise list);

        fn realm_id(&self) -> Result<String, LedgerError> {
            self.ids.fetch_add(1, Ordering::Relaxed);
            self.ledger.realm_id()
        }

        fn describe(&self) -> String {
            if let Some(counter) = self.counter.get().cloned() {
                let (told, tell) = mpsc::channel();
                thread::spawn(move || told.send(counter.mint()));
                let minted = tell.recv_timeout(Duration::from_secs(30));
                self.minted
                    .fetch_add(u32::from(minted.is_ok_and(|minted| minted.is_ok())), Ordering::Relaxed);
            }
            self.ledger.describe()
        }
    }
    let ledger = Arc::<Slow>::default();
    let floe = Floe::open(Arc::clone(&ledger)).unwrap();
    assert!(ledger.counter.set(floe.counter("count").unwrap()).is_ok());
    for looks in 1..=2 {
        assert!(!floe.status().realm_id.is_empty());
        assert_eq!(ledger.minted.load(Ordering::Relaxed), looks);
        assert_eq!(ledger.ids.load(Ordering::Relaxed), 1);
    }
    floe.close();
}

/// The clock may come right; what was stopped stays so.
#[test]
fn a_name_that_is_stopped_says_so_whatever_the_clock_says() {
    let rig = Rig::new();
    let options = NameOptions::default();
    let names = ["orders", "count"];
    rig.define(names[0], &Layout::TWITTER.into(), &options);
    rig.define(names[1], &Definition::Counter, &options);
    rig.clock.step_to(BEGIN.plus(-5 * 3_600_000));
    assert!(matches!(rig.told("orders").state, NameState::ClockRefused(_)));
    assert_eq!(rig.told("count").state, NameState::Ready);
    rig.manual.close();
    for name in names {
        assert_eq!(rig.told(name).state, NameState::Stopped("floe was closed".to_owned()), "{name}");
    }
}

#[test]
fn an_outage_of_the_ledger_is_told_of_a_counter_for_which_somebody_waits() {
    let rig = Rig::new();
    let handle = rig.define("count", &Definition::Counter, &NameOptions::default());
    let count: &Counter = handle.get().unwrap();
    {
        let mut waits = pin!(count.mint_async());
        assert_eq!(poll(waits.as_mut()), Poll::Pending);
        assert_eq!(rig.told("count").state, NameState::Ready, "the ledger has not failed");
        let call = rig.manual.turn().calls.pop_front().unwrap();
        assert!(matches!(call.op, Op::Count(_)), "{call:?}");
        rig.manual.answer(call.id, Err(LedgerError::Unavailable("gone".to_owned())));
        let told = NameState::Unavailable { since: BEGIN, cause: "gone".to_owned() };
        assert_eq!(rig.told("count").state, told);
    }
    rig.clock.advance(HOUR);
    assert!(rig.manual.turn().calls.is_empty(), "the caller has gone");
    assert_eq!(rig.told("count").state, NameState::Ready, "nobody notices it");
}

/// Until then its callers do not notice.
#[test]
fn an_outage_of_the_ledger_is_told_of_a_slot_whose_window_is_over() {
    let rig = Rig::new();
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    rig.block_on(orders.mint_async()).unwrap();
    let slot = || rig.floe.status().slots.remove(0);
    rig.pass(slot().window_left_ms / 2);
    assert!(matches!(orders.try_mint(), Ok(Outcome::Ready(_))));
    let renewal = rig.manual.turn().calls.pop_front().unwrap();
    rig.manual.answer(renewal.id, Err(LedgerError::Unavailable("gone".to_owned())));
    assert_eq!(slot().trouble, None);
    rig.pass(slot().window_left_ms);
    assert!(matches!(slot().trouble, Some(NameState::Unavailable { .. })));
}

/// The ledger may come back, and nothing is minted all the same.
#[test]
fn a_refused_clock_is_told_before_an_outage_of_the_ledger() {
    let rig = Rig::new();
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow));
    let mut calls = rig.manual.turn().calls;
    while let Some(call) = calls.pop_front() {
        match call.op {
            Op::Clock => rig.manual.answer_clock(call.id, Ok(None)),
            _ => rig.manual.answer(call.id, Err(LedgerError::Unavailable("gone".to_owned()))),
        }
        calls.extend(rig.manual.turn().calls);
    }
    assert!(matches!(rig.told("orders").state, NameState::Unavailable { .. }));
    rig.clock.step_to(BEGIN.plus(-5 * 3_600_000));
    assert!(matches!(rig.told("orders").state, NameState::ClockRefused(_)));
}

/// No clock that is set right would make it mint again.
#[test]
fn a_dated_name_whose_mark_lies_past_the_calendar_is_told_as_stopped() {
    let rig = Rig::new();
    let shape = DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap();
    let invoice = rig.floe.dated("invoice", shape).unwrap();
    let last = DateFormat::Day.number_of(jiff::civil::date(9999, 12, 31)).unwrap();
    rig.floe.ledger().raise(&Key::name(&name("invoice")), (last + 1) << PERIOD_BITS).unwrap();
    let minted = rig.block_on(invoice.mint_async());
    let Err(MintError::Stopped(stopped)) = minted else { panic!("{minted:?}") };
    assert_eq!(stopped.reason, StopReason::Other);
    assert_eq!(rig.told("invoice").state, NameState::Stopped(stopped.cause));
}

#[test]
fn a_rollback_through_which_the_clock_holds_is_told() {
    let rig = Rig::new();
    rig.clock.step_to(BEGIN.plus(-60_000));
    let clock = rig.floe.status().clock;
    assert_eq!((clock.offset_ms(), clock.held_ms()), (60_000, 60_000));
    assert_eq!((clock.state, clock.refused), (ClockState::Holding(60_000), None));
    rig.clock.step_to(BEGIN.plus(-5 * 3_600_000));
    let error = rig.manual.glance().unwrap_err();
    assert!(
        matches!(&error, MintError::Stopped(stopped) if stopped.reason == StopReason::Clock && Some(&stopped.cause) == rig.floe.status().clock.refused.as_ref()),
        "{error}"
    );
    rig.clock.advance(5 * HOUR);
    assert_eq!(rig.floe.status().clock.held_ms(), 0);
}
