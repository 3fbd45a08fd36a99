//! How a name comes into service, and goes out of it.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::driver::tests::until;
use crate::error::MintError;
use crate::form::{Key as FormKey, KeyId, Keys};
use crate::keys::key_names;
use crate::kind::UlidGenerator;
use crate::layout::Width;
use crate::ledger::{end_on, retire};
use crate::manual::Op;
use crate::manual::tests::{BEGIN, Rig};
use crate::status::State;

fn marks(ledger: &dyn Ledger) -> Vec<(String, u64)> {
    let records = ledger.list("", "", 99).unwrap();
    records.into_iter().map(|record| (record.key, record.mark)).collect()
}

/// A binding is permanent.
#[test]
fn a_layout_that_cannot_be_minted_here_is_refused_before_the_name_is_bound() {
    let epoch = UnixMillis::new(1_577_836_800_000);
    let wide = Layout::new("time:43 server:24 sequence:18", 1, epoch, Width::Wide).unwrap();
    let floe = Floe::open(Memory::default()).unwrap();
    floe.snowflake("events", wide.clone()).unwrap_err();
    assert_eq!(floe.stored(&name("events")), Ok(None));
    floe.wide_snowflake("events", wide).unwrap();
    let outside = Floe::builder().worker(WorkerChoice::Fixed(1_024)).open(Memory::default()).unwrap();
    let refused = outside.snowflake("orders", Layout::TWITTER).unwrap_err().to_string();
    assert!(refused.contains("1024"), "{refused}");
    assert_eq!(outside.stored(&name("orders")), Ok(None));
}

/// With a key of such bytes, which its texts name.
fn sealed(byte: u8) -> Form {
    let keys = Keys::new().with(KeyId::new(1), FormKey::from([byte; 16])).unwrap();
    "sealed key=1 keyid=2bits base32".parse::<Form>().unwrap().with_keys(&keys).unwrap()
}

/// A mark is listed, saved and raised as one of a name that counts.
#[test]
fn a_name_has_a_mark_where_its_numbers_are_counted_and_a_check_of_its_key_has_none() {
    let ledger = Memory::default();
    let floe = Floe::open(ledger.clone()).unwrap();
    floe.snowflake("orders", Layout::TWITTER).unwrap();
    floe.formed("tickets", Definition::SEGMENT, sealed(7)).unwrap();
    let names: Vec<_> = ledger.names("", 9).unwrap().into_iter().map(|(name, _)| name).collect();
    assert!(names.len() == 3 && names.iter().filter(|name| Name::is_note(name)).count() == 1, "{names:?}");
    assert_eq!(marks(&ledger), [("n/tickets".to_owned(), 0)]);
}

/// Every later floe reads them, and an older one compares its key with them.
#[test]
fn what_a_ledger_notes_of_a_name_has_one_text_for_ever() {
    let (ledger, tickets) = (Memory::default(), name("tickets"));
    Floe::open(ledger.clone()).unwrap().formed("tickets", Definition::SEGMENT, sealed(7)).unwrap();
    end_on(&ledger, &tickets, jiff::civil::date(2026, 11, 22)).unwrap();
    retire(&ledger, &tickets, BEGIN).unwrap();
    let notes: Vec<_> =
        ledger.names("", 9).unwrap().into_iter().filter(|(name, _)| Name::is_note(name)).collect();
    let expected = [
        ("*tickets", "retired at=2026-03-01T12:00:00.000Z"),
        ("tickets*1", "key check=43b5f7"),
        ("tickets*until", "until=2026-11-22"),
    ];
    assert_eq!(notes, expected.map(|(note, text)| (note.to_owned(), text.to_owned())));
}

#[test]
fn a_name_that_is_bound_to_another_kind_gets_no_mark_to_begin_at() {
    let ledger = Memory::default();
    Floe::open(ledger.clone()).unwrap().snowflake("orders", Layout::TWITTER).unwrap();
    let floe = Floe::open(ledger.clone()).unwrap();
    let refused = floe.define_from(&name("orders"), &Definition::SEGMENT, &NameOptions::default(), 500);
    assert!(matches!(refused, Err(DefineError::Mismatch { .. })), "{refused:?}");
    assert_eq!(marks(&ledger), []);
}

/// Keys that its texts name are no part of its definition.
#[test]
fn a_name_that_is_bound_with_another_key_keeps_its_first_mark() {
    let ledger = Memory::default();
    Floe::open(ledger.clone()).unwrap().formed("tickets", Definition::SEGMENT, sealed(7)).unwrap();
    let floe = Floe::open(ledger.clone()).unwrap();
    let other = Definition::SEGMENT.in_form(sealed(8)).unwrap();
    let refused = floe.define_from(&name("tickets"), &other, &NameOptions::default(), 500);
    assert!(matches!(refused, Err(DefineError::AnotherKey { .. })), "{refused:?}");
    assert_eq!(marks(&ledger), [("n/tickets".to_owned(), 0)]);
}

#[test]
fn a_name_begins_at_its_second_number_as_at_any_other_and_at_its_first_by_itself() {
    let (tickets, options) = (name("tickets"), NameOptions::default());
    for first in [1, 2, 3, 500] {
        for is_defined_again in [false, true] {
            let ledger = Memory::default();
            let floe = Floe::open(ledger.clone()).unwrap();
            let handle = floe.define(&tickets, &Definition::SEGMENT, &options).unwrap();
            if is_defined_again {
                let (_, begun) = floe.define_from(&tickets, &Definition::SEGMENT, &options, first).unwrap();
                assert_eq!(begun, Beginning::Here);
            } else {
                assert_eq!(floe.begin_at(&handle, first), Ok(None));
            }
            assert_eq!(marks(&ledger), [("n/tickets".to_owned(), first - 1)]);
            assert_eq!(floe.segment("tickets").unwrap().mint().map(Id::get), Ok(first));
        }
    }
}

/// A ledger that answers no reservation.
struct Mute(Memory);

impl Ledger for Mute {
    crate::__hand_on!(self => self.0; give_back bind definition names raise list realm_id describe is_shared);
    fn reserve(&self, _: &Reserve) -> Result<Reply, LedgerError> {
        Err(LedgerError::Unavailable("mute".to_owned()))
    }
}

#[test]
fn a_name_that_begins_at_its_first_number_asks_the_ledger_for_no_mark() {
    let floe = Floe::open(Mute(Memory::default())).unwrap();
    let (tickets, options) = (name("tickets"), NameOptions::default());
    let (handle, begun) = floe.define_from(&tickets, &Definition::Counter, &options, 1).unwrap();
    assert_eq!(begun, Beginning::Here);
    assert_eq!(floe.begin_at(&handle, 1), Ok(None));
    assert!(matches!(floe.begin_at(&handle, 2), Err(DefineError::Unavailable(_))));
}

#[test]
fn a_name_that_is_not_served_keeps_its_first_mark() {
    let tickets = name("tickets");
    for is_retired in [false, true] {
        let ledger = Memory::default();
        ledger.bind(&tickets, &Definition::Counter.to_string(), true).unwrap();
        let floe = Floe::open(ledger.clone()).unwrap();
        match is_retired {
            true => assert!(retire(&ledger, &tickets, UnixMillis::new(1)).is_ok()),
            false => floe.on_ledger_error(&LedgerError::Unfit("it went backwards".to_owned())),
        }
        let refused = floe.define_from(&tickets, &Definition::Counter, &NameOptions::default(), 500);
        assert!(refused.is_err(), "{refused:?}");
        assert_eq!(ledger.list("n/tickets", "", 1).unwrap()[0].mark, 0, "{refused:?}");
    }
}

/// Others could mint below the number.
#[test]
fn a_bound_name_that_could_not_be_told_where_it_begins_is_not_served() {
    let (ledger, tickets) = (Memory::default(), name("tickets"));
    Floe::open(ledger.clone())
        .unwrap()
        .define(&tickets, &Definition::Counter, &NameOptions::default())
        .unwrap();
    let floe = Floe::open(Mute(ledger)).unwrap();
    let refused = floe.define_from(&tickets, &Definition::Counter, &NameOptions::default(), 500);
    assert!(matches!(refused, Err(DefineError::Unavailable(_))), "{refused:?}");
    assert!(lock(&floe.inner.names).is_empty(), "it is served");
}

/// Somebody has deleted it; what was minted from it would come again.
#[test]
fn a_bound_name_whose_record_is_missing_does_not_begin_anew() {
    let ledger = Memory::default();
    let floe = Floe::open(ledger.clone()).unwrap();
    let handle = floe.define(&name("tickets"), &Definition::SEGMENT, &NameOptions::default()).unwrap();
    assert!(ledger.lose(&Key::name(&name("tickets"))));
    let begun = floe.begin_at(&handle, 500);
    assert!(matches!(begun, Err(DefineError::Stopped(_))), "{begun:?}");
    assert_eq!(marks(&ledger), []);
    // It is one record's trouble, as is a mark that has come to its end.
    floe.on_ledger_error(&LedgerError::Overflow { key: Key::name(&name("tickets")), mark: 7 });
    assert_eq!(floe.status().state, State::Running);
}

/// A ledger on which somebody else does something while `orders` is being bound.
struct Meanwhile {
    ledger: Memory,
    work: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Meanwhile {
    fn new() -> Arc<Self> {
        Arc::new(Self { ledger: Memory::default(), work: OnceLock::new() })
    }

    fn does(&self, work: impl Fn() + Send + Sync + 'static) {
        assert!(self.work.set(Box::new(work)).is_ok());
    }
}

fn ahead(millis: u64) -> NameOptions {
    NameOptions { max_ahead: std::time::Duration::from_millis(millis), ..NameOptions::default() }
}

impl Ledger for Meanwhile {
    crate::__hand_on!(self => self.ledger; reserve give_back definition names raise list realm_id describe is_shared);
    fn bind(&self, bound: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        if bound.as_str() == "orders" {
            self.work.get().unwrap()();
        }
        self.ledger.bind(bound, definition, marked)
    }
}

#[test]
fn names_that_are_defined_at_once_do_not_share_a_generator_of_other_options() {
    for (millis, is_served) in [(20, true), (10, false)] {
        let ledger = Meanwhile::new();
        // It mints nothing, so it may stay open with the ledger that holds it.
        let floe = Rig::with(Floe::builder(), Arc::clone(&ledger), BEGIN).floe;
        let same = floe.clone();
        ledger.does(move || drop(same.define(&name("others"), &Layout::TWITTER.into(), &ahead(20)).unwrap()));
        let defined = floe.define(&name("orders"), &Layout::TWITTER.into(), &ahead(millis));
        assert_eq!(defined.is_ok(), is_served, "{defined:?}");
        if let Err(refused) = defined {
            assert!(refused.to_string().contains("need the same start and max_ahead"), "{refused}");
        }
    }
}

/// The counter would be served a second time, and nobody would answer the callers of the first.
#[test]
fn a_name_that_was_defined_anew_meanwhile_is_served_on_where_it_cannot_be_bound_late() {
    let (ledger, orders, ulid) = (Meanwhile::new(), name("orders"), "ulid".parse().unwrap());
    ledger.ledger.bind(&orders, "counter", true).unwrap();
    // It mints nothing, so it may stay open with the ledger that holds it.
    let floe = Rig::with(Floe::builder(), Arc::clone(&ledger), BEGIN).floe;
    floe.define_unbound(&orders, &ulid).unwrap();
    let bind_late = move |floe: &Floe| {
        let bound = floe.bind_late(&name("orders"), &ulid);
        assert!(matches!(bound, Err(DefineError::Mismatch { .. })), "{bound:?}");
    };
    let (same, binds_too, once) = (floe.clone(), bind_late.clone(), AtomicBool::new(true));
    ledger.does(move || {
        if once.swap(false, Ordering::Relaxed) {
            binds_too(&same);
            same.counter("orders").unwrap();
        }
    });
    bind_late(&floe);
    let names = lock(&floe.inner.names);
    assert_eq!(names.get(&orders).map(Handle::definition), Some(&Definition::Counter));
}

/// No thread is left that would tell it.
#[test]
fn a_name_that_is_bound_while_the_floe_is_closed_says_so() {
    for definition in [Layout::TWITTER.into(), Definition::SEGMENT, Definition::Counter] {
        let ledger = Meanwhile::new();
        let floe = Floe::open(Arc::clone(&ledger)).unwrap();
        // It is closed, so it may stay with the ledger that holds it.
        let same = floe.clone();
        ledger.does(move || same.close());
        let orders = floe.define(&name("orders"), &definition, &NameOptions::default()).unwrap();
        let refused = orders.mint_many(1).map(drop);
        assert!(
            matches!(&refused, Err(MintError::Stopped(stopped)) if stopped.to_string().contains("closed")),
            "{definition}: {refused:?}"
        );
    }
}

#[test]
fn a_key_that_another_node_binds_at_once_is_said_to_be_the_ledgers() {
    let [theirs, ours] = [7, 8].map(|byte| Definition::SEGMENT.in_form(sealed(byte)).unwrap());
    let check = |definition: &Definition| key_names(&name("orders"), definition).unwrap().remove(0).2;
    let (stored, configured) = (check(&theirs), check(&ours));
    let ledger = Meanwhile::new();
    let shared = ledger.ledger.clone();
    ledger.does(move || {
        let floe = Floe::open(shared.clone()).unwrap();
        floe.define(&name("orders"), &theirs, &NameOptions::default()).unwrap();
    });
    let floe = Floe::open(Arc::clone(&ledger)).unwrap();
    let defined = floe.define(&name("orders"), &ours, &NameOptions::default()).map(drop);
    let (name, key) = (name("orders"), name("orders").of_key(1).unwrap());
    assert_eq!(defined, Err(DefineError::AnotherKey { name, key, stored, configured }));
}

/// A binding is permanent.
#[test]
fn a_closed_floe_binds_no_name() {
    let ledger = Memory::default();
    let floe = Floe::open(ledger.clone()).unwrap();
    floe.close();
    let refused = floe.define(&name("orders"), &Definition::SEGMENT, &NameOptions::default()).map(drop);
    assert!(matches!(refused, Err(DefineError::Stopped(_))), "{refused:?}");
    assert_eq!(ledger.definition(&name("orders")), Ok(None));
}

/// The server starts all the same, and mints when the clock is right.
#[test]
fn a_name_is_defined_while_the_clock_shows_a_time_that_cannot_be() {
    let rig = Rig::with(Floe::builder(), Memory::default(), UnixMillis::new(-1));
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    orders.try_mint().unwrap_err();
    assert_eq!(rig.told("orders").left, 0, "no window, although the layout's epoch is ahead of that time");
    rig.clock.step_to(BEGIN);
    orders.try_mint().unwrap();
    rig.settle();
    assert_eq!(orders.try_mint_many(1).unwrap().unwrap().count(), 1);
}

#[test]
fn a_definition_that_cannot_be_is_not_served_before_it_is_bound_either() {
    let floe = Floe::open(Memory::default()).unwrap();
    let short = Definition::Formed(Box::new("uuid7".parse().unwrap()), "base62 bits=64".parse().unwrap());
    assert!(short.check().is_err());
    assert!(floe.define_unbound(&name("users"), &short).is_err());
    assert!(floe.status().names.is_empty());
}

/// With another one, its IDs would not be in order any more.
#[test]
fn a_name_that_is_served_unbound_keeps_its_minter() {
    let floe = Floe::open(Memory::default()).unwrap();
    let served = || floe.define_unbound(&name("users"), &"ulid".parse().unwrap()).unwrap();
    let handles = [served(), served()];
    let ids: Vec<_> =
        (0..100).map(|at| handles[at % 2].mint_many(1).unwrap().next().unwrap().to_string()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn a_name_that_needs_no_ledger_is_unloaded_without_it() {
    let floe = Floe::open(Memory::default()).unwrap();
    floe.define(&name("users"), &"uuid7".parse().unwrap(), &NameOptions::default()).unwrap();
    assert!(floe.unload(&name("users")));
    assert!(floe.status().names.is_empty());
}

#[test]
fn a_segment_in_a_form_is_unloaded_with_what_it_had_left() {
    let rig = Rig::new();
    let short = Definition::SEGMENT.in_form("base36 width=13".parse().unwrap()).unwrap();
    let options = NameOptions { min_step: 10, ..NameOptions::default() };
    let tickets = rig.define("tickets", &short, &options);
    assert!(tickets.try_mint_many(1).unwrap().is_none());
    rig.settle();
    assert_eq!(tickets.try_mint_many(1).unwrap().unwrap().count(), 1);
    assert!(rig.floe.unload(&name("tickets")));
    assert!(rig.floe.status().names.is_empty());
    rig.settle();
    let key = Key::name(&name("tickets")).to_string();
    assert_eq!(marks(rig.floe.ledger()), [(key, 1)]);
}

/// Whoever defines it meanwhile would get the handle of what is just being stopped.
#[test]
fn nobody_looks_for_a_name_while_it_is_unloaded() {
    for definition in [Definition::SEGMENT, Definition::Counter] {
        let rig = Rig::new();
        let names = &rig.floe.inner.names;
        rig.define("orders", &definition, &NameOptions::default());
        let unload = || rig.floe.unload(&name("orders"));
        thread::scope(|scope| {
            let shared = rig.floe.shared();
            let node = shared.node();
            let unloading = scope.spawn(unload);
            until(|| names.try_lock().is_err());
            for _ in 0..100 {
                thread::yield_now();
                assert!(names.try_lock().is_err(), "it has let go of the names before the node's work");
            }
            drop(node);
            assert!(unloading.join().unwrap());
        });
    }
}

#[test]
fn the_nodes_thread_hears_of_what_an_unloaded_name_gives_back() {
    let rig = Rig::new();
    let options = NameOptions { min_step: 10, ..NameOptions::default() };
    let tickets = rig.define("tickets", &Definition::SEGMENT, &options);
    assert!(tickets.try_mint_many(1).unwrap().is_none());
    rig.settle();
    assert_eq!(tickets.try_mint_many(1).unwrap().unwrap().count(), 1);
    assert!(!rig.manual.is_called());
    assert!(rig.floe.unload(&name("tickets")));
    assert!(rig.manual.is_called());
    let calls = rig.manual.turn().calls;
    assert!(matches!(calls.front().map(|call| &call.op), Some(Op::GiveBack { from: 1, .. })), "{calls:?}");
}

#[test]
fn registries_are_equal_where_they_have_kinds_of_the_same_names() {
    let registry = |names: &[&str]| {
        names
            .iter()
            .fold(KindRegistry::new(), |kinds, name| kinds.with(*name, |_, _| Ok(UlidGenerator::new())))
    };
    assert_eq!(registry(&["tagged", "plain"]), registry(&["plain", "tagged"]));
    assert_ne!(registry(&["tagged"]), registry(&["tagged", "plain"]));
    assert_ne!(registry(&["tagged"]), registry(&["plain"]));
}
