//! Policy of retries: when a request is tried again, and when it is given up.

use std::time::{Duration, Instant};

use kato_retry::{Backoff, Jitter, random_seed};

use crate::{Cancel, FetchError};

/// Bytes that must have arrived since the last fault for it to be forgotten: a long transfer may
/// break often, as long as it makes progress.
const PROGRESS: u64 = 1 << 20;

/// Policy that says how often and how fast a request is tried again after a fault that may pass:
/// timeouts, broken connections, short or wrong answers, and the statuses 408, 425, 429, 500 and
/// 502 to 599.
///
/// Pauses double from [`base_backoff`](Self::base_backoff) up to
/// [`max_backoff`](Self::max_backoff), and a pause is drawn evenly from nothing to that ("full
/// jitter"), so that many readers which failed together do not come back together. What arrived
/// before a fault is kept. After each MiB that arrives, attempts and time count anew.
///
/// # Examples
///
/// ```
/// use kato_fetch::RetryPolicy;
///
/// let patient = RetryPolicy { attempts: 20, ..RetryPolicy::default() };
/// assert_eq!(RetryPolicy::default().attempts, 8);
/// # let _ = patient;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts at most, the first included; at least 1. Default: 8.
    pub attempts: u32,
    /// Longest pause before the second attempt. Default: 250 ms.
    pub base_backoff: Duration,
    /// Longest pause that the policy itself chooses. Default: 20 s.
    pub max_backoff: Duration,
    /// Longest pause that a server may ask for by `Retry-After`. Default: 60 s.
    pub max_retry_after: Duration,
    /// Time after the first fault within which a new attempt may begin. Default: 5 min.
    pub total: Duration,
    /// Seed of the pauses; drawn from the system if `None`. Default: `None`.
    pub jitter_seed: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 8,
            base_backoff: Duration::from_millis(250),
            max_backoff: Duration::from_secs(20),
            max_retry_after: Duration::from_secs(60),
            total: Duration::from_secs(300),
            jitter_seed: None,
        }
    }
}

/// Policy with its sequence of pauses.
#[derive(Debug)]
pub(crate) struct Retry {
    policy: RetryPolicy,
    backoff: Backoff,
}

impl Retry {
    /// Creates the pauses of a policy.
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        let seed = policy.jitter_seed.unwrap_or_else(random_seed);
        let backoff = Backoff::new(policy.base_backoff, policy.max_backoff, Jitter::Full, seed)
            .with_max_wish(policy.max_retry_after);
        Self { policy, backoff }
    }
}

/// Attempts of one transfer.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    retry: &'a Retry,
    /// Faults since the transfer last made progress.
    failed: u32,
    /// Time of the first of them.
    since: Option<Instant>,
    /// Bytes that have arrived since the last of them.
    progress: u64,
}

impl<'a> Attempts<'a> {
    /// Creates the count of a transfer that has not failed yet.
    pub(crate) const fn new(retry: &'a Retry) -> Self {
        Self {
            retry,
            failed: 0,
            since: None,
            progress: 0,
        }
    }

    /// Counts `bytes` that have arrived.
    pub(crate) fn progressed(&mut self, bytes: usize) {
        self.progress = self.progress.saturating_add(bytes as u64);
        if self.progress >= PROGRESS {
            *self = Self::new(self.retry);
        }
    }

    /// Waits until the next attempt is due, or returns the error when there is none.
    pub(crate) async fn again(&mut self, error: FetchError) -> Result<(), FetchError> {
        self.failed = self.failed.saturating_add(1);
        self.progress = 0;
        let policy = &self.retry.policy;
        // Time runs from the first fault: what a transfer took before it does not count.
        let since = *self.since.get_or_insert_with(Instant::now);
        let pause = self.retry.backoff.pause(self.failed, error.retry_after());
        // The pause belongs to the time: one that ends too late is not begun.
        let over = since.elapsed().saturating_add(pause) > policy.total;
        if !error.is_transient() || self.failed >= policy.attempts || over {
            return Err(error.after(self.failed));
        }
        tracing::debug!(attempt = self.failed, ?pause, %error, "trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Runs `work`, unless `cancel` is used first.
pub(crate) async fn unless_cancelled<T>(
    cancel: &Cancel,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    tokio::select! {
        // The switch is looked at first: once it is used, no result comes any more, not even one
        // that is ready.
        biased;
        () = cancel.cancelled() => Err(FetchError::Cancelled),
        result = work => result,
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
        let pause = |wish: Option<u64>| retry.backoff.pause(1, wish.map(Duration::from_secs));
        assert!(pause(None) <= policy.base_backoff);
        assert_eq!(pause(Some(2)), Duration::from_secs(2));
        assert_eq!(pause(Some(200)), policy.max_retry_after);
    }

    #[test]
    fn progress_forgives_and_stagnation_does_not() {
        let policy = RetryPolicy {
            attempts: 3,
            base_backoff: Duration::ZERO,
            ..RetryPolicy::default()
        };
        let retry = Retry::new(policy);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let fault = || FetchError::Truncated {
            url: String::new(),
            expected: 2,
            received: 1,
            attempts: 1,
            source: None,
        };
        runtime.block_on(async {
            let mut attempts = Attempts::new(&retry);
            for _ in 0..100 {
                attempts.again(fault()).await.unwrap();
                attempts.progressed(PROGRESS as usize);
            }
            attempts.again(fault()).await.unwrap();
            attempts.progressed(PROGRESS as usize - 1);
            attempts.again(fault()).await.unwrap();
            let last = attempts.again(fault()).await.unwrap_err();
            assert!(matches!(last, FetchError::Truncated { attempts: 3, .. }));
        });
    }
}
