//! The original's storage formula, for comparison.

use kato_learner::config::MAX_NODES;
use serde::{Deserialize, Serialize};

use crate::EstimateError;

/// Share of learn calls that repeat a pattern at level 0, by the formula.
const DEDUPLICATION: f64 = 0.6;
/// Factor of that share from level to level.
const DECAY: f64 = 0.7;
/// Factor for what a store adds, by the formula.
const OVERHEAD: f64 = 1.2;

/// The storage model of the original's documentation: fixed shares of repeats, Zipf frequencies,
/// 20 % overhead.
///
/// Learn calls: samples · tokens / chunk size at level 0, the distinct patterns below / chunk size
/// above, rounded down. Distinct patterns: U = N · (1 − d), d = 0.6, 0.42, 0.294, 0.2058 … Bytes:
/// U · (56 + 35 · chunk size + 150), with 60 for 35 above level 0; the total times 1.2. Its figures
/// are far from what runs store (`docs/costs.md`); no interval is given because none would
/// hold.
///
/// ```
/// use kato_estimator::legacy::LegacyModel;
///
/// let model = LegacyModel::new(4, 15, 1.0)?;
/// assert!((model.deduplication(1) - 0.42).abs() < 1e-12);
/// assert!((model.frequency(100_000.0, 100) - 1_000.0).abs() < 1e-9);
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LegacyModel {
    num_nodes: usize,
    chunk_size: usize,
    zipf_alpha: f64,
    tokens_per_sample: f64,
}

/// A level by the formula.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LegacyLevel {
    /// Learn calls.
    pub learns: f64,
    /// Distinct patterns.
    pub distinct_patterns: f64,
    /// Share of learn calls that repeat a pattern.
    pub dedup_share: f64,
    /// Bytes, overhead included.
    pub bytes: f64,
}

impl LegacyModel {
    /// Creates the model of `num_nodes` levels of one chunk size, for documents of 500 tokens.
    ///
    /// # Errors
    ///
    /// [`EstimateError::ChunkSize`] for 0 or more than [`MAX_NODES`] levels or a chunk size of 0;
    /// [`EstimateError::Setting`] for an α that is not positive and finite.
    pub fn new(
        num_nodes: usize,
        chunk_size: usize,
        zipf_alpha: f64,
    ) -> Result<Self, EstimateError> {
        if num_nodes == 0 || num_nodes > MAX_NODES || chunk_size == 0 {
            return Err(EstimateError::ChunkSize {
                level: num_nodes,
                chunk_size,
            });
        }
        if !(zipf_alpha.is_finite() && zipf_alpha > 0.0) {
            return Err(EstimateError::Setting {
                setting: "zipf_alpha",
                value: zipf_alpha,
                allowed: "a positive number",
            });
        }
        Ok(Self {
            num_nodes,
            chunk_size,
            zipf_alpha,
            tokens_per_sample: 500.0,
        })
    }

    /// Sets the tokens of a document; 500 by the original's default.
    #[must_use]
    pub fn with_tokens_per_sample(mut self, tokens: f64) -> Self {
        self.tokens_per_sample = tokens.max(0.0);
        self
    }

    /// Returns the share of learn calls that repeat a pattern at a level: 0.6 · 0.7^level.
    #[must_use]
    pub fn deduplication(&self, level: usize) -> f64 {
        DEDUPLICATION * DECAY.powf(level as f64)
    }

    /// Returns the Zipf frequency f = C / r^α of the pattern with rank `rank`, from 1, where the
    /// most frequent one has `top`.
    #[must_use]
    pub fn frequency(&self, top: f64, rank: u64) -> f64 {
        top / (rank.max(1) as f64).powf(self.zipf_alpha)
    }

    /// Returns the chunk size of every level.
    #[must_use]
    pub fn chunk_size(&self) -> usize {
        self.chunk_size
    }

    /// Returns the levels for a number of documents, bottom up.
    #[must_use]
    pub fn levels(&self, num_samples: u64) -> Vec<LegacyLevel> {
        let chunk = self.chunk_size as f64;
        let mut input = num_samples as f64 * self.tokens_per_sample;
        (0..self.num_nodes)
            .map(|level| {
                // The formula divides whole numbers.
                let learn_calls = (input / chunk).floor();
                let dedup_share = self.deduplication(level);
                let distinct_patterns = learn_calls * (1.0 - dedup_share);
                // Its own simplification: only new patterns go up, while a run passes every name
                // up.
                input = distinct_patterns;
                let symbol = if level == 0 { 35.0 } else { 60.0 };
                let bytes = distinct_patterns * (56.0 + chunk * symbol + 150.0) * OVERHEAD;
                LegacyLevel {
                    learns: learn_calls,
                    distinct_patterns,
                    dedup_share,
                    bytes,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_repeats_are_those_of_the_original() {
        let model = LegacyModel::new(4, 15, 1.0).unwrap();
        for (level, share) in [0.6, 0.42, 0.294, 0.2058].into_iter().enumerate() {
            assert!((model.deduplication(level) - share).abs() < 1e-12);
        }
    }

    #[test]
    fn a_thousand_documents_of_five_hundred_tokens_come_to_known_figures() {
        let levels = LegacyModel::new(2, 5, 1.0).unwrap().levels(1_000);
        assert_eq!(levels[0].learns, 100_000.0);
        assert!((levels[0].distinct_patterns - 40_000.0).abs() < 1e-6);
        assert!((levels[0].bytes - 40_000.0 * 381.0 * 1.2).abs() < 1e-3);
        assert_eq!(levels[1].learns, 8_000.0);
        assert!((levels[1].distinct_patterns - 4_640.0).abs() < 1e-6);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(LegacyModel::new(0, 5, 1.0).is_err());
        assert!(LegacyModel::new(2, 0, 1.0).is_err());
        assert!(LegacyModel::new(2, 5, f64::NAN).is_err());
    }
}
