//! The policy of trying again.

use std::time::{Duration, Instant};

use kato_retry::{Backoff, Jitter, random_seed};

/// How often and how fast a client tries again. Whether it may is decided for each request: see the
/// crate's documentation.
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
    /// Most attempts, the first included; at least 1. Default: 8.
    pub attempts: u32,
    /// Longest time for all attempts of one request together: none begins later than this after the
    /// first one, whatever a server's `Retry-After` asks for. One that has begun may still take the
    /// client's request time-out. Default: two minutes.
    pub patience: Duration,
    /// Pause before the second attempt; doubles from then on. A random part of up to a half is
    /// taken off. Default: 100 ms.
    pub base_backoff: Duration,
    /// Longest pause, also when the server's `Retry-After` asks for more. Default: 5 s.
    pub max_backoff: Duration,
    /// How long a stock server must have been quiet before it is taken to be done with a request
    /// that had no answer: it is watched until nothing of the request has shown for this long. Keep
    /// it well above the longest time that the server takes for one learn, and above the 200 ms
    /// after which it shows a new pattern at the latest. Default: 5 s.
    pub settle: Duration,
    /// Seed of the random part; drawn from the system if `None`. Default: `None`.
    pub jitter_seed: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 8,
            patience: Duration::from_secs(120),
            base_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            settle: Duration::from_secs(5),
            jitter_seed: None,
        }
    }
}

/// A policy with the pauses that it makes.
#[derive(Debug)]
pub(crate) struct Retry {
    policy: RetryPolicy,
    backoff: Backoff,
}

impl Retry {
    /// Creates the pauses of a policy.
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        let seed = policy.jitter_seed.unwrap_or_else(random_seed);
        let backoff = Backoff::new(policy.base_backoff, policy.max_backoff, Jitter::Half, seed);
        Self { policy, backoff }
    }

    /// Returns the policy.
    pub(crate) const fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Returns the pause after `attempt` failed attempts (from 1) since `began`; `None` if there
    /// are to be no more.
    pub(crate) fn next(
        &self,
        attempt: u32,
        began: Instant,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        if attempt >= self.policy.attempts {
            return None;
        }
        let pause = self.pause(attempt, retry_after);
        // With the pause, because it is the next attempt that must not begin too late.
        (began.elapsed().saturating_add(pause) <= self.policy.patience).then_some(pause)
    }

    /// Returns the pause after `attempt` failed attempts (from 1).
    pub(crate) fn pause(&self, attempt: u32, retry_after: Option<Duration>) -> Duration {
        self.backoff.pause(attempt, retry_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_the_policy_s() {
        let policy = RetryPolicy {
            jitter_seed: Some(7),
            ..RetryPolicy::default()
        };
        let retry = Retry::new(policy.clone());
        for (n, max) in [(1, policy.base_backoff), (30, policy.max_backoff)] {
            let pause = retry.pause(n, None);
            assert!(pause <= max && pause >= max / 2, "{n}: {pause:?}");
        }
        let wish = |seconds| retry.pause(1, Some(Duration::from_secs(seconds)));
        assert_eq!(wish(2), Duration::from_secs(2));
        assert_eq!(wish(200), policy.max_backoff);
    }

    #[test]
    fn no_attempt_begins_when_patience_is_over_whatever_the_server_wishes() {
        let policy = RetryPolicy {
            attempts: u32::MAX,
            patience: Duration::from_millis(300),
            jitter_seed: Some(7),
            ..RetryPolicy::default()
        };
        let retry = Retry::new(policy);
        let began = Instant::now();
        assert!(retry.next(1, began, None).is_some());
        assert_eq!(retry.next(1, began, Some(Duration::MAX)), None);
        let long_ago = began - Duration::from_secs(1);
        assert_eq!(retry.next(1, long_ago, None), None);
    }
}
