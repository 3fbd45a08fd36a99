//! The steady clock at the bounds of its rules, to the millisecond, and the thread that keeps it at hand.

use std::thread::{self, JoinHandle};

use super::*;

#[test]
fn a_rollback_of_a_millisecond_more_than_is_waited_out_is_held_through() {
    let mut clocks = Clocks::new();
    clocks.step(-6);
    assert_eq!(clocks.state(), ClockState::Holding(6));
}

#[test]
fn a_jump_of_ten_seconds_is_followed_whatever_the_ledgers_clock_says() {
    let mut clocks = Clocks::new();
    clocks.step(10 * SECOND + 1);
    hear(&mut clocks, START - SECOND);
    assert_eq!(clocks.state(), ClockState::Contradicted(10_001));
    clocks.step(-1);
    assert_eq!((clocks.offset(), clocks.state()), (0, ClockState::Level));
}

/// A drift of up to a second in the thirty is not a jump of its own.
#[test]
fn a_jump_is_believed_though_the_wall_clock_moves_by_a_second_meanwhile() {
    for (moved, followed) in [(SECOND, true), (-SECOND, true), (SECOND + 1, false), (-SECOND - 1, false)] {
        let mut clocks = Clocks::new();
        clocks.step(HOUR);
        clocks.run(10 * SECOND);
        clocks.step(moved);
        clocks.run(20 * SECOND);
        assert_eq!(clocks.state() == ClockState::Level, followed, "{moved}: {:?}", clocks.state());
    }
}

/// The time goes on at the rate of the monotonic clock, as while the wall clock runs.
#[test]
fn a_doubted_wall_clock_that_stands_is_doubted_on() {
    let mut clocks = Clocks::new();
    clocks.step(HOUR);
    for passed in 1..=500 {
        clocks.mono += 1;
        clocks.step(0);
        assert_eq!(clocks.time(), START + passed);
    }
    assert!(matches!(clocks.state(), ClockState::Doubting(_)), "{:?}", clocks.state());
}

#[test]
fn a_wall_clock_that_stands_is_held_through_to_the_last_millisecond_of_max_hold() {
    let policy = ClockPolicy { wait_ms: 5, max_hold_ms: 1_000 };
    let mut clocks = Clocks { wall: START, mono: 0, steady: Steady::new(policy, reading(START, 0)) };
    while clocks.offset() < 1_000 {
        clocks.mono += 1;
        clocks.step(0);
    }
    assert_eq!((clocks.offset(), clocks.state()), (1_000, ClockState::Holding(1_000)));
    clocks.mono += 2;
    clocks.step(0);
    assert_eq!((clocks.offset(), clocks.state()), (1_000, ClockState::Refused(1_000)));
}

#[test]
fn a_clock_that_was_ahead_from_the_start_is_level_as_soon_as_it_is_set_right() {
    let mut clocks = Clocks::starting_at(START + HOUR);
    clocks.step(-HOUR);
    assert_eq!(clocks.state(), ClockState::Holding(3_600_000));
    hear(&mut clocks, START);
    assert_eq!((clocks.time(), clocks.state()), (START, ClockState::Level));
}

/// What the ledger's clock did not contradict may have been minted, and is waited for as far as a rollback may be held
/// through or waited out.
#[test]
fn going_back_ends_at_the_time_that_was_agreed_on_and_waits_for_it_within_bounds() {
    for (wait_ms, short, state) in [
        (5, 0, ClockState::Waiting(3_600_000)),
        (5, 1, ClockState::Refused(3_600_001)),
        (3_600_001, 1, ClockState::Waiting(3_600_001)),
    ] {
        let mut clocks = Clocks::new();
        clocks.steady.policy.wait_ms = wait_ms;
        hear(&mut clocks, START);
        clocks.step(2 * HOUR);
        clocks.run(30 * SECOND);
        assert_eq!(clocks.offset(), 0, "believed");
        // Both were an hour ahead, as it turns out.
        clocks.step(START - HOUR - short - clocks.wall);
        hear(&mut clocks, START - HOUR - short);
        assert_eq!((clocks.time(), clocks.state()), (START, state));
    }
}

#[test]
fn a_mark_that_has_passed_puts_the_time_ahead_by_nothing() {
    let mut clocks = Clocks::new();
    assert!(clocks.steady.start_at(UnixMillis::new(START - 1)));
    assert_eq!(clocks.steady.now().own, UnixMillis::new(START));
}

#[test]
fn the_first_millisecond_of_1970_is_sane_and_its_beginning_is_not() {
    assert!(!matches!(Clocks::starting_at(1).state(), ClockState::Insane(_)));
    assert!(matches!(Clocks::starting_at(0).state(), ClockState::Insane(_)));
}

/// It would otherwise become another era, and IDs that were minted in that one would be minted again.
#[test]
fn a_time_that_a_stamp_has_no_room_for_leaves_its_era_alone() {
    let stamp = Stamp::new(2, UnixMillis::new(1 << TIME_BITS));
    assert_eq!((stamp.era(), stamp.millis()), (2, 0));
    let stamp = Stamp::new(3, UnixMillis::new((1 << TIME_BITS) - 1));
    assert_eq!((stamp.era(), stamp.millis()), (3, (1 << TIME_BITS) - 1));
}

#[test]
fn a_predecessors_mark_is_at_hand_at_once() {
    let (_, clock) = by_hand();
    clock.tick();
    assert!(clock.start_at(UnixMillis::new(START + SECOND)));
    assert_eq!(clock.at_hand().map(Stamp::time), Some(UnixMillis::new(START + SECOND)));
}

#[test]
fn the_wall_clock_alone_is_that_of_the_machine() {
    let now = system::System::new().read().wall.get();
    let nanos = system::wall_nanos().expect("a machine whose clock is right");
    assert!(i64::try_from(nanos / 1_000_000).unwrap().abs_diff(now) < 10_000, "{nanos} beside {now} ms");
}

/// The machine's clocks, and how often they were read.
struct Counted(system::System, Arc<AtomicU64>);

impl TimeSource for Counted {
    fn read(&self) -> Reading {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read()
    }

    fn patience(&self) -> MonoMillis {
        self.0.patience()
    }
}

/// A clock with a ticker that can be waited for, and how often the machine's clocks were read.
fn ticking() -> (Arc<Clock>, Arc<AtomicU64>, JoinHandle<()>) {
    let reads = Arc::<AtomicU64>::default();
    let source = Counted(system::System::new(), Arc::clone(&reads));
    let clock = Arc::new(Clock::new(ClockPolicy::default(), Box::new(source)));
    let weak = Arc::downgrade(&clock);
    let ticker = thread::spawn(move || system::run(&weak));
    clock.ticker.get_or_init(|| ticker.thread().clone());
    (clock, reads, ticker)
}

#[test]
fn the_ticker_sleeps_between_its_rounds_while_somebody_mints() {
    let (clock, reads, ticker) = ticking();
    let (begun, before) = (clock.mono(), reads.load(Ordering::Relaxed));
    while clock.mono().since(begun) < 50 {
        if clock.at_hand().is_none() {
            ticker.thread().unpark();
        }
        thread::yield_now();
    }
    let rounds = reads.load(Ordering::Relaxed) - before;
    let took = clock.mono().since(begun);
    assert!((1..=3 * took).contains(&rounds), "{rounds} rounds in {took} ms");
}

#[test]
fn the_tickers_thread_ends_with_the_clock_also_while_it_is_parked() {
    let (clock, _, ticker) = ticking();
    drop(clock);
    ticker.join().unwrap();
}

/// As a call does that mints as soon as it may, and by that moves the clock of a test.
#[test]
fn whoever_is_told_that_a_clock_was_moved_may_read_it_and_move_it() {
    struct Moves(FixedClock, AtomicU64);
    impl Watcher for Moves {
        fn clock_moved(&self) {
            if self.1.fetch_add(1, Ordering::Relaxed) == 0 {
                self.0.step_to(self.0.now().plus(1));
            }
        }
    }
    let clock = FixedClock::at(UnixMillis::new(START));
    let watcher = Arc::new(Moves(clock.clone(), AtomicU64::new(0)));
    let weak: Weak<Moves> = Arc::downgrade(&watcher);
    clock.tell(weak);
    clock.step_to(UnixMillis::new(START + 5));
    assert_eq!((clock.now(), watcher.1.load(Ordering::Relaxed)), (UnixMillis::new(START + 6), 2));
}

/// Who draws ahead of the clock goes by it. A hold ends in a wait, while which the time stands.
#[test]
fn the_time_comes_as_far_as_it_says_also_where_a_hold_ends_meanwhile() {
    for (wait_ms, behind, millis) in [(5, 6, 25), (5, 60, 1_000), (200, 210, 1_000), (5, 60_000, 1_000)] {
        let policy = ClockPolicy { wait_ms, ..ClockPolicy::default() };
        let mut clocks = Clocks { wall: START, mono: 0, steady: Steady::new(policy, reading(START, 0)) };
        clocks.step(-behind);
        let begun = clocks.steady.now();
        assert!(matches!(begun.state, ClockState::Holding(_)), "{:?}", begun.state);
        (0..millis).for_each(|_| clocks.idle(1));
        let came = clocks.steady.now().stamp.millis() - begun.stamp.millis();
        assert!(begun.comes(millis) <= came, "{came} of {millis} ms: {wait_ms}, {behind}");
        // A wall clock that stands still is not waited for, however long floe may wait.
        let patient = Now { state: ClockState::Holding(5), wait_ms: u64::MAX, ..begun };
        assert_eq!(patient.comes(100), 95);
    }
}

/// Whoever draws ahead of the clock draws no less far, since the steady time runs on by itself.
#[test]
fn the_time_comes_in_full_while_a_jump_ahead_is_not_followed() {
    let now = Clocks::new().steady.now();
    for (state, comes) in [
        (ClockState::Level, 100),
        (ClockState::Doubting(10_001), 100),
        (ClockState::Contradicted(10_001), 100),
        (ClockState::Refused(1), 0),
        (ClockState::Insane(UnixMillis::EPOCH), 0),
    ] {
        assert_eq!(Now { state, ..now }.comes(100), comes, "{state:?}");
    }
}
