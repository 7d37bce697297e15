#![doc = include_str!("../README.md")]

pub mod artifacts;
pub mod chunks;
pub mod corpus;
mod error;
pub mod npy;
mod poem;
pub mod poems;
pub mod split;
mod store;
pub mod tokens;
pub mod vectors;
mod vocabulary;

pub use corpus::{Corpus, CorpusOptions};
pub use error::PoetryError;
pub use poem::Poem;
pub use vocabulary::Vocabulary;
