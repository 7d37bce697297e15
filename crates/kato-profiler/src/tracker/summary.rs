//! Sums up snapshots and readings.

use super::{Counted, Tracker};
use crate::point::{TimelinePoint, counter_increase, seconds_increase};
use crate::snapshot::PressureSnapshot;
use crate::summary::{
    CallSummary, CpuSummary, DeviceSummary, DiskSummary, FORMAT, LatencySummary, MeanPeak,
    MemorySummary, NetworkSummary, NodeSummary, PressureSummary, ProcessSummary, ProfilerCost,
    ProfilingSummary, QueueSummary, Throughput,
};
use crate::trend::MemoryTrend;
use crate::verdict::{Attribution, Verdict};

impl Tracker {
    /// Returns the summary of the run so far.
    pub(crate) fn summary(
        &self,
        title: &str,
        started_unix_seconds: f64,
        loopback: Option<LatencySummary>,
        profiler: ProfilerCost,
    ) -> ProfilingSummary {
        let (first, last) = (&self.first.snapshot, &self.last.snapshot);
        let seconds = last.seconds - first.seconds;
        let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        let samples = self.counted(|counted| counted.samples);
        let tokens = self.counted(|counted| counted.tokens);
        let samples_per_second = samples.map(|samples| rate(samples as f64));
        let mut summary = ProfilingSummary {
            format: FORMAT.to_owned(),
            title: title.to_owned(),
            started_unix_seconds,
            duration_seconds: seconds,
            verdict: Verdict::default(),
            throughput: Throughput {
                samples,
                tokens,
                samples_per_second,
                tokens_per_second: tokens.map(|tokens| rate(tokens as f64)),
            },
            stages: self.stages.summary(seconds),
            queues: self.queues(),
            nodes: self.nodes(rate),
            calls: self.calls(rate),
            memory: self.memory(samples_per_second),
            cpu: self.cpu(rate),
            disk: self.disk(rate),
            network: self.network(rate, loopback),
            pressure: pressure(first.pressure.as_ref(), last.pressure.as_ref(), seconds),
            cgroup_pressure: pressure(
                first.cgroup_pressure.as_ref(),
                last.cgroup_pressure.as_ref(),
                seconds,
            ),
            process: self.process(),
            profiler: ProfilerCost {
                snapshots: self.n_snapshots,
                cpu_share: profiler.cpu_seconds.map(rate),
                ..profiler
            },
            timeline: self.timeline.clone(),
        };
        // The judge reads the summary alone, so an exported one can be judged again with the same
        // result.
        summary.verdict = Attribution::default().judge(&summary);
        summary
    }

    /// Returns the figures of the process.
    fn process(&self) -> ProcessSummary {
        let first = &self.first.snapshot.process;
        let last = &self.last.snapshot.process;
        ProcessSummary {
            major_faults: counter_increase(first.major_faults, last.major_faults),
            voluntary_switches: counter_increase(first.voluntary_switches, last.voluntary_switches),
            involuntary_switches: counter_increase(
                first.involuntary_switches,
                last.involuntary_switches,
            ),
            // Peaks of levels come from every snapshot, counters only from the first and the last.
            ..self.peaks.clone()
        }
    }

    /// Returns how much a counter has grown.
    fn counted(&self, of: impl Fn(&Counted) -> Option<u64>) -> Option<u64> {
        let now = of(&self.last.counted)?;
        Some(now.saturating_sub(of(&self.first.counted).unwrap_or(0)))
    }

    /// Returns the queues.
    fn queues(&self) -> Vec<QueueSummary> {
        let reading = self.last.reading.as_ref();
        let queues = reading.map_or(&[][..], |reading| &reading.queues);
        let sums = queues.iter().zip(&self.queues);
        sums.map(|(queue, (sum, peak))| QueueSummary {
            name: queue.name.clone(),
            capacity: queue.capacity,
            // Snapshots are about equally far apart, so the mean over them is one over time.
            mean_len: sum / self.n_snapshots as f64,
            peak_len: *peak,
        })
        .collect()
    }

    /// Returns the nodes.
    fn nodes(&self, rate: impl Fn(f64) -> f64) -> Vec<NodeSummary> {
        let before = self.first.reading.as_ref();
        let before = before.map_or(&[][..], |reading| &reading.nodes);
        let now = self.last.reading.as_ref();
        let now = now.map_or(&[][..], |reading| &reading.nodes);
        now.iter()
            .map(|node| {
                // By name: a node can be registered while the profile is taken, and then began at
                // zero.
                let before = before.iter().find(|before| before.name == node.name);
                let learned = node
                    .learns
                    .saturating_sub(before.map_or(0, |before| before.learns));
                let latency = before.map_or_else(
                    || node.latency.clone(),
                    |before| node.latency.since(&before.latency),
                );
                NodeSummary {
                    name: node.name.clone(),
                    learned,
                    learned_per_second: rate(learned as f64),
                    latency: LatencySummary::from_histogram(&latency),
                }
            })
            .collect()
    }

    /// Returns the round trips by peer.
    fn calls(&self, rate: impl Fn(f64) -> f64) -> Vec<CallSummary> {
        let before = self.first.reading.as_ref();
        let before = before.map_or(&[][..], |reading| &reading.calls);
        let now = self.last.reading.as_ref();
        let now = now.map_or(&[][..], |reading| &reading.calls);
        now.iter()
            .map(|calls| {
                let before = before.iter().find(|before| before.peer == calls.peer);
                let latency = before.map_or_else(
                    || calls.latency.clone(),
                    |before| calls.latency.since(&before.latency),
                );
                CallSummary {
                    peer: calls.peer.clone(),
                    answered: latency.count(),
                    failed: calls
                        .failed
                        .saturating_sub(before.map_or(0, |before| before.failed)),
                    answered_per_second: rate(latency.count() as f64),
                    // Little's law: calls under way are their rate times their mean duration.
                    mean_in_flight: rate(latency.sum_seconds()),
                    latency: LatencySummary::from_histogram(&latency),
                }
            })
            .collect()
    }

    /// Returns the memory figures.
    fn memory(&self, samples_per_second: Option<f64>) -> MemorySummary {
        let last = &self.last.snapshot.memory;
        // Levels of the first snapshot belong to no point of the timeline, but they count for the
        // peak.
        let first = &self.first.snapshot.memory;
        let level = |of: fn(&TimelinePoint) -> Option<crate::timeline::Level>,
                     first: Option<u64>| {
            let first = first.map(|bytes| bytes as f64);
            let (mut sum, mut seconds, mut peak) = (0.0, 0.0, first);
            for point in self.timeline.points() {
                if let Some(level) = of(point) {
                    // Points have different lengths where the last one is not full, so they count
                    // by time.
                    sum += level.mean * point.seconds;
                    seconds += point.seconds;
                    peak = Some(peak.unwrap_or(0.0).max(level.max));
                }
            }
            let peak = peak?;
            let mean = if seconds > 0.0 { sum / seconds } else { peak };
            Some(MeanPeak { mean, peak })
        };
        MemorySummary {
            process_rss: level(|point| point.process_rss, first.process_rss),
            tree_rss: level(|point| point.tree_rss, first.tree_rss),
            system_used: level(|point| point.system_memory, first.system_used),
            system_total: last.system_total,
            cgroup_used: level(|point| point.cgroup_memory, first.cgroup_used),
            cgroup_limit: last.cgroup_limit,
            share_used: self.share_used.summary(),
            trend: MemoryTrend::from_points(self.timeline.points(), samples_per_second),
        }
    }

    /// Returns the processor figures.
    fn cpu(&self, rate: impl Fn(f64) -> f64) -> CpuSummary {
        let (first, last) = (&self.first.snapshot.cpu, &self.last.snapshot.cpu);
        let process_seconds = seconds_increase(first.process_seconds, last.process_seconds);
        let peak = self.timeline.points().iter().filter_map(|p| p.cpu_cores);
        let peak = peak.map(|level| level.max).reduce(f64::max);
        let cores = process_seconds.map(|seconds| MeanPeak {
            mean: rate(seconds),
            // A run without a point of the timeline has its mean as its peak.
            peak: peak.unwrap_or_else(|| rate(seconds)),
        });
        let share = |cores: f64| Some(cores / last.allowed_cores.filter(|cores| *cores > 0.0)?);
        // The whole run as one point: cores and quota are differences of the same kind.
        let mut all = TimelinePoint::between(&self.first.snapshot, &self.last.snapshot);
        CpuSummary {
            process_seconds,
            cores,
            allowed_cores: last.allowed_cores,
            mean_share: cores.and_then(|cores| share(cores.mean)),
            peak_share: cores.and_then(|cores| share(cores.peak)),
            core_busy: std::mem::take(&mut all.core_busy),
            steal_share: (self.core_seconds.1 > 0.0)
                .then(|| self.core_seconds.0 / self.core_seconds.1),
            throttled_seconds: all.throttled_seconds,
        }
    }

    /// Returns the disk figures.
    fn disk(&self, rate: impl Fn(f64) -> f64) -> DiskSummary {
        let (first, last) = (&self.first.snapshot.disk, &self.last.snapshot.disk);
        let points = self.timeline.points();
        let sum = |of: fn(&TimelinePoint) -> Option<u64>| {
            points.iter().filter_map(of).reduce(u64::saturating_add)
        };
        let read_bytes = sum(|point| point.disk_read_bytes);
        let written_bytes = sum(|point| point.disk_written_bytes);
        let device = first.device.as_ref().zip(last.device.as_ref());
        DiskSummary {
            read_bytes,
            written_bytes,
            read_bytes_per_second: read_bytes.map(|bytes| rate(bytes as f64)),
            written_bytes_per_second: written_bytes.map(|bytes| rate(bytes as f64)),
            read_calls: counter_increase(first.read_calls, last.read_calls),
            write_calls: counter_increase(first.write_calls, last.write_calls),
            device: device.map(|(first, last)| DeviceSummary {
                name: last.name.clone(),
                read_bytes: last.read_bytes.saturating_sub(first.read_bytes),
                written_bytes: last.written_bytes.saturating_sub(first.written_bytes),
                reads: last.reads.saturating_sub(first.reads),
                writes: last.writes.saturating_sub(first.writes),
                // Busy time and duration are read at slightly different moments.
                busy_share: rate(last.busy_seconds - first.busy_seconds).clamp(0.0, 1.0),
                flushes: counter_increase(first.flushes, last.flushes),
            }),
        }
    }

    /// Returns the network figures.
    fn network(
        &self,
        rate: impl Fn(f64) -> f64,
        loopback: Option<LatencySummary>,
    ) -> NetworkSummary {
        let (first, last) = (&self.first.snapshot.network, &self.last.snapshot.network);
        let received_bytes = counter_increase(first.received_bytes, last.received_bytes);
        let sent_bytes = counter_increase(first.sent_bytes, last.sent_bytes);
        NetworkSummary {
            received_bytes,
            sent_bytes,
            received_bytes_per_second: received_bytes.map(|bytes| rate(bytes as f64)),
            sent_bytes_per_second: sent_bytes.map(|bytes| rate(bytes as f64)),
            loopback,
        }
    }
}

/// Returns the shares of time that were stalled; `None` where one end is not known.
fn pressure(
    first: Option<&PressureSnapshot>,
    last: Option<&PressureSnapshot>,
    seconds: f64,
) -> Option<PressureSummary> {
    let (first, last) = (first?, last?);
    let share = |first, last| {
        let stalled: f64 = seconds_increase(first, last)?;
        (seconds > 0.0).then(|| (stalled / seconds).min(1.0))
    };
    Some(PressureSummary {
        cpu_some: share(first.cpu_some, last.cpu_some),
        io_some: share(first.io_some, last.io_some),
        io_full: share(first.io_full, last.io_full),
        memory_some: share(first.memory_some, last.memory_some),
        memory_full: share(first.memory_full, last.memory_full),
    })
}
