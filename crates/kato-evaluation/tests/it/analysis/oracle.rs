//! The same numbers, found naively: all patterns in maps, every formula as it is written.

use std::collections::{BTreeMap, BTreeSet};

use kato_evaluation::analysis::cleanup::References;
use kato_model::{PatternName, Symbol};
use kato_store::{PatternStore, StoredPattern};

/// The patterns of every node by name.
pub(crate) type Held = Vec<BTreeMap<PatternName, StoredPattern>>;

pub(crate) fn held(store: &dyn PatternStore) -> Held {
    let node = |node_idx| {
        let patterns = store.scan(node_idx).unwrap().map(Result::unwrap);
        patterns.map(|pattern| (pattern.name, pattern)).collect()
    };
    (0..store.nodes().len()).map(node).collect()
}

/// The names among a pattern's symbols.
pub(crate) fn children(pattern: &StoredPattern) -> Vec<PatternName> {
    let names = pattern.symbols.iter().filter_map(|symbol| match symbol {
        Symbol::Name(name) => Some(*name),
        Symbol::Text(_) => None,
    });
    names.collect()
}

/// The node that a reference leads to: the nearest below that holds the name, as names may be promoted.
fn home(held: &Held, node_idx: usize, child: &PatternName) -> Option<usize> {
    (0..node_idx)
        .rev()
        .find(|&below| held[below].contains_key(child))
}

/// References to patterns that no node below holds, as (node, parent, child).
pub(crate) fn dangling(held: &Held) -> BTreeSet<(usize, PatternName, PatternName)> {
    let mut found = BTreeSet::new();
    for node_idx in 1..held.len() {
        for pattern in held[node_idx].values() {
            for child in children(pattern) {
                if home(held, node_idx, &child).is_none() {
                    found.insert((node_idx, pattern.name, child));
                }
            }
        }
    }
    found
}

/// What goes, by node.
pub(crate) fn doomed(
    held: &Held,
    threshold: u64,
    references: References,
    chosen: &[bool],
) -> Vec<BTreeSet<PatternName>> {
    let is_rare = |node_idx: usize, pattern: &StoredPattern| {
        chosen[node_idx] && pattern.frequency < threshold
    };
    let rare = |node_idx: usize| -> BTreeSet<PatternName> {
        let patterns = held[node_idx].values();
        let rare = patterns.filter(|pattern| is_rare(node_idx, pattern));
        rare.map(|pattern| pattern.name).collect()
    };
    let mut gone: Vec<BTreeSet<PatternName>> = (0..held.len()).map(rare).collect();
    // Until nothing changes, so that no order of the levels is presumed.
    loop {
        let before = gone.clone();
        for node_idx in 1..held.len() {
            for pattern in held[node_idx].values() {
                let homes = children(pattern).into_iter().filter_map(|child| {
                    let home = home(held, node_idx, &child)?;
                    Some((home, child))
                });
                let homes: Vec<_> = homes.collect();
                match references {
                    References::Keep if !gone[node_idx].contains(&pattern.name) => {
                        for (home, child) in homes {
                            gone[home].remove(&child);
                        }
                    }
                    References::Cascade
                        if homes
                            .iter()
                            .any(|(home, child)| gone[*home].contains(child)) =>
                    {
                        gone[node_idx].insert(pattern.name);
                    }
                    _ => {}
                }
            }
        }
        if gone == before {
            return gone;
        }
    }
}

/// Entropy in bits of a distribution given by weights.
pub(crate) fn entropy(weights: impl IntoIterator<Item = f64>) -> Option<f64> {
    let weights: Vec<f64> = weights.into_iter().collect();
    let sum: f64 = weights.iter().sum();
    (sum > 0.0).then(|| {
        let parts = weights.iter().filter(|weight| **weight > 0.0);
        -parts
            .map(|weight| weight / sum * (weight / sum).log2())
            .sum::<f64>()
    })
}

/// Weights of pairs of parent and child.
pub(crate) fn joint(
    upper: &BTreeMap<PatternName, StoredPattern>,
) -> BTreeMap<(PatternName, PatternName), f64> {
    let mut weights = BTreeMap::new();
    for pattern in upper.values() {
        for child in children(pattern) {
            *weights.entry((pattern.name, child)).or_default() += pattern.frequency as f64;
        }
    }
    weights
}

/// Weights by one side of the pairs.
pub(crate) fn marginal(
    joint: &BTreeMap<(PatternName, PatternName), f64>,
    side: fn((PatternName, PatternName)) -> PatternName,
) -> BTreeMap<PatternName, f64> {
    let mut weights = BTreeMap::new();
    for (pair, weight) in joint {
        *weights.entry(side(*pair)).or_default() += weight;
    }
    weights
}
