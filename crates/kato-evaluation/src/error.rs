//! The error of an evaluation.

use kato_advice::{ErrorClass, ErrorKind};
use kato_engine::EngineError;
use kato_loader::LoadError;

/// The reason why an evaluation ended without a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// Engine and learner are not of one hierarchy.
    #[error(
        "evaluate nodes {}: the learner's nodes are {}; build the learner with the settings that the knowledge base was trained with",
        engine.join(", "),
        learner.join(", ")
    )]
    OtherNodes {
        /// The engine's nodes.
        engine: Vec<String>,
        /// The learner's nodes.
        learner: Vec<String>,
    },
    /// The documents to evaluate are documents that were trained on.
    #[error(
        "evaluate on documents of the training corpus: give the other side of the split that it was trained with, or another corpus"
    )]
    NotHeldOut,
    /// There is nothing to evaluate.
    #[error(
        "evaluate on no document: no held-out document has text that the levels could learn; hold out a larger share, or give more documents"
    )]
    NoDocuments,
    /// An option has a value with which no evaluation can be made.
    #[error("evaluate with option `{option}`: {reason}")]
    InvalidOption {
        /// Name of the field.
        option: &'static str,
        /// What is allowed.
        reason: &'static str,
    },
    /// A node cannot be read.
    #[error("ask a node")]
    Engine(#[from] EngineError),
    /// The patterns cannot be counted for the head.
    #[error("count the patterns for the head")]
    Head(#[from] kato_head::HeadError),
    /// A corpus cannot be read.
    #[error("read the documents")]
    Load(#[from] LoadError),
    /// Threads could not be started.
    #[error("start {threads} threads: use fewer")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// The pool's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The caller ended the evaluation.
    #[error("evaluation was stopped")]
    Stopped,
}

impl EvaluationError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Head(error) => error.kind(),
            Self::Load(error) => error.kind(),
            Self::OtherNodes { .. } => ErrorKind::OtherSettings,
            Self::NoDocuments => ErrorKind::Empty,
            Self::Stopped => ErrorKind::Interrupted,
            Self::NotHeldOut | Self::InvalidOption { .. } | Self::Threads { .. } => {
                ErrorKind::InvalidArgument
            }
        }
    }
}
