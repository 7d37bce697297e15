//! What this machine can do: hardware, limits and measured rates, each with its validity.
//!
//! ```no_run
//! use kato_hardware::{HardwareAnalyzer, Workload};
//!
//! let profile = HardwareAnalyzer::builder().directory("/data").quick(true).build()?.analyze_full();
//! println!("{profile}");
//! let prediction = profile.predict_bottleneck(1_000_000, 8, 4)?;
//! println!("{prediction}");
//! # Ok::<(), kato_hardware::HardwareError>(())
//! ```
//!
//! # What a figure is worth
//!
//! Every fact and figure is a [`Finding`]: known, or unknown with the reason and what to do. A [`Figure`] says by its
//! [`Validity`] whether caches lay in between, how many observations it rests on and how far they spread, and what a
//! hypervisor or a quota took meanwhile. Nothing that could not be measured is ever 0.
//!
//! # What it touches
//!
//! Files without names, and a directory `.kato-hardware-…` that is removed, in the directory given; a database of its own in
//! the MongoDB given, dropped at the end; the health check of the KATO server given. Memory: at most 1 GiB, an eighth of what
//! is available.
//!
//! # Features
//!
//! | feature | measures | default |
//! |---|---|---|
//! | `store` | the embedded store | on |
//! | `tokenizer` | text to GPT-2 tokens | on |
//! | `mongodb` | a MongoDB | off |
//! | `kato` | a KATO server | off |
//!
//! Without a feature its figures are unknown and say so.

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
