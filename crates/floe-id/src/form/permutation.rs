//! Keyed permutations of exactly the numbers of so many bits.
//!
//! 64 bits are one block of Speck64/128 (Beaulieu and others, "The Simon and Speck Families of Lightweight Block Ciphers",
//! 2013). Any other width is a Feistel network whose two parts take turns: each round changes one part by what a keyed
//! function makes of the other, so undoing the rounds in the opposite order undoes them, whatever the function, and the
//! parts need not be of one width. Nothing falls outside the width, so no number is ever walked through a cycle.

/// How many rounds a network has; each part is changed in every second one. Avalanche is complete after six of them and not
/// after four (`form::tests::sealed`); two are margin.
const ROUNDS: usize = 8;

/// A keyed permutation of the numbers below 2^bits.
#[derive(Clone)]
pub(super) enum Permutation {
    Block(Speck64),
    Network(Network),
}

impl Permutation {
    /// 24 bits that tell one key from another and say nothing else of it: those of a block that no schedule takes. Of 64 bits it
    /// is the largest number, which no layout mints.
    pub(super) fn check(key: [u8; 16]) -> u32 {
        word(Speck64::new(key).seal(u64::MAX) >> 40)
    }

    /// For numbers of 2 to 128 bits.
    pub(super) fn new(bits: u32, key: [u8; 16]) -> Self {
        let block = Speck64::new(key);
        match bits {
            64 => Self::Block(block),
            _ => Self::Network(Network::new(bits, &block)),
        }
    }

    #[inline]
    pub(super) fn seal(&self, number: u128) -> u128 {
        match self {
            Self::Block(block) => block.seal(low(number)).into(),
            Self::Network(network) => network.seal(number),
        }
    }

    #[inline]
    pub(super) fn open(&self, number: u128) -> u128 {
        match self {
            Self::Block(block) => block.open(low(number)).into(),
            Self::Network(network) => network.open(number),
        }
    }
}

/// Speck with blocks of 64 bits and keys of 128. A block is its first word in the upper half; a key's last four bytes
/// are the first round's key, as in the paper's test vectors.
#[derive(Clone)]
pub(super) struct Speck64 {
    keys: [u32; 27],
}

impl Speck64 {
    pub(super) fn new(key: [u8; 16]) -> Self {
        let key = u128::from_be_bytes(key);
        let word = |index: u32| word(low(key >> (32 * index)));
        let (mut round_key, mut rest) = (word(0), [word(1), word(2), word(3)]);
        let mut keys = [0; 27];
        for (round, slot) in (0_u32..).zip(&mut keys) {
            *slot = round_key;
            let [first, second, third] = rest;
            let (next, key) = forward(first, round_key, round);
            (round_key, rest) = (key, [second, third, next]);
        }
        Self { keys }
    }

    #[inline]
    pub(super) fn seal(&self, block: u64) -> u64 {
        let words = (word(block >> 32), word(block));
        let (first, second) =
            self.keys.iter().fold(words, |(first, second), key| forward(first, second, *key));
        u64::from(first) << 32 | u64::from(second)
    }

    #[inline]
    pub(super) fn open(&self, block: u64) -> u64 {
        let words = (word(block >> 32), word(block));
        let (first, second) = self.keys.iter().rev().fold(words, |(first, second), key| {
            let before = (first ^ second).rotate_right(3);
            ((first ^ key).wrapping_sub(before).rotate_left(8), before)
        });
        u64::from(first) << 32 | u64::from(second)
    }
}

/// A round of Speck, which is also the step of its key schedule.
#[inline(always)]
fn forward(first: u32, second: u32, key: u32) -> (u32, u32) {
    let first = first.rotate_right(8).wrapping_add(second) ^ key;
    (first, second.rotate_left(3) ^ first)
}

/// A Feistel network of two parts, the upper of which is the wider by one bit where the width is odd.
#[derive(Clone)]
pub(super) struct Network {
    /// Whether a number fits a `u64`, whose shifts are the faster ones.
    narrow: bool,
    lower_bits: u32,
    /// What brings the function's result down to the width of a part.
    upper_shift: u32,
    lower_shift: u32,
    /// The masks of the first round.
    upper_mask: u64,
    lower_mask: u64,
    keys: [RoundKeys; ROUNDS / 2],
}

/// The keys of one round of each part.
#[derive(Clone, Copy, Default)]
struct RoundKeys {
    upper: RoundKey,
    lower: RoundKey,
}

/// A round multiplies the other part under a mask by a factor. A part is kept under the mask of the round that takes it next,
/// which is exchanged while that round's product is still under way.
#[derive(Clone, Copy, Default)]
struct RoundKey {
    /// Odd.
    factor: u64,
    /// The mask under which the changed part was, and that under which it is next.
    exchange: u64,
}

impl Network {
    /// The keys of the rounds are blocks of the cipher over a counter and the width, so those of two widths share nothing.
    fn new(bits: u32, block: &Speck64) -> Self {
        let mut count = u64::from(bits) << 32;
        let mut next = || {
            count += 1;
            block.seal(count)
        };
        // Each round's mask and factor, the upper part's round first. Its mask is over the lower part.
        let drawn = [(); ROUNDS].map(|()| (next(), next() | 1));
        let mask = |round: usize| drawn.get(round).map_or(0, |(mask, _)| *mask);
        let factor = |round: usize| drawn.get(round).map_or(1, |(_, factor)| *factor);
        let mut round = 0;
        let keys = [(); ROUNDS / 2].map(|()| {
            let upper = RoundKey { factor: factor(round), exchange: mask(round + 1) ^ mask(round + 3) };
            let lower = RoundKey { factor: factor(round + 1), exchange: mask(round) ^ mask(round + 2) };
            round += 2;
            RoundKeys { upper, lower }
        });
        let lower_bits = bits / 2;
        let shift = |part| u64::BITS - part;
        Self {
            narrow: bits <= u64::BITS,
            lower_bits,
            upper_shift: shift(bits - lower_bits),
            lower_shift: shift(lower_bits),
            upper_mask: mask(1),
            lower_mask: mask(0),
            keys,
        }
    }

    #[inline]
    fn seal(&self, number: u128) -> u128 {
        let (mut upper, mut lower) = self.parts(number);
        (upper, lower) = (upper ^ self.upper_mask, lower ^ self.lower_mask);
        for keys in &self.keys {
            upper ^= mix(keys.upper.factor, lower) >> self.upper_shift;
            lower = lower ^ keys.lower.exchange ^ mix(keys.lower.factor, upper) >> self.lower_shift;
            upper ^= keys.upper.exchange;
        }
        self.whole(upper, lower)
    }

    #[inline]
    fn open(&self, number: u128) -> u128 {
        let (mut upper, mut lower) = self.parts(number);
        for keys in self.keys.iter().rev() {
            upper ^= keys.upper.exchange;
            lower = lower ^ keys.lower.exchange ^ mix(keys.lower.factor, upper) >> self.lower_shift;
            upper ^= mix(keys.upper.factor, lower) >> self.upper_shift;
        }
        self.whole(upper ^ self.upper_mask, lower ^ self.lower_mask)
    }

    #[inline(always)]
    fn parts(&self, number: u128) -> (u64, u64) {
        let upper = if self.narrow { low(number) >> self.lower_bits } else { low(number >> self.lower_bits) };
        (upper, low(number) & (u64::MAX >> self.lower_shift))
    }

    #[inline(always)]
    fn whole(&self, upper: u64, lower: u64) -> u128 {
        if self.narrow {
            return (upper << self.lower_bits | lower).into();
        }
        u128::from(upper) << self.lower_bits | u128::from(lower)
    }
}

/// The two halves of a product, each of which hides what the other shows of the factors: the lowest bits of a product depend
/// on the lowest bits alone, and its highest on the highest.
#[inline(always)]
fn mix(factor: u64, masked: u64) -> u64 {
    let product = u128::from(masked) * u128::from(factor);
    low(product) ^ low(product >> 64)
}

/// The lower half.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
#[inline(always)]
fn low(number: u128) -> u64 {
    number as u64
}

/// The lower half.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
#[inline(always)]
fn word(number: u64) -> u32 {
    number as u32
}
