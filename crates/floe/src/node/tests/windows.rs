//! Renewing a window, losing it, and living through an outage (design: "Renew", "Marks cannot run away", "Ledger
//! gone").

use std::collections::BTreeSet;

use super::slots::{pool, refuse_all, refused};
use super::*;
use crate::wakes::tests::runs;

/// A rig that holds a window of [`WINDOW`] from now, its stream, and the slot's key.
fn at_home(renew_idle: bool) -> (Rig, Arc<Stream>, Key) {
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, renew_idle);
    let stream = rig.twitter();
    let worker = rig.mint_in(&stream);
    if renew_idle {
        // A kept window is short at first: after its renewal a whole one is left, as later in its life.
        rig.hands.pass(end(&rig) - rig.now() - WINDOW / 2);
        rig.settle();
        rig.hands.pass(end(&rig) - rig.now() - WINDOW);
    }
    rig.step();
    assert!(rig.calls.is_empty());
    (rig, stream, Key::slot(10, worker))
}

fn end(rig: &Rig) -> u64 {
    rig.node.groups[0].window().unwrap().1.position().unwrap()
}

fn tick(mint: &Mint) -> u64 {
    let Mint::Got { position, .. } = *mint else { panic!("{mint:?}") };
    Layout::TWITTER.time_of(Layout::TWITTER.tick_of(position)).position().unwrap()
}

#[test]
fn a_window_is_renewed_at_half_with_its_own_end_as_the_limit() {
    let (mut rig, stream, key) = at_home(true);
    let held_to = end(&rig);
    rig.hands.pass(WINDOW / 2 - 1);
    rig.step();
    assert!(rig.calls.is_empty(), "not before half");
    assert_eq!(rig.sleep().unwrap(), 1);
    rig.hands.pass(1);
    let (id, request) = rig.reserve();
    assert_eq!((&request.key, request.max_mark, request.count), (&key, held_to, WINDOW));
    assert_eq!(request.note, None, "the note of the one who took the slot stays");
    rig.step();
    assert!(rig.calls.is_empty(), "one renewal at a time");
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert_eq!(end(&rig), held_to + WINDOW);
    // No further ahead than one window beyond the current one.
    rig.step();
    stream.shared.want(1);
    rig.step();
    assert!(rig.calls.is_empty());
}

#[test]
fn nodes_that_keep_their_windows_and_start_at_once_do_not_renew_at_once() {
    let ledger = Memory::default();
    let mut nodes: Vec<_> = (0..200)
        .map(|seed| {
            let mut rig = Rig::with(&ledger, seed, Hands::at(BEGIN), WINDOW, true);
            let stream = rig.twitter();
            rig.mint_in(&stream);
            let first = end(&rig) - rig.now();
            assert!((WINDOW / 2..=WINDOW).contains(&first), "{first}");
            rig
        })
        .collect();
    let mut renewals = [0; 10];
    for step in 0..WINDOW * 10 {
        for rig in &mut nodes {
            let held_to = end(rig);
            rig.settle();
            if step >= WINDOW * 9 {
                let tenth = usize::try_from(step * 10 / WINDOW % 10).unwrap();
                renewals[tenth] += u64::from(end(rig) > held_to);
            }
            rig.hands.pass(1);
        }
    }
    // One write for each node and window, and half of the window has them all: 40 in each of its tenths on average.
    assert_eq!(renewals.iter().sum::<u64>(), 200, "{renewals:?}");
    assert!(renewals.iter().all(|&many| many <= 70), "{renewals:?}");
}

/// Who is woken may run at once, before the node goes on.
#[test]
fn what_a_caller_wants_when_a_window_wakes_it_is_not_forgotten() {
    for wants in [false, true] {
        let (mut rig, stream, _) = at_home(false);
        rig.hands.pass(WINDOW / 2);
        stream.shared.want(1);
        let (id, request) = rig.reserve();
        if wants {
            let waits = Arc::clone(&stream);
            stream.shared.waiters.add(&runs(move || waits.shared.want(7)));
        }
        let answer = rig.ledger.reserve(&request);
        rig.answer(id, answer);
        rig.hands.pass(WINDOW);
        rig.step();
        assert_eq!(!rig.calls.is_empty(), wants);
    }
}

/// Otherwise an outage that outlasts all windows would have them renewed together from then on.
#[test]
fn nor_do_nodes_whose_windows_have_ended_in_an_outage() {
    // Long ago, or at this moment.
    for passed in [WINDOW, 0] {
        let lengths: BTreeSet<u64> = (0..40)
            .map(|seed| {
                let mut rig = Rig::with(&Memory::default(), seed, Hands::at(BEGIN), WINDOW, true);
                let stream = rig.twitter();
                rig.mint_in(&stream);
                rig.hands.pass(end(&rig) - rig.now() + passed);
                rig.step();
                rig.reserve().1.count
            })
            .collect();
        assert!(lengths.len() > 20 && lengths.iter().all(|length| (WINDOW / 2..=WINDOW).contains(length)));
    }
}

#[test]
fn a_window_that_nobody_keeps_is_whole_from_the_first() {
    let (rig, ..) = at_home(false);
    assert_eq!(end(&rig), rig.now() + WINDOW);
}

/// A node whose next random number is this one.
fn rolled(rig: &mut Rig, random: u64) -> &mut RequestQueue {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random.to_be_bytes());
    let requests = rig.node.requests();
    requests.settings.entropy = Box::new(move || bytes);
    requests
}

#[test]
fn a_first_window_that_is_kept_has_any_length_from_a_half_to_a_whole_one() {
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, true);
    let lengths: BTreeSet<_> = (0..WINDOW).map(|random| rolled(&mut rig, random).first_window()).collect();
    assert_eq!(lengths, (WINDOW / 2 + 1..=WINDOW).collect());
}

#[test]
fn pauses_double_up_to_400_ms_or_an_eighth_of_what_is_left_and_any_up_to_a_half_is_left_out() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let now = rig.clock.look();
    for (left, most) in [
        (0, vec![25, 50, 100, 200, 400, 400]),
        (3_999, vec![25, 50, 100, 200, 400, 499, 499]),
        (9_600, vec![25, 50, 100, 200, 400, 800, 1_200, 1_200]),
    ] {
        // The next one doubles the whole pause, however much of it was left out.
        for left_out in [0, 1] {
            let mut pause = Pause::default();
            for most in &most {
                let mut after = |random: u64| {
                    let mut pause = pause;
                    rolled(&mut rig, random).unavailable("gone".to_owned(), &now, &mut pause, left);
                    (pause.until().unwrap().since(now.mono), pause)
                };
                let lengths: BTreeSet<_> = (0..*most).map(|random| after(random).0).collect();
                assert_eq!(lengths, (most - most / 2 + 1..=*most).collect(), "{left} ms left");
                pause = after(left_out * (most / 2 - 1)).1;
            }
        }
    }
}

/// Otherwise all nodes that wait for the same slots would ask for them at the same moment.
#[test]
fn who_has_found_all_slots_taken_looks_again_at_a_random_moment() {
    for (left, random, sleep) in
        [(60_000, 1, 999), (60_000, 250, 750), (60_000, 499, 501), (600, 100, 700), (60, 1, 501)]
    {
        let mut rig = Rig::new(&Memory::default(), 11);
        let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
        rig.mint(&stream);
        for _ in 0..2 {
            let (id, _) = rig.reserve();
            rolled(&mut rig, random);
            rig.answer(id, refused(rig.now() + left));
        }
        assert_eq!(rig.sleep(), Some(sleep), "{left} ms left, {random}");
    }
}

#[test]
fn after_an_answer_a_slots_first_pause_is_short_again() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let stream = rig.twitter();
    rig.mint(&stream);
    for _ in 0..8 {
        assert_eq!(rig.fail_all(), 1);
        rig.hands.pass(400);
    }
    rig.mint_in(&stream);
    rig.hands.pass(WINDOW);
    rig.mint(&stream);
    assert_eq!(rig.fail_all(), 1);
    rig.hands.pass(25);
    assert_eq!(rig.fail_all(), 1);
}

#[test]
fn who_has_time_left_does_not_press_a_ledger_that_is_gone() {
    const HOUR: u64 = 3_600_000;
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), HOUR, true);
    let stream = rig.twitter();
    rig.mint_in(&stream);
    rig.hands.pass(end(&rig) - rig.now() - HOUR / 2);
    let (mut failures, mut longest) = (0, 0);
    loop {
        failures += rig.fail_all();
        let left = end(&rig).saturating_sub(rig.now());
        let look = rig.clock.look();
        let pause = rig.node.deadline(&look).unwrap().since(look.mono).max(1);
        assert!(pause <= (left / 8).max(400), "{pause} ms of {left} left");
        longest = longest.max(pause);
        if left == 0 {
            break;
        }
        rig.hands.pass(pause);
    }
    // Half an hour at 400 ms would be over 4,500.
    assert!((20..150).contains(&failures), "{failures}");
    assert!(longest > 100_000, "{longest}");
}

#[test]
fn a_window_is_renewed_also_where_another_width_came_first() {
    let mut rig = Rig::new(&Memory::default(), 11);
    rig.twitter();
    let wide = rig.snowflake(&Layout::SONYFLAKE, Workers::all(16).unwrap());
    rig.mint_in(&wide);
    let end = |rig: &Rig| rig.node.groups[1].window().unwrap().1;
    let held_to = end(&rig);
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    assert!(end(&rig) > held_to);
}

#[test]
fn who_wants_more_is_renewed_for_at_most_one_window_ahead() {
    let (mut rig, stream, _) = at_home(true);
    for _ in 0..50 {
        stream.shared.want(1);
        rig.settle();
        assert!(end(&rig) <= rig.now() + 2 * WINDOW, "the mark runs away");
        rig.hands.pass(100);
    }
    assert!(end(&rig) > rig.now());
}

#[test]
fn who_asks_twice_while_the_slot_is_on_its_way_gets_one_window() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let stream = rig.twitter();
    rig.mint(&stream);
    let (id, request) = rig.reserve();
    rig.mint(&stream);
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    rig.step();
    assert!(rig.calls.is_empty(), "a second one could not be given back with the first");
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn an_idle_node_writes_nothing_and_a_busy_one_never_runs_dry() {
    let (mut rig, stream, key) = at_home(false);
    for _ in 0..100 {
        rig.hands.pass(100);
        rig.settle();
    }
    // One renewal for the ID that was minted, and then silence.
    let mark = rig.mark(&key);
    assert!(mark <= u64::try_from(BEGIN).unwrap() + 2 * WINDOW);
    assert!(rig.node.deadline(&rig.clock.look()).is_none(), "nothing to wake up for");
    rig.mint_in(&stream);
    for _ in 0..100 {
        rig.hands.pass(100);
        rig.settle();
        assert!(matches!(rig.mint(&stream), Mint::Got { .. }), "renewed before it ran out");
    }
}

/// Whoever begins to mint after the half of a window finds the next one there before this one ends.
#[test]
fn a_window_that_was_idle_at_its_half_is_looked_at_again() {
    let (mut rig, stream, _) = at_home(false);
    let held_to = end(&rig);
    rig.hands.pass(WINDOW / 2);
    rig.step();
    assert!(rig.calls.is_empty(), "nobody has minted since the last look");
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    let again = rig.sleep().expect("a time to look again");
    assert!((1..WINDOW / 2).contains(&again), "{again}");
    rig.hands.pass(again);
    assert_eq!(rig.reserve().1.max_mark, held_to);
}

#[test]
fn a_window_that_nobody_uses_is_looked_at_up_to_its_end() {
    let (mut rig, ..) = at_home(false);
    let held_to = end(&rig);
    // What is left is no multiple of an eighth of the window.
    rig.hands.pass(WINDOW / 2 + 10);
    while rig.now() < held_to {
        rig.step();
        assert!(rig.calls.is_empty());
        rig.hands.pass(rig.sleep().expect("a time to look again"));
        assert!(rig.now() <= held_to, "{} ms past the end", rig.now() - held_to);
    }
}

/// A batch may need more than is left of a window. Its caller does not wait for the end of that.
#[test]
fn who_wants_more_than_is_left_of_a_window_is_heard_before_it_ends() {
    // A clock that stands, as in tests, never comes to the second case.
    for passed in [0, 1] {
        let (mut rig, stream, key) = at_home(false);
        let held_to = end(&rig);
        rig.hands.pass(passed);
        stream.shared.want(1);
        let (_, request) = rig.reserve();
        assert_eq!((request.key, request.max_mark, request.count), (key, held_to, WINDOW));
    }
}

/// It may have taken effect, and then the next window is this node's.
#[test]
fn an_unanswered_renewal_is_repeated_also_where_nobody_mints_any_more() {
    let (mut rig, stream, _) = at_home(false);
    rig.hands.pass(WINDOW / 2);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    let (id, request) = rig.reserve();
    rig.answer(id, unavailable());
    let pause = rig.sleep().expect("a time to ask again");
    rig.hands.pass(pause);
    assert_eq!(rig.reserve().1.token, request.token);
}

/// The ledger may take longer than half of it. Nobody has minted since it was asked.
#[test]
fn a_window_that_comes_late_is_not_renewed_for_nobody() {
    let (mut rig, stream, _) = at_home(false);
    rig.hands.pass(WINDOW / 2);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.hands.pass(WINDOW);
    rig.answer(id, answer);
    assert_eq!(end(&rig), rig.now() + WINDOW / 2);
    rig.step();
    assert!(rig.calls.is_empty());
}

#[test]
fn a_gap_between_two_windows_is_never_owned() {
    // Whoever was asleep when the window was renewed must not find the gap in it (I5).
    let (mut rig, stream, _) = at_home(false);
    let owned = |rig: &Rig, from: u64| {
        let span = UnixMillis::from_position(from)..UnixMillis::from_position(end(rig));
        Layout::TWITTER.positions(&Layout::TWITTER.ticks_inside(span.start, span.end))
    };
    let start = rig.now();
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    assert_eq!(stream.shared.cursor.owned().current, owned(&rig, start), "two windows that touch are one");
    rig.hands.pass(60_000);
    rig.mint_in(&stream);
    assert_eq!(stream.shared.cursor.owned().current, owned(&rig, rig.now()), "and two that do not are not");
}

#[test]
fn an_unanswered_renewal_is_repeated_with_the_same_token_and_marks_do_not_run_away() {
    let (mut rig, stream, key) = at_home(true);
    rig.hands.pass(WINDOW / 2);
    let (_, first) = rig.reserve();
    rig.ledger.reserve(&first).unwrap();
    let mut id = 0;
    for _ in 0..200 {
        if id == 0 {
            // The effect is there, the reply is lost.
            id = rig.node.requests.last_call;
        }
        rig.answer(id, unavailable());
        rig.hands.pass(400);
        let (next, request) = rig.reserve();
        assert_eq!(request.token, first.token, "the same until it is answered");
        rig.ledger.reserve(&request).unwrap();
        assert_eq!(rig.mark(&key), first.max_mark + WINDOW);
        id = next;
    }
    // Answered at last, with a window that is long over: the next one begins now.
    let answer = rig.ledger.reserve(&first);
    rig.answer(id, answer);
    rig.settle();
    let minted = rig.mint(&stream);
    assert_eq!(tick(&minted), rig.now());
    // It has a gap before it, like a first one.
    assert!((WINDOW / 2..=WINDOW).contains(&(rig.mark(&key) - rig.now())));
}

#[test]
fn without_the_ledger_the_window_is_minted_to_its_end_and_then_the_time_since_is_told() {
    let (mut rig, stream, _) = at_home(true);
    let held_to = end(&rig);
    rig.hands.pass(WINDOW / 2);
    let since = rig.clock.look().stamp.time();
    let mut failures = 0;
    while rig.now() < held_to {
        failures += rig.fail_all();
        assert!(matches!(rig.mint(&stream), Mint::Got { .. }), "the window lasts at {}", rig.now());
        rig.hands.pass(1);
    }
    for _ in 0..60 {
        failures += rig.fail_all();
        let expected = MintError::Unavailable { since, cause: "gone".to_owned() };
        assert_eq!(rig.mint(&stream), Mint::Empty(Some(expected)));
        rig.hands.pass(1_000);
    }
    assert!((60..100).contains(&failures), "pauses grow, and are at most 400 ms: {failures}");
    // It is back: minting goes on within a second.
    let returned = rig.now();
    while !matches!(rig.mint(&stream), Mint::Got { .. }) {
        let look = rig.clock.look();
        rig.hands.pass(rig.node.deadline(&look).map_or(1, |deadline| deadline.since(look.mono)).max(1));
        rig.settle();
        assert!(rig.now() <= returned + 1_000, "a second has passed");
    }
    assert!(rig.node.down().is_none() && rig.node.groups[0].trouble().is_none());
}

#[test]
fn a_refused_renewal_is_a_lost_slot_that_is_minted_in_to_its_end_while_another_one_is_acquired() {
    let (mut rig, stream, key) = at_home(true);
    let held_to = end(&rig);
    let theirs = rig.other(&key, held_to, 5 * WINDOW, None);
    rig.hands.pass(WINDOW / 2);
    let renewal = rig.call();
    rig.serve(renewal);
    let mine = rig.mint(&stream);
    assert!(
        matches!(mine, Mint::Got { worker, .. } if Key::slot(10, worker) == key),
        "still inside its window"
    );
    assert_eq!(rig.mark(&key), theirs, "nothing was written");
    let (id, request) = rig.reserve();
    assert_ne!(request.key, key, "another slot");
    // The ledger is slow: the old window lasts to its end, and no longer (I3).
    rig.hands.pass(held_to - rig.now() - 1);
    assert_eq!(tick(&rig.mint(&stream)), held_to - 1);
    rig.hands.pass(1);
    assert_eq!(rig.mint(&stream), Mint::Empty(None));
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    let Mint::Got { position, worker } = rig.mint(&stream) else { panic!("nothing minted") };
    assert_eq!(Key::slot(10, worker), request.key);
    let Mint::Got { position: before, .. } = mine else { panic!("nothing minted") };
    assert!(
        Layout::TWITTER.tick_of(position) > Layout::TWITTER.tick_of(before),
        "IDs of a new slot are larger"
    );
}

/// Otherwise the first one who mints after the end of its window would wait for the ledger.
#[test]
fn who_has_lost_a_slot_looks_for_another_also_where_nobody_mints_any_more() {
    let mut rig = Rig::new(&Memory::default(), 11);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    let key = Key::slot(10, rig.mint_in(&stream));
    rig.other(&key, end(&rig), 5 * WINDOW, None);
    rig.hands.pass(WINDOW / 2);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    let renewal = rig.call();
    rig.serve(renewal);
    assert_eq!(refuse_all(&mut rig, 30), 1, "the other one");
    assert_eq!(rig.sleep(), Some(30), "until that may be free");
    rig.hands.pass(30);
    assert_eq!(rig.sleep(), Some(1), "nor does it spin then");
    assert_ne!(rig.reserve().1.key, key);
}

#[test]
fn a_lost_slot_is_asked_for_again_once_its_window_is_over() {
    // Two slots: the other one has a live holder all the time.
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, true);
    rig.other(&Key::slot(10, 1), rig.now(), 3_600_000, None);
    let stream = rig.snowflake(&Layout::TWITTER, Workers::range(10, 0..=1).unwrap());
    assert_eq!(rig.mint_in(&stream), 0);
    let theirs = rig.other(&Key::slot(10, 0), end(&rig), WINDOW, None);
    for _ in 0..200 {
        rig.hands.pass(50);
        rig.settle();
    }
    assert!(rig.now() > theirs + 1_000);
    assert_eq!(rig.mint_in(&stream), 0, "free again, and taken again");
}

#[test]
fn a_mark_below_what_was_held_stops_the_slot_for_ever() {
    // I1: an older backup was restored under the node.
    let backup = Memory::default();
    let (mut rig, stream, key) = at_home(true);
    let held_to = end(&rig);
    rig.ledger.restore(&backup);
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    let Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) =
        rig.mint(&stream)
    else {
        panic!("it mints on")
    };
    assert!(
        text.contains("went backwards") && text.contains(&key.subject()) && text.contains("marks raise"),
        "{text}"
    );
    let marks = format!("was 0, and this process holds a range up to {held_to}.");
    assert!(text.contains(&marks), "{text}");
    // A name that is bound later does not mint in the window that was held either.
    let late = rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap());
    assert!(matches!(rig.mint(&late), Mint::Empty(Some(MintError::Stopped(_)))));
    // And nothing is given back, since it may have been minted.
    rig.node.close(&rig.clock);
    rig.collect();
    assert_eq!(rig.calls, []);
}

#[test]
fn a_new_era_drops_the_window_and_an_answer_on_its_way() {
    let (mut rig, stream, key) = at_home(true);
    rig.hands.pass(WINDOW / 2);
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.clock.invalidate();
    assert_eq!(rig.mint(&stream), Mint::Empty(None), "before the node even looks");
    rig.answer(id, answer);
    assert_eq!(rig.mint(&stream), Mint::Empty(None), "the answer belongs to the era before");
    rig.settle();
    let Mint::Got { worker, .. } = rig.mint(&stream) else { panic!("nothing minted") };
    assert_ne!(Key::slot(10, worker), key, "what the other copy may hold is left alone");
}

#[test]
fn a_renewal_that_is_answered_after_its_slot_was_forgotten_changes_nothing() {
    let (mut rig, stream, _) = at_home(true);
    rig.hands.pass(WINDOW / 2);
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.clock.invalidate();
    rig.settle();
    let (held_to, before) = (end(&rig), rig.mint(&stream));
    for _ in 0..2 {
        // Late, and twice.
        rig.answer(id, answer.clone());
    }
    assert_eq!(end(&rig), held_to);
    let (Mint::Got { worker: a, position: x }, Mint::Got { worker: b, position: y }) =
        (before, rig.mint(&stream))
    else {
        panic!("nothing minted")
    };
    assert!(a == b && x < y);
}

/// Its numbers are those of another slot.
#[test]
fn the_answer_for_a_slot_that_was_asked_for_an_era_ago_is_no_answer_to_a_renewal() {
    let (mut rig, stream, key) = at_home(true);
    rig.clock.invalidate();
    rig.mint(&stream);
    let (late, other) = rig.reserve();
    assert_ne!(other.key, key);
    let answer = rig.ledger.reserve(&other);
    rig.clock.invalidate();
    rig.mint_in(&stream);
    rig.hands.pass(WINDOW / 2);
    rig.reserve();
    let held_to = end(&rig);
    rig.answer(late, answer);
    assert_eq!(end(&rig), held_to);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn a_wall_clock_that_moves_drops_the_window_and_costs_no_order() {
    for by in [-1_800_000, -1_001, 1_001, 9_999, 86_400_000] {
        let (mut rig, stream, _) = at_home(false);
        let Mint::Got { position: before, .. } = rig.mint(&stream) else { panic!("nothing minted") };
        rig.hands.set(by);
        assert_eq!(rig.mint(&stream), Mint::Empty(None), "{by}");
        rig.settle();
        let Mint::Got { position, .. } = rig.mint(&stream) else { panic!("nothing minted after {by}") };
        assert!(position > before, "{by}");
    }
}

#[test]
fn a_rollback_beyond_max_hold_asks_for_nothing_and_ends_with_the_rollback() {
    let (mut rig, stream, _) = at_home(true);
    rig.hands.set(-3_600_001);
    let Mint::Empty(Some(MintError::Stopped(Stopped { cause: text, .. }))) = rig.mint(&stream) else {
        panic!("it mints")
    };
    assert!(text.contains("3600001 ms") && text.contains("max_hold"), "{text}");
    rig.settle();
    assert!(rig.node.deadline(&rig.clock.look()).is_some(), "it looks whether the clock is right again");
    rig.hands.set(3_600_001);
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn a_name_that_is_bound_after_a_renewal_mints_at_once() {
    let (mut rig, stream, _) = at_home(true);
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    assert!(end(&rig) > rig.now() + WINDOW, "the next window is there, and this one lasts");
    let late = rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap());
    assert!(matches!(rig.mint(&late), Mint::Got { .. }));
    let owned = [stream, rig.twitter()].map(|stream| stream.shared.cursor.owned().current);
    assert_eq!(owned[0], owned[1], "and of the time before the window nothing");
}

#[test]
fn windows_of_two_slots_that_touch_are_not_one() {
    let (mut rig, stream, key) = at_home(true);
    let held_to = end(&rig);
    rig.other(&key, held_to, 5 * WINDOW, None);
    rig.hands.pass(WINDOW / 2);
    let renewal = rig.call();
    rig.serve(renewal);
    let (id, request) = rig.reserve();
    assert_ne!(request.key, key, "another slot");
    rig.answer(id, Ok(Reply::Got { start: held_to, end: held_to + WINDOW, previous_mark: 0 }));
    let owned = stream.shared.cursor.owned().current;
    let begins = Layout::TWITTER.time_of(Layout::TWITTER.tick_of(owned.start)).position();
    assert_eq!(begins, Some(held_to), "of the other slot nothing before that was reserved");
}

#[test]
fn an_answer_of_the_wrong_kind_stops_everything() {
    let (mut rig, stream, _) = at_home(true);
    let numbers = rig.segment("tickets", STEPS);
    let counter = rig.queue("count", None);
    assert_eq!(rig.numbers_after_settling(&numbers, 1), 0);
    let ticket = rig.enqueue(&counter, 1);
    rig.hands.pass(WINDOW / 2);
    rig.step();
    let id = rig.calls.front().unwrap().id;
    rig.answer(id, Err(LedgerError::Unfit("the file was replaced".to_owned())));
    let stopped = MintError::Stopped(Stopped::ledger("the file was replaced"));
    assert_eq!(rig.mint(&stream), Mint::Empty(Some(stopped.clone())));
    assert_eq!(rig.number(&numbers, 1), Err(Some(stopped.clone())));
    assert_eq!(ticket.answered(), Some(Err(stopped.clone())));
    assert_eq!(rig.node.stopped(), Some("the file was replaced"));
    // Also what was being bound meanwhile.
    let (late, late_count) = (rig.segment("late", STEPS), rig.queue("late-count", None));
    let wide = rig.snowflake(&Layout::SONYFLAKE, Workers::all(16).unwrap());
    // In the slot whose window is held.
    let beside = rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap());
    assert_eq!(rig.number(&late, 1), Err(Some(stopped.clone())));
    for stream in [&wide, &beside] {
        assert_eq!(rig.mint(stream), Mint::Empty(Some(stopped.clone())));
    }
    assert_eq!(rig.node.enqueue(&late_count, &Ticket::new(1), &rig.clock), Err(stopped));
    // Unloading and closing give nothing back to such a ledger, and change nothing of what is told.
    let unused = rig.segment("unused", STEPS);
    for shared in [&numbers.shared, &unused.shared] {
        assert!(!rig.node.unload_segment(shared, &rig.clock));
    }
    assert!(!rig.node.unload_queue(&late_count));
    rig.node.close(&rig.clock);
    rig.calls.clear();
    rig.collect();
    assert_eq!(rig.calls, []);
    assert_eq!(rig.node.stopped(), Some("the file was replaced"));
}

/// A window that began with the call would hold the next tick first, which may be longer away than any caller waits.
#[test]
fn a_window_begins_with_the_tick_that_has_begun() {
    let minute: Layout =
        "time:30 worker:10 sequence:12 tick=60s epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    // Whichever of its names was bound first.
    for slow in [0, 1] {
        let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN + 25_000), 600_000, false);
        let layouts = if slow == 0 { [&minute, &Layout::TWITTER] } else { [&Layout::TWITTER, &minute] };
        let streams = layouts.map(|layout| rig.snowflake(layout, Workers::all(10).unwrap()));
        let (slow, fast) = (&streams[slow], &streams[1 - slow]);
        rig.mint(slow);
        let (id, request) = rig.reserve();
        // It ends where it would have ended.
        assert_eq!((request.floor, request.count), (rig.now() - 25_000, 625_000));
        let answer = rig.ledger.reserve(&request);
        rig.answer(id, answer);
        let Mint::Got { position, .. } = rig.mint(slow) else { panic!("the first ID has to wait") };
        assert_eq!(minute.time_of(minute.tick_of(position)), UnixMillis::new(BEGIN));
        // Who counts milliseconds mints in its own.
        let Mint::Got { position, .. } = rig.mint(fast) else { panic!("the first ID has to wait") };
        let tick = Layout::TWITTER.tick_of(position);
        assert_eq!(Layout::TWITTER.time_of(tick), UnixMillis::new(BEGIN + 25_000));
    }
}

/// It is as long as the first one, however late in the tick it begins.
#[test]
fn a_window_after_one_that_has_ended_begins_with_the_tick_that_has_begun() {
    let minute: Layout =
        "time:30 worker:10 sequence:12 tick=60s epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN + 25_000), 600_000, false);
    let slow = rig.snowflake(&minute, Workers::all(10).unwrap());
    rig.mint_in(&slow);
    rig.hands.pass(660_000);
    assert_eq!(rig.mint(&slow), Mint::Empty(None));
    let (id, request) = rig.reserve();
    assert_eq!((request.floor, request.count), (rig.now() - 25_000, 625_000));
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert_eq!(end(&rig), rig.now() + 600_000);
    assert!(matches!(rig.mint(&slow), Mint::Got { .. }));
}

/// What somebody else has reserved of the tick is theirs.
#[test]
fn a_tick_that_was_minted_in_is_not_begun_again() {
    let minute: Layout = "time:30 sequence:12 tick=60s epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN + 25_000), 600_000, false);
    let slow = rig.snowflake(&minute, Workers::one(0, 0).unwrap());
    rig.other(&Key::slot(0, 0), rig.now() - 25_000, 10_000, None);
    rig.mint(&slow);
    rig.settle();
    assert_eq!(rig.mint(&slow), Mint::Later);
    rig.hands.pass(35_000);
    let Mint::Got { position, .. } = rig.mint(&slow) else { panic!("the next tick is its own") };
    assert_eq!(minute.time_of(minute.tick_of(position)), UnixMillis::new(BEGIN + 60_000));
}
