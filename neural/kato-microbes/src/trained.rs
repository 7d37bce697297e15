//! A trained model that is asked about samples.

use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::best_or_latest;
use kato_neural::run::{RunError, RunFolder};
use serde::Serialize;

use crate::batch::mixed;
use crate::community::Microbes;
use crate::conformal::Conformal;
use crate::error::MicrobesError;
use crate::model::Microformer;
use crate::run::{Run, fresh_model, target_of};
use crate::settings::{MicrobesSettings, Selection};
use crate::training::outputs;
use crate::work::Scale;

/// What a model says of one sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The number, in its own unit, or the probability of each class: means over the passes.
    pub outputs: Vec<f64>,
    /// Standard deviation of the number, or of the likeliest class's probability, between passes.
    pub deviation: f64,
}

impl Answer {
    #[cfg(test)]
    pub(crate) const fn new(outputs: Vec<f64>) -> Self {
        Self {
            outputs,
            deviation: 0.0,
        }
    }

    /// Returns the number.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.outputs[0]
    }

    /// Returns the likeliest class.
    #[must_use]
    pub fn class(&self) -> usize {
        let best = (0..self.outputs.len()).max_by(|&a, &b| {
            // The first among equals.
            self.outputs[a].total_cmp(&self.outputs[b]).then(b.cmp(&a))
        });
        best.unwrap_or(0)
    }
}

/// A trained model that predicts a column.
#[derive(Debug)]
pub struct TrainedMicrobes {
    settings: MicrobesSettings,
    model: Microformer,
    column: String,
    classes: Vec<String>,
    scale: Option<Scale>,
    conformal: Option<Conformal>,
    step: u64,
}

impl TrainedMicrobes {
    /// Loads the best model of a run that was trained to predict.
    ///
    /// # Errors
    ///
    /// When there is no such run, it never came to an end or an interruption, or a file is damaged.
    pub fn load(folder: &Path) -> Result<Self, MicrobesError> {
        let settings = MicrobesSettings::of_run(folder)?;
        let Some(target) = target_of(folder)? else {
            let expected = "a run of `kato-microbes train`; this one was pre-trained alone";
            return Err(RunError::setting("run", &folder.display(), expected).into());
        };
        let outcome = Run::read_outcome(folder)?;
        let n_outputs = target.classes.len().max(1);
        let (model, step) = load_model(folder, &settings, Some(n_outputs), &Device::flex())?;
        Ok(Self {
            settings,
            model,
            column: target.column,
            classes: target.classes,
            scale: outcome.scale,
            conformal: outcome.conformal,
            step,
        })
    }

    /// Returns the settings of its run.
    #[must_use]
    pub fn settings(&self) -> &MicrobesSettings {
        &self.settings
    }

    /// Returns the column that it predicts.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Returns the names of the classes; none for numbers.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Returns how wide intervals are; `None` where too few samples were held back for it, and
    /// while the run has not ended.
    #[must_use]
    pub fn conformal(&self) -> Option<&Conformal> {
        self.conformal.as_ref()
    }

    /// Returns after how many steps it was saved.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Microformer {
        &self.model
    }

    /// Predicts all samples of a community.
    ///
    /// With several passes, each reads other sequences of the samples that hold more than are read at
    /// once, and the answer is the mean; samples that hold fewer have the same answer in each.
    #[must_use]
    pub fn predict(&self, microbes: &Microbes, n_passes: usize) -> Vec<Answer> {
        let samples: Vec<usize> = (0..microbes.table.n_samples()).collect();
        self.predict_samples(microbes, &samples, n_passes)
    }

    /// Predicts some samples of a community, by their numbers, as [`predict`](Self::predict) does.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn predict_samples(
        &self,
        microbes: &Microbes,
        samples: &[usize],
        n_passes: usize,
    ) -> Vec<Answer> {
        let passes = (n_passes, self.settings.training.seed);
        answers(
            &self.model,
            microbes,
            samples,
            &self.settings,
            self.scale,
            passes,
        )
    }
}

/// Predicts samples over so many passes with a seed.
pub(crate) fn answers(
    model: &Microformer,
    microbes: &Microbes,
    samples: &[usize],
    settings: &MicrobesSettings,
    scale: Option<Scale>,
    (n_passes, seed): (usize, u64),
) -> Vec<Answer> {
    let mut settings = settings.clone();
    let n_passes = n_passes.max(1);
    if n_passes > 1 {
        settings.model.selection = Selection::Random;
    }
    let mut sums: Vec<Vec<(f64, f64)>> = Vec::new();
    for pass in 0..n_passes {
        let found = outputs(
            model,
            microbes,
            samples,
            &settings,
            mixed(seed, pass as u64),
        );
        let n_outputs = found.len() / samples.len().max(1);
        sums.resize(samples.len(), vec![(0.0, 0.0); n_outputs]);
        for (sums, row) in sums.iter_mut().zip(found.chunks_exact(n_outputs.max(1))) {
            for (sum, value) in sums.iter_mut().zip(in_units(row, scale)) {
                sum.0 += value;
                sum.1 += value * value;
            }
        }
    }
    let n = n_passes as f64;
    let answer = |sums: Vec<(f64, f64)>| {
        let outputs: Vec<f64> = sums.iter().map(|sum| sum.0 / n).collect();
        let mut answer = Answer {
            outputs,
            deviation: 0.0,
        };
        let best = answer.class();
        let mean = answer.outputs[best];
        // Rounding may leave a little below zero.
        answer.deviation = (sums[best].1 / n - mean * mean).max(0.0).sqrt();
        answer
    };
    sums.into_iter().map(answer).collect()
}

/// Returns a number in its own unit, or probabilities of classes.
fn in_units(row: &[f32], scale: Option<Scale>) -> Vec<f64> {
    if let Some(scale) = scale {
        return row.iter().map(|&value| scale.undo(value)).collect();
    }
    let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = row
        .iter()
        .map(|&score| libm::exp(f64::from(score - greatest)))
        .collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Loads the best model of a run, or the newest where none was judged yet, and its step.
pub(crate) fn load_model(
    folder: &Path,
    settings: &MicrobesSettings,
    n_outputs: Option<usize>,
    device: &Device,
) -> Result<(Microformer, u64), MicrobesError> {
    let model = fresh_model(settings, n_outputs, device);
    let found = best_or_latest(&folder.join(RunFolder::CHECKPOINTS))?;
    let model = found.checkpoint.load_model(model)?;
    Ok((model, found.checkpoint.progress().step))
}
