//! Tests for every kind of server: realms that are missing, pinned or mistyped, and faults in the middle of calls. The server is
//! killed, frozen, restarted or cut off, or its replies are lost.
//!
//! `faults!(rig)` makes each test, with a fresh server for each. `faults!(rig, 8)` runs 8 callers at once instead of 32.

use std::fs;
use std::ops::Deref;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, Reply, Reserve};
use floe::store::conformance::{self as of_stores, StoreRealm};
use floe_ledger::{OpenError, Opening};
use floe_testbed::{Proxy, Server};

use crate::asking::{ask, got, orders, says};

/// A fresh server, and a function that makes its URL from a port (its own or a proxy's) and options (`max_wait=1s&…`).
pub(crate) struct Rig<S> {
    pub(crate) server: S,
    pub(crate) url: fn(u16, &str) -> String,
}

impl<S: Deref<Target = Server>> Rig<S> {
    fn open(&self, options: &str) -> Box<dyn Ledger> {
        open(&(self.url)(self.server.port(), options))
    }
}

/// Declares the tests for the servers that `$rig` starts.
macro_rules! faults {
    ($rig:path) => {
        faults!($rig, 32);
    };
    ($rig:path, $callers:literal) => {
        mod faults {
            use crate::real_servers::faults;

            #[test]
            fn the_store_alone_conforms() {
                faults::the_store_alone_conforms(&$rig());
            }
            #[test]
            fn callers_with_connections_of_their_own() {
                faults::callers_with_connections_of_their_own(&$rig(), $callers);
            }
            #[test]
            fn a_ledger_that_is_only_looked_at_makes_nothing() {
                faults::a_ledger_that_is_only_looked_at_makes_nothing(&$rig());
            }
            #[test]
            fn nothing_is_made_unless_allowed_and_another_realm_is_refused() {
                faults::nothing_is_made_unless_allowed_and_another_realm_is_refused(&$rig());
            }
            #[test]
            fn a_caller_that_names_no_realm_is_told_of_several() {
                faults::a_caller_that_names_no_realm_is_told_of_several(&$rig());
            }
            #[test]
            fn scratch_realms_are_not_counted() {
                faults::scratch_realms_are_not_counted(&$rig());
            }
            #[test]
            fn a_name_of_another_realm_is_found_with_its_mark() {
                faults::a_name_of_another_realm_is_found_with_its_mark(&$rig());
            }
            #[test]
            fn a_server_that_is_killed_in_mid_call_loses_nothing() {
                faults::a_server_that_is_killed_in_mid_call_loses_nothing(&$rig());
            }
            #[test]
            fn a_server_that_was_restarted_between_calls_is_met_on_a_new_connection() {
                faults::a_server_that_was_restarted_between_calls_is_met_on_a_new_connection(&$rig());
            }
            #[test]
            fn a_frozen_server_is_waited_for_no_longer_than_the_bound() {
                faults::a_frozen_server_is_waited_for_no_longer_than_the_bound(&$rig());
            }
            #[test]
            fn a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range() {
                faults::a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range(&$rig());
            }
            #[test]
            fn a_network_that_is_cut_and_healed_loses_nothing() {
                faults::a_network_that_is_cut_and_healed_loses_nothing(&$rig());
            }
        }
    };
}
pub(crate) use faults;

/// Opens a URL in the realm `test`.
#[track_caller]
pub(crate) fn open(url: &str) -> Box<dyn Ledger> {
    floe_ledger::open_in(url, "test").unwrap()
}

/// Opens a URL whose `max_wait` may be too short for a busy machine to connect, or to make the tables.
#[track_caller]
pub(crate) fn open_at_last(url: &str) -> Box<dyn Ledger> {
    loop {
        match floe_ledger::open_in(url, "test") {
            Ok(ledger) => return ledger,
            Err(OpenError::Ledger(LedgerError::Unavailable(_))) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// How many connections to a port are open at this end.
pub(crate) fn connections_to(port: u16) -> usize {
    // The kernel's list: the other end's port, and 01 for a connection that is open at this end.
    let open = format!(":{port:04X} 01 ");
    fs::read_to_string("/proc/net/tcp").unwrap().matches(&open).count()
}

/// Runs the cases of the conformance suite about what is below the ledger: they compare, swap and list.
pub(crate) fn the_store_alone_conforms<S: Deref<Target = Server>>(rig: &Rig<S>) {
    let realms = AtomicUsize::new(0);
    of_stores::run_store(&|| {
        let url = (rig.url)(rig.server.port(), "max_wait=60s");
        let opening = Opening::of(&format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed)));
        StoreRealm::new(move || opening.__open_store(&url).unwrap().unwrap())
    });
}

/// Opens a ledger as an operator's commands do. The operator may have mistyped the realm.
pub(crate) fn a_ledger_that_is_only_looked_at_makes_nothing<S: Deref<Target = Server>>(rig: &Rig<S>) {
    let url = (rig.url)(rig.server.port(), "");
    let refused = |realm: &str, parts: &[&str]| {
        let Err(error) = floe_ledger::open_existing(&url, realm) else { panic!("{realm} was made") };
        says(&error, parts);
        error.to_string()
    };
    refused("test", &["has no realm test", "floe serve"]);
    got(&*open(&url), &ask(5));
    refused("tset", &["has no realm tset", "it has: test", "--realm"]);
    let text = refused(floe_ledger::DEFAULT_REALM, &["has no realm default", "it has: test"]);
    assert!(!text.contains("tset"), "it was made: {text}");
    let looked = floe_ledger::open_existing(&url, "test").unwrap();
    assert_eq!(looked.list("", "", 9).unwrap().len(), 1);
}

const NO_ID: &str = "00000000000000000000000000000000";

/// Opens a ledger as a server does with `--existing` or a `realm_id`.
pub(crate) fn nothing_is_made_unless_allowed_and_another_realm_is_refused<S: Deref<Target = Server>>(
    rig: &Rig<S>,
) {
    let url = (rig.url)(rig.server.port(), "");
    let refused = |opening: &Opening, parts: &[&str]| {
        let Err(OpenError::Ledger(error @ LedgerError::Unfit(_))) = opening.open(&url) else {
            panic!("{opening:?} was opened")
        };
        says(&error, parts);
    };
    let (existing, pinned) = (Opening::of("test").existing(), Opening::of("test").realm_id(NO_ID));
    // The second round shows that the first one made nothing.
    for _ in 0..2 {
        refused(&existing, &["has no realm test", "nothing may be made (--existing", "volume", "restore"]);
        refused(&pinned, &["is missing", "realm_id pins 0000", "restore", "raise"]);
    }
    let ledger = open(&url);
    let id = ledger.realm_id().unwrap();
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    assert_eq!(got(&*existing.open(&url).unwrap(), &ask(5)), (5, 10));
    assert_eq!(got(&*Opening::of("test").realm_id(&id).open(&url).unwrap(), &ask(5)), (10, 15));
    refused(&pinned, &[&format!("has the id {id}"), "pins 0000", &format!("realm_id = \"{id}\"")]);
    refused(&Opening::of("tset").existing(), &["has no realm tset", "it has: test", "--realm"]);
}

pub(crate) fn a_caller_that_names_no_realm_is_told_of_several<S: Deref<Target = Server>>(rig: &Rig<S>) {
    let url = (rig.url)(rig.server.port(), "");
    let sole = Opening::of(floe_ledger::DEFAULT_REALM).sole_realm();
    assert_eq!(got(&*sole.open(&url).unwrap(), &ask(5)), (0, 5));
    drop(open(&url));
    for opening in [sole.clone(), sole.clone().existing(), sole.to_look()] {
        let Err(error) = opening.open(&url) else { panic!("{opening:?} was opened") };
        says(&error, &["several realms", "default", "test", "--realm default"]);
    }
    // If the caller names one of them, it gets that one.
    assert_eq!(got(&*floe_ledger::open_in(&url, "default").unwrap(), &ask(5)), (5, 10));
}

/// A test left more of them than one look at the other realms reads.
pub(crate) fn scratch_realms_are_not_counted<S: Deref<Target = Server>>(rig: &Rig<S>) {
    let url = (rig.url)(rig.server.port(), "");
    let orders = Name::new("orders").unwrap();
    let bind = |realm: &str| {
        floe_ledger::open_in(&url, realm).unwrap().bind(&orders, "counter", true).unwrap();
    };
    for scratch in 10..35 {
        bind(&format!("*check-{scratch}"));
    }
    let sole = Opening::of(floe_ledger::DEFAULT_REALM).sole_realm();
    let Err(error) = sole.clone().existing().open(&url) else { panic!("nothing was there") };
    assert!(
        error.to_string().contains("has no realm default") && !error.to_string().contains("check-"),
        "{error}"
    );
    assert_eq!(got(&*sole.open(&url).unwrap(), &ask(5)), (0, 5));
    let again = sole.open(&url).unwrap();
    assert_eq!(again.in_other_realms(&orders).unwrap(), []);
    assert!(!again.describe().contains("check-"), "{}", again.describe());
    // The name without the sign is that of a user's realm, like any other.
    bind("check-10");
    let found = again.in_other_realms(&orders).unwrap();
    assert_eq!(found.iter().map(|other| &*other.realm).collect::<Vec<_>>(), ["check-10"]);
    let Err(error) = sole.open(&url) else { panic!("it was opened") };
    says(&error, &["several realms, default and check-10,"]);
    assert!(!error.to_string().contains('*'), "{error}");
}

/// The log of a server uses this to say in which other realm a new name exists.
pub(crate) fn a_name_of_another_realm_is_found_with_its_mark<S: Deref<Target = Server>>(rig: &Rig<S>) {
    let realm = |realm: &str| floe_ledger::open_in(&(rig.url)(rig.server.port(), ""), realm).unwrap();
    let [orders, flakes, nobody] = ["orders", "flakes", "nobody"].map(|name| Name::new(name).unwrap());
    let shop = floe_ledger::open_in(&(rig.url)(rig.server.port(), ""), "shop").unwrap();
    assert_eq!(shop.in_other_realms(&orders).unwrap(), [], "of the only realm");
    // Realms with characters that stores escape in their keys.
    let others: Vec<_> = ["bank{1}", "50%", "a.b"].map(str::to_owned).into();
    for (raised, other) in (41..).zip(&others) {
        let other = realm(other);
        other.bind(&orders, "counter", true).unwrap();
        other.raise(&Key::name(&orders), raised).unwrap();
        other.bind(&flakes, "uuid4", false).unwrap();
    }
    let expected = |definition: &str, mark: &dyn Fn(u64) -> u64| {
        let told = (41..).zip(&others).map(|(raised, realm)| Elsewhere {
            realm: realm.clone(),
            definition: definition.to_owned(),
            mark: mark(raised),
        });
        let mut told: Vec<_> = told.collect();
        told.sort_by(|a, b| a.realm.cmp(&b.realm));
        told
    };
    let sorted = |name: &Name| {
        let mut found = shop.in_other_realms(name).unwrap();
        found.sort_by(|a, b| a.realm.cmp(&b.realm));
        found
    };
    assert_eq!(sorted(&orders), expected("counter", &|raised| raised));
    assert_eq!(sorted(&flakes), expected("uuid4", &|_| 0));
    assert_eq!(sorted(&nobody), []);
    for other in 0..10 {
        realm(&format!("r{other}")).bind(&orders, "counter", true).unwrap();
    }
    assert_eq!(sorted(&orders).len(), 10);
    // A connection that breaks off says nothing about the name, nor about the realms.
    let (proxy, opening) = (Proxy::before(rig.server.port()), Opening::of("shop"));
    let (store, _) = opening.__open_store(&(rig.url)(proxy.port(), "max_wait=3s")).unwrap().unwrap();
    let elsewhere = format!("mark/{}/{}", others[0], Key::name(&orders).as_str());
    let looks: [&dyn Fn() -> Result<bool, LedgerError>; 2] =
        [&|| store.get(&elsewhere).map(|found| found.is_some()), &|| {
            store.list("realm/", "", 99).map(|found| !found.is_empty())
        }];
    for look in looks {
        proxy.sever(false);
        assert!(at_last(&AtomicUsize::new(0), look));
        proxy.sever(true);
        let outcome = look();
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
    }
    // The query wrote nothing into this realm.
    assert_eq!(shop.definition(&orders).unwrap(), None);
    assert_eq!(got(&*shop, &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
}

/// Repeats a call while the ledger is unavailable, as a node does. Adds the number of failures to `failures`.
pub(crate) fn at_last<T>(failures: &AtomicUsize, call: impl Fn() -> Result<T, LedgerError>) -> T {
    loop {
        match call() {
            Ok(answer) => return answer,
            Err(LedgerError::Unavailable(_)) => failures.fetch_add(1, Ordering::Relaxed),
            Err(error) => panic!("{error:?}"),
        };
    }
}

/// The range of `request`, which is repeated with the same token until there is an answer.
pub(crate) fn range(ledger: &dyn Ledger, request: &Reserve, failures: &AtomicUsize) -> (u64, u64) {
    match at_last(failures, || ledger.reserve(request)) {
        Reply::Got { start, end, .. } => (start, end),
        refused @ Reply::Refused { .. } => panic!("{refused:?}"),
    }
}

/// A fresh ledger on several servers goes on while each of them in turn is killed, and a range that it gave then stays.
pub(crate) fn each_may_be_killed(ledger: &dyn Ledger, servers: &[&Server]) {
    let failures = AtomicUsize::new(0);
    let mut end = 0;
    for killed in servers {
        assert_eq!(range(ledger, &ask(5), &failures), (end, end + 5));
        killed.kill();
        let request = ask(5);
        assert_eq!(range(ledger, &request, &failures), (end + 5, end + 10));
        killed.run();
        assert_eq!(range(ledger, &request, &failures), (end + 5, end + 10));
        end += 10;
    }
}

/// Asserts that ranges do not overlap, and returns where the last one ends.
#[track_caller]
pub(crate) fn disjoint(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{pair:?} overlap");
    }
    ranges.last().unwrap().1
}

#[expect(clippy::disallowed_methods, reason = "the bound of a wait is what is tested")]
pub(crate) fn timed<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let begin = std::time::Instant::now();
    (call(), begin.elapsed())
}

fn mark(ledger: &dyn Ledger) -> u64 {
    at_last(&AtomicUsize::new(0), || ledger.list("", "", 10))[0].mark
}

pub(crate) fn callers_with_connections_of_their_own<S: Deref<Target = Server> + Sync>(
    rig: &Rig<S>,
    count: u64,
) {
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let ledger = rig.open("max_wait=30s");
            (0..25).map(|_| got(&*ledger, &ask(7))).collect::<Vec<_>>()
        };
        let callers: Vec<_> = (0..count).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(ranges.len() as u64, count * 25);
    assert_eq!(disjoint(ranges), count * 25 * 7, "nothing is wasted either");
}

/// For ledgers on which only one of several simultaneous writers of a mark succeeds. Asserts that each caller gets at least one
/// `part`-th of an equal share.
pub(crate) fn callers_of_one_key_share_it_fairly<S: Deref<Target = Server> + Sync>(
    rig: &Rig<S>,
    part: usize,
) {
    const CALLERS: usize = 16;
    const ALL: usize = 960;
    let (done, all_are_open) = (AtomicUsize::new(0), Barrier::new(CALLERS));
    let mut shares: Vec<usize> = thread::scope(|scope| {
        let caller = || {
            let ledger = rig.open("max_wait=30s");
            all_are_open.wait();
            let mut share = 0;
            while done.fetch_add(1, Ordering::Relaxed) < ALL {
                got(&*ledger, &ask(1));
                share += 1;
            }
            share
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    shares.sort_unstable();
    println!("{shares:?} of {ALL}");
    assert!(shares[0] >= ALL / CALLERS / part, "{shares:?} of {ALL}");
}

pub(crate) fn a_server_that_is_killed_in_mid_call_loses_nothing<S: Deref<Target = Server> + Sync>(
    rig: &Rig<S>,
) {
    // The opening that makes the tables may take longer than a call.
    drop(rig.open(""));
    let ledger = rig.open("max_wait=2s");
    let (stop, done, failures) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let mut ranges = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                ranges.push(range(&*ledger, &ask(10), &failures));
                done.fetch_add(1, Ordering::Relaxed);
            }
            ranges
        };
        let callers: Vec<_> = (0..6).map(|_| scope.spawn(caller)).collect();
        for round in 1..=4 {
            while done.load(Ordering::Relaxed) < round * 200 {
                thread::yield_now();
            }
            rig.server.kill();
            rig.server.run();
        }
        while done.load(Ordering::Relaxed) < 1000 {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert!(failures.load(Ordering::Relaxed) > 0, "no call was cut off");
    let reserved = u64::try_from(ranges.len()).unwrap() * 10;
    assert_eq!(disjoint(ranges), mark(&*ledger));
    assert!(mark(&*ledger) >= reserved);
}

pub(crate) fn a_server_that_was_restarted_between_calls_is_met_on_a_new_connection<
    S: Deref<Target = Server>,
>(
    rig: &Rig<S>,
) {
    let ledger = rig.open("");
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    rig.server.stop();
    rig.server.run();
    assert_eq!(got(&*ledger, &ask(5)), (5, 10), "no call pays for the dead connection");
}

pub(crate) fn a_frozen_server_is_waited_for_no_longer_than_the_bound<S: Deref<Target = Server>>(
    rig: &Rig<S>,
) {
    let ledger = open_at_last(&(rig.url)(rig.server.port(), "max_wait=700ms"));
    let none = AtomicUsize::new(0);
    assert_eq!(range(&*ledger, &ask(5), &none), (0, 5));
    let request = ask(5);
    rig.server.freeze();
    // The first call has a connection. The second has to open one: the kernel accepts it, and the server does not answer.
    for _ in 0..2 {
        let (outcome, took) = timed(|| ledger.reserve(&request));
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["gave no answer within 700ms"]);
        assert!((600..1700).contains(&took.as_millis()), "{took:?}");
    }
    rig.server.thaw();
    assert_eq!(range(&*ledger, &request, &none), (5, 10));
    assert_eq!(range(&*ledger, &request, &none), (5, 10));
    assert_eq!(mark(&*ledger), 10);
}

pub(crate) fn a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range<
    S: Deref<Target = Server>,
>(
    rig: &Rig<S>,
) {
    let (direct, proxy) = (rig.open(""), Proxy::before(rig.server.port()));
    let ledger = open_at_last(&(rig.url)(proxy.port(), "max_wait=500ms"));
    let (first, request, none) = (ask(5), ask(5), AtomicUsize::new(0));
    assert_eq!(range(&*ledger, &first, &none), (0, 5));
    assert_eq!(ledger.give_back(&orders(), first.token, 5), Ok(true));
    proxy.lose_replies(true);
    assert!(matches!(ledger.reserve(&request), Err(LedgerError::Unavailable(_))));
    assert_eq!(mark(&*direct), 10, "the request took effect");
    proxy.lose_replies(false);
    assert_eq!(range(&*ledger, &request, &none), (5, 10));
    // This prepares the connection's statements for a give-back, so that the next one sends only the give-back itself.
    assert_eq!(ledger.give_back(&orders(), first.token, 5), Ok(false));
    proxy.lose_replies(true);
    assert!(matches!(ledger.give_back(&orders(), request.token, 7), Err(LedgerError::Unavailable(_))));
    proxy.lose_replies(false);
    // If the lost give-back took effect, the repeated one is refused: its token is gone from the record.
    let again = at_last(&none, || ledger.give_back(&orders(), request.token, 7));
    assert_eq!(mark(&*direct), 7);
    assert!(!at_last(&none, || ledger.give_back(&orders(), request.token, 7)), "again: {again}");
    assert_eq!(got(&*direct, &ask(5)), (7, 12));
}

pub(crate) fn a_network_that_is_cut_and_healed_loses_nothing<S: Deref<Target = Server>>(rig: &Rig<S>) {
    let (direct, proxy) = (rig.open(""), Proxy::before(rig.server.port()));
    let ledger = open_at_last(&(rig.url)(proxy.port(), "max_wait=400ms"));
    assert_eq!(range(&*ledger, &ask(5), &AtomicUsize::new(0)), (0, 5));
    let request = ask(5);
    proxy.cut(true);
    for _ in 0..3 {
        assert!(matches!(ledger.reserve(&request), Err(LedgerError::Unavailable(_))));
    }
    assert_eq!(got(&*direct, &ask(5)), (5, 10), "nobody else is kept waiting");
    proxy.cut(false);
    // Requests from before the cut may still arrive, in any order. No two of their ranges overlap.
    let (start, end) = range(&*ledger, &request, &AtomicUsize::new(0));
    assert!(start >= 10 && end == start + 5, "{start}..{end}");
    let next = got(&*direct, &ask(5)).0;
    assert!(next >= end, "{next} is below {end}");
}
