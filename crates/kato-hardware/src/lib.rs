#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! Start with [`HardwareAnalyzer::builder`]. [`HardwareAnalyzer::analyze_full`] returns a
//! [`HardwareProfile`], which holds
//!
//! - facts that the system reports, such as [`CpuFacts`], [`DiskFacts`] and [`SystemLimits`],
//! - measured figures, in [`BenchmarkResults`],
//! - the class of the machine, a [`Rating`],
//!
//! and predicts the speed of a training, a [`Workload`], with [`HardwareProfile::predict`].
//!
//! # What a figure is worth
//!
//! What may not be found out is a [`Finding`]: known, or unknown with the reason. The
//! [`Validity`] of a [`MeasuredFigure`] says whether caches lay in between, how many observations it rests
//! on, how far they spread, and what a hypervisor, other programs or a quota took meanwhile.
//!
//! [`CpuFacts`]: facts::CpuFacts
//! [`DiskFacts`]: facts::DiskFacts
//! [`SystemLimits`]: facts::SystemLimits
//! [`BenchmarkResults`]: results::BenchmarkResults
//! [`Rating`]: tier::Rating
//! [`Workload`]: prediction::Workload
//! [`Finding`]: figure::Finding
//! [`Validity`]: figure::Validity
//! [`MeasuredFigure`]: figure::MeasuredFigure

mod allowance;
mod analyzer;
mod bench;
mod detect;
mod error;
pub mod facts;
pub mod figure;
mod finding;
mod interference;
mod meter;
mod plan;
pub mod prediction;
pub mod profile;
mod report;
pub mod results;
mod statistics;
pub mod step;
pub mod tier;

pub(crate) use allowance::Allowance;
pub use allowance::Cancellation;
pub use analyzer::{HardwareAnalyzer, HardwareAnalyzerBuilder};
pub use error::HardwareError;
pub use profile::HardwareProfile;
