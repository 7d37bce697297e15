#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`evaluate`]. It reads the documents that a [`Split`](kato_loader::Split) held out at
//! training, as [`Corpora`] opens them, and asks the levels of an [`Engine`](kato_engine::Engine):
//!
//! * [`LevelEvaluation::coverage`]: which of these chunks, and of their symbols, does the node
//!   know?
//! * [`LevelEvaluation::recognition`]: what does the node recognise when it sees a whole chunk?
//! * [`LevelEvaluation::next`]: which symbol comes next in a chunk? Counted are answers that are
//!   right at once, among the first 5, and among the first 10.
//! * [`CodeLength`]: how many bits does a token cost, beside n-gram, unigram and uniform models of
//!   the same training documents?
//! * [`HeadEvaluation`]: how many bits does it cost with the [head](kato_head), which is counted
//!   from the same patterns, and how far are its probabilities what they say?
//!
//! The answers are in the [`EvaluationReport`]. What a hierarchy holds, whatever it is asked, [`analysis`] has.
//!
//! The baseline can be used alone: [`NgramCounter`] and [`NgramModel`].
//!
//! [`LevelEvaluation::coverage`]: report::LevelEvaluation::coverage
//! [`LevelEvaluation::recognition`]: report::LevelEvaluation::recognition
//! [`LevelEvaluation::next`]: report::LevelEvaluation::next
//! [`CodeLength`]: report::CodeLength
//! [`HeadEvaluation`]: report::HeadEvaluation
//! [`NgramCounter`]: ngram::NgramCounter
//! [`NgramModel`]: ngram::NgramModel

pub mod analysis;
mod answer;
mod answer_counts;
mod calibration;
mod code_length;
mod corpora;
mod discount;
mod distinct_tokens;
mod document;
mod error;
mod evaluate;
mod heads;
mod interval;
mod mixture;
pub mod next_symbols;
pub mod ngram;
mod options;
mod passes;
pub mod progress;
pub mod report;
mod share;
mod unigram;

pub use corpora::Corpora;
pub use error::EvaluationError;
pub use evaluate::evaluate;
pub use options::EvaluationOptions;
pub use report::EvaluationReport;
