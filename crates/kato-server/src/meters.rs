//! Counters and time series of a server, in bounded memory.

mod machine;
mod prometheus;
mod series;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::http::{Method, StatusCode};
use kato_service::figures::Figures;

pub(crate) use self::machine::{Machine, Sampler};
pub(crate) use self::prometheus::{Now, write as write_prometheus};
pub(crate) use self::series::{NAMES, Point, Series};
use crate::compat::timestamp;

/// Upper bounds of the latency histogram, in seconds.
pub(crate) const BUCKETS: [f64; 12] = [
    0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0,
];

/// Seconds over which rates are computed.
const RATE_WINDOW: u64 = 60;

/// The counters of a server.
#[derive(Debug)]
pub(crate) struct Meters {
    /// Rates go by the time since then: the machine's clock may be set.
    started: Instant,
    counts: Mutex<Counts>,
}

/// The values of all counters.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    /// Number of answers with status 500 and above.
    pub(crate) errors: u64,
    pub(crate) seconds: f64,
    pub(crate) routes: HashMap<(&'static str, &'static str), RouteCounts>,
    pub(crate) series: Series,
    pub(crate) machine: Machine,
    pub(crate) sampled_at: Option<SystemTime>,
    // One slot for each second of the window, at the position of the second modulo the window.
    seconds_ring: Vec<SecondCounts>,
}

/// The counters of one route.
#[derive(Debug, Default, Clone)]
pub(crate) struct RouteCounts {
    /// Number of answers by status.
    pub(crate) statuses: HashMap<u16, u64>,
    /// Number of answers by upper bound of their latency; the last one is for all above.
    pub(crate) buckets: [u64; BUCKETS.len() + 1],
    pub(crate) seconds: f64,
}

/// The counters of one second.
#[derive(Debug, Default, Clone, Copy)]
struct SecondCounts {
    second: u64,
    requests: u64,
    errors: u64,
}

/// Rates of requests and errors over the last minute.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) requests_per_second: f64,
    pub(crate) requests_per_minute: f64,
    pub(crate) errors_per_minute: f64,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            counts: Mutex::default(),
        }
    }
}

impl Meters {
    /// Counts an answer.
    pub(crate) fn count(
        &self,
        method: &Method,
        template: &'static str,
        status: StatusCode,
        took: Duration,
    ) {
        let method = known_method(method);
        let now = timestamp::seconds(SystemTime::now());
        let seconds = took.as_secs_f64();
        let is_error = status.is_server_error();
        let mut counts = self.lock();
        counts.requests += 1;
        counts.errors += u64::from(is_error);
        counts.seconds += seconds;
        let route = counts.routes.entry((method, template)).or_default();
        *route.statuses.entry(status.as_u16()).or_default() += 1;
        // Each answer is in one bucket here; Prometheus's cumulative buckets are summed up when
        // they are written.
        let bucket = BUCKETS.iter().position(|bound| seconds <= *bound);
        route.buckets[bucket.unwrap_or(BUCKETS.len())] += 1;
        route.seconds += seconds;
        let (requests, errors) = (counts.requests, counts.errors);
        counts
            .series
            .request(now, requests, seconds, [method, template], status.as_u16());
        if is_error {
            counts.series.error(now, errors, [method, template]);
        }
        counts.tick(self.started.elapsed().as_secs(), is_error);
    }

    /// Records a sample of the machine and the service.
    pub(crate) fn sample(&self, machine: Machine, figures: &Figures) {
        let now = SystemTime::now();
        let mut counts = self.lock();
        counts
            .series
            .sample(timestamp::seconds(now), &machine, figures);
        counts.machine = machine;
        counts.sampled_at = Some(now);
    }

    /// Returns the counters, locked.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Counts> {
        // The counters are consistent after every step, so a thread that panicked has left nothing
        // broken.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Counts an answer for the rates, in a second since the start.
    fn tick(&mut self, second: u64, is_error: bool) {
        self.seconds_ring
            .resize(RATE_WINDOW as usize, SecondCounts::default());
        let slot = &mut self.seconds_ring[(second % RATE_WINDOW) as usize];
        // The slot was last used a window ago or earlier.
        if slot.second != second {
            *slot = SecondCounts {
                second,
                ..SecondCounts::default()
            };
        }
        slot.requests += 1;
        slot.errors += u64::from(is_error);
    }

    /// Returns the rates over the last minute. What is told a minute is what came within it, also while
    /// less than a minute has passed: a single error of the first second is not sixty a minute.
    pub(crate) fn rates(&self, uptime_seconds: f64) -> Rates {
        // Not negative, so the cast only drops the fraction.
        let now = uptime_seconds as u64;
        // Slots are only overwritten when their second comes round again, so old ones must be left
        // out here.
        let recent = self
            .seconds_ring
            .iter()
            .filter(|slot| slot.second + RATE_WINDOW > now);
        let (requests, errors) = recent.fold((0, 0), |(requests, errors), slot| {
            (requests + slot.requests, errors + slot.errors)
        });
        // At least a second, so that the first requests after the start do not make enormous rates.
        let window = uptime_seconds.clamp(1.0, RATE_WINDOW as f64);
        Rates {
            requests_per_second: requests as f64 / window,
            requests_per_minute: requests as f64,
            errors_per_minute: errors as f64,
        }
    }

    /// Returns the mean time of an answer, in seconds.
    pub(crate) fn mean_seconds(&self) -> f64 {
        if self.requests == 0 {
            0.0
        } else {
            self.seconds / self.requests as f64
        }
    }

    /// Returns the share of the answers that are errors.
    pub(crate) fn error_rate(&self) -> f64 {
        if self.requests == 0 {
            0.0
        } else {
            self.errors as f64 / self.requests as f64
        }
    }
}

/// Returns the method's name, or one name for all methods that no route has.
pub(crate) fn known_method(method: &Method) -> &'static str {
    // Clients may make up methods; each would be another label of the series.
    const KNOWN: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];
    KNOWN
        .into_iter()
        .find(|known| *known == method.as_str())
        .unwrap_or("OTHER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_forget_what_is_older_than_their_window_whatever_the_machines_clock_says() {
        let meters = Meters::default();
        meters.count(
            &Method::GET,
            "/",
            StatusCode::INTERNAL_SERVER_ERROR,
            Duration::ZERO,
        );
        let errors = |uptime| meters.lock().rates(uptime).errors_per_minute;
        assert!(errors(30.0) > 0.0);
        assert!(errors(1000.0) == 0.0);
    }

    #[test]
    fn one_failure_is_one_a_minute_however_short_the_server_has_run() {
        let meters = Meters::default();
        let failed = StatusCode::INTERNAL_SERVER_ERROR;
        meters.count(&Method::GET, "/", failed, Duration::ZERO);
        for uptime in [0.0, 0.5, 5.0, 59.0] {
            let rates = meters.lock().rates(uptime);
            let told = (rates.errors_per_minute, rates.requests_per_minute);
            assert_eq!(told, (1.0, 1.0), "{uptime}");
        }
    }
}
