//! Reproducible random numbers: for places to read, and for bytes that do not compress.

/// Marsaglia's xorshift on 64 bits; not for secrets.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator from any seed.
    pub(crate) fn new(seed: u64) -> Self {
        // Bits of both kinds, because small seeds alone begin with small numbers. A state of 0
        // would stay 0: the one seed that leads there shares its numbers with its neighbour.
        Self((seed ^ 0x9e37_79b9_7f4a_7c14).max(1))
    }

    /// Returns the next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // The high half of the product: no division, and the bias is too small to matter here.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Fills memory with random bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_give_numbers_of_their_own_and_none_gives_zeros() {
        let mut first: Vec<u64> = (0..1000).map(|seed| Random::new(seed).next()).collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 1000);
        assert!((0..1000).all(|n| Random::new(0x9e37_79b9_7f4a_7c14 ^ n).next() != 0));
    }
}
