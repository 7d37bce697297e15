//! What can go wrong between a text and an answer.

use std::error::Error as _;

use kato_advice::{ErrorClass, ErrorKind};
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
    /// An address leads to no knowledge base.
    #[error("open the knowledge base at a `{scheme}://` address: {reason}")]
    Address {
        /// The scheme; the rest of an address may be secret.
        scheme: String,
        /// What is wrong with it, and what to give instead.
        reason: &'static str,
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
        self.kind().class()
    }

    /// Returns what has happened, so that a caller can tell errors apart without reading a text and without
    /// knowing which library found it.
    ///
    /// ```
    /// use kato::ErrorKind;
    ///
    /// match kato::open("/nowhere").expect_err("there is nothing").kind() {
    ///     ErrorKind::NotFound => {} // Train first.
    ///     ErrorKind::Locked | ErrorKind::Unavailable => {} // Wait, and try again.
    ///     _ => panic!("somebody has to look at it"),
    /// }
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(error) => error.kind(),
            Self::Train(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Run(error) => error.kind(),
            Self::Engine(error) => error.kind(),
            Self::Index(error) => of_index(error),
            Self::Ask(error) => error.kind(),
            // It belongs to something else than what is here.
            Self::OtherTokenizer { .. } => ErrorKind::OtherSettings,
            Self::NotTrained { .. } => ErrorKind::Conflict,
            Self::Settings(_) | Self::Address { .. } => ErrorKind::InvalidArgument,
            Self::Tokenizer(error) => match ErrorKind::of_causes(error) {
                kind if kind.class() == ErrorClass::Other => kind,
                // Whatever it is, the tokenizer has to be put in its place.
                _ => ErrorKind::Other,
            },
        }
    }

    /// Returns the text with those of all causes, in one line: for a log.
    #[must_use]
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}

/// Returns the kind of an error of an index on the disk.
fn of_index(error: &IndexFileError) -> ErrorKind {
    match error {
        IndexFileError::Io { source, .. } => ErrorKind::of_io(source.kind()),
        IndexFileError::Damaged { .. } => ErrorKind::Corrupt,
        IndexFileError::Version { .. } => ErrorKind::OtherVersion,
        IndexFileError::Locked { .. } => ErrorKind::Locked,
        IndexFileError::Store(error) => error.kind(),
        error => ErrorKind::of_class(error.class()),
    }
}
