//! The size of requests: by the time that learning takes, not by number. No clock of its own.

use std::time::Duration;

/// Time that one request should take: long enough that a request costs little beside it, short
/// enough that little is in doubt when its answer is lost.
const TARGET: Duration = Duration::from_secs(1);

/// Learn calls of a request before anything is known.
const FIRST: usize = 2;

/// Learn calls of a request at most.
const MOST: usize = 1_000;

/// The part of the time-out that everything under way together may take.
const QUEUE_SHARE: u32 = 8;

/// Weight of the newest measurement, which says how fast older ones are forgotten.
const WEIGHT: f64 = 0.3;

/// The time that a server takes for a learn call, and what follows for the next request.
#[derive(Debug, Clone)]
pub(crate) struct RequestSizer {
    /// Time that everything under way together may take.
    queue: Duration,
    /// Seconds a learn call takes in a request, other requests beside it included.
    latency: Option<f64>,
    /// Seconds of the server that a learn call takes.
    service: Option<f64>,
    /// The longest request so far.
    longest: Duration,
    size: usize,
    calls: usize,
    requests: usize,
    finished: u64,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct RequestInFlight {
    calls: usize,
    /// Requests that were under way with it, itself included.
    beside: usize,
}

impl RequestSizer {
    /// Begins without knowing anything of the server.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            queue: timeout / QUEUE_SHARE,
            latency: None,
            service: None,
            longest: Duration::ZERO,
            size: FIRST,
            calls: 0,
            requests: 0,
            finished: 0,
        }
    }

    /// Returns how many learn calls the next request should hold at most.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Takes a request in, if it does not make the queue too long; where there is no queue, any.
    pub(crate) fn begin(&mut self, calls: usize) -> Option<RequestInFlight> {
        let queued = |service: f64| service * (self.calls + calls) as f64;
        // Until something is known, one at a time.
        let is_long = self
            .service
            .is_none_or(|service| queued(service) > self.queue.as_secs_f64());
        // However slow the server is, one request is let through: else nothing would ever be
        // learned.
        if self.requests > 0 && is_long {
            return None;
        }
        self.calls += calls;
        self.requests += 1;
        Some(RequestInFlight {
            calls,
            beside: self.requests,
        })
    }

    /// Takes note that a request has ended; `took` is the time that it took, or `None` if it was
    /// not answered.
    pub(crate) fn end(&mut self, begun: &RequestInFlight, took: Option<Duration>) {
        // As many as were under way in its beginning or its end, whichever are more.
        let beside = begun.beside.max(self.requests).max(1);
        self.calls = self.calls.saturating_sub(begun.calls);
        self.requests = self.requests.saturating_sub(1);
        let Some(took) = took else {
            // Whatever was the cause, less is in doubt the next time.
            self.size = (self.size / 2).max(1);
            return;
        };
        self.finished += begun.calls as u64;
        self.longest = self.longest.max(took);
        let latency = took.as_secs_f64() / begun.calls.max(1) as f64;
        self.latency = Some(mixed(self.latency, latency));
        // A stock server learns one chunk at a time, so the time of a request is shared with those
        // beside it.
        self.service = Some(mixed(self.service, latency / beside as f64));
        // Above zero, because a coarse clock may see no time pass.
        let latency = self.latency.unwrap_or(latency).max(f64::MIN_POSITIVE);
        let fitting = (TARGET.as_secs_f64() / latency).min(MOST as f64) as usize;
        // Shrinks at once, and grows to the double at most, so that one quick answer does not
        // decide.
        self.size = fitting.clamp(1, self.size * 2);
    }

    /// Returns how many learn calls were answered.
    pub(crate) fn finished(&self) -> u64 {
        self.finished
    }

    /// Returns the time of the server that a learn call takes, once it is known.
    pub(crate) fn service(&self) -> Option<Duration> {
        self.service.map(Duration::from_secs_f64)
    }

    /// Returns the time after which a server that is still at work has shown something of it: many
    /// times what a learn call takes.
    pub(crate) fn quiet(&self) -> Duration {
        const TIMES: f64 = 10.0;
        Duration::from_secs_f64(self.latency.unwrap_or(0.0) * TIMES)
    }
}

/// Returns the exponentially weighted mean of measurements, the newest included.
fn mixed(before: Option<f64>, now: f64) -> f64 {
    before.map_or(now, |before| before + WEIGHT * (now - before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Sends one request after the other to a server that takes so long for a learn call.
    fn run(sizer: &mut RequestSizer, learn: Duration, requests: usize) {
        for _ in 0..requests {
            let calls = sizer.size();
            let begun = sizer.begin(calls).unwrap();
            sizer.end(&begun, Some(learn * calls as u32));
        }
    }

    #[test]
    fn a_request_takes_about_a_second_whatever_a_learn_takes() {
        for millis in [1, 5, 18, 50, 300, 900] {
            let mut sizer = RequestSizer::new(TIMEOUT);
            let learn = Duration::from_millis(millis);
            run(&mut sizer, learn, 40);
            let took = learn * sizer.size() as u32;
            let around = Duration::from_millis(450)..=Duration::from_secs(1);
            assert!(around.contains(&took), "{millis} ms a learn: {took:?}");
        }
        let mut sizer = RequestSizer::new(TIMEOUT);
        run(&mut sizer, Duration::from_secs(5), 10);
        assert_eq!(sizer.size(), 1);
    }

    #[test]
    fn a_server_that_slows_down_gets_less_at_once() {
        let mut sizer = RequestSizer::new(TIMEOUT);
        run(&mut sizer, Duration::from_millis(10), 40);
        run(&mut sizer, Duration::from_millis(500), 8);
        assert!(sizer.size() <= 3, "{}", sizer.size());
    }

    #[test]
    fn no_more_is_under_way_than_a_part_of_the_time_out() {
        let mut sizer = RequestSizer::new(TIMEOUT);
        run(&mut sizer, Duration::from_secs(1), 10);
        let mut begun = Vec::new();
        while let Some(more) = sizer.begin(1) {
            begun.push(more);
            assert!(begun.len() <= 100, "it never ends");
        }
        assert_eq!(begun.len(), 7, "60 s / 8, and a learn takes a second");
        sizer.end(&begun[0], Some(Duration::from_secs(7)));
        assert!(sizer.begin(1).is_some());
    }

    #[test]
    fn one_request_is_always_let_through() {
        let mut sizer = RequestSizer::new(Duration::from_secs(1));
        run(&mut sizer, Duration::from_secs(9), 3);
        assert!(sizer.begin(1).is_some());
        assert!(sizer.begin(1).is_none());
    }

    #[test]
    fn a_request_without_an_answer_makes_the_next_one_smaller() {
        let mut sizer = RequestSizer::new(TIMEOUT);
        run(&mut sizer, Duration::from_millis(10), 40);
        let size = sizer.size();
        let begun = sizer.begin(size).unwrap();
        sizer.end(&begun, None);
        assert_eq!(sizer.size(), size / 2);
    }
}
