#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`HierarchicalConceptLearner`], which [`LearnerBuilder`] creates. It plans documents
//! ([`DocumentPlan`], a list of [`PlannedCall`]s by level) or counts them into a batch for any
//! store.
//!
//! The rules can each be set: [`TextMode`], [`Segmentation`], [`ChunkSpan`], [`ChunkRule`],
//! [`TokenLimit`], [`TailPolicy`]; together they are a [`LearnerConfig`], with the tokenizer
//! [`LearningRules`]. [`LearnerConfig::like_kato_lm`] has those of the original. What a rule leaves
//! out is counted in [`Dropped`]. The rules can also be used alone: [`chunk_lengths`],
//! [`name_chunks`], [`sentence_ranges`], [`Segmentation::sections`], [`Paragraphs`],
//! [`Delimiter::segments`].
//!
//! [`PlannedCall`]: plan::PlannedCall
//! [`TextMode`]: config::TextMode
//! [`Segmentation`]: segment::Segmentation
//! [`ChunkSpan`]: config::ChunkSpan
//! [`TokenLimit`]: segment::TokenLimit
//! [`chunk_lengths`]: chunk::chunk_lengths
//! [`name_chunks`]: chunk::name_chunks
//! [`sentence_ranges`]: segment::sentence_ranges
//! [`Segmentation::sections`]: segment::Segmentation::sections
//! [`Paragraphs`]: segment::Paragraphs
//! [`Delimiter::segments`]: segment::Delimiter::segments

mod builder;
pub mod chunk;
pub mod config;
mod dropped;
mod error;
mod learner;
mod node;
pub mod plan;
mod rules;
pub mod segment;

pub use builder::LearnerBuilder;
pub use chunk::ChunkRule;
pub use config::{LearnerConfig, TailPolicy};
pub use dropped::Dropped;
pub use error::LearnError;
pub use learner::{HierarchicalConceptLearner, LearnScratch, TextDocument};
pub use node::HierarchicalNode;
pub use plan::DocumentPlan;
pub use rules::LearningRules;
