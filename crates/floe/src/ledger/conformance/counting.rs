//! What a counter's ranges have to do: keep the order of the calls, and the bounds of the day.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Range, Realm, ask, done, equal, got, hold, mark, name, refused_without_reason, together};
use crate::ledger::{Key, Ledger, LedgerError, Reply, Reserve};

/// A fresh request of a counter.
fn wanted(key: &Key, count: u64) -> Reserve {
    Reserve { create: false, ..ask(key, count) }
}

#[track_caller]
fn counted(ledger: &dyn Ledger, request: &Reserve) -> Range {
    // Both ways of asking, in any order.
    let at_once = request.token.as_bytes()[0].is_multiple_of(2);
    let reply = if at_once { ledger.count_at_once(request) } else { None };
    match reply.unwrap_or_else(|| done(ledger.count(request))) {
        Reply::Got { start, end, previous_mark } => Range { start, end, previous_mark },
        refused @ Reply::Refused { .. } => refused_without_reason(request, &refused),
    }
}

pub(super) fn counts_follow_the_order_of_calls(fresh: &dyn Fn() -> Realm) {
    let realm = fresh();
    let visits = name("visits");
    done(realm.connect().bind(&visits, "a counter", true));
    let (key, returned) = (Key::name(&visits), AtomicU64::new(0));
    let ranges = together(6, |caller| {
        let ledger = realm.connect();
        (0..40)
            .map(|call| {
                let before = returned.load(Ordering::SeqCst);
                let range = counted(&*ledger, &wanted(&key, 1 + (call + caller as u64) % 5));
                returned.fetch_max(range.end, Ordering::SeqCst);
                hold(
                    range.start >= before,
                    "a count that begins after another has returned gets larger numbers",
                    &(before, range),
                );
                range
            })
            .collect::<Vec<_>>()
    });
    let mut ranges: Vec<_> = ranges.into_iter().flatten().collect();
    ranges.sort_by_key(|range| range.start);
    let mut end = 0;
    for range in ranges {
        equal((range.start, range.previous_mark), (end, end), "counts are disjoint (I2), and skip nothing");
        end = range.end;
    }
}

pub(super) fn counts_keep_their_bounds(fresh: &dyn Fn() -> Realm) {
    let realm = fresh();
    let (ledger, invoice) = (realm.connect(), name("invoice"));
    let key = Key::name(&invoice);
    equal(
        ledger.count(&wanted(&key, 1)),
        Err(LedgerError::Missing(key.clone())),
        "a count makes no record, so a missing one was deleted",
    );
    done(ledger.bind(&invoice, "a dated name", true));
    let day = |count| Reserve { floor: 1_000, max_mark: 1_100 - count, ..wanted(&key, count) };
    for n in 0..33 {
        let range = counted(&*ledger, &day(3));
        equal(
            (range.start, range.end),
            (1_000 + 3 * n, 1_003 + 3 * n),
            "a count begins at its floor, or where the last one ended",
        );
    }
    equal(
        done(ledger.count(&day(3))),
        Reply::Refused { mark: 1_099, note: None },
        "a count past max_mark is refused with the end of the last one",
    );
    equal(counted(&*ledger, &day(1)).end, 1_100, "the last number of a day is handed out");
    equal(mark(&*ledger, &key), Some(1_100), "the mark is not ahead of the last number that a caller got");
    let next = counted(&*ledger, &wanted(&key, 2));
    equal((next.start, next.previous_mark), (1_100, 1_100), "a count knows the end of the last one");
    done(ledger.raise(&key, 1_105));
    equal(counted(&*ledger, &wanted(&key, 1)).start, 1_105, "a raised mark is where the next count begins");
    done(ledger.raise(&key, 1));
    equal(
        counted(&*ledger, &wanted(&key, 1)).start,
        1_106,
        "a raise to less than what was counted changes no count",
    );
    let beyond = mark(&*ledger, &key).unwrap_or_default() + 9;
    done(ledger.raise(&key, beyond));
    equal(
        counted(&*ledger, &wanted(&key, 1)).start,
        beyond,
        "a mark that was raised past everything reserved ahead is where the next count begins",
    );
    for further in [3, 2_000] {
        let floor = counted(&*ledger, &wanted(&key, 1)).end + further;
        equal(
            counted(&*ledger, &Reserve { floor, ..wanted(&key, 1) }).start,
            floor,
            "a count begins at its floor, whether or not that lies in what was reserved ahead",
        );
    }
    let last = counted(&*ledger, &wanted(&key, 1)).end;
    equal(
        done(ledger.count(&Reserve { max_mark: last - 1, ..wanted(&key, 1) })),
        Reply::Refused { mark: last, note: None },
        "a mark above max_mark is refused, even if the ledger has reserved ahead for other calls",
    );
    // More counts than a ledger may reserve ahead, with reservations before, between and after them.
    let mut ranges = Vec::new();
    for call in 0..90 {
        ranges.push(counted(&*ledger, &wanted(&key, 5)));
        if call % 40 == 0 {
            ranges.push(got(&*ledger, &wanted(&key, 10)));
        }
    }
    ranges.sort_by_key(|range| range.start);
    let mut end = last;
    for range in ranges {
        hold(range.start >= end, "reservations and counts of one key are disjoint (I2)", &(range, end));
        end = range.end;
    }
}
