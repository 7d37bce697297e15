#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - What goes in: [`Microbes`], [`SampleMetadata`](metadata::SampleMetadata), [`distances`], [`tokens`],
//!   [`fasta`].
//! - What is made: [`synth`].
//! - What is predicted without a model of our own, and how good it is: [`baseline`], [`folds`],
//!   [`evaluation`].
//! - What was computed before: [`Cache`](cache::Cache).
//! - What learns: [`Microformer`] from a [`SampleBatch`](batch::SampleBatch), by [`MicrobesSettings`], in
//!   a [`Run`] over a [`Work`](work::Work); [`losses`], [`training`].
//! - What was learned: [`TrainedMicrobes`], [`conformal`], [`explain`].

pub mod baseline;
pub mod batch;
pub mod cache;
mod community;
pub mod conformal;
pub mod distances;
mod error;
pub mod evaluation;
pub mod explain;
pub mod fasta;
pub mod folds;
pub mod losses;
pub mod metadata;
mod model;
pub mod run;
pub mod settings;
pub mod synth;
pub mod tokens;
mod trained;
pub mod training;
pub mod work;

pub use community::{CommunityOptions, CommunityReport, Microbes, depths, rarefied};
pub use error::MicrobesError;
pub use kato_neural::run::RunSettings;
pub use model::{
    CategoryFusion, EncodedSamples, EncodedSequences, Encoder, Microformer, Predicted, Predictor,
};
pub use run::Run;
pub use settings::MicrobesSettings;
pub use trained::{Answer, TrainedMicrobes};
