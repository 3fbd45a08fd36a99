//! Names that are unloaded and come back.

use std::sync::Arc;

use floe::form::{Form, Key as FormKey, KeyId, Keys};
use floe::ledger::{Ledger, Memory};
use floe::{
    DefineError, Definition, Floe, KindRegistry, Layout, MintError, Name, NameOptions, Properties,
    Registered, StopReason, Stopped,
};

use crate::faulty::{Faulty, Mode};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Each kind that counts, in the order of `next`.
const KINDS: [&str; 4] = [
    "segment increment=1 offset=1",
    "counter",
    "dated zone=UTC digits=6 overflow=refuse prefix=",
    "counter form base62",
];

fn next(floe: &Floe, at: usize) -> Result<String, MintError> {
    let definition: Definition = KINDS[at].parse().unwrap();
    let handle = floe.define(&name(&format!("name-{at}")), &definition, &NameOptions::default()).unwrap();
    handle.mint_many(1).map(|mut ids| ids.next().unwrap().to_string())
}

/// A segment that is being reserved ahead stays until the ledger has answered.
fn unload(floe: &Floe, at: usize) {
    while !floe.unload(&name(&format!("name-{at}"))) {
        std::thread::yield_now();
    }
}

#[test]
fn a_name_that_was_unloaded_comes_back_and_repeats_nothing() {
    let floe = Floe::open(Memory::default()).unwrap();
    for (at, kind) in KINDS.iter().enumerate() {
        let mut seen = std::collections::HashSet::new();
        for round in 0..50 {
            for _ in 0..=round % 3 {
                let id = next(&floe, at).unwrap();
                assert!(seen.insert(id.clone()), "{kind} gave {id} twice, in round {round}");
            }
            unload(&floe, at);
            assert!(floe.status().names.is_empty(), "{kind}");
        }
    }
    assert!(floe.unload(&name("nobody")), "what is not loaded is unloaded");
}

#[test]
fn names_that_are_unloaded_just_before_the_close_go_on_where_they_were() {
    let ledger = Arc::new(Memory::default());
    for round in 1..=3 {
        let floe = Floe::open(Arc::clone(&ledger)).unwrap();
        let names: Vec<_> = (0..200).map(|tenant| name(&format!("tenant-{tenant}"))).collect();
        for name in &names {
            assert_eq!(floe.segment(name.as_str()).unwrap().mint().unwrap().get(), round, "{name}");
        }
        for name in &names {
            while !floe.unload(name) {
                std::thread::yield_now();
            }
        }
        floe.close();
    }
}

#[test]
fn who_still_holds_a_segment_mints_nothing_that_was_given_back() {
    let floe = Floe::open(Memory::default()).unwrap();
    let held = floe.segment("orders").unwrap();
    let first = held.mint().unwrap();
    while !floe.unload(&name("orders")) {
        std::thread::yield_now();
    }
    let Err(MintError::Stopped(stopped)) = held.mint() else { panic!("it mints on") };
    assert!(stopped.reason == StopReason::Closed && stopped.cause.contains("unloaded"), "{stopped:?}");
    assert!(floe.segment("orders").unwrap().mint().unwrap() > first);
    assert!(matches!(held.mint(), Err(MintError::Stopped(_))), "also when the name is back");
}

#[test]
fn who_still_holds_a_counter_is_told_that_it_is_not_served_any_more() {
    let floe = Floe::open(Memory::default()).unwrap();
    let held = floe.counter("orders").unwrap();
    held.mint().unwrap();
    while !floe.unload(&name("orders")) {
        std::thread::yield_now();
    }
    let (reason, cause) = (StopReason::Closed, "orders is not served any more".to_owned());
    assert_eq!(held.mint(), Err(MintError::Stopped(Stopped { reason, cause })));
}

#[test]
fn a_ledger_that_went_back_while_a_name_was_unloaded_is_found_out() {
    for (at, kind) in KINDS.iter().enumerate() {
        let ledger = Memory::default();
        let floe = Floe::open(ledger.clone()).unwrap();
        next(&floe, at).unwrap();
        let backup = ledger.backup();
        (0..3_000).for_each(|_| drop(next(&floe, at).unwrap()));
        unload(&floe, at);
        ledger.restore(&backup);
        match next(&floe, at) {
            Err(MintError::Stopped(stopped)) => {
                let Stopped { reason, cause } = stopped;
                assert!(reason == StopReason::Ledger && cause.contains("went backwards"), "{cause}");
            }
            other => panic!("{kind}: {other:?}"),
        }
        assert!(!floe.unload(&name(&format!("name-{at}"))), "what stopped stays stopped");
        assert!(matches!(next(&floe, at), Err(MintError::Stopped(_))));
    }
}

#[test]
fn a_retired_name_is_closed_to_every_kind_of_call_and_keeps_its_mark() {
    let ledger = Memory::default();
    let floe = Floe::open(ledger.clone()).unwrap();
    for at in 0..KINDS.len() {
        next(&floe, at).unwrap();
    }
    floe.snowflake("flakes", Layout::TWITTER).unwrap().mint().unwrap();
    let marks = ledger.list("n/", "", 100).unwrap();
    let all = (0..KINDS.len()).map(|at| name(&format!("name-{at}"))).chain([name("flakes")]);
    for name in all {
        floe::ledger::retire(&ledger, &name, floe::UnixMillis::new(1)).unwrap();
    }
    assert_eq!(ledger.list("n/", "", 100).unwrap(), marks);
    // A new process, which knows nothing.
    let floe = Floe::open(ledger).unwrap();
    for (at, text) in KINDS.iter().enumerate() {
        let refused =
            floe.define(&name(&format!("name-{at}")), &text.parse().unwrap(), &NameOptions::default());
        assert!(matches!(refused, Err(DefineError::Retired { .. })), "{text}: {refused:?}");
    }
    assert!(matches!(floe.snowflake("flakes", Layout::TWITTER), Err(DefineError::Retired { .. })));
}

#[test]
fn a_generator_whose_ids_are_unique_in_itself_alone_stays() {
    let kinds = KindRegistry::new().with("mine", |_, _| Ok(floe::kind::UlidGenerator::new()));
    let floe = Floe::builder().kinds(kinds).open(Memory::default()).unwrap();
    let own = Definition::Snowflake { layout: Layout::TWITTER, own: true };
    let formed: Definition = format!("{own} form base62").parse().unwrap();
    let mine = Definition::Registered(Registered::new("mine", Properties::default()).unwrap());
    for (at, definition) in [own, formed, mine].iter().enumerate() {
        let name = name(&format!("own-{at}"));
        let handle = floe.define(&name, definition, &NameOptions::default()).unwrap();
        handle.mint_many(1).unwrap();
        assert!(!floe.unload(&name), "another of {definition} would mint beside the one that is still held");
    }
    let shared = floe.snowflake("shared", Layout::TWITTER).unwrap();
    assert!(floe.unload(&name("shared")), "the names of a layout share one generator, which stays");
    let again = floe.snowflake("shared", Layout::TWITTER).unwrap();
    let ids: Vec<_> = (0..100).flat_map(|_| [shared.mint().unwrap(), again.mint().unwrap()]).collect();
    assert!(ids.is_sorted_by(|before, after| before < after));
}

/// What makes a registered kind may serve names itself, as another thread may, and the ledger cannot tell which of two
/// definitions a name is served by.
#[test]
fn a_name_that_is_served_by_another_definition_meanwhile_is_refused() {
    let (users, uuid7): (_, Definition) = (name("users"), "uuid7".parse().unwrap());
    let unbound = uuid7.clone();
    let kinds = KindRegistry::new().with("mine", move |_, floe| {
        floe.define_unbound(&name("users"), &unbound).unwrap();
        Ok(floe::kind::UlidGenerator::new())
    });
    let floe = Floe::builder().kinds(kinds).open(Memory::default()).unwrap();
    let mine = Definition::Registered(Registered::new("mine", Properties::default()).unwrap());
    let served = floe.define(&users, &mine, &NameOptions::default());
    assert!(matches!(served, Err(DefineError::Mismatch { .. })), "{served:?}");
    assert!(
        matches!(floe.bind_late(&users, &uuid7), Err(DefineError::Mismatch { .. })),
        "the ledger has the other"
    );
}

/// Whoever serves a name that the ledger has for another one drops its handles, and serves the right one.
#[test]
fn a_name_that_the_ledger_has_for_another_one_is_served_no_more() {
    let (ledger, users, uuid7) = (Faulty::new(Mode::Gone), name("users"), "uuid7".parse().unwrap());
    let floe = Floe::open(ledger.clone()).unwrap();
    floe.define_unbound(&users, &uuid7).unwrap();
    assert!(matches!(floe.bind_late(&users, &uuid7), Err(DefineError::Unavailable(_))));
    assert_eq!(floe.status().names.len(), 1, "it is bound when the ledger answers");
    ledger.set(Mode::Fine);
    Floe::open(ledger).unwrap().counter("users").unwrap();
    assert!(matches!(floe.bind_late(&users, &uuid7), Err(DefineError::Mismatch { .. })));
    assert!(floe.status().names.is_empty());
    assert_eq!(floe.counter("users").unwrap().mint().unwrap().get(), 1);
}

/// A kind without a ledger whose texts name the key that they are sealed with.
fn sealed(byte: u8) -> Definition {
    let keys = Keys::new().with(KeyId::new(1), FormKey::from([byte; 16])).unwrap();
    let form: Form = "sealed key=1 bits=128 keyid=prefix base62 width=22".parse().unwrap();
    let wide: Definition = "uuid4".parse().unwrap();
    wide.in_form(form.with_keys(&keys).unwrap()).unwrap()
}

/// With two keys under one id, two nodes would write one text for two numbers.
#[test]
fn a_name_that_was_served_unbound_is_bound_with_its_sealing_key() {
    let users = name("users");
    for first in [7, 8] {
        let ledger = Faulty::new(Mode::Fine);
        let floe = Floe::open(ledger.clone()).unwrap();
        floe.define_unbound(&users, &sealed(7)).unwrap();
        if first == 8 {
            let other = Floe::open(ledger.clone()).unwrap();
            other.define(&users, &sealed(8), &NameOptions::default()).unwrap();
        }
        let bound = floe.bind_late(&users, &sealed(7));
        match first {
            7 => assert_eq!(bound, Ok(())),
            _ => assert!(matches!(bound, Err(DefineError::AnotherKey { .. })), "{bound:?}"),
        }
        assert_eq!(
            floe.status().names.len(),
            usize::from(first == 7),
            "another key: nothing is written with it any more"
        );
        let names = ledger.names("", 9).unwrap();
        assert!(names.iter().any(|(name, _)| name == "users*1"), "{names:?}");
    }
}

#[test]
fn a_form_without_its_key_is_served_no_name_before_it_is_bound() {
    let floe = Floe::open(Memory::default()).unwrap();
    let wide: Definition = "uuid4".parse().unwrap();
    let keyless = wide.in_form("sealed key=1 bits=128 base62 width=22".parse().unwrap()).unwrap();
    let served = floe.define_unbound(&name("users"), &keyless).map(drop);
    assert!(matches!(served, Err(DefineError::Invalid(_))), "{served:?}");
}

#[test]
fn a_name_that_leaves_no_room_for_its_keys_is_not_served_before_it_is_bound_either() {
    let floe = Floe::open(Memory::default()).unwrap();
    let long = name(&"n".repeat(Name::MAX_BYTES));
    let served = floe.define_unbound(&long, &sealed(7)).map(drop);
    assert!(matches!(served, Err(DefineError::Invalid(_))), "{served:?}");
}

#[test]
fn a_name_that_was_retired_before_it_was_bound_is_served_no_more() {
    let (ledger, users, uuid7) = (Faulty::new(Mode::Fine), name("users"), "uuid7".parse().unwrap());
    let floe = Floe::open(ledger.clone()).unwrap();
    floe.define_unbound(&users, &uuid7).unwrap();
    let other = Floe::open(ledger.clone()).unwrap();
    other.define(&users, &uuid7, &NameOptions::default()).unwrap();
    floe::ledger::retire(&ledger, &users, floe::UnixMillis::new(1)).unwrap();
    let bound = floe.bind_late(&users, &uuid7);
    assert!(matches!(bound, Err(DefineError::Retired { .. })), "{bound:?}");
    assert!(floe.status().names.is_empty());
}

/// A binding is for ever, so nobody leaves one who is refused.
#[test]
fn a_name_that_was_retired_is_not_bound_and_says_so_whatever_it_was() {
    let (ledger, orders) = (Memory::default(), name("orders"));
    floe::ledger::retire(&ledger, &orders, floe::UnixMillis::new(1)).unwrap();
    let floe = Floe::open(ledger.clone()).unwrap();
    let define = |definition| floe.define(&orders, definition, &NameOptions::default()).map(drop);
    assert!(matches!(define(&Definition::SEGMENT), Err(DefineError::Retired { .. })));
    assert_eq!(floe.stored(&orders).unwrap(), None);
    ledger.bind(&orders, &Definition::Counter.to_string(), true).unwrap();
    assert!(matches!(define(&Definition::SEGMENT), Err(DefineError::Retired { .. })));
}
