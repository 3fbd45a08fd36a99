//! Where kinds get random bits: drawn from the operating system once, and stretched for many IDs.
//!
//! A thread has its own ChaCha12 (RFC 8439's function with twelve rounds), keyed by 32 bytes of the operating system's
//! randomness, for 64 KiB. No state is shared, so no thread waits for another. Of each KiB the first 32 bytes are the
//! next key (Bernstein's fast key erasure, 2017), and what is handed out is wiped. So a copy of the memory does not show the
//! random bits of earlier IDs, and those of later IDs only until the next seed.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::{Arc, Mutex};

use chacha20::ChaCha12;
use chacha20::cipher::{KeyIvInit, StreamCipher};

use crate::error::MintError;
use crate::sync::{AtomicU64, Ordering, lock_std};

/// Of the KiB that is made at once, so many bytes are the next key.
const KEY_BYTES: usize = 32;
/// How many words of 8 bytes the rest are.
const WORDS: usize = (1_024 - KEY_BYTES) / 8;
/// How many times words are made from one seed: 64 KiB in all, as in `rand`'s thread generator.
const REFILLS: u32 = 64;

/// Counts the calls of [`invalidate`]: randomness that was drawn before the last one is dropped.
#[allow(unused_qualifications, reason = "loom has no statics of its own types")]
static GENERATION: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Words that were made and not yet taken. It has no destructor, so that reaching it costs one addition.
struct Ready {
    words: [Cell<u64>; WORDS],
    /// How many were taken.
    taken: Cell<usize>,
    generation: Cell<u64>,
}

struct Stretched {
    key: [u8; KEY_BYTES],
    refills: u32,
    generation: u64,
}

thread_local! {
    static READY: Ready = const {
        Ready { words: [const { Cell::new(0) }; WORDS], taken: Cell::new(WORDS), generation: Cell::new(0) }
    };
    static STRETCHED: RefCell<Option<Stretched>> = const { RefCell::new(None) };
}

/// A source of random words.
#[derive(Clone)]
pub(crate) enum Random {
    /// Each thread's own, from the operating system.
    System,
    /// Given by a test.
    #[cfg_attr(not(test), expect(dead_code, reason = "what ships draws from the system"))]
    Given(Arc<Given>),
}

/// Random words, given as an argument.
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
    /// [`MintError::Stopped`] if the operating system gives none.
    #[inline(always)]
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
    #[inline(always)]
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

#[inline(always)]
fn system_words<const N: usize>() -> Result<[u64; N], MintError> {
    READY.with(|ready| {
        let taken = ready.taken.get();
        // Words of different seeds or generations are not mixed.
        let Some(words) = ready.words.get(taken..taken + N).filter(|_| ready.is_current()) else {
            return refilled(ready);
        };
        ready.taken.set(taken + N);
        Ok(take(words))
    })
}

#[inline(always)]
fn take<const N: usize>(words: &[Cell<u64>]) -> [u64; N] {
    let mut taken = [0; N];
    for (taken, word) in taken.iter_mut().zip(words) {
        // Random bits that were handed out must not stay in memory, since a copy of the process would have them too.
        *taken = word.take();
    }
    taken
}

#[cold]
#[inline(never)]
fn refilled<const N: usize>(ready: &Ready) -> Result<[u64; N], MintError> {
    const { assert!(N <= WORDS) };
    ready.refill(seed)?;
    ready.taken.set(N);
    Ok(take(&ready.words))
}

impl Ready {
    #[inline]
    fn is_current(&self) -> bool {
        self.generation.get() == GENERATION.load(Ordering::Relaxed)
    }

    /// Makes words, of a new seed if there is none that is current. An invalidation meanwhile drops them.
    fn refill(&self, seed: impl Fn(u64) -> Result<Stretched, MintError>) -> Result<(), MintError> {
        let generation = GENERATION.load(Ordering::Relaxed);
        let fill = |made: &mut Stretched| made.stretch(&self.words);
        let made = STRETCHED.try_with(|stretched| {
            let mut stretched = stretched.borrow_mut();
            let current =
                stretched.as_ref().is_some_and(|made| made.refills > 0 && made.generation == generation);
            if !current {
                *stretched = Some(seed(generation)?);
            }
            if let Some(made) = stretched.as_mut() {
                made.refills -= 1;
                fill(made);
            }
            Ok::<_, MintError>(())
        });
        match made {
            Ok(made) => made?,
            // The thread is ending, and its own generator is gone.
            Err(_) => fill(&mut seed(generation)?),
        }
        self.generation.set(generation);
        Ok(())
    }
}

impl Stretched {
    fn stretch(&mut self, words: &[Cell<u64>; WORDS]) {
        let mut made = [0; KEY_BYTES + WORDS * 8];
        // A key is used once, so the nonce need not differ.
        ChaCha12::new(&self.key.into(), &[0; 12].into()).apply_keystream(&mut made);
        let (key, rest) = made.split_at_mut(KEY_BYTES);
        self.key.copy_from_slice(key);
        for (word, bytes) in words.iter().zip(rest.as_chunks().0) {
            word.set(u64::from_le_bytes(*bytes));
        }
        made.fill(0);
        // Or the compiler would leave the wiping out.
        std::hint::black_box(&made);
    }
}

fn seed(generation: u64) -> Result<Stretched, MintError> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key)
        .map_err(|error| MintError::stopped(format!("the operating system gives no randomness: {error}")))?;
    Ok(Stretched { key, refills: REFILLS, generation })
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
                for _ in 0..u64::from(REFILLS) * 60 {
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
        // What a forked child would have of this thread's: words that are ready, and what is to be stretched.
        let ahead: HashSet<u64> = loop {
            Random::System.word().unwrap();
            let generation = Random::System.generation();
            let copy: HashSet<u64> = READY.with(|ready| ready.words.iter().map(Cell::get).collect());
            let stretched = STRETCHED.with_borrow(|stretched| {
                let stretched = stretched.as_ref().unwrap();
                let mut copy = Stretched { key: stretched.key, refills: 0, generation };
                let words = [const { Cell::new(0) }; WORDS];
                let next = move |_| {
                    copy.stretch(&words);
                    words.each_ref().map(Cell::get)
                };
                (stretched.generation == generation).then(|| (0..8).flat_map(next))
            });
            // Another test may have invalidated meanwhile.
            if let Some(stretched) = stretched {
                break copy.into_iter().filter(|word| *word != 0).chain(stretched).collect();
            }
        };
        assert_eq!(ahead.len(), 8 * WORDS + WORDS - 1);
        invalidate();
        for _ in 0..1_000 {
            assert!(!ahead.contains(&Random::System.word().unwrap()));
        }
    }

    /// Also in a process that has none but kinds without a time, for which there is no clock to end an era of.
    #[test]
    fn an_invalidation_of_all_kinds_reaches_the_randomness() {
        let before = Random::System.generation();
        crate::kind::invalidate();
        assert_ne!(Random::System.generation(), before);
    }

    /// Otherwise each word would cost a thousand bytes of them.
    #[test]
    fn after_an_invalidation_words_are_made_ahead_again() {
        loop {
            invalidate();
            let generation = Random::System.generation();
            Random::System.word().unwrap();
            let is_current = READY.with(Ready::is_current);
            // Another test may have invalidated meanwhile.
            if Random::System.generation() == generation {
                return assert!(is_current);
            }
        }
    }

    #[test]
    fn an_invalidation_while_words_are_made_drops_them() {
        // Whatever the seed was before.
        invalidate();
        READY.with(|ready| {
            let seed = |generation| {
                let made = seed(generation);
                invalidate();
                made
            };
            ready.refill(seed).unwrap();
            assert!(!ready.is_current(), "they may be made of a seed that a copy has");
        });
    }

    /// The call fails, and the one after it draws nothing that a copy of the process has as well.
    #[test]
    fn what_an_invalidation_drops_is_not_drawn_where_the_system_gives_no_randomness() {
        Random::System.word().unwrap();
        invalidate();
        READY.with(|ready| {
            let none = |_| Err(MintError::stopped("there is none".to_owned()));
            assert!(ready.refill(none).is_err());
            assert!(!ready.is_current(), "what is left of before the invalidation");
        });
    }

    /// Who finds a key learns nothing of what was made before it.
    #[test]
    fn a_key_is_replaced_by_what_is_handed_to_nobody() {
        let mut stretched = Stretched { key: [7; KEY_BYTES], refills: 1, generation: 0 };
        let words = [const { Cell::new(0) }; WORDS];
        for _ in 0..2 {
            let key = stretched.key;
            stretched.stretch(&words);
            let mut stream = [0; 1_024];
            ChaCha12::new(&key.into(), &[0; 12].into()).apply_keystream(&mut stream);
            assert_eq!(stretched.key, stream[..KEY_BYTES]);
            let made: Vec<u8> = words.iter().flat_map(|word| word.get().to_le_bytes()).collect();
            assert_eq!(made, stream[KEY_BYTES..]);
        }
    }

    #[test]
    fn a_word_that_was_taken_is_wiped() {
        let word = Random::System.word().unwrap();
        READY.with(|ready| assert!(ready.words.iter().all(|ready| ready.get() != word)));
    }

    #[test]
    fn a_seed_is_for_64_kib() {
        std::thread::spawn(|| {
            let state = || {
                STRETCHED.with_borrow(|stretched| {
                    let stretched = stretched.as_ref().unwrap();
                    (stretched.refills, stretched.generation)
                })
            };
            loop {
                Random::System.word().unwrap();
                let (mut words, (_, generation)) = (1, state());
                while state() != (0, generation) && state().1 == generation {
                    Random::System.word().unwrap();
                    words += 1;
                }
                assert!(words <= (REFILLS as usize - 1) * WORDS + 1, "{words}");
                for _ in 0..WORDS {
                    Random::System.word().unwrap();
                }
                let (refills, of) = state();
                // Another test may have invalidated meanwhile.
                if of == generation {
                    return assert_eq!(refills, REFILLS - 1, "a new seed");
                }
            }
        })
        .join()
        .unwrap();
    }

    /// A thread's words may be asked for where its own are gone already, by what is dropped at its end.
    #[test]
    fn there_is_randomness_at_the_end_of_a_thread() {
        use std::sync::mpsc;

        struct AtTheEnd(mpsc::Sender<Vec<u64>>);

        impl Drop for AtTheEnd {
            fn drop(&mut self) {
                let words = (0..WORDS * 3).map(|_| Random::System.word().unwrap()).collect();
                self.0.send(words).unwrap();
            }
        }

        thread_local! {
            static END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
        }

        let (to, from) = mpsc::channel();
        for early in [true, false] {
            let to = to.clone();
            std::thread::spawn(move || {
                if early {
                    Random::System.word().unwrap();
                }
                END.set(Some(AtTheEnd(to)));
                Random::System.word().unwrap();
            })
            .join()
            .unwrap();
        }
        let words: Vec<u64> = from.recv().unwrap().into_iter().chain(from.recv().unwrap()).collect();
        assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
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
