//! A floe by hand, also for the tests of what mints from one: its clock stands until the test moves it, and its ledger
//! answers when the test says so.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::*;
use crate::clock::FixedClock;
use crate::counter::Counter;
use crate::definition::Definition;
use crate::driver::Caller;
use crate::handle::Handle;
use crate::layout::Layout;
use crate::ledger::Memory;
use crate::name::Name;
use crate::settings::NameOptions;
use crate::status::NameStatus;
use crate::ticket::Ticket;
use crate::wait::Alarms;
use crate::wakes::tests::runs;

/// 2026-03-01T12:00:00Z, where every test's clock begins.
pub(crate) const BEGIN: UnixMillis = UnixMillis::new(1_772_366_400_000);

pub(crate) struct Rig {
    pub(crate) floe: Floe,
    pub(crate) manual: Manual,
    pub(crate) clock: FixedClock,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::of(Floe::builder())
    }

    pub(crate) fn of(builder: Builder) -> Self {
        Self::with(builder, Memory::default(), BEGIN)
    }

    pub(crate) fn with(builder: Builder, ledger: impl Ledger + 'static, time: UnixMillis) -> Self {
        let clock = FixedClock::at(time);
        let (read, mut drawn) = (clock.clone(), 0_u128);
        let surroundings = Surroundings {
            clock: Box::new(move || read.read()),
            entropy: Box::new(move || {
                drawn += 0x9e37_79b9_7f4a_7c15;
                drawn.wrapping_mul(drawn).to_le_bytes()
            }),
            owner: Owner::this_process("here"),
            is_gone: Box::new(|_| false),
        };
        let (floe, manual) = open(builder, ledger, surroundings).unwrap();
        Self { floe, manual, clock }
    }

    /// Time passes.
    pub(crate) fn pass(&self, millis: u64) {
        self.clock.advance(Duration::from_millis(millis));
    }

    /// The wall clock is set.
    pub(crate) fn set(&self, by: i64) {
        self.clock.step_to(self.clock.now().plus(by));
    }

    /// The ledger does what was asked, and the node hears of it.
    fn serve(&self, call: &Call) {
        let ledger = &self.manual.shared.ledger;
        let checked = |reply: Result<_, _>| reply.and_then(|reply| Manual::check(reply, call));
        match &call.op {
            Op::Reserve(request) => self.manual.answer(call.id, checked(ledger.reserve(request))),
            Op::Count(request) => self.manual.answer(call.id, checked(ledger.count(request))),
            Op::Clock => self.manual.answer_clock(call.id, ledger.clock()),
            Op::GiveBack { key, token, from } => {
                ledger.give_back(key, *token, *from).unwrap();
                self.manual.over(call.id);
            }
        }
    }

    /// Until nothing more is asked.
    pub(crate) fn settle(&self) {
        for _ in 0..1_000 {
            let calls = self.manual.turn().calls;
            if calls.is_empty() && !self.manual.is_called() {
                return;
            }
            calls.iter().for_each(|call| self.serve(call));
        }
        panic!("the node asks without end");
    }

    /// What a future is done with, after whatever it takes of the ledger and at most a minute.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = Box::pin(future);
        for _ in 0..60_000 {
            if let Poll::Ready(output) = poll(future.as_mut()) {
                return output;
            }
            self.settle();
            if let Poll::Ready(output) = poll(future.as_mut()) {
                return output;
            }
            self.pass(1);
        }
        panic!("it waits without end");
    }

    pub(crate) fn define(&self, text: &str, definition: &Definition, options: &NameOptions) -> Handle {
        self.floe.define(&Name::new(text).unwrap(), definition, options).unwrap()
    }

    /// What the status says of the name.
    pub(crate) fn told(&self, text: &str) -> NameStatus {
        let names = self.floe.status().names;
        names.into_iter().find(|status| status.name.as_str() == text).unwrap()
    }
}

pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn count(rig: &Rig) -> Counter {
    rig.floe.counter("count").unwrap()
}

#[test]
fn a_turn_is_needed_where_a_caller_has_queued_and_not_behind_it() {
    let rig = Rig::new();
    let counter = count(&rig);
    rig.settle();
    assert!(!rig.manual.is_called());
    let ticket = Ticket::new(1);
    rig.manual.shared.enqueue(counter.name(), &ticket, Caller::Future).unwrap();
    assert!(rig.manual.is_called() && !rig.manual.shared.signal.is_raised());
    let calls = rig.manual.turn().calls;
    assert_eq!((calls.len(), rig.manual.is_called(), rig.manual.is_drained()), (1, false, false));
    rig.serve(&calls[0]);
    assert_eq!((ticket.answered(), rig.manual.is_drained()), (Some(Ok(0)), true));
}

#[test]
fn what_a_mint_asks_for_during_a_turn_needs_another_turn() {
    let rig = Rig::new();
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    rig.settle();
    let shared = &rig.manual.shared;
    let mints = runs(move || assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow)));
    shared.wake_at(shared.mono(), &mints, None);
    assert_eq!((rig.manual.turn().calls.len(), rig.manual.is_called()), (0, true));
    assert_eq!((rig.manual.turn().calls.len(), rig.manual.is_called()), (1, false));
}

/// Those who came while the first one's question was under way wait for a moment for more of them, and here nobody waits.
#[test]
fn who_comes_while_the_ledger_is_asked_is_asked_for_next() {
    let rig = Rig::new();
    let counter = count(&rig);
    let mut callers = [(); 3].map(|()| Box::pin(counter.mint_async()));
    assert!(callers.iter_mut().all(|caller| poll(caller.as_mut()).is_pending()));
    rig.settle();
    let minted = callers.each_mut().map(|caller| poll(caller.as_mut()).map(|id| id.map(|id| id.get())));
    assert_eq!(minted, [1, 2, 3].map(|number| Poll::Ready(Ok(number))));
}

#[test]
fn a_future_waits_for_as_long_as_max_wait_and_no_longer() {
    let rig = Rig::of(Floe::builder().window(Duration::from_secs(60)).max_wait(Duration::from_secs(3)));
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    let (tickets, counter) = (rig.floe.segment("tickets").unwrap(), count(&rig));
    let mut callers: [Pin<Box<dyn Future<Output = bool>>>; 5] = [
        Box::pin(async { orders.mint_async().await.is_err() }),
        Box::pin(async { orders.mint_many_async(2).await.is_err() }),
        Box::pin(async { tickets.mint_async().await.is_err() }),
        Box::pin(async { tickets.mint_many_async(2).await.is_err() }),
        Box::pin(async { counter.mint_async().await.is_err() }),
    ];
    // The ledger does not answer.
    let mut polled = || callers.each_mut().map(|caller| poll(caller.as_mut()));
    assert_eq!(polled(), [Poll::Pending; 5]);
    rig.pass(2_999);
    assert_eq!(polled(), [Poll::Pending; 5]);
    rig.pass(1);
    assert_eq!(polled(), [Poll::Ready(true); 5]);
}

#[test]
fn a_turn_says_when_the_next_one_is_due() {
    let rig = Rig::new();
    let layout: Layout =
        "time:32 worker:9 sequence:10 tick=1s epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    let orders = rig.floe.snowflake("orders", layout).unwrap();
    rig.block_on(orders.mint_async()).unwrap();
    while let Outcome::Ready(_) = orders.try_mint().unwrap() {}
    rig.settle();
    rig.pass(250);
    let mut waits = Box::pin(orders.mint_async());
    assert!(poll(waits.as_mut()).is_pending());
    let mono = rig.clock.read().mono;
    let Outcome::WaitUntil(due) = orders.try_mint().unwrap() else {
        panic!("every ID of this tick is minted")
    };
    let left = u64::try_from(due.since(rig.manual.steady().0)).unwrap();
    assert!(left > 1, "{left}");
    assert_eq!(rig.manual.turn().wake, Some(mono.plus(left)));
    rig.pass(left);
    assert!(poll(waits.as_mut()).is_ready());
}

#[test]
fn what_closing_gives_back_comes_with_the_next_turn_and_is_drained_when_it_is_over() {
    let rig = Rig::new();
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    rig.block_on(orders.mint_async()).unwrap();
    rig.settle();
    assert!(rig.manual.is_drained() && rig.manual.stopped().is_none());
    rig.manual.close();
    assert!(rig.manual.stopped().is_some());
    assert!(matches!(orders.try_mint(), Err(MintError::Stopped(_))));
    let calls = rig.manual.turn().calls;
    assert!(matches!(calls.iter().map(|call| &call.op).collect::<Vec<_>>()[..], [Op::GiveBack { .. }]));
    assert!(!rig.manual.is_drained());
    rig.manual.over(calls[0].id);
    assert!(rig.manual.is_drained());
}

#[test]
fn mints_use_the_cached_time_until_it_is_put_away() {
    let rig = Rig::new();
    let glance = || rig.manual.glance().unwrap().0.millis() - BEGIN.position().unwrap();
    rig.pass(3);
    assert_eq!(glance(), 3);
    rig.manual.tick();
    rig.pass(4);
    assert_eq!(glance(), 3, "it is cached");
    rig.manual.tick();
    assert_eq!(glance(), 7);
    rig.pass(5);
    rig.manual.put_away();
    assert_eq!(glance(), 12);
}
