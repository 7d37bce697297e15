//! Text of any size with the word statistics of a sample, which a seed decides for ever as well.
//!
//! Real text of many gigabytes is seldom at hand and cannot be shipped; text repeated from a small file has
//! patterns that all repeat, which real text has not. A [`CorpusModel`] is in between: a first-order Markov
//! chain of the sample's words, broken now and then by a jump to any of its words, with words that the
//! sample never had mixed in, so that new patterns keep appearing at any size. [`write_corpus`] writes
//! documents of it as JSON Lines; the same sample and seed give the same bytes on every platform.
//!
//! Its text resembles the sample in words and repetitions, not in sense: it is for tests of scale, and for
//! nothing that depends on what a text says.

mod error;
mod model;
mod rng;
mod vocabulary;
mod writer;

pub use error::CorpusError;
pub use model::{CorpusModel, MAX_SAMPLE_BYTES};
pub use writer::{CorpusStats, write_corpus};
