//! A table matched with a tree: what distances are computed from.

use std::collections::HashMap;

use crate::check::{Check, FindingKind, examine};
use crate::compute;
use crate::error::UnifracError;
use crate::matrix::{DistanceMatrix, DistanceRows};
use crate::metric::Metric;
use crate::options::{ComputeOptions, MatchOptions};
use crate::table::Table;
use crate::tree::Tree;

/// Samples as counts at the tips of a tree, checked.
///
/// ```
/// use kato_unifrac::{Community, ComputeOptions, MatchOptions, Metric, Table, Tree};
///
/// let table = Table::from_classic("#OTU ID\ts1\ts2\na\t3\t0\nb\t1\t2\n")?;
/// let tree = Tree::from_newick("(a:1,b:2);")?;
/// let community = Community::new(&table, &tree, MatchOptions::default())?;
/// let distances = community.distances(Metric::Unweighted, ComputeOptions::default())?;
/// // Both hold the branch of `b`, of length 2, and one that of `a`, of length 1.
/// assert_eq!(distances.get(0, 1), 1.0 / 3.0);
/// assert_eq!(community.faith_pd(ComputeOptions::default())?, [3.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Community {
    sample_ids: Vec<String>,
    // By branch; the root's parent is itself.
    parents: Vec<u32>,
    lengths: Vec<f64>,
    // Sample `s` has the entries from `ends[s - 1]` to `ends[s]`.
    ends: Vec<usize>,
    tips: Vec<u32>,
    counts: Vec<f64>,
    totals: Vec<f64>,
    check: Check,
    left_out: LeftOut,
}

/// What the options of matching left out.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LeftOut {
    /// Features that are no tips of the tree.
    pub features: Vec<String>,
    /// The sum of their counts.
    pub count: f64,
    /// Samples that hold nothing of the tree.
    pub samples: Vec<String>,
}

impl Community {
    /// Matches a table with a tree.
    ///
    /// # Errors
    ///
    /// [`Refused`](UnifracError::Refused) with all findings of [`check`](crate::check()), if one of
    /// them stands in the way of these options.
    pub fn new(table: &Table, tree: &Tree, options: MatchOptions) -> Result<Self, UnifracError> {
        let matched = examine(table, tree);
        if !matched.check.passes(options) {
            return Err(UnifracError::Refused(Box::new(matched.check)));
        }
        // Absent lengths are NaN, and `max` gives the other of the two then.
        let mut lengths: Vec<_> = tree.lengths.iter().map(|length| length.max(0.0)).collect();
        // No distance goes above the root.
        lengths[tree.root()] = 0.0;
        let mut community = Self {
            sample_ids: Vec::new(),
            parents: tree.parents.clone(),
            lengths,
            ends: Vec::new(),
            tips: Vec::new(),
            counts: Vec::new(),
            totals: Vec::new(),
            check: matched.check,
            left_out: LeftOut::default(),
        };
        for sample in 0..table.n_samples() {
            community.push(table, sample, &matched.tips);
        }
        if community
            .check
            .finding(FindingKind::UnknownFeatures)
            .is_some()
        {
            let unknown = table.feature_ids().iter().zip(&matched.tips);
            let unknown = unknown
                .filter(|(_, tip)| tip.is_none())
                .map(|(id, _)| id.clone());
            community.left_out.features = unknown.collect();
        }
        Ok(community)
    }

    /// Appends a sample of the table, or leaves it out if it holds nothing.
    fn push(&mut self, table: &Table, sample: usize, tip_of_feature: &[Option<u32>]) {
        let mut total = 0.0;
        for (feature, count) in table.sample(sample) {
            let Some(tip) = tip_of_feature[feature] else {
                self.left_out.count += count;
                continue;
            };
            self.tips.push(tip);
            self.counts.push(count);
            total += count;
        }
        let id = table.sample_ids()[sample].clone();
        if total > 0.0 {
            self.sample_ids.push(id);
            self.ends.push(self.tips.len());
            self.totals.push(total);
        } else {
            self.left_out.samples.push(id);
        }
    }

    /// Returns the names of the samples, in the order of all results.
    #[must_use]
    pub fn sample_ids(&self) -> &[String] {
        &self.sample_ids
    }

    /// Returns the number of samples, without those left out.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.sample_ids.len()
    }

    /// Returns all findings, those that the options pass over included.
    #[must_use]
    pub const fn check(&self) -> &Check {
        &self.check
    }

    /// Returns what was left out.
    #[must_use]
    pub const fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Computes the distances of all pairs of samples.
    ///
    /// The result has the same bits for any number of threads and any limit of memory. Cost grows
    /// with the pairs of samples that share a branch, summed over branches.
    ///
    /// # Errors
    ///
    /// The metric's α or the limit of memory is out of range, or threads cannot be started.
    pub fn distances(
        &self,
        metric: Metric,
        options: ComputeOptions,
    ) -> Result<DistanceMatrix, UnifracError> {
        let condensed = compute::all_pairs(self, metric.checked()?, options)?;
        Ok(DistanceMatrix::new(self.sample_ids.clone(), condensed))
    }

    /// Computes the distances of a few samples to all samples, without the other pairs.
    ///
    /// They have the bits that [`distances`](Self::distances) gives.
    ///
    /// # Errors
    ///
    /// As for [`distances`](Self::distances); or there is no sample of a name.
    pub fn distances_of(
        &self,
        samples: &[impl AsRef<str>],
        metric: Metric,
        options: ComputeOptions,
    ) -> Result<DistanceRows, UnifracError> {
        let places: HashMap<_, _> = self
            .sample_ids
            .iter()
            .enumerate()
            .map(|(i, id)| (id.as_str(), i as u32))
            .collect();
        let place = |sample: &str| {
            let unknown = || UnifracError::UnknownSample {
                sample: sample.to_owned(),
            };
            places.get(sample).copied().ok_or_else(unknown)
        };
        let rows = samples.iter().map(|sample| place(sample.as_ref()));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let row_ids = samples
            .iter()
            .map(|sample| sample.as_ref().to_owned())
            .collect();
        let values = compute::given_rows(self, rows, metric.checked()?, options)?;
        Ok(DistanceRows::new(row_ids, self.sample_ids.clone(), values))
    }

    /// Computes Faith's PD: the length of all branches that a sample holds, for each sample.
    ///
    /// Source: Faith, Biological Conservation 61 (1992).
    ///
    /// # Errors
    ///
    /// Threads cannot be started.
    pub fn faith_pd(&self, options: ComputeOptions) -> Result<Vec<f64>, UnifracError> {
        compute::faith_pd(self, options)
    }

    pub(crate) fn parents(&self) -> &[u32] {
        &self.parents
    }

    pub(crate) fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    pub(crate) fn total(&self, sample: usize) -> f64 {
        self.totals[sample]
    }

    /// Returns the tips that a sample holds, and their counts.
    pub(crate) fn held_tips(&self, sample: usize) -> (&[u32], &[f64]) {
        let start = sample.checked_sub(1).map_or(0, |i| self.ends[i]);
        let range = start..self.ends[sample];
        (&self.tips[range.clone()], &self.counts[range])
    }
}
