//! What one thread sees of the cursor. What several threads see of one another is in `models`.

use super::*;
use crate::time::UnixMillis;

fn owned(current: Range<u64>) -> Owned {
    Owned { current, ..Owned::default() }
}

fn draw(cursor: &Cursor, count: u64, whole: bool, limit: u64) -> Draw {
    cursor.draw(0, count, whole, limit, |next| next)
}

/// Where a draw begins and how long it is, if it succeeded.
fn got(draw: Draw) -> Option<(u64, u64)> {
    match draw {
        Draw::Got(drawn) => Some((drawn.start, drawn.count)),
        Draw::Later(_) | Draw::NeedRange => None,
    }
}

/// A draw that was decided before the close may not succeed after the cursor is open again: so it opens past the value
/// that the close has swapped out, and not at it. The model is `nothing_past_the_closing_is_drawn_even_after_opening_again`.
#[test]
fn a_cursor_opens_past_where_it_was_closed_and_past_the_floor() {
    let cursor = Cursor::new(0);
    cursor.publish(&owned(0..20), 0);
    assert_eq!(got(draw(&cursor, 3, true, 20)), Some((0, 3)));
    assert_eq!((cursor.close(), cursor.floor()), (Some(3), 4));
    assert_eq!(cursor.close(), None);
    cursor.publish(&owned(0..20), 2);
    assert_eq!(got(draw(&cursor, 1, true, 20)), Some((4, 1)), "past what was swapped out");
    assert_eq!((cursor.close(), cursor.floor()), (Some(5), 6));
    cursor.publish(&owned(0..20), 9);
    assert_eq!(got(draw(&cursor, 1, true, 20)), Some((9, 1)), "and not below the floor that was asked for");
    // Nobody closed it: what was said of the floor is for cursors that open.
    cursor.publish(&owned(0..30), 15);
    assert_eq!(got(draw(&cursor, 1, true, 30)), Some((10, 1)));
}

#[test]
fn a_draw_takes_all_or_what_there_is_and_nothing_at_the_limit_or_past_the_range() {
    let cursor = Cursor::new(0);
    cursor.publish(&Owned { spare: 12..40, ..owned(0..10) }, 0);
    assert_eq!(draw(&cursor, 6, true, 5), Draw::Later(0), "all or none");
    assert_eq!(got(draw(&cursor, 6, false, 5)), Some((0, 5)));
    assert_eq!(draw(&cursor, 1, false, 5), Draw::Later(5));
    assert_eq!(got(draw(&cursor, 9, false, 40)), Some((5, 5)), "to the end of the range");
    assert_eq!(got(draw(&cursor, 1, true, 40)), Some((12, 1)), "and the gap is skipped");
    assert_eq!(draw(&cursor, 28, true, 40), Draw::NeedRange, "27 are left");
    assert_eq!(got(draw(&cursor, 27, true, 40)), Some((13, 27)));
}

/// By these the node knows when to reserve more: the spare counts, and the gap before it does not.
#[test]
fn what_is_left_is_what_can_be_drawn() {
    let cursor = Cursor::new(0);
    cursor.publish(&Owned { spare: 12..40, ..owned(0..10) }, 0);
    assert_eq!(cursor.left(), 38);
    for (count, left) in [(3, 35), (7, 28), (5, 23)] {
        let Draw::Got(drawn) = draw(&cursor, count, true, 40) else { panic!("there are {left} and {count}") };
        assert_eq!((drawn.left, cursor.left()), (left, left), "{drawn:?}");
    }
}

fn stamp(era: u64, millis: i64) -> Stamp {
    Stamp::new(era, UnixMillis::new(millis))
}

/// What is drawn by the lease that was granted at `stamp`, until it is used up, and by which keys.
fn leased(cursor: &Cursor, stamp: Stamp) -> (Vec<u64>, Vec<u64>) {
    std::iter::from_fn(|| cursor.draw_leased(stamp)).unzip()
}

#[test]
fn a_lease_ends_with_its_range_before_the_limit_and_before_too_little_is_left() {
    let (now, end_of_current) = (stamp(0, 5), 10);
    // 38 positions are left at first.
    for (from, limit, low, below) in [
        (0, 40, 0, end_of_current),
        (0, 7, 0, 7),
        (0, 40, 30, 8),
        (0, 40, 38, 0),
        // A draw has seen that they are too few.
        (0, 40, 39, end_of_current),
        (1, 40, 0, 0),
        (0, 0, 0, 0),
    ] {
        let cursor = Cursor::new(0);
        cursor.publish(&Owned { spare: 12..40, tag: 3, ..owned(0..10) }, 0);
        cursor.grant(now, from, low, |_, tag| (limit, tag));
        let (positions, tags) = leased(&cursor, now);
        assert_eq!(
            positions,
            (0..below).collect::<Vec<_>>(),
            "from {from} below {limit}, while {low} are left"
        );
        assert!(tags.iter().all(|&tag| tag == 3), "{tags:?}");
    }
}

#[test]
fn a_lease_is_granted_in_the_spare_and_not_in_the_gap_before_it() {
    let (cursor, now) = (Cursor::new(0), stamp(0, 5));
    cursor.publish(&Owned { spare: 12..40, ..owned(0..10) }, 0);
    assert_eq!(got(draw(&cursor, 10, true, 40)), Some((0, 10)));
    cursor.grant(now, 0, 0, |_, tag| (40, tag));
    assert_eq!(cursor.draw_leased(now), None, "10 and 11 are not owned");
    assert_eq!(got(draw(&cursor, 1, true, 40)), Some((12, 1)));
    cursor.grant(now, 0, 0, |_, tag| (40, tag));
    assert_eq!(leased(&cursor, now).0, (13..40).collect::<Vec<_>>());
}

/// A call that read the clock before the era ended may find the ranges of the next one. How far it may draw in them, its
/// time does not say: the next era's can be earlier.
#[test]
fn a_draw_takes_from_ranges_of_its_own_era_alone() {
    let cursor = Cursor::new(0);
    cursor.publish(&Owned { era: 1, ..owned(0..10) }, 0);
    let draw = |era| cursor.draw(era, 1, true, 10, |next| next);
    for era in [0, 2] {
        assert_eq!(draw(era), Draw::NeedRange, "era {era}");
    }
    assert_eq!(got(draw(1)), Some((0, 1)));
}

/// I5, and what a copy of the process, or a machine that slept, must not draw.
#[test]
fn a_lease_holds_for_its_own_stamp_and_for_ranges_of_its_own_era() {
    let cursor = Cursor::new(0);
    cursor.publish(&Owned { era: 1, ..owned(0..10) }, 0);
    cursor.grant(stamp(0, 5), 0, 0, |_, tag| (10, tag));
    assert_eq!(cursor.draw_leased(stamp(0, 5)), None, "the ranges are of a later era");
    cursor.grant(stamp(1, 5), 0, 0, |_, tag| (10, tag));
    for other in [stamp(0, 5), stamp(2, 5), stamp(1, 4), stamp(1, 6)] {
        assert_eq!(cursor.draw_leased(other), None, "{other:?}");
    }
    assert_eq!(cursor.draw_leased(stamp(1, 5)), Some((0, 0)));
}

#[test]
fn a_lease_ends_when_the_ranges_change_and_when_the_cursor_closes() {
    let (cursor, now) = (Cursor::new(0), stamp(0, 5));
    let granted = || {
        cursor.grant(now, 0, 0, |_, tag| (40, tag));
        cursor.draw_leased(now)
    };
    cursor.publish(&owned(0..10), 0);
    cursor.grant(now, 0, 0, |_, tag| (40, tag));
    cursor.publish(&owned(0..10), 0);
    for other in [now, Stamp::default()] {
        assert_eq!(cursor.draw_leased(other), None, "nothing is left of a lease, for no stamp");
    }
    assert_eq!(granted(), Some((0, 0)));
    cursor.publish(&Owned { tag: 4, ..owned(0..20) }, 0);
    assert_eq!(cursor.draw_leased(now), None, "the next draw looks for the new range");
    assert_eq!(granted(), Some((1, 4)));
    cursor.close();
    assert_eq!((cursor.draw_leased(now), granted()), (None, None), "nothing is owned");
    cursor.publish(&owned(0..20), 0);
    assert_eq!(cursor.draw_leased(now), None);
    assert_eq!(granted(), Some((3, 0)));
}

/// Between its look at the cursor and its swap, another thread draws. The rest of the key is read before the swap: after it, it may
/// belong to a later position.
#[test]
fn a_leased_draw_that_another_one_overtakes_takes_the_next_position_and_no_more() {
    for times in 0..4_u64 {
        let (cursor, now) = (Cursor::new(0), stamp(0, 5));
        cursor.publish(&Owned { tag: 3, ..owned(0..10) }, 0);
        cursor.grant(now, 0, 0, |_, tag| (10, tag));
        let (left, others) = (std::cell::Cell::new(times), std::cell::RefCell::new(Vec::new()));
        let overtaken = cursor.draw_leased_with(now, || {
            if let Some(less) = left.get().checked_sub(1) {
                left.set(less);
                others.borrow_mut().extend(cursor.draw_leased(now));
            }
            cursor.next()
        });
        assert_eq!(overtaken, Some((times, 3, Some(times))));
        assert_eq!(others.take(), (0..times).map(|position| (position, 3)).collect::<Vec<_>>());
        assert_eq!(cursor.next(), Some(times + 1));
    }
}

/// I5.
#[test]
fn a_draw_is_never_below_the_last_one_whatever_it_wishes() {
    let cursor = Cursor::new(0);
    cursor.publish(&owned(0..10), 0);
    let drawn = [(); 3].map(|()| got(cursor.draw(0, 1, true, 10, |_| 0)));
    assert_eq!(drawn, [Some((0, 1)), Some((1, 1)), Some((2, 1))]);
}
