//! Randomness from a seed: the same numbers on every machine.

/// A stream of numbers. SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream for a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A separate stream for `purpose`. Draws from it change no other stream.
    #[must_use]
    pub fn fork(&self, purpose: u64) -> Self {
        let mut fork = Self(self.0 ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(fork.number())
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must be at least 1. Its bias is below `end / 2^64`.
    pub fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.number()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from `start` to `end`, inclusive.
    pub fn between(&mut self, start: u64, end: u64) -> u64 {
        start + self.below(end - start + 1)
    }

    /// As [`between`](Self::between), over most of the range's orders of magnitude: small numbers are as likely as
    /// large ones.
    pub fn spread(&mut self, start: u64, end: u64) -> u64 {
        let beyond = self.between(0, end - start);
        let bits = 64 - u64::from((end - start).max(1).leading_zeros());
        start + (beyond >> self.below(bits))
    }

    /// `true` in `per_mille` of a thousand cases.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of `choices`, which must not be empty.
    pub fn choose<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.below(u64::try_from(choices.len()).unwrap_or(1));
        &choices[usize::try_from(index).unwrap_or(0)]
    }

    /// Sixteen bytes.
    pub fn bytes(&mut self) -> [u8; 16] {
        (u128::from(self.number()) << 64 | u128::from(self.number())).to_le_bytes()
    }
}
