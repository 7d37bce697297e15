//! The embedded store: rates of learning and looking up, latency of commits, bytes of patterns.

use serde::{Deserialize, Serialize};

use crate::figure::{Finding, Measured};

/// Figures of an embedded store in the directory, with patterns of tokens, which is removed
/// afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoreResults {
    /// Patterns of 5 tokens counted, sorted, written and committed: a second, one core.
    pub write: Measured,
    /// The same without commits: the part that the threads of a run do at the same time.
    pub stage: Measured,
    /// Patterns of 15 tokens counted, sorted and written: a second, one core.
    pub stage_long: Measured,
    /// Latency of a commit, with its flush.
    pub commit_latency: Measured,
    /// Patterns looked up by name in random order: a second, one core. What was written a
    /// moment ago is read from memory.
    pub read: Measured,
    /// Bytes on the disk for each distinct pattern of 5 tokens.
    pub pattern_bytes: Measured,
    /// Bytes on the disk for each distinct pattern of 15 tokens.
    pub long_pattern_bytes: Measured,
}

impl StoreResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            write: Finding::unknown(reason),
            stage: Finding::unknown(reason),
            stage_long: Finding::unknown(reason),
            commit_latency: Finding::unknown(reason),
            read: Finding::unknown(reason),
            pattern_bytes: Finding::unknown(reason),
            long_pattern_bytes: Finding::unknown(reason),
        }
    }

    pub(crate) fn entries(&self) -> Vec<(&'static str, &Measured)> {
        vec![
            ("write, patterns of 5", &self.write),
            ("stage, patterns of 5", &self.stage),
            ("stage, patterns of 15", &self.stage_long),
            ("commit latency", &self.commit_latency),
            ("read, by name", &self.read),
            ("bytes, pattern of 5", &self.pattern_bytes),
            ("bytes, pattern of 15", &self.long_pattern_bytes),
        ]
    }
}

/// Numbers of symbols of the patterns measured. Two, so that other lengths lie on a line through
/// them.
pub(crate) const LENGTHS: [usize; 2] = [5, 15];

#[cfg(feature = "store")]
pub(crate) use measured::measure;

#[cfg(not(feature = "store"))]
pub(crate) fn measure(_: &crate::Allowance, _: &std::path::Path, _: u64) -> StoreResults {
    StoreResults::unknown("built without the feature `store`: build with it")
}

#[cfg(feature = "store")]
mod measured;
