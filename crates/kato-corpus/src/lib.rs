#![doc = include_str!("../README.md")]
//!
//! Start with [`CorpusModel`]; [`write_corpus`] writes documents of it as JSON Lines.

mod error;
mod model;
mod rng;
mod vocabulary;
mod writer;

pub use error::CorpusError;
pub use model::{CorpusModel, MAX_SAMPLE_BYTES};
pub use writer::{CorpusStats, write_corpus};
