//! How good predictions are, with intervals.

use kato_gradient::metric::{Classification, RegressionScores};
use kato_random::SplitMix64;
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};

use crate::metadata::TargetValues;

/// Redraws of the samples by which intervals are found.
const N_REDRAWS: u64 = 2000;

/// The share of redraws between the ends of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// A figure of merit with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Score {
    /// `r2`, `mae`, `rmse`; or `accuracy`, `balanced_accuracy`, `f1` (weighted by the classes' sizes); of a
    /// pre-training also `nucleotide_accuracy`.
    pub name: String,
    /// The figure over all samples; NaN where it is not defined, such as R² of equal numbers.
    #[serde(deserialize_with = "nan_if_null")]
    pub value: f64,
    /// The interval's lower end; NaN where there is no interval.
    #[serde(deserialize_with = "nan_if_null")]
    pub low: f64,
    /// The interval's upper end; NaN where there is no interval.
    #[serde(deserialize_with = "nan_if_null")]
    pub high: f64,
}

impl Score {
    pub(crate) fn without_interval(name: &str, value: f64) -> Self {
        Self {
            name: name.to_owned(),
            value,
            low: f64::NAN,
            high: f64::NAN,
        }
    }
}

/// Reads a number that JSON, which has no NaN, may have lost.
pub(crate) fn nan_if_null<'de, D: Deserializer<'de>>(reader: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(reader)?.unwrap_or(f64::NAN))
}

/// Compares predictions with what is true, sample by sample.
///
/// Intervals hold 95 of a hundred redraws of the samples, with putting back (percentile bootstrap):
/// they tell how much the figure hangs on which samples there are, and nothing of the training's
/// own chance. The same seed gives the same bits.
///
/// Source: Efron and Tibshirani, "An introduction to the bootstrap", 1993, chapter 13.
///
/// ```
/// use kato_microbes::evaluation::scores;
/// use kato_microbes::metadata::TargetValues;
///
/// let numbers = |values: &[f64]| TargetValues::Numbers(values.to_vec());
/// let found = scores(&numbers(&[1.0, 2.0, 4.0]), &numbers(&[1.0, 2.0, 3.0]), 7);
/// assert_eq!((found[0].name.as_str(), found[0].value), ("r2", 0.5));
/// ```
///
/// # Panics
///
/// When one has numbers and the other classes, or they differ in length.
#[must_use]
pub fn scores(predicted: &TargetValues, truth: &TargetValues, seed: u64) -> Vec<Score> {
    let n = truth.len();
    assert_eq!(predicted.len(), n, "one prediction a sample");
    let all: Vec<usize> = (0..n).collect();
    let values = figures(predicted, truth, &all);
    // Each redraw has a seed of its own, so that threads change nothing.
    let redraws: Vec<Vec<(&str, f64)>> = (0..N_REDRAWS)
        .into_par_iter()
        .map(|redraw| {
            let mut random =
                SplitMix64::from_seed(seed ^ redraw.wrapping_mul(SplitMix64::INCREMENT));
            let drawn: Vec<usize> = (0..n).map(|_| random.below(n)).collect();
            figures(predicted, truth, &drawn)
        })
        .collect();
    let scores = values.into_iter().enumerate().map(|(at, (name, value))| {
        let mut drawn: Vec<f64> = redraws.iter().map(|figures| figures[at].1).collect();
        // A redraw may hold one class or one number alone, of which some figures say nothing.
        drawn.retain(|value| value.is_finite());
        drawn.sort_by(f64::total_cmp);
        let place = |share: f64| {
            let last = drawn.len().saturating_sub(1) as f64;
            drawn
                .get((share * last).round() as usize)
                .copied()
                .unwrap_or(f64::NAN)
        };
        Score {
            name: name.to_owned(),
            value,
            low: place((1.0 - CONFIDENCE) / 2.0),
            high: place(f64::midpoint(1.0, CONFIDENCE)),
        }
    });
    scores.collect()
}

impl TargetValues {
    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Classes { of, .. } => of.len(),
        }
    }

    /// Returns whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[expect(clippy::panic, reason = "documented: a mistake of the caller")]
fn figures(
    predicted: &TargetValues,
    truth: &TargetValues,
    samples: &[usize],
) -> Vec<(&'static str, f64)> {
    let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
    match (predicted, truth) {
        (TargetValues::Numbers(predicted), TargetValues::Numbers(truth)) => {
            let mut errors = RegressionScores::new();
            samples
                .iter()
                .for_each(|&at| errors.add(predicted[at], truth[at]));
            vec![
                ("r2", or_nan(errors.r_squared())),
                ("mae", or_nan(errors.mean_absolute_error())),
                ("rmse", or_nan(errors.root_mean_squared_error())),
            ]
        }
        (
            TargetValues::Classes { of: predicted, .. },
            TargetValues::Classes { names, of: truth },
        ) => {
            let counted = Classification::new(names.len().max(1)).and_then(|mut classes| {
                samples
                    .iter()
                    .try_for_each(|&at| classes.add(predicted[at], truth[at]))?;
                Ok(classes)
            });
            let classes = counted.expect("classes are places among the names");
            let recalls = (0..classes.n_classes()).filter_map(|class| {
                let scores = classes.class(class)?;
                (scores.support > 0).then_some(scores.recall)
            });
            let recalls: Vec<f64> = recalls.collect();
            let balanced = recalls.iter().sum::<f64>() / recalls.len() as f64;
            vec![
                ("accuracy", or_nan(classes.accuracy())),
                ("balanced_accuracy", balanced),
                ("f1", or_nan(classes.weighted().map(|scores| scores.f1))),
            ]
        }
        _ => panic!("numbers and classes are not compared"),
    }
}
