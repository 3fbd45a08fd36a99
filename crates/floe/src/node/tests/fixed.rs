//! A fixed worker id (design: "Fixed worker id").

use super::*;

const SLOT: u64 = 7;

fn fixed(ledger: &Memory, seed: u64) -> (Rig, Arc<Stream>) {
    in_its_slot(Rig::new(ledger, seed))
}

fn in_its_slot(mut rig: Rig) -> (Rig, Arc<Stream>) {
    let stream = rig.snowflake(&Layout::TWITTER, Workers::one(10, SLOT).unwrap());
    (rig, stream)
}

fn key() -> Key {
    Key::slot(10, SLOT)
}

fn note(host: &str) -> String {
    owner(host, 4).to_string()
}

#[test]
fn a_crashed_life_of_this_node_hands_on_at_its_mark_and_nothing_waits() {
    let ledger = Memory::default();
    let (mut rig, stream) = fixed(&ledger, 1);
    let mark = rig.other(&key(), rig.now(), 900_000, Some(&note("gone")));
    rig.mint(&stream);
    rig.settle();
    let Mint::Got { position, worker } = rig.mint(&stream) else { panic!("it waits") };
    assert_eq!(worker, SLOT);
    let time = Layout::TWITTER.time_of(Layout::TWITTER.tick_of(position));
    assert_eq!(time, UnixMillis::from_position(mark), "from the mark on, never below it (I3)");
    assert_eq!(rig.mark(&key()), mark + WINDOW);
    assert_eq!(rig.now(), mark, "the steady clock goes on from there");
}

#[test]
fn a_live_holder_is_named_at_once_with_the_time_and_nothing_is_pushed_on() {
    let ledger = Memory::default();
    let (mut rig, stream) = fixed(&ledger, 1);
    let mark = rig.other(&key(), rig.now(), 2_000, Some(&note("elsewhere")));
    for round in 0..5 {
        rig.mint(&stream);
        rig.settle();
        let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!("it mints") };
        assert!(text.contains("worker 7 is held until 2026-03-01T12:00:02.000Z"), "{text}");
        assert!(text.contains("`instance`"), "{text}");
        assert!(text.contains("host=elsewhere"), "{text}");
        assert_eq!((rig.mark(&key()), rig.now()), (mark, u64::try_from(BEGIN).unwrap() + 300 * round));
        rig.hands.pass(300);
    }
    // The holder stops renewing: when its window is over the slot is taken.
    rig.hands.pass(1_500);
    rig.settle();
    assert_eq!(rig.mint_in(&stream), SLOT);
}

#[test]
fn a_mark_too_far_ahead_of_a_dead_life_is_not_jumped_to() {
    let ledger = Memory::default();
    let (mut rig, stream) = fixed(&ledger, 1);
    let mark = rig.other(&key(), rig.now(), 3_600_001, Some(&note("gone")));
    rig.mint(&stream);
    rig.settle();
    let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!("it mints") };
    assert!(text.contains("earlier run") && text.contains("max_hold"), "{text}");
    assert_eq!((rig.mark(&key()), rig.now()), (mark, u64::try_from(BEGIN).unwrap()));
}

/// Whoever left the note is alive: it is this process.
#[test]
fn a_window_of_its_own_from_before_a_new_era_is_not_said_to_be_another_nodes() {
    const LONG: u64 = 2 * 3_600_000;
    let rig = Rig::with(&Memory::default(), 1, Hands::at(BEGIN), LONG, false);
    let (mut rig, stream) = in_its_slot(rig);
    rig.mint_in(&stream);
    rig.clock.invalidate();
    rig.mint(&stream);
    rig.settle();
    let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!("it mints") };
    assert!(text.contains("earlier run of this node") && text.contains("host=here"), "{text}");
}

#[test]
fn a_holder_without_a_note_is_taken_for_alive() {
    for note in [None, Some("left by another program")] {
        let ledger = Memory::default();
        let (mut rig, stream) = fixed(&ledger, 1);
        rig.other(&key(), rig.now(), 2_000, note);
        rig.mint(&stream);
        rig.settle();
        let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!("it mints") };
        assert!(text.contains(note.unwrap_or("left no note")), "{text}");
    }
}

#[test]
fn a_slot_that_is_nearly_free_is_waited_for() {
    // A predecessor that was closed a moment ago has minted up to max_ahead ahead.
    let ledger = Memory::default();
    let (mut rig, stream) = fixed(&ledger, 1);
    let mark = rig.other(&key(), rig.now(), 10, Some(&note("elsewhere")));
    rig.mint(&stream);
    rig.settle();
    assert_eq!(rig.mint(&stream), Mint::Empty(None), "no error: it is there in a moment");
    rig.hands.pass(10);
    rig.settle();
    assert_eq!(rig.mint_in(&stream), SLOT);
    assert_eq!(rig.mark(&key()), mark + WINDOW);
}

#[test]
fn the_race_for_a_crashed_slot_has_one_winner() {
    // Two starts believe that the holder was their own earlier run. Both push on, one gets the window.
    let ledger = Memory::default();
    let ((mut a, on_a), (mut b, on_b)) = (fixed(&ledger, 1), fixed(&ledger, 2));
    let mark = a.other(&key(), a.now(), 5_000, Some(&note("gone")));
    for (rig, stream) in [(&mut a, &on_a), (&mut b, &on_b)] {
        rig.mint(stream);
        let refused = rig.call();
        rig.serve(refused);
    }
    a.settle();
    b.settle();
    assert!(matches!(a.mint(&on_a), Mint::Got { .. }));
    let Mint::Empty(Some(MintError::Exhausted(text))) = b.mint(&on_b) else { panic!("both mint") };
    assert!(text.contains("host=here"), "{text}");
    assert_eq!(ledger.list("s/", "", 9).unwrap()[0].mark, mark + WINDOW, "marks do not run away");
}

#[test]
fn a_lost_fixed_slot_is_minted_in_to_its_end_then_told_and_then_recovers() {
    let ledger = Memory::default();
    let (mut rig, stream) = fixed(&ledger, 1);
    rig.mint_in(&stream);
    let held_to = rig.mark(&key());
    rig.other(&key(), held_to, 3_000, Some(&note("elsewhere")));
    let mut told = false;
    for _ in 0..90 {
        rig.settle();
        match rig.mint(&stream) {
            Mint::Got { worker, .. } => {
                assert!(worker == SLOT && (rig.now() < held_to || rig.now() >= held_to + 3_000))
            }
            Mint::Empty(Some(MintError::Exhausted(text))) => {
                assert!(text.contains("host=elsewhere") && text.contains("until"), "{text}");
                assert!(rig.now() >= held_to);
                told = true;
            }
            Mint::Empty(None) => assert!(rig.now() >= held_to),
            other => panic!("{other:?}"),
        }
        rig.hands.pass(60);
    }
    assert!(told);
    assert_eq!(rig.mint_in(&stream), SLOT, "it is free again, and ours");
}

/// A node whose renewal was refused since another one has its slot from then on, and when its own window ends.
fn lost() -> (Rig, Arc<Stream>, u64) {
    let (mut rig, stream) = fixed(&Memory::default(), 1);
    rig.mint_in(&stream);
    let held_to = rig.mark(&key());
    rig.other(&key(), held_to, 3_000, Some(&note("elsewhere")));
    rig.hands.pass(WINDOW / 2);
    stream.shared.want(1);
    rig.settle();
    (rig, stream, held_to)
}

/// Not a moment before, since the node still mints in it, and not a moment after.
#[test]
fn a_lost_fixed_slot_is_asked_for_at_the_end_of_its_window() {
    let (mut rig, stream, held_to) = lost();
    assert_eq!(rig.sleep(), Some(held_to - rig.now()), "it sleeps until then");
    rig.hands.pass(held_to - rig.now() - 1);
    stream.shared.want(1);
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    assert_eq!(rig.sleep(), Some(1));
    rig.hands.pass(1);
    stream.shared.want(1);
    assert_eq!(rig.reserve().1.key, key());
}

#[test]
fn a_lost_slot_is_given_back_to_nobody() {
    let (mut rig, ..) = lost();
    rig.node.close(&rig.clock);
    rig.collect();
    assert!(rig.calls.is_empty(), "the record is another node's: {:?}", rig.calls);
}

#[test]
fn a_new_era_goes_on_from_its_own_mark() {
    // The wall clock was set by two seconds; nobody else has reserved meanwhile.
    for by in [2_000, -2_000] {
        let ledger = Memory::default();
        let (mut rig, stream) = fixed(&ledger, 1);
        rig.mint_in(&stream);
        let Mint::Got { position: before, .. } = rig.mint(&stream) else { panic!("nothing minted") };
        let mark = rig.mark(&key());
        rig.hands.set(by);
        rig.mint(&stream);
        rig.settle();
        let Mint::Got { position, .. } = rig.mint(&stream) else { panic!("it stands still after {by}") };
        assert!(position > before);
        let time = Layout::TWITTER.time_of(Layout::TWITTER.tick_of(position)).position().unwrap();
        assert!(time >= mark, "nothing of the window before is minted");
    }
}

#[test]
fn of_two_copies_of_a_process_one_goes_on() {
    let ledger = Memory::default();
    // Both remember the same window, as a clone and its original do.
    let ((mut a, on_a), (mut b, on_b)) = (fixed(&ledger, 1), fixed(&ledger, 2));
    a.mint(&on_a);
    let (id, request) = a.reserve();
    let answer = ledger.reserve(&request);
    a.answer(id, answer.clone());
    b.mint(&on_b);
    let (id, _) = b.reserve();
    b.answer(id, answer);
    b.clock.invalidate();
    a.clock.invalidate();
    for (rig, stream) in [(&mut b, &on_b), (&mut a, &on_a)] {
        rig.mint(stream);
        rig.settle();
    }
    let from_b = b.mint(&on_b);
    assert!(matches!(from_b, Mint::Got { .. }));
    assert!(matches!(a.mint(&on_a), Mint::Empty(Some(MintError::Exhausted(_)))));
}

#[test]
fn a_layout_without_worker_bits_has_one_slot() {
    let layout =
        Layout::new("time:41 sequence:12", 1, UnixMillis::new(1_600_000_000_000), Layout::TWITTER.width());
    let ledger = Memory::default();
    let mut nodes = Vec::new();
    for seed in 0..2 {
        let mut rig = Rig::new(&ledger, seed);
        let stream = rig.snowflake(layout.as_ref().unwrap(), Workers::all(0).unwrap());
        rig.mint(&stream);
        rig.settle();
        nodes.push(rig.mint(&stream));
    }
    assert!(matches!(nodes[0], Mint::Got { worker: 0, .. }));
    assert!(matches!(nodes[1], Mint::Empty(Some(MintError::Exhausted(_)))));
}
