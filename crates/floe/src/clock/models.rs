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
