//! Watches a training: tells progress, judges epochs, keeps the history.

use std::ops::Range;
use std::time::{Duration, Instant};

use kato_neural::BoxError;
use kato_neural::burn::module::Module;
use kato_neural::run::{EpochHistory, EpochNumber, RunError, StepRecord, StepWatch};
use kato_neural::train::{FitEvent, Observer, StepPlace, StepReport, Trainer};
use serde::{Deserialize, Serialize};

use super::Run;
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
    run: &'a Run,
    history: EpochHistory,
    on_event: &'a mut dyn FnMut(MicrobesEvent<'_>) -> bool,
    steps: StepWatch,
    judged: Option<(MicrobesJudgement, Duration)>,
    error: Option<RunError>,
}

impl<'a> Watch<'a> {
    /// Begins to watch, from the step where the run stands to its last.
    pub(super) fn new(
        run: &'a Run,
        history: EpochHistory,
        steps: Range<u64>,
        on_event: &'a mut dyn FnMut(MicrobesEvent<'_>) -> bool,
    ) -> Self {
        Self {
            run,
            history,
            on_event,
            steps: StepWatch::new(steps),
            judged: None,
            error: None,
        }
    }

    /// Returns what went wrong since the last epoch was judged.
    pub(super) fn take_error(&mut self) -> Result<(), RunError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Counts a step and tells it.
    fn step(&mut self, report: &StepReport, place: StepPlace, times: (Duration, Duration)) -> bool {
        // The last of the weights, as the task has them.
        let n_tokens = report.weights.last().copied().unwrap_or(0.0);
        let record = self.steps.count(report, place, n_tokens, times);
        (self.on_event)(MicrobesEvent::Step(&record))
    }

    /// Writes an epoch down and tells it.
    fn epoch(&mut self, epoch: u64, loss: f64, is_best: bool) -> bool {
        let Some((validation, judging)) = self.judged.take() else {
            return true;
        };
        let steps = self.steps.end_epoch();
        let record = MicrobesEpoch {
            epoch,
            step: self.steps.step(),
            train_loss: loss,
            validation,
            is_best,
            rate: steps.rate,
            gradient_norm: steps.gradient_norm,
            n_tokens: steps.n_items as u64,
            train_s: steps.train_s,
            wait_share: steps.wait_share,
            judge_s: judging.as_secs_f64(),
        };
        // The next judgement, or the end of the run, tells it; until then the trainer may save.
        self.error = self.history.push(&record).err();
        (self.on_event)(MicrobesEvent::Epoch(&record))
    }
}

impl Observer<Learning> for Watch<'_> {
    fn on_event(&mut self, event: FitEvent<'_>) -> bool {
        match event {
            FitEvent::Step {
                report,
                place,
                waited,
                computed,
            } => self.step(report, place, (waited, computed)),
            FitEvent::Judged {
                epoch,
                loss,
                improved,
                ..
            } => self.epoch(epoch, loss, improved),
            _ => true,
        }
    }

    fn judge(&mut self, trainer: &Trainer<Learning>, _: u64) -> Result<Option<f64>, BoxError> {
        self.take_error()?;
        let begun = Instant::now();
        // Without the graph of gradients, which would hold every step's states.
        let model = trainer.model().valid();
        let Run {
            work,
            parts,
            settings,
            ..
        } = self.run;
        let judgement = judge_with(
            &model,
            work,
            &parts.validation,
            settings,
            &self.run.objective(),
        );
        let taken = begun.elapsed();
        self.steps.count_judging(taken);
        self.judged = Some((judgement, taken));
        Ok(Some(judgement.metric(settings.training.best)))
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
