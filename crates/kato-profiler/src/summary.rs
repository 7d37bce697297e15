//! The result of a profile: what a run has cost.

use kato_probe::LatencyHistogram;
use serde::{Deserialize, Serialize};

use crate::point::StageTimes;
use crate::timeline::Timeline;
use crate::trend::MemoryTrend;
use crate::verdict::Verdict;

/// The format of exported summaries. Its number changes when a reader of this format would
/// misunderstand the new one.
pub const FORMAT: &str = "kato-profile/1";

/// What a run has cost, where its time went, and what bounds it. Figures are of the time between
/// start and stop, but where they say otherwise; what could not be read is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfilingSummary {
    /// `kato-profile/1`.
    pub format: String,
    /// A title for reports.
    pub title: String,
    /// When the profile began, in seconds since 1970 in UTC.
    pub started_unix_seconds: f64,
    /// How long it was, in seconds.
    pub duration_seconds: f64,
    /// What bounds the run.
    pub verdict: Verdict,
    /// Samples and tokens.
    pub throughput: Throughput,
    /// The stages, upstream first.
    pub stages: Vec<StageSummary>,
    /// The queues between them.
    pub queues: Vec<QueueSummary>,
    /// The nodes.
    pub nodes: Vec<NodeSummary>,
    /// Round trips by peer.
    pub calls: Vec<CallSummary>,
    /// Memory.
    pub memory: MemorySummary,
    /// Processors.
    pub cpu: CpuSummary,
    /// Disks.
    pub disk: DiskSummary,
    /// Network.
    pub network: NetworkSummary,
    /// Pressure on the machine.
    pub pressure: Option<PressureSummary>,
    /// Pressure within the cgroup.
    pub cgroup_pressure: Option<PressureSummary>,
    /// The process.
    pub process: ProcessSummary,
    /// What profiling itself cost.
    pub profiler: ProfilerCost,
    /// The run over time.
    pub timeline: Timeline,
}

impl ProfilingSummary {
    /// Returns the mean share of the allowed cores that the process used, in per cent; 100 means
    /// all of them.
    #[must_use]
    pub fn cpu_avg_percent(&self) -> Option<f64> {
        self.cpu.mean_share.map(|share| 100.0 * share)
    }

    /// Returns the greatest resident set of the process, in bytes.
    #[must_use]
    pub fn peak_memory_bytes(&self) -> Option<f64> {
        self.memory.process_rss.map(|rss| rss.peak)
    }

    /// Returns the stage of a name.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&StageSummary> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}

/// Samples and tokens, as far as they were counted with [`SampleCounter`](crate::SampleCounter).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Throughput {
    /// Samples.
    pub samples: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Samples a second.
    pub samples_per_second: Option<f64>,
    /// Tokens a second.
    pub tokens_per_second: Option<f64>,
}

/// A stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StageSummary {
    /// Its name.
    pub name: String,
    /// Time of its threads by state.
    pub times: StageTimes,
    /// Items that it did.
    pub items: u64,
    /// Items a second.
    pub items_per_second: f64,
    /// How many threads can work for it at a time: most seen at a sample, or its mean concurrency
    /// rounded up.
    pub capacity: u64,
    /// Share of its capacity, 0 to 1, in which it had work in hand while the pipeline ran.
    pub utilisation: f64,
    /// Processor time of its threads, in seconds, while they could be watched.
    pub cpu_seconds: Option<f64>,
    /// Time for which they could have run but had no processor, in seconds.
    pub run_delay_seconds: Option<f64>,
    /// Busy time in the intervals to which these two belong, in seconds.
    pub watched_busy_seconds: f64,
    /// Share of looks at its busy threads that found one waiting for a disk in the kernel.
    pub disk_sleep_share: Option<f64>,
    /// Its threads that could be watched; at most 64.
    pub threads: Vec<ThreadSummary>,
}

/// A thread of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ThreadSummary {
    /// Its name.
    pub label: String,
    /// Its time by state.
    pub times: StageTimes,
    /// Items that it did.
    pub items: u64,
}

/// A queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QueueSummary {
    /// Its name.
    pub name: String,
    /// How many items it can hold.
    pub capacity: u64,
    /// Mean length over the snapshots.
    pub mean_len: f64,
    /// Greatest length seen.
    pub peak_len: u64,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
    /// Learn calls.
    pub learned: u64,
    /// Learn calls a second.
    pub learned_per_second: f64,
    /// How long a learn call takes, of those that were timed.
    pub latency: Option<LatencySummary>,
}

/// Round trips to a peer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallSummary {
    /// The peer.
    pub peer: String,
    /// Calls that were answered.
    pub answered: u64,
    /// Calls that were not.
    pub failed: u64,
    /// Answered calls a second.
    pub answered_per_second: f64,
    /// Calls on their way at a time, on average: the sum of the round trips by the duration.
    pub mean_in_flight: f64,
    /// Round trips.
    pub latency: Option<LatencySummary>,
}

/// Latencies, in seconds. Quantiles are within 1/16 of their value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LatencySummary {
    /// How many.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Half are no longer.
    pub p50: f64,
    /// 90 % are no longer.
    pub p90: f64,
    /// 99 % are no longer.
    pub p99: f64,
    /// The longest; of the probe's whole time, which may have begun before the profile.
    pub longest: f64,
}

impl LatencySummary {
    /// Returns the figures of a histogram; `None` without any latency.
    pub(crate) fn from_histogram(histogram: &LatencyHistogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            mean: histogram.mean_seconds()?,
            p50: histogram.quantile_seconds(0.5)?,
            p90: histogram.quantile_seconds(0.9)?,
            p99: histogram.quantile_seconds(0.99)?,
            longest: histogram.longest_seconds(),
        })
    }
}

/// A level over the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MeanPeak {
    /// Mean over time.
    pub mean: f64,
    /// Greatest value seen.
    pub peak: f64,
}

/// Memory, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemorySummary {
    /// Resident set of the process.
    pub process_rss: Option<MeanPeak>,
    /// Resident sets of the process and its descendants.
    pub tree_rss: Option<MeanPeak>,
    /// In use on the machine.
    pub system_used: Option<MeanPeak>,
    /// Memory of the machine.
    pub system_total: Option<u64>,
    /// In use in the cgroup.
    pub cgroup_used: Option<MeanPeak>,
    /// Most that the cgroup may use.
    pub cgroup_limit: Option<u64>,
    /// Share in use of what the process may have, 0 to 1.
    pub share_used: Option<MeanPeak>,
    /// Whether the resident set grows.
    pub trend: MemoryTrend,
}

/// Processors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CpuSummary {
    /// Processor time of the process, in seconds.
    pub process_seconds: Option<f64>,
    /// Cores that the process kept busy; 1.5 is 150 % of one core.
    pub cores: Option<MeanPeak>,
    /// Cores that it may use: the lesser of its affinity and its cgroup's quota.
    pub allowed_cores: Option<f64>,
    /// Mean share of the allowed cores that it used, 0 to 1.
    pub mean_share: Option<f64>,
    /// Greatest share.
    pub peak_share: Option<f64>,
    /// Share of time, 0 to 1, in which each core of the machine was busy for anybody.
    pub core_busy: Vec<f64>,
    /// Share of all cores' time that a hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Time for which the cgroup was held back by its quota, in seconds.
    pub throttled_seconds: Option<f64>,
}

/// Disks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DiskSummary {
    /// Bytes that the process and its descendants read from disks.
    pub read_bytes: Option<u64>,
    /// Bytes that they wrote to disks.
    pub written_bytes: Option<u64>,
    /// Bytes read a second.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes written a second.
    pub written_bytes_per_second: Option<f64>,
    /// Read calls, also those served from memory and those on sockets.
    pub read_calls: Option<u64>,
    /// Write calls, likewise.
    pub write_calls: Option<u64>,
    /// The device of the watched path.
    pub device: Option<DeviceSummary>,
}

/// A device, used by anybody.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DeviceSummary {
    /// The kernel's name for it.
    pub name: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Read operations.
    pub reads: u64,
    /// Write operations.
    pub writes: u64,
    /// Share of time, 0 to 1, in which at least one operation was on its way.
    pub busy_share: f64,
    /// Flushes, where the kernel counts them.
    pub flushes: Option<u64>,
}

/// Network of the machine, all interfaces but loopback.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NetworkSummary {
    /// Bytes received.
    pub received_bytes: Option<u64>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
    /// Bytes received a second.
    pub received_bytes_per_second: Option<f64>,
    /// Bytes sent a second.
    pub sent_bytes_per_second: Option<f64>,
    /// Round trips of one byte over TCP on this machine, measured when the profile began.
    pub loopback: Option<LatencySummary>,
}

/// Pressure: share of time, 0 to 1, in which tasks stalled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PressureSummary {
    /// Some task waited for a processor.
    pub cpu_some: Option<f64>,
    /// Some task waited for a disk.
    pub io_some: Option<f64>,
    /// All tasks waited for a disk.
    pub io_full: Option<f64>,
    /// Some task waited for memory.
    pub memory_some: Option<f64>,
    /// All tasks waited for memory.
    pub memory_full: Option<f64>,
}

/// The process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProcessSummary {
    /// Most open files, sockets and pipes.
    pub peak_open_files: Option<u64>,
    /// Most threads.
    pub peak_threads: Option<u64>,
    /// Most descendants at a time; at most 64 are counted.
    pub peak_children: Option<u64>,
    /// Page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// Times that living threads gave up a processor.
    pub voluntary_switches: Option<u64>,
    /// Times that a processor was taken from them.
    pub involuntary_switches: Option<u64>,
}

/// What profiling itself cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProfilerCost {
    /// Snapshots taken.
    pub snapshots: u64,
    /// Time between two of them, as asked for, in seconds.
    pub sampling_interval_seconds: f64,
    /// Processor time of the sampler thread, in seconds.
    pub cpu_seconds: Option<f64>,
    /// The same as a share of one core over the run, 0 to 1.
    pub cpu_share: Option<f64>,
}
