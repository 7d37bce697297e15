//! The search for the number of workers that pays, while a run goes on. It has no clock of its own.

use std::time::Duration;

/// Growth of the throughput below which more workers do not pay.
const GAIN: f64 = 1.1;

/// Learn calls of one measurement at least, so that chance is small beside [`GAIN`].
const LEARNED: u64 = 400;

/// Longest and shortest measurement.
const LONGEST: Duration = Duration::from_secs(10);
const SHORTEST: Duration = Duration::from_millis(500);

/// Measurements to wait before another look at whether more workers would be better.
const REST: u32 = 20;

/// A search for the number of workers beyond which throughput grows no more: it doubles the number
/// while that pays, goes back one step when it does not, and looks again now and then, because
/// servers and their load change.
#[derive(Debug)]
pub(crate) struct Tuner {
    most: usize,
    active: usize,
    /// The number from which the present one was reached, and its throughput.
    before: Option<(usize, f64)>,
    rest: u32,
    since: Option<(Duration, u64)>,
}

impl Tuner {
    /// Creates a tuner that begins with one worker: a stock server is busy with it.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self {
            most,
            active: 1,
            before: None,
            rest: 0,
            since: None,
        }
    }

    /// Returns the number of workers that are to be given work.
    pub(crate) fn active(&self) -> usize {
        self.active
    }

    /// Takes in how many learn calls the nodes have finished until now; returns whether the number
    /// of workers changed.
    pub(crate) fn observe(&mut self, now: Duration, finished: u64) -> bool {
        let Some((since, before)) = self.since else {
            self.since = Some((now, finished));
            return false;
        };
        let (elapsed, learned) = (now.saturating_sub(since), finished.saturating_sub(before));
        // Enough calls for chance to be small, or, of a slow server, the longest measurement.
        // Without a single call nothing is known, however long it takes.
        let is_enough = learned >= LEARNED && elapsed >= SHORTEST;
        if learned == 0 || !(is_enough || elapsed >= LONGEST) {
            return false;
        }
        self.since = Some((now, finished));
        let rate = learned as f64 / elapsed.as_secs_f64();
        let was = self.active;
        self.active = self.next(rate);
        if self.active != was {
            // What the old number of workers had begun belongs to neither measurement: the next one
            // starts at the next look.
            self.since = None;
        }
        self.active != was
    }

    /// Returns the number of workers that follows from a measurement of the present one.
    fn next(&mut self, rate: f64) -> usize {
        if self.rest > 0 {
            self.rest -= 1;
            return self.active;
        }
        match self.before.take() {
            // The last doubling did not pay.
            Some((fewer, slower)) if rate < slower * GAIN => {
                self.rest = REST;
                fewer
            }
            // It paid, or this is the first look: double, and remember what to compare with.
            _ if self.active < self.most => {
                self.before = Some((self.active, rate));
                self.most.min(self.active * 2)
            }
            _ => {
                self.rest = REST;
                self.active
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the tuner against a throughput by number of workers for some seconds; the number at the
    /// end.
    fn settle(tuner: &mut Tuner, start: u64, seconds: u64, rate: impl Fn(usize) -> f64) -> usize {
        let mut documents = start as f64 * 1e6;
        for tick in 0..seconds * 10 {
            documents += rate(tuner.active()) / 10.0;
            tuner.observe(
                Duration::from_millis(start * 1000 + tick * 100),
                documents as u64,
            );
        }
        tuner.active()
    }

    #[test]
    fn climbs_while_it_pays_and_no_further() {
        for (most, limit, expected) in [
            (16, 4.0_f64, 4..=4),
            (16, 3.0, 4..=4),
            (16, 1.0, 1..=1),
            // One event loop: a second worker fills the gaps, and that is all.
            (16, 1.05, 1..=1),
            (16, 1.2, 2..=2),
            (16, 100.0, 16..=16),
            (3, 100.0, 3..=3),
            (1, 9.0, 1..=1),
        ] {
            let found = settle(&mut Tuner::new(most), 0, 9, |workers| {
                1_000.0 * limit.min(workers as f64)
            });
            assert!(
                expected.contains(&found),
                "{most} workers at most, {limit} pay: {found}"
            );
        }
    }

    #[test]
    fn follows_a_server_that_changes() {
        let mut tuner = Tuner::new(16);
        let limited = |limit: f64| move |workers: usize| 1_000.0 * limit.min(workers as f64);
        assert_eq!(settle(&mut tuner, 0, 9, limited(2.0)), 2);
        assert_eq!(settle(&mut tuner, 10, 60, limited(100.0)), 16);
    }

    #[test]
    fn a_slow_server_is_measured_over_longer_times() {
        assert_eq!(
            settle(&mut Tuner::new(8), 0, 300, |workers| 3.0 * workers as f64),
            8
        );
        // Nothing at all says nothing.
        assert_eq!(settle(&mut Tuner::new(8), 0, 300, |_| 0.0), 1);
    }
}
