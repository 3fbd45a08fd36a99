//! The requests of a cache to the ledger behind it. Pure.

use floe::ledger::{Key, Reserve};

use super::store::Short;

/// One reservation takes this many requests' worth of a segment.
const REQUESTS: u64 = 4;

/// How much to request from the ledger behind at once, for requests of this size. For a slot: time for as long as the
/// cache should last, and at least two windows, because one may be in use. For a segment: a few times the numbers.
pub(super) fn portion(key: &Key, count: u64, window_ms: u64) -> u64 {
    match is_slot(key) {
        true => window_ms.max(count.saturating_mul(2)),
        false => count.saturating_mul(REQUESTS).max(1),
    }
}

/// The requests for a `request` that the held range cannot serve: first for a portion, then for exactly what is needed.
pub(super) fn for_request(request: &Reserve, short: &Short, window_ms: u64) -> [Reserve; 2] {
    let start = short.from.max(request.floor);
    let end = start.saturating_add(request.count);
    // If a range begins in the held one, it ends in the range that continues that one, if the cache can get it.
    let needed = if start <= short.end { end.saturating_sub(short.end) } else { request.count };
    let exact = Reserve {
        key: request.key.clone(),
        // Never below the last held end, whatever the ledger behind remembers.
        floor: request.floor.max(short.end),
        count: needed,
        // A caller with a lower limit sees the end of the held range here in any case.
        max_mark: request.max_mark.max(short.end),
        token: short.token.unwrap_or(request.token),
        create: request.create,
        note: request.note.clone().or_else(|| short.note.clone()),
    };
    let count = portion(&request.key, request.count, window_ms);
    let more = if is_slot(&request.key) {
        Reserve { count: count.max(needed), ..exact.clone() }
    } else {
        // The caller's last number must lie below this, so the portion's must too.
        let limit = request.max_mark.saturating_add(request.count);
        within(&exact, count, limit).filter(|portion| portion.count > needed).unwrap_or_else(|| exact.clone())
    };
    [more, exact]
}

/// The request that adds to the held ranges of a key. For a slot: the time that follows, or nothing. For a segment: the
/// next numbers, all below `limit`.
pub(super) fn to_add(key: &Key, short: &Short, count: u64, limit: u64) -> Option<Reserve> {
    let next = Reserve {
        key: key.clone(),
        floor: short.end,
        count,
        max_mark: short.end,
        token: short.token?,
        create: false,
        note: short.note.clone(),
    };
    if is_slot(key) { Some(next) } else { within(&next, count, limit) }
}

/// The request for up to `count` positions, all below `limit`.
fn within(request: &Reserve, count: u64, limit: u64) -> Option<Reserve> {
    let count = count.min(limit.saturating_sub(request.floor));
    (count > 0).then(|| Reserve { count, max_mark: limit - count, ..request.clone() })
}

fn is_slot(key: &Key) -> bool {
    key.as_str().starts_with(Key::SLOTS)
}

#[cfg(test)]
mod tests {
    use floe::Name;
    use floe::ledger::Token;

    use super::*;

    const WINDOW: u64 = 3_600_000;

    fn slot() -> Key {
        Key::slot(10, 7)
    }

    fn segment() -> Key {
        Key::name(&Name::new("orders").unwrap())
    }

    fn token(byte: u8) -> Token {
        Token::from_bytes([byte; 16]).unwrap()
    }

    /// 100 positions from 0 on, if the mark is at most 10,000.
    fn request(key: Key) -> Reserve {
        Reserve { key, floor: 0, count: 100, max_mark: 10_000, token: token(1), create: true, note: None }
    }

    /// 50 are held, from 350 to 400.
    fn held() -> Short {
        Short { from: 350, end: 400, token: Some(token(2)), note: Some("held".to_owned()) }
    }

    #[test]
    fn a_portion_is_a_window_of_the_cache_two_of_a_node_or_four_requests() {
        for (count, expected) in [(30_000, WINDOW), (1_800_000, WINDOW), (1_800_001, 3_600_002)] {
            assert_eq!(portion(&slot(), count, WINDOW), expected);
        }
        for (count, expected) in [(0, 1), (1, 4), (100, 400)] {
            assert_eq!(portion(&segment(), count, WINDOW), expected);
        }
    }

    #[test]
    fn what_begins_in_a_range_that_is_held_ends_in_one_that_continues_it() {
        for key in [slot(), segment()] {
            for (floor, count) in
                [(0, 50), (320, 50), (360, 60), (399, 99), (400, 100), (401, 100), (500, 100)]
            {
                let [_, exact] = for_request(&Reserve { floor, ..request(key.clone()) }, &held(), WINDOW);
                // Never below the last held end, whatever the ledger behind remembers.
                assert_eq!((exact.floor, exact.count), (floor.max(400), count), "{key} from {floor}");
                assert_eq!((exact.max_mark, exact.token), (10_000, token(2)));
            }
        }
    }

    #[test]
    fn a_caller_may_not_see_a_mark_that_is_held_here_and_the_ledger_behind_shows_it() {
        let low = Reserve { max_mark: 360, ..request(slot()) };
        let [more, exact] = for_request(&low, &held(), WINDOW);
        assert_eq!((more.max_mark, exact.max_mark), (400, 400));
    }

    #[test]
    fn the_owner_note_is_the_callers_or_else_the_one_that_is_held() {
        for note in [None, Some("caller".to_owned())] {
            let expected = note.clone().or(Some("held".to_owned()));
            let [more, exact] = for_request(&Reserve { note, ..request(slot()) }, &held(), WINDOW);
            assert_eq!([more.note, exact.note], [expected.clone(), expected]);
        }
    }

    #[test]
    fn more_than_is_needed_is_asked_for_first() {
        let [more, exact] = for_request(&request(slot()), &held(), WINDOW);
        assert_eq!(more, Reserve { count: WINDOW, ..exact });
        let long = Reserve { floor: 500, count: 2 * WINDOW, ..request(slot()) };
        let [more, exact] = for_request(&long, &held(), WINDOW);
        assert_eq!((more.count, exact.count), (4 * WINDOW, 2 * WINDOW));
        let [more, exact] = for_request(&request(segment()), &held(), WINDOW);
        assert_eq!(more, Reserve { count: 400, max_mark: 9_700, ..exact });
    }

    #[test]
    fn no_number_of_a_portion_lies_past_the_last_one_of_its_caller() {
        // The caller may have at most 450: that is 50 more.
        for (max_mark, count) in [(9_999, 400), (700, 400), (600, 300), (351, 51)] {
            let [more, exact] = for_request(&Reserve { max_mark, ..request(segment()) }, &held(), WINDOW);
            assert_eq!((exact.count, exact.max_mark), (50, max_mark.max(400)));
            assert_eq!((more.count, more.max_mark), (count, max_mark + 100 - count), "{max_mark}");
        }
        let last = Reserve { max_mark: 350, ..request(segment()) };
        let [more, exact] = for_request(&last, &held(), WINDOW);
        assert_eq!(more, exact, "a portion of 50 is what is needed");
    }

    #[test]
    fn no_portion_is_asked_for_where_its_caller_may_see_no_mark_at_its_floor() {
        // A portion below 550 could be had where others have come up to 500, and its caller may not see that.
        let late = Reserve { floor: 500, max_mark: 450, ..request(segment()) };
        let [more, exact] = for_request(&late, &held(), WINDOW);
        assert_eq!((exact.floor, exact.count, exact.max_mark), (500, 100, 450));
        assert_eq!(more, exact);
    }

    #[test]
    fn what_is_added_follows_what_is_held_or_is_below_its_limit() {
        let added = to_add(&slot(), &held(), WINDOW, 0).unwrap();
        assert_eq!(
            (added.floor, added.count, added.max_mark),
            (400, WINDOW, 400),
            "a slot's time has no gap"
        );
        assert_eq!((added.create, added.token, added.note.as_deref()), (false, token(2), Some("held")));
        for (limit, expected) in [(1_000, Some((400, 600))), (600, Some((200, 400))), (401, Some((1, 400)))] {
            let added = to_add(&segment(), &held(), 400, limit).map(|added| (added.count, added.max_mark));
            assert_eq!(added, expected, "below {limit}");
        }
        assert_eq!(to_add(&segment(), &held(), 400, 400), None);
        assert_eq!(to_add(&slot(), &Short { token: None, ..held() }, WINDOW, 0), None);
    }
}
