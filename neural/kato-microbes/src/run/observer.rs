//! Watches a training: tells progress, judges epochs, keeps the history.

use std::ops::Range;
use std::time::{Duration, Instant};

use kato_neural::BoxError;
use kato_neural::burn::module::Module;
use kato_neural::run::{EpochNumber, History, RunError};
use kato_neural::train::{Event, Observer, Place, StepReport, Trainer};
use serde::{Deserialize, Serialize};

use super::Run;
use crate::training::{Judgement, Learning, judge_with};

/// An epoch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EpochRecord {
    /// The epoch, from 0.
    pub epoch: u64,
    /// Optimiser steps of the run when it ended.
    pub step: u64,
    /// Mean training loss of its steps.
    pub train_loss: f64,
    /// What the model made of the validation samples.
    pub validation: Judgement,
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

impl EpochNumber for EpochRecord {
    fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Something that a training tells while it runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum TrainingEvent<'a> {
    /// A step was taken.
    Step(&'a StepRecord),
    /// An epoch was judged and saved.
    Epoch(&'a EpochRecord),
}

/// A step of a training.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepRecord {
    /// Steps that are done.
    pub step: u64,
    /// Steps of the whole run.
    pub n_steps: u64,
    /// The epoch, from 0.
    pub epoch: u64,
    /// Its loss.
    pub loss: f64,
    /// Time until the last step of the run at this rate, validation included.
    pub left: Duration,
}

/// Sums over the steps of an epoch that were taken by this process.
#[derive(Debug, Default)]
struct Sums {
    n_steps: u64,
    norm: f64,
    rate: f64,
    n_tokens: f64,
    waited: Duration,
    computed: Duration,
}

/// Watches one training for its caller.
pub(super) struct Watch<'a> {
    run: &'a Run,
    history: History,
    n_steps: u64,
    on_event: &'a mut dyn FnMut(TrainingEvent<'_>) -> bool,
    begun: Instant,
    /// Steps that this process took.
    n_taken: u64,
    epoch: Sums,
    judged: Option<(Judgement, Duration)>,
    step: u64,
    error: Option<RunError>,
}

impl<'a> Watch<'a> {
    /// Begins to watch, from the step where the run stands to its last.
    pub(super) fn new(
        run: &'a Run,
        history: History,
        steps: Range<u64>,
        on_event: &'a mut dyn FnMut(TrainingEvent<'_>) -> bool,
    ) -> Self {
        Self {
            run,
            history,
            n_steps: steps.end,
            on_event,
            begun: Instant::now(),
            n_taken: 0,
            epoch: Sums::default(),
            judged: None,
            // An epoch whose last step was the last before a stop is judged without another.
            step: steps.start,
            error: None,
        }
    }

    /// Returns what went wrong since the last epoch was judged.
    pub(super) fn take_error(&mut self) -> Result<(), RunError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Counts a step and tells it.
    fn step(&mut self, report: &StepReport, place: Place, times: (Duration, Duration)) -> bool {
        self.n_taken += 1;
        self.step = report.step + 1;
        self.epoch.n_steps += 1;
        self.epoch.norm += report.norm;
        self.epoch.rate = report.rate;
        // The last of the weights, as the task has them.
        self.epoch.n_tokens += report.weights.last().copied().unwrap_or(0.0);
        self.epoch.waited += times.0;
        self.epoch.computed += times.1;
        let n_left = self.n_steps.saturating_sub(self.step) as f64;
        let a_step = self.begun.elapsed().as_secs_f64() / self.n_taken as f64;
        let record = StepRecord {
            step: self.step,
            n_steps: self.n_steps,
            epoch: place.epoch,
            loss: report.loss,
            left: Duration::from_secs_f64(a_step * n_left),
        };
        (self.on_event)(TrainingEvent::Step(&record))
    }

    /// Writes an epoch down and tells it.
    fn epoch(&mut self, epoch: u64, loss: f64, is_best: bool) -> bool {
        let Some((validation, judging)) = self.judged.take() else {
            return true;
        };
        let sums = std::mem::take(&mut self.epoch);
        let trained = (sums.waited + sums.computed).as_secs_f64();
        let record = EpochRecord {
            epoch,
            step: self.step,
            train_loss: loss,
            validation,
            is_best,
            rate: sums.rate,
            gradient_norm: sums.norm / sums.n_steps.max(1) as f64,
            n_tokens: sums.n_tokens as u64,
            train_s: trained,
            wait_share: sums.waited.as_secs_f64() / trained.max(1e-9),
            judge_s: judging.as_secs_f64(),
        };
        // The next judgement, or the end of the run, tells it; until then the trainer may save.
        self.error = self.history.push(&record).err();
        (self.on_event)(TrainingEvent::Epoch(&record))
    }
}

impl Observer<Learning> for Watch<'_> {
    fn on_event(&mut self, event: Event<'_>) -> bool {
        match event {
            Event::Step {
                report,
                place,
                waited,
                computed,
            } => self.step(report, place, (waited, computed)),
            Event::Judged {
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
        self.judged = Some((judgement, begun.elapsed()));
        Ok(Some(judgement.metric(settings.training.best)))
    }
}

/// Goes along with the replica that watches.
pub(super) struct Follower;

impl Observer<Learning> for Follower {
    fn on_event(&mut self, _: Event<'_>) -> bool {
        true
    }

    fn judge(&mut self, _: &Trainer<Learning>, _: u64) -> Result<Option<f64>, BoxError> {
        Ok(None)
    }
}
