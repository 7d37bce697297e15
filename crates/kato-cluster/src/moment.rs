//! The moments of a piece of work, for whoever watches it.

use std::fmt;
use std::sync::Arc;

/// A moment of a task, a merge or a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moment {
    /// It is computed, and nothing of it is in the store.
    Computed,
    /// All of it is in the store, and does not count.
    Uploaded,
    /// It counts.
    Committed,
}

/// Told of every [`Moment`], on the thread that drives the future: for progress, or for a test that
/// ends the process there.
#[derive(Clone)]
pub struct Watch(Arc<dyn Fn(Moment) + Send + Sync>);

impl Watch {
    /// Creates one of a function, which should be quick.
    pub fn new(watch: impl Fn(Moment) + Send + Sync + 'static) -> Self {
        Self(Arc::new(watch))
    }

    pub(crate) fn tell(&self, moment: Moment) {
        (self.0)(moment);
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
