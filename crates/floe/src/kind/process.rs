//! What the ObjectIds of a process share.

use super::MintError;
use super::random::Random;
use super::run::Run;
use crate::sync::{AtomicU64, Ordering};

/// The bits of the counter.
pub(super) const COUNTER_BITS: u32 = 24;

/// The state that all ObjectIds of a process share.
#[derive(Debug)]
pub(super) struct Process {
    /// The five bytes, or `UNDRAWN`.
    random: AtomicU64,
    /// The last second and, in its lowest 24 bits, counter.
    pub(super) run: Run,
}

const UNDRAWN: u64 = u64::MAX;

impl Process {
    pub(super) fn new() -> Self {
        Self { random: AtomicU64::new(UNDRAWN), run: Run::after(0) }
    }

    /// Other five bytes from the next ObjectId on.
    pub(super) fn invalidate(&self) {
        self.random.store(UNDRAWN, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn random(&self, source: &Random) -> Result<u64, MintError> {
        match self.random.load(Ordering::Relaxed) {
            UNDRAWN => self.draw_random(source),
            random => Ok(random),
        }
    }

    #[cold]
    fn draw_random(&self, source: &Random) -> Result<u64, MintError> {
        loop {
            let generation = source.generation();
            let drawn = source.word()? >> COUNTER_BITS;
            let swapped = self.random.compare_exchange(UNDRAWN, drawn, Ordering::Relaxed, Ordering::Relaxed);
            if source.generation() == generation {
                return Ok(swapped.map_or_else(|other| other, |_| drawn));
            }
            // An invalidation overtook the draw.
            self.invalidate();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock};

    use super::*;

    /// Another thread draws them while this one does.
    #[test]
    fn the_five_bytes_are_those_that_were_drawn_first() {
        let process = Arc::new(Process::new());
        let others = Arc::clone(&process);
        let slow = Random::given(move || {
            others.random(&Random::given(|| 1 << COUNTER_BITS)).unwrap();
            2 << COUNTER_BITS
        });
        assert_eq!((process.random(&slow), process.random(&slow)), (Ok(1), Ok(1)));
    }

    /// Another thread tells of a copy while this one draws them.
    #[test]
    fn five_bytes_that_an_invalidation_overtakes_are_drawn_again() {
        let (process, source) = (Arc::new(Process::new()), Arc::new(OnceLock::<Random>::new()));
        let (others, own, mut drawn) = (Arc::clone(&process), Arc::clone(&source), 0);
        let overtaken = source.get_or_init(|| {
            Random::given(move || {
                drawn += 1;
                if drawn == 1 {
                    own.get().unwrap().invalidate();
                    others.invalidate();
                }
                drawn << COUNTER_BITS
            })
        });
        assert_eq!((process.random(overtaken), process.random(overtaken)), (Ok(2), Ok(2)));
    }
}
