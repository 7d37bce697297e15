#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`HierarchicalConceptLearner`], which [`LearnerBuilder`] creates. It plans documents
//! ([`DocumentPlan`], a list of [`PlannedCall`]s by level) or counts them into a batch for any
//! store.
//!
//! The rules are the original's by default and can each be set: [`TextMode`], [`Segmentation`],
//! [`ChunkSpan`], [`ChunkRule`], [`TokenLimit`], [`TailPolicy`]; together they are a
//! [`LearnerConfig`]. What a rule leaves out is counted in [`Dropped`]. The rules can also be used
//! alone: [`chunk_lengths`], [`sentence_ranges`], [`Segmentation::sections`], [`Paragraphs`],
//! [`Delimiter::segments`].

mod builder;
mod chunk;
mod config;
mod dropped;
mod error;
mod learner;
mod node;
mod plan;
mod segment;

pub use builder::LearnerBuilder;
pub use chunk::{ChunkRule, Chunks, ORIGINAL_MIN_CHUNK, chunk_lengths};
pub use config::{ChunkSpan, LearnerConfig, MAX_NODES, Recording, TailPolicy, TextMode};
pub use dropped::Dropped;
pub use error::LearnError;
pub use learner::{HierarchicalConceptLearner, LearnScratch, TextDocument};
pub use node::HierarchicalNode;
pub use plan::{Child, DocumentPlan, PlannedCall, PlannedSymbols};
pub use segment::{
    DEFAULT_MAX_PARAGRAPH_TOKENS, DEFAULT_MIN_PARAGRAPH_CHARS, DEFAULT_MIN_SENTENCE_TOKENS,
    Delimiter, DroppedParagraphs, DroppedSentences, Paragraph, Paragraphs, Section, Sections,
    Segmentation, Segments, SentenceBoundary, Sentences, TokenCut, TokenLimit, UnknownOption,
    sentence_ranges,
};
