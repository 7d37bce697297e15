//! The state of one operation that is repeated.

use std::time::{Duration, Instant};

use super::Backoff;

/// The failures of one operation: may it be tried again, and after how long?
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use kato_advice::retry::{Backoff, Retry, RetryPolicy};
///
/// let backoff = Backoff::new(RetryPolicy::default().with_attempts(2), 7);
/// let now = Instant::now();
/// let mut retry = Retry::from_start(now);
/// // The first attempt fails, and the server asks for three seconds.
/// let wait = retry.next_wait(&backoff, now, Some(Duration::from_secs(3)));
/// assert_eq!(wait, Some(Duration::from_secs(3)));
/// // So does the second one, which is the last.
/// assert_eq!(retry.next_wait(&backoff, now, None), None);
/// assert_eq!(retry.failures(), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Retry {
    failures: u32,
    /// From when on patience is counted; from the first failure if not set before.
    since: Option<Instant>,
}

impl Retry {
    /// Creates the state of an operation whose patience begins with its first failure: what was
    /// spent on progress before does not count.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            failures: 0,
            since: None,
        }
    }

    /// Creates the state of an operation whose patience began when its first attempt did.
    #[must_use]
    pub const fn from_start(start: Instant) -> Self {
        Self {
            failures: 0,
            since: Some(start),
        }
    }

    /// Returns how many attempts have failed.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure, and returns how long to wait before the next attempt; `None` if there is
    /// to be none, because attempts or patience are used up.
    ///
    /// `asked` is the delay that a server has asked for, as [`retry_after`](super::retry_after)
    /// reads it.
    #[must_use]
    pub fn next_wait(
        &mut self,
        backoff: &Backoff,
        now: Instant,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        let since = *self.since.get_or_insert(now);
        let policy = backoff.policy();
        if self.failures >= policy.attempts {
            return None;
        }
        let wait = backoff.wait(self.failures, asked);
        // With the wait, because it is the next attempt that must not begin too late: a wait that
        // ends after patience is not begun.
        let begins = now.saturating_duration_since(since).saturating_add(wait);
        (begins <= policy.patience).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retry::RetryPolicy;

    #[test]
    fn attempts_are_counted_the_first_included() {
        for (attempts, waits) in [(0, 0), (1, 0), (2, 1), (8, 7)] {
            let backoff = Backoff::new(RetryPolicy::default().with_attempts(attempts), 7);
            let now = Instant::now();
            let mut retry = Retry::new();
            for n in 0..waits {
                assert!(retry.next_wait(&backoff, now, None).is_some(), "{n}");
            }
            assert_eq!(retry.next_wait(&backoff, now, None), None);
            assert_eq!(retry.failures(), waits + 1);
        }
    }

    #[test]
    fn waits_grow_with_the_failures() {
        let backoff = Backoff::new(RetryPolicy::default().with_attempts(u32::MAX), 7);
        let policy = backoff.policy().clone();
        let now = Instant::now();
        let mut retry = Retry::new();
        let mut wait = || retry.next_wait(&backoff, now, None).unwrap();
        let first = wait();
        assert!(first <= policy.first_wait && first >= policy.first_wait / 2);
        for _ in 0..30 {
            wait();
        }
        let later = wait();
        assert!(later <= policy.longest_wait && later >= policy.longest_wait / 2);
    }

    #[test]
    fn no_attempt_begins_when_patience_is_over_whatever_a_server_asks_for() {
        let policy = RetryPolicy::default()
            .with_attempts(u32::MAX)
            .with_patience(Duration::from_millis(300));
        let backoff = Backoff::new(policy, 7);
        let start = Instant::now();
        let next = |retry: &mut Retry, ms, asked| {
            retry.next_wait(&backoff, start + Duration::from_millis(ms), asked)
        };
        let mut retry = Retry::from_start(start);
        assert!(next(&mut retry, 0, None).is_some());
        assert_eq!(next(&mut retry, 0, Some(Duration::MAX)), None);
        assert_eq!(next(&mut Retry::from_start(start), 299, None), None);
        // Patience that begins with the first failure has only begun.
        let mut retry = Retry::new();
        assert!(next(&mut retry, 299, None).is_some());
        assert_eq!(next(&mut retry, 599, None), None);
    }

    #[test]
    fn a_clock_that_goes_back_is_no_panic() {
        let backoff = Backoff::new(RetryPolicy::default(), 7);
        let now = Instant::now();
        let mut retry = Retry::from_start(now + Duration::from_secs(1));
        assert!(retry.next_wait(&backoff, now, None).is_some());
    }
}
