//! Seeded random draws, the same on every machine.

/// The SplitMix64 generator: small, seedable with any number, and good enough to draw thousands of
/// values from a law.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator from any seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Returns a number uniform in 0 < x < 1.
    pub(crate) fn unit(&mut self) -> f64 {
        // 53 bits are what a double holds. The half keeps out 0, which no survival of a power
        // law reaches.
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_follow_the_seed() {
        let mut random = Random::new(3);
        let draws: Vec<f64> = (0..40_000).map(|_| random.unit()).collect();
        let mean = draws.iter().sum::<f64>() / 40_000.0;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / 40_000.0;
        assert!((mean - 0.5).abs() < 0.01 && (square - 1.0 / 3.0).abs() < 0.01);
        assert_eq!(Random::new(7).next_u64(), Random::new(7).next_u64());
    }
}
