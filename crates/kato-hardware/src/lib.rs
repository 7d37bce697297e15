#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! Start with [`HardwareAnalyzer::builder`]. [`HardwareAnalyzer::analyze_full`] returns a
//! [`HardwareProfile`], which holds
//!
//! - facts that the system reports, such as [`CpuFacts`], [`DiskFacts`] and [`Limits`],
//! - measured figures, in [`BenchmarkResults`],
//! - the class of the machine, a [`Rating`],
//!
//! and predicts the speed of a training, a [`Workload`], with [`HardwareProfile::predict`].
//!
//! # What a figure is worth
//!
//! Every fact and figure is a [`Finding`]: known, or unknown with the reason and what to do. The
//! [`Validity`] of a [`Figure`] says whether caches lay in between, how many observations it rests
//! on, how far they spread, and what a hypervisor, other programs or a quota took meanwhile.

mod allowance;
mod analyzer;
mod bench;
mod detect;
mod error;
mod figure;
mod finding;
mod interference;
mod meter;
mod plan;
mod prediction;
mod profile;
mod report;
mod statistics;
mod step;
mod tier;

pub(crate) use allowance::Allowance;
pub use allowance::Cancellation;
pub use analyzer::{HardwareAnalyzer, HardwareAnalyzerBuilder};
pub use bench::disk::DiskResults;
pub use bench::kato::KatoResults;
pub use bench::memory::MemoryResults;
pub use bench::mongodb::MongoResults;
pub use bench::naming::NamingResults;
pub use bench::store::StoreResults;
pub use detect::cpu::{Cache, CpuFacts};
pub use detect::disks::{DiskFacts, StorageKind};
pub use detect::gpu::{Gpu, Gpus};
pub use detect::limits::Limits;
pub use detect::memory::MemoryFacts;
pub use detect::network::NetworkInterface;
pub use detect::virtualization::Virtualization;
pub use error::HardwareError;
pub use figure::{Figure, Measured, Method, Percentiles, Unit, Validity};
pub use finding::Finding;
pub use prediction::{Backend, Demand, Prediction, Range, Resource, Workload};
pub use profile::{BenchmarkResults, HardwareProfile, SCHEMA};
pub use step::{Step, StepEvent};
pub use tier::{Criterion, Rating, Tier};
