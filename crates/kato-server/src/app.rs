//! The state that all requests of a server share: a value that knows nothing of those who use it.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use axum::body::Bytes;
use kato_service::Service;

use crate::budget::Budget;
use crate::events::Events;
use crate::in_flight::InFlight;
use crate::log_throttle::LogThrottle;
use crate::meters::Meters;
use crate::options::Options;
use crate::workers::Workers;

/// Makes the OpenAPI document, which takes as long as all else at the start of a server.
pub(crate) type MakeDocument = Box<dyn FnOnce() -> Bytes + Send>;

/// The state of a server.
pub(crate) struct App {
    pub(crate) service: Service,
    pub(crate) options: Options,
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
    /// Bounds those about requests that were refused for one, so that they leave the others their room.
    pub(crate) refused_requests: LogThrottle,
    pub(crate) started: Instant,
    /// The OpenAPI document, made when it is first asked for.
    pub(crate) openapi: LazyLock<Bytes, MakeDocument>,
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
    pub(crate) fn new(service: Service, options: Options, openapi: MakeDocument) -> Self {
        Self {
            service,
            workers: Workers::new(options.workers, options.prediction_timeout),
            meters: Meters::default(),
            events: Events::new(options.max_event_clients),
            in_flight: InFlight::new(options.max_concurrent_requests),
            request_memory: Budget::new(options.max_request_memory),
            answer_memory: Budget::new(options.max_answer_memory),
            copying: Mutex::default(),
            backing_up: Mutex::default(),
            failed_requests: LogThrottle::default(),
            refused_requests: LogThrottle::default(),
            started: Instant::now(),
            openapi: LazyLock::new(openapi),
            options,
        }
    }

    /// Returns the seconds since the start.
    pub(crate) fn uptime_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}
