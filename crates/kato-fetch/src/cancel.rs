//! Switch that ends reads in which other threads are blocked.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// Switch that ends the reads of every reader that has a clone of it: those that block at the
/// moment, and those to come.
///
/// # Examples
///
/// ```
/// use kato_fetch::CancellationToken;
///
/// let cancel = CancellationToken::new();
/// let elsewhere = cancel.clone();
/// elsewhere.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone)]
pub struct CancellationToken(Arc<watch::Sender<bool>>);

impl CancellationToken {
    /// Creates a switch that is off.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Ends all reads, for good.
    pub fn cancel(&self) {
        // `send` would not store the value while nobody waits for it.
        self.0.send_replace(true);
    }

    /// Returns whether [`cancel`](Self::cancel) was called, on this or on any clone.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until [`cancel`](Self::cancel) is called; returns at once if it was called before.
    pub(crate) async fn cancelled(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancellationToken")
            .field(&self.is_cancelled())
            .finish()
    }
}
