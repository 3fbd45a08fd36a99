//! The steady clock on readings that the tests make up, and the ticker on the machine's.

use std::sync::Weak;
use std::sync::atomic::AtomicI64;

use proptest::prelude::*;

use super::*;

mod bounds;

const START: i64 = 1_700_000_000_000;
const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;

/// A wall and a monotonic clock, and the steady clock that looks at them.
struct Clocks {
    wall: i64,
    mono: u64,
    steady: Steady,
}

impl Clocks {
    fn new() -> Self {
        Self::starting_at(START)
    }

    fn starting_at(wall: i64) -> Self {
        let steady = Steady::new(ClockPolicy::default(), reading(wall, 0));
        Self { wall, mono: 0, steady }
    }

    /// Both clocks run, and are looked at once, at the end.
    fn idle(&mut self, millis: i64) {
        self.wall += millis;
        self.mono += millis.unsigned_abs();
        self.steady.observe(reading(self.wall, self.mono));
    }

    /// Both clocks run, and are looked at every tenth of a second.
    fn run(&mut self, millis: i64) {
        for _ in 0..millis / 100 {
            self.idle(100);
        }
        assert_eq!(millis % 100, 0);
    }

    /// The wall clock alone moves.
    fn step(&mut self, millis: i64) {
        self.wall += millis;
        self.steady.observe(reading(self.wall, self.mono));
    }

    /// Steady minus wall.
    fn offset(&self) -> i64 {
        self.steady.time.since(UnixMillis::new(self.wall))
    }

    fn time(&self) -> i64 {
        self.steady.now().stamp.time().get()
    }

    fn era(&self) -> u64 {
        self.steady.now().stamp.era()
    }

    fn state(&self) -> ClockState {
        self.steady.now().state
    }
}

fn reading(wall: i64, mono: u64) -> Reading {
    Reading { wall: UnixMillis::new(wall), mono: MonoMillis::new(mono) }
}

#[test]
fn a_wall_clock_that_stands_does_not_stop_the_time() {
    let mut clocks = Clocks::new();
    clocks.run(10 * SECOND);
    let before = clocks.time();
    for _ in 0..1_000 {
        clocks.mono += 10;
        clocks.steady.observe(reading(clocks.wall, clocks.mono));
    }
    // Ten seconds, less a twentieth, and what it takes to see that the clock stands.
    assert!((9_400..=9_500).contains(&(clocks.time() - before)), "{}", clocks.time() - before);
    assert!(matches!(clocks.state(), ClockState::Holding(_)), "{:?}", clocks.state());
    assert_eq!(clocks.era(), 0, "nobody has set it");
    // It runs again where it stood: the steady clock holds on until they meet.
    let held = clocks.offset();
    clocks.run(10 * SECOND);
    assert!((held - 550..held - 400).contains(&clocks.offset()), "{} after {held}", clocks.offset());
}

#[test]
fn a_wall_clock_that_stands_is_held_through_for_an_hour_and_no_longer() {
    let mut clocks = Clocks::new();
    for _ in 0..2 * 3_600 * 2 {
        clocks.mono += 500;
        clocks.steady.observe(reading(clocks.wall, clocks.mono));
    }
    assert!(matches!(clocks.state(), ClockState::Refused(_)), "{:?}", clocks.state());
    assert!(clocks.offset() >= HOUR && clocks.offset() < HOUR + SECOND, "{}", clocks.offset());
}

#[test]
fn a_wall_clock_stands_that_is_over_twenty_milliseconds_short_of_the_least_rate() {
    // In twentieths: 40 * 19 - 18 * 20 = 400, and 59 * 19 - 36 * 20 = 401.
    for (elapsed, ran, stands) in [(40, 18, false), (59, 36, true)] {
        let mut clocks = Clocks::new();
        (clocks.wall, clocks.mono) = (clocks.wall + ran, clocks.mono + elapsed);
        clocks.step(0);
        assert_eq!(clocks.offset() > 0, stands, "{elapsed} ms, of which it showed {ran}");
        assert_eq!(clocks.state() == ClockState::Level, !stands);
    }
}

/// It loses a fifth of its time, and is set back by a millisecond ten times a second.
#[test]
fn a_step_back_does_not_make_up_for_a_slow_wall_clock() {
    let mut clocks = Clocks::new();
    for _ in 0..600 {
        clocks.mono += 100;
        clocks.step(81);
        clocks.step(-1);
    }
    let ran = clocks.time() - START;
    assert!(ran >= 57 * SECOND - 100, "the least rate is 95 %: {ran} ms in a minute");
}

/// A second is enough, however long it stood. Else a small rollback after it would not be waited for.
#[test]
fn a_wall_clock_that_stood_for_long_is_trusted_when_it_has_run_for_a_second() {
    let mut clocks = Clocks::new();
    clocks.steady.policy.wait_ms = HOUR.unsigned_abs();
    for _ in 0..600 {
        clocks.mono += 1_000;
        clocks.step(0);
    }
    assert!(matches!(clocks.state(), ClockState::Holding(_)), "{:?}", clocks.state());
    clocks.run(SECOND);
    assert!(matches!(clocks.state(), ClockState::Waiting(_)), "{:?}", clocks.state());
}

/// What it showed meanwhile says nothing about how it runs. Else a small rollback after it would not be waited for.
#[test]
fn a_wall_clock_that_stood_while_it_was_insane_is_trusted_when_it_is_right() {
    let mut clocks = Clocks::new();
    clocks.run(SECOND);
    clocks.wall = LAST_SANE;
    for _ in 0..100 {
        clocks.mono += 100;
        clocks.step(0);
    }
    assert!(matches!(clocks.state(), ClockState::Insane(_)), "{:?}", clocks.state());
    clocks.wall = clocks.time();
    clocks.step(-3);
    assert_eq!(clocks.state(), ClockState::Waiting(3));
}

#[test]
fn a_slewed_wall_clock_is_followed() {
    let mut clocks = Clocks::new();
    for millis in 1..=20_000 {
        // Four per cent slow, in whole milliseconds.
        clocks.wall = START + millis * 24 / 25;
        clocks.mono = millis.unsigned_abs();
        clocks.steady.observe(reading(clocks.wall, clocks.mono));
        assert!(clocks.offset() <= 1, "{} after {millis}", clocks.offset());
    }
    assert_eq!(clocks.state(), ClockState::Level);
}

#[test]
fn it_is_the_wall_clock_while_that_runs() {
    let mut clocks = Clocks::new();
    for millis in [1, 7, 1_000, 60_000, 0] {
        clocks.idle(millis);
        assert_eq!((clocks.offset(), clocks.state(), clocks.era()), (0, ClockState::Level, 0));
    }
}

#[test]
fn a_small_rollback_is_waited_for_standing_still() {
    let mut clocks = Clocks::new();
    clocks.step(-5);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Waiting(5)));
    clocks.idle(3);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Waiting(2)));
    clocks.idle(2);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Level));
    clocks.idle(1);
    assert_eq!((clocks.time(), clocks.era()), (START + 1, 0));
}

#[test]
fn a_larger_rollback_is_held_through_at_nineteen_twentieths_until_they_meet() {
    let mut clocks = Clocks::new();
    clocks.step(-60 * SECOND);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Holding(60_000)));
    clocks.run(60 * SECOND);
    assert_eq!(clocks.time(), START + 57 * SECOND, "nineteen twentieths of a minute");
    assert_eq!(clocks.state(), ClockState::Holding(57_000));
    // A minute is made up for in twenty.
    clocks.run(19 * 60 * SECOND - 5 * SECOND);
    assert_eq!(clocks.state(), ClockState::Holding(250));
    let before = clocks.time();
    clocks.run(5 * SECOND);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
    assert!(clocks.time() > before);
    assert_eq!(clocks.era(), 1);
}

#[test]
fn the_rate_of_holding_does_not_hang_on_how_often_it_is_looked_at() {
    for every in [1, 3, 7, 100, 6_000] {
        let mut clocks = Clocks::new();
        clocks.step(-HOUR / 2);
        for _ in 0..42_000 / every {
            clocks.idle(every);
        }
        assert_eq!(clocks.time(), START + 42_000 * 19 / 20, "looked at every {every} ms");
    }
}

#[test]
fn a_rollback_beyond_max_hold_is_refused_until_it_is_back_in_reach() {
    let mut clocks = Clocks::new();
    clocks.step(-HOUR);
    assert_eq!(clocks.state(), ClockState::Holding(3_600_000));
    let mut clocks = Clocks::new();
    clocks.step(-HOUR - 1);
    assert_eq!(clocks.state(), ClockState::Refused(3_600_001));
    let refusal = clocks.steady.now().refusal().expect("nothing may be minted");
    assert!(refusal.contains("max_hold"), "it names the way out: {refusal}");
    assert_eq!(clocks.time(), START, "it stands still");
    clocks.idle(1);
    assert_eq!(clocks.state(), ClockState::Holding(3_600_000));
    assert_eq!(clocks.steady.now().refusal(), None);
    assert_eq!(clocks.time(), START);
}

#[test]
fn a_long_time_without_a_look_is_not_held_through_beyond_max_hold() {
    let mut clocks = Clocks::new();
    clocks.step(-2 * HOUR);
    assert!(matches!(clocks.state(), ClockState::Refused(_)));
    // An hour and a half later the wall clock is within max_hold of where the steady one stood.
    clocks.idle(HOUR * 3 / 2);
    assert_eq!((clocks.offset(), clocks.state()), (HOUR, ClockState::Holding(3_600_000)));
    clocks.idle(SECOND);
    assert_eq!(clocks.state(), ClockState::Holding(3_599_950), "and it goes on from there");
}

#[test]
fn a_clock_that_is_set_right_again_after_a_refusal_is_followed() {
    let mut clocks = Clocks::new();
    clocks.step(-24 * HOUR);
    clocks.run(5 * SECOND);
    assert!(matches!(clocks.state(), ClockState::Refused(_)));
    clocks.step(24 * HOUR);
    assert_eq!((clocks.time(), clocks.state()), (START + 5 * SECOND, ClockState::Level));
}

#[test]
fn a_jump_of_ten_seconds_is_followed_at_once() {
    let mut clocks = Clocks::new();
    clocks.step(10 * SECOND);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

#[test]
fn a_larger_jump_is_believed_after_thirty_seconds_run_level() {
    let mut clocks = Clocks::new();
    clocks.step(10 * SECOND + 1);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Doubting(10_001)));
    clocks.run(29_900);
    assert_eq!(clocks.time(), START + 29_900, "it goes on at the monotonic rate");
    assert_eq!(clocks.state(), ClockState::Doubting(10_001));
    clocks.run(100);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

#[test]
fn a_jump_that_is_taken_back_is_never_followed() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.run(29 * SECOND);
    clocks.step(-HOUR);
    assert_eq!((clocks.time(), clocks.state()), (START + 29 * SECOND, ClockState::Level));
    // Nor when it comes again, as far ahead as the first time.
    clocks.run(SECOND);
    clocks.step(HOUR);
    assert_eq!(
        (clocks.time(), clocks.state()),
        (START + 30 * SECOND, ClockState::Doubting(HOUR.unsigned_abs()))
    );
}

#[test]
fn thirty_seconds_run_level_begin_anew_with_every_jump() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.run(29 * SECOND);
    clocks.step(HOUR);
    clocks.run(29_900);
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
    assert_eq!(clocks.time(), START + 58_900);
    clocks.run(100);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

#[test]
fn thirty_seconds_run_level_are_not_a_millisecond_less() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.idle(29_999);
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
    clocks.idle(1);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

#[test]
fn thirty_seconds_run_level_begin_anew_after_a_rollback() {
    let mut clocks = Clocks::new();
    clocks.step(20 * SECOND);
    clocks.run(10 * SECOND);
    clocks.step(-40 * SECOND);
    clocks.run(19 * SECOND);
    // As far ahead as the first time, but it was elsewhere meanwhile.
    clocks.step(40 * SECOND);
    clocks.run(29_900);
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
    clocks.run(100);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

#[test]
fn thirty_seconds_run_level_begin_anew_after_an_insane_time() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.run(10 * SECOND);
    let right = clocks.wall;
    clocks.step(LAST_SANE - right);
    clocks.run(19 * SECOND);
    clocks.step(right + 19 * SECOND - clocks.wall);
    clocks.run(29_900);
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
    clocks.run(100);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

/// Each look finds it a twentieth of a second further ahead than the one before.
#[test]
fn a_clock_that_runs_too_fast_does_not_run_level() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    for _ in 0..310 {
        clocks.mono += 100;
        clocks.step(150);
    }
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
}

/// They say how the two clocks run, and an era says nothing about that.
#[test]
fn thirty_seconds_run_level_go_on_in_an_era_that_is_begun_by_hand() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.run(20 * SECOND);
    clocks.steady.invalidate();
    clocks.run(9_900);
    assert_eq!(clocks.state(), ClockState::Doubting(HOUR.unsigned_abs()));
    clocks.run(100);
    assert_eq!((clocks.offset(), clocks.state(), clocks.era()), (0, ClockState::Level, 2));
}

/// The ledger says now that its clock shows this.
fn hear(clocks: &mut Clocks, said: i64) {
    let now = MonoMillis::new(clocks.mono);
    let era = clocks.era();
    clocks.steady.hear(Heard::new(Some(UnixMillis::new(said)), now, now), era);
    clocks.idle(0);
}

#[test]
fn a_jump_that_the_ledgers_clock_agrees_with_is_followed_at_once() {
    for off in [10_000, -10_000] {
        let mut clocks = Clocks::new();
        clocks.step(HOUR);
        assert_eq!(clocks.state(), ClockState::Doubting(HOUR.unsigned_abs()));
        hear(&mut clocks, START + HOUR + off);
        assert_eq!((clocks.offset(), clocks.state(), clocks.era()), (0, ClockState::Level, 1));
    }
}

#[test]
fn a_jump_that_the_ledgers_clock_disagrees_with_is_not_followed_for_as_long_as_they_do() {
    for off in [10_001, -10_001] {
        let mut clocks = Clocks::new();
        clocks.step(HOUR);
        hear(&mut clocks, START + HOUR + off);
        clocks.run(10 * 60 * SECOND);
        assert_eq!(clocks.time(), START + 10 * 60 * SECOND, "it goes on at the monotonic rate");
        assert_eq!(clocks.state(), ClockState::Contradicted(HOUR.unsigned_abs()));
        let now = clocks.wall;
        hear(&mut clocks, now);
        assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
    }
}

/// What was contradicted in between did not run level.
#[test]
fn thirty_seconds_run_level_begin_anew_after_a_contradiction() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.run(10 * SECOND);
    let said = clocks.time();
    hear(&mut clocks, said);
    assert!(matches!(clocks.state(), ClockState::Contradicted(_)));
    clocks.run(19 * SECOND);
    // The process begins a new era by hand, in which the ledger has said nothing yet.
    clocks.steady.invalidate();
    clocks.run(29_900);
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
}

#[test]
fn a_jump_that_the_ledgers_clock_disagrees_with_is_followed_up_to_ten_seconds() {
    for (ahead, expected) in [(10_000, ClockState::Level), (10_001, ClockState::Contradicted(10_001))] {
        let mut clocks = Clocks::new();
        clocks.step(ahead);
        hear(&mut clocks, START);
        assert_eq!(clocks.state(), expected);
        assert_eq!(clocks.time() == START, ahead > 10_000, "{ahead}");
    }
}

/// A window was reserved by the time with the lead in it, so IDs were minted by it.
#[test]
fn it_does_not_go_back_behind_a_time_that_it_had_from_a_predecessor() {
    let mut clocks = Clocks::new();
    hear(&mut clocks, START);
    assert!(clocks.steady.start_at(UnixMillis::new(START + 20 * SECOND)));
    clocks.idle(0);
    let era = clocks.era() + 1;
    // The machine's clock was 15 seconds ahead, and is set right.
    clocks.step(-15 * SECOND);
    let right = clocks.wall;
    hear(&mut clocks, right);
    assert_eq!((clocks.time(), clocks.era()), (START + 20 * SECOND, era));
    assert_eq!(clocks.state(), ClockState::Waiting(35_000));
}

/// Seed 156248864874929 of the simulator: the node refused until the predecessor's time had come.
#[test]
fn what_a_predecessor_was_ahead_is_known_again_when_a_wall_clock_that_hid_it_is_set_right() {
    let mut clocks = Clocks::new();
    hear(&mut clocks, START);
    assert!(clocks.steady.start_at(UnixMillis::new(START + 27 * SECOND)));
    clocks.run(SECOND);
    clocks.step(25 * SECOND);
    let ledger = clocks.wall - 25 * SECOND;
    hear(&mut clocks, ledger);
    clocks.run(2 * SECOND);
    assert!(clocks.steady.now().apart() > Some(0), "the wall clock is wrong");
    clocks.step(-25 * SECOND);
    let right = clocks.wall;
    hear(&mut clocks, right);
    assert_eq!(clocks.steady.now().apart(), None);
    clocks.run(SECOND);
    assert!(matches!(clocks.state(), ClockState::Holding(_)), "{:?}", clocks.state());
}

#[test]
fn what_a_predecessor_was_ahead_is_forgotten_when_the_wall_clock_is_there() {
    for beyond in [0, 5 * SECOND] {
        let mut clocks = Clocks::new();
        assert!(clocks.steady.start_at(UnixMillis::new(START + 20 * SECOND)));
        clocks.step(20 * SECOND + beyond);
        let right = clocks.wall;
        hear(&mut clocks, right);
        assert_eq!(clocks.steady.now().apart(), None, "{beyond}");
    }
}

#[test]
fn a_rollback_that_the_ledgers_clock_disagrees_with_is_held_through_at_the_whole_rate() {
    let mut clocks = Clocks::new();
    clocks.step(-HOUR / 2);
    hear(&mut clocks, START);
    clocks.run(10 * 60 * SECOND);
    assert_eq!(clocks.time(), START + 10 * 60 * SECOND);
    assert_eq!(clocks.state(), ClockState::Holding(HOUR.unsigned_abs() / 2));
}

/// It tells an operator whose clock is wrong.
#[test]
fn how_far_the_wall_clock_is_from_the_ledgers_is_told_also_while_the_time_is_held() {
    let mut clocks = Clocks::new();
    clocks.step(-HOUR / 2);
    hear(&mut clocks, START);
    let now = clocks.steady.now();
    assert_eq!((now.apart(), now.ledger_offset_ms()), (None, Some(-HOUR / 2)));
}

#[test]
fn the_time_goes_on_for_as_long_as_the_ledgers_clock_is_not_asked_again() {
    let mut clocks = Clocks::new();
    clocks.run(SECOND);
    let right = clocks.wall;
    hear(&mut clocks, right);
    clocks.run(60 * SECOND);
    assert_eq!((clocks.offset(), clocks.state(), clocks.era()), (0, ClockState::Level, 0));
}

/// The steady clock stood still for an hour, so no window is reserved by it.
#[test]
fn after_a_rollback_beyond_max_hold_it_is_not_the_ledgers_time_until_the_wall_clock_is_right() {
    let mut clocks = Clocks::new();
    clocks.step(-2 * HOUR);
    hear(&mut clocks, START);
    clocks.run(HOUR + SECOND);
    assert_eq!(clocks.steady.now().refusal(), None, "the wall clock is within max_hold");
    assert_eq!(clocks.steady.now().apart(), Some(-HOUR));
    clocks.step(2 * HOUR);
    let right = clocks.wall;
    hear(&mut clocks, right);
    assert_eq!((clocks.offset(), clocks.steady.now().apart()), (0, None));
}

#[test]
fn the_ledgers_clock_is_taken_to_be_read_in_the_middle_of_the_call() {
    let (said, at) = (UnixMillis::new(START), MonoMillis::new);
    let heard = Heard::new(Some(said), at(1_000), at(1_100)).time().unwrap();
    assert_eq!([1_050, 1_150].map(|now| heard.offset(said, at(now))), [0, -100]);
}

#[test]
fn what_the_ledger_said_before_a_jump_says_nothing_about_it() {
    let mut clocks = Clocks::new();
    hear(&mut clocks, START);
    clocks.step(HOUR);
    assert_eq!(clocks.state(), ClockState::Doubting(HOUR.unsigned_abs()));
    // Nor does what it is asked before and answers after.
    clocks.steady.hear(Heard::new(Some(UnixMillis::new(START)), MonoMillis::new(0), MonoMillis::new(0)), 0);
    clocks.run(30 * SECOND);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level), "as without a ledger's clock");
}

#[test]
fn a_ledger_without_a_clock_leaves_a_jump_to_the_thirty_seconds() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    clocks.steady.hear(Heard::new(None, MonoMillis::new(0), MonoMillis::new(0)), 1);
    clocks.run(29_900);
    assert_eq!(clocks.state(), ClockState::Doubting(HOUR.unsigned_abs()));
    clocks.run(100);
    assert_eq!(clocks.state(), ClockState::Level);
}

/// However long nobody has looked: a copy may have been idle.
#[test]
fn a_move_of_over_a_second_begins_an_era_either_way() {
    for (millis, eras) in [(1_001, 1), (-1_001, 1), (1_000, 0), (-1_000, 0), (HOUR, 1), (-HOUR * 24, 1)] {
        for idle in [0, 100, HOUR] {
            let mut clocks = Clocks::new();
            clocks.wall += millis;
            clocks.idle(idle);
            clocks.run(60 * SECOND);
            assert_eq!(clocks.era(), eras, "moved by {millis} ms within {idle} ms");
        }
    }
}

#[test]
fn a_restored_process_begins_an_era() {
    // Its monotonic clock stood still meanwhile: a suspended machine, a snapshot that was resumed.
    let mut clocks = Clocks::new();
    clocks.step(3 * HOUR);
    assert_eq!(clocks.era(), 1);
    // Its monotonic clock is another machine's.
    let mut clocks = Clocks::new();
    clocks.mono += 50_000;
    clocks.idle(1);
    assert_eq!(clocks.era(), 1);
}

#[test]
fn neither_idling_nor_drift_begins_an_era() {
    let mut clocks = Clocks::new();
    for _ in 0..24 {
        clocks.idle(HOUR);
        // 100 ppm, which is more than a machine drifts that nobody corrects.
        clocks.wall += 360;
    }
    assert_eq!((clocks.era(), clocks.state()), (0, ClockState::Level));
    let mut clocks = Clocks::new();
    for _ in 0..86_400 {
        clocks.wall -= i64::from(clocks.mono.is_multiple_of(10_000));
        clocks.idle(SECOND);
    }
    assert_eq!(clocks.era(), 0, "nine seconds back in a day, a millisecond at a time");
    assert!(clocks.offset() <= 5, "{} ms", clocks.offset());
}

/// Cut off, it would be an era that has ended, with all that was drawn in it.
#[test]
#[should_panic(expected = "over a million times")]
fn an_era_of_more_bits_than_a_stamp_has_is_refused() {
    let largest = (1 << 20) - 1;
    assert_eq!(Stamp::new(largest, UnixMillis::EPOCH).era(), largest);
    Stamp::new(largest + 1, UnixMillis::EPOCH);
}

#[test]
fn an_era_that_is_begun_by_hand_keeps_the_time() {
    let mut clocks = Clocks::new();
    let before = clocks.steady.now().stamp;
    clocks.steady.invalidate();
    assert_eq!((clocks.era(), clocks.time()), (1, START));
    assert!(clocks.steady.now().stamp > before, "stamps of a later era are later");
}

#[test]
fn an_insane_clock_at_the_start_is_refused_until_it_is_sane() {
    for insane in [0, -1, i64::MIN, -HOUR, LAST_SANE, i64::MAX] {
        let mut clocks = Clocks::starting_at(insane);
        assert_eq!(clocks.state(), ClockState::Insane(UnixMillis::new(insane)));
        assert!(clocks.steady.now().refusal().is_some());
        clocks.wall = START;
        clocks.idle(100);
        assert_eq!((clocks.time(), clocks.state()), (START + 100, ClockState::Level));
        assert_eq!(clocks.steady.now().refusal(), None);
    }
}

#[test]
fn a_clock_that_turns_insane_is_refused_and_the_time_stands_still() {
    for insane in [0, -HOUR, LAST_SANE, i64::MAX] {
        let mut clocks = Clocks::new();
        clocks.wall = insane;
        clocks.step(0);
        assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Insane(UnixMillis::new(insane))));
        let refusal = clocks.steady.now().refusal().expect("nothing may be minted");
        assert!(refusal.contains("1970") && refusal.contains("2500"), "{refusal}");
        assert_ne!(clocks.era(), 0, "segments go on, and this may be a copy whose clock was never set");
        clocks.wall = START;
        clocks.idle(SECOND);
        assert_eq!((clocks.time(), clocks.state()), (START + SECOND, ClockState::Level));
    }
    let mut clocks = Clocks::starting_at(1);
    clocks.wall = LAST_SANE - 1;
    clocks.step(0);
    assert!(!matches!(clocks.state(), ClockState::Insane(_)), "the bounds themselves are sane");
}

#[test]
fn it_starts_at_a_mark_that_is_within_max_hold() {
    let mut clocks = Clocks::new();
    let mark = UnixMillis::new(START + HOUR);
    assert!(clocks.steady.start_at(mark));
    clocks.idle(0);
    assert_eq!((clocks.time(), clocks.state()), (START + HOUR, ClockState::Holding(3_600_000)));
    assert!(
        !clocks.steady.start_at(mark.plus(1)),
        "by the wall clock, whatever mark it has started at before"
    );
    let mut clocks = Clocks::new();
    assert!(!clocks.steady.start_at(mark.plus(1)));
    clocks.idle(0);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Level), "a refused mark changes nothing");
    assert!(clocks.steady.start_at(UnixMillis::new(START - 1)));
    assert_eq!(clocks.time(), START, "a mark that has passed changes nothing");
}

/// What may happen to a clock.
#[derive(Clone, Debug)]
enum Event {
    Run(u64),
    Step(i64),
    Set(i64),
    Invalidate,
    StartAt(i64),
    /// The ledger says that its clock is so far from the right time, or that it has none.
    Hear(Option<i64>),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0_u64..5_000).prop_map(Event::Run),
        1 => (0_u64..100_000_000).prop_map(Event::Run),
        2 => (-20_i64..20).prop_map(Event::Step),
        2 => (-20_000_i64..20_000).prop_map(Event::Step),
        2 => (-3 * HOUR..3 * HOUR).prop_map(Event::Step),
        1 => any::<i64>().prop_map(Event::Set),
        1 => (0..LAST_SANE).prop_map(Event::Set),
        1 => Just(Event::Invalidate),
        1 => (START - HOUR..START + 2 * HOUR).prop_map(Event::StartAt),
        2 => prop::option::of(-30_000_i64..30_000).prop_map(Event::Hear),
        1 => (-3 * HOUR..3 * HOUR).prop_map(|ahead| Event::Hear(Some(ahead))),
    ];
    prop::collection::vec(event, 1..60)
}

/// A time that was minted by while no clock spoke against it cannot be gone back behind, and is not waited for longer than
/// a rollback may be held through.
#[test]
fn a_time_that_turns_out_too_far_ahead_is_refused_as_any_other() {
    let policy = ClockPolicy { wait_ms: 5, max_hold_ms: 60_000 };
    let mut steady = Steady::new(policy, reading(START + HOUR, 0));
    let now = MonoMillis::new(0);
    steady.hear(Heard::new(None, now, now), 0);
    steady.observe(reading(START + HOUR, 0));
    // The ledger's clock shows itself, and the wall clock is set right.
    steady.observe(reading(START, 0));
    let era = steady.now().stamp.era();
    steady.hear(Heard::new(Some(UnixMillis::new(START)), now, now), era);
    steady.observe(reading(START, 0));
    assert_eq!(steady.now().state, ClockState::Refused(HOUR.unsigned_abs()));
    assert!(steady.now().refusal().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn it_goes_back_only_where_the_ledgers_clock_shows_that_it_was_wrong_whatever_the_clocks_say(
        wait_ms in 0_u64..50,
        max_hold_ms in 0_u64..10_000_000,
        first in prop_oneof![3 => Just(START), 1 => any::<i64>()],
        events in events(),
    ) {
        let (mut wall, mut mono) = (first, 0_u64);
        let mut steady = Steady::new(ClockPolicy { wait_ms, max_hold_ms }, reading(wall, mono));
        let mut last = steady.now().stamp;
        // The last time at which nothing spoke against it: whatever was minted was minted up to then.
        let mut agreed = UnixMillis::EPOCH;
        for event in events {
            match event {
                Event::Run(millis) => {
                    mono += millis;
                    wall = wall.saturating_add_unsigned(millis);
                }
                Event::Step(millis) => wall = wall.saturating_add(millis),
                Event::Set(to) => wall = to,
                Event::Invalidate => steady.invalidate(),
                Event::StartAt(mark) => {
                    steady.start_at(UnixMillis::new(mark));
                }
                Event::Hear(ahead) => {
                    let now = MonoMillis::new(mono);
                    let right = START + i64::try_from(mono).unwrap();
                    let said = ahead.map(|ahead| UnixMillis::new(right + ahead));
                    let era = steady.now().stamp.era();
                    steady.hear(Heard::new(said, now, now), era);
                }
            }
            let era = steady.now().stamp.era();
            steady.observe(reading(wall, mono));
            let now = steady.now();
            prop_assert!(now.stamp >= last, "a stamp is later, of this era or of a later one");
            if now.stamp.time() < last.time() {
                prop_assert!(now.stamp.era() > era && now.heard.time().is_some());
                prop_assert!(now.stamp.time() >= agreed, "{:?}", now);
                prop_assert_eq!(now.stamp.time(), agreed.max(UnixMillis::new(wall)));
            }
            if now.heard != Heard::Nothing && now.apart().is_none() {
                agreed = now.stamp.time();
            }
            // It is never held further from the wall clock than the policy says.
            if now.refusal().is_none() {
                let behind = now.stamp.time().since(UnixMillis::new(wall));
                prop_assert!(behind <= i64::try_from(max_hold_ms.max(wait_ms)).unwrap(), "{:?}", now);
            }
            if now.state == ClockState::Level {
                prop_assert_eq!(now.stamp.time().get(), wall);
            }
            last = now.stamp;
        }
    }
}

/// A wall clock that is set by hand; the monotonic one stands still.
#[derive(Clone)]
struct ByHand(Arc<AtomicI64>);

impl TimeSource for ByHand {
    fn read(&self) -> Reading {
        reading(self.0.load(Ordering::Relaxed), 0)
    }
}

fn by_hand() -> (ByHand, Clock) {
    let source = ByHand(Arc::new(AtomicI64::new(START)));
    let clock = Clock::new(ClockPolicy::default(), Box::new(source.clone()));
    (source, clock)
}

#[test]
fn the_stamp_is_at_hand_from_the_tickers_round_until_it_is_put_away() {
    let (source, clock) = by_hand();
    assert_eq!(clock.at_hand(), None);
    assert_eq!(clock.stamp().map(Stamp::millis), Ok(START.unsigned_abs()), "read, where it is not at hand");
    assert_eq!(clock.at_hand(), None, "reading it does not put it there");
    assert!(!clock.tick(), "nobody has used it");
    assert_eq!(clock.at_hand().map(Stamp::millis), Some(START.unsigned_abs()));
    source.0.fetch_add(3, Ordering::Relaxed);
    assert_eq!(clock.at_hand().map(Stamp::millis), Some(START.unsigned_abs()), "as old as the last round");
    assert!(clock.tick(), "it was used");
    assert_eq!(clock.at_hand().map(Stamp::millis), Some(START.unsigned_abs() + 3));
    clock.put_away();
    assert_eq!(clock.at_hand(), None);
}

/// A minter looks at the clock again only when the pulse has beaten.
#[test]
fn the_pulse_beats_when_the_stamp_at_hand_changes_and_when_an_era_ends() {
    let (source, clock) = by_hand();
    let mut seen = clock.pulse().read();
    let mut beaten = || {
        let still = clock.pulse().is_still(seen);
        seen = clock.pulse().read();
        !still
    };
    let later = || source.0.fetch_add(1, Ordering::Relaxed);
    assert!(!clock.keeps(Stamp::default()), "nothing is at hand");
    clock.tick();
    assert!(beaten(), "now something is");
    let stamp = clock.at_hand().unwrap();
    assert!(clock.keeps(stamp));
    clock.tick();
    assert!(!beaten(), "the same stamp");
    later();
    clock.tick();
    assert!(beaten() && !clock.keeps(stamp), "the next one");
    later();
    clock.look();
    assert!(beaten(), "whoever looks");
    clock.put_away();
    assert!(beaten());
    later();
    let stamp = clock.stamp().unwrap();
    assert!(!beaten() && !clock.keeps(stamp), "nobody has it at hand");
    clock.invalidate();
    assert!(beaten(), "also while nothing is at hand");
    clock.tick();
    assert!(beaten());
    source.0.fetch_sub(2 * HOUR, Ordering::Relaxed);
    clock.tick();
    assert!(beaten(), "the clock is refused");
}

#[test]
fn an_era_ends_at_once_also_where_no_ticker_comes_by() {
    let (source, clock) = by_hand();
    clock.tick();
    clock.invalidate();
    assert_eq!(clock.at_hand(), None, "a forked child has no ticker, and its stamp would stand");
    source.0.fetch_add(3, Ordering::Relaxed);
    let stamp = clock.stamp().unwrap();
    assert_eq!(
        (stamp.era(), stamp.millis()),
        (1, START.unsigned_abs() + 3),
        "before the ticker's next round"
    );
    clock.tick();
    assert_eq!(clock.at_hand(), Some(stamp));
}

/// A clock that is read while nobody has the lock of the steady clock. It counts how often it was.
#[derive(Clone, Default)]
struct Unlocked(Arc<OnceLock<Weak<Clock>>>, Arc<AtomicI64>);

impl TimeSource for Unlocked {
    fn read(&self) -> Reading {
        let clock = self.0.get().and_then(Weak::upgrade);
        if clock.is_some_and(|clock| crate::sync::try_lock(&clock.steady).is_some()) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        reading(START, 0)
    }
}

/// Another thread could look between such a reading and its use, which would then look like a clock that went back.
#[test]
fn no_clock_is_read_before_its_reading_can_be_used() {
    let source = Unlocked::default();
    let clock = Arc::new(Clock::new(ClockPolicy::default(), Box::new(source.clone())));
    source.0.set(Arc::downgrade(&clock)).unwrap();
    clock.tick();
    clock.look();
    clock.hear(None, MonoMillis::new(0), 0);
    clock.start_at(UnixMillis::new(START));
    assert_eq!(source.1.load(Ordering::Relaxed), 0, "the lock was held each time");
}

/// A check of the clock at a start has to answer by the time that the process then mints with.
#[test]
fn who_hears_the_ledgers_time_is_told_the_time_that_it_makes_right() {
    let (source, clock) = by_hand();
    for by in [9 * SECOND, 9 * SECOND, -18 * SECOND] {
        source.0.fetch_add(by, Ordering::Relaxed);
        clock.look();
    }
    let asked = clock.look();
    assert_eq!(asked.stamp.time().get(), START + 18 * SECOND, "held, since nothing contradicts it yet");
    let now = clock.hear(Some(UnixMillis::new(START)), asked.mono, asked.stamp.era());
    assert_eq!((now.apart(), now.stamp.time().get()), (None, START));
}

#[test]
fn nothing_is_at_hand_while_the_clock_is_refused() {
    let (source, clock) = by_hand();
    clock.tick();
    source.0.fetch_sub(2 * HOUR, Ordering::Relaxed);
    clock.tick();
    assert_eq!(clock.at_hand(), None);
    assert!(clock.stamp().unwrap_err().contains("max_hold"));
    source.0.fetch_add(2 * HOUR, Ordering::Relaxed);
    clock.tick();
    assert!(clock.at_hand().is_some());
}

/// Polls until it holds, at most ten seconds.
fn soon(clock: &Clock, what: &str, mut holds: impl FnMut() -> bool) {
    let until = clock.look().mono.plus(10_000);
    while !holds() {
        assert!(clock.look().mono < until, "{what}: not within ten seconds");
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
}

#[test]
fn the_ticker_comes_with_minting_and_parks_after_it() {
    let clock = system::clock(ClockPolicy::default());
    assert_eq!(clock.at_hand(), None, "nobody mints");
    let busy = || (0..100).any(|_| clock.stamp().is_ok() && clock.cached.load(Ordering::Relaxed) != STALE);
    let mut first = None;
    soon(&clock, "many reads wake the ticker", || {
        first = if busy() { clock.at_hand() } else { None };
        first.is_some()
    });
    // On a busy machine this thread may have to wait, and the ticker parks meanwhile.
    soon(&clock, "the stamp at hand is kept fresh", || {
        (clock.at_hand().is_some() || busy()) && clock.at_hand() > first
    });
    // `at_hand` would say that somebody mints.
    soon(&clock, "it parks when nobody does", || clock.cached.load(Ordering::Relaxed) == STALE);
    soon(&clock, "it comes back", busy);
}

/// A clock that somebody mints by in every so many rounds of its ticker, for forty rounds.
struct Used {
    clock: Arc<Mutex<Option<Arc<Clock>>>>,
    every: u64,
    rounds: AtomicU64,
    put_away: Arc<AtomicU64>,
}

impl TimeSource for Used {
    fn read(&self) -> Reading {
        let mut clock = lock(&self.clock);
        if let Some(ticked) = clock.as_ref() {
            let round = self.rounds.fetch_add(1, Ordering::Relaxed);
            let stale = ticked.cached.load(Ordering::Relaxed) == STALE;
            self.put_away.fetch_add(u64::from(stale && round > 0), Ordering::Relaxed);
            if round.is_multiple_of(self.every) {
                ticked.used.store(true, Ordering::Relaxed);
            }
            if round == 40 {
                *clock = None;
            }
            // The ticker runs on this thread, and waits for nothing.
            std::thread::current().unpark();
        }
        reading(START, 0)
    }
}

/// Otherwise every mint reads the clock until the ticker has come back.
#[test]
fn the_ticker_parks_after_ten_rounds_in_which_nobody_mints_and_not_before() {
    for (every, parks) in [(1, 0), (10, 0), (11, 3)] {
        let (held, put_away) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU64::new(0)));
        let rounds = AtomicU64::new(0);
        let source = Used { clock: Arc::clone(&held), every, rounds, put_away: Arc::clone(&put_away) };
        let clock = Arc::new(Clock::new(ClockPolicy::default(), Box::new(source)));
        let ticked = Arc::downgrade(&clock);
        *lock(&held) = Some(clock);
        std::thread::current().unpark();
        system::run(&ticked);
        assert_eq!(put_away.load(Ordering::Relaxed), parks, "somebody mints once in {every} rounds");
    }
}

#[test]
fn the_ticker_ends_with_the_clock() {
    let clock = system::clock(ClockPolicy::default());
    let weak = Arc::downgrade(&clock);
    drop(clock);
    assert_eq!(weak.strong_count(), 0, "the ticker's thread does not keep the clock");
}

/// Whoever waits by a clock that stands would otherwise look at it when so much real time has passed.
#[test]
fn a_clock_that_stands_tells_when_it_is_moved() {
    #[derive(Default)]
    struct Count(AtomicU64);
    impl Watcher for Count {
        fn clock_moved(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let clock = FixedClock::at(UnixMillis::new(START));
    let watchers = [(); 3].map(|()| Arc::new(Count::default()));
    for watcher in &watchers {
        let watcher: Weak<Count> = Arc::downgrade(watcher);
        clock.tell(watcher);
    }
    let [gone, there @ ..] = watchers;
    drop(gone);
    clock.advance(std::time::Duration::from_millis(1));
    assert!(there.iter().all(|watcher| watcher.0.load(Ordering::Relaxed) == 1));
    clock.step_to(UnixMillis::new(START - HOUR));
    assert!(there.iter().all(|watcher| watcher.0.load(Ordering::Relaxed) == 2));
}
