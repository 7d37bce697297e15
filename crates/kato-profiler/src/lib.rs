#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! * [`ProfilingEngine`] takes a profile: a thread reads the machine and the
//!   [`Probe`](kato_probe::Probe) of a pipeline once a second.
//! * [`ProfilingSummary`] is the result: resources, stages, queues, nodes, round trips, and the run
//!   over time. It can be exported as JSON, CSV and an HTML page.
//! * [`Verdict`] names the stage that bounds the run, the cause, and what to change.
//!   [`Attribution`] finds it from the times of the stages; [`SeedRule`] is a simple rule of
//!   thresholds for comparison.
//! * [`ThrottleExperiment`] checks a verdict: it slows the stage a little and watches the pipeline.
//! * [`ResourceSource`] reads the machine; tests and replays bring their own.

mod engine;
mod error;
mod experiment;
mod export;
mod loopback;
mod point;
#[cfg(test)]
mod sample;
mod snapshot;
mod source;
mod stage_tracker;
mod summary;
mod timeline;
mod tracker;
mod trend;
mod verdict;

pub use engine::{ProfilingEngine, ProfilingEngineBuilder, RunningProfile, SampleCounter};
pub use error::ProfileError;
pub use experiment::{Elasticity, Outcome, ThrottleExperiment};
#[cfg(feature = "schema")]
pub use export::schema;
pub use point::{Level, StagePoint, StageTimes, TimelinePoint};
pub use snapshot::{
    CoreSnapshot, CpuSnapshot, DeviceSnapshot, DiskSnapshot, MemorySnapshot, NetworkSnapshot,
    PressureSnapshot, ProcessSnapshot, ResourceSnapshot, ThreadSnapshot,
};
#[cfg(target_os = "linux")]
pub use source::LinuxSource;
pub use source::{PortableSource, ResourceSource};
pub use summary::{
    CallSummary, CpuSummary, DeviceSummary, DiskSummary, FORMAT, LatencySummary, MeanPeak,
    MemorySummary, NetworkSummary, NodeSummary, PressureSummary, ProcessSummary, ProfilerCost,
    ProfilingSummary, QueueSummary, StageSummary, ThreadSummary, Throughput,
};
pub use timeline::Timeline;
pub use trend::{Direction, MemoryTrend};
pub use verdict::{
    Attribution, Cause, Evidence, Gain, SeedResource, SeedRule, SeedVerdict, Verdict,
};
