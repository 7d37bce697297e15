//! The waits of a policy: exponential, with jitter.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kato_random::SplitMix64;

use super::{Jitter, RetryPolicy};

/// The waits of a [`RetryPolicy`], for all operations that follow it.
///
/// Shared by any number of threads; equal seeds give equal waits, in the order in which they are
/// asked for. A [`Retry`](super::Retry) asks for those of one operation.
#[derive(Debug)]
pub struct Backoff {
    policy: RetryPolicy,
    /// The seed of the next draw of jitter.
    next_seed: AtomicU64,
}

impl Backoff {
    /// Creates the waits of a policy.
    ///
    /// `seed` decides the jitter where the policy does not;
    /// [`random_seed`](super::random_seed) gives one where repetition is not needed.
    #[must_use]
    pub fn new(policy: RetryPolicy, seed: u64) -> Self {
        let next_seed = AtomicU64::new(policy.jitter_seed.unwrap_or(seed));
        Self { policy, next_seed }
    }

    /// Returns the policy.
    pub const fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Returns the wait after `failures` failed attempts, counted from 1.
    ///
    /// `asked` is the delay that a server has asked for, as [`retry_after`](super::retry_after)
    /// reads it. It makes the wait longer, up to the bound for such delays, and never shorter.
    pub(crate) fn wait(&self, failures: u32, asked: Option<Duration>) -> Duration {
        let policy = &self.policy;
        // `1 << 32` would overflow the factor's 32 bits.
        let doublings = failures.saturating_sub(1).min(31);
        let full = policy
            .first_wait
            .saturating_mul(1 << doublings)
            .min(policy.longest_wait);
        let drawn = match policy.jitter {
            // `Duration::mul_f64` is avoided: it rounds, for the longest durations by more than a
            // second, and a wait must not exceed what it was drawn from.
            Jitter::Half => full.saturating_sub(scaled(full, self.draw() / 2.0)),
            Jitter::Full => scaled(full, self.draw()),
        };
        let longest_asked = policy.longest_asked_wait.unwrap_or(policy.longest_wait);
        // `Retry-After` says how long to wait at least, so it never shortens a wait.
        asked.map_or(drawn, |asked| drawn.max(asked.min(longest_asked)))
    }

    /// Draws a number in [0, 1).
    fn draw(&self) -> f64 {
        // One atomic addition gives every thread a draw of its own without a lock. Nothing else is
        // published through it, hence `Relaxed`.
        let seed = self
            .next_seed
            .fetch_add(SplitMix64::INCREMENT, Ordering::Relaxed);
        // The high 32 bits always fit, and are exact in an `f64`: the quotient stays below 1.
        let bits = (SplitMix64::from_seed(seed).next_u64() >> 32) as u32;
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

    fn backoff(first: Duration, longest: Duration, jitter: Jitter, seed: u64) -> Backoff {
        let policy = RetryPolicy::default()
            .with_first_wait(first)
            .with_longest_wait(longest)
            .with_jitter(jitter);
        Backoff::new(policy, seed)
    }

    proptest! {
        #[test]
        fn waits_stay_within_a_bound_that_doubles(
            first in millis(0..10_000), longest in millis(0..100_000), seed: u64, failures in 0u32..100
        ) {
            let full = first.saturating_mul(1 << failures.saturating_sub(1).min(31)).min(longest);
            let half = backoff(first, longest, Jitter::Half, seed).wait(failures, None);
            prop_assert!(half <= full && half >= full / 2, "{half:?} of {full:?}");
            let drawn = backoff(first, longest, Jitter::Full, seed).wait(failures, None);
            prop_assert!(drawn <= full, "{drawn:?} of {full:?}");
        }

        #[test]
        fn equal_seeds_give_equal_waits_wherever_they_come_from(seed: u64, other: u64) {
            let waits = |backoff: Backoff| (1..40).map(|n| backoff.wait(n, None)).collect::<Vec<_>>();
            let policy = RetryPolicy::default().with_jitter(Jitter::Full);
            let expected = waits(Backoff::new(policy.clone(), seed));
            prop_assert_eq!(&waits(Backoff::new(policy.clone(), seed)), &expected);
            prop_assert_eq!(&waits(Backoff::new(policy.with_jitter_seed(seed), other)), &expected);
        }

        #[test]
        fn what_a_server_asks_for_makes_a_wait_longer_up_to_its_bound(
            asked in millis(0..1_000_000), longest_asked in millis(0..1_000_000), seed: u64
        ) {
            let policy = RetryPolicy::default()
                .with_first_wait(Duration::from_secs(1))
                .with_longest_wait(Duration::from_secs(60));
            let bounded = policy.clone().with_longest_asked_wait(longest_asked);
            let without = Backoff::new(policy.clone(), seed).wait(3, None);
            let with = Backoff::new(bounded, seed).wait(3, Some(asked));
            prop_assert_eq!(with, without.max(asked.min(longest_asked)));
            let with = Backoff::new(policy, seed).wait(3, Some(asked));
            prop_assert_eq!(with, without.max(asked.min(Duration::from_secs(60))));
        }
    }

    #[test]
    fn the_waits_of_a_seed_never_change() {
        let waits = |jitter| {
            let second = Duration::from_secs(1);
            let backoff = backoff(second, second, jitter, 7);
            [(); 3].map(|()| backoff.wait(1, None).as_micros())
        };
        assert_eq!(waits(Jitter::Full), [389_829, 16_788, 900_760]);
        assert_eq!(waits(Jitter::Half), [805_085, 991_605, 549_619]);
    }

    #[test]
    fn extreme_durations_and_counts_are_no_panic() {
        for jitter in [Jitter::Half, Jitter::Full] {
            let backoff = backoff(Duration::MAX, Duration::MAX, jitter, 0);
            for failures in [0, 1, 31, 32, 33, u32::MAX] {
                assert!(backoff.wait(failures, Some(Duration::MAX)) <= Duration::MAX);
                let _ = backoff.wait(failures, None);
            }
        }
    }

    #[test]
    fn waits_are_spread() {
        let second = Duration::from_secs(1);
        let backoff = backoff(second, second, Jitter::Full, 1);
        let sum: Duration = (0..1000).map(|_| backoff.wait(1, None)).sum();
        assert!((450.0..550.0).contains(&sum.as_secs_f64()), "{sum:?}");
    }
}
