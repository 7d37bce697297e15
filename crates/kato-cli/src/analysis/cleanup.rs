//! A clean-up as a table of nodes.

use kato_evaluation::analysis::CleanupPlan;
use kato_evaluation::analysis::cleanup::{NodeCleanup, References};
use serde::Serialize;
use serde_json::Value;

use super::number;
use crate::inspect::View;
use crate::inspect::layout::table;

/// The effect of a clean-up, planned or done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cleanup {
    /// The store.
    pub(crate) kb: String,
    /// Patterns learned less often than this are rare.
    pub(crate) threshold: u64,
    /// Policy for a pattern that is too rare and part of another.
    pub(crate) references: References,
    /// Patterns that are removed, of all nodes.
    pub(crate) removed: u64,
    /// Whether they were removed, and not only planned to be.
    pub(crate) applied: bool,
    /// The nodes, from the bottom of the hierarchy up.
    pub(crate) nodes: Vec<NodeCleanup>,
    /// The index of what is left, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<Value>,
}

impl Cleanup {
    /// Creates the view of a plan that was not applied.
    #[must_use]
    pub(crate) fn planned(
        kb: String,
        threshold: u64,
        references: References,
        plan: &CleanupPlan,
    ) -> Self {
        Self {
            kb,
            threshold,
            references,
            removed: plan.removed(),
            applied: false,
            nodes: plan.nodes().to_vec(),
            index: None,
        }
    }
}

impl View for Cleanup {
    fn text(&self, _width: usize) -> String {
        let count = |count: u64| number(Some(count as f64));
        let row = |node: &NodeCleanup| {
            let counts = [
                node.patterns,
                node.below_threshold,
                node.kept_by_reference,
                node.removed_by_cascade,
                node.removed,
                node.left(),
                node.learns_removed,
            ];
            let name = std::iter::once(node.node.clone());
            name.chain(counts.map(count)).collect()
        };
        let rows: Vec<Vec<String>> = self.nodes.iter().map(row).collect();
        let header = [
            "node",
            "patterns",
            "rare",
            "kept",
            "cascaded",
            "go",
            "stay",
            "learn calls that go",
        ];
        table(&header, &rows)
    }
}
