//! The sampler thread, and what it shares with the profile.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kato_probe::Probe;

use super::counter::Counts;
use crate::source::ResourceSource;
use crate::summary::{LatencySummary, ProfilerCost, ProfilingSummary};
use crate::tracker::{Moment, Tracker};

pub(super) struct Shared {
    pub(super) title: String,
    pub(super) started_unix_seconds: f64,
    pub(super) interval: Duration,
    pub(super) loopback: Option<LatencySummary>,
    pub(super) counts: Arc<Counts>,
    pub(super) recorder: Mutex<Recorder>,
}

pub(super) struct Recorder {
    pub(super) sampler: Sampler,
    pub(super) tracker: Tracker,
    /// Processor time of the sampler thread.
    pub(super) cpu: Option<f64>,
}

impl Recorder {
    pub(super) fn record(&mut self) {
        let moment = self.sampler.look();
        self.tracker.record(moment);
    }
}

impl Shared {
    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sample_until(&self, stopped: &mpsc::Receiver<()>) {
        let mut next = Instant::now() + self.interval;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            match stopped.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let mut recorder = self.recorder();
            recorder.record();
            recorder.cpu = thread_seconds();
            drop(recorder);
            // Late snapshots are left out, not made up for.
            let now = Instant::now();
            while next <= now {
                next += self.interval;
            }
        }
    }

    pub(super) fn summary(&self) -> ProfilingSummary {
        let recorder = self.recorder();
        let cost = ProfilerCost {
            sampling_interval_seconds: self.interval.as_secs_f64(),
            cpu_seconds: recorder.cpu,
            ..ProfilerCost::default()
        };
        recorder
            .tracker
            .summary(&self.title, self.started_unix_seconds, self.loopback, cost)
    }
}

/// Reads machine, probe and counters.
pub(super) struct Sampler {
    pub(super) source: Box<dyn ResourceSource>,
    pub(super) probe: Probe,
    pub(super) origin: Instant,
    pub(super) counts: Arc<Counts>,
    /// Threads of the stages; kept for its memory.
    pub(super) threads: Vec<u32>,
}

impl Sampler {
    pub(super) fn look(&mut self) -> Moment {
        let reading = self.probe.read();
        self.threads.clear();
        if let Some(reading) = &reading {
            let threads = reading.stages.iter().flat_map(|stage| &stage.threads);
            self.threads.extend(threads.filter_map(|thread| thread.tid));
            self.threads.sort_unstable();
            self.threads.dedup();
        }
        let seconds = self.origin.elapsed().as_secs_f64();
        let mut snapshot = self.source.read(&self.threads);
        snapshot.seconds = seconds;
        Moment {
            snapshot,
            reading,
            counted: self.counts.read(),
        }
    }
}

/// Processor time of this thread, in seconds.
fn thread_seconds() -> Option<f64> {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }
    #[cfg(not(target_os = "linux"))]
    None
}
