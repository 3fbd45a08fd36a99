//! Cases about `give_back` and `raise`.

use super::{Range, Realm, ask, done, equal, got, hold, mark, name, record, together, token};
use crate::ledger::{Key, LedgerError, MAX_MARK, Reserve};

pub(super) fn only_the_token_and_only_within_bounds(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "give_back applies only with the record's token and start <= from <= mark";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let key = Key::slot(10, 1);
    got(&*ledger, &ask(&key, 100));
    let request = Reserve { floor: 500, note: Some("host a".to_owned()), ..ask(&key, 100) };
    let range = got(&*ledger, &request);
    let before = record(&*ledger, &key);
    let refused = [
        (token(), 550),
        (request.token, 499),
        (request.token, 100),
        (request.token, 0),
        (request.token, 601),
        (request.token, MAX_MARK),
        (request.token, u64::MAX),
    ];
    for (with, from) in refused {
        equal(done(other.give_back(&key, with, from)), false, RULE);
        equal(record(&*other, &key), before.clone(), "a give_back that does not apply writes nothing");
        equal(got(&*other, &request), range, "a give_back that does not apply leaves the token");
    }
    equal(
        done(ledger.give_back(&Key::slot(10, 11), request.token, 550)),
        false,
        "a token is valid for its own key only",
    );
    equal(done(other.give_back(&key, request.token, 550)), true, RULE);
    let after = record(&*ledger, &key);
    equal(after.as_ref().map(|record| record.mark), Some(550), "give_back sets the mark to from");
    equal(after.and_then(|record| record.note), Some("host a".to_owned()), "give_back keeps the note");
    equal(
        got(&*ledger, &ask(&key, 10)),
        Range { start: 550, end: 560, previous_mark: 550 },
        "what was given back is reserved next",
    );
    for (from, worker) in [(500, 2), (501, 3), (599, 4), (600, 5)] {
        let key = Key::slot(10, worker);
        let request = Reserve { floor: 500, ..ask(&key, 100) };
        got(&*ledger, &request);
        equal(done(ledger.give_back(&key, request.token, from)), true, RULE);
        equal(mark(&*ledger, &key), Some(from), "give_back sets the mark to from");
    }
}

pub(super) fn clears_the_token(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "give_back clears the token";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::name(&name("orders"));
    let request = ask(&key, 100);
    got(&*ledger, &request);
    equal(done(ledger.give_back(&key, request.token, 60)), true, "give_back applies with the token");
    for from in [60, 50, 0] {
        equal(done(ledger.give_back(&key, request.token, from)), false, RULE);
        equal(mark(&*ledger, &key), Some(60), RULE);
    }
    equal(
        got(&*ledger, &request),
        Range { start: 60, end: 160, previous_mark: 60 },
        "a late retry of a reservation that was given back gets a new range",
    );
    let whole = ask(&key, 5);
    got(&*ledger, &whole);
    equal(done(ledger.give_back(&key, whole.token, 165)), true, "an empty range can be given back");
    equal(done(ledger.give_back(&key, whole.token, 165)), false, RULE);
}

pub(super) fn late_retry_does_nothing(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a late retry of give_back does nothing once somebody else has reserved";
    let realm = fresh();
    let (a, b, c) = (realm.connect(), realm.connect(), realm.connect());
    let key = Key::slot(10, 77);
    let of_a = ask(&key, 100);
    equal(got(&*a, &of_a).end, 100, "end = start + count");
    // A gives back, the reply is lost, B reserves, and then A's retry arrives.
    equal(done(a.give_back(&key, of_a.token, 20)), true, "give_back applies with the token");
    let of_b = ask(&key, 100);
    let range_b = got(&*b, &of_b);
    equal(range_b, Range { start: 20, end: 120, previous_mark: 20 }, "what was given back is reserved next");
    let before = record(&*c, &key);
    for from in [20, 50, 100, 120] {
        equal(done(a.give_back(&key, of_a.token, from)), false, RULE);
        equal(record(&*c, &key), before.clone(), RULE);
    }
    equal(got(&*b, &of_b), range_b, RULE);
    let range_c = got(&*c, &ask(&key, 100));
    hold(range_c.start >= range_b.end, "ranges of one key are disjoint (I2)", &(range_b, range_c));
    equal(done(b.give_back(&key, of_b.token, 30)), false, RULE);
    equal(mark(&*c, &key), Some(220), RULE);
}

pub(super) fn races_with_a_reserve(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "concurrent calls happen one after the other, and give_back applies at most once";
    const ROUNDS: usize = 10;
    const GIVING: usize = 4;
    const RESERVING: usize = 2;
    let realm = fresh();
    let connections: Vec<_> = (0..GIVING + RESERVING).map(|_| realm.connect()).collect();
    let key = Key::slot(10, 8);
    for round in 0..ROUNDS {
        let of_a = ask(&key, 100);
        let range_a = got(&*connections[0], &of_a);
        let replies = together(connections.len(), |caller| {
            let ledger = &*connections[caller];
            // Every second round all give back at once: a reserve that happens to come first spoils the race.
            if caller < GIVING || round % 2 == 0 {
                let from = range_a.start + 40 + caller as u64;
                (done(ledger.give_back(&key, of_a.token, from)).then_some(from), None)
            } else {
                (None, Some(got(ledger, &ask(&key, 7))))
            }
        });
        let given: Vec<u64> = replies.iter().filter_map(|&(given, _)| given).collect();
        hold(given.len() <= 1, RULE, &given);
        let mut ranges: Vec<Range> = replies.iter().filter_map(|&(_, range)| range).collect();
        ranges.sort_by_key(|range| range.start);
        let mut start = given.first().copied().unwrap_or(range_a.end);
        for range in ranges {
            equal(range, Range { start, end: start + 7, previous_mark: start }, RULE);
            start = range.end;
        }
        equal(mark(&*connections[0], &key), Some(start), RULE);
    }
}

pub(super) fn raise_moves_up_only(fresh: &dyn Fn() -> Realm) {
    const RULE: &str =
        "raise moves a mark up to at least what is asked, never down, and returns the mark before";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let key = Key::name(&name("orders"));
    equal(ledger.raise(&key, 5), Err(LedgerError::Missing(key.clone())), "raise makes no record");
    equal(done(ledger.list("", "", usize::MAX)), Vec::new(), "raise makes no record");
    let request = Reserve { note: Some("host a".to_owned()), ..ask(&key, 100) };
    let range = got(&*ledger, &request);
    for at_least in [0, 1, 99, 100] {
        equal(done(other.raise(&key, at_least)), 100, RULE);
        equal(mark(&*ledger, &key), Some(100), RULE);
        equal(got(&*ledger, &request), range, "a raise that moves nothing leaves the token");
    }
    for at_least in [MAX_MARK + 1, u64::MAX] {
        equal(
            other.raise(&key, at_least),
            Err(LedgerError::Overflow { key: key.clone(), mark: 100 }),
            "raise above 2^63 - 1 is an Overflow",
        );
        equal(got(&*ledger, &request), range, "an Overflow writes nothing");
    }
    equal(done(other.raise(&key, 101)), 100, RULE);
    equal(done(other.raise(&key, 5_000)), 101, RULE);
    equal(
        record(&*ledger, &key).and_then(|record| record.note),
        Some("host a".to_owned()),
        "raise keeps the note",
    );
    equal(
        got(&*ledger, &ask(&key, 1)),
        Range { start: 5_000, end: 5_001, previous_mark: 5_000 },
        "a reserve after a raise begins at the raised mark",
    );
    equal(done(other.raise(&key, MAX_MARK)), 5_001, RULE);
    equal(mark(&*ledger, &key), Some(MAX_MARK), RULE);
}

pub(super) fn raise_clears_the_token(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "raise clears the token when it moves the mark";
    let realm = fresh();
    let ledger = realm.connect();
    let key = Key::name(&name("orders"));
    let request = ask(&key, 100);
    got(&*ledger, &request);
    equal(done(ledger.raise(&key, 1_000)), 100, "raise returns the mark before");
    for from in [0, 50, 100, 1_000] {
        equal(done(ledger.give_back(&key, request.token, from)), false, RULE);
        equal(mark(&*ledger, &key), Some(1_000), RULE);
    }
    equal(got(&*ledger, &request), Range { start: 1_000, end: 1_100, previous_mark: 1_000 }, RULE);
}
