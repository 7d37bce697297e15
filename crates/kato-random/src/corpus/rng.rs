//! Random integers below a bound: integers alone, so that they are the same on every platform.

use crate::SplitMix64;

/// Returns an integer below `n`, or 0 when `n` is 0; the bias is below `n` / 2³².
pub(crate) fn below(random: &mut SplitMix64, n: u32) -> u32 {
    // The lower half and not the generator's own `below`: every corpus so far was drawn so, and a
    // corpus is a function of its seed.
    scale(random.next_u64() as u32, n)
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
    fn below_stays_below() {
        let mut random = SplitMix64::from_seed(7);
        assert!((0..1000).all(|_| below(&mut random, 3) < 3));
        assert_eq!(below(&mut random, 0), 0);
        assert_eq!(scale(u32::MAX, u32::MAX), u32::MAX - 1);
    }
}
