//! Ending a prediction that nobody waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that ends the predictions which were given it: those that run now, and those to come.
///
/// It is looked at between candidates, and within a candidate that takes long, so that a prediction ends within a fraction of a
/// second however long its patterns are.
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

/// A prediction was ended before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the prediction was ended before it was done")]
pub struct Cancelled;

impl Cancel {
    /// A switch that is off.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// A switch that stays off, whatever is done with it: what [`default`](Self::default) gives.
    #[must_use]
    pub const fn never() -> Self {
        Self(None)
    }

    /// Ends the predictions, for good.
    pub fn cancel(&self) {
        if let Some(is_cancelled) = &self.0 {
            is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Whether [`cancel`](Self::cancel) was called, on this or on any clone.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let is_cancelled = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.0.as_ref().is_some_and(is_cancelled)
    }

    /// Costs so little that every step of a loop can ask.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Cancelled> {
        match self.is_cancelled() {
            false => Ok(()),
            true => Err(Cancelled),
        }
    }
}

/// What was done under [`Cancel::never`].
pub(crate) fn uncancelled<T>(done: Result<T, Cancelled>) -> T {
    done.expect("a switch that stays off ends nothing")
}
