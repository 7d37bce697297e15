//! The generator MT19937 as numpy uses it, from which datasketch draws its hash functions.
//!
//! Source: Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform
//! pseudo-random number generator" (1998), with the seeding of 2002. Thirty lines whose output must
//! never change are no reason for a dependency.

#![expect(clippy::cast_possible_truncation, reason = "the state has 624 words")]

/// Words of state.
const N: usize = 624;

/// How far ahead a word is mixed with another.
const M: usize = 397;

/// The generator MT19937.
#[derive(Debug)]
pub(super) struct MersenneTwister {
    words: [u32; N],
    /// Index of the next word to give out; `N` when the words are used up.
    next: usize,
}

impl MersenneTwister {
    /// Creates a generator from a seed.
    pub(super) fn new(seed: u32) -> Self {
        let mut words = [seed; N];
        for i in 1..N {
            let before = words[i - 1];
            // `i` is below 624.
            words[i] = (before ^ (before >> 30))
                .wrapping_mul(1_812_433_253)
                .wrapping_add(i as u32);
        }
        Self { words, next: N }
    }

    /// Draws a number in `0..=limit`, all equally probable, as numpy's legacy generator draws
    /// 64-bit integers.
    pub(super) fn at_most(&mut self, limit: u64) -> u64 {
        // The smallest mask that covers the limit, so that at least half of the draws are accepted.
        // A power of two is its own next power, hence `| limit`.
        let mask = limit
            .checked_next_power_of_two()
            .map_or(u64::MAX, |power| (power - 1) | limit);
        loop {
            let draw = (u64::from(self.word()) << 32 | u64::from(self.word())) & mask;
            if draw <= limit {
                return draw;
            }
        }
    }

    /// Returns the next 32 random bits.
    fn word(&mut self) -> u32 {
        if self.next == N {
            self.twist();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        // The tempering of the paper.
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Replaces the words by the next ones.
    fn twist(&mut self) {
        for i in 0..N {
            let joined = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % N] & 0x7fff_ffff);
            let twisted = (joined >> 1) ^ if joined % 2 == 1 { 0x9908_b0df } else { 0 };
            self.words[i] = self.words[(i + M) % N] ^ twisted;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference_implementation() {
        let mut random = MersenneTwister::new(5489);
        assert_eq!(random.word(), 3_499_211_612);
        for _ in 2..10_000 {
            random.word();
        }
        // The value that the C++ standard demands of its 10,000th.
        assert_eq!(random.word(), 4_123_659_995);
    }

    #[test]
    fn numbers_stay_within_their_limit() {
        let mut random = MersenneTwister::new(1);
        assert_eq!(random.at_most(0), 0);
        assert!((0..1000).all(|_| random.at_most(5) <= 5));
    }
}
