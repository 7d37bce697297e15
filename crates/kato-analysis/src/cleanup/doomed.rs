//! Which patterns go.

use kato_model::PatternName;
use kato_store::PatternStore;

use super::NodeCleanup;
use crate::AnalysisError;
use crate::level::{Bits, Level};
use crate::references;

/// The patterns of a node that go.
#[derive(Debug)]
pub(super) struct Doomed {
    pub(super) counts: NodeCleanup,
    /// In order.
    pub(super) names: Vec<PatternName>,
    /// Of all that the node holds.
    pub(super) digest: String,
}

/// From the top down: what a pattern that stays refers to stays.
pub(super) fn keep(
    store: &dyn PatternStore,
    threshold: u64,
    chosen: &[bool],
) -> Result<Vec<Doomed>, AnalysisError> {
    let mut found = Vec::new();
    let mut above: Option<Marked> = None;
    for node_idx in (0..chosen.len()).rev() {
        let mut node = Marked::load(store, node_idx, threshold, chosen[node_idx])?;
        if let Some(above) = &above {
            let mut needed = Bits::zeros(node.level.names.len());
            references::visit(
                store,
                node_idx + 1,
                &above.level,
                &node.level,
                |parent, children| {
                    if !above.goes(parent) {
                        for child in children.iter().filter_map(|child| child.position) {
                            needed.set(child);
                        }
                    }
                },
            )?;
            node.kept = Some(needed);
        }
        found.push(node.doomed());
        above = Some(node);
    }
    found.reverse();
    Ok(found)
}

/// From the bottom up: what refers to a pattern that goes, goes.
pub(super) fn cascade(
    store: &dyn PatternStore,
    threshold: u64,
    chosen: &[bool],
) -> Result<Vec<Doomed>, AnalysisError> {
    let mut found = Vec::new();
    let mut below: Option<Marked> = None;
    for (node_idx, &chosen) in chosen.iter().enumerate() {
        let mut node = Marked::load(store, node_idx, threshold, chosen)?;
        if let Some(below) = &below {
            let mut broken = Bits::zeros(node.level.names.len());
            references::visit(
                store,
                node_idx,
                &node.level,
                &below.level,
                |parent, children| {
                    let mut children = children.iter().filter_map(|child| child.position);
                    if children.any(|child| below.goes(child)) {
                        broken.set(parent);
                    }
                },
            )?;
            node.broken = Some(broken);
        }
        found.push(node.doomed());
        below = Some(node);
    }
    Ok(found)
}

/// A level, and what is known of its patterns.
struct Marked {
    level: Level,
    /// Frequencies below this one are too rare.
    threshold: u64,
    /// Patterns that a pattern refers to that stays.
    kept: Option<Bits>,
    /// Patterns that refer to one that goes.
    broken: Option<Bits>,
}

impl Marked {
    fn load(
        store: &dyn PatternStore,
        node_idx: usize,
        threshold: u64,
        chosen: bool,
    ) -> Result<Self, AnalysisError> {
        Ok(Self {
            level: Level::load(store, node_idx)?,
            threshold: if chosen { threshold } else { 0 },
            kept: None,
            broken: None,
        })
    }

    fn is_rare(&self, position: usize) -> bool {
        self.level.frequencies.get(position) < self.threshold
    }

    fn is_kept(&self, position: usize) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.get(position))
    }

    fn is_broken(&self, position: usize) -> bool {
        self.broken
            .as_ref()
            .is_some_and(|broken| broken.get(position))
    }

    fn goes(&self, position: usize) -> bool {
        self.is_rare(position) && !self.is_kept(position) || self.is_broken(position)
    }

    fn doomed(&self) -> Doomed {
        let mut counts = NodeCleanup {
            node: self.level.node.clone(),
            patterns: self.level.names.len() as u64,
            observations: 0,
            below_threshold: 0,
            kept_by_reference: 0,
            removed_by_cascade: 0,
            removed: 0,
            observations_removed: 0,
        };
        let mut names = Vec::new();
        for (position, name) in self.level.names.iter().enumerate() {
            let frequency = self.level.frequencies.get(position);
            let is_rare = self.is_rare(position);
            counts.observations = counts.observations.saturating_add(frequency);
            counts.below_threshold += u64::from(is_rare);
            counts.kept_by_reference += u64::from(is_rare && self.is_kept(position));
            if self.goes(position) {
                counts.removed += 1;
                counts.removed_by_cascade += u64::from(!is_rare);
                counts.observations_removed = counts.observations_removed.saturating_add(frequency);
                names.push(name);
            }
        }
        Doomed {
            counts,
            names,
            digest: self.level.digest.clone(),
        }
    }
}
