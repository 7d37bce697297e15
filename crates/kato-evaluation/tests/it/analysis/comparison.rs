//! Comparing two snapshots.

use kato_evaluation::analysis::cleanup::References;
use kato_evaluation::analysis::comparison::MetricDifference;
use kato_evaluation::analysis::{
    CleanupOptions, CleanupPlan, Snapshot, SnapshotComparison, SnapshotOptions,
};
use kato_store::{MemoryStore, PatternStore};
use serde_json::Value;

use super::support::small;

fn snapshot(store: &dyn PatternStore) -> Snapshot {
    Snapshot::from_store(store, &SnapshotOptions::default()).unwrap()
}

fn metric<'a>(
    comparison: &'a SnapshotComparison,
    level: usize,
    name: &str,
) -> &'a MetricDifference {
    let metrics = &comparison.levels[level].metrics;
    metrics.iter().find(|metric| metric.metric == name).unwrap()
}

#[test]
fn a_snapshot_equals_itself_and_that_of_another_store() {
    let (_dir, embedded) = small().embedded();
    let comparison = SnapshotComparison::new(&snapshot(&small().in_memory()), &snapshot(&embedded));
    assert!(comparison.equal && comparison.levels.iter().all(|level| level.equal));
    let metrics = comparison.levels.iter().flat_map(|level| &level.metrics);
    assert!(
        metrics
            .chain(&comparison.totals)
            .all(|metric| metric.absolute.unwrap_or(0.0) == 0.0)
    );
}

#[test]
fn names_of_nodes_make_no_difference_to_the_knowledge() {
    let renamed = MemoryStore::new(&["run_node0", "run_node1", "run_node2"], Value::Null);
    small().teach(&renamed);
    let comparison = SnapshotComparison::new(&snapshot(&small().in_memory()), &snapshot(&renamed));
    assert!(comparison.equal);
    let level = &comparison.levels[1];
    assert_eq!(
        (level.before.as_deref(), level.after.as_deref()),
        (Some("node1"), Some("run_node1"))
    );
}

#[test]
fn differences_are_absolute_and_relative() {
    let store = small().in_memory();
    let before = snapshot(&store);
    let plan = CleanupPlan::new(&store, &CleanupOptions::new(3, References::Keep)).unwrap();
    plan.apply(&store).unwrap();
    let comparison = SnapshotComparison::new(&before, &snapshot(&store));
    assert!(!comparison.equal && !comparison.levels[2].equal);
    // Only the parent learned three times, its child, and what is frequent enough are left.
    let patterns = metric(&comparison, 0, "patterns");
    assert_eq!((patterns.before, patterns.after), (Some(6.0), Some(4.0)));
    assert_eq!(
        (patterns.absolute, patterns.relative),
        (Some(-2.0), Some(-2.0 / 6.0))
    );
    // What was zero has no relative difference.
    let dangling = metric(&comparison, 0, "dangling");
    assert_eq!((dangling.absolute, dangling.relative), (Some(0.0), None));
    // The top level has no link, and nothing was counted for an empty one.
    let coverage = metric(&comparison, 2, "coverage");
    assert_eq!(
        (coverage.before, coverage.after, coverage.absolute),
        (None, None, None)
    );
    assert_eq!(metric(&comparison, 2, "mean_frequency").absolute, None);
    assert_eq!(comparison.totals[0].absolute, Some(-5.0));
}

#[test]
fn hierarchies_of_different_height_are_compared_as_far_as_they_go() {
    let low = MemoryStore::new(&["node0"], Value::Null);
    let comparison = SnapshotComparison::new(&snapshot(&low), &snapshot(&small().in_memory()));
    assert_eq!((comparison.levels.len(), comparison.equal), (3, false));
    assert_eq!(comparison.levels[1].before, None);
    let patterns = metric(&comparison, 1, "patterns");
    assert_eq!(
        (patterns.before, patterns.after, patterns.absolute),
        (None, Some(3.0), None)
    );
}
