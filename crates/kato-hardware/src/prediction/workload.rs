//! The training that is to be predicted.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::HardwareError;

/// A training to be predicted.
///
/// ```
/// use kato_hardware::prediction::{WorkloadStore, Workload};
///
/// let workload = Workload::of_samples(1_000_000).with_chunk_size(8).with_levels(4)
///     .with_tokens_per_sample(120)
///     .with_backend(WorkloadStore::MongoDb);
/// assert_eq!(workload.calls(), [15, 2, 1, 0]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Workload {
    /// Number of samples.
    pub dataset_size: u64,
    /// Symbols of a pattern, on every level. Default 8.
    pub chunk_size: usize,
    /// Number of levels. Default 4.
    pub num_nodes: usize,
    /// Tokens of a sample. Default 100, about what rows of WikiText have.
    pub tokens_per_sample: u64,
    /// Bytes of text for each token. Default 4.3, as of English text with GPT-2.
    pub bytes_per_token: f64,
    /// The store that patterns are written to. Default: the embedded store.
    pub backend: WorkloadStore,
}

/// The store that patterns are written to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkloadStore {
    /// The embedded store, in process.
    #[default]
    Embedded,
    /// MongoDB, written by the training process.
    MongoDb,
    /// A KATO server that is asked to learn pattern by pattern.
    Kato,
}

/// Fewer symbols than this at the end of a text join the pattern before.
const SHORTEST_CHUNK: u64 = 3;
/// Fewer names than this at the end of a document are not learned.
const SHORTEST_TAIL: u64 = 2;

impl Workload {
    /// Samples that a training may have.
    pub const DATASET_SIZES: RangeInclusive<u64> = 1..=1_000_000_000_000;
    /// Tokens that a sample may have.
    pub const TOKENS_PER_SAMPLE: RangeInclusive<u64> = 1..=10_000_000;

    /// Creates a training of so many samples of 100 tokens, into the embedded store.
    #[must_use]
    pub fn of_samples(dataset_size: u64) -> Self {
        Self {
            dataset_size,
            chunk_size: 8,
            num_nodes: 4,
            tokens_per_sample: 100,
            bytes_per_token: 4.3,
            backend: WorkloadStore::default(),
        }
    }

    /// Sets the symbols of a pattern, on every level, from 2 to 10,000.
    #[must_use]
    pub fn with_chunk_size(mut self, symbols: usize) -> Self {
        self.chunk_size = symbols;
        self
    }

    /// Sets the number of levels, from 1 to 64.
    #[must_use]
    pub fn with_levels(mut self, levels: usize) -> Self {
        self.num_nodes = levels;
        self
    }

    /// Sets the tokens of a sample, from 1 to 10 million.
    #[must_use]
    pub fn with_tokens_per_sample(mut self, tokens: u64) -> Self {
        self.tokens_per_sample = tokens;
        self
    }

    /// Sets the bytes of text for each token, from 0.1 to 1,000.
    #[must_use]
    pub fn with_bytes_per_token(mut self, bytes: f64) -> Self {
        self.bytes_per_token = bytes;
        self
    }

    /// Sets the store that patterns are written to.
    #[must_use]
    pub fn with_backend(mut self, backend: WorkloadStore) -> Self {
        self.backend = backend;
        self
    }

    /// Returns the learn calls of one sample that is one paragraph, level by level from the bottom.
    ///
    /// They are whole chunks, and the rest at the end where it is long enough.
    #[must_use]
    pub fn calls(&self) -> Vec<u64> {
        // Fields are public, so this may be called before anything was checked.
        let chunk = self.chunk_size.max(1) as u64;
        let mut below = self.tokens_per_sample;
        (0..self.num_nodes)
            .map(|level| {
                let shortest = if level == 0 {
                    SHORTEST_CHUNK
                } else {
                    SHORTEST_TAIL
                };
                let whole = below / chunk;
                below = whole + u64::from(below % chunk >= shortest);
                below
            })
            .collect()
    }

    /// Checks that all sizes are in their ranges.
    ///
    /// # Errors
    ///
    /// [`HardwareError::OutOfRange`] for the first one that is not.
    pub(crate) fn check(&self) -> Result<(), HardwareError> {
        let checks: [(&'static str, bool, String, &'static str); 5] = [
            (
                "dataset_size",
                Self::DATASET_SIZES.contains(&self.dataset_size),
                self.dataset_size.to_string(),
                "1 to 10^12 samples",
            ),
            (
                "chunk_size",
                (2..=10_000).contains(&self.chunk_size),
                self.chunk_size.to_string(),
                "2 to 10,000 symbols",
            ),
            (
                "num_nodes",
                (1..=64).contains(&self.num_nodes),
                self.num_nodes.to_string(),
                "1 to 64 levels",
            ),
            (
                "tokens_per_sample",
                Self::TOKENS_PER_SAMPLE.contains(&self.tokens_per_sample),
                self.tokens_per_sample.to_string(),
                "1 to 10 million tokens",
            ),
            (
                "bytes_per_token",
                // No range contains NaN.
                (0.1..=1000.0).contains(&self.bytes_per_token),
                self.bytes_per_token.to_string(),
                "0.1 to 1,000 bytes",
            ),
        ];
        for (setting, is_right, given, expected) in checks {
            if !is_right {
                return Err(HardwareError::OutOfRange {
                    setting,
                    given,
                    expected,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for WorkloadStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Embedded => "embedded store",
            Self::MongoDb => "MongoDB",
            Self::Kato => "KATO server",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_learned_where_they_are_long_enough() {
        let calls = |tokens, chunk, levels| {
            Workload::of_samples(1)
                .with_chunk_size(chunk)
                .with_levels(levels)
                .with_tokens_per_sample(tokens)
                .calls()
        };
        // 60 tokens by 3: 20; by 4: 5; a whole pattern of 4 and one name left over.
        assert_eq!(calls(12, 3, 2), [4, 1]);
        assert_eq!(calls(16, 4, 3), [4, 1, 0]);
        // 2 tokens left over join the chunk before; 3 make one.
        assert_eq!(calls(10, 4, 1), [2]);
        assert_eq!(calls(11, 4, 1), [3]);
        // One name left over is not learned; 2 are.
        assert_eq!(calls(20, 4, 2), [5, 1]);
        assert_eq!(calls(24, 4, 2), [6, 2]);
        assert_eq!(calls(1, 4, 3), [0, 0, 0]);
    }

    #[test]
    fn sizes_that_no_training_has_are_refused_with_what_would_do() {
        let refused = [
            (
                Workload::of_samples(0).with_chunk_size(8).with_levels(4),
                "dataset_size is 0: give 1 to 10^12 samples",
            ),
            (
                Workload::of_samples(1).with_chunk_size(1).with_levels(4),
                "chunk_size is 1: give 2 to 10,000 symbols",
            ),
            (
                Workload::of_samples(1).with_chunk_size(8).with_levels(0),
                "num_nodes is 0: give 1 to 64 levels",
            ),
            (
                Workload::of_samples(1)
                    .with_chunk_size(8)
                    .with_levels(4)
                    .with_bytes_per_token(f64::NAN),
                "bytes_per_token is NaN: give 0.1 to 1,000 bytes",
            ),
        ];
        for (workload, message) in refused {
            assert_eq!(workload.check().unwrap_err().to_string(), message);
        }
    }
}
