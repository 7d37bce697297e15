//! Adds up snapshots and readings, in bounded memory.

mod summary;

use kato_probe::Reading;

use crate::point::{StagePoint, TimelinePoint};
use crate::snapshot::ResourceSnapshot;
use crate::stage_tracker::StageTracker;
use crate::summary::{MeanPeak, ProcessSummary};
use crate::timeline::Timeline;

/// The numbers that were counted besides the probe.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Counted {
    pub(crate) samples: Option<u64>,
    pub(crate) tokens: Option<u64>,
}

/// The state of the machine, the probe and the counters at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    pub(crate) snapshot: ResourceSnapshot,
    pub(crate) reading: Option<Reading>,
    pub(crate) counted: Counted,
}

/// The sums over a run.
#[derive(Debug)]
pub(crate) struct Tracker {
    first: Sample,
    last: Sample,
    n_snapshots: u64,
    timeline: Timeline,
    stages: StageTracker,
    /// Sum and greatest value of the length of each queue.
    queues: Vec<(f64, u64)>,
    share_used: RunningMean,
    peaks: ProcessSummary,
    /// Seconds that a hypervisor took from all cores, and seconds of all cores.
    core_seconds: (f64, f64),
}

/// A mean and the greatest value.
#[derive(Debug, Default)]
struct RunningMean {
    n: f64,
    sum: f64,
    peak: f64,
}

impl RunningMean {
    /// Adds a value, if it is known.
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.n += 1.0;
            self.sum += value;
            self.peak = self.peak.max(value);
        }
    }

    /// Returns both; `None` without any value.
    fn summary(&self) -> Option<MeanPeak> {
        (self.n > 0.0).then(|| MeanPeak {
            mean: self.sum / self.n,
            peak: self.peak,
        })
    }
}

impl Tracker {
    /// Creates sums that begin with a sample.
    pub(crate) fn new(first: Sample, capacity: usize) -> Self {
        let mut tracker = Self {
            last: first.clone(),
            n_snapshots: 0,
            timeline: Timeline::new(capacity),
            stages: StageTracker::default(),
            queues: Vec::new(),
            share_used: RunningMean::default(),
            peaks: ProcessSummary::default(),
            core_seconds: (0.0, 0.0),
            first,
        };
        // The first sample is no stretch of time, but its levels count.
        tracker.record_levels();
        tracker
    }

    /// Returns the last sample.
    pub(crate) fn last(&self) -> &Sample {
        &self.last
    }

    /// Adds the next sample.
    pub(crate) fn record(&mut self, now: Sample) {
        let mut point = TimelinePoint::between(&self.last.snapshot, &now.snapshot);
        point.samples = now
            .counted
            .samples
            .map(|samples| samples.saturating_sub(self.last.counted.samples.unwrap_or(0)));
        point.tokens = now
            .counted
            .tokens
            .map(|tokens| tokens.saturating_sub(self.last.counted.tokens.unwrap_or(0)));
        if let Some(reading) = &now.reading {
            // Without an earlier reading everything that was counted is new.
            let empty = Reading::default();
            let before = self.last.reading.as_ref().unwrap_or(&empty);
            point.stages = self.stages.record(
                (before, &self.last.snapshot),
                (reading, &now.snapshot),
                point.seconds,
            );
        } else {
            point.stages = Vec::<StagePoint>::new();
        }
        // Before the last sample is replaced, as this is a difference too.
        self.core_times(&now.snapshot);
        self.timeline.push(point);
        self.last = now;
        self.record_levels();
    }

    /// Adds the time of the cores since the last sample.
    fn core_times(&mut self, now: &ResourceSnapshot) {
        let before = &self.last.snapshot.cpu.cores;
        // Cores can be switched off and on; an interval in which their number changed cannot be
        // compared.
        if before.len() == now.cpu.cores.len() {
            for (before, now) in before.iter().zip(&now.cpu.cores) {
                let steal = (now.steal - before.steal).max(0.0);
                let rest = (now.busy - before.busy).max(0.0) + (now.idle - before.idle).max(0.0);
                self.core_seconds.0 += steal;
                self.core_seconds.1 += steal + rest;
            }
        }
    }

    /// Adds the levels of the last sample.
    fn record_levels(&mut self) {
        self.n_snapshots += 1;
        let snapshot = &self.last.snapshot;
        self.share_used.add(snapshot.memory.share_used());
        let process = &snapshot.process;
        let peaks = &mut self.peaks;
        peaks.peak_open_files = peaks.peak_open_files.max(process.open_files);
        peaks.peak_threads = peaks.peak_threads.max(process.threads);
        peaks.peak_children = peaks.peak_children.max(process.children);
        if let Some(reading) = &self.last.reading {
            // Queues are registered while the pipeline starts, and keep their order.
            self.queues.resize(reading.queues.len(), (0.0, 0));
            for ((sum, peak), queue) in self.queues.iter_mut().zip(&reading.queues) {
                *sum += queue.len as f64;
                *peak = queue.len.max(*peak);
            }
        }
    }
}
