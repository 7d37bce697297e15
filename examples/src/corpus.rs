//! Synthetic text of any size with the word statistics of a sample, for tests of scale.
//!
//! Real text of many gigabytes is seldom at hand and cannot be shipped; text repeated from a small file has patterns that
//! all repeat, which real text has not. [`CorpusModel`] is in between: a first-order Markov chain of the sample's
//! words, broken now and then by a jump to any of its words, with words that the sample never had mixed in, so
//! that new patterns keep appearing at any size. [`write_corpus`] writes documents of it as JSON Lines.

mod error;
mod model;
mod rng;
mod size;
mod vocabulary;
mod writer;

pub use error::CorpusError;
pub use model::{CorpusModel, MAX_SAMPLE_BYTES};
pub use size::{ByteSize, ParseByteSizeError};
pub use writer::{CorpusStats, write_corpus};
