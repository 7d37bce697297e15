//! The settings of a profile.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kato_probe::Probe;

use super::ProfilingEngine;
use crate::error::ProfileError;
use crate::source::ResourceSource;

/// A snapshot takes somewhat less than a millisecond of processor time (docs/profiling.md), so the
/// shortest interval bounds the cost to a tenth of a core.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(3600);
/// Numbers of points of a timeline.
const TIMELINE_POINTS: std::ops::RangeInclusive<usize> = 16..=1_000_000;

/// Settings of a profile; created by [`ProfilingEngine::builder`].
#[must_use = "settings do nothing until they are built and started"]
pub struct ProfilingEngineBuilder {
    pub(super) sampling_interval: Duration,
    pub(super) probe: Probe,
    pub(super) watch_path: Option<PathBuf>,
    pub(super) timeline_points: usize,
    pub(super) title: String,
    pub(super) measures_loopback: bool,
    pub(super) source: Option<Box<dyn ResourceSource>>,
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
    /// Sets the time between two snapshots: 10 ms to 1 hour, 1 s by default.
    pub fn with_sampling_interval(mut self, interval: Duration) -> Self {
        self.sampling_interval = interval;
        self
    }

    /// Sets the probe that the pipeline was given. Without one, only resources are known.
    pub fn with_probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Sets a path on the disk of interest, such as that of the knowledge base.
    pub fn with_watch_path(mut self, path: impl AsRef<Path>) -> Self {
        self.watch_path = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the largest number of points of the timeline: 16 to 1,000,000, by default 4,096. Longer
    /// runs are recorded in coarser steps.
    pub fn with_timeline_points(mut self, points: usize) -> Self {
        self.timeline_points = points;
        self
    }

    /// Sets a title for reports.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets whether round trips over loopback are measured at the start, which takes some
    /// milliseconds; they are by default.
    pub fn with_loopback(mut self, measure: bool) -> Self {
        self.measures_loopback = measure;
        self
    }

    /// Sets another source of readings than the machine: recorded or made-up ones.
    pub fn with_source(mut self, source: impl ResourceSource + 'static) -> Self {
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
