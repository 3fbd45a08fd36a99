//! Loom models of a new era; `cursor::models` says how to run them.

use loom::thread;

use super::*;
use crate::clock::models::Standing;
use crate::cursor::models::model;
use crate::kind::{Mint, ObjectIdGenerator};

/// One thread notices that the process was copied, and the other relies on it: neither mints with what the original has.
///
/// Caught: an era that is shown before the random words are dropped, or before the five bytes are; one that is stored or loaded
/// relaxed.
#[test]
fn who_sees_a_new_era_finds_nothing_that_was_drawn_before_it() {
    model(3, || {
        let clock = Arc::new(Clock::new(POLICY, Box::new(Standing)));
        let mut words = (1_u64..).map(|word| word << 32);
        let random = Random::given(move || words.next().unwrap_or_default());
        let origin = Origin::with_clock(Arc::clone(&clock), || None, random);
        let ids = ObjectIdGenerator::of(Arc::clone(&origin));
        let (before, generation) = (ids.mint().unwrap(), origin.random.generation());
        clock.invalidate();
        clock.tick();
        let mint = move || {
            assert_ne!(ids.mint().unwrap().random(), before.random());
            assert_ne!(origin.random.generation(), generation);
        };
        let other = thread::spawn(mint.clone());
        mint();
        other.join().unwrap();
    });
}
