//! The size of requests: by the time that learning takes, not by number. No clock of its own.
//!
//! A request waits for the learn calls of all others, so its own time says little about what a learn
//! call costs: with 48 lanes it is 48 times as long. What it does say are two bounds. The cost is at
//! most the request's time shared among its own learn calls, and at least that time shared among
//! all calls that the server can have carried out meanwhile. The estimate moves only as far as these
//! bounds push it, so that sizes do not depend on the number of lanes.

use std::time::Duration;

/// Time that the learn calls of one request should take: long enough that a request costs little
/// beside it, short enough that little is in doubt when its answer is lost.
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
    /// Seconds from one learn call of a request to the next, those of other requests included.
    latency: Option<f64>,
    /// Seconds that a learn call costs the process of the server that carries it out.
    cost: Option<f64>,
    /// Seconds between learn calls of the server as a whole.
    service: Option<f64>,
    size: usize,
    /// Learn calls under way.
    calls: usize,
    /// Requests under way.
    requests: usize,
    /// Learn calls of all requests that were begun.
    begun: u64,
    /// Learn calls of all requests that were answered.
    finished: u64,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct RequestInFlight {
    calls: usize,
    /// Learn calls that were under way when it began, its own included.
    ahead: usize,
    /// Learn calls of all requests up to this one.
    begun: u64,
    /// Learn calls that were answered when it began.
    finished: u64,
    /// Requests that were under way with it, itself included.
    beside: usize,
}

impl RequestSizer {
    /// Begins without knowing anything of the server.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            queue: timeout / QUEUE_SHARE,
            latency: None,
            cost: None,
            service: None,
            size: FIRST,
            calls: 0,
            requests: 0,
            begun: 0,
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
        self.begun += calls as u64;
        Some(RequestInFlight {
            calls,
            ahead: self.calls,
            begun: self.begun,
            finished: self.finished,
            beside: self.requests,
        })
    }

    /// Takes note that a request has ended; `took` is the time that it took, or `None` if it was
    /// not answered.
    pub(crate) fn end(&mut self, request: &RequestInFlight, took: Option<Duration>) {
        // As many as were under way in its beginning or its end, whichever are more.
        let beside = request.beside.max(self.requests).max(1);
        self.calls = self.calls.saturating_sub(request.calls);
        self.requests = self.requests.saturating_sub(1);
        let Some(took) = took else {
            // Whatever was the cause, less is in doubt the next time.
            self.size = (self.size / 2).max(1);
            return;
        };
        // Above zero, because a coarse clock may see no time pass.
        let took = took.as_secs_f64().max(f64::MIN_POSITIVE);
        self.finished += request.calls as u64;
        let own = request.calls.max(1) as f64;
        self.latency = Some(mixed(self.latency, took / own));
        // What the server has done meanwhile: what was answered, and where it learns one chunk of
        // each request in turn, as much of every other as of this.
        let answered = (self.finished - request.finished) as f64;
        let done = answered.max(own * beside as f64);
        self.service = Some(mixed(self.service, took / done));
        // What had begun before it, and what came while it was under way.
        let most = request.ahead as f64 + (self.begun - request.begun) as f64;
        let (least, highest) = (took / most.max(own), took / own);
        let bounded = |cost: f64| cost.clamp(least, highest);
        let cost = match self.cost {
            // The first is alone, so the bounds are one.
            None => highest,
            Some(cost) => mixed(Some(cost), bounded(cost)),
        };
        self.cost = Some(cost);
        // No longer than what may be under way as a whole, and shared by what the server can do.
        let target = TARGET.min(self.queue).as_secs_f64();
        let fitting = (target / cost.max(f64::MIN_POSITIVE)).min(MOST as f64) as usize;
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

    /// Lanes that always want to send, at a server with some processes that learn one chunk of
    /// each request in turn; the sizes of requests at the end.
    fn simulate(lanes: usize, processes: usize, learn_ms: u64, seconds: u64) -> (usize, u64) {
        let mut sizer = RequestSizer::new(TIMEOUT);
        // Requests under way: what began when, and how many learn calls are left of it.
        let mut under_way: Vec<(RequestInFlight, u64, usize, usize)> = Vec::new();
        let (mut now, mut requests) = (0, 0);
        while now < seconds * 1_000 {
            while under_way.len() < lanes {
                let calls = sizer.size();
                let Some(begun) = sizer.begin(calls) else {
                    break;
                };
                requests += 1;
                under_way.push((begun, now, calls, requests % processes));
            }
            now += learn_ms;
            for process in 0..processes {
                let next = under_way.iter().position(|(.., of)| *of == process);
                let Some(next) = next else { continue };
                let (begun, since, left, of) = under_way.remove(next);
                if left > 1 {
                    under_way.push((begun, since, left - 1, of));
                } else {
                    sizer.end(&begun, Some(Duration::from_millis(now - since)));
                }
            }
        }
        (sizer.size(), sizer.finished())
    }

    #[test]
    fn the_number_of_lanes_does_not_change_the_size() {
        for processes in [1, 4] {
            for lanes in [1, 3, 12, 48, 63] {
                let (size, finished) = simulate(lanes, processes, 18, 120);
                // A second of 18 ms each.
                assert!(
                    (28..=56).contains(&size),
                    "{lanes} lanes, {processes} processes: {size}"
                );
                let most = 120_000 / 18 * processes.min(lanes) as u64;
                assert!(
                    finished * 10 >= most * 8,
                    "{lanes} lanes, {processes} processes: {finished} of {most}"
                );
            }
        }
    }

    #[test]
    fn a_short_time_out_makes_small_requests() {
        let mut sizer = RequestSizer::new(Duration::from_secs(1));
        run(&mut sizer, Duration::from_millis(20), 40);
        assert_eq!(sizer.size(), 6, "an eighth of a second");
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
