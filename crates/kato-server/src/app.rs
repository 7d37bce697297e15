//! The state that all requests of a server share.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use axum::body::Bytes;
use kato_service::Service;

use crate::budget::Budget;
use crate::events::Events;
use crate::log_throttle::LogThrottle;
use crate::meters::Meters;
use crate::options::Options;
use crate::routes::{self, Route};
use crate::workers::Workers;

/// The state of a server.
pub(crate) struct App {
    pub(crate) service: Service,
    pub(crate) options: Options,
    pub(crate) routes: Vec<&'static Route>,
    pub(crate) workers: Workers,
    pub(crate) meters: Meters,
    pub(crate) events: Events,
    pub(crate) in_flight: Arc<InFlight>,
    /// Memory for the bodies of requests and what is made of them.
    pub(crate) request_memory: Arc<Budget>,
    /// Memory for answers until they are sent.
    pub(crate) answer_memory: Arc<Budget>,
    /// Held while something is copied that can only be paid for once it is there, so that there is
    /// one such copy at a time.
    pub(crate) copying: Mutex<()>,
    /// Held while a backup is made.
    pub(crate) backing_up: Mutex<()>,
    /// Bounds the log lines about requests that failed for a reason that only the log may name.
    pub(crate) failed_requests: LogThrottle,
    pub(crate) started: Instant,
    /// The OpenAPI document, made when it is first asked for.
    pub(crate) openapi: OnceLock<Bytes>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl App {
    /// Creates the state of a server that has served no request yet.
    pub(crate) fn new(service: Service, options: Options) -> Self {
        Self {
            service,
            routes: routes::active(&options),
            workers: Workers::new(options.workers, options.prediction_timeout),
            meters: Meters::default(),
            events: Events::new(options.max_event_clients),
            in_flight: InFlight::new(options.max_concurrent_requests),
            request_memory: Budget::new(options.max_request_memory),
            answer_memory: Budget::new(options.max_answer_memory),
            copying: Mutex::default(),
            backing_up: Mutex::default(),
            failed_requests: LogThrottle::default(),
            started: Instant::now(),
            openapi: OnceLock::new(),
            options,
        }
    }

    /// Returns the seconds since the start.
    pub(crate) fn uptime_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}

/// A bounded counter of the requests that are being answered, up to the last byte of their answers.
#[derive(Debug)]
pub(crate) struct InFlight {
    limit: usize,
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl InFlight {
    /// Creates a counter that admits so many requests at a time.
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            now: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        })
    }

    /// Takes a permit, or returns `None` if all are taken.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<InFlightPermit> {
        // Counted first, and taken back by dropping the permit if that was one too many: two
        // requests can never share the last permit. Relaxed, because the counters order no other
        // memory.
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        let permit = InFlightPermit(Arc::clone(self));
        if before >= self.limit {
            return None;
        }
        self.peak.fetch_max(before + 1, Ordering::Relaxed);
        Some(permit)
    }

    /// Returns the number of requests in flight.
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }

    /// Returns the most requests that were in flight at one time.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns the most requests that may be in flight.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
}

/// A place among the requests in flight, returned when it is dropped.
#[derive(Debug)]
pub(crate) struct InFlightPermit(Arc<InFlight>);

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}
