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
//! | a random sample | [`TextSampler`] or [`SampleBuilder`], [`Calibration::from_sample`] |
//! | a finished run over a part of it | [`FinishedRun`], [`Calibration::from_run`] |
//! | several runs | [`Calibration::from_history`] |
//!
//! The parts can be used alone: [`FrequencyCounts`] with [`PitmanYor`], [`GrowthLaw`] and
//! [`PowerLaw`] for laws of frequencies, [`StorageEngine`] for the bytes of known contents.
//!
//! [`FinishedRun`]: run_record::FinishedRun
//! [`PowerLaw`]: power_law::PowerLaw

pub mod breakdown;
pub mod bytes;
pub mod calibration;
mod error;
mod estimator;
mod figure;
mod frequency;
mod growth;
mod hash;
mod hierarchy;
mod interval;
mod level_model;
mod optimize;
mod path;
mod pitman_yor;
mod plots;
pub mod power_law;
mod random;
mod ratio;
mod recapture;
pub mod repeats;
pub mod run_record;
pub mod sample;
mod sketch;
pub mod text_sampler;

pub use breakdown::StorageBreakdown;
pub use bytes::StorageEngine;
pub use calibration::Calibration;
pub use error::EstimateError;
pub use estimator::{DEFAULT_MAX_EXTRAPOLATION, StorageEstimator, StorageEstimatorBuilder};
pub use figure::{Figure, Method};
pub use frequency::FrequencyCounts;
pub use growth::GrowthLaw;
pub use hierarchy::EstimatedHierarchy;
pub use interval::Interval;
pub use pitman_yor::PitmanYor;
pub use ratio::Target;
pub use sample::{CorpusSample, SampleBuilder};
pub use text_sampler::TextSampler;
