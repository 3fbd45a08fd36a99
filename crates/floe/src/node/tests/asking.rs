//! When a node asks for a slot again, what it says meanwhile, and how long it sleeps.

use std::collections::BTreeSet;

use super::slots::{pool, refuse_all, refused};
use super::*;
use crate::ledger::AtHand;
use crate::status::{NameState, SlotStatus};

/// Sleeps to the next deadline.
fn pass(rig: &Rig) {
    rig.hands.pass(rig.sleep().expect("it goes on looking"));
}

pub(super) fn worker_of(request: &Reserve) -> u64 {
    Key::parse_slot(request.key.as_str()).unwrap().1
}

fn status(rig: &Rig) -> SlotStatus {
    rig.node.groups[0].status(rig.clock.look().stamp.time())
}

/// A node that keeps a window of one of two slots, and its worker id.
fn of_two() -> (Rig, Arc<Stream>, u64) {
    let mut rig = Rig::with(&Memory::default(), 11, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    let worker = rig.mint_in(&stream);
    (rig, stream, worker)
}

/// Half of the window passes, and the node asks for the next one.
fn renewal(rig: &mut Rig) -> (u64, Reserve) {
    let end = rig.node.groups[0].window().unwrap().1.position().unwrap();
    rig.hands.pass(end - rig.now() - WINDOW / 2);
    rig.reserve()
}

#[test]
fn only_one_of_few_slots_that_is_free_within_40_ms_is_waited_for_in_silence() {
    for (slots, left, is_silent) in [(64, 1, true), (64, 40, true), (64, 41, false), (65, 40, false)] {
        let mut rig = Rig::new(&Memory::default(), 3);
        let stream = rig.snowflake(&Layout::TWITTER, pool(0..=slots - 1));
        rig.mint(&stream);
        refuse_all(&mut rig, left);
        assert_eq!(rig.mint(&stream) == Mint::Empty(None), is_silent, "{slots} slots, {left} ms");
        assert_eq!(rig.sleep() == Some(left), is_silent, "{slots} slots, {left} ms");
    }
}

#[test]
fn a_fixed_slot_that_is_free_within_40_ms_is_waited_for_in_silence() {
    for (left, is_silent) in [(1, true), (40, true), (41, false)] {
        let mut rig = Rig::new(&Memory::default(), 3);
        let stream = rig.snowflake(&Layout::TWITTER, pool(7..=7));
        rig.other(&Key::slot(10, 7), rig.now(), left, None);
        rig.mint(&stream);
        rig.settle();
        assert_eq!(rig.mint(&stream) == Mint::Empty(None), is_silent, "{left} ms");
        assert_eq!(rig.sleep(), Some(if is_silent { left } else { 1_000 }), "{left} ms");
    }
}

/// Up to 64 slots are all seen in one look, so a look every other second finds each free one soon.
#[test]
fn looks_at_all_slots_are_two_seconds_apart_and_looks_at_some_of_them_four() {
    for (slots, longest) in [(64, 2_000), (65, 4_000)] {
        let mut rig = Rig::new(&Memory::default(), 3);
        let stream = rig.snowflake(&Layout::TWITTER, pool(0..=slots - 1));
        let pauses: Vec<u64> = (0..20)
            .map(|_| {
                rig.mint(&stream);
                refuse_all(&mut rig, 60_000);
                let pause = rig.sleep().unwrap();
                rig.hands.pass(pause);
                pause
            })
            .collect();
        let settled = pauses[3..].iter();
        assert!(settled.clone().all(|pause| (longest / 2..=longest).contains(pause)), "{slots}: {pauses:?}");
        assert!(settled.clone().any(|pause| *pause > longest * 3 / 4), "{slots}: {pauses:?}");
    }
}

/// Those that wait for one slot do not ask for it at one moment, and none much later than it is free.
#[test]
fn who_waits_for_a_slot_looks_soon_after_it_is_free() {
    for left in [100, 500, 1_200] {
        let pauses: BTreeSet<u64> = (0..40)
            .map(|seed| {
                let mut rig = Rig::new(&Memory::default(), seed);
                let stream = rig.snowflake(&Layout::TWITTER, pool(0..=64));
                // So many looks that the pause is not bounded by their number.
                for mark in [60_000, 60_000, 60_000, left] {
                    rig.mint(&stream);
                    refuse_all(&mut rig, mark);
                    if mark == 60_000 {
                        pass(&rig);
                    }
                }
                rig.sleep().unwrap()
            })
            .collect();
        let soon = left.max(500)..left.max(500) + 250;
        assert!(pauses.iter().all(|pause| soon.contains(pause)), "{left}: {pauses:?}");
        assert!(pauses.len() > 20, "{left}: {pauses:?}");
    }
}

/// The clocks may be set right at any time, but a wrong one is no reason to ask without end.
#[test]
fn a_clock_that_is_off_is_looked_at_again_after_a_second() {
    let mut rig = Rig::new(&Memory::default(), 1);
    rig.ledger_clock = LedgersClock::AtOnce(Some(3_600_000));
    let stream = rig.twitter();
    rig.mint(&stream);
    rig.settle();
    assert!(matches!(rig.node.groups[0].trouble(), Some(BlockReason::ClockApart(_))));
    assert_eq!(rig.sleep(), Some(1_000));
}

#[test]
fn who_waits_for_the_ledgers_clock_sleeps_until_it_is_said() {
    let mut rig = Rig::new(&Memory::default(), 1);
    rig.ledger_clock = LedgersClock::ByHand;
    let stream = rig.twitter();
    rig.mint(&stream);
    assert!(matches!(rig.call().op, Op::Clock));
    assert_eq!(rig.sleep(), None);
}

/// With a window, as without one.
#[test]
fn a_clock_that_is_refused_is_looked_at_again_after_a_second() {
    for has_window in [true, false] {
        let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN), WINDOW, true);
        let stream = rig.twitter();
        if has_window {
            rig.mint_in(&stream);
        }
        // In steps that end no era.
        for _ in 0..7_202 {
            rig.hands.set(-1_000);
            rig.clock.look();
        }
        rig.step();
        assert!(rig.clock.look().refusal().is_some());
        assert_eq!((rig.node.groups[0].window().is_some(), rig.sleep()), (has_window, Some(1_000)));
    }
}

#[test]
fn a_node_whose_renewal_is_answered_with_a_full_record_stops_and_sleeps() {
    let (mut rig, stream, worker) = of_two();
    let (id, request) = renewal(&mut rig);
    assert_eq!(worker_of(&request), worker);
    rig.answer(id, Err(LedgerError::Overflow { key: request.key, mark: crate::ledger::MAX_MARK }));
    let stopped = rig.mint(&stream);
    assert!(
        matches!(&stopped, Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, .. })))),
        "{stopped:?}"
    );
    stream.shared.want(1);
    rig.step();
    assert_eq!((rig.calls.len(), rig.sleep()), (0, None));
}

/// It is no news that the ledger was asked once more.
#[test]
fn the_ledger_is_said_to_be_gone_until_it_has_answered() {
    let (mut rig, ..) = of_two();
    let (id, _) = renewal(&mut rig);
    rig.answer(id, unavailable());
    pass(&rig);
    rig.reserve();
    rig.step();
    assert!(matches!(rig.node.groups[0].trouble(), Some(BlockReason::Unavailable { .. })));
    assert_eq!(rig.sleep(), None, "its answer is awaited");
}

#[test]
fn the_status_of_a_group_tells_its_window_and_its_trouble() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.snowflake(&Layout::TWITTER, pool(7..=7));
    let nothing = SlotStatus {
        worker_bits: 10,
        worker: None,
        window_end: None,
        window_left_ms: 0,
        deleted: Vec::new(),
        trouble: None,
    };
    assert_eq!(status(&rig), nothing);
    rig.mint(&stream);
    assert_eq!(rig.fail_all(), 1);
    let trouble = NameState::Unavailable { since: UnixMillis::new(BEGIN), cause: "gone".to_owned() };
    assert_eq!(status(&rig), SlotStatus { trouble: Some(trouble), ..nothing.clone() });
    pass(&rig);
    rig.mint_in(&stream);
    let end = rig.node.groups[0].window().unwrap().1;
    let held = SlotStatus { worker: Some(7), window_end: Some(end), ..nothing };
    rig.hands.pass(end.position().unwrap() - rig.now() - 10);
    assert_eq!(status(&rig), SlotStatus { window_left_ms: 10, ..held.clone() });
    rig.hands.pass(20);
    assert_eq!(status(&rig), held);
}

#[test]
fn who_loses_one_of_two_slots_asks_for_the_other_before_its_window_ends() {
    let (mut rig, stream, worker) = of_two();
    let (id, _) = renewal(&mut rig);
    rig.answer(id, refused(rig.now() + 5 * WINDOW));
    let (id, request) = rig.reserve();
    assert_eq!(worker_of(&request), 1 - worker);
    assert_eq!(rig.sleep(), None, "its answer is awaited");
    rig.answer(id, unavailable());
    let pause = rig.sleep().unwrap();
    assert!((1..=Pause::FIRST_MS).contains(&pause), "{pause}");
    assert!(matches!(rig.mint(&stream), Mint::Got { worker: got, .. } if got == worker));
    rig.hands.pass(pause);
    assert_eq!(worker_of(&rig.reserve().1), 1 - worker);
}

#[test]
fn a_slot_of_two_whose_record_was_deleted_is_passed_over() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    rig.mint(&stream);
    let (id, first) = rig.reserve();
    rig.answer(id, Err(LedgerError::Missing(first.key.clone())));
    assert_eq!(rig.mint_in(&stream), 1 - worker_of(&first));
    assert_eq!(status(&rig).deleted, [worker_of(&first)]);
}

/// A slot that is fixed, and one of the second pass, may have been quiet for no longer than a moment.
#[test]
fn a_lost_question_is_repeated_with_the_bound_that_it_had() {
    for slots in [7..=7, 0..=1] {
        let mut rig = Rig::new(&Memory::default(), 3);
        let stream = rig.snowflake(&Layout::TWITTER, pool(slots.clone()));
        rig.mint(&stream);
        if slots != (7..=7) {
            for _ in slots {
                let (id, _) = rig.reserve();
                rig.answer(id, refused(rig.now() - 1));
            }
        }
        let (id, asked) = rig.reserve();
        assert_eq!(asked.max_mark, rig.now());
        rig.answer(id, unavailable());
        rig.hands.pass(Pause::FIRST_MS);
        let (_, again) = rig.reserve();
        assert_eq!((&again.key, again.token, again.max_mark), (&asked.key, asked.token, rig.now()));
    }
}

/// Its time lies ahead, and other slots are free now.
#[test]
fn the_slot_of_a_crashed_run_that_probing_meets_moves_no_clock() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    rig.mint(&stream);
    let (id, first) = rig.reserve();
    let note = Some(owner("gone", 4).to_string());
    rig.answer(id, Ok(Reply::Refused { mark: rig.now() + 30_000, note }));
    assert_eq!(worker_of(&rig.reserve().1), 1 - worker_of(&first));
    assert_eq!(rig.now(), u64::try_from(BEGIN).unwrap());
}

/// Somebody else was faster in the slot that had been free: it tells nothing about when a slot is free.
#[test]
fn the_next_free_slot_is_told_by_the_marks_in_the_future() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    rig.mint(&stream);
    for (left, bound) in [(0, rig.now() - WINDOW - 10_000), (60_000, rig.now() - WINDOW - 10_000)] {
        let (id, request) = rig.reserve();
        assert_eq!(request.max_mark, bound);
        rig.answer(id, refused(rig.now() + left));
    }
    let (id, request) = rig.reserve();
    assert_eq!(request.max_mark, rig.now(), "the second pass, in the slot whose mark has just passed");
    rig.answer(id, refused(rig.now() + 30_000));
    let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!("not exhausted") };
    assert!(text.contains("2026-03-01T12:00:30.000Z"), "{text}");
}

#[test]
fn the_next_free_slot_is_the_one_with_the_lowest_mark_whichever_was_asked_first() {
    for marks in [[30_000, 60_000], [60_000, 30_000]] {
        let mut rig = Rig::new(&Memory::default(), 3);
        let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
        rig.mint(&stream);
        for left in marks {
            let (id, _) = rig.reserve();
            rig.answer(id, refused(rig.now() + left));
        }
        rig.step();
        let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else {
            panic!("not exhausted")
        };
        assert!(text.contains("2026-03-01T12:00:30.000Z"), "{text}");
    }
}

/// Whoever waited for it was told, by whichever name.
#[test]
fn nobody_asks_for_a_fixed_slot_again_for_whom_nobody_waits() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let streams = [Layout::TWITTER, Layout::LEAF].map(|layout| rig.snowflake(&layout, pool(7..=7)));
    rig.other(&Key::slot(10, 7), rig.now(), 60_000, None);
    for stream in &streams {
        rig.mint(stream);
    }
    rig.settle();
    assert!(matches!(rig.node.groups[0].trouble(), Some(BlockReason::Exhausted(_))));
    pass(&rig);
    rig.step();
    assert_eq!((rig.calls.len(), rig.sleep()), (0, None));
    assert!(rig.node.groups[0].trouble().is_none(), "whoever comes next finds out");
}

#[test]
fn who_wants_more_than_the_window_and_a_half_that_is_left_sleeps_until_one_window_is_left() {
    let (mut rig, stream, _) = of_two();
    let (id, request) = renewal(&mut rig);
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    stream.shared.want(1);
    rig.step();
    assert_eq!((rig.calls.len(), rig.sleep()), (0, Some(WINDOW / 2)));
    pass(&rig);
    rig.reserve();
}

#[test]
fn a_window_is_renewed_ahead_whichever_of_its_names_mints() {
    // Its positions are a thousandth of the others'.
    let seconds: Layout =
        "time:32 worker:10 sequence:12 tick=1s epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    for minting in [0, 1] {
        let mut rig = Rig::with(&Memory::default(), 5, Hands::at(BEGIN), 8 * WINDOW, false);
        let streams =
            [&Layout::TWITTER, &seconds].map(|layout| rig.snowflake(layout, Workers::all(10).unwrap()));
        for stream in &streams {
            rig.mint_in(stream);
        }
        rig.step();
        rig.hands.pass(2 * WINDOW);
        rig.mint(&streams[minting]);
        rig.hands.pass(2 * WINDOW);
        rig.step();
        assert_eq!(rig.calls.len(), 1, "name {minting}");
    }
}

#[test]
fn a_window_that_nobody_used_to_its_half_is_looked_at_eight_times_a_window() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.twitter();
    rig.mint_in(&stream);
    // The first look is at what was minted before the window came.
    rig.step();
    rig.hands.pass(WINDOW / 2);
    rig.step();
    assert_eq!((rig.calls.len(), rig.sleep()), (0, Some(WINDOW / 8)));
    rig.hands.pass(WINDOW / 2 - 10);
    rig.step();
    assert_eq!((rig.calls.len(), rig.sleep()), (0, Some(10)));
}

#[test]
fn at_most_64_slots_at_hand_are_tried_before_all_others() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let end = rig.now() + 60_000;
    rig.node.requests.settings.at_hand =
        Box::new(move |_| (0..100).map(|worker| AtHand { worker, mark: worker, end }).collect());
    let stream = rig.twitter();
    rig.mint(&stream);
    let mut asked = Vec::new();
    for _ in 0..80 {
        let (id, request) = rig.reserve();
        asked.push(worker_of(&request));
        rig.answer(id, refused(rig.now() + 500));
    }
    assert_eq!(asked[..64], (0..64).collect::<Vec<_>>());
    assert!(asked[64..].iter().any(|worker| *worker >= 100), "{asked:?}");
}

/// A fixed slot has no choice to make; of two slots, the one at hand is first.
#[test]
fn slots_at_hand_matter_where_there_is_a_choice() {
    for (slots, first) in [(7..=7, 7), (6..=7, 7), (7..=8, 7)] {
        let mut rig = Rig::new(&Memory::default(), 1);
        let end = rig.now() + 60_000;
        rig.node.requests.settings.at_hand = Box::new(move |_| vec![AtHand { worker: 7, mark: 0, end }]);
        let stream = rig.snowflake(&Layout::TWITTER, pool(slots.clone()));
        rig.mint(&stream);
        let (_, request) = rig.reserve();
        let bound = if slots == (7..=7) { rig.now() } else { rig.now() - WINDOW - 10_000 };
        assert_eq!((worker_of(&request), request.max_mark), (first, bound), "{slots:?}");
    }
}
