//! Random settings and moments, the same in every run.

use std::time::Duration;

use kato_random::SplitMix64;

/// Numbers from 0 to 1, the same in every run.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(SplitMix64::from_seed(seed))
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0.unit()
    }

    /// A whole number from 0 to `n`, `n` not included.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        (self.next() * n as f64) as u64
    }

    pub(crate) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// When to kill: mostly anywhere in the first `most` of a session, now and then within its
    /// first microseconds.
    pub(crate) fn delay(&mut self, most: Duration) -> Duration {
        let part = self.next();
        match self.next() < 0.25 {
            true => Duration::from_secs_f64(50e-6 * (most.as_secs_f64() / 50e-6).powf(part)),
            false => most.mul_f64(part),
        }
    }
}
