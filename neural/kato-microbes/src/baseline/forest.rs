//! One forest of smartcore's over a table's most frequent features.

use kato_unifrac::Table;
use serde::{Deserialize, Serialize};
use smartcore::ensemble::random_forest_classifier::{
    RandomForestClassifier, RandomForestClassifierParameters,
};
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::error::Failed;
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;

use crate::error::MicrobesError;
use crate::metadata::TargetValues;

/// The shape of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ForestChoice {
    /// Trees.
    pub n_trees: u16,
    /// Samples of a leaf at least.
    pub min_leaf: usize,
    /// Whether a third of the features is tried at each split, and not their root.
    pub tries_third: bool,
}

impl ForestChoice {
    pub(super) const fn with_n_trees(mut self, n_trees: u16) -> Self {
        self.n_trees = n_trees;
        self
    }
}

/// The shapes that are tried, the usual one first.
pub(super) const CHOICES: [ForestChoice; 4] = [
    choice(1, false),
    choice(1, true),
    choice(4, false),
    choice(4, true),
];

const fn choice(min_leaf: usize, tries_third: bool) -> ForestChoice {
    ForestChoice {
        n_trees: 0,
        min_leaf,
        tries_third,
    }
}

/// Which features a forest looks at.
pub(super) struct Features {
    /// The column of each feature of the table.
    columns: Vec<Option<usize>>,
    n: usize,
}

impl Features {
    /// Takes those that most of the samples hold, at least two of them.
    pub(super) fn new(table: &Table, samples: &[usize], most: usize) -> Self {
        let mut n_holders = vec![0_usize; table.n_features()];
        for &sample in samples {
            table
                .sample(sample)
                .for_each(|(feature, _)| n_holders[feature] += 1);
        }
        let mut order: Vec<usize> = (0..n_holders.len()).collect();
        // What one sample alone holds can only be learned by heart.
        order.retain(|&feature| n_holders[feature] >= 2);
        // Stable: equals stay in the table's order.
        order.sort_by_key(|&feature| std::cmp::Reverse(n_holders[feature]));
        order.truncate(most);
        let mut columns = vec![None; n_holders.len()];
        for (column, &feature) in order.iter().enumerate() {
            columns[feature] = Some(column);
        }
        Self {
            columns,
            n: order.len(),
        }
    }

    /// Returns relative abundances, a row a sample.
    pub(super) fn matrix(
        &self,
        table: &Table,
        samples: &[usize],
    ) -> Result<DenseMatrix<f64>, MicrobesError> {
        let mut values = vec![0.0; samples.len() * self.n];
        for (row, &sample) in samples.iter().enumerate() {
            let total: f64 = table.sample(sample).map(|(_, count)| count).sum();
            for (feature, count) in table.sample(sample) {
                if let Some(column) = self.columns[feature] {
                    values[row * self.n + column] = count / total;
                }
            }
        }
        DenseMatrix::new(samples.len(), self.n, values, false).map_err(|error| failed(&error))
    }
}

/// Grows a forest on rows with values, and predicts other rows.
pub(super) fn fit_and_predict(
    (rows, values): (&DenseMatrix<f64>, &TargetValues),
    asked: &DenseMatrix<f64>,
    choice: ForestChoice,
    seed: u64,
) -> Result<TargetValues, MicrobesError> {
    let n_features = rows.shape().1;
    let tried = if choice.tries_third {
        n_features.div_ceil(3)
    } else {
        n_features.isqrt()
    };
    let tried = tried.max(1);
    match values {
        TargetValues::Numbers(numbers) => {
            let parameters = RandomForestRegressorParameters::default()
                .with_n_trees(choice.n_trees.into())
                .with_min_samples_leaf(choice.min_leaf)
                .with_m(tried)
                .with_seed(seed);
            let forest = RandomForestRegressor::fit(rows, numbers, parameters);
            let predicted = forest.and_then(|forest| forest.predict(asked));
            Ok(TargetValues::Numbers(
                predicted.map_err(|error| failed(&error))?,
            ))
        }
        TargetValues::Classes { names, of } => {
            let parameters = RandomForestClassifierParameters::default()
                .with_n_trees(choice.n_trees)
                .with_min_samples_leaf(choice.min_leaf)
                .with_m(tried)
                .with_seed(seed);
            // Of a rare class all may be held back; what knows one class alone says that one.
            if let Some(&only) = of.first()
                && of.iter().all(|&class| class == only)
            {
                return Ok(TargetValues::Classes {
                    names: names.clone(),
                    of: vec![only; asked.shape().0],
                });
            }
            let classes: Vec<u32> = of.iter().map(|&class| class as u32).collect();
            let forest = RandomForestClassifier::fit(rows, &classes, parameters);
            let predicted: Result<Vec<u32>, Failed> =
                forest.and_then(|forest| forest.predict(asked));
            let predicted = predicted.map_err(|error| failed(&error))?;
            Ok(TargetValues::Classes {
                names: names.clone(),
                of: predicted.into_iter().map(|class| class as usize).collect(),
            })
        }
    }
}

fn failed(error: &Failed) -> MicrobesError {
    MicrobesError::Forest {
        reason: error.to_string(),
    }
}
