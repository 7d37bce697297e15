//! Random integers that are the same on every platform and in every release.

/// The SplitMix64 generator (Steele, Lea and Flood 2014): 8 bytes of state, integers only.
///
/// Written out because a corpus must not change with the version of a random-number crate.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates a generator whose numbers the seed decides.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 uniform bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns an integer below `n`, or 0 when `n` is 0; the bias is below `n` / 2³².
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        scale(self.bits() as u32, n)
    }
}

/// Maps 32 uniform bits to an integer below `n`.
pub(crate) fn scale(bits: u32, n: u32) -> u32 {
    // A multiplication instead of a remainder or a rejection: cheap, and every number takes exactly
    // one draw. The product is below 2⁶⁴ and its upper half below `n`.
    ((u64::from(bits) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_values_are_those_of_the_published_algorithm() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.bits(), 6_457_827_717_110_365_317);
        assert_eq!(rng.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_stays_below() {
        let mut rng = Rng::new(7);
        assert!((0..1000).all(|_| rng.below(3) < 3));
        assert_eq!(rng.below(0), 0);
        assert_eq!(scale(u32::MAX, u32::MAX), u32::MAX - 1);
    }
}
