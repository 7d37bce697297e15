//! Logging of failures that repeat, at a bounded rate, so that a disk that is full for a week does
//! not fill the log as well.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most lines that may be logged at once.
const AT_ONCE: u32 = 10;

/// Time after which one more line may be logged.
const PAUSE: Duration = Duration::from_secs(60);

/// A rate limit for the log lines of one kind of failure.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Lines that were logged and not yet made up for by time.
    n_lines: u32,
    /// Time from which the next pause is counted.
    since: Option<Instant>,
    n_left_out: u64,
}

impl LogThrottle {
    /// Returns whether a failure is to be logged: if so, the number of those left out since the
    /// last one that was.
    pub(crate) fn should_log(&self) -> Option<u64> {
        self.should_log_at(Instant::now())
    }

    /// Decides as [`should_log`](Self::should_log) does, for a failure at a given time.
    fn should_log_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut since = state.since.unwrap_or(now);
        // Whole pauses only: what is left of the present one counts on.
        while state.n_lines > 0 && now.saturating_duration_since(since) >= PAUSE {
            since += PAUSE;
            state.n_lines -= 1;
        }
        // With nothing to make up for, quiet time must not be saved: a burst after an hour gets the
        // same lines as the first one.
        state.since = match state.n_lines {
            0 => Some(now),
            _ => Some(since),
        };
        if state.n_lines == AT_ONCE {
            state.n_left_out += 1;
            return None;
        }
        state.n_lines += 1;
        Some(std::mem::take(&mut state.n_left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failures_are_told_then_one_a_minute_with_the_number_of_the_others() {
        let throttle = LogThrottle::default();
        let start = Instant::now();
        let told: Vec<_> = (0..3600)
            .filter_map(|second| {
                let at = start + Duration::from_secs(second);
                Some((second, throttle.should_log_at(at)?))
            })
            .collect();
        let first: Vec<_> = (0..10).map(|second| (second, 0)).collect();
        assert_eq!(told[..10], first);
        assert_eq!(told[10..13], [(60, 50), (120, 59), (180, 59)]);
        assert_eq!(told.len(), 10 + 59);
        // After a quiet hour a burst is told again.
        let later = start + Duration::from_secs(7200);
        let told = (0..100).filter(|_| throttle.should_log_at(later).is_some());
        assert_eq!(told.count(), 10);
    }
}
