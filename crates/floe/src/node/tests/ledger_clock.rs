//! The clock check against the ledger's own clock (design: "Clock check").

use super::*;
use crate::clock::ClockState;

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;

/// A node whose ledger's clock is `ahead` of what this machine's showed at first.
fn rig(ahead: i64) -> (Rig, Arc<Stream>) {
    let mut rig = Rig::new(&Memory::default(), 1);
    rig.ledger_clock = LedgersClock::AtOnce(Some(ahead));
    let stream = rig.twitter();
    (rig, stream)
}

fn by_hand() -> (Rig, Arc<Stream>) {
    let (mut rig, stream) = rig(0);
    rig.ledger_clock = LedgersClock::ByHand;
    (rig, stream)
}

/// The question about the ledger's clock that waits.
fn question(rig: &mut Rig) -> u64 {
    match rig.call() {
        Call { id, op: Op::Clock } => id,
        other => panic!("{other:?} is no question about a clock"),
    }
}

fn say(rig: &mut Rig, id: u64, said: i64) {
    rig.node.handle_clock(id, Ok(Some(UnixMillis::new(said))), &rig.clock);
    rig.collect();
}

/// Why nothing is minted.
#[track_caller]
fn stopped(rig: &mut Rig, stream: &Stream) -> String {
    rig.mint(stream);
    rig.settle();
    match rig.mint(stream) {
        Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Clock, cause: text }))) => text,
        other => panic!("{other:?}"),
    }
}

fn time_of(mint: &Mint) -> UnixMillis {
    match mint {
        Mint::Got { position, .. } => Layout::TWITTER.time_of(Layout::TWITTER.tick_of(*position)),
        other => panic!("{other:?}"),
    }
}

fn state(rig: &Rig) -> ClockState {
    rig.clock.look().state
}

#[test]
fn a_node_an_hour_off_reserves_nothing_and_says_by_how_much() {
    for (ahead, side) in [(HOUR, "3600.000 s behind"), (-HOUR, "3600.000 s ahead of")] {
        let (mut rig, stream) = rig(ahead);
        let text = stopped(&mut rig, &stream);
        for part in [side, "the ledger (memory:)", "clock.ledger = \"ignore\"", "--ignore-ledger-clock"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(rig.ledger.list("s/", "", 10), Ok(Vec::new()), "nothing was asked of any slot");
    }
}

#[test]
fn ten_seconds_are_allowed_either_way() {
    for (ahead, allowed) in [(10_000, true), (-10_000, true), (10_001, false), (-10_001, false)] {
        let (mut rig, stream) = rig(ahead);
        rig.mint(&stream);
        rig.settle();
        assert_eq!(matches!(rig.mint(&stream), Mint::Got { .. }), allowed, "{ahead}");
    }
}

#[test]
fn a_node_that_is_told_to_ignore_the_ledgers_clock_does_not_ask_for_it() {
    let (mut rig, stream) = by_hand();
    rig.node.requests().settings.check_clock = false;
    rig.mint_in(&stream);
    rig.hands.set(HOUR);
    rig.mint_in(&stream);
    // Nor where that clock could show that this one is right again.
    rig.hands.set(-3 * HOUR);
    rig.step();
    assert!(matches!(state(&rig), ClockState::Refused(_)) && rig.calls.is_empty(), "{:?}", rig.calls);
}

#[test]
fn names_without_a_slot_do_not_wait_for_the_ledgers_clock() {
    let (mut rig, stream) = by_hand();
    let numbers = rig.segment("tickets", STEPS);
    rig.mint(&stream);
    let asked = question(&mut rig);
    assert_eq!(rig.numbers_after_settling(&numbers, 1), 0);
    assert_eq!(rig.mint(&stream), Mint::Empty(None), "a snowflake does");
    say(&mut rig, asked, BEGIN);
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn only_what_the_length_of_the_call_cannot_explain_is_counted() {
    for (said, allowed) in [
        (BEGIN - 10_000, true),
        (BEGIN - 10_001, false),
        // It may have been read at the end of thirty seconds as well as at their beginning.
        (BEGIN + 40_000, true),
        (BEGIN + 40_001, false),
    ] {
        let (mut rig, stream) = by_hand();
        rig.mint(&stream);
        let asked = question(&mut rig);
        rig.hands.pass(30_000);
        say(&mut rig, asked, said);
        rig.settle();
        assert_eq!(matches!(rig.mint(&stream), Mint::Got { .. }), allowed, "{}", said - BEGIN);
    }
}

#[test]
fn a_clock_that_is_set_right_serves_again() {
    // Two hours are more than is held through.
    for ahead in [HOUR, -HOUR, 2 * HOUR, -2 * HOUR] {
        let (mut rig, stream) = rig(ahead);
        stopped(&mut rig, &stream);
        rig.hands.pass(1_000);
        rig.hands.set(ahead);
        rig.mint_in(&stream);
        assert_eq!(time_of(&rig.mint(&stream)), UnixMillis::new(BEGIN + SECOND + ahead), "{ahead}");
        assert_eq!(state(&rig), ClockState::Level);
    }
}

#[test]
fn a_ledger_whose_clock_is_set_right_is_asked_again_at_a_bounded_pace() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    say(&mut rig, asked, BEGIN - HOUR);
    assert!(rig.calls.is_empty());
    // Somebody comes every hundred milliseconds.
    let mut questions = 0;
    for _ in 0..200 {
        rig.mint(&stream);
        rig.step();
        while let Some(call) = rig.calls.pop_front() {
            if call.op != Op::Clock {
                rig.serve(call);
                continue;
            }
            questions += 1;
            let wrong = if questions > 1 { 0 } else { HOUR };
            let said = rig.right_time().get() - wrong;
            say(&mut rig, call.id, said);
        }
        if matches!(rig.mint(&stream), Mint::Got { .. }) {
            break;
        }
        rig.hands.pass(100);
    }
    assert_eq!(questions, 2, "one every five seconds");
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn a_slot_costs_one_trip_once_the_clock_is_known() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    say(&mut rig, asked, BEGIN);
    // Each slot is lost to somebody else, and another one is taken, for less than five minutes.
    for _ in 0..20 {
        let (id, request) = rig.reserve();
        let answer = rig.ledger.reserve(&request);
        rig.answer(id, answer);
        assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
        assert!(rig.calls.is_empty(), "no other question");
        let mark = rig.mark(&request.key);
        rig.other(&request.key, mark, WINDOW, None);
        rig.hands.pass(WINDOW + 11_000);
        rig.mint(&stream);
        let (id, renewal) = rig.reserve();
        assert_eq!(renewal.key, request.key);
        let refused = rig.ledger.reserve(&renewal);
        assert!(matches!(refused, Ok(Reply::Refused { .. })));
        rig.answer(id, refused);
        rig.mint(&stream);
    }
}

#[test]
fn the_ledgers_clock_is_asked_again_after_five_minutes_and_nobody_waits() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    say(&mut rig, asked, BEGIN);
    rig.settle();
    rig.hands.pass(299_999);
    rig.mint(&stream);
    rig.reserve();
    assert!(rig.calls.is_empty(), "not yet");
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    say(&mut rig, asked, BEGIN);
    rig.settle();
    rig.hands.pass(300_000);
    assert_eq!(rig.node.deadline(&rig.clock.look()), None, "nobody mints, so nobody asks");
    rig.mint(&stream);
    let asked = question(&mut rig);
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }), "without that answer");
    let gone = LedgerError::Unavailable("gone".to_owned());
    rig.node.handle_clock(asked, Err(gone), &rig.clock);
    assert_eq!(stream.shared.trouble(), None, "a name that has a window is in no trouble");
    let now = rig.clock.look();
    let again = rig.node.deadline(&now).map(|at| at.since(now.mono));
    assert_eq!(again, Some(WINDOW / 2), "and nobody looks when to ask again: that is for who reserves next");
}

/// It can say nothing about the machine's clock.
#[test]
fn a_ledger_without_a_clock_is_not_asked_more_often_while_the_machines_clock_is_refused() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    rig.node.handle_clock(asked, Ok(None), &rig.clock);
    rig.settle();
    rig.hands.set(-2 * HOUR);
    let asked = question(&mut rig);
    rig.node.handle_clock(asked, Ok(None), &rig.clock);
    rig.hands.pass(299_999);
    rig.step();
    assert!(matches!(state(&rig), ClockState::Refused(_)));
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    rig.hands.pass(1);
    question(&mut rig);
}

#[test]
fn an_answer_about_the_clock_counts_once_and_not_after_the_end() {
    let gone = || Err(LedgerError::Unavailable("gone".to_owned()));
    for (closed, answer) in [(false, gone()), (true, gone()), (true, Ok(None))] {
        let (mut rig, stream) = by_hand();
        rig.mint(&stream);
        let asked = question(&mut rig);
        if closed {
            rig.node.close(&rig.clock);
            assert!(!rig.node.is_drained(), "closing waits for the answer, so that threads can end");
        } else {
            say(&mut rig, asked, BEGIN);
            rig.settle();
        }
        rig.node.handle_clock(asked, answer, &rig.clock);
        assert_eq!((rig.node.down(), rig.node.groups[0].trouble()), (None, None), "closed: {closed}");
        assert!(rig.node.is_drained(), "closed: {closed}");
    }
}

/// Its callers were told, and have gone.
#[test]
fn a_clock_that_is_set_right_reserves_nothing_for_nobody() {
    let (mut rig, stream) = rig(HOUR);
    rig.mint(&stream);
    rig.settle();
    assert!(stream.shared.trouble().is_some());
    rig.hands.pass(10_000);
    rig.hands.set(HOUR);
    rig.settle();
    assert_eq!(rig.ledger.list("s/", "", 10), Ok(Vec::new()));
}

/// Numbers do not depend on the time.
#[test]
fn a_node_without_snowflakes_asks_for_no_clock_after_a_rollback() {
    let mut rig = Rig::new(&Memory::default(), 1);
    rig.ledger_clock = LedgersClock::ByHand;
    let numbers = rig.segment("tickets", STEPS);
    rig.numbers_after_settling(&numbers, 1);
    rig.hands.set(-2 * HOUR);
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    assert!(matches!(state(&rig), ClockState::Refused(_)));
}

#[test]
fn a_machine_that_slept_takes_the_new_time_at_once_and_finds_slots() {
    for with_clock in [true, false] {
        let mut rig = Rig::new(&Memory::default(), 1);
        rig.ledger_clock = LedgersClock::AtOnce(with_clock.then_some(0));
        let stream = rig.snowflake(&Layout::TWITTER, Workers::range(10, 0..=1).unwrap());
        rig.mint_in(&stream);
        // Others have used both slots while it slept for three hours.
        for worker in 0..=1 {
            rig.other(&Key::slot(10, worker), rig.now() + 3_600_000, WINDOW, None);
        }
        rig.hands.set(3 * HOUR);
        rig.ledger_clock = LedgersClock::AtOnce(with_clock.then_some(3 * HOUR));
        rig.mint(&stream);
        rig.settle();
        let mint = rig.mint(&stream);
        if with_clock {
            assert_eq!(time_of(&mint), UnixMillis::new(BEGIN + 3 * HOUR));
            assert_eq!(state(&rig), ClockState::Level);
        } else {
            // Without a ledger's clock it has to wait until it believes its own.
            assert!(matches!(mint, Mint::Empty(Some(MintError::Exhausted(_)))), "{mint:?}");
        }
    }
}

#[test]
fn a_jump_that_the_ledgers_clock_contradicts_is_not_followed_however_long_it_lasts() {
    let (mut rig, stream) = rig(0);
    rig.mint_in(&stream);
    rig.hands.set(3 * HOUR);
    for _ in 0..1_200 {
        rig.hands.pass(100);
        rig.mint_in(&stream);
    }
    assert_eq!(time_of(&rig.mint(&stream)), UnixMillis::new(BEGIN + 120 * SECOND));
    assert_eq!(state(&rig), ClockState::Contradicted(3 * HOUR.unsigned_abs()));
    rig.hands.set(-3 * HOUR);
    rig.mint_in(&stream);
    assert_eq!((rig.now(), state(&rig)), ((BEGIN + 120 * SECOND).unsigned_abs(), ClockState::Level));
}

#[test]
fn what_was_asked_before_the_clock_moved_is_asked_again() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let before = question(&mut rig);
    // The machine sleeps for an hour, and then the answer from before arrives.
    rig.hands.set(HOUR);
    let after = question(&mut rig);
    say(&mut rig, before, BEGIN);
    assert!(rig.calls.is_empty(), "nothing is reserved by it");
    say(&mut rig, after, BEGIN + HOUR);
    rig.settle();
    assert_eq!(time_of(&rig.mint(&stream)), UnixMillis::new(BEGIN + HOUR));
}

/// The answer comes before the node has looked at the clock, and so before it has asked anew.
#[test]
fn an_answer_counts_in_the_era_in_which_it_was_asked_for() {
    for news in [|rig: &mut Rig| rig.clock.invalidate(), |rig: &mut Rig| rig.hands.set(HOUR)] {
        let (mut rig, stream) = by_hand();
        rig.mint(&stream);
        let before = question(&mut rig);
        news(&mut rig);
        let now = rig.clock.look().wall;
        say(&mut rig, before, now.get());
        let after = question(&mut rig);
        assert!(rig.calls.is_empty(), "nothing is reserved by what was said before");
        say(&mut rig, after, now.get());
        rig.settle();
        assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    }
}

/// The steady clock is right, so windows are reserved; but the machine's may be set right at any time.
#[test]
fn while_the_machines_clock_is_contradicted_the_ledgers_is_asked_every_five_seconds() {
    for (passed, asks) in [(4_900, false), (5_000, true)] {
        let (mut rig, stream) = by_hand();
        rig.hands.set(HOUR);
        rig.mint(&stream);
        let asked = question(&mut rig);
        say(&mut rig, asked, BEGIN);
        rig.settle();
        assert!(matches!(rig.clock.look().state, ClockState::Contradicted(_)), "{:?}", rig.clock.look());
        rig.mint_in(&stream);
        rig.hands.pass(passed);
        rig.mint(&stream);
        rig.step();
        assert_eq!(rig.calls.iter().any(|call| call.op == Op::Clock), asks, "{passed} ms later");
    }
}

/// Somebody may set the ledger's right, which shows that the machine's is.
#[test]
fn while_the_machines_clock_is_refused_the_ledgers_is_asked_every_five_seconds() {
    for (passed, asks) in [(4_900, false), (5_000, true)] {
        let (mut rig, stream) = by_hand();
        rig.mint(&stream);
        let asked = question(&mut rig);
        say(&mut rig, asked, BEGIN);
        rig.settle();
        rig.hands.set(-2 * HOUR);
        let asked = question(&mut rig);
        say(&mut rig, asked, BEGIN);
        rig.settle();
        assert!(matches!(state(&rig), ClockState::Refused(_)), "{:?}", rig.clock.look());
        rig.hands.pass(passed);
        rig.step();
        assert_eq!(rig.calls.iter().any(|call| call.op == Op::Clock), asks, "{passed} ms later");
    }
}

#[test]
fn nobody_asks_for_the_clock_again_who_reserves_nothing() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    say(&mut rig, asked, BEGIN);
    rig.settle();
    // The window passes without a mint.
    rig.hands.pass(24 * HOUR.unsigned_abs());
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
}

#[test]
fn a_node_whose_clock_drifts_off_mints_to_the_end_of_its_window() {
    let (mut rig, stream) = rig(0);
    rig.mint_in(&stream);
    // Five minutes later the ledger's clock has fallen behind by twenty seconds.
    rig.hands.pass(300_000);
    rig.mint_in(&stream);
    rig.ledger_clock = LedgersClock::AtOnce(Some(-20_000));
    rig.hands.pass(300_000);
    // The answer that it has is carried on once more, while the new one is on its way.
    rig.mint_in(&stream);
    let end = rig.node.groups[0].window().unwrap().1;
    rig.hands.pass(WINDOW - 1);
    rig.mint(&stream);
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }), "its window lasts");
    assert_eq!(rig.node.groups[0].window().unwrap().1, end, "and gets no successor");
    rig.hands.pass(1);
    let text = stopped(&mut rig, &stream);
    assert!(text.contains("20.000 s ahead of") && text.contains("set the wrong one right"), "{text}");
    // It is set right: the time is behind what was minted, and order holds.
    let last = rig.clock.look().stamp.time();
    rig.hands.set(-20_000);
    let text = stopped(&mut rig, &stream);
    assert!(text.contains("the clock is right again") && text.contains("start this process again"), "{text}");
    for _ in 0..30_000 {
        if let Mint::Got { .. } = rig.mint(&stream) {
            break;
        }
        rig.hands.pass(1);
        rig.settle();
    }
    assert!(time_of(&rig.mint(&stream)) >= last.plus(-1));
    assert!(rig.hands.read().wall.since(last) < 2_000, "{:?}", rig.hands.read());
}

/// The ledger may be out of reach meanwhile; the monotonic clock carries on what it said.
#[test]
fn that_the_clock_is_right_again_is_told_for_as_long_as_the_process_waits() {
    let (mut rig, stream) = rig(0);
    rig.mint_in(&stream);
    rig.ledger_clock = LedgersClock::AtOnce(Some(-60_000));
    rig.hands.set(-60_000);
    let text = stopped(&mut rig, &stream);
    assert!(text.contains("60.000 s ahead of") && text.contains("the clock is right again"), "{text}");
    rig.hands.pass(15_000);
    let text = rig.node.apart(&rig.clock.look()).unwrap();
    assert!(text.contains("45.000 s ahead of") && text.contains("the clock is right again"), "{text}");
}

#[test]
fn a_clock_that_was_ahead_goes_back_no_further_than_it_was_believed() {
    let (mut rig, stream) = rig(-9_000);
    rig.mint_in(&stream);
    let first = rig.mint(&stream);
    // Another nine seconds, which is a step that is followed, are too many.
    rig.hands.set(9_000);
    assert!(stopped(&mut rig, &stream).contains("18.000 s ahead of"));
    rig.hands.set(-18_000);
    rig.mint_in(&stream);
    let second = rig.mint(&stream);
    assert!(time_of(&second) >= time_of(&first) && second != first);
    assert_eq!(rig.now(), BEGIN.unsigned_abs());
}

#[test]
fn a_ledger_that_does_not_say_its_time_is_unavailable_and_asked_until_it_does() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    for round in 0..20 {
        let asked = question(&mut rig);
        let gone = LedgerError::Unavailable("gone".to_owned());
        rig.node.handle_clock(asked, Err(gone), &rig.clock);
        rig.step();
        assert!(rig.calls.is_empty(), "not before a pause");
        let mint = rig.mint(&stream);
        assert!(matches!(mint, Mint::Empty(Some(MintError::Unavailable { .. }))), "{mint:?}");
        let pause = rig.sleep().expect("it asks again by itself");
        assert!((12..=400).contains(&pause), "round {round}: {pause}");
        rig.hands.pass(pause);
        rig.step();
        assert_eq!(rig.node.deadline(&rig.clock.look()), None, "not while it is asked");
    }
    assert!(rig.node.down().is_some());
    let (asked, now) = (question(&mut rig), rig.right_time());
    rig.node.silent_since(now);
    say(&mut rig, asked, now.get());
    assert!(rig.node.down().is_none(), "it answers");
    assert_eq!(rig.node.silent_since(now.plus(1)), now.plus(1), "which ends a silence");
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn a_ledger_that_is_not_fit_says_so_here_as_well() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    rig.node.handle_clock(asked, Err(LedgerError::Unfit("replaced".to_owned())), &rig.clock);
    assert_eq!(rig.node.stopped(), Some("replaced"));
}

#[test]
fn a_fixed_worker_goes_on_from_its_own_mark_which_is_no_clocks_fault() {
    let mut rig = Rig::new(&Memory::default(), 1);
    rig.ledger_clock = LedgersClock::AtOnce(Some(0));
    let stream = rig.snowflake(&Layout::TWITTER, Workers::one(10, 7).unwrap());
    let gone = owner("gone", 4).to_string();
    let mark = rig.other(&Key::slot(10, 7), rig.now(), 900_000, Some(&gone));
    rig.mint_in(&stream);
    assert_eq!(time_of(&rig.mint(&stream)), UnixMillis::from_position(mark));
    // And through the renewals of an hour, while it holds.
    for _ in 0..3_600 {
        rig.hands.pass(1_000);
        rig.mint_in(&stream);
    }
    // The lead is no less while the wall clock shows nonsense.
    rig.hands.set(10_000 * HOUR);
    rig.mint_in(&stream);
    rig.hands.set(-10_000 * HOUR);
    rig.mint_in(&stream);
    // A clock that is wrong besides is found out.
    rig.hands.set(9_000);
    rig.mint_in(&stream);
    rig.hands.set(9_000);
    assert!(stopped(&mut rig, &stream).contains("18.000 s ahead of"));
}

fn fail(rig: &mut Rig, id: u64) {
    rig.node.handle_clock(id, Err(LedgerError::Unavailable("gone".to_owned())), &rig.clock);
    rig.collect();
}

#[test]
fn after_an_answer_the_clocks_first_pause_is_short_again() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    for _ in 0..8 {
        let asked = question(&mut rig);
        fail(&mut rig, asked);
        rig.hands.pass(400);
    }
    let (asked, now) = (question(&mut rig), rig.right_time());
    say(&mut rig, asked, now.get());
    rig.settle();
    rig.clock.invalidate();
    rig.mint(&stream);
    let asked = question(&mut rig);
    fail(&mut rig, asked);
    assert!(rig.sleep().is_some_and(|pause| pause <= Pause::FIRST_MS), "{:?}", rig.sleep());
}

/// Whoever waits for the clock is told that the ledger is gone, by whichever of the questions that shows.
#[test]
fn a_question_of_the_era_before_that_fails_says_that_the_ledger_is_gone() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let before = question(&mut rig);
    rig.clock.invalidate();
    let after = question(&mut rig);
    fail(&mut rig, before);
    let mint = rig.mint(&stream);
    assert!(matches!(mint, Mint::Empty(Some(MintError::Unavailable { .. }))), "{mint:?}");
    // It is not asked twice at once, and what it says then counts.
    rig.hands.pass(400);
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    let now = rig.right_time();
    say(&mut rig, after, now.get());
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

/// It reserves nothing before the machine's clock is right again, so the ledger's is not what it waits for.
#[test]
fn a_name_whose_clock_is_refused_is_in_no_trouble_with_a_ledger_that_does_not_say_its_time() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    question(&mut rig);
    rig.hands.set(-2 * HOUR);
    let asked = question(&mut rig);
    assert!(matches!(state(&rig), ClockState::Refused(_)));
    fail(&mut rig, asked);
    assert_eq!(rig.node.groups[0].trouble(), None);
}

/// It has a window, since its floe has heard of the ledger's clock by itself, while the node's own question failed.
#[test]
fn a_node_that_nobody_asks_for_anything_does_not_look_again_at_once_in_a_new_era() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let asked = question(&mut rig);
    let now = rig.clock.look();
    rig.clock.hear(Some(now.wall), now.mono, now.stamp.era());
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    fail(&mut rig, asked);
    rig.hands.pass(400);
    rig.clock.invalidate();
    rig.step();
    assert_ne!(rig.sleep(), Some(0));
}

/// Whatever the ledger is asked by then, it is not the one that it was.
#[test]
fn a_ledger_that_is_unfit_stops_the_node_also_where_its_clock_was_asked_for_again_meanwhile() {
    let (mut rig, stream) = by_hand();
    rig.mint(&stream);
    let first = question(&mut rig);
    rig.hands.set(2 * SECOND);
    let second = question(&mut rig);
    assert_ne!(first, second);
    let unfit = LedgerError::Unfit("it was replaced".to_owned());
    rig.node.handle_clock(first, Err(unfit), &rig.clock);
    assert!(rig.node.stopped().is_some_and(|cause| cause.contains("it was replaced")));
}
