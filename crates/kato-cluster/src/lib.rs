#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! A [`Cluster`] is a plan in an object store with its commands: [`plan`](Cluster::plan),
//! [`learn`](Cluster::learn), [`merge`](Cluster::merge), [`seal`](Cluster::seal),
//! [`publish`](Cluster::publish), [`status`](Cluster::status), [`gc`](Cluster::gc).
//! [`extend`](Cluster::extend) makes its next [`PlanGeneration`] of more corpus; [`tag`](Cluster::tag)
//! and [`diff`](Cluster::diff) name and compare them. [`PlanOptions`] are the settings of a [`Plan`];
//! [`Completed`] says who did a piece of work; [`marker`] has what is recorded of it.

mod address;
mod backend;
mod blocking;
mod cluster;
mod error;
mod generation;
pub mod marker;
mod moment;
mod plan;
mod record;
pub mod status;
mod transfer;

pub use cluster::{
    Cluster, Completed, GarbageReport, GcOptions, GenerationDifference, LevelDifference,
};
pub use error::ClusterError;
pub use generation::{GenerationSummary, PlanGeneration, Tag};
pub use moment::{Moment, Watch};
pub use plan::{CutBy, ExtendOptions, Plan, PlanOptions};
pub use record::Pause;
