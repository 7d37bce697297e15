//! The error of a run that ended without its report.

use std::path::PathBuf;

use kato_advice::{Advice, ErrorClass, ErrorKind};
use kato_learner::LearnError;
use kato_loader::LoadError;
use kato_store::StoreError;

use crate::backend::RetiredPattern;
use crate::{BackendError, BackendErrorKind};

/// The reason why a run ended early. What was committed before is safe and can be resumed, unless
/// the message says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The run was started with other settings.
    #[error("this knowledge base was trained with other settings:\n  {}", differences.join("\n  "))]
    OtherConfiguration {
        /// The differences, in words.
        differences: Vec<String>,
    },
    /// The run was started on another corpus.
    #[error("this knowledge base was trained on another corpus:\n  {}", differences.join("\n  "))]
    OtherCorpus {
        /// The differences, in words.
        differences: Vec<String>,
    },
    /// No more can be learned behind the corpus of the run.
    #[error("nothing can be added to what this knowledge base was trained on: {reason}")]
    NotExtendable {
        /// Why not, and what to do.
        reason: &'static str,
    },
    /// The loader does not start where the checkpoint ends.
    #[error(
        "the documents start at number {found} and the knowledge base ends at {expected}: build the loader with the checkpoint's cursor"
    )]
    Position {
        /// Documents that the checkpoint holds.
        expected: u64,
        /// Documents that the loader has behind it.
        found: u64,
    },
    /// The checkpoint or the configuration in the store is not one of ours.
    #[error(
        "the knowledge base holds no training position that can be read: it was made by another program or version"
    )]
    Checkpoint {
        /// The error of reading it.
        source: serde_json::Error,
    },
    /// The knowledge base was [salvaged](kato_store::embedded::salvage) from a damaged one.
    #[error(
        "the knowledge base was salvaged and lacks a part of what was learned, so no position in a corpus belongs to it: ask it, or train into another directory"
    )]
    Salvaged,
    /// The settings join documents, so that the result would depend on timing.
    #[error(
        "the tail policy `carry` joins documents, and parallel training must not: use `drop` or `promote`"
    )]
    OrderDependent,
    /// The corpus cannot be read on.
    #[error("failed to read the corpus")]
    Load(#[source] LoadError),
    /// A document cannot be learned. Commits are of whole groups of documents, so the last one may
    /// end some documents before this one; a resumed run learns those first.
    #[error("failed to learn {document}")]
    Learn {
        /// The document's id.
        document: String,
        /// The error of the learner.
        source: LearnError,
    },
    /// A node refused a document, or a worker could not learn it.
    #[error("failed to learn {document}: {reason}")]
    Refused {
        /// The document's id.
        document: String,
        /// The refusal and its causes, in words.
        reason: String,
    },
    /// A node has retired a pattern that documents hold. None of these counts as learned, and what was
    /// committed before is safe.
    #[error(transparent)]
    Retired(RetiredPattern),
    /// More documents and records failed than the policy allows.
    #[error("documents and records that failed: {failures}, and {most} may")]
    TooManyFailures {
        /// Documents and records that failed in this session.
        failures: u64,
        /// The limit.
        most: u64,
    },
    /// A worker died, and no other took its place.
    #[error("a worker died{}: {message}", document.as_ref().map(|id| format!(" over {id}")).unwrap_or_default())]
    WorkerDied {
        /// The document that it was learning, if any.
        document: Option<String>,
        /// The text of the panic.
        message: String,
    },
    /// A worker made no progress, and the options say that this ends the run.
    #[error("{stall}; everything committed is safe: mend what it waits for, and resume")]
    Stalled {
        /// The worker, and what it waits for.
        stall: crate::event::Stall,
    },
    /// There may not be so many workers.
    #[error("{workers} workers are too many: use at most {most}")]
    Workers {
        /// Workers asked for.
        workers: usize,
        /// The limit.
        most: usize,
    },
    /// The workers need more connections than the backend's
    /// [`ConnectionBudget`](crate::workers::ConnectionBudget) has.
    #[error(
        "{workers} workers with {per_worker} connections each need {needed}, and the pool has {pool}"
    )]
    Connections {
        /// Workers asked for.
        workers: usize,
        /// Connections of each.
        per_worker: usize,
        /// Connections of all.
        needed: usize,
        /// Connections that there are.
        pool: usize,
    },
    /// The store cannot take what was learned.
    #[error("failed to store what was learned")]
    Store(#[source] StoreError),
    /// The backend failed; its error says what happened and what to do next.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The ledger of skipped records cannot be written.
    #[error("failed to write the ledger of skipped records {}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The ledger lost entries that the run wrote to it.
    #[error("the ledger of skipped records {} has {found} bytes, and the run wrote {expected}: put the run's ledger back, or move this file away to begin a new one", path.display())]
    LedgerCut {
        /// The file.
        path: PathBuf,
        /// Bytes that the last commit counts.
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// A thread could not be started.
    #[error("failed to start a worker thread")]
    Spawn(#[source] std::io::Error),
}

impl TrainError {
    /// Returns what to do about it, in names of this library, where the text does not say that. That
    /// of a [backend](Self::Backend), or of the [loader](Self::Load), has its own.
    ///
    /// ```
    /// use kato_scheduler::TrainError;
    ///
    /// let error = TrainError::TooManyFailures { failures: 2, most: 1 };
    /// let advice = error.advice().expect("there is something to do");
    /// assert!(advice.to_string().contains("`FailurePolicy::most_failures`"));
    /// ```
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        Some(Advice::new(match self {
            Self::OtherConfiguration { .. } => {
                &["use the same settings", "train into another directory"]
            }
            Self::OtherCorpus { .. } => &["give the same input", "train into another directory"],
            Self::Learn { .. } | Self::Refused { .. } => &[
                "skip and list such documents with `OnFailure::Skip`",
                "mend the document: what was begun with it begins anew then, as another corpus",
            ],
            Self::Retired(_) => &[
                "take it back with `Node::unretire` and go on",
                "skip and list such documents with `OnFailure::Skip`",
            ],
            Self::TooManyFailures { .. } => &[
                "look at the list of errors, then go on with a higher `FailurePolicy::most_failures`",
            ],
            Self::Connections { .. } => &[
                "use fewer workers, `TrainingOptions::n_workers`",
                "open more connections, `ConnectionBudget::pool`",
            ],
            Self::Spawn(_) => &["use fewer workers, `TrainingOptions::n_workers`"],
            Self::NotExtendable { .. }
            | Self::Position { .. }
            | Self::Checkpoint { .. }
            | Self::Salvaged
            | Self::OrderDependent
            | Self::Load(_)
            | Self::WorkerDied { .. }
            | Self::Stalled { .. }
            | Self::Workers { .. }
            | Self::Store(_)
            | Self::Backend(_)
            | Self::Ledger { .. }
            | Self::LedgerCut { .. } => return None,
        }))
    }

    /// Returns what a caller can do about it.
    ///
    /// ```
    /// use kato_advice::ErrorClass;
    /// use kato_scheduler::TrainError;
    ///
    /// assert_eq!(TrainError::Salvaged.class(), ErrorClass::Conflict);
    /// ```
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::OtherConfiguration { .. } => ErrorKind::OtherSettings,
            Self::OtherCorpus { .. } | Self::Position { .. } => ErrorKind::OtherCorpus,
            Self::Checkpoint { .. } => ErrorKind::OtherVersion,
            Self::NotExtendable { .. }
            | Self::Salvaged
            | Self::LedgerCut { .. }
            | Self::Retired(_) => ErrorKind::Conflict,
            Self::Stalled { .. } => ErrorKind::Unavailable,
            Self::Load(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Backend(error) => ErrorKind::of_class(error.class()),
            Self::Ledger { source, .. } | Self::Spawn(source) => ErrorKind::of_io(source.kind()),
            Self::OrderDependent | Self::Workers { .. } | Self::Connections { .. } => {
                ErrorKind::InvalidArgument
            }
            Self::Learn { source, .. } => source.kind(),
            Self::Refused { .. } | Self::TooManyFailures { .. } => ErrorKind::Malformed,
            Self::WorkerDied { .. } => ErrorKind::Other,
        }
    }

    /// Returns whether it is what the corpus holds that cannot be read or learned, and not what surrounds the
    /// run, which may be mended and the run resumed.
    pub(crate) const fn is_of_corpus(&self) -> bool {
        matches!(
            self,
            Self::Load(_)
                | Self::Learn { .. }
                | Self::Refused { .. }
                | Self::Retired(_)
                | Self::WorkerDied { .. }
                | Self::TooManyFailures { .. }
        )
    }

    /// Returns whether a backend gave up waiting because the run was stopped.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self, Self::Backend(error) if error.kind() == BackendErrorKind::Interrupted)
    }
}
