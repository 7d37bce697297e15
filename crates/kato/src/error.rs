//! What can go wrong between a text and an answer.

use kato_engine::EngineError;
use kato_hierarchy::HierarchyError;
use kato_index::IndexFileError;
use kato_learner::LearnError;
use kato_loader::LoadError;
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
    /// The patterns of the knowledge base cannot be loaded or learned.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The index without which the knowledge base does not fit into memory cannot be written.
    #[error("write the index of a knowledge base that does not fit into memory without one")]
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
