//! Cancelling predictions whose answer nobody waits for any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that cancels the predictions that were given it: those that run, and those to come.
///
/// The flag is checked between candidates, and within a candidate that takes long, so
/// that a prediction ends within a fraction of a second however long its patterns are.
/// Clones share one flag.
///
/// ```
/// use kato_prediction::{Cancel, Cancelled, PatternIndex, PredictionConfig};
/// use kato_model::Event;
///
/// let mut index = PatternIndex::new();
/// let pattern = ["a", "b", "c"].map(|symbol| Event::new([symbol]));
/// index.learn(&pattern)?;
///
/// let cancel = Cancel::new();
/// let config = PredictionConfig::default();
/// assert_eq!(index.predict_unless(&pattern, &config, &cancel)?.predictions.len(), 1);
/// cancel.clone().cancel();
/// assert_eq!(index.predict_unless(&pattern, &config, &cancel), Err(Cancelled));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

/// The error of a prediction that was cancelled before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the prediction was ended before it was done")]
pub struct Cancelled;

impl Cancel {
    /// Creates a flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Creates a flag that can never be set, which is also what [`default`](Self::default) returns.
    #[must_use]
    pub const fn never() -> Self {
        // Without a flag in memory, so that predictions that nobody can cancel allocate nothing.
        Self(None)
    }

    /// Cancels the predictions, for good.
    ///
    /// Does nothing to a flag of [`never`](Self::never).
    pub fn cancel(&self) {
        if let Some(is_cancelled) = &self.0 {
            // Relaxed, as no other memory is published by the flag: its readers only stop.
            is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether [`cancel`](Self::cancel) was called, on this or on any clone.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let is_cancelled = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.0.as_ref().is_some_and(is_cancelled)
    }

    /// Fails once the flag is set; cheap enough for every step of a loop.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Cancelled> {
        match self.is_cancelled() {
            false => Ok(()),
            true => Err(Cancelled),
        }
    }
}

/// Unwraps the result of work that was given [`Cancel::never`].
pub(crate) fn unwrap_uncancelled<T>(done: Result<T, Cancelled>) -> T {
    done.expect("a switch that stays off ends nothing")
}
