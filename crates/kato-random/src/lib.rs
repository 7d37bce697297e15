#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! [`SplitMix64`] draws numbers. With the feature `corpus`, `corpus` makes text of them.

#[cfg(feature = "corpus")]
pub mod corpus;

/// The SplitMix64 generator: a function of its seed, the same on every platform and in every
/// version.
///
/// Seeds are part of results, so the numbers that a seed gives never change, nor what
/// [`below`](Self::below) and [`unit`](Self::unit) make of them. Each of the methods takes exactly
/// one draw. Not for secrets.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
/// with the constants of Vigna's `splitmix64.c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// How far each draw moves the state.
    ///
    /// A generator from the seed `seed + n · INCREMENT`, modulo 2⁶⁴, continues that of `seed` after
    /// `n` draws. So threads can share a stream without a lock: each takes its seed from a counter
    /// that grows by this much, and draws once.
    pub const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Creates a generator from a seed; every seed is as good as any other.
    #[must_use]
    pub const fn from_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 uniform bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(Self::INCREMENT);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number uniform below `n`, or 0 when `n` is 0; the bias is below `n` / 2⁶⁴.
    pub fn below(&mut self, n: usize) -> usize {
        // A multiplication instead of a remainder or a rejection: every number takes exactly one
        // draw. The product's upper half is below `n`, so the cast keeps it.
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Returns a number uniform in [0, 1), a multiple of 2⁻⁵³; never 1.
    pub const fn unit(&mut self) -> f64 {
        unit_from_bits(self.next_u64())
    }
}

/// Maps 64 bits to [0, 1).
const fn unit_from_bits(bits: u64) -> f64 {
    // An `f64` holds 53 bits exactly, so nothing is rounded and 1 is never reached.
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        let drawn = |seed| {
            let mut random = SplitMix64::from_seed(seed);
            [(); 3].map(|()| random.next_u64())
        };
        assert_eq!(
            drawn(1_234_567),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        assert_eq!(
            drawn(0),
            [
                16_294_208_416_658_607_535,
                7_960_286_522_194_355_700,
                487_617_019_471_545_679
            ]
        );
        assert_eq!(
            drawn(u64::MAX),
            [
                16_490_336_266_968_443_936,
                16_834_447_057_089_888_969,
                4_048_727_598_324_417_001
            ]
        );
    }

    #[test]
    fn what_is_made_of_the_stream_never_changes() {
        let mut random = SplitMix64::from_seed(7);
        assert_eq!([(); 8].map(|()| random.below(10)), [3, 0, 9, 5, 4, 2, 4, 3]);
        let mut random = SplitMix64::from_seed(7);
        assert_eq!(
            [(); 3].map(|()| random.unit()),
            [
                0.389_829_748_391_271_5,
                0.016_788_294_528_156_11,
                0.900_760_680_606_883_4
            ]
        );
    }

    #[test]
    fn numbers_stay_below_their_bounds() {
        let mut random = SplitMix64::from_seed(3);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!((0..1000).all(|_| random.below(usize::MAX) < usize::MAX));
        assert_eq!(unit_from_bits(0), 0.0);
        assert_eq!(unit_from_bits(u64::MAX), 1.0 - f64::EPSILON / 2.0);
    }

    #[test]
    fn a_seed_moved_by_the_increment_continues_the_stream() {
        let mut whole = SplitMix64::from_seed(u64::MAX - 5);
        let counter = |n: u64| (u64::MAX - 5).wrapping_add(n.wrapping_mul(SplitMix64::INCREMENT));
        for n in 0..100 {
            let mut continued = SplitMix64::from_seed(counter(n));
            assert_eq!(continued.next_u64(), whole.next_u64());
            assert_eq!(continued, whole);
        }
    }
}
