//! Kinds on clocks and randomness that the tests make up, and against what other people publish.

mod clocks;
mod oracles;
mod published;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::origin::Origin;
use super::random::Random;
use crate::clock::TimeSource;
use crate::time::{MonoMillis, Reading, UnixMillis};

/// 2024-02-03T04:05:06.789Z.
const START: i64 = 1_706_933_106_789;

/// Clocks that are set by hand.
#[derive(Clone)]
struct Hands(Arc<Clocks>);

struct Clocks {
    wall_nanos: AtomicI64,
    mono: AtomicU64,
}

impl Hands {
    fn at(millis: i64) -> Self {
        Self(Arc::new(Clocks { wall_nanos: AtomicI64::new(millis * 1_000_000), mono: AtomicU64::new(0) }))
    }

    /// Both clocks run.
    fn run(&self, millis: u64) {
        self.step(millis.cast_signed());
        self.0.mono.fetch_add(millis, Ordering::Relaxed);
    }

    /// The wall clock alone moves.
    fn step(&self, millis: i64) {
        self.0.wall_nanos.fetch_add(millis * 1_000_000, Ordering::Relaxed);
    }

    /// The wall clock alone is set.
    fn set(&self, millis: i64) {
        self.0.wall_nanos.store(millis * 1_000_000, Ordering::Relaxed);
    }

    /// What the wall clock says.
    fn wall(&self) -> i64 {
        self.0.wall_nanos.load(Ordering::Relaxed).div_euclid(1_000_000)
    }

    /// The wall clock alone moves, by less than a millisecond.
    fn step_nanos(&self, nanos: i64) {
        self.0.wall_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    fn origin(&self, random: Random) -> Arc<Origin> {
        Origin::given(self.clone(), self.wall_nanos(), random)
    }

    fn wall_nanos(&self) -> impl Fn() -> Option<u64> + Send + Sync + 'static {
        let clocks = Arc::clone(&self.0);
        move || u64::try_from(clocks.wall_nanos.load(Ordering::Relaxed)).ok()
    }
}

impl TimeSource for Hands {
    fn read(&self) -> Reading {
        Reading {
            wall: UnixMillis::new(self.wall()),
            mono: MonoMillis::new(self.0.mono.load(Ordering::Relaxed)),
        }
    }
}

/// Words that look random and are the same in every run (SplitMix64).
fn seeded(seed: u64) -> Random {
    let mut state = seed;
    Random::given(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// The same word each time.
fn constant(word: u64) -> Random {
    Random::given(move || word)
}
