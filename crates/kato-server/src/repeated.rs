//! Failures that repeat: told at a bounded rate, so that a disk that is full for a week does not fill the log as well.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines that may come at once.
const AT_ONCE: u32 = 10;

/// Time in which one more may come, afterwards.
const PAUSE: Duration = Duration::from_secs(60);

/// Decides which failures of one kind get a line in the log.
#[derive(Debug, Default)]
pub(crate) struct Repeated(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Lines that were written and are not made up for by time.
    n_lines: u32,
    /// Since when time makes up for them.
    since: Option<Instant>,
    n_left_out: u64,
}

impl Repeated {
    /// Whether a failure is to be told: then how many were not since the last one that was.
    pub(crate) fn tell(&self) -> Option<u64> {
        self.tell_at(Instant::now())
    }

    fn tell_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut since = state.since.unwrap_or(now);
        while state.n_lines > 0 && now.saturating_duration_since(since) >= PAUSE {
            since += PAUSE;
            state.n_lines -= 1;
        }
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
        let repeated = Repeated::default();
        let start = Instant::now();
        let told: Vec<_> = (0..3600)
            .filter_map(|second| {
                let at = start + Duration::from_secs(second);
                Some((second, repeated.tell_at(at)?))
            })
            .collect();
        let first: Vec<_> = (0..10).map(|second| (second, 0)).collect();
        assert_eq!(told[..10], first);
        assert_eq!(told[10..13], [(60, 50), (120, 59), (180, 59)]);
        assert_eq!(told.len(), 10 + 59);
        // After a quiet hour a burst is told again.
        let later = start + Duration::from_secs(7200);
        let told = (0..100).filter(|_| repeated.tell_at(later).is_some());
        assert_eq!(told.count(), 10);
    }
}
