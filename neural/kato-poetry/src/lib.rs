#![doc = include_str!("../README.md")]

pub mod artifacts;
pub mod batch;
pub mod bench;
pub mod chunks;
pub mod corpus;
mod error;
pub mod losses;
pub mod metrics;
mod model;
pub mod npy;
mod poem;
pub mod poems;
pub mod run;
pub mod settings;
pub mod split;
pub mod tokens;
mod trained;
pub mod training;
pub mod vectors;
mod vocabulary;

pub use corpus::{Corpus, CorpusOptions};
pub use error::PoetryError;
pub use kato_neural::run::RunSettings;
pub use model::Autoencoder;
pub use poem::Poem;
pub use run::Run;
pub use settings::Settings;
pub use trained::{RebuiltToken, Trained, nearest_codes};
pub use vocabulary::PoemVocabulary;
