//! What the trainer has to know of the model: its batches and its loss.

use kato_neural::Pass;
use kato_neural::burn::tensor::{Device, Tensor};
use kato_neural::train::{Loss, Share, Task};

use crate::batch::SampleBatch;
use crate::losses::{class_sum, distance_sum, number_sum};
use crate::metadata::TargetValues;
use crate::model::Microformer;
use crate::settings::{LossOptions, Settings};
use crate::work::{Parts, Scale, Truth, Work};

/// A batch with what is true of its samples.
#[derive(Debug, Clone)]
pub(crate) struct LearningBatch {
    pub(crate) samples: SampleBatch,
    pub(crate) truth: BatchTruth,
}

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
    loss: LossOptions,
    pub(crate) scale: Option<Scale>,
    /// By class; the mean over the training samples is 1.
    pub(crate) class_weights: Vec<f32>,
}

impl Objective {
    pub(crate) fn new(work: &Work, parts: &Parts, loss: &LossOptions) -> Self {
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

    pub(crate) const fn loss(&self) -> &LossOptions {
        &self.loss
    }
}

/// Learning of distances or of a target.
#[derive(Debug, Clone)]
pub(crate) struct Learning {
    objective: Objective,
    freeze: bool,
    device: Device,
}

impl Learning {
    pub(crate) fn new(objective: Objective, settings: &Settings, device: Device) -> Self {
        Self {
            objective,
            freeze: settings.training.freeze,
            device,
        }
    }
}

impl Task for Learning {
    type Model = Microformer;
    type Batch = LearningBatch;

    fn weights(&self, batch: &LearningBatch) -> Vec<f64> {
        let n_samples = batch.samples.n_samples() as f64;
        match &batch.truth {
            // Samples first: a sample alone has no pair, and its nucleotides are learned from all the
            // same.
            BatchTruth::Distances(distances) => {
                let n_hidden = batch.samples.n_hidden() as f64;
                vec![n_samples, distances.len() as f64, n_hidden]
            }
            BatchTruth::Numbers(_) => vec![n_samples],
            BatchTruth::Classes(classes) => {
                let weights = self.objective.weights_of(classes);
                vec![weights.iter().map(|&weight| f64::from(weight)).sum()]
            }
        }
    }

    fn n_rows(&self, batch: &LearningBatch) -> usize {
        // Draws are numbered by sequences in one stack and by samples in the others.
        let n_guesses: usize = batch
            .samples
            .guesses
            .iter()
            .map(|chunk| chunk.lengths.len())
            .sum();
        (batch.samples.n_sequences() + n_guesses).max(batch.samples.n_samples())
    }

    fn loss(
        &self,
        model: &Microformer,
        batch: &LearningBatch,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss {
        let LearningBatch { samples, truth } = batch;
        let options = self.objective.loss();
        let BatchTruth::Distances(distances) = truth else {
            let rows = if self.freeze {
                // As it is judged: a frozen part has no use for chance.
                let still = Pass::evaluation().with_precision(pass.precision());
                model
                    .encoder()
                    .forward(samples, &self.device, &still)
                    .rows
                    .detach()
            } else {
                model.encoder().forward(samples, &self.device, pass).rows
            };
            let outputs = model.predict(rows, samples, pass);
            return Loss::new(share.of(0, self.objective.output_sum(outputs, truth)));
        };
        let encoded = model.encoder().forward(samples, &self.device, pass);
        let mut loss = Tensor::zeros([1], &self.device);
        if !distances.is_empty() && options.unifrac > 0.0 {
            let rows = model.encoder().pool(encoded.rows, samples);
            let sum = share.of(1, distance_sum(rows, distances));
            loss = loss + sum.mul_scalar(options.unifrac);
        }
        if let Some(scores) = encoded.letters {
            let letters = samples.letters();
            let sum = class_sum(scores, &letters, &vec![1.0; letters.len()]);
            loss = loss + share.of(2, sum).mul_scalar(options.nucleotides);
        }
        Loss::new(loss)
    }
}
