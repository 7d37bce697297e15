//! The profile of a machine: everything that an analysis found out.

#[cfg(test)]
pub(crate) mod test_fixtures;

use serde::{Deserialize, Serialize};

use crate::HardwareError;
use crate::facts::{
    CpuFacts, DiskFacts, Gpus, MemoryFacts, NetworkInterface, SystemLimits, Virtualization,
};
use crate::figure::{Finding, Measured};
use crate::prediction::{SpeedForecast, Workload};
use crate::results::{
    DiskResults, KatoResults, MemoryResults, MongoResults, NamingResults, StoreResults,
};
use crate::tier::Rating;

/// Version of the JSON of a profile. It is raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// The profile of a machine: everything that an analysis found out. It becomes JSON with `serde`
/// and a report with `Display`.
///
/// ```
/// use kato_hardware::{HardwareAnalyzer, HardwareProfile};
/// use std::time::Duration;
///
/// let analyzer = HardwareAnalyzer::builder()
///     .with_directory(std::env::temp_dir())
///     .with_time_limit(Duration::from_secs(1))
///     .build()?;
/// let profile = analyzer.analyze_full();
/// let back: HardwareProfile = serde_json::from_str(&profile.to_json()?)?;
/// assert_eq!(back.cpu, profile.cpu);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HardwareProfile {
    /// [`SCHEMA`] of the version that wrote it.
    pub schema: u32,
    /// Version of this crate.
    pub version: String,
    /// When the analysis began: seconds since 1970, by the machine's clock.
    pub unix_seconds: Finding<u64>,
    /// Directory in which disks were measured.
    pub directory: String,
    /// Whether it was a quick analysis.
    pub is_quick: bool,
    /// Seed of texts, places and contents.
    pub seed: u64,
    /// Duration of the analysis, in seconds.
    pub seconds: f64,
    /// Name and version of the operating system.
    pub operating_system: Finding<String>,
    /// The processor.
    pub cpu: CpuFacts,
    /// Memory and swap.
    pub memory: Finding<MemoryFacts>,
    /// Limits below what the hardware has.
    pub limits: SystemLimits,
    /// Mounted file systems.
    pub disks: Finding<Vec<DiskFacts>>,
    /// Graphics processors.
    pub gpus: Gpus,
    /// Network interfaces.
    pub network: Finding<Vec<NetworkInterface>>,
    /// Whether the machine is virtual.
    pub virtualization: Virtualization,
    /// The measured figures.
    pub benchmarks: BenchmarkResults,
    /// The class of the machine, from what was measured.
    pub rating: Rating,
}

/// The measured figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BenchmarkResults {
    /// Memory bandwidth.
    pub memory: MemoryResults,
    /// Names of patterns.
    pub naming: NamingResults,
    /// JSON Lines parsed, in bytes.
    pub decoding: Measured,
    /// Text to GPT-2 tokens, in bytes of text.
    pub tokenizing: Measured,
    /// The disk below the directory.
    pub disk: DiskResults,
    /// The embedded store.
    pub store: StoreResults,
    /// A message inside the machine, there and back.
    pub loopback_latency: Measured,
    /// MongoDB.
    pub mongodb: MongoResults,
    /// A KATO server.
    pub kato: KatoResults,
}

impl HardwareProfile {
    /// Returns the profile as indented JSON.
    ///
    /// # Errors
    ///
    /// When the path of a file system is not UTF-8.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// Returns the memory that programs can have, in bytes: the machine's, or the limit of its
    /// control group where that is less.
    #[must_use]
    pub fn usable_memory(&self) -> Finding<u64> {
        match (&self.memory, &self.limits.memory_bytes) {
            (Finding::Known(memory), Finding::Known(Some(limit))) => {
                Finding::Known(memory.total_bytes.min(*limit))
            }
            (memory, _) => memory.clone().map(|memory| memory.total_bytes),
        }
    }

    /// Predicts the speed of a training, and the resource that bounds it.
    ///
    /// # Errors
    ///
    /// [`HardwareError::OutOfRange`] for a size that no training has.
    pub fn predict(&self, workload: &Workload) -> Result<SpeedForecast, HardwareError> {
        SpeedForecast::from_profile(self, workload)
    }
}
