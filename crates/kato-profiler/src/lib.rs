#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! * [`ProfilingEngine`] takes a profile: a thread reads the machine and the
//!   [`Probe`](kato_probe::Probe) of a pipeline, once a second if no other interval is set.
//! * [`ProfilingSummary`] is the result: resources, stages, queues, nodes, round trips, and the run
//!   over time. It can be exported as JSON, CSV and an HTML page.
//! * [`Verdict`] names the stage that bounds the run, the cause, and what to change.
//!   [`Attribution`] finds it from the times of the stages.
//! * [`ThrottleExperiment`] checks a verdict: it slows the stage a little and watches the pipeline.
//! * [`ResourceSource`] reads the machine; tests and replays bring their own.
//!
//! [`Verdict`]: verdict::Verdict
//! [`Attribution`]: verdict::Attribution
//! [`ThrottleExperiment`]: experiment::ThrottleExperiment
//! [`ResourceSource`]: source::ResourceSource

mod engine;
mod error;
pub mod experiment;
mod export;
mod loopback;
mod point;
pub mod snapshot;
pub mod source;
mod stage_tracker;
pub mod summary;
#[cfg(test)]
mod test_fixtures;
pub mod timeline;
mod tracker;
pub mod trend;
pub mod verdict;

pub use engine::{ProfilingEngine, ProfilingEngineBuilder, RunningProfile, SampleCounter};
pub use error::ProfileError;
#[cfg(feature = "schema")]
pub use export::schema;
pub use summary::ProfilingSummary;
