//! Snapshots: against numbers worked out by hand and by the oracle, the same for every store, and
//! as JSON.

use std::collections::{BTreeMap, BTreeSet};

use kato_evaluation::analysis::growth::PatternGrowth;
use kato_evaluation::analysis::{AnalysisError, Snapshot, SnapshotOptions};
use kato_model::PatternName;
use kato_store::{MemoryStore, PatternStore};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::oracle::{Held, children, entropy, held, joint, marginal};
use super::support::{cases, hierarchies, small};

fn snapshot(store: &dyn PatternStore) -> Snapshot {
    Snapshot::from_store(store, &SnapshotOptions::default()).unwrap()
}

fn assert_close(found: Option<f64>, expected: Option<f64>, what: &str) {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            assert!(
                (found - expected).abs() < 1e-9,
                "{what}: {found}, {expected}"
            );
        }
        _ => assert_eq!(found, expected, "{what}"),
    }
}

#[test]
fn a_small_hierarchy_has_the_numbers_worked_out_by_hand() {
    let found = snapshot(&small().in_memory());
    assert_eq!((found.patterns, found.learns), (10, 21 + 6 + 1));
    let [node0, node1, node2] = found.nodes.as_slice() else {
        unreachable!("three nodes were taught")
    };
    assert_eq!(node0.utilisation, Some(0.6));
    assert_eq!(node0.tokens_per_pattern, Some(42.0 / 6.0));
    assert_eq!(node1.tokens_per_pattern, Some(42.0 / 3.0));
    assert_eq!((node0.top[0].frequency, node0.top[0].length), (6, 2));
    assert_eq!(node1.top[0].frequency, 3);
    assert_eq!(node2.entropy, Some(0.0));
    let [low, high] = found.links.as_slice() else {
        unreachable!("three nodes have two links")
    };
    assert_eq!((low.lower.as_str(), low.upper.as_str()), ("node0", "node1"));
    assert_eq!(low.compression, Some(2.0));
    assert_eq!(low.observation_compression, Some(21.0 / 6.0));
    assert_eq!((low.orphans, low.coverage), (1, Some(5.0 / 6.0)));
    assert_eq!(low.reuse.mean, Some(5.0 / 6.0));
    assert_eq!(
        (low.reuse.median, low.reuse.p90, low.reuse.max),
        (Some(1), Some(1), Some(1))
    );
    // Three, two and one children.
    assert_eq!(
        (low.branching.mean, low.branching.min, low.branching.max),
        (Some(2.0), Some(1), Some(3))
    );
    assert_close(
        low.branching.standard_deviation,
        Some((2.0_f64 / 3.0).sqrt()),
        "deviation",
    );
    assert_eq!((high.orphans, high.dangling), (1, 0));
    assert_eq!(
        low.similarity
            .map(|found| (found.mean_jaccard, found.pairs)),
        Some((0.0, 3))
    );
    assert_eq!(high.similarity, None);
}

#[test]
fn nothing_learned_is_counted_as_nothing() {
    let store = MemoryStore::new(&["node0", "node1"], Value::Null);
    let found = snapshot(&store);
    assert_eq!((found.patterns, found.learns), (0, 0));
    let node = &found.nodes[1];
    assert_eq!(
        (node.utilisation, node.entropy, node.tokens_per_pattern),
        (None, None, None)
    );
    let link = &found.links[0];
    assert_eq!(
        (link.coverage, link.orphan_rate, link.compression),
        (None, None, None)
    );
    assert_eq!(
        (&link.information, link.reuse.max, link.branching.max),
        (&None, None, None)
    );
    let none: [&str; 0] = [];
    let no_nodes = snapshot(&MemoryStore::new(&none, Value::Null));
    assert_eq!((no_nodes.nodes.len(), no_nodes.links.len()), (0, 0));
}

/// Checks a link against the maps of its nodes.
fn check_link(found: &Snapshot, held: &Held, idx: usize) {
    let (lower, upper) = (&held[idx], &held[idx + 1]);
    let link = &found.links[idx];
    let mut parents: BTreeMap<PatternName, u64> = lower.keys().map(|name| (*name, 0)).collect();
    for pattern in upper.values() {
        for child in children(pattern).into_iter().collect::<BTreeSet<_>>() {
            parents.entry(child).and_modify(|parents| *parents += 1);
        }
    }
    let mut counts: Vec<u64> = parents.into_values().collect();
    counts.sort_unstable();
    let orphans = counts.iter().filter(|&&parents| parents == 0).count() as u64;
    assert_eq!(link.orphans, orphans);
    let n = counts.len();
    assert_eq!(link.reuse.max, counts.last().copied());
    assert_eq!(
        link.reuse.median,
        (n > 0).then(|| counts[n.div_ceil(2) - 1])
    );
    assert_eq!(
        link.reuse.p90,
        (n > 0).then(|| counts[(9 * n).div_ceil(10) - 1])
    );
    let mean = counts.iter().sum::<u64>() as f64 / n as f64;
    assert_close(link.reuse.mean, (n > 0).then_some(mean), "mean parents");
    let bars: u64 = link.reuse.histogram.iter().map(|bar| bar.patterns).sum();
    assert_eq!(bars, n as u64);

    let branching: Vec<f64> = upper.values().map(|p| children(p).len() as f64).collect();
    let some = !branching.is_empty();
    let n = branching.len() as f64;
    let mean = branching.iter().sum::<f64>() / n;
    let variance = branching.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    assert_close(link.branching.mean, some.then_some(mean), "mean children");
    assert_close(
        link.branching.standard_deviation,
        some.then(|| variance.sqrt()),
        "deviation",
    );
    let missing = upper
        .values()
        .flat_map(children)
        .filter(|child| !lower.contains_key(child));
    assert_eq!(link.dangling, missing.count() as u64);

    let joint = joint(upper);
    let pairs = entropy(joint.values().copied());
    let of_parents = entropy(marginal(&joint, |pair| pair.0).into_values());
    let of_children = entropy(marginal(&joint, |pair| pair.1).into_values());
    let information = link.information.as_ref();
    assert_close(
        information.map(|i| i.joint_entropy),
        pairs,
        "H(parent, child)",
    );
    assert_close(
        information.map(|i| i.parent_entropy),
        of_parents,
        "H(parent)",
    );
    assert_close(
        information.map(|i| i.child_entropy),
        of_children,
        "H(child)",
    );
    if let Some(information) = information {
        let mutual = information.mutual_information;
        let sum = information.child_given_parent + mutual;
        assert_close(Some(sum), of_children, "I + H(child | parent) = H(child)");
        let sum = information.parent_given_child + mutual;
        assert_close(Some(sum), of_parents, "I + H(parent | child) = H(parent)");
    }

    // Few enough that all pairs are compared.
    let sets: Vec<BTreeSet<PatternName>> = upper
        .values()
        .map(|pattern| children(pattern).into_iter().collect())
        .collect();
    let mut indices = Vec::new();
    for (a, set) in sets.iter().enumerate() {
        for other in &sets[..a] {
            let all = set.union(other).count();
            if all > 0 {
                indices.push(set.intersection(other).count() as f64 / all as f64);
            }
        }
    }
    let mean = indices.iter().sum::<f64>() / indices.len() as f64;
    let expected = (!indices.is_empty()).then_some(mean);
    assert_close(
        link.similarity.map(|found| found.mean_jaccard),
        expected,
        "Jaccard",
    );
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn links_are_those_of_the_oracle(hierarchy in hierarchies()) {
        let store = hierarchy.in_memory();
        let held = held(&store);
        let found = snapshot(&store);
        for idx in 0..2 {
            check_link(&found, &held, idx);
        }
        for (node, patterns) in found.nodes.iter().zip(&held) {
            let frequencies = patterns.values().map(|pattern| pattern.frequency as f64);
            assert_close(node.entropy, entropy(frequencies), "entropy");
        }
    }

    #[test]
    fn equal_knowledge_gives_equal_snapshots_in_every_store(hierarchy in hierarchies(), seed: u64) {
        // Fewer pairs than there are, so that some are drawn.
        let mut options = SnapshotOptions::default();
        options.seed = seed;
        options.pairs = 3;
        let in_memory = Snapshot::from_store(&hierarchy.in_memory(), &options).unwrap();
        let (_dir, embedded) = hierarchy.embedded();
        prop_assert_eq!(&Snapshot::from_store(&embedded, &options).unwrap(), &in_memory);
        embedded.compact().unwrap();
        prop_assert_eq!(&Snapshot::from_store(&embedded, &options).unwrap(), &in_memory);
        let json = serde_json::to_string(&in_memory).unwrap();
        prop_assert_eq!(Snapshot::from_json(&json).unwrap(), in_memory);
    }

    #[test]
    fn the_digest_tells_what_was_learned(a in hierarchies(), b in hierarchies()) {
        let (a, b) = (a.in_memory(), b.in_memory());
        let frequencies = |held: Held| -> Vec<BTreeMap<PatternName, u64>> {
            let node = |node: BTreeMap<_, _>| node.into_iter();
            held.into_iter()
                .map(|patterns| node(patterns).map(|(name, p)| (name, p.frequency)).collect())
                .collect()
        };
        let same = frequencies(held(&a)) == frequencies(held(&b));
        prop_assert_eq!(snapshot(&a).digest == snapshot(&b).digest, same);
    }
}

#[test]
fn growth_is_that_of_the_points_given() {
    let growth = [1, 10, 100].map(|samples| PatternGrowth {
        samples,
        patterns: 5 * samples,
    });
    let mut options = SnapshotOptions::default();
    options.growth = growth.into();
    let found = Snapshot::from_store(&small().in_memory(), &options).unwrap();
    assert_close(
        found.growth.map(|growth| growth.exponent),
        Some(1.0),
        "exponent",
    );
}

#[test]
fn other_forms_and_versions_are_refused() {
    let mut value = serde_json::to_value(snapshot(&small().in_memory())).unwrap();
    value["version"] = json!(2);
    let refused = Snapshot::from_json(&value.to_string());
    assert!(matches!(
        refused,
        Err(AnalysisError::Version {
            found: 2,
            supported: 1
        })
    ));
    let refused = Snapshot::from_json(r#"{"version": 99}"#);
    assert!(matches!(
        refused,
        Err(AnalysisError::Version { found: 99, .. })
    ));
    for text in ["", "[]", "{}", r#"{"version": 1}"#, r#"{"version": "1"}"#] {
        assert!(
            matches!(Snapshot::from_json(text), Err(AnalysisError::Form { .. })),
            "{text}"
        );
    }
}
