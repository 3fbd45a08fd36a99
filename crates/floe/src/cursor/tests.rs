//! What one thread sees of the cursor. What several threads see of one another is in `models`.

use super::*;

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
