//! Exponential backoff with jitter.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How a pause is shortened at random, so that many callers which failed together do not come back
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// Takes up to a half off: the pauses are spread, and none is near zero. For a server that
    /// needs the time.
    Half,
    /// Draws evenly from nothing to the whole pause, which spreads the most. For servers that many
    /// callers share.
    Full,
}

/// Pauses that double from a base up to a bound, shortened by jitter.
///
/// Shared by any number of threads; equal seeds give equal pauses, in the order in which they are
/// asked for.
#[derive(Debug)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    /// The longest pause that a server may ask for.
    max_retry_after: Duration,
    jitter: Jitter,
    /// State of the generator that draws the jitter.
    state: AtomicU64,
}

impl Backoff {
    /// Creates pauses that double from `base`, before the second attempt, up to `max`.
    ///
    /// `max` also bounds the pause that a server may ask for, unless
    /// [`with_max_wish`](Self::with_max_wish) sets another bound. `seed` decides the jitter;
    /// [`random_seed`] gives one where repetition is not needed.
    #[must_use]
    pub const fn new(base: Duration, max: Duration, jitter: Jitter, seed: u64) -> Self {
        Self {
            base,
            max,
            max_retry_after: max,
            jitter,
            state: AtomicU64::new(seed),
        }
    }

    /// Sets the longest pause that a server may ask for. Default: `max`.
    #[must_use]
    pub const fn with_max_wish(mut self, max_retry_after: Duration) -> Self {
        self.max_retry_after = max_retry_after;
        self
    }

    /// Returns the pause after `failures` failed attempts, counted from 1.
    ///
    /// `wish` is the delay that a server has asked for, as [`retry_after`](crate::retry_after)
    /// reads it. It makes the pause longer, up to the bound for such delays, and never shorter.
    #[must_use]
    pub fn pause(&self, failures: u32, wish: Option<Duration>) -> Duration {
        // `1 << 32` would overflow the factor's 32 bits. A caller that counts from 0 gets the first
        // pause.
        let doublings = failures.saturating_sub(1).min(31);
        let full = self.base.saturating_mul(1 << doublings).min(self.max);
        let drawn = match self.jitter {
            // `Duration::mul_f64` is avoided: it rounds, for the longest durations by more than a
            // second, and a pause must not exceed what it was drawn from.
            Jitter::Half => full.saturating_sub(scaled(full, self.draw() / 2.0)),
            Jitter::Full => scaled(full, self.draw()),
        };
        // `Retry-After` says how long to wait at least, so it never shortens a pause.
        wish.map_or(drawn, |wish| drawn.max(wish.min(self.max_retry_after)))
    }

    /// Draws a number in [0, 1), by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn draw(&self) -> f64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        // The state is a plain counter, so one atomic addition gives every thread a draw of its own
        // without a lock. Nothing else is published through it, hence `Relaxed`.
        let mut z = self
            .state
            .fetch_add(GOLDEN, Ordering::Relaxed)
            .wrapping_add(GOLDEN);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The high 32 bits always fit, and are exact in an `f64`: the quotient stays below 1.
        let bits = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(u32::MAX);
        f64::from(bits) / 4_294_967_296.0
    }
}

/// Returns a share, from 0 to 1, of a duration.
fn scaled(full: Duration, share: f64) -> Duration {
    // Close to the longest duration, rounding to seconds as `f64` may exceed it: then all is meant.
    Duration::try_from_secs_f64(full.as_secs_f64() * share).map_or(full, |part| part.min(full))
}

/// Returns a seed drawn by the system, for callers that need no repetition.
#[must_use]
pub fn random_seed() -> u64 {
    // `RandomState` takes its keys from the system's random numbers, which spares a dependency.
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
        range.prop_map(Duration::from_millis)
    }

    proptest! {
        #[test]
        fn pauses_stay_within_a_bound_that_doubles(
            base in millis(0..10_000), max in millis(0..100_000), seed: u64, failures in 0u32..100
        ) {
            let full = base.saturating_mul(1 << failures.saturating_sub(1).min(31)).min(max);
            let half = Backoff::new(base, max, Jitter::Half, seed).pause(failures, None);
            prop_assert!(half <= full && half >= full / 2, "{half:?} of {full:?}");
            let drawn = Backoff::new(base, max, Jitter::Full, seed).pause(failures, None);
            prop_assert!(drawn <= full, "{drawn:?} of {full:?}");
        }

        #[test]
        fn equal_seeds_give_equal_pauses(seed: u64) {
            let pauses = || {
                let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5), Jitter::Full, seed);
                (1..40).map(|n| backoff.pause(n, None)).collect::<Vec<_>>()
            };
            prop_assert_eq!(pauses(), pauses());
        }

        #[test]
        fn a_wish_makes_a_pause_longer_up_to_its_bound(
            wish in millis(0..1_000_000), max_retry_after in millis(0..1_000_000), seed: u64
        ) {
            let new = || Backoff::new(Duration::from_secs(1), Duration::from_secs(60), Jitter::Half, seed);
            let without = new().pause(3, None);
            let with = new().with_max_wish(max_retry_after).pause(3, Some(wish));
            prop_assert_eq!(with, without.max(wish.min(max_retry_after)));
            prop_assert!(new().pause(3, Some(wish)) <= Duration::from_secs(60));
        }
    }

    #[test]
    fn extreme_durations_and_counts_are_no_panic() {
        for jitter in [Jitter::Half, Jitter::Full] {
            let backoff = Backoff::new(Duration::MAX, Duration::MAX, jitter, 0);
            for failures in [0, 1, 31, 32, 33, u32::MAX] {
                assert!(backoff.pause(failures, Some(Duration::MAX)) <= Duration::MAX);
                let _ = backoff.pause(failures, None);
            }
        }
    }

    #[test]
    fn pauses_are_spread() {
        let backoff = Backoff::new(
            Duration::from_secs(1),
            Duration::from_secs(1),
            Jitter::Full,
            1,
        );
        let sum: Duration = (0..1000).map(|_| backoff.pause(1, None)).sum();
        assert!((450.0..550.0).contains(&sum.as_secs_f64()), "{sum:?}");
    }
}
