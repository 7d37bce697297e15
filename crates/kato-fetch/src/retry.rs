//! Trying a transfer again, which is forgiven its faults while it makes progress.

use std::time::Instant;

use kato_advice::retry::{Backoff, Retry};

use crate::{CancellationToken, FetchError};

/// Bytes that must have arrived since the last fault for it to be forgotten: a long transfer may
/// break often, as long as it makes progress.
const PROGRESS: u64 = 1 << 20;

/// Wrong answers after which they are the server's way, or a quarter of the attempts if those are
/// many.
const WRONG_ANSWERS: u32 = 3;
/// Bodies that end at the same byte, as if they were complete, after which that is where the
/// server's file ends, whatever it announces; or half of the attempts if those are many.
const SAME_ENDS: u32 = 4;
/// Bodies that stop at the same byte, after which no more will come; or a quarter of the attempts if
/// those are many. Each of them takes its time.
const SAME_STALLS: u32 = 2;

/// Attempts of one transfer.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    backoff: &'a Backoff,
    /// Faults since the transfer last made progress. Its time runs from the first of them: what
    /// the transfer took before it does not count.
    retry: Retry,
    /// Bytes that have arrived since the last of them.
    progress: u64,
    /// Wrong answers among the faults.
    wrong_answers: u32,
    /// Where the last body ended too early, and how often it was there.
    ends: ((u64, u64), u32),
    /// Whether the transfer has ever made progress.
    has_progressed: bool,
}

impl<'a> Attempts<'a> {
    /// Creates the count of a transfer that has not failed yet.
    pub(crate) const fn new(backoff: &'a Backoff) -> Self {
        Self {
            backoff,
            retry: Retry::new(),
            progress: 0,
            wrong_answers: 0,
            ends: ((0, 0), 0),
            has_progressed: false,
        }
    }

    /// Counts `bytes` that have arrived.
    pub(crate) fn progressed(&mut self, bytes: usize) {
        self.progress = self.progress.saturating_add(bytes as u64);
        if self.progress >= PROGRESS {
            self.answered();
            self.has_progressed = true;
        }
    }

    /// Forgets the faults, because an answer has come that was good to its end.
    pub(crate) fn answered(&mut self) {
        *self = Self {
            has_progressed: self.has_progressed,
            ..Self::new(self.backoff)
        };
    }

    /// Waits until the next attempt is due, or returns the error when there is none.
    pub(crate) async fn again(&mut self, error: FetchError) -> Result<(), FetchError> {
        self.progress = 0;
        let asked = error.retry_after();
        // Asked for all faults alike, because the error says how many attempts were made.
        let wait = self.retry.next_wait(self.backoff, Instant::now(), asked);
        let attempt = self.retry.failures();
        // One that asks for more patience than there is would only be asked in vain.
        let policy = self.backoff.policy();
        let longest = policy.longest_asked_wait.unwrap_or(policy.longest_wait);
        let in_vain = asked.is_some_and(|asked| asked > longest) || self.will_not_pass(&error);
        match wait {
            Some(wait) if error.is_transient() && !in_vain => {
                tracing::debug!(attempt, ?wait, %error, "trying again");
                tokio::time::sleep(wait).await;
                Ok(())
            }
            Some(_) | None => Err(error.after(attempt)),
        }
    }
}

impl Attempts<'_> {
    /// Counts a body that has come no further than to this place, and returns how often that was so.
    fn times_stuck(&mut self, end: (u64, u64)) -> u32 {
        self.ends = match self.ends {
            (last, times) if last == end => (end, times + 1),
            _ => (end, 1),
        };
        self.ends.1
    }

    /// Counts faults that may pass by their kind, and returns whether one has come so often that it
    /// is the server's way.
    fn will_not_pass(&mut self, error: &FetchError) -> bool {
        let attempts = self.backoff.policy().attempts;
        match error {
            FetchError::WrongAnswer { .. } => {
                self.wrong_answers += 1;
                self.wrong_answers >= WRONG_ANSWERS.max(attempts / 4)
            }
            FetchError::Truncated {
                expected, received, ..
            } if error.is_an_end() => {
                self.times_stuck((*expected, *received)) >= SAME_ENDS.max(attempts / 2)
            }
            FetchError::Stalled {
                expected, received, ..
            } => self.times_stuck((*expected, *received)) >= SAME_STALLS.max(attempts / 4),
            // A server that was quick before may be so again.
            FetchError::TooSlow { .. } => !self.has_progressed,
            _ => false,
        }
    }
}

/// Runs `work`, unless `cancel` is used first.
pub(crate) async fn unless_cancelled<T>(
    cancel: &CancellationToken,
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
    use std::time::Duration;

    use kato_advice::retry::RetryPolicy;

    use super::*;

    #[test]
    fn progress_forgives_and_stagnation_does_not() {
        let policy = RetryPolicy::default()
            .with_attempts(3)
            .with_first_wait(Duration::ZERO);
        let backoff = Backoff::new(policy, 7);
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
