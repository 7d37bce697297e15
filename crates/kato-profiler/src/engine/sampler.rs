//! The sampler thread, and the state that it shares with the profile.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kato_probe::Probe;

use super::counter::Counts;
use crate::source::ResourceSource;
use crate::summary::{LatencySummary, ProfilerCost, ProfilingSummary};
use crate::tracker::{Sample, Tracker};

/// The state that the profile and the sampler thread share.
pub(super) struct Shared {
    pub(super) title: String,
    pub(super) started_unix_seconds: f64,
    pub(super) interval: Duration,
    pub(super) loopback: Option<LatencySummary>,
    pub(super) counts: Arc<Counts>,
    pub(super) recorder: Mutex<Recorder>,
}

/// The reader of the machine and the sums, locked together.
pub(super) struct Recorder {
    pub(super) sampler: Sampler,
    pub(super) tracker: Tracker,
    /// Processor time of the sampler thread.
    pub(super) cpu: Option<f64>,
}

impl Recorder {
    /// Reads everything and adds it to the sums.
    pub(super) fn record(&mut self) {
        let sample = self.sampler.take_snapshot();
        self.tracker.record(sample);
    }
}

impl Shared {
    /// Locks the recorder.
    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        // A source that panicked must not take the profile with it: what was recorded is still of
        // use.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a snapshot at every interval until the other end of the channel is gone.
    pub(super) fn sample_until(&self, stopped: &mpsc::Receiver<()>) {
        // Times are multiples of the interval from here, so the length of a snapshot does not add
        // up.
        let mut next = Instant::now() + self.interval;
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            // Waiting on the channel, not asleep: a profile ends at once, however long its
            // interval.
            match stopped.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let mut recorder = self.recorder();
            recorder.record();
            // Read after the snapshot, so that its own cost is included.
            recorder.cpu = thread_seconds();
            drop(recorder);
            // Late snapshots are left out and not made up for.
            let now = Instant::now();
            while next <= now {
                next += self.interval;
            }
        }
    }

    /// Returns the summary until the last snapshot.
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
    /// Threads of the stages; kept between readings to reuse its memory.
    pub(super) threads: Vec<u32>,
}

impl Sampler {
    /// Reads everything at one moment.
    pub(super) fn take_snapshot(&mut self) -> Sample {
        let reading = self.probe.read();
        self.threads.clear();
        if let Some(reading) = &reading {
            let threads = reading.stages.iter().flat_map(|stage| &stage.threads);
            // A thread can work for several stages, and it is read once.
            self.threads.extend(threads.filter_map(|thread| thread.tid));
            self.threads.sort_unstable();
            self.threads.dedup();
        }
        let seconds = self.origin.elapsed().as_secs_f64();
        let mut snapshot = self.source.read(&self.threads);
        // Sources do not know when the profile began.
        snapshot.seconds = seconds;
        Sample {
            snapshot,
            reading,
            counted: self.counts.read(),
        }
    }
}

/// Returns the processor time of this thread, in seconds; `None` where it cannot be read.
fn thread_seconds() -> Option<f64> {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }
    #[cfg(not(target_os = "linux"))]
    None
}
