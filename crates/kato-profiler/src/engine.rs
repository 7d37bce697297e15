//! Takes a profile: starts it, and gives access to it while it runs.

mod builder;
mod counter;
mod sampler;

use std::fmt;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kato_probe::Probe;

pub use self::builder::ProfilingEngineBuilder;
pub use self::counter::SampleCounter;
use self::sampler::{Recorder, Sampler, Shared};
use crate::error::ProfileError;
use crate::export::{self, prometheus};
use crate::snapshot::ResourceSnapshot;
use crate::summary::ProfilingSummary;
use crate::tracker::Tracker;
use crate::{loopback, source};

/// The settings of a profile, checked and ready to be started.
///
/// ```
/// use std::time::Duration;
///
/// use kato_probe::{Probe, ThreadState};
/// use kato_profiler::ProfilingEngine;
///
/// let probe = Probe::on(["load", "learn"]);
/// let profile = ProfilingEngine::builder()
///     .with_probe(probe.clone())
///     .with_sampling_interval(Duration::from_millis(20))
///     .build()?
///     .start()?;
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let _thread = probe.thread("learn");
///         kato_probe::thread::set(ThreadState::Busy);
///         kato_probe::thread::add_items(1);
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
    /// Creates settings with their defaults.
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
        // Before the first snapshot, so that the round trips are not part of the profile.
        let loopback = settings.measures_loopback.then(loopback::measure).flatten();
        let source = settings
            .source
            .unwrap_or_else(|| source::best(settings.watch_path.as_deref()));
        // The monotonic clock measures; the wall clock below only dates the report.
        let mut sampler = Sampler {
            source,
            probe: settings.probe,
            origin: Instant::now(),
            counts: Arc::default(),
            threads: Vec::new(),
        };
        // Here and not on the sampler thread: the profile covers everything after this call.
        let first = sampler.take_snapshot();
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
        // Nothing is ever sent: the sampler ends when the sender is gone.
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

/// A profile that is being taken. Stopping it gives the summary; dropping it ends the sampler
/// thread.
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
    /// Takes a last snapshot, ends the sampler thread, and returns the summary.
    #[must_use]
    pub fn stop(mut self) -> ProfilingSummary {
        // The thread is joined first, so no other snapshot comes after the last one.
        self.end();
        self.shared.recorder().record();
        self.shared.summary()
    }

    /// Takes a snapshot and returns the summary until then; the profile goes on.
    #[must_use]
    pub fn summary(&self) -> ProfilingSummary {
        self.shared.recorder().record();
        self.shared.summary()
    }

    /// Returns the last snapshot.
    #[must_use]
    pub fn snapshot(&self) -> ResourceSnapshot {
        self.shared.recorder().tracker.last().snapshot.clone()
    }

    /// Returns the figures of the last snapshot, as Prometheus text (version 0.0.4). Totals are
    /// those of the machine and the probe, which may have begun before the profile.
    #[must_use]
    pub fn prometheus(&self) -> String {
        // Without a snapshot of its own: a collector that asks often must not change what is
        // sampled.
        prometheus::text(self.shared.recorder().tracker.last())
    }

    /// Writes the same text to a file, for collectors that look for one: it is whole whenever they
    /// look.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Write`] if the file cannot be written. An old file of that name then stays
    /// as it was.
    pub fn export_prometheus(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        export::write(path.as_ref(), self.prometheus().as_bytes())
    }

    /// Returns a counter of samples and tokens, for any thread.
    #[must_use]
    pub fn counter(&self) -> SampleCounter {
        SampleCounter(Arc::clone(&self.shared.counts))
    }

    /// Ends the sampler thread and waits for it.
    fn end(&mut self) {
        // The sampler waits on this channel and wakes up when the other end is gone.
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A sampler that panicked has left what it recorded before, which is still worth a
            // summary.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningProfile {
    fn drop(&mut self) {
        self.end();
    }
}
