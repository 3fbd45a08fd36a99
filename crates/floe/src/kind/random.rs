//! Where kinds get random bits: drawn from the operating system once, and stretched for many IDs.
//!
//! A thread has its own ChaCha12 (RFC 8439's function with twelve rounds), keyed by 32 bytes of the operating system's
//! randomness, for [`WORDS_PER_SEED`] words. No state is shared, so no thread waits for another; and what a copy of the
//! memory shows of IDs minted later ends with the seed.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};

use crate::error::MintError;
use crate::sync::lock_std;

/// So many words of 8 bytes are made of one seed: 64 KiB, as `rand`'s thread generator does it.
const WORDS_PER_SEED: u64 = 1 << 13;

/// Counts the calls of [`invalidate`]: randomness that was drawn before the last one is dropped.
static GENERATION: AtomicU64 = AtomicU64::new(0);

struct Drawn {
    stretched: ChaCha12Rng,
    left: u64,
    generation: u64,
}

thread_local! {
    static DRAWN: RefCell<Option<Drawn>> = const { RefCell::new(None) };
}

/// A source of random words.
#[derive(Clone)]
pub(crate) enum Random {
    /// Each thread's own, from the operating system.
    System,
    /// An argument: what a test says.
    #[cfg_attr(not(test), expect(dead_code, reason = "what ships draws from the system"))]
    Given(Arc<Given>),
}

/// Random words as an argument.
pub(crate) struct Given {
    words: Mutex<Box<dyn FnMut() -> u64 + Send>>,
    generation: AtomicU64,
}

impl Random {
    #[cfg(test)]
    pub(crate) fn given(words: impl FnMut() -> u64 + Send + 'static) -> Self {
        Self::Given(Arc::new(Given { words: Mutex::new(Box::new(words)), generation: AtomicU64::new(0) }))
    }

    /// `N` times 64 random bits.
    ///
    /// # Errors
    /// [`MintError::Stopped`] where the operating system gives none.
    #[inline]
    pub(crate) fn words<const N: usize>(&self) -> Result<[u64; N], MintError> {
        match self {
            Self::System => system_words(),
            Self::Given(given) => {
                let mut next = lock_std(&given.words);
                Ok(std::array::from_fn(|_| next()))
            }
        }
    }

    /// 64 random bits.
    ///
    /// # Errors
    /// As [`Random::words`].
    #[inline]
    pub(crate) fn word(&self) -> Result<u64, MintError> {
        self.words().map(|[word]| word)
    }

    /// Changes with every [`Random::invalidate`].
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        match self {
            Self::System => GENERATION.load(Ordering::Relaxed),
            Self::Given(given) => given.generation.load(Ordering::Relaxed),
        }
    }

    /// Drops what was drawn ahead; for the system's, on every thread.
    pub(crate) fn invalidate(&self) {
        match self {
            Self::System => invalidate(),
            Self::Given(given) => {
                given.generation.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "System",
            Self::Given(_) => "Given",
        })
    }
}

/// Drops what every thread has drawn ahead of the operating system's randomness.
pub(crate) fn invalidate() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

#[inline]
fn system_words<const N: usize>() -> Result<[u64; N], MintError> {
    let generation = GENERATION.load(Ordering::Relaxed);
    let wanted = N as u64;
    DRAWN
        .try_with(|drawn| match &mut *drawn.borrow_mut() {
            Some(drawn) if drawn.left >= wanted && drawn.generation == generation => {
                drawn.left -= wanted;
                Ok(std::array::from_fn(|_| drawn.stretched.next_u64()))
            }
            drawn => reseed(drawn.insert(seed(generation)?)),
        })
        // In a thread that is ending, whose own is gone.
        .unwrap_or_else(|_| reseed(&mut seed(generation)?))
}

fn reseed<const N: usize>(drawn: &mut Drawn) -> Result<[u64; N], MintError> {
    drawn.left -= N as u64;
    Ok(std::array::from_fn(|_| drawn.stretched.next_u64()))
}

#[cold]
fn seed(generation: u64) -> Result<Drawn, MintError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| MintError::Stopped(format!("the operating system gives no randomness: {error}")))?;
    Ok(Drawn { stretched: ChaCha12Rng::from_seed(seed), left: WORDS_PER_SEED, generation })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_word_comes_twice_over_seeds_threads_and_invalidations() {
        let of_a_thread = || {
            let mut words = Vec::new();
            for round in 0..5 {
                for _ in 0..WORDS_PER_SEED {
                    words.extend(Random::System.words::<3>().unwrap());
                }
                if round % 2 == 0 {
                    Random::System.invalidate();
                }
            }
            words
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(of_a_thread)).collect();
        let mut seen = HashSet::new();
        for thread in threads {
            for word in thread.join().unwrap() {
                assert!(seen.insert(word), "{word:x} came twice");
            }
        }
    }

    #[test]
    fn an_invalidation_drops_what_was_drawn_ahead() {
        // A copy of this thread's state, as a forked child would have it.
        let copied = || {
            DRAWN.with_borrow(|drawn| {
                let drawn = drawn.as_ref().unwrap();
                ChaCha12Rng::deserialize_state(&drawn.stretched.serialize_state())
            })
        };
        Random::System.word().unwrap();
        let mut copy = copied();
        // The copy tells what comes next, until it is invalidated.
        while Random::System.generation() != DRAWN.with_borrow(|drawn| drawn.as_ref().unwrap().generation) {
            Random::System.word().unwrap();
            copy = copied();
        }
        let ahead: HashSet<u64> = (0..1_000).map(|_| copy.next_u64()).collect();
        invalidate();
        for _ in 0..1_000 {
            assert!(!ahead.contains(&Random::System.word().unwrap()));
        }
    }

    #[test]
    fn bits_are_as_often_set_as_not() {
        let mut set = [0_u32; 64];
        for _ in 0..100_000 {
            let word = Random::System.word().unwrap();
            for (bit, count) in set.iter_mut().enumerate() {
                *count += u32::from(word >> bit & 1 == 1);
            }
        }
        // Six standard deviations of 158 around the half.
        assert!(set.iter().all(|count| (49_050..=50_950).contains(count)), "{set:?}");
    }
}
