//! Which branches of the tree a sample's prediction rests on.

use std::collections::{BTreeMap, HashMap};

use kato_unifrac::Tree;
use serde::Serialize;

use super::{attention, changes, share};
use crate::community::Microbes;
use crate::trained::TrainedMicrobes;

/// The branches that a sample's prediction rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Branches {
    /// The branches, by the change without them, the greatest first.
    pub branches: Vec<Branch>,
    /// Features of the sample that are no tips of the tree, and so below none of its branches.
    pub n_unplaced: usize,
}

/// A branch's part in a prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Branch {
    /// Its label in the tree; most have none.
    pub label: String,
    /// The features of the sample that are below it, by their place in the table.
    pub features: Vec<String>,
    /// Their share of the sample's counts.
    pub share: f64,
    /// How much the last pooling looks at all of them together.
    pub attention: f64,
    /// What the prediction would be without all of their counts, less what it is.
    pub change: f64,
}

/// Says what the prediction of a sample would be without the branches that the last pooling looks at
/// most, `limit` of them.
///
/// A branch counts where at least two of the sample's features are below it, and no branch further out
/// has the same ones; branches with more than half of the sample's counts are passed over, as little of
/// the sample would be left.
///
/// # Panics
///
/// There is no such sample.
#[must_use]
pub fn branches(
    trained: &TrainedMicrobes,
    microbes: &Microbes,
    tree: &Tree,
    sample: usize,
    limit: usize,
) -> Branches {
    let answer = trained.predict_samples(microbes, &[sample], 1).remove(0);
    let output = answer.class();
    let looked: HashMap<usize, f64> = attention(trained, microbes, sample).into_iter().collect();
    let ids = microbes.table.feature_ids();
    let (below, n_unplaced) = below(microbes, tree, sample);
    let mut chosen: Vec<(usize, Vec<usize>, f64)> = below
        .into_iter()
        .filter(|(_, features)| share(microbes, sample, features) <= 0.5)
        .map(|(node, features)| {
            let looked = features.iter().filter_map(|feature| looked.get(feature));
            let attention = looked.sum();
            (node, features, attention)
        })
        .collect();
    // Stable: equals stay in the order of the tree.
    chosen.sort_by(|a, b| b.2.total_cmp(&a.2));
    chosen.truncate(limit);
    let left_out: Vec<Vec<usize>> = chosen.iter().map(|branch| branch.1.clone()).collect();
    let value = answer.outputs[output];
    let changes = changes(trained, microbes, sample, &left_out, (output, value));
    let mut branches: Vec<Branch> = chosen
        .into_iter()
        .zip(changes)
        .map(|((node, features, attention), change)| Branch {
            label: tree.label(node).to_owned(),
            share: share(microbes, sample, &features),
            features: features.iter().map(|&at| ids[at].clone()).collect(),
            attention,
            change,
        })
        .collect();
    branches.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    Branches {
        branches,
        n_unplaced,
    }
}

/// Returns the branches that tell a sample's features apart, each with those below it, and how many
/// features are below none.
fn below(microbes: &Microbes, tree: &Tree, sample: usize) -> (BTreeMap<usize, Vec<usize>>, usize) {
    let tips: HashMap<&str, usize> = tree.tips().map(|tip| (tree.label(tip), tip)).collect();
    let mut below: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut n_unplaced = 0;
    for (feature, _) in microbes.table.sample(sample) {
        let Some(&tip) = tips.get(microbes.table.feature_ids()[feature].as_str()) else {
            n_unplaced += 1;
            continue;
        };
        let mut node = Some(tip);
        while let Some(at) = node {
            below.entry(at).or_default().push(feature);
            node = tree.parent(at);
        }
    }
    // A branch with the features of one further out says nothing more.
    let repeated: Vec<usize> = below
        .iter()
        .filter_map(|(&node, features)| {
            let parent = tree.parent(node)?;
            (below[&parent].len() == features.len()).then_some(parent)
        })
        .collect();
    for node in repeated {
        below.remove(&node);
    }
    below.retain(|_, features| features.len() > 1);
    (below, n_unplaced)
}
