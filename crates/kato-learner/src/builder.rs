//! Builds a learner step by step; the settings are checked at the end.

use std::collections::HashSet;
use std::sync::Arc;

use kato_tokenizer::Tokenizer;

use crate::config::{ChunkSpan, DEFAULT_CHUNK_SIZES, MAX_NODES, Recording, TextMode};
use crate::segment::{Segmentation, TokenLimit};
use crate::{HierarchicalConceptLearner, HierarchicalNode, LearnError, LearnerConfig, TailPolicy};

/// A builder of a [`HierarchicalConceptLearner`]; created by
/// [`HierarchicalConceptLearner::builder`].
#[derive(Debug)]
pub struct LearnerBuilder {
    tokenizer: Arc<dyn Tokenizer>,
    config: LearnerConfig,
    single_name_chunks: bool,
    /// Whether the levels are the caller's, also if those are none.
    has_levels: bool,
}

impl LearnerBuilder {
    /// Creates a builder with the default settings, and no level of the caller's yet.
    pub(crate) fn new(tokenizer: Arc<dyn Tokenizer>) -> Self {
        Self {
            tokenizer,
            config: LearnerConfig::new(Vec::new()),
            single_name_chunks: false,
            has_levels: false,
        }
    }

    /// Sets one level for each chunk size, from the bottom up, named `node0`, `node1`, …. Where no levels
    /// are set, they are those of [`DEFAULT_CHUNK_SIZES`](crate::config::DEFAULT_CHUNK_SIZES).
    ///
    /// Levels that were set before are replaced.
    #[must_use]
    pub fn with_chunk_sizes(mut self, chunk_sizes: impl IntoIterator<Item = usize>) -> Self {
        self.has_levels = true;
        let nodes = chunk_sizes.into_iter().enumerate();
        self.config.nodes = nodes
            .map(|(idx, size)| HierarchicalNode::new(format!("node{idx}"), size))
            .collect();
        self
    }

    /// Leaves out what the original trainer leaves out, as
    /// [`LearnerConfig::like_kato_lm`] has it; the levels stay, and so does what is recorded.
    #[must_use]
    pub fn like_kato_lm(mut self) -> Self {
        let nodes = std::mem::take(&mut self.config.nodes);
        self.config = LearnerConfig {
            recording: self.config.recording,
            ..LearnerConfig::like_kato_lm(nodes)
        };
        self
    }

    /// Adds a level above the ones so far.
    #[must_use]
    pub fn with_node(mut self, node: HierarchicalNode) -> Self {
        self.has_levels = true;
        self.config.nodes.push(node);
        self
    }

    /// Sets what level 0 learns as one pattern.
    #[must_use]
    pub fn with_text_mode(mut self, text_mode: TextMode) -> Self {
        self.config.text_mode = text_mode;
        self
    }

    /// Sets how a document is cut into sections.
    #[must_use]
    pub fn with_segmentation(mut self, segmentation: Segmentation) -> Self {
        self.config.segmentation = segmentation;
        self
    }

    /// Sets across which text a chunk may reach.
    #[must_use]
    pub fn with_chunk_span(mut self, chunk_span: ChunkSpan) -> Self {
        self.config.chunk_span = chunk_span;
        self
    }

    /// Sets the number of characters below which a paragraph is dropped and counted.
    #[must_use]
    pub fn with_min_paragraph_chars(mut self, min_paragraph_chars: usize) -> Self {
        self.config.min_paragraph_chars = min_paragraph_chars;
        self
    }

    /// Sets the limit on the tokens of one paragraph; see [`TokenLimit`].
    #[must_use]
    pub fn with_token_limit(mut self, token_limit: TokenLimit) -> Self {
        self.config.token_limit = token_limit;
        self
    }

    /// Sets what becomes of single names at a document's end.
    #[must_use]
    pub fn with_tail_policy(mut self, tail_policy: TailPolicy) -> Self {
        self.config.tail_policy = tail_policy;
        self
    }

    /// Sets what is recorded with patterns.
    #[must_use]
    pub fn with_recording(mut self, recording: Recording) -> Self {
        self.config.recording = recording;
        self
    }

    /// Sets all settings at once, for example those that a run was started with.
    #[must_use]
    pub fn with_config(mut self, config: LearnerConfig) -> Self {
        self.config = config;
        self.has_levels = true;
        self
    }

    /// Permits chunk size 1 above level 0, which the original accepts.
    ///
    /// Such a level learns nothing and passes the empty symbol up. Only for comparing with the
    /// original.
    #[must_use]
    pub fn permit_single_name_chunks(mut self) -> Self {
        self.single_name_chunks = true;
        self
    }

    /// Checks the settings and creates the learner.
    ///
    /// # Errors
    ///
    /// [`LearnError::NodeCount`] with an empty list of levels or with more than [`MAX_NODES`],
    /// [`LearnError::DuplicateName`], and [`LearnError::ChunkSize`] for a chunk size below 2 that is not
    /// [permitted](Self::permit_single_name_chunks).
    pub fn build(mut self) -> Result<HierarchicalConceptLearner, LearnError> {
        if !self.has_levels {
            self = self.with_chunk_sizes(DEFAULT_CHUNK_SIZES);
        }
        let nodes = &self.config.nodes;
        if nodes.is_empty() || nodes.len() > MAX_NODES {
            return Err(LearnError::NodeCount { found: nodes.len() });
        }
        let mut names = HashSet::new();
        for (node_idx, node) in nodes.iter().enumerate() {
            // Names are compared because each names a knowledge base: two levels in one would mix.
            if !names.insert(node.name.as_str()) {
                return Err(LearnError::DuplicateName {
                    name: node.name.clone(),
                });
            }
            // One token is never a pattern, so level 0 has no such oddity to reproduce.
            let min_size = if self.single_name_chunks && node_idx > 0 {
                1
            } else {
                2
            };
            if node.chunk_size < min_size {
                return Err(LearnError::ChunkSize {
                    name: node.name.clone(),
                    chunk_size: node.chunk_size,
                });
            }
        }
        Ok(HierarchicalConceptLearner::from_parts(
            self.config,
            self.tokenizer,
        ))
    }
}
