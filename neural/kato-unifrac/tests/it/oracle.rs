//! Distances straight from their definitions: every branch, every pair, no shortcut.

use kato_unifrac::{Metric, Table, Tree};
use proptest::prelude::*;

/// A tree and a table that fit.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) newick: String,
    pub(crate) tree: Tree,
    pub(crate) table: Table,
}

/// A proportion for each sample and branch.
pub(crate) fn proportions(tree: &Tree, table: &Table) -> Vec<Vec<f64>> {
    let node_of = |name: &str| tree.tips().find(|&tip| tree.label(tip) == name).unwrap();
    (0..table.n_samples())
        .map(|sample| {
            let total: f64 = table.sample(sample).map(|(_, count)| count).sum();
            let mut below = vec![0.0; tree.n_nodes()];
            for (feature, count) in table.sample(sample) {
                let mut node = Some(node_of(&table.feature_ids()[feature]));
                while let Some(at) = node {
                    below[at] += count / total;
                    node = tree.parent(at);
                }
            }
            below
        })
        .collect()
}

pub(crate) fn distance(tree: &Tree, a: &[f64], b: &[f64], metric: Metric) -> f64 {
    let (mut apart, mut whole) = (0.0, 0.0);
    for branch in 0..tree.root() {
        let length = tree.length(branch).unwrap();
        let (a, b) = (a[branch], b[branch]);
        if a + b == 0.0 {
            continue;
        }
        let (numerator, denominator) = match metric {
            Metric::Unweighted => (f64::from((a > 0.0) != (b > 0.0)), 1.0),
            Metric::Weighted | Metric::NormalizedWeighted => ((a - b).abs(), a + b),
            Metric::Generalized { alpha } => (
                (a + b).powf(alpha) * (a - b).abs() / (a + b),
                (a + b).powf(alpha),
            ),
            _ => unreachable!("a metric that the oracle does not know"),
        };
        apart += length * numerator;
        whole += length * denominator;
    }
    if metric == Metric::Weighted {
        apart
    } else if whole == 0.0 {
        0.0
    } else {
        apart / whole
    }
}

/// Trees with polytomies, single children and lengths of zero; tables in which some branches have
/// one holder, and some samples all.
pub(crate) fn cases(max_samples: usize) -> impl Strategy<Value = Case> {
    (2_usize..40, 1..=max_samples, any::<u64>(), 0.02_f64..1.0).prop_map(
        |(n_tips, n_samples, seed, density)| {
            let mut random = kato_random::SplitMix64::from_seed(seed);
            let newick = random_tree(n_tips, &mut random);
            let features: Vec<_> = (0..n_tips).map(|tip| format!("t{tip}")).collect();
            let samples: Vec<_> = (0..n_samples).map(|sample| format!("s{sample}")).collect();
            let mut entries = Vec::new();
            for sample in 0..n_samples {
                // No sample is empty.
                let own = random.below(n_tips);
                for tip in 0..n_tips {
                    if tip == own || random.unit() < density {
                        entries.push((tip, sample, (1 + random.below(50)) as f64));
                    }
                }
            }
            let table = Table::from_entries(features, samples, entries).unwrap();
            Case {
                tree: Tree::from_newick(&newick).unwrap(),
                newick,
                table,
            }
        },
    )
}

fn random_tree(n_tips: usize, random: &mut kato_random::SplitMix64) -> String {
    let mut subtrees: Vec<_> = (0..n_tips).map(|tip| format!("t{tip}")).collect();
    while subtrees.len() > 1 {
        let n_children = [1, 2, 2, 2, 3, 5][random.below(6)].min(subtrees.len());
        let children: Vec<_> = (0..n_children)
            .map(|_| {
                let child = subtrees.swap_remove(random.below(subtrees.len()));
                let length = if random.below(5) == 0 {
                    0.0
                } else {
                    random.unit()
                };
                format!("{child}:{length}")
            })
            .collect();
        subtrees.push(format!("({})", children.join(",")));
    }
    format!("{};", subtrees[0])
}
