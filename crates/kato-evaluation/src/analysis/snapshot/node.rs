//! One node of a snapshot.

use kato_model::PatternName;
use kato_store::contract::Totals;
use kato_store::statistics::{FrequencyStatistics, PatternFrequency};
use kato_store::{KnowledgeBase, PatternStore};
use serde::{Deserialize, Serialize};

use super::ratio;
use crate::analysis::AnalysisError;
use crate::analysis::information::entropy_bits;
use crate::analysis::level::Level;

/// The content of one node in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeSnapshot {
    /// Its name.
    pub node: String,
    /// BLAKE3 of every pattern in name order: 20 bytes of name, 8 of frequency, little-endian. As
    /// hexadecimal digits.
    pub digest: String,
    /// Counts over learn calls, as the store keeps them.
    pub totals: Totals,
    /// How often patterns were learned, from the patterns themselves.
    pub statistics: FrequencyStatistics,
    /// The node's share of the patterns of all nodes, from 0 to 1.
    pub utilisation: Option<f64>,
    /// Entropy, in bits, of the pattern of a learn call: log₂ of the patterns when all are equally
    /// frequent, less when few are learned again and again.
    pub entropy: Option<f64>,
    /// Effective compression: symbols over all learn calls of the lowest node, which are the
    /// tokens of the corpus that were learned, for each distinct pattern of this node.
    pub tokens_per_pattern: Option<f64>,
    /// The most frequent patterns, ties in name order.
    pub top: Vec<TopPattern>,
}

/// A frequent pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopPattern {
    /// Its name.
    pub name: PatternName,
    /// Learn calls.
    pub frequency: u64,
    /// Events.
    pub length: u64,
}

impl NodeSnapshot {
    /// Creates the snapshot of one node; `tokens` is the number of tokens that the lowest node
    /// learned, or `None` for the lowest node itself.
    pub(super) fn compute(
        store: &dyn PatternStore,
        node_idx: usize,
        level: &Level,
        tokens: Option<u64>,
        n_top: usize,
    ) -> Result<Self, AnalysisError> {
        let read = || AnalysisError::read(&level.node);
        let totals = store.totals(node_idx).map_err(read())?;
        let histogram = level.histogram.iter();
        let statistics = FrequencyStatistics::from_histogram(histogram.map(|(&f, &n)| (f, n)));
        let tokens = tokens.unwrap_or(totals.learned_symbols);
        Ok(Self {
            node: level.node.clone(),
            digest: level.digest.clone(),
            // Known only when all nodes are read; the caller sets it.
            utilisation: None,
            entropy: entropy_bits(&level.histogram),
            tokens_per_pattern: ratio(tokens, statistics.patterns),
            top: top(store, node_idx, level, n_top)?,
            totals,
            statistics,
        })
    }
}

/// Returns the `n` most frequent patterns of a node, ties in name order.
fn top(
    store: &dyn PatternStore,
    node_idx: usize,
    level: &Level,
    n: usize,
) -> Result<Vec<TopPattern>, AnalysisError> {
    // Listing the most frequent takes a pass over all names, which is spared when none is asked
    // for.
    if n == 0 {
        return Ok(Vec::new());
    }
    let read = || AnalysisError::read(&level.node);
    let node = KnowledgeBase::at(store, node_idx).map_err(read())?;
    let mut found = Vec::new();
    for PatternFrequency {
        name, frequency, ..
    } in node.top(n).map_err(read())?
    {
        let pattern = node.pattern(&name).map_err(read())?;
        // A name that was just listed has a pattern, unless it was forgotten in between.
        let pattern = pattern.ok_or_else(|| AnalysisError::ChangedMeanwhile {
            node: level.node.clone(),
        })?;
        // Without event lengths every event holds one symbol.
        let events = pattern.event_lengths.as_ref().map(|lengths| lengths.len());
        found.push(TopPattern {
            name,
            frequency,
            length: events.unwrap_or(pattern.symbols.len()) as u64,
        });
    }
    Ok(found)
}
