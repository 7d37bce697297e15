//! The pace at which a server sends: too slow a one is as good as none.

use std::time::Duration;

use crate::FetchError;
use crate::options::{Timeouts, TransferLimits};

/// What was received in the time that was spent waiting for it.
#[derive(Debug)]
pub(super) struct Pace {
    /// Time of waiting after which the rate is looked at.
    window: Duration,
    least_rate: u64,
    received: u64,
    waited: Duration,
}

impl Pace {
    /// Creates the pace of a body of which nothing has come yet.
    pub(super) fn new(timeouts: Timeouts, limits: TransferLimits) -> Self {
        Self {
            // A silence of less than the whole idle time is allowed; a trickle must be told from it
            // before.
            window: timeouts.idle / 2,
            least_rate: limits.least_rate,
            received: 0,
            waited: Duration::ZERO,
        }
    }

    /// Counts a piece that came after a wait; fails if too little has come for a whole window.
    pub(super) fn check(
        &mut self,
        shown: &str,
        received: usize,
        waited: Duration,
    ) -> Result<(), FetchError> {
        self.received = self.received.saturating_add(received as u64);
        self.waited = self.waited.saturating_add(waited);
        if self.waited < self.window {
            return Ok(());
        }
        let least = u128::from(self.least_rate) * self.waited.as_millis() / 1000;
        if u128::from(self.received) < least {
            return Err(FetchError::TooSlow {
                url: shown.to_owned(),
                received: self.received,
                waited: self.waited,
                least_rate: self.least_rate,
                attempts: 1,
            });
        }
        (self.received, self.waited) = (0, Duration::ZERO);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace() -> Pace {
        let timeouts = Timeouts {
            idle: Duration::from_secs(20),
            ..Timeouts::default()
        };
        let limits = TransferLimits {
            least_rate: 100,
            ..TransferLimits::default()
        };
        Pace::new(timeouts, limits)
    }

    #[test]
    fn a_trickle_is_too_slow_once_the_window_is_over() {
        let mut pace = pace();
        for _ in 0..9 {
            pace.check("x", 1, Duration::from_secs(1)).unwrap();
        }
        let error = pace.check("x", 1, Duration::from_secs(1)).unwrap_err();
        assert!(
            matches!(
                error,
                FetchError::TooSlow {
                    received: 10,
                    least_rate: 100,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn a_silence_that_ends_with_data_is_none() {
        let mut pace = pace();
        pace.check("x", 2000, Duration::from_secs(19)).unwrap();
        // A window begins anew, and what is quick is never waited for.
        for _ in 0..1000 {
            pace.check("x", 1, Duration::from_millis(5)).unwrap();
        }
        pace.check("x", 0, Duration::ZERO).unwrap();
    }
}
