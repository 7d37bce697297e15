//! What a thread is doing right now, as a stack of words: what a stall report shows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

/// What one worker is doing, from the outside in. A [`Teacher`](crate::Teacher) adds what it waits for; clones share the stack.
///
/// ```
/// use kato_scheduler::Activity;
///
/// let activity = Activity::default();
/// let learning = activity.enter("learning samples 16..24");
/// {
///     let _waiting = activity.enter("waiting for node0 to answer");
///     assert_eq!(activity.stack().len(), 2);
/// }
/// assert_eq!(activity.stack()[0].what, "learning samples 16..24");
/// drop(learning);
/// assert!(activity.stack().is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Activity(Arc<Mutex<Vec<Entered>>>);

#[derive(Debug)]
struct Entered {
    what: String,
    since: Instant,
}

/// One entry of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ActivityFrame {
    /// What is being done.
    pub what: String,
    /// For how long.
    pub elapsed: Duration,
}

/// Ends an activity when dropped.
#[derive(Debug)]
#[must_use = "the activity ends when this is dropped"]
pub struct ActivityGuard {
    activity: Activity,
    depth: usize,
}

impl Activity {
    /// Begins something, on top of what is being done; it lasts until the guard is dropped.
    pub fn enter(&self, what: impl Into<String>) -> ActivityGuard {
        let mut stack = self.entered();
        stack.push(Entered {
            what: what.into(),
            since: Instant::now(),
        });
        ActivityGuard {
            activity: self.clone(),
            depth: stack.len() - 1,
        }
    }

    /// What is being done, from the outside in.
    #[must_use]
    pub fn stack(&self) -> Vec<ActivityFrame> {
        let frame = |entered: &Entered| ActivityFrame {
            what: entered.what.clone(),
            elapsed: entered.since.elapsed(),
        };
        self.entered().iter().map(frame).collect()
    }

    /// Time since something was last begun; forever where nothing is being done.
    pub(crate) fn newest(&self) -> Duration {
        let entered = self.entered();
        let newest = entered.iter().map(|entered| entered.since.elapsed()).min();
        newest.unwrap_or(Duration::MAX)
    }

    /// Whether nothing is being done.
    pub(crate) fn is_idle(&self) -> bool {
        self.entered().is_empty()
    }

    fn entered(&self) -> MutexGuard<'_, Vec<Entered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        // Guards that were dropped out of order have taken what lay above them along.
        self.activity.entered().truncate(self.depth);
    }
}
