//! Records of finished runs, as far as an estimate can use them.

use serde::{Deserialize, Serialize};

use crate::{EstimatedHierarchy, FrequencyCounts};

/// A finished run: its documents and, for every level, how often its patterns were learned.
///
/// ```
/// use kato_estimator::EstimatedHierarchy;
/// use kato_estimator::run_record::{RunLevel, FinishedRun};
///
/// let run = FinishedRun::new(EstimatedHierarchy::new([3, 3])?, 100)
///     .with_level(
///         RunLevel::new([(1, 2575), (2, 85), (3, 19)].into_iter().collect()).with_bytes(792_192),
///     )
///     .with_level(RunLevel::new([(1, 967)].into_iter().collect()).with_bytes(653_557));
/// assert_eq!(run.levels.len(), 2);
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FinishedRun {
    /// Its hierarchy.
    pub hierarchy: EstimatedHierarchy,
    /// Documents learned, without those that failed.
    pub samples: u64,
    /// Bytes of their text, where known.
    #[serde(default)]
    pub text_bytes: Option<u64>,
    /// Name of the engine that `bytes` of the levels were measured on, as
    /// [`StorageEngine::name`](crate::StorageEngine::name) has it.
    #[serde(default)]
    pub engine: Option<String>,
    /// The levels, bottom up.
    pub levels: Vec<RunLevel>,
}

/// A level of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunLevel {
    /// Frequencies of its patterns.
    pub frequencies: FrequencyCounts,
    /// Bytes of the level on the disk.
    #[serde(default)]
    pub bytes: Option<u64>,
}

impl FinishedRun {
    /// Creates a run without levels.
    #[must_use]
    pub fn new(hierarchy: EstimatedHierarchy, samples: u64) -> Self {
        Self {
            hierarchy,
            samples,
            text_bytes: None,
            engine: None,
            levels: Vec::new(),
        }
    }

    /// Adds the next level.
    #[must_use]
    pub fn with_level(mut self, level: RunLevel) -> Self {
        self.levels.push(level);
        self
    }

    /// Sets the bytes of the documents' text.
    #[must_use]
    pub fn with_text_bytes(mut self, text_bytes: u64) -> Self {
        self.text_bytes = Some(text_bytes);
        self
    }

    /// Sets the name of the engine that the bytes of the levels were measured on.
    #[must_use]
    pub fn with_engine(mut self, engine: impl Into<String>) -> Self {
        self.engine = Some(engine.into());
        self
    }

    /// Returns the number of distinct patterns of all levels.
    #[must_use]
    pub fn total_patterns(&self) -> u64 {
        self.levels
            .iter()
            .map(|level| level.frequencies.distinct())
            .sum()
    }
}

impl RunLevel {
    /// Creates a level with these frequencies.
    #[must_use]
    pub fn new(frequencies: FrequencyCounts) -> Self {
        Self {
            frequencies,
            bytes: None,
        }
    }

    /// Sets the bytes of the level on the disk.
    #[must_use]
    pub fn with_bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }
}
