#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! An estimate takes three steps: count what is known into a [`Calibration`], give it to
//! [`StorageEstimator::builder`], and ask for a [`Target`]. The answer is a [`StorageBreakdown`]
//! whose numbers are [`Figure`]s.
//!
//! | known before the run | take |
//! |---|---|
//! | a random sample of the corpus | [`SampleBuilder`], [`Calibration::from_sample`] |
//! | a finished run over a part of it | [`RunRecord`], [`Calibration::from_run`] |
//! | several runs | [`Calibration::from_history`] |
//! | nothing | [`SeedModel`], the original's formula, which is far off |
//!
//! The parts can be used alone: [`FrequencyCounts`] with [`PitmanYor`], [`GrowthLaw`] and
//! [`PowerLaw`] for laws of frequencies, [`StorageEngine`] for the bytes of known contents.

mod breakdown;
mod bytes;
mod calibration;
mod error;
mod estimator;
mod figure;
mod frequency;
mod growth;
mod level_model;
mod optimize;
mod path;
mod pitman_yor;
#[cfg(feature = "plots")]
mod plots;
mod power_law;
mod random;
mod ratio;
mod rules;
mod run_record;
mod sample;
mod seed;
mod sketch;

pub use breakdown::{GrowthPoint, LevelEstimate, StorageBreakdown};
pub use bytes::{
    ByteCoefficients, ByteMeasurement, ByteModel, EmbeddedLayout, LevelContents, StorageEngine,
};
pub use calibration::{Calibration, CalibrationSource, HeldOut};
pub use error::EstimateError;
pub use estimator::{DEFAULT_MAX_EXTRAPOLATION, Model, StorageEstimator, StorageEstimatorBuilder};
pub use figure::{Figure, Method};
pub use frequency::FrequencyCounts;
pub use growth::GrowthLaw;
pub use pitman_yor::PitmanYor;
pub use power_law::{Goodness, PowerLaw};
pub use ratio::Target;
pub use rules::{ChunkRule, Hierarchy, MAX_LEVELS, TailPolicy};
pub use run_record::{RunLevel, RunRecord};
pub use sample::{CorpusSample, DEFAULT_MAX_PATTERNS, LevelSample, SampleBuilder};
pub use seed::{SeedLevel, SeedModel};
