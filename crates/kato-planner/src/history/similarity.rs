//! How alike the settings of two runs are.

use serde::Serialize;

use crate::history::record::{HistoryRun, RunSettings};

/// A run with the similarity of its settings to those asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SimilarRun {
    /// From 0, nothing in common, to 1, alike in all that counts.
    pub similarity: f64,
    /// The run.
    pub run: HistoryRun,
}

/// Returns how alike two settings are, from 0 to 1.
///
/// Formula: the number of levels counts 0.3; chunk sizes 0.4, or 0.2 where they differ above the
/// lowest; batch size and workers 0.15 each. The sum of what is equal is divided by that of what
/// both settings have, so that a setting that one of them does not know counts nothing. The weights
/// are those of the Python original.
///
/// ```
/// use kato_planner::history::record::RunSettings;
/// use kato_planner::history::similarity;
///
/// let mut asked = RunSettings::new([3, 5, 5]);
/// (asked.batch_size, asked.workers) = (Some(50), Some(6));
/// let mut other = RunSettings::new([3, 3, 3]);
/// (other.batch_size, other.workers) = (Some(50), Some(4));
/// // The number of levels, half of the chunk sizes, and the batch size.
/// assert!((similarity(&asked, &other) - (0.3 + 0.2 + 0.15)).abs() < 1e-12);
/// ```
#[must_use]
pub fn similarity(a: &RunSettings, b: &RunSettings) -> f64 {
    if a.chunk_sizes.is_empty() || b.chunk_sizes.is_empty() {
        return 0.0;
    }
    let mut sum = 0.0_f64;
    let mut weights = 0.3 + 0.4;
    if a.chunk_sizes.len() == b.chunk_sizes.len() {
        sum += 0.3;
    }
    if a.chunk_sizes == b.chunk_sizes {
        sum += 0.4;
    } else if a.chunk_sizes.first() == b.chunk_sizes.first() {
        sum += 0.2;
    }
    let known = [(a.batch_size, b.batch_size), (a.workers, b.workers)];
    for (a, b) in known.into_iter().filter_map(|(a, b)| a.zip(b)) {
        weights += 0.15;
        if a == b {
            sum += 0.15;
        }
    }
    // Rounding may leave a little more than 1.
    (sum / weights).min(1.0)
}
