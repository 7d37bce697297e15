//! Random times that are the same for the same seed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kato_random::SplitMix64;

use crate::values::Millis;

/// Stream of random times.
#[derive(Debug)]
pub(crate) struct Chance(Mutex<SplitMix64>);

impl Chance {
    /// Creates the stream of a number, so that questions do not change how long learns take.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = SplitMix64::from_seed(seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f));
        // The first number is passed over, so that the times of a seed stay what they were.
        random.next_u64();
        Self(Mutex::new(random))
    }

    /// Draws a number.
    pub(crate) fn number(&self) -> u64 {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        random.next_u64()
    }

    /// Draws a time of the range, all equally likely.
    pub(crate) fn draw(&self, range: Millis) -> Duration {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A range is never the wrong way round. The remainder favours short times by far less than
        // a test can see.
        let span = (range.to - range.from).saturating_add(1);
        Duration::from_millis(range.from + random.next_u64() % span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_for_the_same_seed_and_within_the_range() {
        let drawn = |seed, stream| {
            let chance = Chance::new(seed, stream);
            let drawn = (0..1000).map(|_| chance.draw(Millis::from(5..=25)).as_millis());
            drawn.collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 1), drawn(1, 1));
        assert_ne!(drawn(1, 1), drawn(2, 1));
        assert_ne!(drawn(1, 1), drawn(1, 2));
        assert!((5..=25).all(|millis| drawn(0, 1).contains(&millis)));
        assert!(drawn(0, 1).iter().all(|millis| (5..=25).contains(millis)));
    }
}
