//! When to try again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// How often and how fast a client tries again. Whether it may is decided per request: see the crate's documentation.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use kato_client::RetryPolicy;
///
/// let patient = RetryPolicy { attempts: 20, max_backoff: Duration::from_secs(10), ..RetryPolicy::default() };
/// assert_eq!(patient.base_backoff, Duration::from_millis(100));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts at most, the first included; at least 1. Default: 8.
    pub attempts: u32,
    /// Pause before the second attempt; doubles from then on. A random part of up to a half is taken off. Default: 100 ms.
    pub base_backoff: Duration,
    /// Longest pause, also when the server's `Retry-After` asks for more. Default: 5 s.
    pub max_backoff: Duration,
    /// Longest time that a server is assumed to go on with a request that it has begun. After a learn without an answer, a
    /// stock server is watched for this long before the learn is taken as not done. Keep it well above the 200 ms after which a
    /// stock server shows a new pattern at the latest. Default: 2 s.
    pub settle: Duration,
    /// Seed of the random part; drawn from the system if `None`. Default: `None`.
    pub jitter_seed: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 8,
            base_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            settle: Duration::from_secs(2),
            jitter_seed: None,
        }
    }
}

/// Pauses between attempts.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    state: AtomicU64,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        let seed = policy
            .jitter_seed
            .unwrap_or_else(|| uuid::Uuid::new_v4().as_u64_pair().0);
        Self {
            policy,
            state: AtomicU64::new(seed),
        }
    }

    pub(crate) const fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// The pause after `attempt` failed attempts (from 1).
    pub(crate) fn pause(&self, attempt: u32, retry_after: Option<Duration>) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let full = self
            .policy
            .base_backoff
            .saturating_mul(1 << doublings)
            .min(self.policy.max_backoff);
        // Upper half of the pause: spread, yet never near zero.
        let jittered = full - full.mul_f64(self.draw() / 2.0);
        retry_after.map_or(jittered, |asked| {
            asked.min(self.policy.max_backoff).max(jittered)
        })
    }

    /// A number in [0, 1) (SplitMix64).
    fn draw(&self) -> f64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self
            .state
            .fetch_add(GOLDEN, Ordering::Relaxed)
            .wrapping_add(GOLDEN);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(u32::MAX);
        f64::from(bits) / 4_294_967_296.0
    }
}

/// `Retry-After`: seconds, or an HTTP date.
pub(crate) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_repeat_with_the_seed() {
        let policy = RetryPolicy {
            jitter_seed: Some(7),
            ..RetryPolicy::default()
        };
        let pauses =
            |backoff: &Backoff| (1..40).map(|n| backoff.pause(n, None)).collect::<Vec<_>>();
        let first = pauses(&Backoff::new(policy.clone()));
        assert_eq!(first, pauses(&Backoff::new(policy.clone())));
        for (n, pause) in first.iter().enumerate() {
            let full = policy
                .base_backoff
                .saturating_mul(1 << n.min(31))
                .min(policy.max_backoff);
            assert!(*pause <= full && *pause >= full / 2, "{n}: {pause:?}");
        }
    }

    #[test]
    fn retry_after_is_honoured_up_to_the_bound() {
        let backoff = Backoff::new(RetryPolicy::default());
        assert_eq!(
            backoff.pause(1, Some(Duration::from_secs(2))),
            Duration::from_secs(2)
        );
        assert_eq!(
            backoff.pause(1, Some(Duration::from_secs(200))),
            Duration::from_secs(5)
        );
    }

    #[test]
    fn retry_after_reads_seconds_and_dates() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                retry_after(text, now),
                expected.map(Duration::from_secs),
                "{text}"
            );
        };
        check("3", Some(3));
        check(" 120 ", Some(120));
        check("Sun, 06 Nov 1994 08:49:47 GMT", Some(10));
        check("Sun, 06 Nov 1994 08:49:07 GMT", Some(0));
        check("soon", None);
        check("-1", None);
    }
}
