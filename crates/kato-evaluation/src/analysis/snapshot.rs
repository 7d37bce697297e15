//! A snapshot of what a store holds, in numbers that can be kept, compared and printed.

mod link;
mod node;
mod similarity;

use kato_store::PatternStore;
use serde::{Deserialize, Serialize};

pub use self::link::{Branching, LinkSnapshot, ParentCount, Reuse};
pub use self::node::{NodeSnapshot, TopPattern};
pub use self::similarity::Similarity;
use crate::analysis::AnalysisError;
use crate::analysis::growth::{Growth, PatternGrowth};
pub use crate::analysis::information::Information;
use crate::analysis::level::Level;

/// Options of a snapshot: what is listed, and how closely the store is examined.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// Most frequent patterns to list for each node. Default 10.
    pub top: usize,
    /// Number of pairs of patterns to compare for [`Similarity`]; all pairs when there are not
    /// more. Default 1000.
    pub pairs: usize,
    /// Seed of the draw of pairs. Default 0.
    pub seed: u64,
    /// Numbers of patterns after numbers of samples, from checkpoints or progress of the run, for
    /// [`Snapshot::growth`]. A knowledge base does not hold them. Default none.
    pub growth: Vec<PatternGrowth>,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            top: 10,
            pairs: 1000,
            seed: 0,
            growth: Vec::new(),
        }
    }
}

/// The content of a store in numbers.
///
/// Equal knowledge gives equal numbers, whatever kind of store holds it and however it came
/// there. A snapshot is serialised as JSON; [`from_json`](Self::from_json) reads it back and
/// refuses other versions. Numbers for which nothing was counted are `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// Version of this form: [`VERSION`](Self::VERSION).
    pub version: u64,
    /// Distinct patterns of all nodes.
    pub patterns: u64,
    /// Learn calls of all nodes.
    #[serde(alias = "observations")]
    pub learns: u64,
    /// BLAKE3 over the digests of all nodes, from the bottom up: equal when the nodes hold the
    /// same patterns with the same frequencies. Names of nodes, attributes of patterns,
    /// vectors and documents are not part of it.
    pub digest: String,
    /// The nodes, from the bottom of the hierarchy up.
    pub nodes: Vec<NodeSnapshot>,
    /// The links between each node and the one below it: one less than nodes.
    pub links: Vec<LinkSnapshot>,
    /// The law of growth through the points given in the options.
    pub growth: Option<Growth>,
}

impl Snapshot {
    /// The version of the form that this release writes and reads.
    pub const VERSION: u64 = 1;

    /// Takes a snapshot of a store.
    ///
    /// Reads names and frequencies of every node, and the content of all but the lowest, once; the
    /// most frequent patterns take another pass over names and frequencies.
    ///
    /// Memory: 32 bytes for each pattern of a node and 24 for each of the node above it, two
    /// neighbouring nodes at a time; 8 bytes for each symbol of one source of a visit; and what the
    /// store needs for a visit.
    ///
    /// # Errors
    ///
    /// [`AnalysisError::Read`] when any node cannot be read, [`AnalysisError::ChangedMeanwhile`]
    /// when it shows that the store is written to at the same time.
    pub fn from_store(
        store: &dyn PatternStore,
        options: &SnapshotOptions,
    ) -> Result<Self, AnalysisError> {
        let mut nodes: Vec<NodeSnapshot> = Vec::new();
        let mut links = Vec::new();
        // Only two neighbouring levels are in memory: a link needs the names of both, nothing needs
        // more.
        let mut below: Option<Level> = None;
        let mut digest = blake3::Hasher::new();
        let mut tokens = None;
        for node_idx in 0..store.nodes().len() {
            let level = Level::load(store, node_idx)?;
            digest.update(level.digest.as_bytes());
            let node = NodeSnapshot::compute(store, node_idx, &level, tokens, options.top)?;
            // The lowest node's symbols are the tokens that were learned, for the nodes above as
            // well.
            tokens = tokens.or(Some(node.totals.learned_symbols));
            if let (Some(below), Some(lower)) = (below, nodes.last()) {
                links.push(link::compute(
                    store, node_idx, &below, &level, lower, &node, options,
                )?);
            }
            nodes.push(node);
            below = Some(level);
        }
        // Counts saturate in the stores too; imported frequencies alone can reach the limit.
        let sum = |number: fn(&NodeSnapshot) -> u64| {
            nodes.iter().map(number).fold(0, u64::saturating_add)
        };
        let patterns = sum(|node| node.statistics.patterns);
        let learns = sum(|node| node.statistics.learns);
        // The share needs the patterns of all nodes, which are known only after the last.
        for node in &mut nodes {
            node.utilisation = ratio(node.statistics.patterns, patterns);
        }
        Ok(Self {
            version: Self::VERSION,
            patterns,
            learns,
            digest: digest.finalize().to_hex().to_string(),
            nodes,
            links,
            growth: Growth::from_points(&options.growth),
        })
    }

    /// Reads a snapshot from its JSON.
    ///
    /// # Errors
    ///
    /// [`AnalysisError::Form`] and [`AnalysisError::Version`].
    pub fn from_json(json: &str) -> Result<Self, AnalysisError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u64,
        }

        let form = |source| AnalysisError::Form { source };
        // The version is read first, as another version may have any form.
        let Versioned { version: found } = serde_json::from_str(json).map_err(form)?;
        if found != Self::VERSION {
            let supported = Self::VERSION;
            return Err(AnalysisError::Version { found, supported });
        }
        serde_json::from_str(json).map_err(form)
    }
}

/// Returns one number divided by another; `None` when the divisor is zero.
fn ratio(dividend: u64, divisor: u64) -> Option<f64> {
    (divisor > 0).then(|| dividend as f64 / divisor as f64)
}
