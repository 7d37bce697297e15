//! The link between a node and the one below it: how the patterns of one are made of the other's.

use std::collections::BTreeMap;

use kato_model::PatternName;
use kato_store::PatternStore;
use serde::{Deserialize, Serialize};

use super::similarity::{Sample, Similarity};
use super::{NodeSnapshot, SnapshotOptions, ratio};
use crate::analysis::AnalysisError;
use crate::analysis::information::{Weights, count};
use crate::analysis::level::{Bits, Counts, Level};
use crate::analysis::references::{self, Reference};
use crate::analysis::snapshot::Information;

/// The link between two neighbouring nodes: how the *upper* one is made of the *lower* one.
///
/// A pattern of the upper node is a *parent*; the names of patterns among its symbols are its
/// *children*. The top node has no node above it, so whether its patterns are used is not stated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinkSnapshot {
    /// The node below.
    pub lower: String,
    /// The node above.
    pub upper: String,
    /// Distinct patterns of the lower node for each of the upper one.
    pub compression: Option<f64>,
    /// Learn calls of the lower node for each of the upper one.
    pub observation_compression: Option<f64>,
    /// Share of the lower node's patterns that have a parent, from 0 to 1.
    pub coverage: Option<f64>,
    /// Patterns of the lower node that have no parent in the upper one. Those whose name was promoted past it
    /// have one further up, which no link counts.
    pub orphans: u64,
    /// Their share, 1 − coverage.
    pub orphan_rate: Option<f64>,
    /// The number of different parents of the lower node's patterns.
    pub reuse: Reuse,
    /// Children of the upper node's patterns; a child that occurs twice counts twice.
    pub branching: Branching,
    /// Children that the lower node does not hold, counted as `branching` counts: what was forgotten, and
    /// names that were promoted from further down.
    pub dangling: u64,
    /// What parents and children reveal about each other, weighted by learn calls; `None` when no
    /// pattern has children.
    pub information: Option<Information>,
    /// What the upper node's patterns have in common; `None` when no pair that was looked at has children.
    pub similarity: Option<Similarity>,
    /// Entropy of the upper node less that of the lower one, in bits.
    pub entropy_change: Option<f64>,
}

/// The distribution of the number of different parents of a node's patterns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reuse {
    /// Mean.
    pub mean: Option<f64>,
    /// The number that half of the patterns do not exceed (nearest rank).
    pub median: Option<u64>,
    /// The number that nine tenths of the patterns do not exceed (nearest rank).
    pub p90: Option<u64>,
    /// Largest number.
    pub max: Option<u64>,
    /// Every number that occurs, ascending.
    pub histogram: Vec<ParentCount>,
}

/// One bar of a histogram of parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ParentCount {
    /// Different parents.
    pub parents: u64,
    /// Patterns that have so many.
    pub patterns: u64,
}

/// The distribution of the number of children of a node's patterns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Branching {
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation over all patterns, none left out.
    pub standard_deviation: Option<f64>,
    /// Standard deviation / mean; `None` when no pattern has children.
    pub variation: Option<f64>,
    /// Smallest number.
    pub min: Option<u64>,
    /// Largest number.
    pub max: Option<u64>,
}

/// Counts the references of the node `upper_idx` to the one below.
pub(super) fn compute(
    store: &dyn PatternStore,
    upper_idx: usize,
    lower: &Level,
    upper: &Level,
    lower_node: &NodeSnapshot,
    upper_node: &NodeSnapshot,
    options: &SnapshotOptions,
) -> Result<LinkSnapshot, AnalysisError> {
    let mut link_counts = LinkCounts::new(lower, upper, options);
    references::visit(store, upper_idx, upper, lower, |position, children| {
        link_counts.record(position, children);
    })?;
    // A pattern that the visit did not show was forgotten since the level was read. Patterns
    // learned since are found by the visit itself.
    if link_counts.n_seen != upper.names.len() {
        let node = upper.node.clone();
        return Err(AnalysisError::ChangedMeanwhile { node });
    }
    let (lower_counts, upper_counts) = (&lower_node.statistics, &upper_node.statistics);
    let mut parents = Weights::new();
    // Patterns without a parent are counted too, which `count` would leave out: they are the
    // orphans.
    for n_parents in link_counts.n_parents.iter() {
        *parents.entry(n_parents).or_default() += 1;
    }
    let mut children = Weights::new();
    // The weights go into one sorted map, so that the sum over them is added in the same order for
    // every store. A child outside the lower node is an outcome like the others.
    for weight in link_counts
        .child_weights
        .iter()
        .chain(link_counts.dangling_weights.into_values())
    {
        count(&mut children, weight);
    }
    let orphans = parents.get(&0).copied().unwrap_or_default();
    let entropies = upper_node.entropy.zip(lower_node.entropy);
    Ok(LinkSnapshot {
        lower: lower.node.clone(),
        upper: upper.node.clone(),
        compression: ratio(lower_counts.patterns, upper_counts.patterns),
        observation_compression: ratio(lower_counts.learns, upper_counts.learns),
        coverage: ratio(lower_counts.patterns - orphans, lower_counts.patterns),
        orphans,
        orphan_rate: ratio(orphans, lower_counts.patterns),
        reuse: Reuse::from_parents(&parents),
        branching: link_counts.branching.finish(),
        dangling: link_counts.dangling,
        information: Information::from_weights(
            &link_counts.parent_weights,
            &children,
            &link_counts.pair_weights,
        ),
        similarity: link_counts.sample.similarity(),
        entropy_change: entropies.map(|(upper, lower)| upper - lower),
    })
}

/// Counts over the references of a node, each pattern once.
struct LinkCounts<'a> {
    upper: &'a Level,
    /// Patterns that were counted, and their number.
    seen: Bits,
    n_seen: usize,
    /// Different parents of each pattern of the lower node.
    n_parents: Counts,
    /// Learn calls times occurrences of each pattern of the lower node, and of names that it does
    /// not hold.
    child_weights: Counts,
    dangling_weights: BTreeMap<PatternName, u64>,
    parent_weights: Weights,
    pair_weights: Weights,
    branching: Moments,
    dangling: u64,
    sample: Sample,
    sorted: Vec<Reference>,
}

impl<'a> LinkCounts<'a> {
    /// Creates the counts of two levels, all zero, and draws the sample of pairs.
    fn new(lower: &Level, upper: &'a Level, options: &SnapshotOptions) -> Self {
        Self {
            upper,
            seen: Bits::zeros(upper.names.len()),
            n_seen: 0,
            n_parents: Counts::zeros(lower.names.len()),
            child_weights: Counts::zeros(lower.names.len()),
            dangling_weights: BTreeMap::new(),
            parent_weights: Weights::new(),
            pair_weights: Weights::new(),
            branching: Moments::default(),
            dangling: 0,
            sample: Sample::draw(upper.names.len(), options.pairs, options.seed),
            sorted: Vec::new(),
        }
    }

    /// Counts the children of one pattern of the upper node.
    fn record(&mut self, position: usize, children: &[Reference]) {
        // Another source may hold the same pattern, with the same content.
        if !self.seen.set(position) {
            return;
        }
        self.n_seen += 1;
        let frequency = self.upper.frequencies.get(position);
        let n_children = children.len() as u64;
        self.branching.add(n_children);
        // One outcome for each learn call and child place, all equally likely: the joint
        // distribution of `Information`.
        count(
            &mut self.parent_weights,
            frequency.saturating_mul(n_children),
        );
        let names = children.iter().map(|child| child.name);
        self.sample.record(position, names);
        self.sorted.clear();
        self.sorted.extend_from_slice(children);
        self.sorted.sort_unstable();
        // The name comes first in the order, so equal children are neighbours and form one pair
        // `(p, c)` with the number of its occurrences.
        for same in self.sorted.chunk_by(|a, b| a == b) {
            let weight = frequency.saturating_mul(same.len() as u64);
            count(&mut self.pair_weights, weight);
            match same[0].position {
                Some(child) => {
                    // A parent counts once here, however often the child occurs in it.
                    self.n_parents.add(child, 1);
                    self.child_weights.add(child, weight);
                }
                None => {
                    self.dangling += same.len() as u64;
                    let held = self.dangling_weights.entry(same[0].name).or_default();
                    *held = held.saturating_add(weight);
                }
            }
        }
    }
}

/// Sums of whole numbers, which are the same in any order of adding.
#[derive(Default)]
struct Moments {
    n: u64,
    sum: u128,
    squares: u128,
    min: Option<u64>,
    max: Option<u64>,
}

impl Moments {
    /// Adds a number.
    fn add(&mut self, number: u64) {
        self.n += 1;
        self.sum += u128::from(number);
        self.squares += u128::from(number) * u128::from(number);
        self.min = Some(self.min.map_or(number, |min| min.min(number)));
        self.max = Some(self.max.map_or(number, |max| max.max(number)));
    }

    /// Returns mean, deviation and extremes of the numbers.
    fn finish(&self) -> Branching {
        if self.n == 0 {
            return Branching::default();
        }
        let n = self.n as f64;
        let mean = self.sum as f64 / n;
        // n Σx² − (Σx)² is a whole number: nothing cancels.
        let scaled = u128::from(self.n) * self.squares - self.sum * self.sum;
        let deviation = (scaled as f64).sqrt() / n;
        Branching {
            mean: Some(mean),
            standard_deviation: Some(deviation),
            variation: (mean > 0.0).then(|| deviation / mean),
            min: self.min,
            max: self.max,
        }
    }
}

impl Reuse {
    /// Creates the distribution from the number of patterns by number of parents.
    fn from_parents(parents: &Weights) -> Self {
        let patterns: u64 = parents.values().sum();
        let sum: u64 = parents
            .iter()
            .map(|(parents, patterns)| parents * patterns)
            .sum();
        // The nearest rank: the smallest number that this share of the patterns does not exceed.
        let rank = |tenths: u64| {
            let wanted = (patterns * tenths).div_ceil(10);
            let mut so_far = 0;
            let reached = parents.iter().find(|&(_, patterns)| {
                so_far += patterns;
                so_far >= wanted
            });
            reached.map(|(&parents, _)| parents)
        };
        let bar = |(&parents, &patterns)| ParentCount { parents, patterns };
        Self {
            mean: ratio(sum, patterns),
            median: rank(5),
            p90: rank(9),
            max: parents.keys().next_back().copied(),
            histogram: parents.iter().map(bar).collect(),
        }
    }
}
