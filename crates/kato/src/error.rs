//! What can go wrong between a text and an answer.

use std::error::Error as Cause;
use std::path::PathBuf;

use kato_advice::{ErrorClass, ErrorKind};
use kato_engine::EngineError;
use kato_head::HeadError;
use kato_hierarchy::HierarchyError;
use kato_learner::LearnError;
#[cfg(feature = "train")]
use kato_loader::LoadError;
use kato_prediction::disk::IndexFileError;
#[cfg(feature = "train")]
use kato_runs::RunsError;
#[cfg(feature = "train")]
use kato_scheduler::TrainError;
use kato_store::StoreError;

/// Failure to train, to open or to ask.
///
/// Its text has all causes, in one line but for lists of differences, so nobody need follow its
/// [`source`](Cause::source). What the library concerned says is in its variant. What a store says is
/// [`Store`](Self::Store), with what the library that met it was about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings of the hierarchy are impossible.
    #[error("{}", line(.0))]
    Settings(LearnError),
    /// The corpus cannot be opened or read. What was committed before is safe.
    #[cfg(feature = "train")]
    #[error("{}", line(.0))]
    Source(LoadError),
    /// Training did not begin, or ended early. What was committed is safe.
    #[cfg(feature = "train")]
    #[error("{}", line(.0))]
    Train(TrainError),
    /// The knowledge base cannot be opened, read or written.
    #[error("{}{}", .met.as_ref().map(|met| format!("{met}: ")).unwrap_or_default(), line(.source))]
    Store {
        /// What was being done, and with which level, pattern or item, where another library met it.
        met: Option<String>,
        /// What the store says, with the place.
        source: StoreError,
    },
    /// A run cannot be begun, opened or changed, or its description cannot be read or written.
    #[cfg(feature = "train")]
    #[error("{}", line(.0))]
    Run(RunsError),
    /// The patterns of the knowledge base cannot be loaded or learned.
    #[error("{}", line(.0))]
    Engine(EngineError),
    /// The index cannot be written that is required, or without which the knowledge base does not fit into
    /// memory.
    #[error("write the index, which is required, or without which memory is too small: {}", line(.0))]
    Index(IndexFileError),
    /// The knowledge base says nothing of how it was trained, so there is no tokenizer to ask it
    /// with.
    #[error("the knowledge base does not record how it was trained: train it with this crate ({})", .0)]
    NotTrained(serde_json::Error),
    /// An address leads to no knowledge base.
    #[error("open the knowledge base at a `{scheme}://` address: {reason}")]
    Address {
        /// The scheme; the rest of an address may be secret.
        scheme: String,
        /// What is wrong with it, and what to give instead.
        reason: &'static str,
    },
    /// The tokenizer of the training is not at hand.
    #[error("{}", line(.0))]
    Tokenizer(kato_tokenizer::LoadTokenizerError),
    /// Another tokenizer has the name of the one that the knowledge base was trained with.
    #[error("the tokenizer {name} is not the one of the training: put that one in its place")]
    OtherTokenizer {
        /// Name or path of the tokenizer.
        name: String,
    },
    /// The knowledge base was begun with other rules than those that are given.
    #[error(
        "the knowledge base was begun with other levels, another tokenizer or other rules than are given: give those, or open it without any"
    )]
    OtherRules,
    /// The weights that are kept with the knowledge base cannot be used or written.
    #[error("the weights in {} {reason}", .path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// What has happened.
        kind: ErrorKind,
    },
    /// The question cannot be answered.
    #[error("{}", line(.0))]
    Ask(HierarchyError),
}

impl From<LearnError> for Error {
    fn from(error: LearnError) -> Self {
        Self::Settings(error)
    }
}

#[cfg(feature = "train")]
impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Self::Source(error)
    }
}

#[cfg(feature = "train")]
impl From<TrainError> for Error {
    fn from(error: TrainError) -> Self {
        let met = error.to_string();
        match error {
            TrainError::Load(error) => Self::Source(error),
            TrainError::Store(source) => Self::met(met, source),
            error => Self::Train(error),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (met, source) = (None, error);
        Self::Store { met, source }
    }
}

#[cfg(feature = "train")]
impl From<RunsError> for Error {
    fn from(error: RunsError) -> Self {
        let met = error.to_string();
        match error {
            RunsError::Train(error) => error.into(),
            RunsError::Open(error) => error.into(),
            RunsError::Store { source, .. } => Self::met(met, source),
            error => Self::Run(error),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store { action, source } => Self::met(action.to_owned(), source),
            error => Self::Engine(error),
        }
    }
}

impl From<IndexFileError> for Error {
    fn from(error: IndexFileError) -> Self {
        match error {
            IndexFileError::Store(error) => error.into(),
            error => Self::Index(error),
        }
    }
}

impl From<kato_tokenizer::LoadTokenizerError> for Error {
    fn from(error: kato_tokenizer::LoadTokenizerError) -> Self {
        Self::Tokenizer(error)
    }
}

impl From<HierarchyError> for Error {
    fn from(error: HierarchyError) -> Self {
        let met = error.to_string();
        match error {
            HierarchyError::Engine(error) => error.into(),
            HierarchyError::Source { source, .. } => Self::met(met, source),
            HierarchyError::Head(HeadError::Store { level, source }) => {
                Self::met(format!("{met}: level {level}"), source)
            }
            HierarchyError::Transfer {
                source: EngineError::Store { action, source },
                ..
            } => Self::met(format!("{met}: {action}"), source),
            error => Self::Ask(error),
        }
    }
}

/// Returns the text of an error with those of all causes, each of which is told once.
pub(crate) fn line(error: &(dyn Cause + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

impl Error {
    /// Creates the error of a store, with what the library that met it was about.
    fn met(what: String, source: StoreError) -> Self {
        let met = Some(what);
        Self::Store { met, source }
    }

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
            #[cfg(feature = "train")]
            Self::Source(error) => error.kind(),
            #[cfg(feature = "train")]
            Self::Train(error) => error.kind(),
            #[cfg(feature = "train")]
            Self::Run(error) => error.kind(),
            Self::Store { source, .. } => source.kind(),
            Self::Engine(error) => error.kind(),
            Self::Index(error) => error.kind(),
            Self::Ask(error) => error.kind(),
            // It belongs to something else than what is here.
            Self::OtherTokenizer { .. } | Self::OtherRules => ErrorKind::OtherSettings,
            Self::NotTrained(_) => ErrorKind::Conflict,
            Self::Weights { kind, .. } => *kind,
            Self::Settings(error) => error.kind(),
            Self::Address { .. } => ErrorKind::InvalidArgument,
            Self::Tokenizer(error) => error.kind(),
        }
    }
}
