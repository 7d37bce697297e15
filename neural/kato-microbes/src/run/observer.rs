//! Watches a training: tells progress, judges epochs, says what is kept of them.

use kato_neural::BoxError;
use kato_neural::run::{EndedEpoch, EpochNumber, StepRecord, WatchedRun};
use kato_neural::train::{FitEvent, Observer, StepReport, Trainer};
use serde::{Deserialize, Serialize};

use super::Run;
use crate::model::Microformer;
use crate::training::{Learning, MicrobesJudgement, judge_with};

/// An epoch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MicrobesEpoch {
    /// The epoch, from 0.
    pub epoch: u64,
    /// Optimiser steps of the run when it ended.
    pub step: u64,
    /// Mean training loss of its steps.
    pub train_loss: f64,
    /// What the model made of the validation samples.
    pub validation: MicrobesJudgement,
    /// Whether it was the best so far, by the metric of the settings.
    pub is_best: bool,
    /// The learning rate of its last step.
    pub rate: f64,
    /// Mean norm of all gradients together, before the clip.
    pub gradient_norm: f64,
    /// Tokens of the distinct sequences of its batches, those with hidden nucleotides included.
    #[serde(default)]
    pub n_tokens: u64,
    /// Seconds that it trained.
    pub train_s: f64,
    /// Share of them that was spent waiting for batches.
    pub wait_share: f64,
    /// Seconds that its validation took.
    pub judge_s: f64,
}

impl EpochNumber for MicrobesEpoch {
    fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Something that a training tells while it runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum MicrobesEvent<'a> {
    /// A step was taken.
    Step(&'a StepRecord),
    /// An epoch was judged and saved.
    Epoch(&'a MicrobesEpoch),
}

/// Watches one training for its caller.
pub(super) struct Watch<'a> {
    pub(super) run: &'a Run,
    pub(super) on_event: &'a mut dyn FnMut(MicrobesEvent<'_>) -> bool,
}

impl WatchedRun for Watch<'_> {
    type Task = Learning;
    type Judgement = MicrobesJudgement;
    type Epoch = MicrobesEpoch;

    fn n_items(&self, report: &StepReport) -> f64 {
        // The last of the weights, as the task has them.
        report.weights.last().copied().unwrap_or(0.0)
    }

    fn judge(&self, model: &Microformer) -> (MicrobesJudgement, f64) {
        let Run {
            work,
            parts,
            settings,
            ..
        } = self.run;
        let objective = self.run.objective();
        let judgement = judge_with(model, work, &parts.validation, settings, &objective);
        (judgement, judgement.metric(settings.training.best))
    }

    fn record(&self, ended: EndedEpoch, validation: MicrobesJudgement) -> MicrobesEpoch {
        let steps = ended.steps;
        MicrobesEpoch {
            epoch: ended.epoch,
            step: ended.step,
            train_loss: ended.train_loss,
            validation,
            is_best: ended.is_best,
            rate: steps.rate,
            gradient_norm: steps.gradient_norm,
            n_tokens: steps.n_items as u64,
            train_s: steps.train_s,
            wait_share: steps.wait_share,
            judge_s: ended.judge_s,
        }
    }

    fn on_step(&mut self, step: &StepRecord) -> bool {
        (self.on_event)(MicrobesEvent::Step(step))
    }

    fn on_epoch(&mut self, epoch: &MicrobesEpoch) -> bool {
        (self.on_event)(MicrobesEvent::Epoch(epoch))
    }
}

/// Goes along with the replica that watches.
pub(super) struct Follower;

impl Observer<Learning> for Follower {
    fn on_event(&mut self, _: FitEvent<'_>) -> bool {
        true
    }

    fn judge(&mut self, _: &Trainer<Learning>, _: u64) -> Result<Option<f64>, BoxError> {
        Ok(None)
    }
}
