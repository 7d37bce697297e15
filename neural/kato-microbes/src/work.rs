//! What a run learns: samples with their truth, and which part each is in.

mod parts;

use std::collections::HashSet;

use kato_neural::run::check_setting;
use kato_unifrac::DistanceMatrix;
use serde::{Deserialize, Serialize};

use crate::community::Microbes;
use crate::distances::Aligned;
use crate::error::MicrobesError;
use crate::metadata::{PredictionTarget, TargetValues};
use crate::settings::{BestBy, SampleSplitOptions};

pub use parts::SampleParts;

/// Samples by which two are for validation, with the usual share.
const N_LEAST: usize = 20;

/// What is true of the samples.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Truth {
    /// How far any two are apart, from 0 to 1: what pre-training learns.
    Distances(DistanceMatrix),
    /// What is to be predicted of each.
    Target {
        /// The column.
        column: String,
        /// The values.
        values: TargetValues,
    },
}

/// A community with what is true of some of its samples.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Work {
    /// The community.
    pub microbes: Microbes,
    /// Which samples of it are learned from or judged by, ascending.
    pub samples: Vec<usize>,
    /// What is true of them, in their order.
    pub truth: Truth,
    /// Places among `samples` that a pre-training learned from or chose by, ascending.
    pub seen: Vec<usize>,
}

impl Work {
    /// Learns the distances of the samples that have some.
    ///
    /// # Errors
    ///
    /// When a distance is above 1, which the model cannot say: unnormalised weighted ones are.
    pub fn from_distances(microbes: Microbes, aligned: Aligned) -> Result<Self, MicrobesError> {
        let greatest = aligned
            .matrix
            .condensed()
            .iter()
            .copied()
            .fold(0.0, f64::max);
        let expected = "at most 1; compute them with `--metric unweighted` or `normalized`";
        check_setting(greatest <= 1.0, "distances", &greatest, expected)?;
        Ok(Self {
            microbes,
            samples: aligned.samples,
            truth: Truth::Distances(aligned.matrix),
            seen: Vec::new(),
        })
    }

    /// Learns to predict a column.
    #[must_use]
    pub fn from_target(microbes: Microbes, target: PredictionTarget) -> Self {
        Self {
            microbes,
            samples: target.samples,
            truth: Truth::Target {
                column: target.column,
                values: target.values,
            },
            seen: Vec::new(),
        }
    }

    /// Says which samples another work, which is parted so, learns from or chooses by: by their names.
    #[must_use]
    pub(crate) fn with_seen_by(mut self, other: &Self, parts: &SampleParts) -> Self {
        let used = parts.train.iter().chain(&parts.validation);
        let names: HashSet<&str> = used.map(|&place| other.name(place)).collect();
        let seen = (0..self.samples.len()).filter(|&place| names.contains(self.name(place)));
        self.seen = seen.collect();
        self
    }

    /// Returns the name of a sample by its place.
    fn name(&self, place: usize) -> &str {
        &self.microbes.table.sample_ids()[self.samples[place]]
    }

    /// Returns how many numbers the model predicts of a sample; `None` while pre-training.
    #[must_use]
    pub fn n_outputs(&self) -> Option<usize> {
        match &self.truth {
            Truth::Distances(_) => None,
            Truth::Target { values, .. } => Some(match values {
                TargetValues::Numbers(_) => 1,
                TargetValues::Classes { names, .. } => names.len(),
            }),
        }
    }

    /// Returns whether there is such a metric for what is learned.
    pub(crate) fn check_metric(&self, best: BestBy) -> Result<(), MicrobesError> {
        let (fits, expected) = match &self.truth {
            Truth::Distances(_) => (
                matches!(best, BestBy::ValLoss | BestBy::R2 | BestBy::Accuracy),
                "`val_loss`, `r2` or `accuracy` while pre-training",
            ),
            Truth::Target {
                values: TargetValues::Numbers(_),
                ..
            } => (
                matches!(best, BestBy::ValLoss | BestBy::R2 | BestBy::Mae),
                "`val_loss`, `r2` or `mae` for numbers",
            ),
            Truth::Target { .. } => (
                matches!(best, BestBy::ValLoss | BestBy::Accuracy | BestBy::F1),
                "`val_loss`, `accuracy` or `f1` for classes",
            ),
        };
        let value = format!("{best:?}").to_lowercase();
        Ok(check_setting(fits, "training.best", &value, expected)?)
    }

    /// Parts the samples. Those that a pre-training has seen are neither calibration nor test samples:
    /// intervals and figures would be better than those of new ones.
    ///
    /// # Errors
    ///
    /// When there are too few for the parts asked for.
    pub fn parts(&self, options: &SampleSplitOptions) -> Result<SampleParts, MicrobesError> {
        let n = self.samples.len();
        let even = TargetValues::Numbers(vec![0.0; n]);
        let values = match &self.truth {
            Truth::Distances(_) => &even,
            Truth::Target { values, .. } => values,
        };
        let parts = parts::deal(values, &self.seen, options);
        // Two, as pairs are compared.
        let least = parts.train.len().min(parts.validation.len());
        if least < 2 {
            let expected =
                "a share by which two samples or more are for validation, and as many for training";
            check_setting(
                n < N_LEAST,
                "split.validation",
                &options.validation,
                expected,
            )?;
            return Err(MicrobesError::TooFewSamples {
                what: "samples to be parted for training and validation",
                n,
                least: N_LEAST,
                advice: "lower `--depth` so that more samples are deep enough, or give more of them, with what is to be learned of each",
            });
        }
        Ok(parts)
    }
}

/// How numbers are scaled for the model: in standard deviations of the training samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Scale {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 1 where all are equal.
    pub deviation: f64,
}

impl Scale {
    /// Takes the scale of some of the numbers.
    #[must_use]
    pub fn new(numbers: &[f64], places: &[usize]) -> Self {
        let n = places.len().max(1) as f64;
        let mean = places.iter().map(|&at| numbers[at]).sum::<f64>() / n;
        let squares = places
            .iter()
            .map(|&at| (numbers[at] - mean) * (numbers[at] - mean));
        let deviation = (squares.sum::<f64>() / n).sqrt();
        // Of equal numbers the mean may be another in its last bit.
        let mut pairs = places.iter().zip(places.iter().skip(1));
        let are_equal = pairs.all(|(&a, &b)| numbers[a].total_cmp(&numbers[b]).is_eq());
        Self {
            mean,
            deviation: if deviation > 0.0 && !are_equal {
                deviation
            } else {
                1.0
            },
        }
    }

    /// Brings a number to the scale.
    #[must_use]
    pub fn apply(&self, number: f64) -> f32 {
        ((number - self.mean) / self.deviation) as f32
    }

    /// Takes a number back from the scale.
    #[must_use]
    pub fn undo(&self, scaled: f32) -> f64 {
        f64::from(scaled).mul_add(self.deviation, self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_a_deviation_of_1() {
        let scale = Scale::new(&[0.1, 0.1, 0.1, 0.2], &[0, 1, 2]);
        assert!((scale.deviation - 1.0).abs() < 1e-9, "{scale:?}");
        let scale = Scale::new(&[0.1, 0.3, 0.2], &[0, 1]);
        assert!((scale.deviation - 0.1).abs() < 1e-9, "{scale:?}");
    }
}
