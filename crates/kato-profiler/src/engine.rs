//! Takes a profile: settings, the sampler thread, and the profile while it runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kato_probe::Probe;

use crate::error::ProfileError;
use crate::export::{self, prometheus};
use crate::loopback;
use crate::snapshot::ResourceSnapshot;
use crate::source::{self, ResourceSource};
use crate::summary::{LatencySummary, ProfilerCost, ProfilingSummary};
use crate::tracker::{Counted, Moment, Tracker};

const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(3600);
const TIMELINE_POINTS: std::ops::RangeInclusive<usize> = 16..=1_000_000;

/// Settings of a profile; made by [`ProfilingEngine::builder`].
#[must_use = "settings do nothing until they are built and started"]
pub struct ProfilingEngineBuilder {
    sampling_interval: Duration,
    probe: Probe,
    watch_path: Option<PathBuf>,
    timeline_points: usize,
    title: String,
    measures_loopback: bool,
    source: Option<Box<dyn ResourceSource>>,
}

impl fmt::Debug for ProfilingEngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfilingEngineBuilder")
            .field("sampling_interval", &self.sampling_interval)
            .field("watch_path", &self.watch_path)
            .field("timeline_points", &self.timeline_points)
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

impl ProfilingEngineBuilder {
    /// Time between two snapshots: 10 ms to 1 hour, 1 s by default.
    pub fn sampling_interval(mut self, interval: Duration) -> Self {
        self.sampling_interval = interval;
        self
    }

    /// The probe that the pipeline was given. Without one, only resources are known.
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// A path on the disk of interest, such as that of the knowledge base.
    pub fn watch_path(mut self, path: impl AsRef<Path>) -> Self {
        self.watch_path = Some(path.as_ref().to_owned());
        self
    }

    /// Most points of the timeline: 16 to 1,000,000, by default 4,096. Longer runs are told in coarser steps.
    pub fn timeline_points(mut self, points: usize) -> Self {
        self.timeline_points = points;
        self
    }

    /// A title for reports.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Whether round trips over loopback are measured at the start, some milliseconds; yes by default.
    pub fn measure_loopback(mut self, measure: bool) -> Self {
        self.measures_loopback = measure;
        self
    }

    /// Another source of readings than the machine: recorded or made-up ones.
    pub fn source(mut self, source: impl ResourceSource + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Interval`] and [`ProfileError::TimelinePoints`] when one is out of range.
    pub fn build(self) -> Result<ProfilingEngine, ProfileError> {
        if !INTERVALS.contains(&self.sampling_interval) {
            return Err(ProfileError::Interval {
                interval: self.sampling_interval,
            });
        }
        if !TIMELINE_POINTS.contains(&self.timeline_points) {
            return Err(ProfileError::TimelinePoints {
                points: self.timeline_points,
            });
        }
        Ok(ProfilingEngine(self))
    }
}

/// Ready to take a profile.
///
/// ```
/// use std::time::Duration;
///
/// use kato_probe::{Probe, State};
/// use kato_profiler::ProfilingEngine;
///
/// let probe = Probe::on(["load", "learn"]);
/// let profile = ProfilingEngine::builder()
///     .probe(probe.clone())
///     .sampling_interval(Duration::from_millis(20))
///     .build()?
///     .start()?;
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let _thread = probe.thread("learn");
///         kato_probe::set(State::Busy);
///         kato_probe::add_items(1);
///     });
/// });
///
/// let summary = profile.stop();
/// assert_eq!(summary.stage("learn").map(|stage| stage.items), Some(1));
/// println!("{}", summary.verdict.headline());
/// # Ok::<(), kato_profiler::ProfileError>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is profiled until it is started"]
pub struct ProfilingEngine(ProfilingEngineBuilder);

impl ProfilingEngine {
    /// Settings, with their defaults.
    pub fn builder() -> ProfilingEngineBuilder {
        ProfilingEngineBuilder {
            sampling_interval: Duration::from_secs(1),
            probe: Probe::off(),
            watch_path: None,
            timeline_points: 4096,
            title: "Profile".to_owned(),
            measures_loopback: true,
            source: None,
        }
    }

    /// Takes the first snapshot and starts the sampler thread.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Thread`] if there can be no other thread.
    pub fn start(self) -> Result<RunningProfile, ProfileError> {
        let settings = self.0;
        let loopback = settings.measures_loopback.then(loopback::measure).flatten();
        let source = settings
            .source
            .unwrap_or_else(|| source::best(settings.watch_path.as_deref()));
        let mut sampler = Sampler {
            source,
            probe: settings.probe,
            origin: Instant::now(),
            counts: Arc::default(),
            threads: Vec::new(),
        };
        let first = sampler.look();
        let shared = Arc::new(Shared {
            title: settings.title,
            started_unix_seconds: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |since| since.as_secs_f64()),
            interval: settings.sampling_interval,
            loopback,
            counts: Arc::clone(&sampler.counts),
            recorder: Mutex::new(Recorder {
                tracker: Tracker::new(first, settings.timeline_points),
                sampler,
                cpu: None,
            }),
        });
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("kato-profiler".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || shared.sample_until(&stopped)
            })
            .map_err(ProfileError::Thread)?;
        Ok(RunningProfile {
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

/// A profile that is being taken. Stopping it gives the summary; dropping it ends the sampler thread.
#[must_use = "the profile ends when this is dropped; stop() gives its summary"]
pub struct RunningProfile {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for RunningProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningProfile")
            .field("title", &self.shared.title)
            .finish_non_exhaustive()
    }
}

impl RunningProfile {
    /// Takes a last snapshot, ends the sampler thread, and sums up.
    #[must_use]
    pub fn stop(mut self) -> ProfilingSummary {
        self.end();
        self.shared.recorder().record();
        self.shared.summary()
    }

    /// What it comes to until now; the profile goes on.
    #[must_use]
    pub fn summary(&self) -> ProfilingSummary {
        self.shared.recorder().record();
        self.shared.summary()
    }

    /// The last snapshot.
    #[must_use]
    pub fn snapshot(&self) -> ResourceSnapshot {
        self.shared.recorder().tracker.last().snapshot.clone()
    }

    /// The totals until the last snapshot, as Prometheus text (version 0.0.4).
    #[must_use]
    pub fn prometheus(&self) -> String {
        prometheus::text(self.shared.recorder().tracker.last())
    }

    /// Writes them to a file, for collectors that look for one: it is whole whenever they look.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Write`] if the file cannot be written. An old file of that name then stays as it was.
    pub fn export_prometheus(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        export::write(path.as_ref(), self.prometheus().as_bytes())
    }

    /// Counts samples and tokens, from any thread.
    #[must_use]
    pub fn counter(&self) -> SampleCounter {
        SampleCounter(Arc::clone(&self.shared.counts))
    }

    fn end(&mut self) {
        // The sampler waits on this channel: that its end is gone wakes it up.
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A sampler that panicked has left what it had recorded before.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningProfile {
    fn drop(&mut self) {
        self.end();
    }
}

/// Counts what a run has done, for its rates; made by [`RunningProfile::counter`]. Clones count into the same sums.
#[derive(Debug, Clone)]
pub struct SampleCounter(Arc<Counts>);

impl SampleCounter {
    /// Adds samples and their tokens.
    pub fn add(&self, samples: u64, tokens: u64) {
        self.0.is_used.store(true, Ordering::Relaxed);
        self.0.samples.fetch_add(samples, Ordering::Relaxed);
        self.0.tokens.fetch_add(tokens, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Counts {
    is_used: AtomicBool,
    samples: AtomicU64,
    tokens: AtomicU64,
}

impl Counts {
    fn read(&self) -> Counted {
        if !self.is_used.load(Ordering::Relaxed) {
            return Counted::default();
        }
        Counted {
            samples: Some(self.samples.load(Ordering::Relaxed)),
            tokens: Some(self.tokens.load(Ordering::Relaxed)),
        }
    }
}

struct Shared {
    title: String,
    started_unix_seconds: f64,
    interval: Duration,
    loopback: Option<LatencySummary>,
    counts: Arc<Counts>,
    recorder: Mutex<Recorder>,
}

struct Recorder {
    sampler: Sampler,
    tracker: Tracker,
    /// Processor time of the sampler thread.
    cpu: Option<f64>,
}

impl Recorder {
    fn record(&mut self) {
        let moment = self.sampler.look();
        self.tracker.record(moment);
    }
}

impl Shared {
    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sample_until(&self, stopped: &mpsc::Receiver<()>) {
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

    fn summary(&self) -> ProfilingSummary {
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
struct Sampler {
    source: Box<dyn ResourceSource>,
    probe: Probe,
    origin: Instant,
    counts: Arc<Counts>,
    /// Threads of the stages; kept for its memory.
    threads: Vec<u32>,
}

impl Sampler {
    fn look(&mut self) -> Moment {
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
