//! Compares two snapshots.

use serde::{Deserialize, Serialize};

use crate::analysis::Snapshot;
use crate::analysis::snapshot::{LinkSnapshot, NodeSnapshot};

/// The differences between two snapshots, level by level.
///
/// Levels are counted from the bottom, whatever their nodes are called, so that runs under
/// different names can be compared. Runs over different corpora, or over different parts of one,
/// differ for that reason alone: nothing here corrects for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SnapshotComparison {
    /// Whether both hold the same patterns with the same frequencies on the same levels.
    pub equal: bool,
    /// Sums over all nodes: `patterns`, `learns`.
    pub totals: Vec<MetricDifference>,
    /// From the bottom up; as many as the taller hierarchy has.
    pub levels: Vec<LevelComparison>,
}

/// The differences at one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelComparison {
    /// From 0.
    pub level: usize,
    /// The node's name before; `None` when there was no such level.
    pub before: Option<String>,
    /// The node's name after.
    pub after: Option<String>,
    /// Whether both have the level, with the same patterns and frequencies.
    pub equal: bool,
    /// The numbers, always in the same order: those of the node, then those of its link to the
    /// node above.
    pub metrics: Vec<MetricDifference>,
}

/// The difference of one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MetricDifference {
    /// The name of the number, such as `patterns`.
    pub metric: String,
    /// Before; `None` when there is no such level or nothing was counted.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
    /// After less before.
    pub absolute: Option<f64>,
    /// `absolute` / before; `None` without `absolute`, and when before is zero.
    pub relative: Option<f64>,
}

impl SnapshotComparison {
    /// Compares two snapshots.
    #[must_use]
    pub fn new(before: &Snapshot, after: &Snapshot) -> Self {
        let total = |metric, number: fn(&Snapshot) -> u64| {
            MetricDifference::new(
                metric,
                Some(number(before) as f64),
                Some(number(after) as f64),
            )
        };
        let n_levels = before.nodes.len().max(after.nodes.len());
        Self {
            equal: before.digest == after.digest,
            totals: vec![
                total("patterns", |snapshot| snapshot.patterns),
                total("learns", |snapshot| snapshot.learns),
            ],
            levels: (0..n_levels)
                .map(|level| LevelComparison::new(level, before, after))
                .collect(),
        }
    }
}

impl LevelComparison {
    /// Compares one level of two snapshots.
    fn new(level: usize, before: &Snapshot, after: &Snapshot) -> Self {
        let nodes = [before, after].map(|snapshot| snapshot.nodes.get(level));
        // The link at a node's index is the one to the node above, so the top level has none.
        let links = [before, after].map(|snapshot| snapshot.links.get(level));
        let of_nodes = NODE_METRICS.iter().map(|(metric, number)| {
            let [before, after] = nodes.map(|node| node.and_then(number));
            MetricDifference::new(metric, before, after)
        });
        let of_links = LINK_METRICS.iter().map(|(metric, number)| {
            let [before, after] = links.map(|link| link.and_then(number));
            MetricDifference::new(metric, before, after)
        });
        let name = |node: Option<&NodeSnapshot>| node.map(|node| node.node.clone());
        let digest = |node: Option<&NodeSnapshot>| node.map(|node| node.digest.clone());
        Self {
            level,
            before: name(nodes[0]),
            after: name(nodes[1]),
            // At least one snapshot has the level, so two missing digests never count as equal.
            equal: digest(nodes[0]) == digest(nodes[1]),
            metrics: of_nodes.chain(of_links).collect(),
        }
    }
}

impl MetricDifference {
    /// Creates a difference from the two numbers.
    fn new(metric: &str, before: Option<f64>, after: Option<f64>) -> Self {
        let absolute = before.zip(after).map(|(before, after)| after - before);
        // No relative change is given from zero: it would be infinite or undefined, which JSON
        // cannot hold.
        let relative = absolute.zip(before.filter(|before| *before != 0.0));
        Self {
            metric: metric.to_owned(),
            before,
            after,
            absolute,
            relative: relative.map(|(absolute, before)| absolute / before),
        }
    }
}

/// The name of a number and how it is read from the snapshot.
type Metric<T> = (&'static str, fn(&T) -> Option<f64>);

const NODE_METRICS: [Metric<NodeSnapshot>; 8] = [
    ("patterns", |node| Some(node.statistics.patterns as f64)),
    ("learns", |node| Some(node.statistics.learns as f64)),
    ("mean_frequency", |node| node.statistics.mean),
    ("max_frequency", |node| {
        node.statistics.max.map(|max| max as f64)
    }),
    ("learned_once", |node| {
        Some(node.statistics.ranges.freq_1 as f64)
    }),
    ("utilisation", |node| node.utilisation),
    ("entropy", |node| node.entropy),
    ("tokens_per_pattern", |node| node.tokens_per_pattern),
];

const LINK_METRICS: [Metric<LinkSnapshot>; 8] = [
    ("compression", |link| link.compression),
    ("observation_compression", |link| {
        link.observation_compression
    }),
    ("coverage", |link| link.coverage),
    ("mean_parents", |link| link.reuse.mean),
    ("mean_children", |link| link.branching.mean),
    ("dangling", |link| Some(link.dangling as f64)),
    ("mutual_information", |link| {
        Some(link.information.as_ref()?.mutual_information)
    }),
    ("mean_jaccard", |link| Some(link.similarity?.mean_jaccard)),
];
