//! Predictions of the speed of a training, and of the resource that bounds it.

mod model;
mod workload;

use std::fmt;

use kato_advice::counted;
use serde::{Deserialize, Serialize};

use crate::figure::Finding;
use crate::{HardwareError, HardwareProfile};

pub use workload::{Workload, WorkloadStore};

/// The predicted speed of a training, with the resource that bounds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpeedForecast {
    /// The training that was asked for.
    pub workload: Workload,
    /// Learn calls of a sample, level by level, from the bottom.
    pub calls: Vec<u64>,
    /// Samples a second.
    pub samples_per_second: Finding<PredictedRange>,
    /// Time of the whole training, in seconds.
    pub seconds: Finding<PredictedRange>,
    /// The busiest resource, which bounds it.
    pub bottleneck: Finding<BottleneckResource>,
    /// The demand for every resource, the busiest first; empty when the speed is unknown.
    pub demands: Vec<Demand>,
    /// Bytes that the embedded store takes where no pattern repeats; repeated patterns take less.
    pub stored_bytes: Finding<u64>,
    /// Further warnings: room that is missing, memory that is short.
    pub warnings: Vec<String>,
}

/// An expected value with an interval around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PredictedRange {
    /// Lower end.
    pub low: f64,
    /// Expected.
    pub expected: f64,
    /// Upper end.
    pub high: f64,
}

/// A resource that may bound a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BottleneckResource {
    /// All cores that the process may use.
    Processor,
    /// The one thread that reads and parses documents.
    Loader,
    /// The disk that the store is written to.
    Disk,
    /// MongoDB.
    Database,
    /// The KATO server and the way to it.
    Server,
}

/// The demand of a training for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Demand {
    /// The resource.
    pub resource: BottleneckResource,
    /// Time that it needs for one sample, in seconds.
    pub seconds_per_sample: f64,
    /// Share of the time in which it is busy at the expected speed, from 0 to 1.
    pub utilization: f64,
}

impl SpeedForecast {
    /// Predicts a training from the figures of a profile.
    pub(crate) fn from_profile(
        profile: &HardwareProfile,
        workload: &Workload,
    ) -> Result<Self, HardwareError> {
        workload.check()?;
        Ok(model::predict(profile, workload))
    }
}

impl PredictedRange {
    /// Returns the range of `numerator` divided by this value.
    pub(crate) fn divide_into(self, numerator: f64) -> Self {
        // Dividing by more gives less, so the ends change places.
        Self {
            low: numerator / self.high,
            expected: numerator / self.expected,
            high: numerator / self.low,
        }
    }
}

impl BottleneckResource {
    /// Returns the name of the resource in a few words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Loader => "loader (one thread)",
            Self::Disk => "disk",
            Self::Database => "MongoDB",
            Self::Server => "KATO server",
        }
    }

    /// Returns a hint on what helps when the resource is the bottleneck.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Processor => {
                "more or faster cores; fewer levels or larger chunks make fewer names"
            }
            Self::Loader => {
                "shorter lines around the text, or Parquet with several loading threads"
            }
            Self::Disk => "a faster disk; larger chunks write fewer patterns",
            Self::Database => {
                "a MongoDB nearby or faster, or the embedded store and a copy afterwards"
            }
            Self::Server => {
                "training in process with the embedded store instead of over the network"
            }
        }
    }
}

impl fmt::Display for BottleneckResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for PredictedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, expected, high] =
            [self.low, self.expected, self.high].map(crate::figure::readable);
        write!(f, "{expected} ({low} to {high})")
    }
}

impl fmt::Display for SpeedForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = &self.workload;
        writeln!(
            f,
            "{} of {}, {} of {}, {}",
            counted(work.dataset_size, "document"),
            counted(work.tokens_per_sample, "token"),
            counted(work.num_nodes, "level"),
            work.chunk_size,
            work.backend
        )?;
        writeln!(f, "  documents a second: {}", self.samples_per_second)?;
        writeln!(f, "  seconds in all: {}", self.seconds)?;
        match &self.bottleneck {
            Finding::Known(resource) => {
                writeln!(f, "  bottleneck: {resource}; helps: {}", resource.advice())?;
            }
            Finding::Unknown { reason } => writeln!(f, "  bottleneck: unknown: {reason}")?,
        }
        for demand in &self.demands {
            writeln!(
                f,
                "    {:<20} {:>10.1} µs a document, {:>3.0} % busy",
                demand.resource,
                demand.seconds_per_sample * 1e6,
                demand.utilization * 100.0
            )?;
        }
        for warning in &self.warnings {
            writeln!(f, "  warning: {warning}")?;
        }
        Ok(())
    }
}
