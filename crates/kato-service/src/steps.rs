//! Steps of copying, folding and clearing, at which a simulation carries out other operations or
//! breaks off; see `service/simulation.rs`. They do nothing in a program.

/// A step, named by what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A file of the copy, or a part of its journal, is written. No lock is held.
    CopyPart,
    /// The mark of an unfinished copy is taken away. No lock is held.
    FinishCopy,
    /// A fold is committed to the store.
    CommitFold,
    /// What was folded is removed from the journal.
    RemoveFolded,
    /// The store is cleared, as the journal says already.
    ClearStore,
    /// Patterns are retired or purged in the store, as the journal says already.
    TakeBack,
}

#[cfg(not(test))]
pub(crate) const fn reach(_: Step) {}

#[cfg(test)]
pub(crate) use self::of_tests::{on_step, reach};

#[cfg(test)]
mod of_tests {
    use std::cell::RefCell;

    use super::Step;

    type OnStep = Box<dyn FnMut(Step)>;

    thread_local! {
        static ON_STEP: RefCell<Option<OnStep>> = const { RefCell::new(None) };
    }

    /// Sets what this thread does at each step.
    pub(crate) fn on_step(act: Option<OnStep>) {
        ON_STEP.set(act);
    }

    /// Does what was set, in which other steps do nothing.
    pub(crate) fn reach(step: Step) {
        if let Some(mut act) = ON_STEP.take() {
            act(step);
            ON_STEP.set(Some(act));
        }
    }
}
