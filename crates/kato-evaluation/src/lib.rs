//! How well a trained hierarchy does on documents that it has not seen, beside an n-gram baseline.
//!
//! [`evaluate`] reads the documents that a [`Split`](kato_loader::Split) held out at training and asks every level of an
//! [`Engine`](kato_engine::Engine):
//!
//! | question | answer in the report |
//! |---|---|
//! | which of these chunks, and symbols, does the node know? | [`LevelEvaluation::coverage`] |
//! | what does the node recognise when it sees a whole chunk? | [`LevelEvaluation::recognition`] |
//! | which symbol comes next in a chunk? | [`LevelEvaluation::next`]: right at once, among the first 5, among the first 10 |
//! | how many bits does a token cost? | [`CodeLength`], beside n-gram, unigram and uniform models of the same training documents |
//!
//! What a level is asked are the learn calls that these documents would lead to, so training and evaluation cut documents in
//! the same way. Reports are a function of documents, knowledge and options: never of threads, batches or timing.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//!
//! use kato_engine::Engine;
//! use kato_evaluation::{Corpora, EvaluationOptions, evaluate};
//! use kato_learner::HierarchicalConceptLearner;
//! use kato_loader::{Split, StreamingDatasetLoader, TextUnit};
//! use kato_scheduler::{RunConfiguration, TrainingOptions, train_parallel};
//! use kato_store::MemoryStore;
//!
//! let text: String = (0..40).map(|n| format!("Day {n}: the cat sat on the mat, and the dog lay there.\n")).collect();
//! let side = |split| {
//!     StreamingDatasetLoader::builder()
//!         .with_reader("days.txt", std::io::Cursor::new(text.clone()))
//!         .with_text_unit(TextUnit::Line)
//!         .with_split(split)
//!         .build()
//! };
//! let split = Split::training(0.2, 3);
//! let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).chunk_sizes([5, 2]).build()?;
//! let run = RunConfiguration::of(&learner).with_split(Some(split));
//! let store = Arc::new(MemoryStore::new(&learner.node_names(), run.to_json()));
//! train_parallel(&mut side(split)?, &learner, &*store, &TrainingOptions::default(), |_| {})?;
//!
//! let engine = Engine::open(store)?;
//! let corpora = Corpora::new(|| side(split), || side(split.complement()));
//! let report = evaluate(&engine, &learner, &corpora, &EvaluationOptions::default(), |_| ControlFlow::Continue(()))?;
//!
//! assert_eq!(report.documents, 9);
//! assert!(report.levels[0].next.top_1.ratio() > Some(0.5));
//! assert!(report.code_length.kato.bits_per_token < report.code_length.unigram.bits_per_token);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
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
mod tally;
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
