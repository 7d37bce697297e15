//! Clocks of the stages of a run, added up without locks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time that one stage has taken, over all threads.
#[derive(Debug, Default)]
pub(crate) struct StageClock(AtomicU64);

impl StageClock {
    /// Runs `work` and adds its time.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(start.elapsed());
        result
    }

    /// Adds a time.
    pub(crate) fn add(&self, time: Duration) {
        // 2⁶⁴ nanoseconds are 584 years of thread time: the sum does not wrap.
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the sum in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_threads_add_up() {
        let clock = StageClock::default();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| clock.add(Duration::from_millis(1500)));
            }
        });
        assert_eq!(clock.seconds(), 4.5);
        let begun = Instant::now();
        // However coarse the system's clock is.
        clock.time(|| while begun.elapsed().is_zero() {});
        assert!(clock.seconds() > 4.5);
    }
}
