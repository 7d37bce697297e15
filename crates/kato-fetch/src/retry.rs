//! When to try again, and when to give up.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::{Cancel, FetchError};

/// Bytes that must have arrived since the last fault for it to be forgotten: a long transfer may break often, as long as it gets on.
const PROGRESS: u64 = 1 << 20;

/// How often and how fast a request is tried again after a fault that may pass: timeouts, broken connections, short or wrong
/// answers, and the statuses 408, 425, 429, 500 and 502 to 599.
///
/// Pauses double from [`base_backoff`](Self::base_backoff) up to [`max_backoff`](Self::max_backoff), and a pause is drawn evenly
/// from nothing to that ("full jitter"), so that many readers which failed together do not come back together. What arrived
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
    /// Longest pause of ours. Default: 20 s.
    pub max_backoff: Duration,
    /// Longest pause that a server may ask for by `Retry-After`. Default: 60 s.
    pub max_retry_after: Duration,
    /// No attempt begins later than this after the first fault. Default: 5 min.
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

/// A policy and its source of random pauses.
#[derive(Debug)]
pub(crate) struct Backoff {
    policy: RetryPolicy,
    state: AtomicU64,
}

impl Backoff {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        let seed = policy
            .jitter_seed
            .unwrap_or_else(|| RandomState::new().hash_one(0));
        Self {
            policy,
            state: AtomicU64::new(seed),
        }
    }

    /// The pause after `failed` failed attempts (from 1).
    fn pause(&self, failed: u32, retry_after: Option<Duration>) -> Duration {
        let full = self
            .policy
            .base_backoff
            .saturating_mul(1 << failed.saturating_sub(1).min(31))
            .min(self.policy.max_backoff);
        let drawn = full.mul_f64(self.draw());
        retry_after.map_or(drawn, |asked| {
            drawn.max(asked.min(self.policy.max_retry_after))
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

/// The attempts of one transfer.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    backoff: &'a Backoff,
    failed: u32,
    since: Option<Instant>,
    progress: u64,
}

impl<'a> Attempts<'a> {
    pub(crate) const fn new(backoff: &'a Backoff) -> Self {
        Self {
            backoff,
            failed: 0,
            since: None,
            progress: 0,
        }
    }

    /// `bytes` have arrived.
    pub(crate) fn progressed(&mut self, bytes: usize) {
        self.progress = self.progress.saturating_add(bytes as u64);
        if self.progress >= PROGRESS {
            *self = Self::new(self.backoff);
        }
    }

    /// Waits until the next attempt is due, or gives the error back when there is none.
    pub(crate) async fn again(&mut self, error: FetchError) -> Result<(), FetchError> {
        self.failed = self.failed.saturating_add(1);
        self.progress = 0;
        let policy = &self.backoff.policy;
        let since = *self.since.get_or_insert_with(Instant::now);
        let pause = self.backoff.pause(self.failed, error.retry_after());
        let over = since.elapsed().saturating_add(pause) > policy.total;
        if !error.is_transient() || self.failed >= policy.attempts || over {
            return Err(error.after(self.failed));
        }
        tracing::debug!(attempt = self.failed, ?pause, %error, "trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// `work`, unless `cancel` comes first.
pub(crate) async fn unless_cancelled<T>(
    cancel: &Cancel,
    work: impl Future<Output = Result<T, FetchError>>,
) -> Result<T, FetchError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(FetchError::Cancelled),
        result = work => result,
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
    fn pauses_stay_below_a_bound_that_doubles() {
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
            assert!(*pause <= full, "{n}: {pause:?}");
        }
    }

    #[test]
    fn retry_after_is_honoured_up_to_its_bound() {
        let backoff = Backoff::new(RetryPolicy::default());
        let pause = |seconds| backoff.pause(1, Some(Duration::from_secs(seconds)));
        assert_eq!(pause(2), Duration::from_secs(2));
        assert_eq!(pause(200), Duration::from_secs(60));
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
    }

    #[test]
    fn progress_forgives_and_stagnation_does_not() {
        let policy = RetryPolicy {
            attempts: 3,
            base_backoff: Duration::ZERO,
            ..RetryPolicy::default()
        };
        let backoff = Backoff::new(policy);
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
            let mut attempts = Attempts::new(&backoff);
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
