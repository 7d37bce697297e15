//! The activity of a worker: a stack of descriptions that progress events and stall reports show.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

/// A stack of descriptions of what one worker is doing, outermost first. A
/// [`Teacher`](crate::Teacher) adds what it waits for. Clones share the stack.
///
/// ```
/// use kato_scheduler::activity::Activity;
///
/// let activity = Activity::default();
/// let learning = activity.enter("learning documents 16..24");
/// {
///     let _waiting = activity.enter("waiting for node0 to answer");
///     assert_eq!(activity.stack().len(), 2);
/// }
/// assert_eq!(activity.stack()[0].what, "learning documents 16..24");
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

/// One entry of the stack of an [`Activity`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ActivityFrame {
    /// Description, such as `waiting for node0 to answer`.
    pub what: String,
    /// Time since it was begun.
    pub elapsed: Duration,
}

/// A guard that ends an activity when it is dropped.
#[derive(Debug)]
#[must_use = "the activity ends when this is dropped"]
pub struct ActivityGuard {
    activity: Activity,
    depth: usize,
}

impl Activity {
    /// Pushes an activity onto the stack; it lasts until the returned guard is dropped.
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

    /// Returns the activities under way, outermost first, with the time that each has lasted.
    #[must_use]
    pub fn stack(&self) -> Vec<ActivityFrame> {
        let frame = |entered: &Entered| ActivityFrame {
            what: entered.what.clone(),
            elapsed: entered.since.elapsed(),
        };
        self.entered().iter().map(frame).collect()
    }

    /// Returns the time since an activity was last begun; [`Duration::MAX`] where none is under
    /// way.
    pub(crate) fn newest(&self) -> Duration {
        let entered = self.entered();
        let newest = entered.iter().map(|entered| entered.since.elapsed()).min();
        newest.unwrap_or(Duration::MAX)
    }

    /// Returns whether no activity is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.entered().is_empty()
    }

    /// Locks the stack.
    fn entered(&self) -> MutexGuard<'_, Vec<Entered>> {
        // A poisoned lock is used all the same: each change is one operation of a `Vec`, so a panic
        // elsewhere leaves no half-changed stack behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        // A guard that is dropped out of order takes the activities above it along; for their own
        // guards there is nothing left to cut off.
        self.activity.entered().truncate(self.depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_nothing_under_way_is_idle_in_whatever_order_it_ended() {
        let activity = Activity::default();
        assert!(activity.is_idle());
        let learning = activity.enter("learning");
        let waiting = activity.enter("waiting");
        assert!(!activity.is_idle());
        drop(learning);
        assert!(activity.is_idle());
        drop(waiting);
        assert_eq!(
            (activity.is_idle(), activity.newest()),
            (true, Duration::MAX)
        );
    }
}
