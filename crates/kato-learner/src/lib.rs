//! A hierarchy of KATO nodes that learns chunks of tokens, then patterns of patterns.
//!
//! A [`HierarchicalConceptLearner`] turns a document into *learn calls*: level 0 learns chunks of tokens, every other level
//! chunks of the names that the level below learned. Names are functions of content, so a whole document is planned in one
//! pass, without a store or a server: look at the [`DocumentPlan`], or count it into a batch for any store.
//!
//! ```
//! use kato_learner::{HierarchicalConceptLearner, PlannedSymbols};
//!
//! let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).chunk_sizes([4, 2]).build()?;
//! let mut scratch = learner.new_scratch();
//! let plan = learner.plan(&"The cat sat on the mat, and the dog lay there.".into(), &mut scratch)?;
//!
//! let vocabulary = learner.tokenizer().vocabulary();
//! let chunks: Vec<Vec<_>> = plan
//!     .calls(0)
//!     .map(|call| match call.symbols {
//!         PlannedSymbols::Tokens(ids) => ids.iter().filter_map(|&id| vocabulary.get(id)).collect(),
//!         _ => Vec::new(),
//!     })
//!     .collect();
//! assert_eq!(chunks[0], ["The", "Ġcat", "Ġsat", "Ġon"]);
//! assert_eq!(plan.calls(1).len(), 1);
//! # Ok::<(), kato_learner::LearnError>(())
//! ```
//!
//! The rules are the original's by default and can each be set: [`TextMode`], [`Segmentation`], [`ChunkSpan`],
//! [`ChunkRule`], [`TokenLimit`], [`TailPolicy`]. What a rule leaves out is counted in [`Dropped`].

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
