//! How long a step may take, and the handle that ends an analysis early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends an analysis early, from any thread: what is not measured yet becomes unknown.
///
/// ```
/// use kato_hardware::{Cancellation, HardwareAnalyzer};
///
/// let cancellation = Cancellation::new();
/// cancellation.cancel();
/// let profile = HardwareAnalyzer::builder()
///     .directory(std::env::temp_dir())
///     .cancellation(cancellation)
///     .build()?
///     .analyze_full();
/// let reason = profile.benchmarks.disk.sequential_write.reason();
/// assert!(reason.is_some_and(|reason| reason.contains("cancelled")));
/// # Ok::<(), kato_hardware::HardwareError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// A handle that nobody has used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the analysis. It returns within moments; what it was measuring ends by itself.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long a piece of work may take; over at once when it is cancelled or abandoned.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    pub(crate) until: Instant,
    pub(crate) cancellation: Cancellation,
    /// Set when nobody waits for the work any more.
    pub(crate) abandoned: Cancellation,
}

impl Allowance {
    pub(crate) fn new(time: Duration, cancellation: &Cancellation) -> Self {
        Self {
            until: Instant::now() + time,
            cancellation: cancellation.clone(),
            abandoned: Cancellation::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped() || Instant::now() >= self.until
    }

    /// Whether somebody ended the work, its time apart.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cancellation.is_cancelled() || self.abandoned.is_cancelled()
    }

    pub(crate) fn remaining(&self) -> Duration {
        if self.is_stopped() {
            return Duration::ZERO;
        }
        self.until.saturating_duration_since(Instant::now())
    }

    /// The share from 0 to 1 of what remains, beginning now.
    pub(crate) fn part(&self, share: f64) -> Self {
        Self {
            until: Instant::now() + self.remaining().mul_f64(share.clamp(0.0, 1.0)),
            ..self.clone()
        }
    }
}
