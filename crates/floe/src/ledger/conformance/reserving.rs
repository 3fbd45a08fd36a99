//! Cases about `reserve`.

use super::{Range, Realm, ask, done, equal, got, hold, mark, name, record, together, token};
use crate::ledger::{Beginning, Key, Ledger, LedgerError, MAX_MARK, Reply, Reserve, begin};

pub(super) fn follows_the_formula(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "start = max(mark, floor), end = start + count, previous_mark = the mark before";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::slot(10, 3);
    let steps = [
        // floor, count, expected
        (0, 10, Range { start: 0, end: 10, previous_mark: 0 }),
        (0, 5, Range { start: 10, end: 15, previous_mark: 10 }),
        (14, 1, Range { start: 15, end: 16, previous_mark: 15 }),
        (16, 1, Range { start: 16, end: 17, previous_mark: 16 }),
        (18, 2, Range { start: 18, end: 20, previous_mark: 17 }),
        (1_000_000, 3, Range { start: 1_000_000, end: 1_000_003, previous_mark: 20 }),
        (5, 1, Range { start: 1_000_003, end: 1_000_004, previous_mark: 1_000_003 }),
    ];
    for (floor, count, expected) in steps {
        equal(got(&*ledger, &Reserve { floor, ..ask(&key, count) }), expected, RULE);
        equal(mark(&*ledger, &key), Some(expected.end), "the mark is the end of the last range");
    }
}

pub(super) fn keeps_keys_apart(fresh: &dyn Fn() -> Realm) {
    const RULE: &str =
        "keys are compared byte by byte: one that differs in case, accent or length is another";
    let realm = fresh();
    let ledger = realm.connect();
    let names =
        ["orders", "Orders", "ORDERS", "órders", "o\u{301}rders", "order", "orders.", "orders-", "ß", "ss"];
    let slots = [(1, 1), (1, 11), (11, 1), (10, 1), (1, 0), (5, 16), (51, 6)];
    let keys: Vec<Key> = names
        .iter()
        .map(|text| Key::name(&name(text)))
        .chain(slots.iter().map(|&(bits, worker)| Key::slot(bits, worker)))
        .collect();
    for (key, count) in keys.iter().zip(1_u64..) {
        equal(got(&*ledger, &ask(key, count)), Range { start: 0, end: count, previous_mark: 0 }, RULE);
    }
    for (key, count) in keys.iter().zip(1_u64..) {
        equal(mark(&*ledger, key), Some(count), RULE);
    }
}

pub(super) fn disjoint_under_concurrency(fresh: &dyn Fn() -> Realm) {
    const CALLERS: usize = 32;
    const CONNECTIONS: usize = 8;
    const CALLS: u64 = 20;
    let realm = fresh();
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| realm.connect()).collect();
    let key = Key::name(&name("orders"));
    let ranges = together(CALLERS, |caller| {
        let ledger = &*connections[caller % CONNECTIONS];
        (0..CALLS).map(|call| got(ledger, &ask(&key, 1 + (call * 7 + caller as u64) % 5))).collect::<Vec<_>>()
    });
    for own in &ranges {
        hold(
            own.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "a call that begins after another has returned gets the later range",
            own,
        );
    }
    tile(ranges.into_iter().flatten().collect(), 0);
}

/// Ranges that were asked for without a floor leave neither an overlap nor a gap (I2).
#[track_caller]
fn tile(mut ranges: Vec<Range>, from: u64) {
    ranges.sort_by_key(|range| range.start);
    let mut mark = from;
    for range in ranges {
        hold(range.start >= mark, "ranges of one key are disjoint (I2)", &(mark, range));
        hold(range.start == mark, "without a floor, no position is skipped", &(mark, range));
        equal(range.previous_mark, mark, "previous_mark is the mark before the reservation");
        mark = range.end;
    }
}

pub(super) fn exact_chain_under_concurrent_floors(fresh: &dyn Fn() -> Realm) {
    const CALLERS: usize = 8;
    const CALLS: u64 = 20;
    let realm = fresh();
    let key = Key::slot(10, 1023);
    let ranges = together(CALLERS, |caller| {
        // Each caller opens for itself, while others open and write.
        let ledger = realm.connect();
        (0..CALLS)
            .map(|call| {
                let floor = call * 13 + caller as u64 * 3;
                let request = Reserve { floor, ..ask(&key, 1 + call % 3) };
                (floor, request.count, got(&*ledger, &request))
            })
            .collect::<Vec<_>>()
    });
    let mut ranges: Vec<_> = ranges.into_iter().flatten().collect();
    ranges.sort_by_key(|(_, _, range)| range.start);
    let mut mark = 0;
    for (floor, count, range) in ranges {
        let start = mark.max(floor);
        equal(
            range,
            Range { start, end: start + count, previous_mark: mark },
            "ranges of one key are disjoint (I2), and skip no more than their floor asks for",
        );
        mark = range.end;
    }
}

pub(super) fn one_creation_wins(fresh: &dyn Fn() -> Realm) {
    const CALLERS: usize = 8;
    // A store whose conditional creation is not atomic may show it only once in dozens of races.
    const SLOTS: u64 = 60;
    let realm = fresh();
    let connections: Vec<_> = (0..CALLERS).map(|_| realm.connect()).collect();
    for worker in 0..SLOTS {
        let key = Key::slot(10, worker);
        tile(together(CALLERS, |caller| got(&*connections[caller], &ask(&key, 1 + caller as u64))), 0);
    }
}

pub(super) fn refusal_writes_nothing(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a refused reserve writes nothing";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let key = Key::slot(10, 5);
    let first = Reserve { floor: 100, note: Some("host a".to_owned()), ..ask(&key, 50) };
    let range = got(&*ledger, &first);
    let before = record(&*ledger, &key);
    for floor in [0, 120, 149, 150, 10_000] {
        let request = Reserve { floor, max_mark: 149, note: Some("host b".to_owned()), ..ask(&key, 50) };
        let expected = Reply::Refused { mark: 150, note: Some("host a".to_owned()) };
        equal(
            done(other.reserve(&request)),
            expected.clone(),
            "a mark above max_mark is refused, with the mark and the note as they are",
        );
        equal(done(other.reserve(&request)), expected, "a refused reserve is refused again");
        equal(record(&*ledger, &key), before.clone(), RULE);
    }
    equal(got(&*ledger, &first), range, "a refused reserve leaves the record's token");
    equal(
        done(ledger.give_back(&key, first.token, 110)),
        true,
        "a refused reserve leaves the record's token",
    );
    equal(
        got(&*other, &Reserve { max_mark: 149, ..ask(&key, 1) }),
        Range { start: 110, end: 111, previous_mark: 110 },
        "a mark that came below max_mark is not refused",
    );
}

pub(super) fn edges_of_max_mark(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "only a mark strictly above max_mark is refused";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::slot(4, 2);
    equal(
        got(&*ledger, &Reserve { max_mark: 0, ..ask(&key, 10) }),
        Range { start: 0, end: 10, previous_mark: 0 },
        RULE,
    );
    for max_mark in [0, 1, 9] {
        let request = Reserve { max_mark, ..ask(&key, 10) };
        equal(done(ledger.reserve(&request)), Reply::Refused { mark: 10, note: None }, RULE);
    }
    for (max_mark, start) in [(10, 10), (21, 20), (MAX_MARK, 30), (MAX_MARK + 1, 40), (u64::MAX, 50)] {
        let range = Range { start, end: start + 10, previous_mark: start };
        equal(got(&*ledger, &Reserve { max_mark, ..ask(&key, 10) }), range, RULE);
    }
    let request = Reserve { max_mark: 59, floor: 1_000, ..ask(&key, 10) };
    equal(done(ledger.reserve(&request)), Reply::Refused { mark: 60, note: None }, RULE);
    equal(
        got(&*ledger, &Reserve { max_mark: 60, floor: 1_000, ..ask(&key, 10) }),
        Range { start: 1_000, end: 1_010, previous_mark: 60 },
        "max_mark is compared with the mark, not with the floor",
    );
}

pub(super) fn same_token_same_range(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "the record's token gets the same range and previous_mark again, and writes nothing";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let key = Key::slot(10, 9);
    got(&*ledger, &ask(&key, 40));
    let request = Reserve { floor: 100, note: Some("first".to_owned()), ..ask(&key, 60) };
    let range = got(&*ledger, &request);
    equal(range, Range { start: 100, end: 160, previous_mark: 40 }, "start = max(mark, floor)");
    let before = record(&*ledger, &key);
    let retries = [
        request.clone(),
        Reserve { max_mark: 0, ..request.clone() },
        Reserve { floor: 5_000, count: 7, ..request.clone() },
        Reserve { count: u64::MAX, ..request.clone() },
        Reserve { create: false, note: Some("second".to_owned()), ..request.clone() },
    ];
    for retry in retries {
        equal(got(&*ledger, &retry), range, RULE);
        equal(got(&*other, &retry), range, RULE);
        equal(record(&*other, &key), before.clone(), RULE);
    }
    let elsewhere = Key::slot(10, 10);
    equal(
        got(&*ledger, &Reserve { key: elsewhere, ..request }),
        Range { start: 100, end: 160, previous_mark: 0 },
        "a token is valid for its own key only",
    );
}

pub(super) fn token_is_forgotten_after_another_reserve(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a token that is no longer the record's gets a new range";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let key = Key::name(&name("orders"));
    let (a, b) = (ask(&key, 10), ask(&key, 5));
    equal(got(&*ledger, &a), Range { start: 0, end: 10, previous_mark: 0 }, RULE);
    equal(got(&*other, &b), Range { start: 10, end: 15, previous_mark: 10 }, RULE);
    equal(got(&*ledger, &a), Range { start: 15, end: 25, previous_mark: 15 }, RULE);
    equal(got(&*other, &b), Range { start: 25, end: 30, previous_mark: 25 }, RULE);
    let refused = done(ledger.reserve(&Reserve { max_mark: 29, ..a }));
    equal(refused, Reply::Refused { mark: 30, note: None }, RULE);
}

pub(super) fn concurrent_retries_get_one_range(fresh: &dyn Fn() -> Realm) {
    const CALLERS: usize = 8;
    const ROUNDS: u64 = 10;
    let realm = fresh();
    let connections: Vec<_> = (0..CALLERS).map(|_| realm.connect()).collect();
    let key = Key::name(&name("orders"));
    for round in 0..ROUNDS {
        let request = ask(&key, 3);
        let expected = Range { start: round * 3, end: round * 3 + 3, previous_mark: round * 3 };
        for range in together(CALLERS, |caller| got(&*connections[caller], &request)) {
            equal(range, expected, "one token at once over several connections reserves once");
        }
    }
    equal(mark(&*connections[0], &key), Some(ROUNDS * 3), "a retried reserve moves the mark once");
}

pub(super) fn values_are_exact_to_the_last_bit(fresh: &dyn Fn() -> Realm) {
    const RULE: &str =
        "values up to 2^63 - 1 are exact (a double holds 53 bits, and some stores print exponents)";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let edges = [1 << 31, 1 << 32, 1 << 53, 1 << 54, 100_000_000_000_000_000, 1 << 62, MAX_MARK - 16];
    for (edge, worker) in edges.into_iter().zip(0_u64..) {
        let key = Key::slot(10, worker);
        let mut mark_before = 0;
        for start in edge - 3..edge + 5 {
            let request = Reserve { floor: start, max_mark: start, ..ask(&key, 1) };
            let expected = Range { start, end: start + 1, previous_mark: mark_before };
            equal(got(&*ledger, &request), expected, RULE);
            equal(got(&*other, &request), expected, RULE);
            equal(mark(&*other, &key), Some(start + 1), RULE);
            let refused = Reserve { max_mark: start, ..ask(&key, 1) };
            equal(done(other.reserve(&refused)), Reply::Refused { mark: start + 1, note: None }, RULE);
            mark_before = start + 1;
        }
        let whole = ask(&key, 9);
        equal(got(&*ledger, &whole).end, mark_before + 9, RULE);
        equal(done(other.give_back(&key, whole.token, mark_before + 10)), false, RULE);
        equal(done(other.give_back(&key, whole.token, mark_before + 2)), true, RULE);
        equal(mark(&*ledger, &key), Some(mark_before + 2), RULE);
        equal(done(ledger.raise(&key, mark_before + 3)), mark_before + 2, RULE);
        equal(mark(&*other, &key), Some(mark_before + 3), RULE);
    }
}

pub(super) fn overflow_writes_nothing(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a range past 2^63 - 1 is an Overflow that names the mark, and nothing is written";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::slot(10, 0);
    let too_much = [
        (0, MAX_MARK + 1),
        (0, u64::MAX),
        (1, MAX_MARK),
        (MAX_MARK, 1),
        (MAX_MARK + 1, 1),
        (u64::MAX, 1),
        (u64::MAX, u64::MAX),
    ];
    for (floor, count) in too_much {
        let error = ledger.reserve(&Reserve { floor, ..ask(&key, count) });
        equal(error, Err(LedgerError::Overflow { key: key.clone(), mark: 0 }), RULE);
        equal(record(&*ledger, &key), None, "an Overflow makes no record");
    }
    let first = Reserve { note: Some("host a".to_owned()), ..ask(&key, 100) };
    let range = got(&*ledger, &first);
    let before = record(&*ledger, &key);
    for (floor, count) in too_much.into_iter().chain([(0, MAX_MARK - 99), (101, MAX_MARK - 100)]) {
        let request = Reserve { floor, note: Some("host b".to_owned()), ..ask(&key, count) };
        equal(ledger.reserve(&request), Err(LedgerError::Overflow { key: key.clone(), mark: 100 }), RULE);
        equal(record(&*ledger, &key), before.clone(), RULE);
        equal(got(&*ledger, &first), range, "an Overflow leaves the record's token");
    }
    let last = ask(&key, MAX_MARK - 100);
    equal(
        got(&*ledger, &last),
        Range { start: 100, end: MAX_MARK, previous_mark: 100 },
        "the last position is 2^63 - 2, and it can be reserved",
    );
    let error = ledger.reserve(&ask(&key, 1));
    equal(error, Err(LedgerError::Overflow { key: key.clone(), mark: MAX_MARK }), RULE);
    equal(
        done(ledger.reserve(&Reserve { max_mark: 5, ..ask(&key, 1) })),
        Reply::Refused { mark: MAX_MARK, note: Some("host a".to_owned()) },
        "max_mark is checked before the room",
    );
    equal(got(&*ledger, &last).end, MAX_MARK, "an Overflow leaves the record's token");
}

pub(super) fn edges_of_count(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a range holds exactly count positions";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::name(&name("orders"));
    for (count, start) in [(1, 0), (1, 1), (2, 2), (1 << 40, 4)] {
        let expected = Range { start, end: start + count, previous_mark: start };
        equal(got(&*ledger, &ask(&key, count)), expected, RULE);
    }
    let mark = (1 << 40) + 4;
    let none = ask(&key, 0);
    let empty = Range { start: mark, end: mark, previous_mark: mark };
    equal(got(&*ledger, &none), empty, "a count of 0 gets an empty range");
    let all = Key::name(&name("all"));
    equal(
        got(&*ledger, &ask(&all, MAX_MARK)),
        Range { start: 0, end: MAX_MARK, previous_mark: 0 },
        "the largest count is 2^63 - 1",
    );
}

pub(super) fn missing_without_create(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "without create, a record that is not there is Missing, and none is made";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::name(&name("orders"));
    for request in [
        Reserve { create: false, ..ask(&key, 10) },
        Reserve { create: false, floor: u64::MAX, ..ask(&key, 10) },
        Reserve { create: false, max_mark: 0, note: Some("host a".to_owned()), ..ask(&key, 10) },
    ] {
        equal(ledger.reserve(&request), Err(LedgerError::Missing(key.clone())), RULE);
        equal(done(realm.connect().list("", "", usize::MAX)), Vec::new(), RULE);
    }
    equal(
        done(ledger.give_back(&key, token(), 0)),
        false,
        "a give_back to a record that is not there does nothing",
    );
    equal(done(ledger.list("", "", usize::MAX)), Vec::new(), RULE);
    got(&*ledger, &ask(&key, 10));
    equal(
        got(&*ledger, &Reserve { create: false, ..ask(&key, 10) }),
        Range { start: 10, end: 20, previous_mark: 10 },
        "without create, a record that is there serves",
    );
}

pub(super) fn deleted_slots_stay_missing(connect: &dyn Fn() -> Box<dyn Ledger>, delete: &dyn Fn(&Key)) {
    const RULE: &str = "a slot's record that was made and then deleted is Missing, and is not made again";
    let (ledger, other) = (connect(), connect());
    let [deleted, kept] = [7, 8].map(|worker| Key::slot(10, worker));
    // The holder has asked twice: its token is not the one that made the record.
    for key in [&deleted, &kept, &deleted, &kept] {
        got(&*ledger, &ask(key, 10));
    }
    let held = ask(&deleted, 10);
    got(&*ledger, &held);
    delete(&deleted);
    let missing = || Err(LedgerError::Missing(deleted.clone()));
    let asked = ask(&deleted, 10);
    for ledger in [&other, &ledger, &connect()] {
        equal(ledger.reserve(&asked), missing(), RULE);
        equal(ledger.reserve(&held), missing(), "the same token finds no record either");
        equal(ledger.reserve(&Reserve { max_mark: 0, ..ask(&deleted, 10) }), missing(), RULE);
        equal(ledger.reserve(&Reserve { create: false, ..ask(&deleted, 10) }), missing(), RULE);
        equal(ledger.raise(&deleted, 5), Err(LedgerError::Missing(deleted.clone())), RULE);
        equal(done(ledger.give_back(&deleted, held.token, 20)), false, RULE);
        equal(mark(&**ledger, &deleted), None, RULE);
    }
    equal(
        got(&*other, &ask(&kept, 10)),
        Range { start: 20, end: 30, previous_mark: 20 },
        "the slots beside it are not touched",
    );
    got(&*other, &ask(&Key::slot(10, 9), 10));
}

pub(super) fn deleted_beginnings_stay_missing(connect: &dyn Fn() -> Box<dyn Ledger>, delete: &dyn Fn(&Key)) {
    const RULE: &str =
        "the record of a name that was begun and then deleted is Missing, and is not made again";
    let (ledger, other, begun) = (connect(), connect(), name("begun"));
    let key = Key::name(&begun);
    equal(begin(&*ledger, &begun, 1_000, token()), Ok(Beginning::Here), "a name begins once");
    equal(mark(&*other, &key), Some(1_000), "a name begins at the position that was asked for");
    delete(&key);
    for ledger in [&other, &ledger, &connect()] {
        equal(begin(&**ledger, &begun, 1_000, token()), Err(LedgerError::Missing(key.clone())), RULE);
        equal(mark(&**ledger, &key), None, RULE);
    }
}

/// An answer with fewer records than were asked for is taken for the last one, also by whoever makes a backup.
pub(super) fn deleted_records_hide_no_others(connect: &dyn Fn() -> Box<dyn Ledger>, delete: &dyn Fn(&Key)) {
    const RULE: &str =
        "a record that was deleted is not listed, and those behind it are, as many as asked for";
    let ledger = connect();
    let names = ["hidden-1", "hidden-2", "hidden-3"].map(name);
    for name in &names {
        done(ledger.bind(name, "a counter", true));
    }
    let keys = names.each_ref().map(Key::name);
    delete(&keys[0]);
    for limit in 1..=2 {
        let found = done(ledger.list("n/hidden-", "", limit)).into_iter().map(|record| record.key);
        let kept: Vec<_> = keys[1..=limit].iter().map(|key| key.as_str().to_owned()).collect();
        equal(found.collect::<Vec<_>>(), kept, RULE);
    }
}
