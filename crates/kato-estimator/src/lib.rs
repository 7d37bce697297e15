//! What a run will store: learn calls, distinct patterns and bytes from a sample, with intervals.
//!
//! ```
//! use kato_estimator::{Calibration, Hierarchy, SampleBuilder, StorageEstimator, Target};
//!
//! let mut sample = SampleBuilder::new(Hierarchy::new([4, 3])?);
//! # let documents: Vec<(Vec<Vec<u32>>, u64)> =
//! #     (0..50).map(|d| (vec![(0..80).map(|i| (i * (d + 3)) % 17).collect()], 400)).collect();
//! for (paragraphs, text_bytes) in &documents {
//!     sample.add(paragraphs, *text_bytes);
//! }
//! let calibration = Calibration::from_sample(&sample.finish()?);
//! let breakdown = StorageEstimator::builder().calibration(calibration).build()?.estimate(Target::text_bytes(1_000_000))?;
//! println!("{breakdown}");
//! for level in &breakdown.level_estimates {
//!     println!("{}: {:.0} patterns, {:.0} bytes", level.node, level.distinct_patterns.value, level.bytes.value);
//! }
//! # Ok::<(), kato_estimator::EstimateError>(())
//! ```
//!
//! | known before the run | take |
//! |---|---|
//! | a random sample of the corpus | [`SampleBuilder`], [`Calibration::from_sample`] |
//! | a finished run over a part of it | [`RunRecord`], [`Calibration::from_run`] |
//! | several runs | [`Calibration::from_history`] |
//! | nothing | [`SeedModel`], the original's formula, which is far off |
//!
//! Every number is a [`Figure`]: a value, an interval, and how it was obtained. Methods, tested range and measured errors are told in
//! `docs/estimation.md`. The crate reads no files and knows no store; it is usable alone.
//!
//! # Features
//!
//! `plots` (on): `StorageBreakdown::write_plots`, rank–frequency and growth plots as SVG and PNG.

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
