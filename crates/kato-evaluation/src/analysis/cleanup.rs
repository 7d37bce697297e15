//! Clean-up: removes rare patterns with regard to the node above. A plan is made first and applied
//! afterwards.

mod removal;

use kato_model::PatternName;
use kato_store::contract::Totals;
use kato_store::{KnowledgeBase, PatternStore};
use serde::Serialize;
use serde_json::Value;

use crate::analysis::AnalysisError;
use crate::analysis::level::LevelDigest;

/// Options of a clean-up: what is removed, and where.
///
/// ```
/// use kato_evaluation::analysis::CleanupOptions;
/// use kato_evaluation::analysis::cleanup::References;
///
/// let mut options = CleanupOptions::new(2, References::Cascade);
/// options.nodes = Some(vec!["node0".to_owned()]);
/// assert_eq!(options.threshold, 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanupOptions {
    /// Patterns learned less often are removed; 0 and 1 remove nothing.
    pub threshold: u64,
    /// The treatment of a pattern that is to be removed while it is part of one that is to stay.
    pub references: References,
    /// Nodes to which the threshold applies, by name; `None` for all. References are followed in
    /// every node.
    pub nodes: Option<Vec<String>>,
}

impl CleanupOptions {
    /// Creates options for all nodes.
    #[must_use]
    pub fn new(threshold: u64, references: References) -> Self {
        Self {
            threshold,
            references,
            nodes: None,
        }
    }
}

/// The treatment of a pattern that is too rare while it is part of a pattern of the node above.
/// Either way no reference leads nowhere that led somewhere before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum References {
    /// It stays as long as a pattern that refers to it stays: from the top of the hierarchy down.
    Keep,
    /// The pattern that refers to it is removed as well, however frequent: from the bottom up.
    Cascade,
}

/// The patterns that a clean-up would remove, ready to be removed.
///
/// With 98 to 99.6 % of the patterns of real text learned once, a threshold of 2 leaves little:
/// look at the plan first.
///
/// **Training that continues afterwards** is correct: the store's checkpoint stays, so nothing is
/// read twice or left out. A pattern that was forgotten and is learned again begins at frequency 1,
/// so the counts are those since the clean-up, and no longer those of an uninterrupted run.
#[derive(Debug, Clone)]
pub struct CleanupPlan {
    nodes: Vec<NodeCleanup>,
    /// Names to remove, by node.
    to_remove: Vec<Vec<PatternName>>,
    /// The state for which the plan was made.
    checkpoint: Value,
    totals: Vec<Totals>,
    digests: Vec<String>,
}

/// The effect of a clean-up on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NodeCleanup {
    /// Its name.
    pub node: String,
    /// Patterns that it holds.
    pub patterns: u64,
    /// Learn calls of these.
    pub learns: u64,
    /// Patterns below the threshold.
    pub below_threshold: u64,
    /// Of these, patterns that stay because a pattern above refers to them.
    pub kept_by_reference: u64,
    /// Patterns that are removed although they are frequent enough, because they refer to one that
    /// is removed.
    pub removed_by_cascade: u64,
    /// Patterns that are removed: below the threshold, less those kept, and those of the cascade.
    pub removed: u64,
    /// Learn calls of the removed patterns.
    pub learns_removed: u64,
}

impl NodeCleanup {
    /// Returns the number of patterns that stay.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.patterns - self.removed
    }
}

impl CleanupPlan {
    /// Makes a plan, which changes nothing.
    ///
    /// Reads names and frequencies of every node once, and once the content of all but the lowest.
    ///
    /// Memory: 24 bytes for each pattern of two neighbouring nodes at a time, 20 for every pattern
    /// that is removed, 8 for each symbol of one source of a visit, and some 30 for each name that went up
    /// past a node.
    ///
    /// # Errors
    ///
    /// [`AnalysisError::Node`] when the store lacks a node that the options name,
    /// [`AnalysisError::Read`] when any node cannot be read, [`AnalysisError::ChangedMeanwhile`]
    /// when it shows that the store is written to at the same time.
    pub fn new(store: &dyn PatternStore, options: &CleanupOptions) -> Result<Self, AnalysisError> {
        let applies_threshold = applies_threshold(store, options)?;
        // Taken before the patterns are read: if the store is written to meanwhile, they no longer
        // match when the plan is applied, and it is refused.
        let checkpoint = store.checkpoint();
        let totals = totals(store)?;
        let found = match options.references {
            References::Keep => removal::keep(store, options.threshold, &applies_threshold)?,
            References::Cascade => removal::cascade(store, options.threshold, &applies_threshold)?,
        };
        let mut plan = Self {
            nodes: Vec::new(),
            to_remove: Vec::new(),
            checkpoint,
            totals,
            digests: Vec::new(),
        };
        for node in found {
            plan.nodes.push(node.counts);
            plan.to_remove.push(node.names);
            plan.digests.push(node.digest);
        }
        Ok(plan)
    }

    /// Returns the effect on each node, from the bottom of the hierarchy up.
    #[must_use]
    pub fn nodes(&self) -> &[NodeCleanup] {
        &self.nodes
    }

    /// Returns the names of the patterns of a node that would be removed, in order; empty for nodes
    /// that do not exist.
    #[must_use]
    pub fn doomed(&self, node_idx: usize) -> &[PatternName] {
        self.to_remove.get(node_idx).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of patterns of all nodes that would be removed.
    #[must_use]
    pub fn removed(&self) -> u64 {
        self.nodes.iter().map(|node| node.removed).sum()
    }

    /// Removes what the plan names, in one commit that keeps the checkpoint; nothing is committed
    /// when nothing is to be removed.
    ///
    /// Reads all names and frequencies once more, to check that they are those of the plan. Other
    /// writers have to be held off until it returns.
    ///
    /// # Errors
    ///
    /// [`AnalysisError::ChangedSince`] when the store is not what the plan was made for,
    /// [`AnalysisError::Read`]; then nothing was removed. [`AnalysisError::Forget`].
    pub fn apply(&self, store: &dyn PatternStore) -> Result<(), AnalysisError> {
        self.check(store)?;
        if self.removed() == 0 {
            return Ok(());
        }
        // The same checkpoint, so that a training run that is resumed goes on where it was.
        let checkpoint = self.checkpoint.clone();
        store
            .forget(&self.to_remove, checkpoint)
            .map_err(|source| AnalysisError::Forget { source })
    }

    /// Checks that the store is the one for which the plan was made, in the same state.
    fn check(&self, store: &dyn PatternStore) -> Result<(), AnalysisError> {
        let changed = |node: &str| AnalysisError::ChangedSince {
            node: node.to_owned(),
        };
        let planned = self.nodes.iter().map(|node| &node.node);
        let first = self.nodes.first().map_or("the store", |node| &node.node);
        if !planned.eq(store.nodes()) || store.checkpoint() != self.checkpoint {
            return Err(changed(first));
        }
        // Cheap, and enough to detect most changes before everything is read.
        for (planned, now) in self
            .nodes
            .iter()
            .zip(self.totals.iter().zip(totals(store)?))
        {
            if *now.0 != now.1 {
                return Err(changed(&planned.node));
            }
        }
        // Totals can agree by chance and checkpoints can be committed again; the digest of all
        // names and frequencies settles it.
        for (node_idx, node) in self.nodes.iter().enumerate() {
            if LevelDigest::compute(store, node_idx)? != self.digests[node_idx] {
                return Err(changed(&node.node));
            }
        }
        Ok(())
    }
}

/// Returns whether the threshold applies to each node.
fn applies_threshold(
    store: &dyn PatternStore,
    options: &CleanupOptions,
) -> Result<Vec<bool>, AnalysisError> {
    let Some(names) = &options.nodes else {
        return Ok(vec![true; store.nodes().len()]);
    };
    let mut applies_threshold = vec![false; store.nodes().len()];
    for name in names {
        let node = KnowledgeBase::new(store, name);
        let node = node.map_err(|source| AnalysisError::Node { source })?;
        applies_threshold[node.node_idx()] = true;
    }
    Ok(applies_threshold)
}

/// Returns the totals of all nodes.
fn totals(store: &dyn PatternStore) -> Result<Vec<Totals>, AnalysisError> {
    let read = |node: KnowledgeBase<'_>| node.totals().map_err(AnalysisError::read(node.name()));
    KnowledgeBase::all(store).map(read).collect()
}
