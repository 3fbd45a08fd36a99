//! Segments: a few requests ahead, with others' ranges in between.

use std::sync::{Arc, mpsc};

use floe::Name;
use floe::ledger::{self, Beginning, Key, Ledger, LedgerError, MAX_MARK, Reply, Reserve, Token};
use tempfile::TempDir;

use super::{Behind, bind, numbers, open, until};
use crate::{got, says};

fn left_behind(behind: &Behind) -> u64 {
    behind.store.list("n/orders", "", 1).unwrap()[0].mark
}

/// Waits until zebras, of which 400 were reserved, are added to twice. Keys take turns, so any other key that waits for a
/// refill has had its turn by then.
fn zebras_twice(cache: &dyn Ledger, behind: &Behind) {
    let zebras = || behind.store.list("n/zebras", "", 1).unwrap()[0].mark;
    until("more zebras", || zebras() > 400);
    got(cache, &numbers("zebras", 400));
    until("more zebras again", || zebras() > 800);
}

#[test]
fn four_requests_are_reserved_at_once_and_more_before_they_run_out() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    assert_eq!(got(&cache, &numbers("orders", 100)), (0, 100));
    assert_eq!(left_behind(&behind), 400);
    assert_eq!(got(&cache, &numbers("orders", 100)), (100, 200));
    assert_eq!(left_behind(&behind), 400);
    assert_eq!(got(&cache, &numbers("orders", 100)), (200, 300));
    until("more numbers", || left_behind(&behind) == 800);
}

#[test]
fn every_segment_is_held_whatever_its_numbers_look_like() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let segments = [
        ("orders", "segment increment=1 offset=1"),
        ("shifted", "segment increment=2 offset=0"),
        ("short", "segment increment=1 offset=1 form base62"),
    ];
    for (name, text) in segments {
        assert_eq!(cache.bind(&Name::new(name).unwrap(), text, true).as_deref(), Ok(text));
        assert_eq!(got(&cache, &numbers(name, 100)), (0, 100));
    }
    behind.cut();
    for (name, _) in segments {
        assert_eq!(got(&cache, &numbers(name, 100)), (100, 200));
    }
}

#[test]
fn numbers_that_others_reserved_are_stepped_over_and_none_of_ours_is_wasted() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let mut ours = Vec::new();
    let mut next = || ours.push(got(&cache, &numbers("orders", 100)));
    next();
    assert_eq!(got(&behind.store, &numbers("orders", 100)), (400, 500));
    (0..2).for_each(|_| next());
    until("more numbers", || left_behind(&behind) == 900);
    (0..3).for_each(|_| next());
    assert_eq!(ours, [(0, 100), (100, 200), (200, 300), (300, 400), (500, 600), (600, 700)]);
    // The mark before is the ledger behind's: others reserved in between.
    behind.cut();
    let ahead = Reserve { floor: 750, ..numbers("orders", 100) };
    assert_eq!(cache.reserve(&ahead), Ok(Reply::Got { start: 750, end: 850, previous_mark: 700 }));
}

#[test]
fn a_request_larger_than_what_is_held_skips_it() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    got(&cache, &numbers("orders", 10));
    got(&behind.store, &numbers("orders", 10));
    // 30 are left here, and 1,000 cannot follow them.
    let reply = cache.reserve(&numbers("orders", 1_000)).unwrap();
    assert_eq!(reply, Reply::Got { start: 50, end: 1_050, previous_mark: 50 });
    // They can if no other caller is in between.
    got(&cache, &numbers("orders", 2_000));
    until("more numbers", || left_behind(&behind) > 4_050);
    let end = left_behind(&behind);
    let large = end - 3_050 + 1;
    assert_eq!(got(&cache, &numbers("orders", large)), (3_050, end + 1));
}

#[test]
fn the_last_numbers_of_a_segment_are_not_lost_to_the_portion() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let limit = 1_000;
    let mut start = 0;
    for count in [300, 300, 300, 100] {
        let request = Reserve { max_mark: limit - count, ..numbers("orders", count) };
        assert_eq!(got(&cache, &request), (start, start + count));
        assert!(left_behind(&behind) <= limit, "{}", left_behind(&behind));
        start += count;
    }
    let request = Reserve { max_mark: limit - 1, ..numbers("orders", 1) };
    assert_eq!(cache.reserve(&request), Ok(Reply::Refused { mark: limit, note: None }));
}

#[test]
fn what_is_left_of_a_segment_is_added_although_it_is_less_than_a_portion() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    for start in [0, 200, 400] {
        let request = Reserve { max_mark: 1_000 - 200, ..numbers("orders", 200) };
        assert_eq!(got(&cache, &request), (start, start + 200));
    }
    until("the last numbers", || left_behind(&behind) == 1_000);
}

#[test]
fn what_is_left_up_to_the_last_position_is_added_also_for_a_caller_without_a_bound() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let first = MAX_MARK - 1_000;
    for start in [first, first + 200, first + 400] {
        let request = Reserve { floor: first, max_mark: u64::MAX, ..numbers("orders", 200) };
        assert_eq!(got(&cache, &request), (start, start + 200));
    }
    until("the last numbers", || left_behind(&behind) == MAX_MARK);
}

#[test]
fn the_only_number_of_a_segment_can_be_had() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let only = || Reserve { max_mark: 0, ..numbers("orders", 1) };
    assert_eq!(got(&cache, &only()), (0, 1));
    assert_eq!(cache.reserve(&only()), Ok(Reply::Refused { mark: 1, note: None }));
}

#[test]
fn a_raise_drops_what_lies_below_it() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let request = numbers("orders", 100);
    got(&cache, &request);
    assert_eq!(cache.raise(&request.key, 250), Ok(100));
    assert_eq!(got(&cache, &numbers("orders", 100)), (250, 350));
    assert_eq!(cache.raise(&request.key, 5_000), Ok(350));
    assert_eq!(got(&cache, &numbers("orders", 100)), (5_000, 5_100));
    assert_eq!(cache.list("n/", "", 1).unwrap()[0].mark, 5_100);
}

#[test]
fn a_segment_begins_where_it_is_told_once_and_goes_on_without_the_ledger() {
    // The request of `Floe::begin_at`.
    let begin = |at: u64| Reserve { floor: at, max_mark: 0, ..numbers("orders", 0) };
    let (dir, other, behind) = (TempDir::new().unwrap(), TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    // An empty range leaves nothing to hold here, so either reply is right.
    cache.reserve(&begin(1_000)).unwrap();
    assert_eq!(left_behind(&behind), 1_000);
    assert_eq!(got(&cache, &numbers("orders", 100)), (1_000, 1_100));
    // Nobody begins it again, here or elsewhere, even if only this directory can be asked.
    let second = open(other.path(), &behind);
    bind(&second, "orders");
    let refused = |reply| matches!(reply, Ok(Reply::Refused { .. }));
    for at in [0, 2_000] {
        assert!(refused(second.reserve(&begin(at))), "{at}");
    }
    drop(cache);
    behind.cut();
    let cache = open(dir.path(), &behind);
    assert!(refused(cache.reserve(&begin(2_000))));
    assert_eq!(got(&cache, &numbers("orders", 100)), (1_100, 1_200));
}

#[test]
fn a_new_segment_has_its_first_number_behind_the_cache_before_it_is_bound() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let name = Name::new("orders").unwrap();
    let begin = |at: u64| ledger::begin(&cache, &name, at, Token::random().unwrap());
    assert_eq!(begin(1_000), Ok(Beginning::Here));
    assert_eq!((left_behind(&behind), cache.definition(&name)), (1_000, Ok(None)));
    // If the process that began here ends, another one may begin with another number.
    assert_eq!(begin(2_000), Ok(Beginning::Unclaimed));
    bind(&cache, "orders");
    assert_eq!(begin(3_000), Ok(Beginning::Earlier { mark: 2_000 }));
    assert_eq!(got(&cache, &numbers("orders", 100)), (2_000, 2_100));
}

#[test]
fn what_the_ledger_behind_has_bound_is_remembered_and_not_what_was_asked_for() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    let name = Name::new("orders").unwrap();
    behind.store.bind(&name, "counter", true).unwrap();
    let segment = floe::Definition::SEGMENT.to_string();
    for gone in [false, true] {
        if gone {
            behind.cut();
        }
        assert_eq!(cache.bind(&name, &segment, true), Ok("counter".to_owned()));
        assert_eq!(cache.definition(&name), Ok(Some("counter".to_owned())));
    }
}

#[test]
fn a_tail_that_was_reserved_behind_goes_back_there_also_once_the_segment_is_known_here() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&behind.store, "orders");
    // The cache does not know the definition, so it passes the reservation on.
    let request = numbers("orders", 100);
    assert_eq!(got(&cache, &request), (0, 100));
    assert_eq!(left_behind(&behind), 100);
    bind(&cache, "orders");
    assert_eq!(cache.give_back(&request.key, request.token, 40), Ok(true));
    assert_eq!(left_behind(&behind), 40);
    assert_eq!(got(&cache, &numbers("orders", 100)), (40, 140));
}

#[test]
fn the_last_numbers_are_had_also_where_others_have_all_before_them() {
    for left in [100, 101] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let cache = open(dir.path(), &behind);
        bind(&cache, "orders");
        let before = 1_000 - left;
        assert_eq!(got(&behind.store, &numbers("orders", before)), (0, before));
        let request = Reserve { max_mark: 900, ..numbers("orders", 100) };
        assert_eq!(got(&cache, &request), (before, before + 100), "there is no room for a portion");
    }
}

/// What was held before theirs counts no more for the rest of the request.
#[test]
fn the_last_numbers_are_had_also_where_others_have_some_in_between() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let first = MAX_MARK - 1_000;
    let ask = |count| Reserve { floor: first, max_mark: u64::MAX, ..numbers("orders", count) };
    assert_eq!(got(&cache, &ask(100)), (first, first + 100));
    assert_eq!(got(&behind.store, &ask(50)), (first + 400, first + 450));
    assert_eq!(got(&cache, &ask(350)), (first + 450, first + 800), "there is no room for a portion");
}

/// Two processes share the directory, and only one of them reaches the ledger behind for a while.
#[test]
fn nothing_is_added_where_another_process_has_left_more_than_half() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let reaches = Behind { gone: Arc::default(), ..behind.clone() };
    let (cache, other) = (open(dir.path(), &behind), open(dir.path(), &reaches));
    for name in ["orders", "zebras"] {
        bind(&cache, name);
        bind(&other, name);
        got(&cache, &numbers(name, 100));
        got(&cache, &numbers(name, 100));
    }
    behind.cut();
    // 99 of 400 are left of either, and this process cannot add to them now.
    for name in ["orders", "zebras"] {
        assert_eq!(got(&cache, &numbers(name, 1)), (200, 201));
        assert_eq!(got(&cache, &numbers(name, 100)), (201, 301));
    }
    got(&other, &numbers("orders", 99));
    until("the other one's numbers", || left_behind(&behind) > 400);
    let end = left_behind(&behind);
    behind.heal();
    zebras_twice(&cache, &behind);
    assert_eq!(left_behind(&behind), end, "more than half of a portion is left");
}

#[test]
fn a_ledger_behind_that_went_back_or_is_unfit_is_found_out_while_there_is_enough() {
    let gave = |start, end, previous_mark| Ok(Reply::Got { start, end, previous_mark });
    // 400 is the last end held here.
    for (answer, part) in [
        (gave(400, 800, 399), "went backwards"),
        (gave(400, 800, 401), "it is not fit for use"),
        (gave(401, 400, 400), "it is not fit for use"),
        (gave(400, MAX_MARK + 1, 400), "it is not fit for use"),
        (Err(LedgerError::Unfit("it was replaced".to_owned())), "it was replaced"),
    ] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let cache = open(dir.path(), &behind);
        bind(&cache, "orders");
        got(&cache, &numbers("orders", 100));
        got(&cache, &numbers("orders", 100));
        *behind.answers.lock().unwrap() = Some(answer);
        got(&cache, &numbers("orders", 100));
        until("the end of it", || {
            let answer = cache.realm_id();
            matches!(answer, Err(LedgerError::Unfit(text)) if text.contains(part))
        });
        assert!(matches!(cache.reserve(&numbers("orders", 1)), Err(LedgerError::Unfit(_))), "100 are left");
    }
}

/// While the thread learns that others have the rest, a caller uses up what is held.
#[test]
fn a_segment_that_cannot_be_added_to_is_asked_for_once() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = Arc::new(open(dir.path(), &behind));
    for name in ["orders", "zebras"] {
        bind(&cache, name);
    }
    let orders = || Reserve { max_mark: 900, ..numbers("orders", 100) };
    got(&cache, &orders());
    assert_eq!(got(&behind.store, &numbers("orders", 550)), (400, 950));
    got(&cache, &orders());
    for _ in 0..2 {
        got(&cache, &numbers("zebras", 100));
    }
    let (to, from) = mpsc::channel();
    let (other, last) = (Arc::clone(&cache), orders());
    behind.meanwhile(Key::NAMES, move || to.send(got(&other, &last)).unwrap());
    assert_eq!(got(&cache, &orders()), (200, 300), "more is asked for now");
    assert_eq!(from.recv(), Ok((300, 400)), "and wished for again");
    got(&cache, &numbers("zebras", 100));
    zebras_twice(&cache, &behind);
    let asked = behind.reserves().iter().filter(|asked| asked.key == orders().key).count();
    assert_eq!(asked, 2, "for the first range, and for more");
}

/// Others reserve on the key as fast as the cache does, so that an answer may have nothing of use.
#[test]
fn a_request_asks_eight_times_at_most_and_the_last_answer_serves_it() {
    fn empty_answers(behind: &Behind, left: u64) {
        let empty = Reply::Got { start: 0, end: 0, previous_mark: 0 };
        *behind.answers.lock().unwrap() = (left > 0).then_some(Ok(empty));
        if let Some(left) = left.checked_sub(1) {
            let again = behind.clone();
            behind.meanwhile(Key::NAMES, move || empty_answers(&again, left));
        }
    }
    for empty in [7, 8] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let cache = open(dir.path(), &behind);
        bind(&cache, "orders");
        empty_answers(&behind, empty + 1);
        match cache.reserve(&numbers("orders", 100)) {
            Ok(reply) => {
                assert_eq!(
                    (reply, empty),
                    (Reply::Got { start: 2_800, end: 2_900, previous_mark: 2_800 }, 7)
                );
            }
            Err(LedgerError::Unavailable(text)) if empty == 8 => {
                says(&text, &["others reserve on", "orders", "try again"]);
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(behind.reserves().len(), 8);
    }
}

#[test]
fn an_owner_that_only_the_ledger_behind_knows_is_shown() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    let other = Some("another".to_owned());
    got(&behind.store, &Reserve { note: other.clone(), ..numbers("orders", 100) });
    got(&cache, &numbers("orders", 100));
    let listed = cache.list("n/", "", 1).unwrap();
    assert_eq!((listed[0].mark, &listed[0].note), (200, &other));
}
