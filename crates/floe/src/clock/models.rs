//! Loom models of what threads see of the clock; `cursor::models` says how to run them.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// A clock that stands.
pub(crate) struct Standing;

impl TimeSource for Standing {
    fn read(&self) -> Reading {
        Reading { wall: UnixMillis::new(1_700_000_000_000), mono: MonoMillis::new(0) }
    }
}

/// The ticker comes by while an era is ended: whoever looks after that finds no stamp of the era before.
///
/// Caught: a ticker that shows what it has read after it has given the lock back.
#[test]
fn no_stamp_of_an_era_that_has_ended_is_at_hand() {
    loom::model(|| {
        let clock = Arc::new(Clock::new(ClockPolicy::default(), Box::new(Standing)));
        clock.tick();
        let ticker = {
            let clock = Arc::clone(&clock);
            thread::spawn(move || clock.tick())
        };
        clock.invalidate();
        let at_once = clock.at_hand();
        ticker.join().unwrap();
        for stamp in [at_once, clock.at_hand()] {
            assert!(stamp.is_none_or(|stamp| stamp.era() == 1), "{stamp:?}");
        }
    });
}

/// Nobody has looked at the clock for a while, and the ticker puts its time away while somebody looks: nothing would ever change a
/// time that was left at hand.
///
/// Caught: a ticker that puts it away without the lock.
#[test]
fn what_is_put_away_is_not_shown_again() {
    loom::model(|| {
        let clock = Arc::new(Clock::new(ClockPolicy::default(), Box::new(Standing)));
        clock.tick();
        let looking = {
            let clock = Arc::clone(&clock);
            thread::spawn(move || clock.look())
        };
        clock.put_away();
        looking.join().unwrap();
        assert_eq!(clock.at_hand(), None);
    });
}

/// A clock that is further each time it is read.
struct Going(loom::sync::Mutex<i64>);

impl TimeSource for Going {
    fn read(&self) -> Reading {
        let mut reads = self.0.lock().unwrap();
        *reads += 1;
        let mono = MonoMillis::new(reads.unsigned_abs());
        Reading { wall: UnixMillis::new(1_700_000_000_000 + *reads), mono }
    }
}

/// A minter that has read the pulse and then the time, and finds the pulse unchanged once the ticker has been by, holds the time
/// that is at hand. So a tick that ends an era ends it for every chunk.
///
/// Caught: a beat before the new time is stored, of a tick and of what is put away.
#[test]
fn who_finds_the_pulse_still_holds_the_time_at_hand() {
    for puts_away in [false, true] {
        loom::model(move || {
            let source = Box::new(Going(loom::sync::Mutex::new(0)));
            let clock = Arc::new(Clock::new(ClockPolicy::default(), source));
            clock.tick();
            let minter = {
                let clock = Arc::clone(&clock);
                thread::spawn(move || (clock.pulse.read(), clock.at_hand()))
            };
            if puts_away {
                clock.put_away();
            } else {
                clock.tick();
            }
            let (seen, at_hand) = minter.join().unwrap();
            if clock.pulse.is_still(seen) {
                assert_eq!(at_hand, clock.at_hand());
            }
        });
    }
}
