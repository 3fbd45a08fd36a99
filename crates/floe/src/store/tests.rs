//! The ledger on a store conforms, and a record is text of which each byte counts.

mod making;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use proptest::prelude::*;

use super::content::{self, Body, Content, Fault};
use super::{Change, Counting, Entry, Heard, Next, Place, Put, Seen, Store, Stored, Taken, Version};
use crate::ledger::conformance::{Realm, check_deleted};
use crate::ledger::{Key, Ledger, LedgerError, MAX_MARK, Mark, Reply, Reserve, Token};
use crate::name::Name;
use crate::time::UnixMillis;

/// A store in memory, which counts its calls. A clone is another connection.
#[derive(Clone, Default)]
struct Map {
    entries: Arc<Mutex<BTreeMap<String, (u64, String)>>>,
    /// Every write has the next number as its version, also that of a record which is made anew.
    writes: Arc<AtomicU64>,
    calls: Arc<AtomicUsize>,
    settled: Arc<AtomicUsize>,
    /// Whether a conflict tells what is there.
    tells: bool,
    /// What was reserved ahead for counters. `None`: nothing ever is.
    ahead: Option<Arc<Mutex<Ahead>>>,
    /// Whether the next write is told as a conflict, though it is made.
    mistells: Arc<AtomicBool>,
    /// Whether nothing can be written or settled just now.
    is_down: Arc<AtomicBool>,
    /// What another process does right after a [`Counting::take`] that found nothing.
    after_take: Option<Then>,
    /// What another process does right after a [`Counting::skip`].
    after_skip: Option<Then>,
    /// What others do right after a [`Counting::put_ahead`].
    after_put_ahead: Option<Then>,
}

type Then = fn(&Map) -> Result<(), LedgerError>;

/// By key: up to where it is used, and its end.
type Ahead = BTreeMap<String, (u64, u64)>;

impl Map {
    fn ledger(&self, realm: &str) -> Stored<Self> {
        Stored::new(self.clone(), Place::make(self, realm).unwrap())
    }

    fn check(&self) -> Result<(), LedgerError> {
        let is_down = self.is_down.load(Ordering::SeqCst);
        if is_down { Err(LedgerError::Unavailable("it is down".to_owned())) } else { Ok(()) }
    }

    fn remove(&self, key: &str) {
        assert!(self.entries.lock().unwrap().remove(key).is_some(), "{key}");
    }

    fn text(&self, key: &str) -> String {
        self.get(key).unwrap().unwrap().text
    }

    fn calls(&self) -> usize {
        self.calls.swap(0, Ordering::SeqCst)
    }
}

impl Store for Map {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let found = self.entries.lock().unwrap().get(key).cloned();
        Ok(found.map(|(version, text)| Entry { version: version.into(), text }))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.check()?;
        let mut entries = self.entries.lock().unwrap();
        let found = entries.get(key).cloned();
        if found.as_ref().map(|(version, _)| Version::from(*version)).as_ref() != expected {
            let found = found.map(|(version, text)| Entry { version: version.into(), text });
            return Ok(if self.tells { Put::Found(found) } else { Put::Conflict });
        }
        let version = 1 + self.writes.fetch_add(1, Ordering::SeqCst);
        entries.insert(key.to_owned(), (version, text.to_owned()));
        let mistells = self.mistells.swap(false, Ordering::SeqCst);
        Ok(if mistells { Put::Conflict } else { Put::Done(version.into()) })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        assert!(limit <= 5_000, "an answer has a bound, however many the caller wants: {limit}");
        let entries = self.entries.lock().unwrap();
        let rest = entries.range::<str, _>((Excluded(after), Unbounded));
        let below = rest.filter(|(key, _)| key.starts_with(prefix)).take(limit);
        Ok(below.map(|(key, (_, text))| (key.clone(), text.clone())).collect())
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.settled.fetch_add(1, Ordering::SeqCst);
        self.check()
    }

    fn counting(&self) -> Option<&dyn Counting> {
        self.ahead.as_ref().map(|_| self as &dyn Counting)
    }

    fn describe(&self) -> String {
        "a map".to_owned()
    }
}

impl Map {
    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.as_ref().unwrap().lock().unwrap()
    }
}

impl Counting for Map {
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        assert!(floor.max(max_mark) <= MAX_MARK - count, "what a store adds has to fit");
        let mut ahead = self.ahead();
        let Some((used, until)) = ahead.get_mut(left) else {
            drop(ahead);
            self.after_take.map_or(Ok(()), |after| after(self))?;
            return Ok(Taken::Left(None));
        };
        let previous = *used;
        let end = previous.max(floor) + count;
        if previous > max_mark || end > *until {
            return Ok(Taken::Left(Some(previous..*until)));
        }
        *used = end;
        Ok(Taken::Numbers { previous, end })
    }

    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError> {
        let mut ahead = self.ahead();
        let put = self.put(key, text, Some(expected))?;
        if matches!(put, Put::Done(_)) {
            let used =
                ahead.get(left).filter(|(_, until)| *until == new.start).map_or(new.start, |(used, _)| *used);
            ahead.insert(left.to_owned(), (used, new.end));
        }
        drop(ahead);
        self.after_put_ahead.map_or(Ok(()), |after| after(self))?;
        Ok(put)
    }

    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError> {
        if let Some((used, until)) = self.ahead().get_mut(left) {
            *used = (*used).max(at_least).min(*until);
        }
        self.after_skip.map_or(Ok(()), |after| after(self))
    }
}

mod conforms {
    use super::{Map, Realm};
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Realms of one store, each under a name of its own.
    fn realm_of(store: &'static LazyLock<Map>) -> Realm {
        static REALMS: AtomicUsize = AtomicUsize::new(0);
        let realm = format!("realm-{}", REALMS.fetch_add(1, Ordering::SeqCst));
        Realm::new(move || Box::new(store.ledger(&realm)))
    }

    mod that_tells_no_more_than_a_conflict {
        use super::*;
        static STORE: LazyLock<Map> = LazyLock::new(Map::default);
        fn fresh() -> Realm {
            realm_of(&STORE)
        }
        crate::ledger_conformance!(fresh);
    }

    mod that_counts_in_a_range_that_was_reserved_ahead {
        use super::*;
        static STORE: LazyLock<Map> =
            LazyLock::new(|| Map { ahead: Some(std::sync::Arc::default()), ..Map::default() });
        fn fresh() -> Realm {
            realm_of(&STORE)
        }
        crate::ledger_conformance!(fresh);
    }

    mod that_tells_what_it_found {
        use super::*;
        static STORE: LazyLock<Map> = LazyLock::new(|| Map { tells: true, ..Map::default() });
        fn fresh() -> Realm {
            realm_of(&STORE)
        }
        crate::ledger_conformance!(fresh);
    }
}

fn ask(key: &Key, count: u64) -> Reserve {
    let token = Token::random().unwrap();
    Reserve { key: key.clone(), floor: 0, count, max_mark: u64::MAX, token, create: true, note: None }
}

/// A ledger of the store in which `visits` is bound.
fn counter(store: &Map) -> (Stored<Map>, Name) {
    let (ledger, name) = (store.ledger("shop"), Name::new("visits").unwrap());
    ledger.bind(&name, "a counter", true).unwrap();
    (ledger, name)
}

/// Counts five numbers of a new counter, and returns the request.
fn counted(store: &Map) -> Reserve {
    let (ledger, name) = counter(store);
    let request = Reserve { create: false, ..ask(&Key::name(&name), 5) };
    ledger.count(&request).unwrap();
    request
}

/// The reservation of a call that found this left: what it asked the store, and its answer.
fn reserved_ahead(
    store: &Map,
    request: &Reserve,
    left: Range<u64>,
) -> (Vec<String>, Result<Reply, LedgerError>) {
    let place = Place::make(store, "shop").unwrap();
    let mut change = Change::reserve_ahead(place, Seen::default(), request, Some(left));
    follow(&mut change, store, |_, _| ())
}

fn got(ledger: &impl Ledger, request: &Reserve) -> (u64, u64) {
    match ledger.reserve(request).unwrap() {
        Reply::Got { start, end, .. } => (start, end),
        refused @ Reply::Refused { .. } => panic!("{refused:?}"),
    }
}

/// A crash takes away what was reserved ahead, at any time, also while another call is about to reserve more.
#[test]
fn counts_go_on_above_all_their_numbers_after_a_crash() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let (ledgers, name) = ([store.ledger("shop"), store.ledger("shop")], Name::new("visits").unwrap());
    ledgers[0].bind(&name, "a counter", true).unwrap();
    let (mut last, mut is_lost) = (0, false);
    for (call, ledger) in (0..2_000_u64).zip(ledgers.iter().cycle()) {
        let request = Reserve { create: false, ..ask(&Key::name(&name), 1 + call % 7) };
        let Ok(Reply::Got { start, end, previous_mark }) = ledger.count(&request) else { panic!("refused") };
        assert!(
            start >= last && end == start + 1 + call % 7 && previous_mark <= start,
            "{start} below {last}"
        );
        // Where nothing was lost, nothing is skipped.
        assert!(start == last || is_lost, "{start} after {last}");
        (last, is_lost) = (end, Token::random().unwrap().as_bytes()[0] < 8);
        if is_lost {
            store.ahead().clear();
        }
    }
    store.ahead().clear();
    let count = || ledgers[0].count(&Reserve { create: false, ..ask(&Key::name(&name), 1) }).unwrap();
    count();
    store.calls();
    (0..32).for_each(|_| drop(count()));
    assert_eq!(store.calls(), 32, "none of them writes a record");
    count();
    assert_eq!(store.calls(), 3, "it finds nothing left, reserves, and takes");
}

/// A crash would skip what too many have reserved at once.
#[test]
fn who_finds_that_another_has_reserved_ahead_looks_for_what_is_left_again() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let request = counted(&store);
    let before = store.text("mark/shop/n/visits");
    assert!(before.contains("mark 165 start 0 "), "{before}");
    // It found too little, and comes to reserve when another has.
    // What it found is older than the mark, or newer, as after an older mark was put back.
    for left in [3..4, 160..170] {
        let (asked, reply) = reserved_ahead(&store, &request, left);
        assert!(asked.iter().all(|asked| asked.starts_with("get ")), "{asked:?}");
        assert_eq!(reply, Ok(Reply::Got { start: 165, end: 165, previous_mark: 165 }));
        assert_eq!(store.text("mark/shop/n/visits"), before);
    }
}

/// Two nodes ask at once for the first number of a dated name's day.
#[test]
fn who_found_nothing_left_before_another_reserved_up_to_the_end_takes_of_that() {
    static REQUEST: LazyLock<Reserve> = LazyLock::new(|| {
        let name = Name::new("visits").unwrap();
        Reserve { max_mark: 20, create: false, ..ask(&Key::name(&name), 1) }
    });
    let other: Then = |store| {
        let other = Map { after_take: None, ..store.clone() };
        other.ledger("shop").count(&REQUEST).map(drop)
    };
    let store = Map { ahead: Some(Arc::default()), after_take: Some(other), ..Map::default() };
    let (ledger, _) = counter(&store);
    assert_eq!(ledger.count(&REQUEST), Ok(Reply::Got { start: 1, end: 2, previous_mark: 1 }));
    for start in 2..=20 {
        assert_eq!(ledger.count(&REQUEST), Ok(Reply::Got { start, end: start + 1, previous_mark: start }));
    }
    for _ in 0..2 {
        let refused = ledger.count(&REQUEST);
        assert!(matches!(refused, Ok(Reply::Refused { mark: 21, .. })), "{refused:?}");
        store.ahead().clear();
    }
}

/// Others took it between the reservation and the look at what is left.
#[test]
fn a_count_whose_numbers_others_take_each_time_gives_up_after_a_hundred_tries() {
    let take_all: Then = |store| {
        store.ahead().clear();
        Ok(())
    };
    let store = Map { ahead: Some(Arc::default()), after_put_ahead: Some(take_all), ..Map::default() };
    let (ledger, name) = counter(&store);
    let count = ledger.count(&Reserve { create: false, ..ask(&Key::name(&name), 1) });
    let Err(LedgerError::Unavailable(text)) = count else { panic!("{count:?}") };
    assert!(text.starts_with("others took the numbers of `visits` at a map 100 times"), "{text}");
    // Each has reserved for itself and 32 others.
    let record = store.text("mark/shop/n/visits");
    assert!(record.contains("mark 3300 start 3267 "), "{record}");
}

/// A number below one that was handed out before it.
#[test]
fn a_count_at_the_largest_floor_leaves_nothing_below_it_to_the_next_one() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let (ledger, name) = counter(&store);
    let request = Reserve { create: false, ..ask(&Key::name(&name), 1) };
    assert_eq!(ledger.count(&request), Ok(Reply::Got { start: 0, end: 1, previous_mark: 0 }));
    let last = ledger.count(&Reserve { floor: MAX_MARK - 1, ..request.clone() });
    assert!(matches!(last, Ok(Reply::Got { end: MAX_MARK, .. })), "{last:?}");
    let next = ledger.count(&request);
    assert!(matches!(next, Err(LedgerError::Overflow { .. })), "{next:?}");
}

/// A store that errs found too few where there are enough, for a caller whose day ends before the mark.
#[test]
fn a_reservation_ahead_that_would_not_move_the_mark_writes_nothing() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let (ledger, name) = counter(&store);
    let request = Reserve { max_mark: 10, create: false, ..ask(&Key::name(&name), 5) };
    ledger.raise(&request.key, 165).unwrap();
    let (asked, reply) = reserved_ahead(&store, &request, 3..165);
    assert!(asked.iter().all(|asked| asked.starts_with("get ")), "{asked:?}");
    assert_eq!(reply, Ok(Reply::Got { start: 165, end: 165, previous_mark: 165 }));
}

/// The store has what is left of what was reserved before.
#[test]
fn a_reservation_ahead_is_answered_with_what_it_adds() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let request = Reserve { floor: 200, ..counted(&store) };
    let (_, reply) = reserved_ahead(&store, &request, 162..165);
    assert_eq!(reply, Ok(Reply::Got { start: 200, end: 205 + 32 * 5, previous_mark: 165 }));
}

/// Four processes count at once, while crashes take away what is left; their ranges are disjoint, and begin above all that was
/// handed out before the call.
#[test]
fn counts_that_come_at_once_stay_in_order_through_crashes() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let name = Name::new("visits").unwrap();
    store.ledger("shop").bind(&name, "a counter", true).unwrap();
    let highest = AtomicU64::new(0);
    let caller = || {
        let ledger = store.ledger("shop");
        let count = |call: u64| {
            let before = highest.load(Ordering::SeqCst);
            let request = Reserve { create: false, ..ask(&Key::name(&name), 1 + call % 3) };
            let Ok(Reply::Got { start, end, .. }) = ledger.count(&request) else { panic!("refused") };
            assert!(start >= before, "{start} after {before}");
            highest.fetch_max(end, Ordering::SeqCst);
            if call.is_multiple_of(50) {
                store.ahead().clear();
            }
            (start, end)
        };
        (0..1_000).map(count).collect::<Vec<_>>()
    };
    let mut ranges: Vec<_> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two callers have a number");
}

/// A tail that was given back would be handed out twice: from what is left of the range, and above the mark.
#[test]
fn what_was_reserved_ahead_is_not_given_back() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let (ledger, name) = counter(&store);
    let request = Reserve { create: false, ..ask(&Key::name(&name), 10) };
    let Reply::Got { start: 0, end: 10, .. } = ledger.count(&request).unwrap() else { panic!("refused") };
    assert_eq!(ledger.give_back(&request.key, request.token, 10), Ok(false));
}

/// A counter near its end reserves no further than a mark can be.
#[test]
fn what_is_reserved_ahead_ends_at_the_largest_mark() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let (ledger, name) = counter(&store);
    ledger.raise(&Key::name(&name), MAX_MARK - 5).unwrap();
    let count = |count| {
        let request = Reserve { max_mark: MAX_MARK, create: false, ..ask(&Key::name(&name), count) };
        ledger.count(&request).map(|reply| match reply {
            Reply::Got { start, .. } => MAX_MARK - start,
            refused @ Reply::Refused { .. } => panic!("{refused:?}"),
        })
    };
    assert_eq!([count(2), count(2)], [Ok(5), Ok(3)]);
    let record = store.text("mark/shop/n/visits");
    assert!(record.contains(&format!("mark {MAX_MARK} ")), "{record}");
    assert!(matches!(count(2), Err(LedgerError::Overflow { .. })));
    // So does a floor behind which no such count fits. The store is not asked what it could not add.
    let late = Reserve { floor: MAX_MARK - 1, create: false, ..ask(&Key::name(&name), 2) };
    assert!(matches!(ledger.count(&late), Err(LedgerError::Overflow { .. })));
    assert_eq!(count(1), Ok(1));
}

/// What lies below the floor (of a day that is over) is not reserved for the day that has begun.
#[test]
fn what_is_reserved_ahead_begins_at_the_floor() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let (ledger, name) = counter(&store);
    let request = Reserve { max_mark: MAX_MARK, create: false, ..ask(&Key::name(&name), 5) };
    ledger.count(&request).unwrap();
    let from = |floor| ledger.count(&Reserve { floor, ..request.clone() });
    assert_eq!(
        from(20),
        Ok(Reply::Got { start: 20, end: 25, previous_mark: 5 }),
        "in what was reserved before"
    );
    assert!(matches!(from(1_000), Ok(Reply::Got { start: 1_000, .. })), "and past it");
    let record = store.text("mark/shop/n/visits");
    assert!(record.contains(" start 1000 "), "{record}");
}

/// Another process reserves ahead while the mark is raised.
#[test]
fn no_number_is_below_a_raised_mark_whoever_counts_meanwhile() {
    fn count(store: &Map) -> Reply {
        let (store, name) = (Map { after_skip: None, ..store.clone() }, Name::new("visits").unwrap());
        let request = Reserve { max_mark: MAX_MARK - 1, create: false, ..ask(&Key::name(&name), 1) };
        store.ledger("shop").count(&request).unwrap()
    }
    let after_skip = |store: &Map| {
        count(store);
        Ok(())
    };
    let store = Map { ahead: Some(Arc::default()), after_skip: Some(after_skip), ..Map::default() };
    let (ledger, name) = counter(&store);
    ledger.raise(&Key::name(&name), 1_000).unwrap();
    let Reply::Got { start, .. } = count(&store) else { panic!("refused") };
    assert!(start >= 1_000, "{start}");
}

/// Whoever is told that a mark was raised points clients at the counter.
#[test]
fn a_mark_is_not_raised_as_long_as_what_was_reserved_ahead_below_it_may_be_counted() {
    let after_skip = |_: &Map| Err(LedgerError::Unavailable("the connection broke off".to_owned()));
    let store = Map { ahead: Some(Arc::default()), after_skip: Some(after_skip), ..Map::default() };
    let (ledger, name) = counter(&store);
    assert!(matches!(ledger.raise(&Key::name(&name), 1_000), Err(LedgerError::Unavailable(_))));
}

#[test]
fn a_slot_whose_record_somebody_deleted_stays_missing() {
    let store = Map::default();
    let delete = |key: &Key| store.remove(&format!("mark/shop/{key}"));
    check_deleted(&|| Box::new(store.ledger("shop")), &delete);
}

#[test]
fn a_name_whose_record_somebody_deleted_is_missing_and_is_not_bound_anew() {
    let (store, name) = (Map::default(), Name::new("orders").unwrap());
    let ledger = store.ledger("shop");
    ledger.bind(&name, "segment", true).unwrap();
    store.remove("mark/shop/n/orders");
    for ledger in [&ledger, &store.ledger("shop")] {
        let missing = LedgerError::Missing(Key::name(&name));
        assert_eq!(ledger.bind(&name, "counter", true), Err(missing.clone()));
        assert_eq!(ledger.reserve(&ask(&Key::name(&name), 1)), Err(missing.clone()));
        assert_eq!(ledger.raise(&Key::name(&name), 9), Err(missing));
        assert_eq!(store.get("mark/shop/n/orders"), Ok(None), "nothing is written in its place");
    }
}

/// What a process remembers of a record may be used up where the record itself is not any more.
#[test]
fn no_call_fails_by_memory_alone() {
    let (store, key) = (Map::default(), Key::slot(10, 7));
    let (one, two) = (store.ledger("shop"), store.ledger("shop"));
    let all = ask(&key, MAX_MARK);
    got(&one, &all);
    assert_eq!(two.give_back(&key, all.token, 5), Ok(true));
    assert_eq!(got(&one, &ask(&key, 7)), (5, 12));
}

#[test]
fn marks_are_listed_to_the_last_behind_pages_of_records_without_one() {
    let ledger = Map::default().ledger("shop");
    for (name, marked) in [("a", false), ("b", false), ("c", false), ("d", true), ("e", false), ("f", true)] {
        ledger.bind(&Name::new(name).unwrap(), "a definition", marked).unwrap();
    }
    for (limit, keys) in [(1, &["n/d"][..]), (2, &["n/d", "n/f"]), (3, &["n/d", "n/f"])] {
        let found = ledger.list("", "", limit).unwrap();
        assert_eq!(found.into_iter().map(|record| record.key).collect::<Vec<_>>(), keys, "{limit}");
    }
}

/// How many times the store is asked for what.
#[test]
fn a_call_on_a_record_that_was_written_before_is_one_trip() {
    let (store, key, name) = (Map::default(), Key::slot(10, 7), Name::new("orders").unwrap());
    let (ledger, other) = (store.ledger("shop"), store.ledger("shop"));
    store.calls();
    got(&ledger, &ask(&key, 10));
    let trips = "look, look whether it was made, make it, look at the realm, note the making, look at the realm again";
    assert_eq!(store.calls(), 6, "{trips}");
    let request = ask(&key, 10);
    assert_eq!(got(&ledger, &request), (10, 20));
    assert_eq!(store.calls(), 1, "reserve");
    assert_eq!(got(&ledger, &request), (10, 20));
    assert_eq!(store.calls(), 1, "the same token again is answered from a look");
    assert!(ledger.give_back(&key, request.token, 15).unwrap());
    assert_eq!(store.calls(), 1, "give back");
    assert_eq!(ledger.raise(&key, 30), Ok(15));
    assert_eq!(store.calls(), 1, "raise");
    assert_eq!(got(&other, &ask(&key, 10)), (30, 40));
    assert_eq!(store.calls(), 3, "another process: look, look whether it was made, reserve");
    assert_eq!(got(&ledger, &ask(&key, 10)), (40, 50));
    assert_eq!(store.calls(), 3, "the guess was old: a conflict, look, reserve");
    let refused = ledger.reserve(&Reserve { max_mark: 5, ..ask(&key, 1) });
    assert_eq!(refused, Ok(Reply::Refused { mark: 50, note: None }));
    assert_eq!(store.calls(), 1, "a refusal is a look");
    ledger.bind(&name, "segment", true).unwrap();
    assert_eq!(store.calls(), 6, "bind, as the first reserve");
    got(&ledger, &ask(&Key::name(&name), 1));
    assert_eq!(store.calls(), 1, "reserve of a name");
    assert_eq!(ledger.definition(&name).unwrap().as_deref(), Some("segment"));
    assert_eq!(store.calls(), 1, "definition");
}

#[test]
fn a_call_on_each_of_several_records_that_were_written_before_is_one_trip() {
    let store = Map::default();
    let ledger = store.ledger("shop");
    let keys = [7, 8, 9].map(|worker| Key::slot(10, worker));
    let each = |range| keys.iter().for_each(|key| assert_eq!(got(&ledger, &ask(key, 10)), range));
    each((0, 10));
    store.calls();
    each((10, 20));
    assert_eq!(store.calls(), 3);
}

#[test]
fn a_list_that_one_answer_can_hold_is_one_trip() {
    let store = Map::default();
    let ledger = store.ledger("shop");
    for name in ["a", "b", "c"] {
        ledger.bind(&Name::new(name).unwrap(), "a definition", true).unwrap();
    }
    assert!(Place::find(&store, "shop").unwrap().is_some());
    store.calls();
    for (limit, found) in [(9, 3), (3, 3), (2, 2)] {
        assert_eq!((ledger.names("", limit).unwrap().len(), store.calls()), (found, 1), "names, {limit}");
        assert_eq!((ledger.list("", "", limit).unwrap().len(), store.calls()), (found, 1), "marks, {limit}");
    }
    assert_eq!((ledger.names("a", 9).unwrap().len(), store.calls()), (2, 1), "behind the first");
    let realms = |limit| (Place::realms(&store, limit).unwrap().len(), store.calls());
    assert_eq!(realms(1), (1, 1), "as many as were wanted");
    Place::make(&store, "*check").unwrap();
    store.calls();
    assert_eq!(realms(9), (1, 1), "all, with one that is left out");
    Place::make(&store, "shop").unwrap();
    assert_eq!(store.calls(), 1, "a realm that is there is found");
}

/// A store may show a record that is not durable yet: a crash would take back what was handed out by a look at it.
#[test]
fn what_is_handed_out_by_a_look_alone_is_settled_first() {
    let (store, key, name) = (Map::default(), Key::slot(10, 7), Name::new("orders").unwrap());
    let ledger = store.ledger("shop");
    let settled =
        |times: usize, why: &str| assert_eq!(store.settled.swap(0, Ordering::SeqCst), times, "{why}");
    let request = ask(&key, 10);
    got(&ledger, &request);
    got(&store.ledger("shop"), &ask(&key, 10));
    ledger.bind(&name, "segment", true).unwrap();
    settled(0, "what was written is durable");
    let request = ask(&key, 10);
    got(&ledger, &request);
    got(&ledger, &request);
    settled(1, "a token that is there already");
    ledger.bind(&name, "segment", true).unwrap();
    settled(1, "a definition that is there already");
    ledger.raise(&key, 5).unwrap();
    settled(1, "a mark that is that high already");
    ledger.reserve(&Reserve { max_mark: 5, ..ask(&key, 1) }).unwrap();
    ledger.give_back(&key, Token::random().unwrap(), 5).unwrap();
    ledger.raise(&Key::slot(10, 8), 5).unwrap_err();
    settled(0, "a refusal hands nothing out");
    let mistells = || store.mistells.store(true, Ordering::SeqCst);
    mistells();
    let last = ask(&key, 10);
    let (_, mark) = got(&ledger, &last);
    settled(1, "a write of its own that seemed to have lost");
    mistells();
    assert!(ledger.give_back(&key, last.token, mark - 1).unwrap());
    settled(1, "so what is given back");
    let tells = Map { tells: true, ..store.clone() }.ledger("shop");
    got(&tells, &ask(&key, 10));
    let request = ask(&key, 10);
    got(&ledger, &request);
    settled(0, "written over what it remembers");
    got(&tells, &request);
    settled(1, "a token that a write shows which came too late");
}

#[test]
fn what_cannot_be_settled_is_not_handed_out() {
    let (store, key) = (Map::default(), Key::slot(10, 7));
    let (ledger, request) = (store.ledger("shop"), ask(&key, 10));
    got(&ledger, &request);
    store.is_down.store(true, Ordering::SeqCst);
    let again = ledger.reserve(&request);
    assert!(matches!(again, Err(LedgerError::Unavailable(_))), "{again:?}");
}

#[test]
fn a_call_ends_with_the_stores_own_error() {
    let store = Map::default();
    let ledger = store.ledger("shop");
    store.is_down.store(true, Ordering::SeqCst);
    let failed = ledger.reserve(&ask(&Key::slot(10, 7), 10));
    assert_eq!(failed, Err(LedgerError::Unavailable("it is down".to_owned())));
}

/// Somebody deletes the record and the note of it. A process that knows them does not take the record for a new one.
#[test]
fn a_call_that_failed_does_not_make_a_process_forget_that_a_record_was_made() {
    let key = Key::slot(10, 7);
    let first = ask(&key, 10);
    // It fails where it writes, or where it settles what it has read.
    for failing in [ask(&key, 10), first.clone()] {
        let store = Map::default();
        let ledger = store.ledger("shop");
        got(&ledger, &first);
        store.is_down.store(true, Ordering::SeqCst);
        assert!(matches!(ledger.reserve(&failing), Err(LedgerError::Unavailable(_))));
        store.is_down.store(false, Ordering::SeqCst);
        store.remove("mark/shop/s/10/7");
        store.remove("made/shop/s/10/7");
        assert_eq!(ledger.reserve(&ask(&key, 10)), Err(LedgerError::Missing(key.clone())));
        // Nor does it go on in one that another process has made since.
        assert_eq!(got(&store.ledger("shop"), &ask(&key, 10)), (0, 10));
        assert_eq!(ledger.reserve(&ask(&key, 10)), Err(LedgerError::Missing(key.clone())));
    }
}

/// Its positions may have been handed out before.
#[test]
fn a_process_does_not_go_on_in_a_record_that_was_made_anew_between_its_calls() {
    for tells in [false, true] {
        let (store, key) = (Map { tells, ..Map::default() }, Key::slot(10, 7));
        let ledger = store.ledger("shop");
        got(&ledger, &ask(&key, 10));
        store.remove("mark/shop/s/10/7");
        store.remove("made/shop/s/10/7");
        assert_eq!(got(&store.ledger("shop"), &ask(&key, 10)), (0, 10));
        assert_eq!(ledger.reserve(&ask(&key, 10)), Err(LedgerError::Missing(key)), "it is told: {tells}");
    }
}

/// It looks at that again, as another process would.
#[test]
fn of_thousands_of_records_the_process_forgets_those_that_nobody_asks_for() {
    let (store, key) = (Map::default(), Key::slot(10, 7));
    let ledger = store.ledger("shop");
    got(&ledger, &ask(&key, 10));
    let others = (0..4_096).map(|other| Key::slot(20, other));
    others.for_each(|other| assert_eq!(ledger.give_back(&other, ask(&key, 1).token, 0), Ok(false)));
    store.calls();
    got(&ledger, &ask(&key, 10));
    assert_eq!(store.calls(), 3, "look, look whether it was made, reserve");
    let others = (0..4_094).map(|other| Key::slot(21, other));
    others.for_each(|other| assert_eq!(ledger.give_back(&other, ask(&key, 1).token, 0), Ok(false)));
    store.calls();
    got(&ledger, &ask(&key, 10));
    assert_eq!(store.calls(), 1, "so many are remembered, and a call on one of them forgets no other");
    got(&ledger, &ask(&key, 10));
    assert_eq!(store.calls(), 1);
}

/// A store on which a call for one record sees thousands of others before it ends.
#[derive(Default)]
struct Crowded {
    store: Map,
    ledger: OnceLock<Weak<Stored<Crowded>>>,
    was_crowded: AtomicBool,
}

impl Store for Crowded {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        self.store.get(key)
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let ledger = self.ledger.get().and_then(Weak::upgrade);
        if let Some(ledger) = ledger.filter(|_| !self.was_crowded.swap(true, Ordering::SeqCst)) {
            let token = Token::random().unwrap();
            let others = (0..5_000).map(|other| Key::slot(20, other));
            others.for_each(|other| assert_eq!(ledger.give_back(&other, token, 0), Ok(false)));
        }
        self.store.put(key, text, expected)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        self.store.list(prefix, after, limit)
    }

    fn describe(&self) -> String {
        self.store.describe()
    }

    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(Some(UnixMillis::new(7)))
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// Two calls on it would race with each other, and what the first one learns would be lost.
#[test]
fn of_thousands_of_records_the_process_does_not_forget_one_that_is_being_written() {
    let crowded = Crowded::default();
    let place = Place::make(&crowded, "shop").unwrap();
    let ledger = Arc::new(Stored::new(crowded, place));
    let key = Key::slot(10, 7);
    ledger.store().ledger.set(Arc::downgrade(&ledger)).unwrap();
    got(&*ledger, &ask(&key, 10));
    ledger.store().store.calls();
    got(&*ledger, &ask(&key, 10));
    assert_eq!(ledger.store().store.calls(), 1, "reserve");
}

#[test]
fn a_ledger_on_a_store_is_shared_where_the_store_is() {
    let crowded = Crowded::default();
    let place = Place::make(&crowded, "shop").unwrap();
    assert!(!Stored::new(crowded, place).is_shared());
    assert!(Map::default().ledger("shop").is_shared(), "as a store that says nothing");
}

#[test]
fn a_ledger_on_a_store_has_the_stores_clock() {
    let crowded = Crowded::default();
    let place = Place::make(&crowded, "shop").unwrap();
    assert_eq!(Stored::new(crowded, place).clock(), Ok(Some(UnixMillis::new(7))));
    assert_eq!(Map::default().ledger("shop").clock(), Ok(None), "as a store that says nothing");
}

#[test]
fn a_version_is_a_number_where_the_store_has_numbers() {
    assert_eq!(Version::from(7).number(), Some(7));
    assert_eq!((Version::new("7").as_str(), Version::new("d41d8cd9").number()), ("7", None));
}

/// The first answer was lost, and a client below the store has tried again.
#[test]
fn a_write_that_took_effect_and_seems_lost_to_another_is_this_calls_own() {
    let (store, key) = (Map::default(), Key::slot(10, 7));
    let request = ask(&key, 10);
    got(&store.ledger("shop"), &request);
    let place = || Place::make(&store, "shop").unwrap();
    let lost = |_: usize, next: &Next<u64>| lose_answer(&store, next);
    let raised = follow(&mut Change::raise(place(), Seen::default(), &key, 30), &store, lost).1;
    assert_eq!(raised, Ok(10), "the mark before the call, not that of its own write");
    let request = ask(&key, 10);
    let lost = |_: usize, next: &Next<Reply>| lose_answer(&store, next);
    let reserved = follow(&mut Change::reserve(place(), Seen::default(), &request), &store, lost).1;
    assert_eq!(reserved, Ok(Reply::Got { start: 30, end: 40, previous_mark: 30 }));
    let lost = |_: usize, next: &Next<bool>| lose_answer(&store, next);
    let mut change = Change::give_back(place(), Seen::default(), &key, request.token, 35);
    assert_eq!(follow(&mut change, &store, lost).1, Ok(true));
    let record = store.text("mark/shop/s/10/7");
    assert!(record.contains("mark 35 start 30 previous 30\n"), "{record}");
}

/// The answer is lost after another process has changed the record first.
#[test]
fn a_second_write_that_took_effect_and_seems_lost_to_another_is_this_calls_own() {
    for tells in [false, true] {
        let (store, key) = (Map { tells, ..Map::default() }, Key::slot(10, 7));
        let ledger = store.ledger("shop");
        got(&ledger, &ask(&key, 10));
        let mut change = Change::raise(Place::make(&store, "shop").unwrap(), Seen::default(), &key, 30);
        let mut writes = 0;
        let raised = follow(&mut change, &store, |_, next| {
            writes += usize::from(matches!(next, Next::Put { .. }));
            match (next, writes) {
                (Next::Put { .. }, 1) => assert_eq!(got(&ledger, &ask(&key, 5)), (10, 15)),
                (_, 2) => lose_answer(&store, next),
                _ => (),
            }
        });
        assert_eq!(raised.1, Ok(15), "the mark before the call, not that of its own write");
        assert!(store.text("mark/shop/s/10/7").contains("mark 30 "));
    }
}

/// The write takes effect before the call's own attempt, which then finds another version.
fn lose_answer<T>(store: &Map, next: &Next<T>) {
    if let Next::Put { key, text, expected } = next {
        assert!(matches!(store.put(key, text, expected.as_ref()), Ok(Put::Done(_) | Put::Conflict)));
    }
}

/// Lets a change ask the store; `before` sees each question first. Returns the questions and the answer.
fn follow<T: Clone>(
    change: &mut Change<T>,
    store: &Map,
    mut before: impl FnMut(usize, &Next<T>),
) -> (Vec<String>, Result<T, LedgerError>) {
    let (mut asked, mut heard) = (Vec::new(), Heard::Nothing);
    loop {
        let next = change.next(heard);
        before(asked.len(), &next);
        asked.push(question(&next));
        heard = match next {
            Next::Get(key) => Heard::Entry(store.get(&key).unwrap()),
            Next::Put { key, text, expected } => {
                Heard::Put(store.put(&key, &text, expected.as_ref()).unwrap())
            }
            Next::Wait(_) => Heard::Nothing,
            Next::Done(answer) => {
                asked.pop();
                return (asked, answer);
            }
        };
    }
}

fn question<T>(next: &Next<T>) -> String {
    match next {
        Next::Get(key) => format!("get {key}"),
        Next::Put { key, .. } => format!("put {key}"),
        Next::Wait(_) => "wait".to_owned(),
        Next::Done(_) => String::new(),
    }
}

/// The waits of a call that always loses, and the error in the end.
fn waits_of_a_loser(tells: bool, share: u8) -> (u32, Vec<Duration>, LedgerError) {
    let store = Map { tells, ..Map::default() };
    let key = Key::slot(10, 7);
    got(&store.ledger("shop"), &ask(&key, 1));
    let place = Place::make(&store, "shop").unwrap();
    let mut change = Change::reserve(place, Seen::default(), &ask(&key, 1)).drawing(move || {
        let mut bytes = [7; 16];
        bytes[15] = share;
        Ok(Token::from_bytes(bytes).unwrap())
    });
    let (mut heard, mut before, mut waits) = (Heard::Nothing, None, Vec::new());
    let mut conflicts = 0;
    loop {
        heard = match change.next(heard) {
            Next::Get(key) => Heard::Entry(store.get(&key).unwrap()),
            Next::Put { key, text, expected } => {
                got(&store.ledger("shop"), &ask(&Key::slot(10, 7), 1));
                conflicts += 1;
                Heard::Put(store.put(&key, &text, expected.as_ref()).unwrap())
            }
            Next::Wait(time) => {
                before.get_or_insert(conflicts);
                waits.push(time);
                Heard::Nothing
            }
            Next::Done(outcome) => return (before.unwrap(), waits, outcome.unwrap_err()),
        };
    }
}

/// Of so many callers the one that has lost most often is not to wait longest: those that come later would pass it.
#[test]
fn a_call_that_loses_again_and_again_waits_longer_and_then_less_and_ends() {
    for (tells, at_once) in [(true, 257), (false, 2)] {
        let (before, waits, error) = waits_of_a_loser(tells, u8::MAX);
        assert_eq!(before, at_once, "tries without a wait, tells: {tells}");
        let waits: Vec<_> = waits.iter().map(Duration::as_millis).collect();
        assert_eq!(waits[..12], [4, 8, 16, 32, 64, 96, 96, 96, 96, 96, 16, 16]);
        assert_eq!((waits.len(), &waits[10..]), (256, &[16; 246][..]));
        let LedgerError::Unavailable(text) = error else { panic!("{error:?}") };
        let times = at_once + 256;
        assert!(text.starts_with("others wrote the record of worker slot 7"), "{text}");
        assert!(text.contains(&format!(" at a map {times} times ")), "{text}");
        assert!(text.ends_with("reserve more at once, or give the fleet more names"), "{text}");
    }
}

/// Or those that lost at once would come back at once.
#[test]
fn a_call_that_lost_waits_for_a_part_that_its_random_number_tells() {
    let (_, whole, _) = waits_of_a_loser(true, u8::MAX);
    for share in [0, 51, 102] {
        let (_, waits, _) = waits_of_a_loser(true, share);
        assert_eq!(waits, whole.iter().map(|whole| *whole * u32::from(share) / 255).collect::<Vec<_>>());
    }
}

/// Each differs a little from a record that was written, and would be read as one with less care.
#[test]
fn a_record_that_was_changed_by_hand_is_damaged() {
    let token = |digit| Token::from_bytes([digit; 16]).unwrap();
    let (token_line, note) = (Some(token(3)), Some("host a".to_owned()));
    let mark = Mark { previous: 10, start: 20, mark: 30, token: token_line, note };
    let body = Body { definition: Some("segment".to_owned()), mark: Some(mark) };
    let text = Content { realm: "5f0a".to_owned(), written: token(1), made: token(2), body }.write();
    Content::read(&text).unwrap();
    let bare = text.replace("mark 30 start 20 previous 10\n", "");
    let mut changed: Vec<_> = [
        ("mark 30", "mark +30"),
        ("mark 30", "mark 030"),
        ("mark 30 start 20", "mark 19 start 20"),
        ("previous 10", "previous 21"),
        ("mark 30", "mark 9223372036854775808"),
        ("token 03", "token 0003"),
        ("token 03", "token +3"),
        ("token 0303", "token 030A"),
        ("host a\n", "host a\r\n"),
        ("host a", "host\\ta"),
        ("floe 1", "floe 0"),
        ("previous 10\n", "previous 10\r\n"),
        ("realm 5f0a", "realm "),
        ("end\n", "end"),
        ("note host a\n", "note host a\nnote host a\n"),
    ]
    .map(|(from, to)| text.replacen(from, to, 1))
    .into();
    assert!(changed.iter().all(|changed| *changed != text));
    // A token and a note are those of a mark.
    changed.extend([
        bare.replace("note host a\n", ""),
        bare.replace("token 03030303030303030303030303030303\n", ""),
    ]);
    changed.retain(|changed| Content::read(changed) != Err(Fault::Damaged));
    assert!(changed.is_empty(), "{changed:#?}");
    let note = content::write_made("5f0a", &token(2));
    assert_eq!(content::header(&note).unwrap().made, Some(token(2)));
    assert_eq!(
        content::header(&note.replace("0202\n", "\n")),
        Err(Fault::Damaged),
        "no note of another making"
    );
}

#[test]
fn a_record_is_text_for_people() {
    let store = Map::default();
    let ledger = store.ledger("shop");
    ledger.bind(&Name::new("orders").unwrap(), "segment first=1", true).unwrap();
    let note = Some("host a\nprocess 7".to_owned());
    got(&ledger, &Reserve { note, ..ask(&Key::name(&Name::new("orders").unwrap()), 500) });
    let text = store.text("mark/shop/n/orders");
    let content = Content::read(&text).unwrap();
    let number = Token::hex;
    let token = number(content.body.mark.as_ref().unwrap().token.as_ref().unwrap());
    let (realm, written, made) = (&content.realm, number(&content.written), number(&content.made));
    assert_eq!(
        text,
        format!(
            "floe 1\nrealm {realm}\nwritten {written}\nmade {made}\nmark 500 start 0 previous 0\ntoken {token}\n\
             definition segment first=1\nnote host a\\nprocess 7\nend\n"
        )
    );
    assert_eq!(store.text("realm/shop"), format!("floe 1\nrealm {realm}\n"));
    assert_eq!(store.text("made/shop/n/orders"), format!("floe 1\nrealm {realm}\nmade {made}\n"));
}

#[test]
fn a_store_that_was_emptied_and_made_anew_is_another_ledger() {
    let (store, key) = (Map::default(), Key::slot(10, 7));
    let (first, second) = (store.ledger("shop"), store.ledger("shop"));
    got(&first, &ask(&key, 10));
    store.entries.lock().unwrap().clear();
    let gone = |ledger: &Stored<Map>, key: &Key| match ledger.reserve(&ask(key, 1)) {
        Err(LedgerError::Unfit(text)) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(first.reserve(&ask(&key, 1)), Err(LedgerError::Missing(key.clone())));
    assert!(gone(&second, &Key::slot(10, 8)).contains("the realm shop at a map is gone"));
    store.entries.lock().unwrap().clear();
    let anew = store.ledger("shop");
    got(&anew, &ask(&key, 10));
    for ledger in [&first, &second] {
        assert!(gone(ledger, &key).contains("is another than it was"));
        assert!(matches!(ledger.names("", 9), Ok(names) if names.is_empty()));
        assert!(matches!(ledger.list("", "", 9), Err(LedgerError::Unfit(_))));
    }
    let name = Name::new("orders").unwrap();
    anew.bind(&name, "segment", true).unwrap();
    for ledger in [&first, &second] {
        let definition = ledger.definition(&name);
        assert!(matches!(definition, Err(LedgerError::Unfit(_))), "{definition:?}");
        let names = ledger.names("", 9);
        assert!(matches!(names, Err(LedgerError::Unfit(_))), "{names:?}");
    }
    assert_eq!(got(&anew, &ask(&key, 10)), (10, 20));
}

/// Somebody emptied the records alone: what was left of the counter's range is below the end of what the realm, made anew, has
/// reserved, and would come twice.
#[test]
fn what_a_counter_of_an_emptied_realm_has_left_is_nothing_to_the_new_one() {
    let store = Map { ahead: Some(Arc::default()), ..Map::default() };
    let name = Name::new("visits").unwrap();
    let request = Reserve { create: false, ..ask(&Key::name(&name), 1) };
    let count = |ledger: &Stored<Map>| match ledger.count(&request).unwrap() {
        Reply::Got { start, .. } => start,
        refused @ Reply::Refused { .. } => panic!("{refused:?}"),
    };
    let former = store.ledger("shop");
    former.bind(&name, "a counter", true).unwrap();
    assert_eq!([0; 5].map(|_| count(&former)), [0, 1, 2, 3, 4]);
    store.entries.lock().unwrap().clear();
    let anew = store.ledger("shop");
    anew.bind(&name, "a counter", true).unwrap();
    assert_eq!([0; 70].map(|_| count(&anew)), std::array::from_fn(|number| number as u64));
}

#[test]
fn a_record_of_a_newer_floe_and_one_of_no_floe_are_refused() {
    let store = Map::default();
    let ledger = store.ledger("shop");
    let key = Key::slot(10, 7);
    got(&ledger, &ask(&key, 10));
    let put = |text: &str| {
        let version = store.get("mark/shop/s/10/7").unwrap().map(|entry| entry.version);
        store.put("mark/shop/s/10/7", text, version.as_ref()).unwrap();
    };
    let said = || match ledger.reserve(&ask(&key, 1)) {
        Err(LedgerError::Unfit(text)) => text,
        other => panic!("{other:?}"),
    };
    let text = store.text("mark/shop/s/10/7");
    put(&text.replacen("floe 1", "floe 2", 1));
    let newer = "the ledger at a map was written by a newer floe: the record mark/shop/s/10/7 has format 2";
    assert!(said().starts_with(newer), "{}", said());
    put("hello");
    assert!(said().contains("holds a record mark/shop/s/10/7 that no floe has written"), "{}", said());
}

/// A name that is new in one realm may have been meant in another.
#[test]
fn ten_of_the_other_realms_that_have_a_name_are_told() {
    let (store, name) = (Map::default(), Name::new("orders").unwrap());
    let realms: Vec<String> = (10..22).map(|number| format!("realm-{number}")).collect();
    for realm in &realms {
        let ledger = store.ledger(realm);
        ledger.bind(&name, "a segment", true).unwrap();
        ledger.raise(&Key::name(&name), 7).unwrap();
    }
    let told = |realm: &str| {
        let found = store.ledger(realm).in_other_realms(&name).unwrap();
        found.into_iter().map(|elsewhere| elsewhere.realm).collect::<Vec<_>>()
    };
    assert_eq!(told("a realm without it"), realms[..10]);
    assert_eq!(told("realm-10"), realms[1..11], "its own is no other one");
    let found = store.ledger("realm-10").in_other_realms(&name).unwrap();
    assert!(found.iter().all(|elsewhere| elsewhere.mark == 7), "{found:?}");
    store.ledger("unmarked").bind(&Name::new("users").unwrap(), "a kind without marks", false).unwrap();
    let found = store.ledger("realm-10").in_other_realms(&Name::new("users").unwrap()).unwrap();
    assert_eq!(found.into_iter().map(|elsewhere| elsewhere.mark).collect::<Vec<_>>(), [0]);
    let key = "mark/realm-11/n/orders";
    let version = store.get(key).unwrap().unwrap().version;
    store.put(key, "hello", Some(&version)).unwrap();
    assert_eq!(told("realm-10"), realms[2..], "what is damaged there is that realm's trouble");
}

#[test]
fn a_hundred_other_realms_are_looked_at() {
    let (store, name) = (Map::default(), Name::new("orders").unwrap());
    for number in 1_000..1_102 {
        let other = Name::new(if number < 1_100 { "tickets" } else { "orders" }).unwrap();
        store.ledger(&format!("realm-{number}")).bind(&other, "a segment", true).unwrap();
    }
    // Its own is among the first hundred and one.
    let found = store.ledger("realm-1000").in_other_realms(&name).unwrap();
    let found: Vec<_> = found.into_iter().map(|elsewhere| elsewhere.realm).collect();
    assert_eq!(found, ["realm-1100"]);
}

#[test]
fn scratch_realms_are_left_out_however_many_there_are() {
    let (store, name) = (Map::default(), Name::new("orders").unwrap());
    let others = ["!", "(", "+", "default", "shop"];
    let scratch: Vec<String> = (0..150).map(|number| format!("*check-{number}")).collect();
    for realm in scratch.iter().map(String::as_str).chain(others).chain(["*", "*\u{10fffd}"]) {
        store.ledger(realm).bind(&name, "a segment", true).unwrap();
    }
    for limit in 0..160 {
        assert_eq!(Place::realms(&store, limit).unwrap(), others[..others.len().min(limit)], "{limit}");
    }
    let found = store.ledger("shop").in_other_realms(&name).unwrap();
    let found: Vec<_> = found.into_iter().map(|elsewhere| elsewhere.realm).collect();
    assert_eq!(found, others[..4], "the search looks at fewer realms than a test has left behind");
}

#[test]
fn a_realm_whose_name_begins_anothers_has_none_of_its_records() {
    let store = Map::default();
    let names = ["shop2", "shop", "sho"];
    let ids = names.map(|realm| {
        assert_eq!(Place::left_behind(&store, realm), Ok(None), "{realm} was never there");
        let ledger = store.ledger(realm);
        assert_eq!((ledger.names("", 9), ledger.list("", "", 9)), (Ok(vec![]), Ok(vec![])), "{realm}");
        ledger.bind(&Name::new("orders").unwrap(), "a segment", true).unwrap();
        ledger.realm_id().unwrap()
    });
    store.remove("realm/shop");
    assert_eq!(Place::left_behind(&store, "shop"), Ok(Some(ids[1].clone())), "its records are still there");
}

fn tokens() -> impl Strategy<Value = Token> {
    any::<[u8; 16]>().prop_filter_map("zero", Token::from_bytes)
}

fn bodies() -> impl Strategy<Value = Body> {
    let text = || prop::option::of(any::<String>());
    let mark = (0..=MAX_MARK, 0..=MAX_MARK, 0..=MAX_MARK, prop::option::of(tokens()), text()).prop_map(
        |(a, b, c, token, note)| {
            let mut order = [a, b, c];
            order.sort_unstable();
            let [previous, start, mark] = order;
            Mark { previous, start, mark, token, note }
        },
    );
    (text(), prop::option::of(mark)).prop_map(|(definition, mark)| Body { definition, mark })
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(written in tokens(), made in tokens(), body in bodies()) {
        let content = Content { realm: "5f".to_owned(), written, made, body };
        let text = content.write();
        prop_assert_eq!(Content::read(&text), Ok(content.clone()));
        prop_assert_eq!(content::header(&text).unwrap().made, Some(made));
        for cut in (0..text.len()).filter_map(|end| text.get(..end)) {
            prop_assert_eq!(Content::read(cut), Err(Fault::Damaged), "{}", cut);
        }
    }

    #[test]
    fn every_text_that_is_read_is_one_that_is_written(written in tokens(), body in bodies(), at in any::<prop::sample::Index>(), to in any::<char>()) {
        let content = Content { realm: "5f".to_owned(), written, made: written, body };
        let mut text: Vec<char> = content.write().chars().collect();
        let at = at.index(text.len());
        text[at] = to;
        let text: String = text.into_iter().collect();
        if let Ok(read) = Content::read(&text) {
            prop_assert_eq!(read.write(), text);
        }
    }
}
