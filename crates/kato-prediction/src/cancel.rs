//! Cancelling predictions whose answer nobody waits for any more, or for whose answer there is no
//! memory.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that cancels the predictions that were given it: those that run, and those to come.
///
/// The flag is checked between candidates, and within a candidate that takes long, so
/// that a prediction ends soon however long its patterns are.
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
pub struct Cancel(Option<Arc<Flag>>);

/// What the clones of a [`Cancel`] share.
#[derive(Default)]
struct Flag {
    is_set: AtomicBool,
    allows: Option<Box<Allowance>>,
    asks: Option<Box<Question>>,
}

/// A function that returns whether to cancel.
type Question = dyn Fn() -> bool + Send + Sync;

/// A function that is given the bytes that a prediction is about to take, and returns whether it
/// may.
type Allowance = dyn Fn(usize) -> bool + Send + Sync;

impl fmt::Debug for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flag")
            .field("is_set", &self.is_set)
            .field("has_allowance", &self.allows.is_some())
            .field("has_question", &self.asks.is_some())
            .finish()
    }
}

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

    /// Creates a flag whose predictions ask before they take memory for the texts of their answers:
    /// `allows` is given the bytes of each part, about, and returns whether they may be taken. Where
    /// it does not, the flag is set.
    ///
    /// The texts are what is large: an answer of a hundred patterns has each of them about three
    /// times, as strings, however compact the index is.
    ///
    /// ```
    /// use kato_prediction::{Cancel, Cancelled, PatternIndex, PredictionConfig};
    /// use kato_model::Event;
    ///
    /// let mut index = PatternIndex::new();
    /// let pattern = ["a", "b", "c"].map(|symbol| Event::new([symbol]));
    /// index.learn(&pattern)?;
    ///
    /// let config = PredictionConfig::default();
    /// let predict = |limit: usize| {
    ///     let cancel = Cancel::with_allowance(move |bytes| bytes <= limit);
    ///     index.predict_unless(&pattern, &config, &cancel)
    /// };
    /// assert_eq!(predict(100_000)?.predictions.len(), 1);
    /// assert_eq!(predict(100), Err(Cancelled));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_allowance(allows: impl Fn(usize) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Flag {
            allows: Some(Box::new(allows)),
            ..Flag::default()
        })))
    }

    /// Creates a flag that is set as soon as a function says so, which is asked whenever the flag is
    /// looked at: for a switch of another kind.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let asked = Arc::clone(&stop);
    /// let cancel = kato_prediction::Cancel::when(move || asked.load(Ordering::Relaxed));
    /// assert!(!cancel.is_cancelled());
    /// stop.store(true, Ordering::Relaxed);
    /// assert!(cancel.is_cancelled());
    /// ```
    #[must_use]
    pub fn when(asks: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Flag {
            asks: Some(Box::new(asks)),
            ..Flag::default()
        })))
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
        if let Some(flag) = &self.0 {
            // Relaxed, as no other memory is published by the flag: its readers only stop.
            flag.is_set.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the flag is set: [`cancel`](Self::cancel) was called, on this or on any clone,
    /// [memory](Self::with_allowance) was refused, or its [function](Self::when) says so.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let is_cancelled = |flag: &Arc<Flag>| {
            flag.is_set.load(Ordering::Relaxed) || flag.asks.as_ref().is_some_and(|asks| asks())
        };
        self.0.as_ref().is_some_and(is_cancelled)
    }

    /// Reserves memory, where there is a limit on it; only then are the bytes counted.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] where it may not be taken; then the flag is set.
    pub fn reserve(&self, bytes: impl FnOnce() -> usize) -> Result<(), Cancelled> {
        let allows = self.0.as_ref().and_then(|flag| flag.allows.as_ref());
        if allows.is_some_and(|allows| !allows(bytes())) {
            self.cancel();
            return Err(Cancelled);
        }
        Ok(())
    }

    /// Fails once the flag is set; cheap enough for every step of a loop.
    ///
    /// # Errors
    ///
    /// [`Cancelled`] once the flag is set.
    #[inline]
    pub fn check(&self) -> Result<(), Cancelled> {
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
