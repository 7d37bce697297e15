//! What came of a run.

use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::run::{
    EpochHistory, RunEnding, RunFolder, peak_bytes, processor_seconds, processor_seconds_of_ended,
    read_json, write_json,
};
use serde::{Deserialize, Serialize};

use super::{LAYOUT, MicrobesEpoch, PROGRAM, Run};
use crate::conformal::{Conformal, MISS};
use crate::error::MicrobesError;
use crate::evaluation::{Score, scores};
use crate::metadata::TargetValues;
use crate::model::Microformer;
use crate::trained::{Answer, answers, load_model};
use crate::training::{distance_pairs, judge_with};
use crate::work::{Scale, Truth};

/// What came of a run so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MicrobesOutcome {
    /// Why the training ended.
    pub ending: RunEnding,
    /// Optimiser steps of all processes that trained it.
    pub n_steps: u64,
    /// Epochs that were judged.
    pub n_epochs: u64,
    /// The best epoch, by the metric of the settings.
    pub best: Option<MicrobesEpoch>,
    /// How good the best epoch's model is on the test samples, with intervals; empty while the run was
    /// interrupted, or where there are none. While pre-training, R² and error of the distances of all
    /// pairs and the share of hidden nucleotides that are right, as far as they are taught; their intervals are left
    /// out: pairs are not independent.
    pub test: Vec<Score>,
    /// How numbers are scaled.
    pub scale: Option<Scale>,
    /// How wide the intervals of predictions are.
    pub conformal: Option<Conformal>,
    /// True and predicted distances of pairs of test samples, some thousands at most; empty unless
    /// pre-training.
    pub pairs: Vec<(f32, f32)>,
    /// The most memory of the process that ended it, without those of other replicas; `None` where the system
    /// does not tell.
    #[serde(default)]
    pub peak_bytes: Option<u64>,
    /// Seconds that processors worked for that process, and for replicas that were processes; `None` where the
    /// system does not tell.
    #[serde(default)]
    pub processor_s: Option<f64>,
}

/// Pairs that are kept for the picture at most.
const N_PAIRS: usize = 3000;

impl Run {
    /// Reads what came of the run in a folder.
    ///
    /// # Errors
    ///
    /// When it was never trained to an end or an interruption, or the file is damaged.
    pub fn read_outcome(folder: &Path) -> Result<MicrobesOutcome, MicrobesError> {
        RunFolder::check(folder, PROGRAM, LAYOUT)?;
        Ok(read_json(&folder.join(RunFolder::OUTCOME))?)
    }

    /// Reads the epochs of the run in a folder.
    ///
    /// # Errors
    ///
    /// When there is no run, or the file is damaged.
    pub fn read_history(folder: &Path) -> Result<Vec<MicrobesEpoch>, MicrobesError> {
        RunFolder::check(folder, PROGRAM, LAYOUT)?;
        Ok(EpochHistory::read(&folder.join(RunFolder::HISTORY))?)
    }

    /// Judges the best model once more and writes down what came of the run.
    pub(super) fn outcome(
        &self,
        ending: RunEnding,
        n_steps: u64,
    ) -> Result<MicrobesOutcome, MicrobesError> {
        let history = Self::read_history(self.folder())?;
        let mut outcome = MicrobesOutcome {
            ending,
            n_steps,
            n_epochs: history.len() as u64,
            best: history.iter().rev().find(|record| record.is_best).copied(),
            test: Vec::new(),
            scale: self.objective().scale,
            conformal: None,
            pairs: Vec::new(),
            peak_bytes: None,
            processor_s: None,
        };
        if ending != RunEnding::Interrupted {
            let n_outputs = self.work.n_outputs();
            let device = Device::flex();
            let (model, _) = load_model(self.folder(), &self.settings, n_outputs, &device)?;
            match &self.work.truth {
                Truth::Distances(_) => self.judge_distances(&model, &mut outcome),
                Truth::Target { values, .. } => self.judge_target(&model, values, &mut outcome),
            }
        }
        outcome.peak_bytes = peak_bytes();
        outcome.processor_s = processor_seconds()
            .zip(processor_seconds_of_ended())
            .map(|(own, others)| own + others);
        write_json(&self.folder.file(RunFolder::OUTCOME), &outcome)?;
        Ok(outcome)
    }

    fn judge_distances(&self, model: &Microformer, outcome: &mut MicrobesOutcome) {
        let test = &self.parts.test;
        if test.len() < 2 {
            return;
        }
        let judged = judge_with(model, &self.work, test, &self.settings, &self.objective());
        let score = |name: &str, value: Option<f64>| {
            value.map(|value| Score::without_interval(name, value))
        };
        outcome.test.extend(score("r2", judged.r2));
        outcome.test.extend(score("mae", judged.mae));
        outcome
            .test
            .extend(score("nucleotide_accuracy", judged.accuracy));
        let (predicted, truth) = distance_pairs(model, &self.work, test, &self.settings);
        let pairs = truth.iter().map(|&truth| truth as f32).zip(predicted);
        let every = truth.len().div_ceil(N_PAIRS).max(1);
        outcome.pairs = pairs.step_by(every).collect();
    }

    /// Finds the width of intervals by the calibration samples, and how often they hold by the test
    /// samples.
    fn judge_target(
        &self,
        model: &Microformer,
        values: &TargetValues,
        outcome: &mut MicrobesOutcome,
    ) {
        let answers_of = |places: &[usize]| -> Vec<Answer> {
            let samples: Vec<usize> = places.iter().map(|&at| self.work.samples[at]).collect();
            let seed = self.settings.training.seed;
            answers(
                model,
                &self.work.microbes,
                &samples,
                &self.settings,
                outcome.scale,
                (1, seed),
            )
        };
        let calibrating = values.select(&self.parts.calibration);
        let found = answers_of(&self.parts.calibration);
        let mut conformal = Conformal::new(&found, &calibrating, MISS);
        let truth = values.select(&self.parts.test);
        let found = answers_of(&self.parts.test);
        if !truth.is_empty() {
            let predicted = match &truth {
                TargetValues::Numbers(_) => {
                    TargetValues::Numbers(found.iter().map(|answer| answer.value()).collect())
                }
                TargetValues::Classes { names, .. } => TargetValues::Classes {
                    names: names.clone(),
                    of: found.iter().map(Answer::class).collect(),
                },
            };
            outcome.test = scores(&predicted, &truth, self.settings.training.seed);
            if let Some(conformal) = &mut conformal {
                conformal.measure(&found, &truth);
            }
        }
        outcome.conformal = conformal;
    }
}
