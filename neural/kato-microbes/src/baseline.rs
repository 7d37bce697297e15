//! The random forest that every model has to beat.

mod forest;

use kato_neural::run::check_setting;
use kato_unifrac::Table;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::MicrobesError;
use crate::evaluation::{Score, scores};
use crate::folds::folds;
use crate::metadata::{PredictionTarget, TargetValues};

pub use forest::ForestChoice;

use forest::{CHOICES, Features, fit_and_predict};

/// How the baseline is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BaselineOptions {
    /// Trees of a forest; 300 by default.
    pub n_trees: u16,
    /// Folds that predictions are made for; 5 by default.
    pub n_folds: usize,
    /// Folds of the training samples by which the forest's shape is chosen; 3 by default.
    pub n_inner_folds: usize,
    /// Features that are looked at: those that most training samples hold; 2,000 by default.
    pub max_features: usize,
    /// Decides folds and forests; 42 by default.
    pub seed: u64,
}

impl Default for BaselineOptions {
    fn default() -> Self {
        Self {
            n_trees: 300,
            n_folds: 5,
            n_inner_folds: 3,
            max_features: 2000,
            seed: 42,
        }
    }
}

impl BaselineOptions {
    /// Sets the trees of a forest.
    #[must_use]
    pub const fn with_n_trees(mut self, n_trees: u16) -> Self {
        self.n_trees = n_trees;
        self
    }

    /// Sets the folds that predictions are made for.
    #[must_use]
    pub const fn with_n_folds(mut self, n_folds: usize) -> Self {
        self.n_folds = n_folds;
        self
    }

    /// Sets the seed.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    fn check(&self, target: &PredictionTarget) -> Result<(), MicrobesError> {
        for (name, value, least) in [
            ("trees", usize::from(self.n_trees), 1),
            ("folds", self.n_folds, 2),
            ("inner_folds", self.n_inner_folds, 2),
            ("max_features", self.max_features, 1),
        ] {
            let expected = if least == 2 {
                "at least 2"
            } else {
                "at least 1"
            };
            check_setting(value >= least, name, &value, expected)?;
        }
        // Every inner fold has to hold two samples for each class or number to be told.
        let most_folds = self.n_folds.max(self.n_inner_folds.saturating_add(1));
        let least = most_folds.saturating_mul(2);
        if target.n_samples() < least {
            return Err(MicrobesError::TooFewSamples {
                what: "samples for the nested folds of a forest",
                n: target.n_samples(),
                least,
                advice: "lower `--depth` so that more samples are deep enough, or ask for fewer folds",
            });
        }
        target.values.check_differ(&target.column)
    }
}

/// What the forest predicts, each sample by a forest that never saw it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Baseline {
    /// The predictions, in the order of the target's samples.
    pub predicted: TargetValues,
    /// How good they are.
    pub scores: Vec<Score>,
    /// The shape that was chosen in each fold, from its training samples alone.
    pub chosen: Vec<ForestChoice>,
}

/// Predicts every sample by nested cross-validation: outer folds are predicted, inner folds choose
/// the forest's shape, so that no choice ever saw what it is judged by.
///
/// Features are relative abundances. The result has the same bits for any number of threads.
///
/// # Errors
///
/// When a setting is out of its range, there are too few samples, or all have one value.
pub fn baseline(
    table: &Table,
    target: &PredictionTarget,
    options: &BaselineOptions,
) -> Result<Baseline, MicrobesError> {
    options.check(target)?;
    let parts = folds(&target.values, options.n_folds, options.seed);
    let results: Result<Vec<_>, MicrobesError> = parts
        .par_iter()
        .map(|fold| {
            let train = target.values.select(&fold.train);
            let rows = |part: &[usize]| {
                part.iter()
                    .map(|&at| target.samples[at])
                    .collect::<Vec<_>>()
            };
            let (train_rows, test_rows) = (rows(&fold.train), rows(&fold.test));
            let choice = choose(table, &train_rows, &train, options)?;
            let features = Features::new(table, &train_rows, options.max_features);
            let seed = options.seed;
            let predicted = fit_and_predict(
                (&features.matrix(table, &train_rows)?, &train),
                &features.matrix(table, &test_rows)?,
                choice.with_n_trees(options.n_trees),
                seed,
            )?;
            Ok((choice, predicted))
        })
        .collect();
    let mut predicted = target.values.clone();
    let mut chosen = Vec::new();
    for (fold, (choice, part)) in parts.iter().zip(results?) {
        put(&mut predicted, &fold.test, &part);
        chosen.push(choice.with_n_trees(options.n_trees));
    }
    let scores = scores(&predicted, &target.values, options.seed);
    Ok(Baseline {
        predicted,
        scores,
        chosen,
    })
}

/// Chooses the forest's shape by the folds of the training samples.
fn choose(
    table: &Table,
    samples: &[usize],
    values: &TargetValues,
    options: &BaselineOptions,
) -> Result<ForestChoice, MicrobesError> {
    // A third of the trees orders the shapes as well, in a third of the time.
    let n_trees = options.n_trees.div_ceil(3);
    let inner = folds(values, options.n_inner_folds, options.seed ^ 1);
    let mut best: Option<(f64, ForestChoice)> = None;
    for choice in CHOICES {
        let mut predicted = values.clone();
        for fold in &inner {
            let rows = |part: &[usize]| part.iter().map(|&at| samples[at]).collect::<Vec<_>>();
            let (train_rows, test_rows) = (rows(&fold.train), rows(&fold.test));
            let features = Features::new(table, &train_rows, options.max_features);
            let part = fit_and_predict(
                (
                    &features.matrix(table, &train_rows)?,
                    &values.select(&fold.train),
                ),
                &features.matrix(table, &test_rows)?,
                choice.with_n_trees(n_trees),
                options.seed,
            )?;
            put(&mut predicted, &fold.test, &part);
        }
        let loss = loss(&predicted, values);
        if best.is_none_or(|(least, _)| loss < least) {
            best = Some((loss, choice));
        }
    }
    Ok(best.map_or(CHOICES[0], |(_, choice)| choice))
}

fn loss(predicted: &TargetValues, truth: &TargetValues) -> f64 {
    match (predicted, truth) {
        (TargetValues::Numbers(predicted), TargetValues::Numbers(truth)) => predicted
            .iter()
            .zip(truth)
            .map(|(a, b)| (a - b) * (a - b))
            .sum(),
        (TargetValues::Classes { of: predicted, .. }, TargetValues::Classes { of: truth, .. }) => {
            predicted.iter().zip(truth).filter(|(a, b)| a != b).count() as f64
        }
        _ => f64::INFINITY,
    }
}

/// Puts the values of some samples into their places.
fn put(all: &mut TargetValues, places: &[usize], part: &TargetValues) {
    match (all, part) {
        (TargetValues::Numbers(all), TargetValues::Numbers(part)) => {
            places
                .iter()
                .zip(part)
                .for_each(|(&place, value)| all[place] = *value);
        }
        (TargetValues::Classes { of: all, .. }, TargetValues::Classes { of: part, .. }) => {
            places
                .iter()
                .zip(part)
                .for_each(|(&place, class)| all[place] = *class);
        }
        // A forest predicts what it was trained on.
        _ => {}
    }
}
