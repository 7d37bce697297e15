//! Where the time of a run goes: resources, stages, bottlenecks, reports.
//!
//! * [`ProfilingEngine`] takes a profile: a thread looks at the machine and at the [`Probe`](kato_probe::Probe) of a pipeline once a
//!   second. Memory is bounded however long the run is.
//! * [`ProfilingSummary`] is the result: resources, stages, queues, nodes, round trips, and the run over time. It can be exported as
//!   JSON, CSV and an HTML page.
//! * [`Verdict`] says which stage bounds the run, why, and what to change. [`Attribution`] finds it from the times of the stages;
//!   [`SeedRule`] is a simple rule of thresholds for comparison.
//! * [`ThrottleExperiment`] checks a verdict: it slows the stage a little and watches the pipeline.
//!
//! ```no_run
//! use kato_probe::Probe;
//! use kato_profiler::ProfilingEngine;
//!
//! let probe = Probe::on(["load", "learn", "stage", "commit"]);
//! let profile = ProfilingEngine::builder()
//!     .probe(probe.clone())
//!     .watch_path("my-kb")
//!     .title("A run")
//!     .build()?
//!     .start()?;
//! let counter = profile.counter();
//! // Give `probe` to the pipeline, run it, and tell what it has done:
//! counter.add(1000, 98_000);
//! let summary = profile.stop();
//! println!("{}\n{}", summary.verdict.headline(), summary.verdict.advice);
//! summary.export_json("profile.json")?;
//! summary.export_html("profile.html")?;
//! # Ok::<(), kato_profiler::ProfileError>(())
//! ```

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
