//! What is made small, and what is true of the samples of a batch.

use kato_neural::burn::tensor::Tensor;

use crate::losses::{class_sum, distance_sum, number_sum};
use crate::metadata::TargetValues;
use crate::settings::MicrobesLossOptions;
use crate::work::{SampleParts, Scale, Truth, Work};

/// What is true of a batch's samples.
#[derive(Debug, Clone)]
pub(crate) enum BatchTruth {
    /// A distance a pair.
    Distances(Vec<f32>),
    /// A scaled number a sample.
    Numbers(Vec<f32>),
    /// A class a sample.
    Classes(Vec<i64>),
}

/// What is made small, and what it needs of the training samples.
#[derive(Debug, Clone)]
pub(crate) struct Objective {
    loss: MicrobesLossOptions,
    pub(crate) scale: Option<Scale>,
    /// By class; the mean over the training samples is 1.
    pub(crate) class_weights: Vec<f32>,
}

impl Objective {
    pub(crate) fn new(work: &Work, parts: &SampleParts, loss: &MicrobesLossOptions) -> Self {
        let (mut scale, mut class_weights) = (None, Vec::new());
        match &work.truth {
            Truth::Distances(_) => {}
            Truth::Target {
                values: TargetValues::Numbers(numbers),
                ..
            } => {
                scale = Some(Scale::new(numbers, &parts.train));
            }
            Truth::Target {
                values: TargetValues::Classes { names, of },
                ..
            } => {
                let n = parts.train.len() as f32;
                let weight = |class: usize| {
                    let n_class = parts.train.iter().filter(|&&at| of[at] == class).count();
                    // A class that is never learned from has no weight to balance.
                    if loss.class_weights && n_class > 0 {
                        n / (names.len() * n_class) as f32
                    } else {
                        1.0
                    }
                };
                class_weights = (0..names.len()).map(weight).collect();
            }
        }
        Self {
            loss: loss.clone(),
            scale,
            class_weights,
        }
    }

    /// Returns what is true of some samples, given by their places.
    pub(crate) fn truth(&self, work: &Work, places: &[usize]) -> BatchTruth {
        match &work.truth {
            Truth::Distances(matrix) => {
                let pairs = crate::losses::pairs(places.len());
                BatchTruth::Distances(
                    pairs
                        .map(|(i, j)| matrix.get(places[i], places[j]) as f32)
                        .collect(),
                )
            }
            Truth::Target {
                values: TargetValues::Numbers(numbers),
                ..
            } => {
                let scale = self.scale.unwrap_or(Scale {
                    mean: 0.0,
                    deviation: 1.0,
                });
                BatchTruth::Numbers(places.iter().map(|&at| scale.apply(numbers[at])).collect())
            }
            Truth::Target {
                values: TargetValues::Classes { of, .. },
                ..
            } => BatchTruth::Classes(places.iter().map(|&at| of[at] as i64).collect()),
        }
    }

    /// Returns the weight of each sample's class.
    pub(crate) fn weights_of(&self, classes: &[i64]) -> Vec<f32> {
        classes
            .iter()
            .map(|&class| self.class_weights[class as usize])
            .collect()
    }

    /// Returns the loss of predicted outputs, `[samples, outputs]`, as a sum.
    pub(crate) fn output_sum(&self, outputs: Tensor<2>, truth: &BatchTruth) -> Tensor<1> {
        match truth {
            BatchTruth::Classes(classes) => class_sum(outputs, classes, &self.weights_of(classes)),
            BatchTruth::Numbers(numbers) => number_sum(outputs, numbers, self.loss.target),
            BatchTruth::Distances(distances) => distance_sum(outputs, distances),
        }
    }

    pub(crate) const fn loss(&self) -> &MicrobesLossOptions {
        &self.loss
    }
}
