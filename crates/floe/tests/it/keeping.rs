//! A floe is open for as long as anything that mints from it is held, and a name that is served is not asked for again.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use floe::kind::Mint;
use floe::ledger::{Ledger, LedgerError, Memory};
use floe::{
    DatedShape, Definition, FixedClock, Floe, Generator, Id, KindRegistry, Layout, MintError, Name,
    NameOptions, Overflow, Properties, Registered, Segment, Start, StopReason, Stopped, TextMinter,
    UnixMillis,
};

use crate::executor::block_on;
use crate::faulty::{Faulty, Mode, within};

fn shape() -> DatedShape {
    DatedShape::new("UTC", 9, "", Overflow::Refuse).unwrap()
}

/// The program takes one thing of a floe, and lets go of the floe.
#[test]
fn what_mints_keeps_its_floe_open() {
    let open = || Floe::open(Memory::default()).unwrap();
    let orders = open().snowflake("orders", Layout::TWITTER).unwrap();
    let again = orders.clone();
    drop(orders);
    again.mint().unwrap();
    let mut minter = open().snowflake("orders", Layout::TWITTER).unwrap().minter();
    minter.mint().unwrap();
    open().wide_snowflake("wide", Layout::TWITTER).unwrap().mint().unwrap();
    assert_eq!(open().segment("tickets").unwrap().mint().map(Id::get), Ok(1));
    assert_eq!(open().counter("count").unwrap().mint().map(Id::get), Ok(1));
    open().dated("invoice", shape()).unwrap().mint().unwrap();
    let short = Definition::SEGMENT.in_form("base36 width=13".parse().unwrap()).unwrap();
    let handle = open().define(&Name::new("short").unwrap(), &short, &NameOptions::default()).unwrap();
    let texts: TextMinter = handle.get().cloned().unwrap();
    drop(handle);
    assert_eq!(texts.mint().as_deref(), Ok("0000000000001"));
}

#[test]
fn the_last_of_them_closes_it() {
    let ledger = Faulty::new(Mode::Fine);
    for expected in 1..=3 {
        let tickets = Floe::open(ledger.clone()).unwrap().segment("tickets").unwrap();
        assert_eq!(tickets.mint().map(Id::get), Ok(expected), "the tail went back, and nothing else");
    }
    assert_eq!(ledger.users(), 1, "no floe is left behind");
}

#[test]
fn a_closed_floe_is_closed_for_those_who_hold_a_generator() {
    let floe = Floe::open(Memory::default()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    orders.mint().unwrap();
    floe.close();
    let error = orders.mint().unwrap_err();
    assert!(matches!(error, MintError::Stopped(Stopped { reason: StopReason::Closed, .. })), "{error}");
}

struct Tagged(Segment);

impl Mint for Tagged {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        Ok(format!("T-{}", self.0.mint()?))
    }
}

/// The floe holds what was made of the kind, and that holds a generator of the floe.
#[test]
fn a_registered_kind_that_mints_from_other_names_does_not_keep_its_floe_for_ever() {
    let ledger = Faulty::new(Mode::Fine);
    let kinds = KindRegistry::new()
        .with("tagged", |_, floe| Ok(Tagged(floe.segment("numbers").map_err(|error| error.to_string())?)));
    let open = || Floe::builder().kinds(kinds.clone()).open(ledger.clone()).unwrap();
    let tagged = Definition::Registered(Registered::new("tagged", Properties::default()).unwrap());
    for expected in ["T-1", "T-2", "T-3"] {
        let handle = open().define(&Name::new("users").unwrap(), &tagged, &NameOptions::default()).unwrap();
        let texts: TextMinter = handle.get().cloned().unwrap();
        assert_eq!(texts.mint().as_deref(), Ok(expected));
    }
    assert_eq!(ledger.users(), 1, "no floe is left behind");
}

#[test]
fn a_name_that_is_served_is_not_asked_for_again() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::open(ledger.clone()).unwrap();
    let short = Definition::SEGMENT.in_form("base62".parse().unwrap()).unwrap();
    let all = || -> Result<(), floe::DefineError> {
        floe.snowflake("orders", Layout::TWITTER)?;
        floe.wide_snowflake("wide", Layout::TWITTER)?;
        floe.segment("tickets")?;
        floe.counter("count")?;
        floe.dated("invoice", shape())?;
        floe.define(&Name::new("short").unwrap(), &short, &NameOptions::default())?;
        floe.define(
            &Name::new("uuids").unwrap(),
            &Definition::called("uuid4").unwrap(),
            &NameOptions::default(),
        )
        .map(drop)
    };
    all().unwrap();
    ledger.set(Mode::Gone);
    all().unwrap();
    assert!(floe.snowflake("late", Layout::TWITTER).is_err(), "a new one needs the ledger");
    assert!(floe.snowflake("tickets", Layout::TWITTER).is_err(), "it is a segment");
    assert!(floe.snowflake("orders", Layout::LEAF).is_err(), "it has another layout");
}

/// A ledger on which two that bind a name wait for each other, so that neither is served before the other has asked.
struct Together(Memory, Barrier);

impl Ledger for Together {
    floe::__hand_on!(self => self.0; reserve give_back definition names raise list realm_id describe);

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let bound = self.0.bind(name, definition, marked);
        self.1.wait();
        bound
    }
}

/// What each of two threads gets.
fn by_two_threads<T: Send>(work: impl Fn() -> T + Sync) -> [T; 2] {
    thread::scope(|scope| [(), ()].map(|()| scope.spawn(&work)).map(|thread| thread.join().unwrap()))
}

#[test]
fn threads_that_define_a_name_at_once_mint_from_one_supply() {
    let floe = Floe::open(Together(Memory::default(), Barrier::new(2))).unwrap();
    let segments: [Segment; 2] = by_two_threads(|| floe.segment("tickets").unwrap());
    let numbers: Vec<_> = segments.iter().map(|segment| segment.mint().unwrap().get()).collect();
    assert_eq!(numbers, [1, 2]);
}

/// Two generators would begin the window of both with one ID.
#[test]
fn threads_that_define_a_generator_of_its_own_at_once_mint_from_one() {
    let clock = FixedClock::at(UnixMillis::new(1_795_305_600_000));
    let ledger = Together(Memory::default(), Barrier::new(2));
    let floe = Floe::builder().clock(&clock).open(ledger).unwrap();
    let own = Definition::Snowflake { layout: Layout::TWITTER, own: true };
    let options = NameOptions { start: Some(Start::Zero), ..NameOptions::default() };
    let generators = by_two_threads(|| {
        let handle = floe.define(&Name::new("orders").unwrap(), &own, &options).unwrap();
        handle.get::<Generator>().cloned().unwrap()
    });
    let ids = generators.map(|orders| orders.mint().unwrap());
    assert!(ids[0] < ids[1], "{ids:?}");
}

/// Polls once; nobody is woken.
fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn what_asks_the_ledger_has_a_future_that_holds_up_no_thread() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = block_on(Floe::builder().open_async(ledger.clone())).unwrap();
    ledger.set(Mode::Held);
    let (orders, tickets) = (floe.snowflake_async("orders", Layout::TWITTER), floe.segment_async("tickets"));
    let (mut orders, mut tickets) = (pin!(orders), pin!(tickets));
    assert!(poll(orders.as_mut()).is_pending() && poll(tickets.as_mut()).is_pending());
    // Both are on their way, and this thread goes on; one that is dropped begins nothing, or goes on to its end.
    within(Duration::from_secs(10), || ledger.inside() >= 2);
    drop(floe.counter_async("never-polled"));
    ledger.set(Mode::Fine);
    let (orders, tickets) = (block_on(orders).unwrap(), block_on(tickets).unwrap());
    orders.mint().unwrap();
    assert_eq!(tickets.mint().map(Id::get), Ok(1));
    assert!(floe.stored(&Name::new("never-polled").unwrap()).unwrap().is_none());
    block_on(floe.counter_async("count")).unwrap().mint().unwrap();
    block_on(floe.dated_async("invoice", shape())).unwrap().mint().unwrap();
    block_on(floe.wide_snowflake_async("wide", Layout::TWITTER)).unwrap().mint().unwrap();
    let short = Definition::SEGMENT.in_form("base36 width=13".parse().unwrap()).unwrap();
    let (name, options) = (Name::new("short").unwrap(), NameOptions::default());
    let defined = block_on(floe.define_async(&name, &short, &options)).unwrap();
    let short: TextMinter = defined.get().cloned().unwrap();
    assert_eq!(block_on(short.mint_async()).as_deref(), Ok("0000000000001"));
    ledger.set(Mode::Held);
    let tenants =
        ["acme", "globex"].map(|tenant| (Name::new(tenant).unwrap(), Definition::Counter, options.clone()));
    let mut defined = pin!(floe.define_many_async(&tenants));
    assert!(poll(defined.as_mut()).is_pending());
    ledger.set(Mode::Fine);
    assert!(matches!(block_on(defined).as_slice(), [Ok(acme), Ok(_)] if acme.name().as_str() == "acme"));
    block_on(floe.close_async());
    assert!(orders.mint().is_err());
}

#[test]
fn a_panic_comes_out_of_the_future_of_what_panicked() {
    let future = floe::blocking(|| std::panic::resume_unwind(Box::new("on purpose")));
    let panic = std::panic::catch_unwind(|| block_on::<floe::Blocking<()>>(future)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
}

#[test]
fn many_names_are_defined_several_at_a_time_and_answered_in_their_order() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::open(ledger.clone()).unwrap();
    let name =
        |n: u64| (Name::new(&format!("tenant-{n}")).unwrap(), Definition::Counter, NameOptions::default());
    let mut names: Vec<_> = (0..50).map(name).collect();
    names[7].1 = Definition::Segment { increment: 0, offset: 0 };
    ledger.set(Mode::Held);
    let defined = thread::scope(|scope| {
        let defining = scope.spawn(|| floe.define_many(&names));
        within(Duration::from_secs(10), || ledger.inside() == 8);
        ledger.set(Mode::Fine);
        defining.join().unwrap()
    });
    assert_eq!(defined.len(), 50);
    for (n, ((name, ..), handle)) in names.iter().zip(defined).enumerate() {
        match handle {
            Ok(handle) => assert_eq!(handle.name(), name),
            Err(error) => assert_eq!(n, 7, "{error}"),
        }
    }
    assert!(floe.define_many(&[]).is_empty());
}
