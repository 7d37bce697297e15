#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`evaluate`]. It reads the documents that a [`Split`](kato_loader::Split) held out at
//! training, as [`Corpora`] opens them, and asks every level of an [`Engine`](kato_engine::Engine):
//!
//! * [`LevelEvaluation::coverage`]: which of these chunks, and of their symbols, does the node
//!   know?
//! * [`LevelEvaluation::recognition`]: what does the node recognise when it sees a whole chunk?
//! * [`LevelEvaluation::next`]: which symbol comes next in a chunk? Counted are answers that are
//!   right at once, among the first 5, and among the first 10.
//! * [`CodeLength`]: how many bits does a token cost, beside n-gram, unigram and uniform models of
//!   the same training documents?
//!
//! The answers are in the [`EvaluationReport`].
//!
//! The baseline can be used alone: [`NgramCounter`] and [`NgramModel`].

mod answer;
mod answer_counts;
mod code_length;
mod corpora;
mod discount;
mod document;
mod error;
mod evaluate;
mod interval;
mod mixture;
mod next_symbols;
mod ngram;
mod options;
mod passes;
mod progress;
mod report;
mod share;
mod unigram;

pub use corpora::Corpora;
pub use error::EvaluationError;
pub use evaluate::evaluate;
pub use next_symbols::{NextSymbol, next_symbols};
pub use ngram::{NgramCounter, NgramModel};
pub use options::EvaluationOptions;
pub use progress::{Phase, Progress};
pub use report::{
    Baseline, CodeLength, Coverage, EvaluationReport, Interval, LevelEvaluation, ModelBits,
    NextAccuracy, Recognition,
};
pub use share::Share;
