//! UUID version 7 and ULID, as two Rust crates make them: 48 bits of Unix milliseconds, and randomness. Nodes share
//! nothing and store nothing, so no fault of a store or of a worker id matters.
//!
//! `Uuid::now_v7` has one context per process: a counter of 42 bits. In every new millisecond it begins at a random number of
//! 41 bits. If the clock stands still or is behind, it counts on in the millisecond that it had. Each ID has 32 more random
//! bits. Its randomness comes from the kernel for each ID, or with the feature `fast-rng` from a generator in the process's
//! memory. `ulid::Generator` takes 80 random bits in every new millisecond, and adds 1 if the clock stands still or is behind;
//! its randomness comes from such a generator. That generator (`rand::rng`) is seeded from the kernel at its beginning and
//! after every 64 KiB. A copy of the process has the same one: both draw the same numbers until one of them is seeded again.
//!
//! Read from: uuid-rs/uuid 1.29.1 (0fe2dab), `src/v7.rs` (`now_v7`, `new_v7`), `src/timestamp.rs` (`ContextV7`'s
//! `generate_timestamp_sequence`, `Counter::reseed`), `src/rng.rs`; dylanhart/ulid-rs 3.0.0 (90992f5), `src/generator.rs`
//! (`generate_from_datetime_with_source`); rust-random/rand 0.10.3 (9e7d328), `src/rngs/thread.rs`
//! (`RESEED_BLOCK_THRESHOLD`). The clock has whole milliseconds here. If a ULID overflows, that is an error: the crate
//! leaves it to its caller.

use floe_sim::model::{Ask, Machine, Model, Pace, Setup, Verdict};
use floe_sim::random::Random;

/// The counter's bits.
const COUNTER_BITS: u32 = 42;
const SEED_BITS: u32 = 41;
/// Random bits below the counter.
const TAIL_BITS: u32 = 32;
/// The bits below the time, in both kinds.
const BELOW_BITS: u32 = 80;
/// The generator in memory is seeded again after this many bytes.
const RESEED_BYTES: u64 = 64 << 10;

/// One of the two, and the source of its randomness.
#[derive(Clone, Copy, Debug)]
pub enum RandomIds {
    /// `Uuid::now_v7`, with `fast-rng` or without.
    UuidV7 {
        /// Whether its randomness comes from a generator in the process's memory.
        fast: bool,
    },
    /// `ulid::Generator`.
    Ulid,
}

/// A process's context or generator, and the random generator in its memory.
#[derive(Clone, Debug)]
pub struct Source {
    /// Milliseconds since 1970.
    last: i64,
    /// A UUID's counter, or a ULID's random part.
    number: u128,
    rng: Random,
    drawn: u64,
}

impl Source {
    /// Random bits from the generator in memory.
    fn memory(&mut self, bytes: u64, machine: &mut Machine<'_, RandomIds>) -> u128 {
        self.drawn += bytes;
        if self.drawn > RESEED_BYTES {
            (self.rng, self.drawn) = (Random::new(machine.random.number()), bytes);
        }
        wide(&mut self.rng)
    }
}

fn wide(random: &mut Random) -> u128 {
    u128::from_le_bytes(random.bytes())
}

/// The lowest bits.
fn low(number: u128, bits: u32) -> u128 {
    number & ((1 << bits) - 1)
}

impl RandomIds {
    fn uuid(fast: bool, source: &mut Source, now: i64, machine: &mut Machine<'_, Self>) -> u128 {
        let mut draw = |source: &mut Source, bytes| match fast {
            true => source.memory(bytes, machine),
            false => wide(machine.random),
        };
        source.number += 1;
        if now > source.last || source.number >> COUNTER_BITS > 0 {
            source.last = now.max(source.last + 1);
            source.number = low(draw(source, 8), SEED_BITS);
        }
        let payload = source.number << TAIL_BITS | low(draw(source, 16), TAIL_BITS);
        let (high, tail) = (payload >> 62, low(payload, 62));
        (0x7 << 12 | high) << 64 | 0b10 << 62 | tail
    }

    fn ulid(source: &mut Source, now: i64, machine: &mut Machine<'_, Self>) -> Option<u128> {
        if now > source.last {
            (source.last, source.number) = (now, low(source.memory(10, machine), BELOW_BITS));
        } else {
            source.number += 1;
        }
        (source.number >> BELOW_BITS == 0).then_some(source.number)
    }
}

impl Model for RandomIds {
    const PACE: Pace = Pace::NATIVE;

    keeps_nothing!(());

    type Process = Source;

    fn start(&mut self, _: &Setup, _: Option<&mut ()>, machine: &mut Machine<'_, Self>) -> Source {
        Source { last: 0, number: 0, rng: Random::new(machine.random.number()), drawn: 0 }
    }

    fn mint(&mut self, process: &mut Source, _ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let now = machine.wall();
        let below = match *self {
            Self::UuidV7 { .. } if now < 0 => return Verdict::Refused("time before 1970".into()),
            Self::UuidV7 { fast } => Self::uuid(fast, process, now, machine),
            Self::Ulid => match Self::ulid(process, now, machine) {
                Some(below) => below,
                None => return Verdict::Refused("the random part is used up".into()),
            },
        };
        Verdict::Minted(vec![u128::from(process.last.unsigned_abs()) << BELOW_BITS | below])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::tests::manual_host::{ManualHost, NOON, increasing};

    const UUID: RandomIds = RandomIds::UuidV7 { fast: false };
    const FAST: RandomIds = RandomIds::UuidV7 { fast: true };

    fn time(id: u128) -> u128 {
        id >> BELOW_BITS
    }

    /// The counter, put together from both sides of the variant.
    fn counter(id: u128) -> u128 {
        low(id >> 64, 12) << 30 | low(id >> TAIL_BITS, 30)
    }

    /// uuid 1.29.1, timestamp.rs, ContextV7's generate_timestamp_sequence, and v7.rs, new_v7.
    #[test]
    fn a_uuid_counts_within_its_millisecond_and_through_a_clock_that_is_behind() {
        let mut host = ManualHost::new(UUID);
        let mut source = host.start();
        let first = host.id(&mut source);
        assert_eq!(time(first), u128::from(NOON.unsigned_abs()));
        assert_eq!((low(first >> 76, 4), low(first >> 62, 2)), (7, 0b10), "version and variant");
        assert!(counter(first) >> SEED_BITS == 0);
        let second = host.id(&mut source);
        assert_eq!((time(second), counter(second)), (time(first), counter(first) + 1));
        host.step(-5_000);
        let behind = host.id(&mut source);
        assert_eq!((time(behind), counter(behind)), (time(first), counter(first) + 2));
        host.step(5_001);
        let next = host.id(&mut source);
        assert_eq!(time(next), time(first) + 1);
        assert_ne!(counter(next), counter(behind) + 1, "it begins anew");
        source.number = (1 << COUNTER_BITS) - 1;
        assert_eq!(time(host.id(&mut source)), time(next) + 1, "a counter that is used up goes ahead");
        increasing(&mut host, &mut source, 10_000);
    }

    /// uuid 1.29.1, timestamp.rs, Counter::reseed, and v7.rs, new_v7: 41 random bits of 42 at the beginning, and 32 for each ID.
    #[test]
    fn a_uuid_has_random_bits_where_its_crate_has_them() {
        let mut host = ManualHost::new(UUID);
        let mut source = host.start();
        let (mut ones, mut zeros) = ([0; 2], [u128::MAX; 2]);
        for _ in 0..200 {
            host.step(1);
            let id = host.id(&mut source);
            for (place, bits) in [counter(id), low(id, 32)].into_iter().enumerate() {
                ones[place] |= bits;
                zeros[place] &= bits;
            }
        }
        assert_eq!((ones, zeros), ([(1 << 41) - 1, (1 << 32) - 1], [0, 0]));
    }

    /// ulid 3.0.0, generator.rs, generate_from_datetime_with_source.
    #[test]
    fn a_ulid_adds_one_where_the_clock_stands_or_is_behind() {
        let mut host = ManualHost::new(RandomIds::Ulid);
        let mut source = host.start();
        let first = host.id(&mut source);
        assert_eq!(time(first), u128::from(NOON.unsigned_abs()));
        host.step(-5_000);
        assert_eq!(host.id(&mut source), first + 1);
        host.step(5_001);
        let next = host.id(&mut source);
        assert_eq!(time(next), time(first) + 1);
        increasing(&mut host, &mut source, 10_000);
        source.number = (1 << BELOW_BITS) - 1;
        assert!(matches!(host.mint(&mut source), Verdict::Refused(_)));
    }

    /// uuid 1.29.1, rng.rs, and rand 0.10.3, thread.rs: a copy shares the generator in memory, but not the kernel's randomness.
    #[test]
    fn a_copy_draws_the_same_numbers_from_memory_and_others_from_the_kernel() {
        for (model, same) in [(UUID, false), (FAST, true), (RandomIds::Ulid, true)] {
            let mut host = ManualHost::new(model);
            let mut source = host.start();
            host.id(&mut source);
            let mut copy = host.model.memory(&source, Random::new(7)).unwrap();
            host.step(1);
            let ids = [host.id(&mut source), host.id(&mut copy)];
            assert_eq!(ids[0] == ids[1], same, "{model:?}");
            for _ in 0..RESEED_BYTES {
                host.step(1);
                host.id(&mut source);
            }
            for _ in 0..RESEED_BYTES {
                host.id(&mut copy);
            }
            host.step(1);
            assert_ne!(host.id(&mut source), host.id(&mut copy), "{model:?}: seeded again since");
        }
    }

    /// rand 0.10.3, thread.rs, RESEED_BLOCK_THRESHOLD: 64 KiB, of which a UUID takes 24 bytes here, and a ULID 10.
    #[test]
    fn a_copy_draws_the_same_numbers_until_sixty_four_kibibytes_are_drawn() {
        for (model, same) in [(FAST, 65_536 / 24 - 1), (RandomIds::Ulid, 65_536 / 10 - 1)] {
            let mut host = ManualHost::new(model);
            let mut source = host.start();
            host.id(&mut source);
            let mut copy = host.model.memory(&source, Random::new(7)).unwrap();
            let mut equal = 0;
            loop {
                host.step(1);
                if host.id(&mut source) != host.id(&mut copy) {
                    break;
                }
                equal += 1;
            }
            assert_eq!(equal, same, "{model:?}");
        }
    }
}
