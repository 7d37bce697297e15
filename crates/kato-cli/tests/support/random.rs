//! Random settings and moments, the same in every run.

use std::time::Duration;

/// Numbers from 0 to 1, the same in every run (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number from 0 to `n`, `n` not included.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.next() * n as f64) as u64
    }

    pub(crate) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// When to kill: mostly anywhere in the first `most` of a session, now and then within its first microseconds.
    pub(crate) fn delay(&mut self, most: Duration) -> Duration {
        let part = self.next();
        match self.next() < 0.25 {
            true => Duration::from_secs_f64(50e-6 * (most.as_secs_f64() / 50e-6).powf(part)),
            false => most.mul_f64(part),
        }
    }
}
