//! Clean-up: what goes, what stays, and what is left of the hierarchy.

use kato_evaluation::analysis::cleanup::{NodeCleanup, References};
use kato_evaluation::analysis::{AnalysisError, CleanupOptions, CleanupPlan};
use kato_store::PatternStore;
use kato_store::conformance::{assert_same_content, content};
use proptest::prelude::*;
use serde_json::json;

use super::oracle::{dangling, doomed, held};
use super::support::{NODES, cases, hierarchies, small};

fn plan(store: &dyn PatternStore, threshold: u64, references: References) -> CleanupPlan {
    CleanupPlan::new(store, &CleanupOptions::new(threshold, references)).unwrap()
}

/// Removed, kept by reference, removed by cascade.
fn figures(plan: &CleanupPlan) -> Vec<(u64, u64, u64)> {
    let figures = |node: &NodeCleanup| {
        (
            node.removed,
            node.kept_by_reference,
            node.removed_by_cascade,
        )
    };
    plan.nodes().iter().map(figures).collect()
}

#[test]
fn keeping_follows_references_from_the_top_down() {
    let store = small().in_memory();
    // The parent of all is learned once, and goes first.
    let rare = plan(&store, 2, References::Keep);
    assert_eq!(figures(&rare), [(0, 1, 0), (1, 0, 0), (1, 0, 0)]);
    let node0 = &rare.nodes()[0];
    assert_eq!(
        (node0.below_threshold, node0.left(), node0.learns_removed),
        (1, 6, 0)
    );
    // Where the threshold counts only below, all above keep what they refer to.
    let mut options = CleanupOptions::new(100, References::Keep);
    options.nodes = Some(vec!["node0".to_owned(), "node1".to_owned()]);
    let below = CleanupPlan::new(&store, &options).unwrap();
    assert_eq!(figures(&below), [(2, 4, 0), (1, 2, 0), (0, 0, 0)]);
    assert_eq!(below.nodes()[0].learns_removed, 5 + 6);
}

#[test]
fn cascading_follows_references_from_the_bottom_up() {
    let store = small().in_memory();
    let rare = plan(&store, 2, References::Cascade);
    assert_eq!(figures(&rare), [(1, 0, 0), (2, 0, 1), (1, 0, 0)]);
    // Also into nodes that the threshold does not count for.
    let mut options = CleanupOptions::new(2, References::Cascade);
    options.nodes = Some(vec!["node0".to_owned()]);
    let above = CleanupPlan::new(&store, &options).unwrap();
    assert_eq!(figures(&above), [(1, 0, 0), (1, 0, 1), (1, 0, 1)]);
}

#[test]
fn a_plan_changes_nothing_until_it_is_applied_and_keeps_the_checkpoint() {
    let store = small().in_memory();
    let (before, checkpoint) = (content(&store), store.checkpoint());
    let plan = plan(&store, 100, References::Cascade);
    assert_eq!(
        (content(&store), store.checkpoint()),
        (before, checkpoint.clone())
    );
    assert_eq!(
        (plan.removed(), plan.doomed(0).len(), plan.doomed(7).len()),
        (10, 6, 0)
    );
    plan.apply(&store).unwrap();
    assert!(content(&store).iter().all(|node| node.patterns.is_empty()));
    assert_eq!(store.checkpoint(), checkpoint);
}

#[test]
fn a_plan_that_removes_nothing_commits_nothing() {
    let (_dir, store) = small().embedded();
    let commits = store.n_commits();
    plan(&store, 1, References::Cascade).apply(&store).unwrap();
    assert_eq!(store.n_commits(), commits);
}

#[test]
fn a_plan_for_another_state_is_refused() {
    let (_dir, store) = small().embedded();
    let made = plan(&store, 2, References::Keep);
    let refused = |store: &dyn PatternStore, what: &str| {
        let before = content(store);
        let refused = made.apply(store);
        assert!(
            matches!(refused, Err(AnalysisError::ChangedSince { .. })),
            "{what}: {refused:?}"
        );
        assert_eq!(content(store), before, "{what}");
    };
    let checkpoint = store.checkpoint();
    store.commit(Vec::new(), json!("moved on")).unwrap();
    refused(&store, "another checkpoint");
    let staged = store.stage(small().lessons.batch(&[0])).unwrap();
    store.commit(vec![staged], checkpoint.clone()).unwrap();
    refused(&store, "learned under the same checkpoint");
    // As many learn calls and symbols, of other patterns.
    let (_other_dir, other) = small().embedded();
    let name = small().lessons.name(1);
    other
        .forget(&[vec![name], Vec::new(), Vec::new()], checkpoint.clone())
        .unwrap();
    let staged = other.stage(small().lessons.batch(&[0, 0])).unwrap();
    other.commit(vec![staged], checkpoint).unwrap();
    refused(&other, "the same totals");
    let empty = kato_store::MemoryStore::new(&["other"], json!(null));
    refused(&empty, "another store");
}

#[test]
fn unknown_nodes_are_named() {
    let mut options = CleanupOptions::new(2, References::Keep);
    options.nodes = Some(vec!["node9".to_owned()]);
    let refused = CleanupPlan::new(&small().in_memory(), &options).unwrap_err();
    let source = std::error::Error::source(&refused).unwrap().to_string();
    assert_eq!(
        source,
        r#"there is no node "node9" here; the nodes are node0, node1, node2"#
    );
}

#[test]
fn training_that_goes_on_counts_what_was_forgotten_anew() {
    let hierarchy = small();
    let store = hierarchy.in_memory();
    plan(&store, 3, References::Cascade).apply(&store).unwrap();
    assert_eq!(store.checkpoint(), json!({"commit": 2}));
    let staged = store.stage(hierarchy.lessons.batch(&[0, 5])).unwrap();
    store.commit(vec![staged], json!({"commit": 3})).unwrap();
    let frequency = |idx| {
        let pattern = store.pattern(0, &hierarchy.lessons.name(idx)).unwrap();
        pattern.map(|pattern| pattern.frequency)
    };
    assert_eq!(
        (frequency(0), frequency(1), frequency(5)),
        (Some(1), None, Some(7))
    );
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn plans_are_those_of_the_oracle_and_leave_no_reference_to_nowhere(
        hierarchy in hierarchies(),
        threshold in 0_u64..6,
        cascade: bool,
        chosen in prop::array::uniform3(prop::bool::weighted(0.7)),
    ) {
        let references = if cascade { References::Cascade } else { References::Keep };
        let nodes = NODES.iter().zip(chosen).filter(|(_, chosen)| *chosen);
        let mut options = CleanupOptions::new(threshold, references);
        options.nodes = Some(nodes.map(|(node, _)| (*node).to_owned()).collect());
        let store = hierarchy.in_memory();
        let (_dir, embedded) = hierarchy.embedded();
        let before = held(&store);
        let made = CleanupPlan::new(&store, &options).unwrap();
        let expected = doomed(&before, threshold, references, &chosen);
        for (node_idx, expected) in expected.iter().enumerate() {
            let expected: Vec<_> = expected.iter().copied().collect();
            prop_assert_eq!(made.doomed(node_idx), &expected);
            let node = &made.nodes()[node_idx];
            let gone: u64 = expected.iter().map(|name| before[node_idx][name].frequency).sum();
            prop_assert_eq!((node.removed, node.learns_removed), (expected.len() as u64, gone));
            let arithmetic = node.below_threshold - node.kept_by_reference + node.removed_by_cascade;
            prop_assert_eq!(node.removed, arithmetic);
        }
        if threshold <= 1 {
            prop_assert_eq!(made.removed(), 0);
        }

        made.apply(&store).unwrap();
        let after = held(&store);
        prop_assert!(dangling(&after).is_subset(&dangling(&before)));
        let left = store.totals(0).unwrap().learns;
        let node = &made.nodes()[0];
        prop_assert_eq!(left, node.learns - node.learns_removed);

        // Once is enough.
        let again = CleanupPlan::new(&store, &options).unwrap();
        prop_assert_eq!(again.removed(), 0);

        // Every store does the same.
        let same = CleanupPlan::new(&embedded, &options).unwrap();
        prop_assert_eq!(same.nodes(), made.nodes());
        same.apply(&embedded).unwrap();
        assert_same_content(&embedded, &store, hierarchy.lessons.len() as u64);
        prop_assert_eq!(embedded.checkpoint(), store.checkpoint());
    }
}
