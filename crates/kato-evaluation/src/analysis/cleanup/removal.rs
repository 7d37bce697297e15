//! Selects the patterns that a clean-up removes.

use std::collections::HashSet;

use kato_model::PatternName;
use kato_store::PatternStore;

use super::NodeCleanup;
use crate::analysis::AnalysisError;
use crate::analysis::level::{Bits, Level};
use crate::analysis::references::{self, Reference};

/// The patterns of a node that are removed.
#[derive(Debug)]
pub(super) struct Removal {
    pub(super) counts: NodeCleanup,
    /// In order.
    pub(super) names: Vec<PatternName>,
    /// Digest of all that the node holds.
    pub(super) digest: String,
}

impl Removal {
    /// Returns whether a pattern is removed.
    fn removes(&self, name: &PatternName) -> bool {
        self.names.binary_search(name).is_ok()
    }
}

/// Selects from the top down: what a pattern that stays refers to stays.
pub(super) fn keep(
    store: &dyn PatternStore,
    threshold: u64,
    applies_threshold: &[bool],
) -> Result<Vec<Removal>, AnalysisError> {
    let mut found = Vec::new();
    let mut above: Option<MarkedLevel> = None;
    // What stays refers to these, and no node in between holds them: names that were promoted.
    let mut further_down = HashSet::new();
    // A node's fate is final once the node above is decided, hence the direction; two neighbouring
    // levels are in memory at a time.
    for node_idx in (0..applies_threshold.len()).rev() {
        let mut node = MarkedLevel::load(store, node_idx, threshold, applies_threshold[node_idx])?;
        if let Some(above) = &above {
            let mut needed = Bits::zeros(node.level.names.len());
            references::visit(
                store,
                node_idx + 1,
                &above.level,
                &node.level,
                |parent, children| {
                    // Several sources may show a parent again. Setting a bit twice changes nothing.
                    if above.is_removed(parent) {
                        return;
                    }
                    for child in children {
                        match child.position {
                            Some(position) => {
                                needed.set(position);
                            }
                            None => {
                                further_down.insert(child.name);
                            }
                        }
                    }
                },
            )?;
            further_down.retain(|name| match node.level.names.position(name) {
                Some(position) => {
                    needed.set(position);
                    false
                }
                None => true,
            });
            node.kept = Some(needed);
        }
        found.push(node.removal());
        above = Some(node);
    }
    found.reverse();
    Ok(found)
}

/// Selects from the bottom up: a pattern that refers to one that is removed is removed too.
pub(super) fn cascade(
    store: &dyn PatternStore,
    threshold: u64,
    applies_threshold: &[bool],
) -> Result<Vec<Removal>, AnalysisError> {
    let mut found: Vec<Removal> = Vec::new();
    let mut below: Option<MarkedLevel> = None;
    for (node_idx, &applies_threshold) in applies_threshold.iter().enumerate() {
        let mut node = MarkedLevel::load(store, node_idx, threshold, applies_threshold)?;
        if let Some(below) = &below {
            let mut broken = Bits::zeros(node.level.names.len());
            references::visit(
                store,
                node_idx,
                &node.level,
                &below.level,
                |parent, children| {
                    // References that led nowhere before do not break their parent.
                    let is_removed = |child: &Reference| match child.position {
                        Some(position) => below.is_removed(position),
                        // A name that was promoted is further down.
                        None => found.iter().any(|node| node.removes(&child.name)),
                    };
                    if children.iter().any(is_removed) {
                        broken.set(parent);
                    }
                },
            )?;
            node.broken = Some(broken);
        }
        found.push(node.removal());
        below = Some(node);
    }
    Ok(found)
}

/// A level, with what has been decided about its patterns.
struct MarkedLevel {
    level: Level,
    /// Frequencies below this one are too rare.
    threshold: u64,
    /// Patterns that are part of a pattern that stays.
    kept: Option<Bits>,
    /// Patterns that refer to one that is removed.
    broken: Option<Bits>,
}

impl MarkedLevel {
    /// Reads a level; the threshold applies to it only if `applies_threshold` is set.
    fn load(
        store: &dyn PatternStore,
        node_idx: usize,
        threshold: u64,
        applies_threshold: bool,
    ) -> Result<Self, AnalysisError> {
        Ok(Self {
            level: Level::load(store, node_idx)?,
            // No frequency is below 0, so nothing is rare where the threshold does not apply.
            threshold: if applies_threshold { threshold } else { 0 },
            kept: None,
            broken: None,
        })
    }

    /// Returns whether a pattern is below the threshold.
    fn is_rare(&self, position: usize) -> bool {
        self.level.frequencies.get(position) < self.threshold
    }

    /// Returns whether a pattern is kept by a reference.
    fn is_kept(&self, position: usize) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.get(position))
    }

    /// Returns whether a pattern refers to one that is removed.
    fn is_broken(&self, position: usize) -> bool {
        self.broken
            .as_ref()
            .is_some_and(|broken| broken.get(position))
    }

    /// Returns whether a pattern is removed.
    fn is_removed(&self, position: usize) -> bool {
        // Only one of the two marks exists, depending on how references are treated.
        self.is_rare(position) && !self.is_kept(position) || self.is_broken(position)
    }

    /// Returns names and counts of the patterns that are removed.
    fn removal(&self) -> Removal {
        let mut counts = NodeCleanup {
            node: self.level.node.clone(),
            patterns: self.level.names.len() as u64,
            learns: 0,
            below_threshold: 0,
            kept_by_reference: 0,
            removed_by_cascade: 0,
            removed: 0,
            learns_removed: 0,
        };
        let mut names = Vec::new();
        for (position, name) in self.level.names.iter().enumerate() {
            let frequency = self.level.frequencies.get(position);
            let is_rare = self.is_rare(position);
            counts.learns = counts.learns.saturating_add(frequency);
            counts.below_threshold += u64::from(is_rare);
            counts.kept_by_reference += u64::from(is_rare && self.is_kept(position));
            if self.is_removed(position) {
                counts.removed += 1;
                counts.removed_by_cascade += u64::from(!is_rare);
                counts.learns_removed = counts.learns_removed.saturating_add(frequency);
                names.push(name);
            }
        }
        Removal {
            counts,
            names,
            digest: self.level.digest.clone(),
        }
    }
}
