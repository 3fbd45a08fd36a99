//! The ledger behind is down, or its answers are lost.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};
use std::thread;

use floe::form::{Form, KeyId, Keys};
use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Reply, Reserve, end_on, ends_on, retire, retired};
use floe::{DefineError, Definition, Floe, Name, NameOptions, UnixMillis};
use floe_ledger::{Cache, OpenError};
use tempfile::TempDir;

use super::{Behind, HOUR, NOW, bind, elsewhere, numbers, open, try_open, until, window};
use crate::{got, says};

#[test]
fn a_restart_during_an_outage_serves_what_was_held() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let (realm_id, first) = {
        let cache = open(dir.path(), &behind);
        bind(&cache, "orders");
        got(&cache, &window(7, NOW));
        (cache.realm_id().unwrap(), got(&cache, &numbers("orders", 100)))
    };
    assert_eq!(first, (0, 100));
    behind.cut();
    let cache = open(dir.path(), &behind);
    assert_eq!(cache.realm_id(), Ok(realm_id));
    assert_eq!(cache.clock(), Ok(None));
    assert!(cache.is_shared());
    says(&cache.describe(), &["behind:", "behind the cache"]);
    bind(&cache, "orders");
    let orders = Name::new("orders").unwrap();
    assert_eq!(cache.definition(&orders), Ok(Some(Definition::SEGMENT.to_string())));
    assert_eq!(retired(&cache, &orders), Ok(None), "that a name was retired is heard with the names");
    assert_eq!(cache.at_hand(10).len(), 1);
    let mut now = NOW + 30_000;
    while now + 30_000 <= NOW + HOUR {
        assert_eq!(got(&cache, &window(7, now)), (now, now + 30_000));
        now += 30_000;
    }
    assert_eq!(got(&cache, &numbers("orders", 300)), (100, 400));
    // Now nothing is left, and keys that were never held have nothing.
    for request in [window(7, now), window(8, NOW), numbers("orders", 1)] {
        match cache.reserve(&request) {
            Err(LedgerError::Unavailable(text)) => says(&text, &["cut off"]),
            other => panic!("{other:?}"),
        }
    }
    let tickets = Name::new("tickets").unwrap();
    assert!(matches!(cache.bind(&tickets, "counter", true), Err(LedgerError::Unavailable(_))));
    assert!(matches!(cache.names("", 10), Err(LedgerError::Unavailable(_))));
    assert!(matches!(cache.list("", "", 10), Err(LedgerError::Unavailable(_))));
    behind.heal();
    assert_eq!(got(&cache, &window(7, now)), (now, now + 30_000));
    assert_eq!(cache.clock().map(|clock| clock.is_some()), Ok(true));
}

#[test]
fn a_new_directory_needs_the_ledger_behind_once() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    behind.cut();
    match try_open(dir.path(), &behind).map(drop) {
        Err(OpenError::Ledger(LedgerError::Unavailable(text))) => {
            says(&text, &["cut off", "holds nothing yet"])
        }
        other => panic!("{other:?}"),
    }
    behind.heal();
    got(&open(dir.path(), &behind), &window(7, NOW));
}

#[test]
fn counters_and_dated_names_pass_by() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let visits = Name::new("visits").unwrap();
    cache.bind(&visits, "counter", true).unwrap();
    let one = || Reserve { key: Key::name(&visits), ..numbers("visits", 1) };
    assert_eq!(got(&cache, &one()), (0, 1));
    assert_eq!(got(&behind.store, &one()), (1, 2));
    assert_eq!(got(&cache, &one()), (2, 3));
    let counted = cache.count(&one());
    assert_eq!(counted, Ok(Reply::Got { start: 3, end: 4, previous_mark: 3 }));
    assert_eq!(behind.counts.load(Ordering::SeqCst), 1, "it is the ledger behind that may write less for it");
    behind.cut();
    assert!(matches!(cache.reserve(&one()), Err(LedgerError::Unavailable(_))));
}

#[test]
fn a_lost_answer_costs_nothing() {
    for restart in [false, true] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let mut cache = open(dir.path(), &behind);
        behind.lose_answers(1);
        let request = window(7, NOW);
        assert!(matches!(cache.reserve(&request), Err(LedgerError::Unavailable(_))));
        if restart {
            drop(cache);
            cache = open(dir.path(), &behind);
        }
        // Another process and another request get the range that was under way.
        assert_eq!(got(&cache, &window(7, NOW + 5)), (NOW + 5, NOW + 30_005));
        let asked = behind.reserves();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].token, asked[1].token);
        assert_eq!(behind.store.list("s/", "", 1).unwrap()[0].mark, NOW + HOUR);
    }
}

#[test]
fn a_lost_answer_to_an_opening_is_no_sign_of_a_copy() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    for lost in 1..4 {
        behind.lose_openings.store(lost, Ordering::SeqCst);
        let cache = open(dir.path(), &behind);
        let now = NOW + lost * 30_000;
        assert_eq!(got(&cache, &window(7, now)), (now, now + 30_000));
        until("the ledger behind to be reached", || cache.list("s/", "", 1).is_ok());
        assert!(!cache.describe().contains("copy"), "{}", cache.describe());
    }
}

#[test]
fn what_runs_low_during_an_outage_is_added_to_when_it_is_over() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(7, NOW));
    behind.cut();
    let half = NOW + HOUR / 2 + 30_000;
    got(&cache, &window(7, half));
    let asked = behind.asked();
    until("it to be asked for in vain", || behind.asked() > asked + 1);
    behind.heal();
    until("more time", || cache.at_hand(10)[0].end == NOW + 2 * HOUR);
}

#[test]
fn a_ledger_behind_that_went_backwards_ends_everything() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(8, NOW));
    let backup = behind.store.backup();
    got(&cache, &window(7, NOW));
    behind.store.restore(&backup);
    let late = NOW + 2 * HOUR;
    match cache.reserve(&window(7, late)) {
        Err(LedgerError::Unfit(text)) => {
            says(&text, &["went backwards", "worker slot 7 of 10 bits", "floe marks raise"])
        }
        other => panic!("{other:?}"),
    }
    // Held ranges of another slot are not handed out any more either, and no call avoids the error.
    let (key, request) = (Key::slot(10, 8), window(8, NOW + 30_000));
    let orders = Name::new("orders").unwrap();
    let ended = [
        cache.reserve(&request).map(drop),
        cache.count(&request).map(drop),
        cache.give_back(&key, request.token, NOW).map(drop),
        cache.raise(&key, late).map(drop),
        cache.bind(&orders, "counter", true).map(drop),
        cache.definition(&orders).map(drop),
        cache.names("", 9).map(drop),
        cache.list("", "", 9).map(drop),
        cache.in_other_realms(&orders).map(drop),
        cache.realm_id().map(drop),
    ];
    for (call, outcome) in ended.iter().enumerate() {
        assert!(matches!(outcome, Err(LedgerError::Unfit(_))), "call {call}: {outcome:?}");
    }
}

#[test]
fn a_range_past_the_last_position_is_an_overflow_and_the_last_one_can_be_had() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let last = MAX_MARK - 30_000;
    assert_eq!(got(&cache, &window(7, last)), (last, MAX_MARK));
    let more = cache.reserve(&Reserve { max_mark: MAX_MARK, ..window(7, last) });
    assert!(matches!(more, Err(LedgerError::Overflow { mark: MAX_MARK, .. })), "{more:?}");
}

#[test]
fn the_clock_is_not_asked_for_while_nobody_answers() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    assert_eq!(cache.clock().map(|clock| clock.is_some()), Ok(true));
    behind.cut();
    assert!(cache.names("", 1).is_err());
    let asked = behind.asked();
    assert_eq!(cache.clock(), Ok(None));
    assert_eq!(behind.asked(), asked, "a node would wait for it with every window");
    behind.heal();
    assert!(cache.names("", 1).is_ok());
    assert_eq!(cache.clock().map(|clock| clock.is_some()), Ok(true));
    behind.cut();
    let asked = behind.asked();
    for _ in 0..3 {
        assert_eq!(cache.clock(), Ok(None), "an outage is no error of the clock");
    }
    assert_eq!(behind.asked(), asked + 1, "the first one found it out");
}

#[test]
fn a_ledger_behind_that_refuses_a_call_has_answered() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let missing = cache.reserve(&numbers("nobody", 1));
    assert!(matches!(missing, Err(LedgerError::Missing(_))), "{missing:?}");
    assert_eq!(cache.clock(), Ok(Some(UnixMillis::new(7))));
    let overflow = cache.reserve(&Reserve { max_mark: MAX_MARK, ..window(7, MAX_MARK) });
    assert!(matches!(overflow, Err(LedgerError::Overflow { .. })), "{overflow:?}");
    assert_eq!(cache.clock(), Ok(Some(UnixMillis::new(7))));
}

#[test]
fn whether_a_name_was_retired_is_asked_behind_unless_its_definition_is_known_here() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let [orders, tickets] = ["orders", "tickets"].map(|name| Name::new(name).unwrap());
    bind(&behind.store, "tickets");
    assert!(cache.definition(&tickets).is_ok_and(|read| read.is_some()), "which makes it no known one");
    let at = [&orders, &tickets].map(|name| retire(&behind.store, name, UnixMillis::new(0)).unwrap());
    assert_eq!(retired(&cache, &orders), Ok(None), "it is served while the ledger behind is down");
    assert_eq!(retired(&cache, &tickets), Ok(Some(at[1].clone())));
    assert_eq!(
        retire(&cache, &orders, UnixMillis::new(1)).unwrap(),
        at[0],
        "whoever retires it here has heard of it"
    );
    behind.cut();
    assert_eq!(
        [&orders, &tickets].map(|name| retired(&cache, name)),
        at.map(|at| Ok(Some(at))),
        "nothing serves it later"
    );
}

#[test]
fn a_name_of_another_realm_is_heard_of_from_the_ledger_behind() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let orders = Name::new("orders").unwrap();
    assert_eq!(cache.in_other_realms(&orders), Ok(vec![elsewhere()]));
    behind.cut();
    let unheard = cache.in_other_realms(&orders);
    assert!(matches!(unheard, Err(LedgerError::Unavailable(_))), "{unheard:?}");
}

/// Texts that another node has sealed can be opened, with the key that the ledger has seen.
#[test]
fn a_name_with_a_key_that_another_node_seals_with_is_opened_again_during_an_outage() {
    let sealed = |with: u16, second: u8| {
        let [one, two] = [(1, 7), (2, second)].map(|(id, byte)| (KeyId::new(id), [byte; 16].into()));
        let keys = Keys::new().with(one.0, one.1).unwrap().with(two.0, two.1).unwrap();
        let form: Form = format!("sealed key={with} keyid=prefix base62 width=11").parse().unwrap();
        Definition::SEGMENT.in_form(form.with_keys(&keys).unwrap()).unwrap()
    };
    let (dir, behind, orders) = (TempDir::new().unwrap(), Behind::default(), Name::new("orders").unwrap());
    let define = |ledger: Box<dyn Ledger>, definition: &Definition| {
        let floe = Floe::open(ledger).unwrap();
        let defined = floe.define(&orders, definition, &NameOptions::default()).map(drop);
        floe.close();
        defined
    };
    assert_eq!(define(Box::new(behind.store.clone()), &sealed(2, 8)), Ok(()));
    assert_eq!(define(Box::new(open(dir.path(), &behind)), &sealed(1, 8)), Ok(()));
    behind.cut();
    assert_eq!(define(Box::new(open(dir.path(), &behind)), &sealed(1, 8)), Ok(()));
    let other = define(Box::new(open(dir.path(), &behind)), &sealed(1, 9));
    assert!(matches!(other, Err(DefineError::AnotherKey { .. })), "{other:?}");
}

#[test]
fn the_last_day_of_a_name_is_remembered_and_one_of_which_nothing_was_heard_is_none_during_an_outage() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let names @ [ends, lasts, unknown] =
        &["day-2026-11-22", "day-2026-11-23", "day-2026-11-24"].map(|name| Name::new(name).unwrap());
    let day = "2026-12-22".parse().unwrap();
    end_on(&behind.store, ends, day).unwrap();
    let days = |cache: &Cache| names.each_ref().map(|name| ends_on(cache, name).ok());
    let cache = open(dir.path(), &behind);
    bind(&cache, ends.as_str());
    bind(&cache, lasts.as_str());
    assert_eq!(days(&cache), [Some(Some(day)), Some(None), Some(None)]);
    behind.cut();
    assert_eq!(days(&cache), [Some(Some(day)), Some(None), None]);
    let asked = behind.asked();
    assert_eq!(ends_on(&cache, lasts), Ok(None));
    assert_eq!(behind.asked(), asked, "it is known by now that nobody answers");
    for cache in [cache, open(dir.path(), &behind)] {
        assert_eq!(days(&cache), [Some(Some(day)), Some(None), None]);
    }
    let (ends_it, end) = mpsc::channel::<()>();
    let end = Mutex::new(end);
    let silent = Cache::builder(dir.path()).before_ledger("behind:", move || {
        let _ = end.lock().unwrap().recv();
        Err(LedgerError::Unavailable("gone".to_owned()).into())
    });
    let silent = silent.unwrap();
    thread::scope(|scope| {
        let told = scope.spawn(|| ends_on(&silent, lasts));
        until("a ledger that says nothing is waited for by nobody", || told.is_finished());
        assert_eq!(told.join().unwrap(), Ok(None));
    });
    drop(ends_it);
    behind.heal();
    end_on(&behind.store, lasts, day).unwrap();
    let cache = open(dir.path(), &behind);
    until("it was not known as none", || ends_on(&cache, lasts) == Ok(Some(day)));
    assert_eq!(ends_on(&open(dir.path(), &behind), unknown), Ok(None));
}

/// With another key than the ledger may have seen since, a text would open as another number.
#[test]
fn a_key_that_was_never_compared_is_not_taken_for_an_unknown_one_during_an_outage() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let key = Name::of_ledger("orders*2").unwrap();
    assert_eq!(cache.definition(&key), Ok(None));
    behind.cut();
    assert!(matches!(cache.definition(&key), Err(LedgerError::Unavailable(_))));
}

#[test]
fn a_ledger_behind_that_answers_what_cannot_be_ends_everything() {
    for (start, end, previous_mark) in
        [(NOW + 9, NOW + 8, NOW), (NOW, NOW + HOUR, NOW + 1), (NOW, MAX_MARK + 1, 0)]
    {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let cache = open(dir.path(), &behind);
        *behind.answers.lock().unwrap() = Some(Ok(Reply::Got { start, end, previous_mark }));
        for worker in [7, 8] {
            match cache.reserve(&window(worker, NOW)) {
                Err(LedgerError::Unfit(text)) => says(&text, &["it is not fit for use"]),
                other => panic!("{start}..{end}: {other:?}"),
            }
            *behind.answers.lock().unwrap() = None;
        }
    }
}

#[test]
fn a_mark_behind_that_is_one_below_what_is_held_went_backwards() {
    for back in [0, 1] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let cache = open(dir.path(), &behind);
        got(&cache, &window(7, NOW));
        let late = NOW + 2 * HOUR;
        let answer = Reply::Got { start: late, end: late + HOUR, previous_mark: NOW + HOUR - back };
        *behind.answers.lock().unwrap() = Some(Ok(answer));
        match cache.reserve(&window(7, late)) {
            Ok(Reply::Got { start, .. }) => assert_eq!((start, back), (late, 0)),
            Err(LedgerError::Unfit(text)) => assert!(back == 1 && text.contains("went backwards"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}
