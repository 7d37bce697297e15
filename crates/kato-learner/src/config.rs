//! The settings that decide what a learner learns from a text.

use serde::{Deserialize, Serialize};

use crate::segment::{
    DEFAULT_MIN_SENTENCE_TOKENS, Delimiter, ORIGINAL_MIN_PARAGRAPH_CHARS, Segmentation,
    SentenceBoundary, TokenLimit,
};
use crate::{ChunkRule, HierarchicalNode};

/// Chunk sizes of the levels where nothing else is said: phrases of five tokens, seven phrases, nine of
/// those.
pub const DEFAULT_CHUNK_SIZES: [usize; 3] = [5, 7, 9];

/// Most levels of a hierarchy.
pub const MAX_NODES: usize = 20;

/// The unit that level 0 learns as one pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum TextMode {
    /// Chunks of the node's chunk size.
    Chunks {
        /// What happens to the short end of a run of tokens.
        rule: ChunkRule,
    },
    /// Sentences, found by their tokens; the chunk size of level 0 is not used.
    Sentences {
        /// How a sentence end is recognised; `None` takes the tokenizer family's rule.
        boundary: Option<SentenceBoundary>,
        /// Shorter sentences are dropped and counted.
        min_tokens: usize,
    },
    /// Segments of the text, each tokenized by itself; the chunk size of level 0 is not used.
    Segments {
        /// Where the text is cut.
        delimiter: Delimiter,
    },
}

impl Default for TextMode {
    fn default() -> Self {
        Self::Chunks {
            rule: ChunkRule::default(),
        }
    }
}

impl TextMode {
    /// Returns sentence mode with the original's minimum and the tokenizer family's rule.
    #[must_use]
    pub fn sentences() -> Self {
        Self::Sentences {
            boundary: None,
            min_tokens: DEFAULT_MIN_SENTENCE_TOKENS,
        }
    }
}

/// The extent of text within which a chunk stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkSpan {
    /// Chunks end with their paragraph, as in the original.
    #[default]
    Paragraph,
    /// Chunks run through a whole section; blank lines are text like any other, and no paragraph is
    /// stripped or too short.
    Section,
}

/// The treatment of a name that is alone in its level's buffer when a document ends: one name is no
/// pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailPolicy {
    /// It is dropped and counted, as in the original's streaming trainers.
    #[default]
    Drop,
    /// It becomes a symbol of the level above, unchanged. Alone on the highest level it is dropped and counted.
    Promote,
    /// It stays for the next document of the same call, as in the original's multi-book corpora.
    /// Behind the last document of a call it is dropped, and not counted. Patterns then depend on
    /// the order of documents, so training refuses it.
    Carry,
}

/// The data that is recorded with patterns beside their content and frequency. Costs nothing when
/// off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recording {
    /// The place where each pattern was first seen, and the documents' ids.
    pub provenance: bool,
    /// The document's metadata with its first pattern at every level, as the original does:
    /// training records `title` (the document's id), `author` (`Unknown`) and `book_idx` (`1`).
    pub metadata: bool,
}

/// The settings that, beside the tokenizer, decide what a learner learns from a text.
///
/// Two runs of equal settings and tokenizer learn equal patterns from equal documents.
///
/// By default every token of a document is learned, unless it is the only one; white space around
/// paragraphs is none. The original leaves out what is short and what is long: [`like_kato_lm`](Self::like_kato_lm) does as it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnerConfig {
    /// The levels, from the bottom up.
    pub nodes: Vec<HierarchicalNode>,
    /// The unit that level 0 learns as one pattern.
    pub text_mode: TextMode,
    /// How a document is cut into sections.
    pub segmentation: Segmentation,
    /// The extent of text within which a chunk stays.
    pub chunk_span: ChunkSpan,
    /// Shorter paragraphs, in characters, are dropped and counted.
    pub min_paragraph_chars: usize,
    /// Limit on the tokens of one paragraph, section or segment.
    pub token_limit: TokenLimit,
    /// What becomes of single names at a document's end.
    pub tail_policy: TailPolicy,
    /// What is recorded with patterns.
    pub recording: Recording,
}

impl LearnerConfig {
    /// Creates the default settings for these levels: every token of a document's paragraphs is part of a
    /// pattern of level 0, unless the whole document is a single token.
    #[must_use]
    pub fn new(nodes: Vec<HierarchicalNode>) -> Self {
        Self {
            nodes,
            text_mode: TextMode::default(),
            segmentation: Segmentation::default(),
            chunk_span: ChunkSpan::default(),
            min_paragraph_chars: 0,
            token_limit: TokenLimit::default(),
            tail_policy: TailPolicy::default(),
            recording: Recording::default(),
        }
    }

    /// Creates the settings of the original trainer, kato-lm: paragraphs of fewer than 10 characters
    /// are left out, and so are paragraphs of one or two tokens, and what a paragraph has beyond 2,048
    /// tokens.
    ///
    /// ```
    /// use kato_learner::{ChunkRule, HierarchicalNode, LearnerConfig};
    ///
    /// let nodes = || vec![HierarchicalNode::new("node0", 8)];
    /// assert_eq!(LearnerConfig::new(nodes()).min_paragraph_chars, 0);
    /// assert_eq!(LearnerConfig::like_kato_lm(nodes()).min_paragraph_chars, 10);
    /// ```
    #[must_use]
    pub fn like_kato_lm(nodes: Vec<HierarchicalNode>) -> Self {
        Self {
            text_mode: TextMode::Chunks {
                rule: ChunkRule::original(),
            },
            min_paragraph_chars: ORIGINAL_MIN_PARAGRAPH_CHARS,
            token_limit: TokenLimit::original(),
            ..Self::new(nodes)
        }
    }
}
