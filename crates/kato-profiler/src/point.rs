//! The changes between two snapshots.

use kato_probe::reading::StateSeconds;
use serde::{Deserialize, Serialize};

use crate::snapshot::ResourceSnapshot;

/// A stretch of a run. Amounts are sums over it, levels are means with their least and greatest
/// value. What could not be read is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimelinePoint {
    /// When it began, in seconds since the profile did.
    pub start_seconds: f64,
    /// How long it was, in seconds.
    pub seconds: f64,
    /// Resident set of the process, in bytes.
    pub process_rss: Option<Level>,
    /// Resident sets of the process and its descendants, in bytes.
    pub tree_rss: Option<Level>,
    /// Memory in use on the machine, in bytes.
    pub system_memory: Option<Level>,
    /// Memory of the cgroup, in bytes.
    pub cgroup_memory: Option<Level>,
    /// Cores that the process kept busy.
    pub cpu_cores: Option<Level>,
    /// Share of time, 0 to 1, in which each core of the machine was busy for anybody.
    pub core_busy: Vec<f64>,
    /// Seconds for which the cgroup was held back by its quota.
    pub throttled_seconds: Option<f64>,
    /// Bytes that the process and its descendants read from disks.
    pub disk_read_bytes: Option<u64>,
    /// Bytes that the process and its descendants wrote to disks.
    pub disk_written_bytes: Option<u64>,
    /// Bytes read from the watched device by anybody.
    pub device_read_bytes: Option<u64>,
    /// Bytes written to the watched device by anybody.
    pub device_written_bytes: Option<u64>,
    /// Bytes received by the machine.
    pub network_received_bytes: Option<u64>,
    /// Bytes sent by the machine.
    pub network_sent_bytes: Option<u64>,
    /// Seconds in which some task of the machine waited for a processor.
    pub cpu_stall_seconds: Option<f64>,
    /// Seconds in which some task waited for a disk.
    pub io_stall_seconds: Option<f64>,
    /// Seconds in which some task waited for memory.
    pub memory_stall_seconds: Option<f64>,
    /// Page faults of the process that needed a disk.
    pub major_faults: Option<u64>,
    /// Samples done, if they are counted.
    pub samples: Option<u64>,
    /// Tokens done, if they are counted.
    pub tokens: Option<u64>,
    /// The stages, in the order of the summary.
    pub stages: Vec<StagePoint>,
}

/// A level over a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Level {
    /// Mean over time.
    pub mean: f64,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
}

/// A stage over a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StagePoint {
    /// Time of its threads by state.
    pub times: StageTimes,
    /// Items that it did.
    pub items: u64,
}

/// Time of a stage's threads by state, in seconds, summed over the threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StageTimes {
    /// Working, or on the way to a processor.
    pub busy: f64,
    /// Waiting for input.
    pub starved: f64,
    /// Waiting for room downstream.
    pub blocked_downstream: f64,
    /// Waiting for a server.
    pub blocked_server: f64,
    /// Waiting for a lock.
    pub blocked_lock: f64,
    /// Waiting for a disk.
    pub blocked_disk: f64,
}

impl StageTimes {
    /// Returns the time in which the stage had work in hand: busy, or waiting for a server, a lock
    /// or a disk.
    #[must_use]
    pub fn active(&self) -> f64 {
        self.busy + self.blocked_server + self.blocked_lock + self.blocked_disk
    }

    /// Returns the time of all states.
    #[must_use]
    pub fn present(&self) -> f64 {
        self.active() + self.starved + self.blocked_downstream
    }

    /// Adds the time of another stretch or thread.
    pub(crate) fn add(&mut self, other: &Self) {
        self.busy += other.busy;
        self.starved += other.starved;
        self.blocked_downstream += other.blocked_downstream;
        self.blocked_server += other.blocked_server;
        self.blocked_lock += other.blocked_lock;
        self.blocked_disk += other.blocked_disk;
    }
}

impl From<StateSeconds> for StageTimes {
    fn from(seconds: StateSeconds) -> Self {
        Self {
            busy: seconds.busy,
            starved: seconds.starved,
            blocked_downstream: seconds.blocked_downstream,
            blocked_server: seconds.blocked_server,
            blocked_lock: seconds.blocked_lock,
            blocked_disk: seconds.blocked_disk,
        }
    }
}

impl Level {
    /// Creates the level of a single value.
    pub(crate) fn from_value(value: f64) -> Self {
        Self {
            mean: value,
            min: value,
            max: value,
        }
    }
}

impl TimelinePoint {
    /// Returns what happened between two snapshots, without stages and samples.
    pub(crate) fn between(before: &ResourceSnapshot, now: &ResourceSnapshot) -> Self {
        let seconds = (now.seconds - before.seconds).max(0.0);
        // A level is that of the later snapshot: between the two nothing is known.
        let level = |bytes: Option<u64>| bytes.map(|bytes| Level::from_value(bytes as f64));
        let device = before.disk.device.as_ref().zip(now.disk.device.as_ref());
        let stall = |of: fn(&crate::snapshot::PressureSnapshot) -> Option<f64>| {
            seconds_increase(of(before.pressure.as_ref()?), of(now.pressure.as_ref()?))
        };
        Self {
            start_seconds: before.seconds,
            seconds,
            process_rss: level(now.memory.process_rss),
            tree_rss: level(now.memory.tree_rss),
            system_memory: level(now.memory.system_used),
            cgroup_memory: level(now.memory.cgroup_used),
            // Two snapshots at the same moment have no rate.
            cpu_cores: seconds_increase(before.cpu.process_seconds, now.cpu.process_seconds)
                .filter(|_| seconds > 0.0)
                .map(|cpu| Level::from_value(cpu / seconds)),
            core_busy: core_busy(before, now),
            throttled_seconds: seconds_increase(
                before.cpu.throttled_seconds,
                now.cpu.throttled_seconds,
            ),
            disk_read_bytes: counter_increase(before.disk.read_bytes, now.disk.read_bytes),
            disk_written_bytes: counter_increase(before.disk.written_bytes, now.disk.written_bytes),
            device_read_bytes: device.map(|(b, n)| n.read_bytes.saturating_sub(b.read_bytes)),
            device_written_bytes: device
                .map(|(b, n)| n.written_bytes.saturating_sub(b.written_bytes)),
            network_received_bytes: counter_increase(
                before.network.received_bytes,
                now.network.received_bytes,
            ),
            network_sent_bytes: counter_increase(before.network.sent_bytes, now.network.sent_bytes),
            cpu_stall_seconds: stall(|pressure| pressure.cpu_some),
            io_stall_seconds: stall(|pressure| pressure.io_some),
            memory_stall_seconds: stall(|pressure| pressure.memory_some),
            major_faults: counter_increase(before.process.major_faults, now.process.major_faults),
            samples: None,
            tokens: None,
            stages: Vec::new(),
        }
    }

    /// Appends the point that comes next.
    pub(crate) fn merge(&mut self, next: &Self) {
        // Means count by the length of their stretches, which differ when points were merged
        // before.
        let (weight, added) = (self.seconds, next.seconds);
        let mean = |a: f64, b: f64| match weight + added {
            0.0 => 0.5 * (a + b),
            seconds => (a * weight + b * added) / seconds,
        };
        let level = |a: &mut Option<Level>, b: Option<Level>| {
            *a = combine_options(*a, b, |a, b| Level {
                mean: mean(a.mean, b.mean),
                min: a.min.min(b.min),
                max: a.max.max(b.max),
            });
        };
        level(&mut self.process_rss, next.process_rss);
        level(&mut self.tree_rss, next.tree_rss);
        level(&mut self.system_memory, next.system_memory);
        level(&mut self.cgroup_memory, next.cgroup_memory);
        level(&mut self.cpu_cores, next.cpu_cores);
        // Where the number of cores has changed, the figures do not belong to the same cores; those
        // of the first point stay.
        if self.core_busy.len() == next.core_busy.len() {
            for (a, b) in self.core_busy.iter_mut().zip(&next.core_busy) {
                *a = mean(*a, *b);
            }
        } else if self.core_busy.is_empty() {
            self.core_busy.clone_from(&next.core_busy);
        }
        let count = |a: &mut Option<u64>, b| *a = combine_options(*a, b, u64::saturating_add);
        count(&mut self.disk_read_bytes, next.disk_read_bytes);
        count(&mut self.disk_written_bytes, next.disk_written_bytes);
        count(&mut self.device_read_bytes, next.device_read_bytes);
        count(&mut self.device_written_bytes, next.device_written_bytes);
        count(
            &mut self.network_received_bytes,
            next.network_received_bytes,
        );
        count(&mut self.network_sent_bytes, next.network_sent_bytes);
        count(&mut self.major_faults, next.major_faults);
        count(&mut self.samples, next.samples);
        count(&mut self.tokens, next.tokens);
        let sum = |a: &mut Option<f64>, b| *a = combine_options(*a, b, |a, b| a + b);
        sum(&mut self.throttled_seconds, next.throttled_seconds);
        sum(&mut self.cpu_stall_seconds, next.cpu_stall_seconds);
        sum(&mut self.io_stall_seconds, next.io_stall_seconds);
        sum(&mut self.memory_stall_seconds, next.memory_stall_seconds);
        // Stages are appended to the probe while a run goes on.
        if self.stages.len() < next.stages.len() {
            self.stages.resize(next.stages.len(), StagePoint::default());
        }
        for (a, b) in self.stages.iter_mut().zip(&next.stages) {
            a.times.add(&b.times);
            a.items += b.items;
        }
        // Last, as the means above need the length before.
        self.seconds += next.seconds;
    }
}

/// Returns how much a total of seconds has grown.
pub(crate) fn seconds_increase(before: Option<f64>, now: Option<f64>) -> Option<f64> {
    Some((now? - before?).max(0.0))
}

/// Returns how much a count has grown.
pub(crate) fn counter_increase(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

/// Combines two figures; where only one is known, it is kept.
fn combine_options<T>(a: Option<T>, b: Option<T>, of: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(of(a, b)),
        (a, b) => a.or(b),
    }
}

/// Returns the share of time in which each core was busy; nothing where their number has changed.
fn core_busy(before: &ResourceSnapshot, now: &ResourceSnapshot) -> Vec<f64> {
    if before.cpu.cores.len() != now.cpu.cores.len() {
        return Vec::new();
    }
    let cores = before.cpu.cores.iter().zip(&now.cpu.cores);
    cores
        .map(|(before, now)| {
            let busy = (now.busy - before.busy).max(0.0);
            let rest = (now.idle - before.idle).max(0.0) + (now.steal - before.steal).max(0.0);
            if busy + rest > 0.0 {
                busy / (busy + rest)
            } else {
                0.0
            }
        })
        .collect()
}
