//! Slots that the ledger can answer for by itself (design: "Cache").

use super::*;
use crate::ledger::AtHand;

/// A node on a ledger that holds slots 7 and 9 in store, each for a minute.
fn rig(ledger: &Memory) -> (Rig, Arc<Stream>) {
    let mut rig = Rig::new(ledger, 1);
    let store = ledger.clone();
    rig.node.requests.settings.at_hand = Box::new(move |bits| {
        let marks = store.list(&format!("s/{bits}/"), "", 10).unwrap();
        let slot = |worker| {
            let key = Key::slot(bits, worker);
            let mark = marks.iter().find(|record| record.key == key.as_str()).map_or(0, |record| record.mark);
            AtHand { worker, mark, end: u64::try_from(BEGIN).unwrap() + 60_000 }
        };
        [9, 7].map(slot).to_vec()
    });
    let stream = rig.twitter();
    (rig, stream)
}

/// An earlier life of this node left slot 7, whose mark is the last value, a neighbour has slot 9, and a caller waits.
fn left_beside_a_neighbour(ledger: &Memory) -> (Rig, Arc<Stream>, u64) {
    let (rig, stream) = rig(ledger);
    let mark = rig.other(&slot(7), rig.now(), 30_000, Some(&note("gone")));
    rig.other(&slot(9), rig.now(), 45_000, Some(&note("alive")));
    rig.mint(&stream);
    (rig, stream, mark)
}

fn note(host: &str) -> String {
    owner(host, 4).to_string()
}

fn slot(worker: u64) -> Key {
    Key::slot(10, worker)
}

#[test]
fn the_slot_of_a_crashed_life_is_gone_on_with_at_its_mark_and_nothing_else_is_asked() {
    let ledger = Memory::default();
    let (mut rig, stream) = rig(&ledger);
    let mark = rig.other(&slot(7), rig.now(), 30_000, Some(&note("gone")));
    rig.other(&slot(9), rig.now(), 45_000, Some(&note("gone")));
    rig.mint(&stream);
    let mut asked = Vec::new();
    while let Some(call) = {
        rig.step();
        rig.calls.pop_front()
    } {
        if let Op::Reserve(request) = &call.op {
            asked.push(request.key.clone());
        }
        rig.serve(call);
    }
    assert_eq!(asked, [slot(7), slot(7)], "the one that is the least ahead, refused once and then taken");
    let Mint::Got { position, worker } = rig.mint(&stream) else { panic!("it waits") };
    let time = Layout::TWITTER.time_of(Layout::TWITTER.tick_of(position));
    assert_eq!((worker, time), (7, UnixMillis::from_position(mark)), "from the mark on, never below it (I3)");
    assert_eq!(rig.now(), mark);
}

#[test]
fn a_quiet_slot_at_hand_is_taken_without_moving_the_clock() {
    let ledger = Memory::default();
    let (mut rig, stream) = rig(&ledger);
    rig.other(&slot(9), rig.now() - 100_000, 1_000, Some(&note("elsewhere")));
    rig.other(&slot(7), rig.now(), 30_000, Some(&note("gone")));
    assert_eq!(rig.mint_in(&stream), 9);
    assert_eq!(rig.now(), u64::try_from(BEGIN).unwrap());
}

#[test]
fn a_live_neighbour_is_never_pushed_on() {
    let ledger = Memory::default();
    let (mut rig, stream) = rig(&ledger);
    let marks = [7, 9].map(|worker| rig.other(&slot(worker), rig.now(), 5_000, Some(&note("alive"))));
    let worker = rig.mint_in(&stream);
    assert!(![7, 9].contains(&worker), "{worker}");
    assert_eq!([7, 9].map(|worker| rig.mark(&slot(worker))), marks);
    assert_eq!(rig.now(), u64::try_from(BEGIN).unwrap());
}

#[test]
fn a_slot_whose_store_is_too_short_for_a_window_or_that_is_not_ours_to_take_is_no_different() {
    let begin = u64::try_from(BEGIN).unwrap();
    for (mark, room, pool) in
        [(0, WINDOW - 1, 0..=1_023), (begin + 20_000, WINDOW - 1, 0..=1_023), (0, 60_000, 8..=9)]
    {
        let slot = AtHand { worker: 7, mark, end: mark.max(begin) + room };
        let mut rig = Rig::new(&Memory::default(), 1);
        rig.node.requests.settings.at_hand = Box::new(move |_| vec![slot]);
        let stream = rig.snowflake(&Layout::TWITTER, Workers::range(10, pool).unwrap());
        assert_ne!(rig.mint_in(&stream), 7);
    }
}

#[test]
fn an_answer_that_was_lost_is_asked_for_again_in_the_slot_that_is_gone_on_with() {
    let ledger = Memory::default();
    let (mut rig, stream, mark) = left_beside_a_neighbour(&ledger);
    let (id, refused) = rig.reserve();
    assert_eq!(refused.max_mark, rig.now() - WINDOW - 10_000, "a live neighbour may be behind");
    rig.answer(id, ledger.reserve(&refused));
    let (id, first) = rig.reserve();
    assert_eq!((&first.key, first.max_mark), (&slot(7), mark));
    rig.answer(id, unavailable());
    rig.hands.pass(1_000);
    let (id, again) = rig.reserve();
    assert_eq!((again.key.clone(), again.token), (first.key, first.token));
    assert!(again.max_mark >= mark, "it was ours to go on with, and still is");
    rig.answer(id, ledger.reserve(&again));
    assert_eq!(rig.mint_in(&stream), 7);
}

/// The refusal that was lost would have named the same holder.
#[test]
fn the_holder_of_a_slot_at_hand_is_judged_also_where_the_question_was_asked_twice() {
    let ledger = Memory::default();
    let (mut rig, stream, mark) = left_beside_a_neighbour(&ledger);
    let (id, first) = rig.reserve();
    rig.answer(id, unavailable());
    rig.hands.pass(1_000);
    let (id, again) = rig.reserve();
    assert_eq!((&again.key, again.token), (&slot(7), first.token));
    rig.answer(id, ledger.reserve(&again));
    let (id, goes_on) = rig.reserve();
    assert_eq!((&goes_on.key, goes_on.max_mark), (&slot(7), mark));
    rig.answer(id, ledger.reserve(&goes_on));
    assert_eq!(rig.mint_in(&stream), 7);
}

#[test]
fn who_loses_the_race_for_a_crashed_slot_at_hand_goes_on_to_the_next() {
    // A twin, who has this node's name, leaves a note that looks like one of its earlier life.
    for who in ["elsewhere", "gone"] {
        let ledger = Memory::default();
        let (mut rig, _stream, mark) = left_beside_a_neighbour(&ledger);
        let refused = rig.call();
        rig.serve(refused);
        let goes_on = rig.call();
        rig.other(&slot(7), mark, 5_000, Some(&note(who)));
        rig.serve(goes_on);
        let (id, next) = rig.reserve();
        assert_eq!(next.key, slot(9), "{who}");
        rig.answer(id, unavailable());
        rig.hands.pass(1_000);
        let (_, again) = rig.reserve();
        assert_eq!((&again.key, again.token), (&slot(9), next.token), "{who}");
        assert_eq!(
            again.max_mark,
            rig.now() - WINDOW - 10_000,
            "{who}: a live neighbour is not gone on from"
        );
    }
}

/// Whoever left the note is alive: it is this process.
#[test]
fn in_a_new_era_a_node_goes_on_in_its_own_slot_at_hand() {
    let ledger = Memory::default();
    let (mut rig, stream) = rig(&ledger);
    rig.other(&slot(7), rig.now(), 45_000, Some(&note("alive")));
    assert_eq!(rig.mint_in(&stream), 9);
    let mark = rig.mark(&slot(9));
    rig.clock.invalidate();
    assert_eq!(rig.mint_in(&stream), 9);
    assert_eq!(rig.now(), mark, "nothing of the window before is minted");
}

/// A node that has found that the slots at hand were deleted.
fn deleted(ledger: &Memory) -> (Rig, Arc<Stream>) {
    let (mut rig, stream) = rig(ledger);
    for worker in [7, 9] {
        rig.other(&slot(worker), rig.now(), 1_000, None);
        assert!(ledger.lose(&slot(worker)));
    }
    rig.mint(&stream);
    for _ in 0..2 {
        let missing = rig.call();
        rig.serve(missing);
    }
    (rig, stream)
}

#[test]
fn a_slot_at_hand_that_was_deleted_is_asked_for_no_second_time() {
    let (mut rig, stream) = deleted(&Memory::default());
    rig.clock.invalidate();
    rig.calls.clear();
    rig.mint(&stream);
    let next = rig.reserve().1.key;
    assert!(![slot(7), slot(9)].contains(&next), "{next:?}");
}

/// Only the holder of a slot at hand is judged.
#[test]
fn after_slots_at_hand_without_a_record_the_slot_of_a_crashed_run_moves_no_clock() {
    let (mut rig, _) = deleted(&Memory::default());
    let (id, probed) = rig.reserve();
    assert!(![slot(7), slot(9)].contains(&probed.key));
    let mark = rig.now() + 30_000;
    rig.answer(id, Ok(Reply::Refused { mark, note: Some(note("gone")) }));
    assert_ne!(rig.reserve().1.key, probed.key);
    assert_eq!(rig.now(), u64::try_from(BEGIN).unwrap());
}

#[test]
fn a_slot_that_has_no_room_for_the_tick_that_has_begun_is_no_different() {
    let minute: Layout =
        "time:30 worker:10 sequence:12 tick=60s epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    // The window begins with the tick, and ends where one that begins now would end.
    for (short, worker) in [(0, true), (1, false)] {
        let mut rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN + 25_000), 600_000, false);
        let end = rig.now() + 600_000 - short;
        rig.node.requests.settings.at_hand = Box::new(move |_| vec![AtHand { worker: 7, mark: 0, end }]);
        let stream = rig.snowflake(&minute, Workers::all(10).unwrap());
        assert_eq!(rig.mint_in(&stream) == 7, worker, "{short} ms too short");
    }
}
