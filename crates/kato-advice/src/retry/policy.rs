//! The policy of trying again: how often, how fast, and for how long.

use std::time::Duration;

/// How the waits are shortened at random, so that many callers which failed together do not come
/// back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// Takes up to a half off: the waits are spread, and none is near zero. For a server that needs
    /// the time.
    Half,
    /// Draws evenly from nothing to the whole wait, which spreads the most. For servers that many
    /// callers share.
    Full,
}

/// How often, how fast and for how long a failed operation is tried again.
///
/// Waits double from [`first_wait`](Self::first_wait) up to [`longest_wait`](Self::longest_wait),
/// and are shortened by [`jitter`](Self::jitter). Which operations may be repeated, and after which
/// failures, is for the one to say who repeats them.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use kato_advice::retry::RetryPolicy;
///
/// let patient = RetryPolicy::default()
///     .with_attempts(20)
///     .with_longest_wait(Duration::from_secs(10));
/// assert_eq!(patient.first_wait, Duration::from_millis(100));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct RetryPolicy {
    /// Most attempts, the first included; at least 1. Default: 8.
    pub attempts: u32,
    /// Wait before the second attempt; doubles from then on. Default: 100 ms.
    pub first_wait: Duration,
    /// Longest wait that the policy itself chooses. Default: 5 s.
    pub longest_wait: Duration,
    /// Longest wait that a server may ask for by `Retry-After`;
    /// [`longest_wait`](Self::longest_wait) if `None`. Default: `None`.
    pub longest_asked_wait: Option<Duration>,
    /// Time in which attempts begin, from where a [`Retry`](super::Retry) counts it: none begins later,
    /// whatever a server asks for. One that has begun may still take its own time. Default: two minutes.
    pub patience: Duration,
    /// How waits are shortened at random. Default: [`Jitter::Half`].
    pub jitter: Jitter,
    /// Seed of the jitter; if `None`, the one that [`Backoff::new`](super::Backoff::new) is given.
    /// Default: `None`.
    pub jitter_seed: Option<u64>,
}

impl RetryPolicy {
    /// Creates a policy with the defaults, which suit short requests to a server.
    pub const fn new() -> Self {
        Self {
            attempts: 8,
            first_wait: Duration::from_millis(100),
            longest_wait: Duration::from_secs(5),
            longest_asked_wait: None,
            patience: Duration::from_secs(120),
            jitter: Jitter::Half,
            jitter_seed: None,
        }
    }

    /// Sets [`attempts`](Self::attempts).
    pub const fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets [`first_wait`](Self::first_wait).
    pub const fn with_first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Sets [`longest_wait`](Self::longest_wait).
    pub const fn with_longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Sets [`longest_asked_wait`](Self::longest_asked_wait).
    pub const fn with_longest_asked_wait(mut self, wait: Duration) -> Self {
        self.longest_asked_wait = Some(wait);
        self
    }

    /// Sets [`patience`](Self::patience).
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets [`jitter`](Self::jitter).
    pub const fn with_jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets [`jitter_seed`](Self::jitter_seed).
    pub const fn with_jitter_seed(mut self, seed: u64) -> Self {
        self.jitter_seed = Some(seed);
        self
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setter_sets_its_own_field() {
        let [first, longest, asked, patience] = [1, 2, 3, 4].map(Duration::from_secs);
        let policy = RetryPolicy::default()
            .with_attempts(5)
            .with_first_wait(first)
            .with_longest_wait(longest)
            .with_longest_asked_wait(asked)
            .with_patience(patience)
            .with_jitter(Jitter::Full)
            .with_jitter_seed(6);
        let expected = RetryPolicy {
            attempts: 5,
            first_wait: first,
            longest_wait: longest,
            longest_asked_wait: Some(asked),
            patience,
            jitter: Jitter::Full,
            jitter_seed: Some(6),
        };
        assert_eq!(policy, expected);
    }
}
