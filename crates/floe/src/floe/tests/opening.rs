//! What the settings of a floe decide.

use std::time::Duration;

use super::*;
use crate::clock::{Clock, ClockState};
use crate::error::MintError;
use crate::generator::Outcome;
use crate::manual::tests::{BEGIN, Rig};
use crate::manual::{self, Op, Surroundings};
use crate::owner::Owner;
use crate::signal::Signal;
use crate::status::State;
use crate::time::{MonoMillis, Reading};

/// A ledger that says of itself what every ledger says that says nothing.
struct Plain(Memory);

impl Ledger for Plain {
    crate::__hand_on!(self => self.0; reserve give_back bind definition names raise list realm_id describe);
}

#[test]
fn the_window_is_longer_where_other_machines_share_the_ledger() {
    let window =
        |builder: Builder, ledger: Box<dyn Ledger>| Rig::with(builder, ledger, BEGIN).floe.shared().window_ms;
    let minute = || Floe::builder().window(Duration::from_secs(60));
    for (is_shared, expected) in [(false, EMBEDDED_WINDOW_MS), (true, SHARED_WINDOW_MS)] {
        let ledger = || -> Box<dyn Ledger> {
            if is_shared { Box::new(Plain(Memory::default())) } else { Box::new(Memory::default()) }
        };
        assert_eq!(ledger().is_shared(), is_shared);
        assert_eq!(window(Floe::builder(), ledger()), expected);
        assert_eq!(window(minute(), ledger()), 60_000, "as it was set");
    }
}

/// On an embedded ledger, node and ledger fail together, and nothing is gained.
#[test]
fn windows_are_renewed_while_nobody_mints_where_the_ledger_is_shared_or_it_was_asked_for() {
    let renews = |builder: Builder, ledger: Box<dyn Ledger>| {
        let rig = Rig::with(builder, ledger, BEGIN);
        rig.define("orders", &Layout::TWITTER.into(), &NameOptions::default());
        let calls = rig.manual.turn().calls;
        !calls.is_empty()
    };
    let embedded = || Box::new(Memory::default());
    let shared = || Box::new(Plain(Memory::default()));
    assert!(!renews(Floe::builder(), embedded()));
    assert!(renews(Floe::builder(), shared()));
    assert!(renews(Floe::builder().renew_idle(true), embedded()));
    assert!(!renews(Floe::builder().renew_idle(false), shared()));
    #[expect(deprecated, reason = "programs call it by its old name")]
    let [yes, no] = [true, false].map(|keep| Floe::builder().keep(keep));
    assert!(renews(yes, embedded()) && !renews(no, shared()));
}

/// A ledger whose clock is an hour ahead.
struct Ahead(Memory);

impl Ledger for Ahead {
    crate::__hand_on!(self => self.0; reserve give_back bind definition names raise list realm_id describe is_shared);
    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(Some(BEGIN.plus(3_600_000)))
    }
}

#[test]
fn a_clock_that_the_ledger_contradicts_is_refused_unless_it_is_to_be_ignored() {
    let ledger = || Ahead(Memory::default());
    let rig = Rig::with(Floe::builder(), ledger(), BEGIN);
    assert!(matches!(rig.floe.check_clock(), Err(OpenError::Clock(_))));
    // The thread of the node has to hear of it.
    assert!(rig.manual.is_called());
    assert!(rig.floe.status().clock.apart.is_some());
    let ignored = Rig::with(Floe::builder().ignore_ledger_clock(), ledger(), BEGIN);
    let standing = Rig::with(Floe::builder().clock(&FixedClock::at(BEGIN)), ledger(), BEGIN);
    for rig in [ignored, standing] {
        assert_eq!(rig.floe.check_clock(), Ok(None));
        rig.define("orders", &Layout::TWITTER.into(), &NameOptions::default());
        let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
        assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow));
        let calls = rig.manual.turn().calls;
        assert!(matches!(calls.front().map(|call| &call.op), Some(Op::Reserve(_))), "{calls:?}");
    }
}

/// It would sleep as if the clock had not been heard.
#[test]
fn the_nodes_thread_is_called_after_the_ledgers_clock_was_heard() {
    let (signal, read) = (Arc::<OnceLock<Arc<Signal>>>::default(), Arc::new(Mutex::new(Vec::new())));
    let (called, reads) = (Arc::clone(&signal), Arc::clone(&read));
    let surroundings = Surroundings {
        clock: Box::new(move || {
            lock(&reads).extend(called.get().map(|signal| signal.is_raised()));
            Reading { wall: BEGIN, mono: MonoMillis::new(0) }
        }),
        entropy: Box::new(|| [7; 16]),
        owner: Owner::this_process("here"),
        is_gone: Box::new(|_| false),
    };
    let (floe, manual) = manual::open(Floe::builder(), Memory::default(), surroundings).unwrap();
    assert!(signal.set(Arc::clone(&floe.shared().signal)).is_ok());
    floe.check_clock().unwrap();
    let raised = lock(&read);
    assert!(manual.is_called() && raised.len() > 1 && !raised.contains(&true), "{raised:?}");
}

/// Though no call is under way whose answer would wake the node.
#[test]
fn where_the_clocks_are_known_to_be_apart_the_next_caller_tries_again_after_a_second() {
    let rig = Rig::with(Floe::builder(), Ahead(Memory::default()), BEGIN);
    assert!(matches!(rig.floe.check_clock(), Err(OpenError::Clock(_))));
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    rig.manual.turn();
    assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow));
    let turn = rig.manual.turn();
    assert!(matches!(orders.try_mint(), Err(MintError::Stopped(_))));
    let now = rig.floe.shared().clock.mono();
    assert_eq!((turn.calls.len(), turn.wake), (0, Some(now.plus(1_000))));
}

/// A ledger whose clock is told by what happens during the call.
#[derive(Default)]
struct Slow {
    ledger: Memory,
    call: OnceLock<Box<dyn Fn() -> UnixMillis + Send + Sync>>,
}

impl Ledger for Slow {
    crate::__hand_on!(self => self.ledger; reserve give_back bind definition names raise list realm_id describe is_shared);
    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(self.call.get().map(|call| call()))
    }
}

/// A floe on such a ledger; `call` gets the floe's clock.
fn slow(call: impl Fn(&FixedClock, &Clock) -> UnixMillis + Send + Sync + 'static) -> Rig {
    let ledger = Arc::new(Slow::default());
    let rig = Rig::with(Floe::builder(), Arc::clone(&ledger), BEGIN);
    let (hands, clock) = (rig.clock.clone(), Arc::clone(&rig.floe.shared().clock));
    assert!(ledger.call.set(Box::new(move || call(&hands, &clock))).is_ok());
    rig
}

#[test]
fn a_check_of_the_clock_allows_for_the_length_of_the_call() {
    // The ledger reads its clock, which is right, in the middle of half a minute.
    let rig = slow(|hands, _| {
        hands.advance(Duration::from_secs(15));
        let said = hands.now();
        hands.advance(Duration::from_secs(15));
        said
    });
    assert_eq!(rig.floe.check_clock(), Ok(Some(0)));
    // And an hour after the start, in another era, for no more than that.
    rig.pass(3_600_000);
    rig.floe.shared().clock.invalidate();
    assert_eq!(rig.floe.check_clock(), Ok(Some(0)));
}

/// The answer may be as old as the machine has slept.
#[test]
fn a_check_of_the_clock_during_which_an_era_ends_has_heard_nothing() {
    let rig = slow(|hands, clock| {
        clock.invalidate();
        hands.now()
    });
    assert_eq!(rig.floe.check_clock(), Ok(None));
}

#[test]
fn a_clock_holds_through_a_rollback_of_max_hold_and_not_of_a_millisecond_more() {
    let builder = || Floe::builder().max_hold(Duration::from_secs(60));
    let (rig, fixed) = (Rig::of(builder()), FixedClock::at(BEGIN));
    let standing = builder().clock(&fixed).open(Memory::default()).unwrap();
    for (floe, clock) in [(&rig.floe, &rig.clock), (&standing, &fixed)] {
        let state = |by: i64| {
            clock.step_to(BEGIN.plus(by));
            floe.status().clock.state
        };
        assert_eq!(state(-60_000), ClockState::Holding(60_000));
        assert_eq!(state(-60_001), ClockState::Refused(60_001));
    }
}

/// A ledger that does not tell its realm.
struct Hidden(Memory, LedgerError);

impl Ledger for Hidden {
    crate::__hand_on!(self => self.0; reserve give_back bind definition names raise list describe is_shared);
    fn realm_id(&self) -> Result<String, LedgerError> {
        Err(self.1.clone())
    }
}

#[test]
fn a_floe_opens_without_its_ledgers_answer_where_it_is_to_await_that() {
    let gone = LedgerError::Unavailable("gone".to_owned());
    let unfit = LedgerError::Unfit("replaced".to_owned());
    let open = |builder: Builder, error: &LedgerError| builder.open(Hidden(Memory::default(), error.clone()));
    for (builder, error) in
        [(Floe::builder(), &gone), (Floe::builder(), &unfit), (Floe::builder().await_ledger(), &unfit)]
    {
        assert_eq!(open(builder, error).err(), Some(OpenError::Ledger(error.clone())));
    }
    let status = open(Floe::builder().await_ledger(), &gone).unwrap().status();
    assert_eq!((status.realm_id.as_str(), status.state), ("", State::Running));
}

#[test]
fn a_floe_without_a_ledger_mints_as_the_worker_that_it_was_given() {
    let floe = Floe::unguarded(7).unwrap();
    for layout in [Layout::TWITTER, Layout::LEAF] {
        let orders = floe.snowflake(&layout.to_string().replace([' ', '/'], "-"), layout).unwrap();
        assert_eq!(orders.inspect(orders.mint().unwrap()).unwrap().worker, 7);
    }
}

/// Whoever gives an instance a name says that no two run under it.
#[test]
fn an_instance_that_is_started_again_after_a_crash_takes_its_worker_over_at_once() {
    let (ledger, clock) = (Memory::default(), FixedClock::at(BEGIN));
    let open = |instance: &str, ledger: &Memory| {
        let builder = Floe::builder().worker(WorkerChoice::Fixed(7)).instance(instance).clock(&clock);
        builder.open(ledger.clone()).unwrap().snowflake("orders", Layout::TWITTER).unwrap()
    };
    let first = open("shop-7", &ledger);
    let last = first.mint().unwrap();
    // The window is not over, as after a crash.
    let crashed = ledger.backup();
    let outcome = |orders: &Generator| {
        let found = (0..10_000).find_map(|_| match orders.try_mint() {
            Ok(Outcome::NeedWindow) => {
                thread::park_timeout(Duration::from_millis(1));
                None
            }
            other => Some(other),
        });
        found.expect("the node answers")
    };
    let other = outcome(&open("shop-8", &crashed));
    assert!(other.as_ref().is_err_and(|error| error.to_string().contains("worker 7 is held")), "{other:?}");
    let again = outcome(&open("shop-7", &crashed));
    assert!(matches!(again, Ok(Outcome::Ready(id)) if id > last), "{again:?}");
}

/// A ledger that finds out that it is not what it was when a name is bound.
struct Restored(Memory);

impl Ledger for Restored {
    crate::__hand_on!(self => self.0; reserve give_back definition names raise list realm_id describe is_shared);
    fn bind(&self, _: &Name, _: &str, _: bool) -> Result<String, LedgerError> {
        Err(LedgerError::Unfit("it was restored from a backup".to_owned()))
    }
}

#[test]
fn a_ledger_that_is_unfit_when_a_name_is_bound_stops_every_name() {
    let floe = Floe::open(Restored(Memory::default())).unwrap();
    let users = floe.define_unbound(&name("users"), &"uuid7".parse().unwrap()).unwrap();
    assert!(matches!(floe.segment("tickets"), Err(DefineError::Stopped(_))));
    assert_eq!(floe.status().state, State::Stopped("it was restored from a backup".to_owned()));
    assert_eq!(users.mint_many(1).unwrap().count(), 1, "it is unique by itself");
}

/// The node's own question has failed, and then the floe hears of the clock by itself: nobody awaits it any more.
#[test]
fn a_check_of_the_clock_after_which_nobody_awaits_it_leaves_nothing_to_look_at_at_once() {
    let rig = slow(|hands, _| hands.now());
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow));
    let asked = rig.manual.turn().calls.pop_front().unwrap();
    assert_eq!(asked.op, Op::Clock);
    rig.manual.answer_clock(asked.id, Err(LedgerError::Unavailable("gone".to_owned())));
    assert_eq!(rig.floe.check_clock(), Ok(Some(0)));
    rig.pass(400);
    rig.settle();
    assert!(matches!(orders.try_mint(), Ok(Outcome::Ready(_))));
    let now = rig.floe.shared().clock.mono();
    assert!(rig.manual.turn().wake.is_none_or(|wake| wake > now));
}
