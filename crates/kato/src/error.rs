//! What can go wrong between a text and an answer.

use kato_advice::ErrorClass;
use kato_engine::EngineError;
use kato_hierarchy::HierarchyError;
use kato_learner::LearnError;
use kato_loader::LoadError;
use kato_prediction::disk::IndexFileError;
use kato_runs::RunsError;
use kato_scheduler::TrainError;
use kato_store::StoreError;

/// Failure to train, to open or to ask.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings of the hierarchy are impossible.
    #[error(transparent)]
    Settings(#[from] LearnError),
    /// The corpus cannot be opened or read.
    #[error(transparent)]
    Source(#[from] LoadError),
    /// Training ended early. What was committed is safe, and the next call goes on from there.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The knowledge base cannot be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The description of a run cannot be read or written.
    #[error(transparent)]
    Run(RunsError),
    /// The patterns of the knowledge base cannot be loaded or learned.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The index cannot be written that is required, or without which the knowledge base does not fit into
    /// memory.
    #[error(
        "write the index of a knowledge base that is required, or does not fit into memory without one"
    )]
    Index(#[from] IndexFileError),
    /// The knowledge base says nothing of how it was trained, so there is no tokenizer to ask it
    /// with.
    #[error("the knowledge base does not record how it was trained: train it with this crate")]
    NotTrained {
        /// What is wrong with its record.
        source: serde_json::Error,
    },
    /// The tokenizer of the training is not at hand.
    #[error(transparent)]
    Tokenizer(#[from] kato_tokenizer::LoadError),
    /// Another tokenizer has the name of the one that the knowledge base was trained with.
    #[error("the tokenizer {name} is not the one of the training: put that one in its place")]
    OtherTokenizer {
        /// Name or path of the tokenizer.
        name: String,
    },
    /// The question cannot be answered.
    #[error(transparent)]
    Ask(#[from] HierarchyError),
}

impl From<RunsError> for Error {
    fn from(error: RunsError) -> Self {
        match error {
            RunsError::Train(error) => Self::Train(error),
            RunsError::Open(error) => Self::Store(error),
            error => Self::Run(error),
        }
    }
}

impl Error {
    /// Returns what a caller can do about it, without reading its text.
    ///
    /// ```
    /// use kato::advice::ErrorClass;
    ///
    /// let error = kato::open("/nowhere").expect_err("there is nothing");
    /// assert_eq!(error.class(), ErrorClass::Other);
    /// ```
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Source(error) => error.class(),
            Self::Train(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Run(error) => error.class(),
            Self::Engine(error) => error.class(),
            Self::Index(error) => error.class(),
            Self::Ask(error) => error.class(),
            // It belongs to something else than what is here.
            Self::OtherTokenizer { .. } | Self::NotTrained { .. } => ErrorClass::Conflict,
            Self::Settings(_) => ErrorClass::Usage,
            Self::Tokenizer(_) => ErrorClass::Other,
        }
    }
}
