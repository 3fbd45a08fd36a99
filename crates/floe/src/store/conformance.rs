//! The conformance suite of a [`Store`]: what it has to do below the policy of a ledger. It compares, swaps and lists.

use std::collections::BTreeMap;

use super::{Entry, Place, Put, Store, Version};
use crate::ledger::conformance::{Case, done, equal, hold, together, token};
use crate::ledger::{Key, LedgerError};

#[cfg(test)]
pub(crate) mod tests;

/// A fresh realm of a store under test.
///
/// ```
/// # use std::{collections::BTreeMap, sync::{Arc, Mutex, atomic::{AtomicU32, Ordering}}};
/// # use floe::{LedgerError, store::{Entry, Put, Version}};
/// # #[derive(Clone, Default)]
/// # struct Map(Arc<Mutex<BTreeMap<String, String>>>);
/// # impl Store for Map {
/// #     fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
/// #         let found = self.0.lock().unwrap().get(key).cloned();
/// #         Ok(found.map(|text| Entry { version: Version::new(&text), text }))
/// #     }
/// #     fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
/// #         let mut map = self.0.lock().unwrap();
/// #         if map.get(key).map(String::as_str) != expected.map(Version::as_str) {
/// #             return Ok(Put::Conflict);
/// #         }
/// #         map.insert(key.to_owned(), text.to_owned());
/// #         Ok(Put::Done(Version::new(text)))
/// #     }
/// #     fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
/// #         let map = self.0.lock().unwrap();
/// #         let below = map.iter().filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after);
/// #         Ok(below.take(limit).map(|(key, text)| (key.clone(), text.clone())).collect())
/// #     }
/// #     fn describe(&self) -> String {
/// #         "a map".to_owned()
/// #     }
/// # }
/// use floe::store::conformance::{self, StoreRealm};
/// use floe::store::{Place, Store};
///
/// // `Map` is the map of the example of `Store`. All realms of this test are in one.
/// let (map, realms) = (Map::default(), AtomicU32::new(0));
/// let fresh = || {
///     let (map, realm) = (map.clone(), format!("*test-{}", realms.fetch_add(1, Ordering::Relaxed)));
///     StoreRealm::new(move || {
///         let place = Place::make(&map, &realm).unwrap();
///         (Box::new(map.clone()), place)
///     })
/// };
/// conformance::run_store(&fresh);
/// ```
pub struct StoreRealm(Box<Connect>);

type Connect = dyn Fn() -> (Box<dyn Store>, Place) + Send + Sync;

impl StoreRealm {
    /// Makes a realm that `connect` opens at each call, over a new connection. [`StoreRealm`] has an example.
    pub fn new(connect: impl Fn() -> (Box<dyn Store>, Place) + Send + Sync + 'static) -> Self {
        Self(Box::new(connect))
    }

    fn connect(&self) -> Connection {
        let (store, place) = (self.0)();
        Connection { store, place }
    }
}

/// Every case about a store alone, in the order in which [`run_store`] runs them.
pub const STORE_CASES: &[Case<StoreRealm>] = &[
    Case { name: "swaps_only_what_was_read", check: swaps_only_what_was_read },
    Case { name: "one_swap_wins", check: one_swap_wins },
    Case { name: "one_that_reserves_ahead_wins", check: one_that_reserves_ahead_wins },
    Case { name: "one_of_many_makes_the_record", check: one_of_many_makes_the_record },
    Case {
        name: "only_a_write_of_its_own_record_refuses_a_swap",
        check: only_a_write_of_its_own_record_refuses_a_swap,
    },
    Case { name: "lists_each_key_once_in_order", check: lists_each_key_once_in_order },
    Case { name: "the_longest_come_back_whole", check: the_longest_come_back_whole },
];

/// Runs every case about a store, in order, up to the first that fails. [`StoreRealm`] has an example.
///
/// # Panics
/// If the store breaks a rule; the message names it.
pub fn run_store(fresh: &dyn Fn() -> StoreRealm) {
    for case in STORE_CASES {
        case.check(fresh);
    }
}

/// The most bytes of a record and of a key, as [`Store`] promises.
const LONGEST_RECORD: usize = 64 * 1_024;
const LONGEST_KEY: usize = 400;

/// A connection to a realm.
struct Connection {
    store: Box<dyn Store>,
    place: Place,
}

impl Connection {
    fn key(&self, rest: &str) -> String {
        format!("mark/{}/{rest}", self.place.realm())
    }

    /// A record that no other call writes, with `note` in it.
    fn record(&self, note: &str) -> String {
        let (id, written, made) = (self.place.id(), token().hex(), token().hex());
        format!(
            "floe 1\nrealm {id}\nwritten {written}\nmade {made}\nmark 0 start 0 previous 0\nnote {note}\nend\n"
        )
    }

    /// Writes a record that has no reason to be refused, and returns its version and its text.
    #[track_caller]
    fn write(&self, key: &str, expected: Option<&Version>) -> (Version, String) {
        let text = self.record("a note");
        match done(self.store.put(key, &text, expected)) {
            Put::Done(version) => (version, text),
            refused => refused_without_reason(key, &refused),
        }
    }

    #[track_caller]
    fn read(&self, key: &str) -> Option<Entry> {
        done(self.store.get(key))
    }

    /// Asserts that a write is refused, and that afterwards the store has the record that was `there`.
    #[track_caller]
    fn is_refused(&self, key: &str, expected: Option<&Version>, there: Option<&str>, rule: &str) {
        let put = done(self.store.put(key, &self.record("refused"), expected));
        hold(!matches!(put, Put::Done(_)), rule, &put);
        if let Put::Found(found) = put {
            let found = found.map(|entry| entry.text);
            equal(found.as_deref(), there, "a write that is refused returns the record that is there");
        }
        equal(self.read(key).map(|entry| entry.text).as_deref(), there, rule);
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "a failed case is a failed test")]
fn refused_without_reason(key: &str, put: &Put) -> ! {
    panic!("this ledger breaks a rule: only a write with another version is refused. Found: {put:?} of {key}")
}

fn swaps_only_what_was_read(fresh: &dyn Fn() -> StoreRealm) {
    const OLD: &str = "a write with an old version is refused and changes nothing";
    const OVER: &str = "a write that expects no record is refused over a record and changes nothing";
    const NONE: &str = "a write that expects a record is refused where there is none and makes none";
    let realm = fresh();
    let (one, other) = (realm.connect(), realm.connect());
    for rest in ["s/10/1", "n/orders"] {
        let (key, elsewhere) = (one.key(rest), one.key(&format!("{rest}0")));
        equal(one.read(&key), None, "a fresh realm has no records");
        let (of_another, _) = one.write(&elsewhere, None);
        one.is_refused(&key, Some(&of_another), None, NONE);
        let (first, text) = one.write(&key, None);
        for connection in [&one, &other] {
            equal(
                connection.read(&key).map(|entry| entry.text),
                Some(text.clone()),
                "a read returns the record",
            );
            connection.is_refused(&key, None, Some(&text), OVER);
            connection.is_refused(&key, Some(&of_another), Some(&text), OLD);
        }
        let (second, text) = one.write(&key, Some(&first));
        hold(second != first, "each write has a version of its own", &(first.clone(), second.clone()));
        for connection in [&one, &other] {
            connection.is_refused(&key, Some(&first), Some(&text), OLD);
            connection.is_refused(&key, None, Some(&text), OVER);
        }
        // What one connection has read or written, another may expect.
        let Some(Entry { version: read, .. }) = one.read(&key) else { continue };
        let (third, _) = other.write(&key, Some(&read));
        let (_, text) = one.write(&key, Some(&third));
        other.is_refused(&key, Some(&second), Some(&text), OLD);
    }
}

const CONNECTIONS: usize = 8;
const ROUNDS: u64 = 20;

/// Lets all connections write one record at once, and returns the version of the only write that may have succeeded.
#[track_caller]
fn race(connections: &[Connection], key: &str, expected: Option<&Version>, rule: &str) -> Option<Version> {
    race_by(connections, key, rule, |connection, text| connection.store.put(key, text, expected))
}

#[track_caller]
fn race_by(
    connections: &[Connection],
    key: &str,
    rule: &str,
    put: impl Fn(&Connection, &str) -> Result<Put, LedgerError> + Sync,
) -> Option<Version> {
    let puts = together(connections.len(), |caller| {
        let connection = &connections[caller];
        let text = connection.record(&format!("connection {caller}"));
        (done(put(connection, &text)), text)
    });
    let mut won: Vec<_> = puts
        .into_iter()
        .filter_map(|(put, text)| match put {
            Put::Done(version) => Some((version, text)),
            Put::Conflict | Put::Found(_) => None,
        })
        .collect();
    hold(won.len() == 1, rule, &(key, &won));
    let (version, text) = won.pop()?;
    equal(
        connections[0].read(key).map(|entry| entry.text),
        Some(text),
        "the store has the record of the one that wins",
    );
    Some(version)
}

fn one_swap_wins(fresh: &dyn Fn() -> StoreRealm) {
    let realm = fresh();
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| realm.connect()).collect();
    let key = connections[0].key("s/10/1");
    let mut version = Some(connections[0].write(&key, None).0);
    for _ in 0..ROUNDS {
        version =
            race(&connections, &key, version.as_ref(), "of many that swap one record at once, one wins");
    }
}

/// It concerns only stores that count.
fn one_that_reserves_ahead_wins(fresh: &dyn Fn() -> StoreRealm) {
    let realm = fresh();
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| realm.connect()).collect();
    if connections[0].store.counting().is_none() {
        return;
    }
    let counter = Key::slot(10, 1);
    let (key, left) = (connections[0].key(counter.as_str()), connections[0].place.left(&counter));
    let mut version = connections[0].write(&key, None).0;
    for start in 0..ROUNDS {
        let rule = "of many that reserve ahead over one record at once, one wins";
        let won = race_by(&connections, &key, rule, |connection, text| match connection.store.counting() {
            Some(counting) => counting.put_ahead(&key, text, &version, &left, start..start + 1),
            None => connection.store.put(&key, text, Some(&version)),
        });
        let Some(won) = won else { return };
        version = won;
    }
}

fn one_of_many_makes_the_record(fresh: &dyn Fn() -> StoreRealm) {
    const RECORDS: usize = 60;
    let realm = fresh();
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| realm.connect()).collect();
    for worker in 0..RECORDS {
        let key = connections[0].key(&format!("s/10/{worker}"));
        race(&connections, &key, None, "of many that make one record at once, one wins");
    }
}

/// Whoever takes a refusal for another's write would stop, or discard a window that is his own.
fn only_a_write_of_its_own_record_refuses_a_swap(fresh: &dyn Fn() -> StoreRealm) {
    const SWAPS: usize = 20;
    let realm = fresh();
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| realm.connect()).collect();
    let [swapped, all] = ["s/10/0", ""].map(|rest| connections[0].key(rest));
    let swap = |caller: usize| {
        let connection = &connections[caller];
        let key = connection.key(&format!("s/10/{caller}"));
        let (mut version, _) = connection.write(&key, None);
        for _ in 0..SWAPS {
            version = connection.write(&key, Some(&version)).0;
        }
    };
    let read = |caller: usize| {
        let connection = &connections[caller];
        for _ in 0..SWAPS {
            connection.read(&swapped);
            done(connection.store.list(&all, "", 1_000));
        }
    };
    together(CONNECTIONS, |caller| match caller % 2 {
        0 => swap(caller),
        _ => read(caller),
    });
}

fn lists_each_key_once_in_order(fresh: &dyn Fn() -> StoreRealm) {
    const RULE: &str = "list returns the keys that begin with the prefix, byte for byte, after `after`, each once, in byte order, \
                        at most `limit` of them, and none of another realm";
    const KEYS: [&str; 14] = [
        "s/1/0",
        "s/1/1",
        "s/10/1",
        "s/10/10",
        "s/10/2",
        "s/2/0",
        "n/a",
        "n/A",
        "n/a%",
        "n/a_b",
        "n/ab",
        "n/á",
        "n/z",
        "n/\u{10ffff}",
    ];
    let (realm, elsewhere) = (fresh(), fresh());
    let (one, other) = (realm.connect(), elsewhere.connect());
    let mut kept = BTreeMap::new();
    for rest in KEYS {
        other.write(&other.key(rest), None);
        let key = one.key(rest);
        let (version, _) = one.write(&key, None);
        let (_, text) = one.write(&key, Some(&version));
        kept.insert(key, text);
    }
    other.write(&other.key("n/b"), None);
    // The note that a record was made is under another prefix.
    let note = format!("floe 1\nrealm {}\nmade {}\n", one.place.id(), token().hex());
    done(one.store.put(&format!("made/{}/n/b", one.place.realm()), &note, None));
    let base = one.key("");
    for prefix in ["", "s/", "s/1", "s/10/", "n/", "n/a", "n/zz"].map(|rest| format!("{base}{rest}")) {
        for after in
            ["n/a", "n/b", "s/10/1", "s/9"].map(|rest| format!("{base}{rest}")).iter().chain([&String::new()])
        {
            for limit in [1, 3, 1_000] {
                let expected: Vec<_> = kept
                    .iter()
                    .filter(|(key, _)| key.starts_with(&prefix) && *key > after)
                    .take(limit)
                    .map(|(key, text)| (key.clone(), text.clone()))
                    .collect();
                let found = done(one.store.list(&prefix, after, limit));
                hold(found == expected, RULE, &(&prefix, after, limit, &found, &expected));
            }
        }
    }
}

fn the_longest_come_back_whole(fresh: &dyn Fn() -> StoreRealm) {
    const RULE: &str = "a record of 64 KiB under a key of 400 bytes comes back byte for byte";
    const NOTE: &str = "%é🎫'\"\\\\{}";
    let realm = fresh();
    let (one, other) = (realm.connect(), realm.connect());
    let base = one.key("n/");
    let key = format!("{base}{}", "x".repeat(LONGEST_KEY - base.len()));
    // One that differs in its last byte alone is another.
    let beside = format!("{}y", &key[..LONGEST_KEY - 1]);
    let mut version = None;
    for _ in 0..2 {
        let empty = one.record("").len();
        let notes = NOTE.repeat((LONGEST_RECORD - empty) / NOTE.len());
        let text = one.record(&format!("{notes}{}", "x".repeat(LONGEST_RECORD - empty - notes.len())));
        equal((text.len(), key.len()), (LONGEST_RECORD, LONGEST_KEY), RULE);
        version = match done(one.store.put(&key, &text, version.as_ref())) {
            Put::Done(version) => Some(version),
            refused => refused_without_reason(&key, &refused),
        };
        hold(other.read(&key).is_some_and(|entry| entry.text == text), RULE, &key);
        let listed = done(other.store.list(&base, "", 10));
        hold(listed == [(key.clone(), text)], RULE, &listed.len());
        equal(other.read(&beside), None, "a key is compared to its last byte");
    }
}
