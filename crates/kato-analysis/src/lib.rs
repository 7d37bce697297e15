#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! * [`Snapshot`] is the content of a store in numbers: frequencies, the links between levels, a
//!   digest.
//! * [`SnapshotComparison`] is the difference between two snapshots, and whether the knowledge is the same.
//! * [`CleanupPlan`] lists the rare patterns that a clean-up would remove, and removes them while
//!   the hierarchy stays whole.
//! * [`Growth`] is Heaps' law through numbers of patterns after numbers of samples.
//!
//! Snapshots and plans are made from any [`PatternStore`](kato_store::PatternStore).
//!
//! [`Growth`]: growth::Growth

pub mod cleanup;
pub mod comparison;
mod error;
pub mod growth;
mod information;
mod level;
mod references;
pub mod snapshot;

pub use cleanup::{CleanupOptions, CleanupPlan};
pub use comparison::SnapshotComparison;
pub use error::AnalysisError;
pub use snapshot::{Snapshot, SnapshotOptions};
