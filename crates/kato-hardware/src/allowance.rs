//! Time limits of steps, and the handle that ends an analysis early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Handle that ends an analysis early, from any thread. What is not measured by then is unknown.
///
/// ```
/// use kato_hardware::{Cancellation, HardwareAnalyzer};
///
/// let cancellation = Cancellation::new();
/// cancellation.cancel();
/// let profile = HardwareAnalyzer::builder()
///     .with_directory(std::env::temp_dir())
///     .with_cancellation(cancellation)
///     .build()?
///     .analyze_full();
/// let reason = profile.benchmarks.disk.sequential_write.reason();
/// assert!(reason.is_some_and(|reason| reason.contains("cancelled")));
/// # Ok::<(), kato_hardware::HardwareError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Creates a handle that has not been used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the analysis, which returns once the step in progress has ended, or its time for ending is
    /// over; a step that is given up so ends on its own thread.
    pub fn cancel(&self) {
        // Relaxed, because nothing else is handed over with the flag.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the analysis was ended.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The time that a piece of work may take. It is over at once when the work is cancelled or
/// abandoned.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    pub(crate) until: Instant,
    pub(crate) cancellation: Cancellation,
    /// Set when nobody waits for the result any more.
    pub(crate) abandoned: Cancellation,
}

impl Allowance {
    /// Starts an allowance of this time.
    pub(crate) fn new(time: Duration, cancellation: &Cancellation) -> Self {
        Self {
            until: Instant::now() + time,
            cancellation: cancellation.clone(),
            abandoned: Cancellation::new(),
        }
    }

    /// Returns whether the time is up or the work was stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped() || Instant::now() >= self.until
    }

    /// Returns whether the work was cancelled or abandoned, whatever time is left.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cancellation.is_cancelled() || self.abandoned.is_cancelled()
    }

    /// Returns the time that is left.
    pub(crate) fn remaining(&self) -> Duration {
        if self.is_stopped() {
            return Duration::ZERO;
        }
        self.until.saturating_duration_since(Instant::now())
    }

    /// Returns an allowance of this share, from 0 to 1, of the time that is left.
    ///
    /// Parts taken one after the other share out what earlier ones did not use.
    pub(crate) fn part(&self, share: f64) -> Self {
        Self {
            until: Instant::now() + self.remaining().mul_f64(share.clamp(0.0, 1.0)),
            ..self.clone()
        }
    }
}
