//! The error of a hierarchy, by what the caller can do about it.

use kato_advice::{ErrorClass, ErrorKind};
use kato_engine::EngineError;
use kato_learner::LearnError;
use kato_model::PatternName;
use kato_store::StoreError;
use kato_tokenizer::TokenizeError;

/// The reason why a hierarchy did not answer. An answer that is empty is no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HierarchyError {
    /// The engine's nodes are not those of the settings.
    #[error(
        "join an engine with nodes {} and settings for nodes {}: give the settings that the knowledge base was trained with",
        engine.join(", "),
        settings.join(", ")
    )]
    Nodes {
        /// Names of the engine's nodes, from the bottom up.
        engine: Vec<String>,
        /// Names in the settings, from the bottom up.
        settings: Vec<String>,
    },
    /// There is no such level.
    #[error("{level} is no `level`: there are {n_levels}, counted from 0")]
    UnknownLevel {
        /// The level asked for.
        level: usize,
        /// How many there are.
        n_levels: usize,
    },
    /// The level does not have the pattern.
    #[error("unravel pattern {name}: {node:?} never learned it; look for it on another level")]
    UnknownPattern {
        /// The level's node.
        node: String,
        /// The pattern.
        name: PatternName,
    },
    /// An option has a value that means nothing.
    #[error("{value} is no `{option}`: it must be {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// The prompt cannot be turned into tokens.
    #[error("tokenize the prompt")]
    Tokenize(#[from] TokenizeError),
    /// The tokenizer returned an id that its vocabulary does not name: one beyond its end, or one
    /// that it leaves unused.
    #[error(
        "tokenize the prompt: the tokenizer returned id {id}, which its vocabulary of {vocabulary} ids does not name; use a tokenizer.json that is complete"
    )]
    UnknownToken {
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
    /// The document of a pattern cannot be looked up.
    #[error("look up where pattern {name} was first seen")]
    Source {
        /// The pattern.
        name: PatternName,
        /// The store's error.
        source: StoreError,
    },
    /// A document cannot be learned; nothing of it was.
    #[error("learn the document")]
    Learn(#[from] LearnError),
    /// A node cannot be read, or cannot learn.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The patterns cannot be counted for a head.
    #[error("count the patterns for the head")]
    Head(#[from] kato_head::HeadError),
    /// A node holds patterns that its store does not, and a head counts what is stored.
    #[error(
        "count the patterns of {node:?} for the head: {learns} of its learn calls are not in a store; commit them, or make the head before they are learned and let it learn with them"
    )]
    NotStored {
        /// The node.
        node: String,
        /// The learn calls.
        learns: u64,
    },
    /// An item cannot be observed by the target of a transfer; those before it were.
    #[error("observe item number {item_idx} (from 0) of a transfer")]
    Transfer {
        /// Position of the item.
        item_idx: usize,
        /// The engine's error.
        source: EngineError,
    },
}

impl HierarchyError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Source { source, .. } => source.kind(),
            Self::Engine(error) => error.kind(),
            Self::Head(error) => error.kind(),
            Self::Transfer { source, .. } => source.kind(),
            Self::UnknownPattern { .. } => ErrorKind::NotFound,
            Self::Nodes { .. } | Self::UnknownLevel { .. } | Self::Option { .. } => {
                ErrorKind::InvalidArgument
            }
            Self::Learn(error) => error.kind(),
            Self::Tokenize(_) => ErrorKind::Malformed,
            Self::UnknownToken { .. } => ErrorKind::OtherSettings,
            Self::NotStored { .. } => ErrorKind::Other,
        }
    }
}

/// Returns an error that names the option unless its value is good.
pub(crate) fn check_option(
    option: &'static str,
    value: &dyn ToString,
    is_good: bool,
    expected: &'static str,
) -> Result<(), HierarchyError> {
    if is_good {
        return Ok(());
    }
    Err(HierarchyError::Option {
        option,
        value: value.to_string(),
        expected,
    })
}
