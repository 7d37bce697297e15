//! Documents that cannot be learned: the policy for them, their kinds and counts, and their entries
//! in the ledger.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// A policy for documents that cannot be learned and for workers that die.
///
/// A document over which a worker dies (a panic in a tokenizer, for example) is tried again by
/// another one; so is everything that the dead worker had not staged. Of a document that has failed
/// [`attempts`](Self::attempts) times [`on_failure`](Self::on_failure) says what becomes. Where a
/// backend [cannot repeat](crate::Backend::can_repeat) what it was taught, nothing is tried again.
///
/// ```
/// use kato_scheduler::failure::{FailurePolicy, OnFailure};
///
/// let policy = FailurePolicy { on_failure: OnFailure::Skip, most_failures: Some(100), ..FailurePolicy::default() };
/// assert_eq!(policy.attempts.get(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailurePolicy {
    /// The action when a document has failed for good. Default: the run ends with its error.
    pub on_failure: OnFailure,
    /// Attempts at a document that takes a worker down, the first included. What is refused for its
    /// content is not tried again: it would be refused again. Default: 2.
    pub attempts: NonZeroU32,
    /// Documents that may fail in one session, and records that cannot be read; one more ends the run,
    /// once what was read is committed and its failures are in the ledger. Default: any number.
    pub most_failures: Option<u64>,
    /// Workers that may be replaced in one session; one more ends the run. Default: 16.
    pub worker_restarts: u32,
}

/// The action of a run when a document has failed for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The run ends with the error; what was committed is safe.
    #[default]
    End,
    /// The document is counted and listed, and the run goes on.
    Skip,
}

impl Default for FailurePolicy {
    fn default() -> Self {
        Self {
            on_failure: OnFailure::End,
            attempts: NonZeroU32::new(2).expect("2 is not 0"),
            most_failures: None,
            worker_restarts: 16,
        }
    }
}

/// The reason why a document failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The learner cannot learn it: the tokenizer fails on its text, for example.
    Unlearnable,
    /// A node refused what was to be learned.
    Refused,
    /// Workers panicked while they learned it.
    WorkerDied,
}

/// Failed documents by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FailureCounts {
    /// [`FailureKind::Unlearnable`].
    pub unlearnable: u64,
    /// [`FailureKind::Refused`].
    pub refused: u64,
    /// [`FailureKind::WorkerDied`].
    pub worker_died: u64,
}

impl FailureCounts {
    /// Counts one more failure of a kind.
    pub(crate) fn count(&mut self, kind: FailureKind) {
        match kind {
            FailureKind::Unlearnable => self.unlearnable += 1,
            FailureKind::Refused => self.refused += 1,
            FailureKind::WorkerDied => self.worker_died += 1,
        }
    }

    /// Returns the sum over all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.unlearnable + self.refused + self.worker_died
    }

    /// Adds the counts of another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.unlearnable += other.unlearnable;
        self.refused += other.refused;
        self.worker_died += other.worker_died;
    }

    /// Returns the counts without those of a part; `None` if that has more of something.
    pub(crate) fn checked_sub(&self, part: &Self) -> Option<Self> {
        Some(Self {
            unlearnable: self.unlearnable.checked_sub(part.unlearnable)?,
            refused: self.refused.checked_sub(part.refused)?,
            worker_died: self.worker_died.checked_sub(part.worker_died)?,
        })
    }
}

/// A document that has failed for good: an entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FailedDocument {
    pub(crate) document: String,
    pub(crate) document_idx: u64,
    pub(crate) kind: FailureKind,
    /// Level at which it failed; what lies below was learned, unless the document was refused at
    /// several levels.
    pub(crate) level: usize,
    pub(crate) attempts: u32,
    pub(crate) reason: String,
}

/// Returns the text of an error with its causes, in one line.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason.push_str(": ");
        reason.push_str(&error.to_string());
        cause = error.source();
    }
    reason
}
