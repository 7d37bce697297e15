#![doc = include_str!("../README.md")]
//!
//! # Where to go next
//!
//! - [`Training`] trains; everything that it can be told is in [`learner`], [`loader`] and
//!   [`scheduler`].
//! - [`open`] and [`OpenOptions`] give a [`Hierarchy`]: [`activate`](Hierarchy::activate),
//!   [`unravel`](Hierarchy::unravel), [`generate`](Hierarchy::generate),
//!   [`source`](Hierarchy::source), and [`head`](Hierarchy::head), which gives a [`TextHead`]: next
//!   tokens with probabilities, their reasons, and the perplexity of a text. A single node is asked through [`Hierarchy::nodes`] and its
//!   sessions ([`engine`]).
//! - What comes back has more fields than the tables above: [`Activation`], [`Prediction`],
//!   [`Generation`], [`TrainingReport`].
//! - Each library stands for itself and is re-exported whole: [`model`], [`tokenizer`], [`loader`],
//!   [`learner`], [`store`], [`scheduler`], [`prediction`], [`index`], [`engine`], [`hierarchy`],
//!   [`head`](mod@head), [`probe`]. Every [`Error`] has a class ([`advice`]): what a caller can do about it without reading it.

mod address;
mod counted_head;
mod error;
#[cfg(feature = "train")]
mod forgetting;
mod index_policy;
mod kept_weights;
mod open;
mod preparation;
#[cfg(feature = "progress")]
mod progress;
#[cfg(feature = "train")]
mod training;

pub use kato_advice as advice;
#[cfg(feature = "client")]
pub use kato_client as client;
pub use kato_engine as engine;
#[cfg(feature = "estimate")]
pub use kato_estimator as estimator;
#[cfg(feature = "evaluate")]
pub use kato_evaluation as evaluation;
#[cfg(feature = "remote")]
pub use kato_fetch as fetch;
#[cfg(feature = "hardware")]
pub use kato_hardware as hardware;
pub use kato_head as head;
pub use kato_hierarchy as hierarchy;
pub use kato_learner as learner;
#[cfg(feature = "train")]
pub use kato_loader as loader;
pub use kato_model as model;
#[cfg(feature = "mongodb")]
pub use kato_mongodb as mongodb;
pub use kato_prediction as prediction;
pub use kato_prediction::disk as index;
pub use kato_probe as probe;
#[cfg(feature = "profile")]
pub use kato_profiler as profiler;
#[cfg(feature = "train")]
pub use kato_runs as runs;
#[cfg(all(feature = "client", feature = "train"))]
pub use kato_runs::remote;
#[cfg(feature = "train")]
pub use kato_scheduler as scheduler;
#[cfg(feature = "server")]
pub use kato_server as server;
#[cfg(feature = "server")]
pub use kato_service as service;
pub use kato_store as store;
pub use kato_tokenizer as tokenizer;

pub use error::Error;
#[cfg(feature = "train")]
pub use forgetting::forget;
pub use index_policy::build_options as index_build_options;
pub use kato_advice::{ErrorClass, ErrorKind};
pub use kato_engine::{Engine, EngineError, Observation, SessionConfig};
pub use kato_hierarchy::{
    Activation, ActivationOptions, Generation, GenerationOptions, HeadOptions, Hierarchy,
    HierarchyError, Learned, Strategy, TextHead,
};
pub use kato_learner::HierarchicalConceptLearner;
#[cfg(feature = "train")]
pub use kato_loader::{Document, Order, Records, Split, StreamingDatasetLoader};
pub use kato_prediction::Prediction;
pub use kato_prediction::disk::IndexPolicy;
#[cfg(feature = "train")]
pub use kato_runs::{Destination, Forgotten};
#[cfg(feature = "train")]
pub use kato_scheduler::{
    SessionEnd, StopGuard, StopSignal, TrainingEvent, TrainingOptions, TrainingReport,
};
pub use kept_weights::keep_weights;
pub use open::{Access, OpenOptions, open, open_head, tokenizer_of};
pub use preparation::Preparation;
#[cfg(feature = "train")]
pub use training::Training;

/// What most programs use, for `use kato::prelude::*`.
pub mod prelude {
    pub use crate::engine::{Engine, Observation, Sequence, SessionConfig};
    pub use crate::hierarchy::{
        Activation, ActivationOptions, Generation, GenerationOptions, HeadOptions, Hierarchy,
        Strategy, TextHead,
    };
    pub use crate::learner::HierarchicalConceptLearner;
    pub use crate::learner::config::Recording;
    pub use crate::prediction::Prediction;
    pub use crate::store::{EmbeddedStore, PatternStore};
    pub use crate::tokenizer::Tokenizer;
    pub use crate::{Error, OpenOptions};
    #[cfg(feature = "train")]
    pub use crate::{
        Order, Split, StopSignal, StreamingDatasetLoader, Training, TrainingEvent, TrainingOptions,
        TrainingReport,
    };
}

/// The README of the repository, whose examples are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
