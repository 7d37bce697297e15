//! Watches a training: tells progress, judges epochs, keeps the history.

use std::ops::Range;
use std::time::{Duration, Instant};

use kato_neural::BoxError;
use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::Device;
use kato_neural::run::{EpochHistory, StepRecord, StepWatch};
use kato_neural::train::{FitEvent, Observer, StepPlace, StepReport, Trainer};

use super::history::EpochRecord;
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::metrics::{Collapse, Judgement};
use crate::settings::Settings;
use crate::training::{Reconstruction, judge};

/// Epochs before anybody is warned: what a model makes at first is all alike, whatever becomes of it.
const N_PATIENT: u64 = 5;

/// Something that a training tells while it runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum PoetryEvent<'a> {
    /// A step was taken.
    Step(&'a StepRecord),
    /// An epoch was judged and saved.
    Epoch(&'a EpochRecord),
    /// The model does not tell texts apart.
    Collapse(Collapse),
}

/// Watches one training for its caller.
pub(super) struct Watch<'a> {
    corpus: &'a Corpus,
    settings: &'a Settings,
    history: EpochHistory,
    on_event: &'a mut dyn FnMut(PoetryEvent<'_>) -> bool,
    steps: StepWatch,
    judged: Option<(Judgement, Duration)>,
    has_reached_target: bool,
    error: Option<PoetryError>,
}

impl<'a> Watch<'a> {
    /// Begins to watch, from the step where the run stands to its last.
    pub(super) fn new(
        corpus: &'a Corpus,
        settings: &'a Settings,
        history: EpochHistory,
        steps: Range<u64>,
        on_event: &'a mut dyn FnMut(PoetryEvent<'_>) -> bool,
    ) -> Self {
        Self {
            corpus,
            settings,
            history,
            on_event,
            steps: StepWatch::new(steps),
            judged: None,
            has_reached_target: false,
            error: None,
        }
    }

    /// Returns whether the cosine asked for was reached.
    pub(super) fn has_reached_target(&self) -> bool {
        self.has_reached_target
    }

    /// Returns what went wrong since the last epoch was judged.
    pub(super) fn take_error(&mut self) -> Result<(), PoetryError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Takes an error that the next judgement, or the end of the run, tells.
    pub(super) fn fail(&mut self, error: PoetryError) {
        // The first one: later ones mostly follow from it.
        self.error.get_or_insert(error);
    }

    /// Counts time in which training waited for a checkpoint.
    pub(super) fn stood_still(&mut self, time: Duration) {
        self.steps.count_saving(time);
    }

    /// Counts a step and tells it.
    fn step(&mut self, report: &StepReport, place: StepPlace, times: (Duration, Duration)) -> bool {
        // The second weight is the number of chunks.
        let n_chunks = report.weights.get(1).copied().unwrap_or(0.0);
        let record = self.steps.count(report, place, n_chunks, times);
        (self.on_event)(PoetryEvent::Step(&record))
    }

    /// Writes an epoch down and tells it.
    fn epoch(&mut self, epoch: u64, loss: f64, is_best: bool) -> bool {
        let Some((validation, judging)) = self.judged.take() else {
            return true;
        };
        let steps = self.steps.end_epoch();
        let record = EpochRecord {
            epoch,
            step: self.steps.step(),
            train_loss: loss,
            validation,
            is_best,
            rate: steps.rate,
            gradient_norm: steps.gradient_norm,
            chunks_per_s: steps.n_items / steps.train_s,
            wait_share: steps.wait_share,
            train_s: steps.train_s,
            judge_s: judging.as_secs_f64(),
            saving_s: steps.saving_s,
        };
        if let Err(error) = self.history.push(&record) {
            // The trainer is told by the next judgement; until then it may save.
            self.fail(error.into());
        }
        let mut goes_on = (self.on_event)(PoetryEvent::Epoch(&record));
        if let Some(collapse) = validation.collapse().filter(|_| epoch >= N_PATIENT) {
            goes_on &= (self.on_event)(PoetryEvent::Collapse(collapse));
        }
        if validation.cosine >= self.settings.training.target_cosine {
            self.has_reached_target = true;
            return false;
        }
        goes_on
    }
}

impl Observer<Reconstruction> for Watch<'_> {
    fn on_event(&mut self, event: FitEvent<'_>) -> bool {
        match event {
            FitEvent::Step {
                report,
                place,
                waited,
                computed,
            } => self.step(report, place, (waited, computed)),
            FitEvent::Saved { stalled, .. } => {
                self.stood_still(stalled);
                true
            }
            FitEvent::Judged {
                epoch,
                loss,
                improved,
                ..
            } => self.epoch(epoch, loss, improved),
            _ => true,
        }
    }

    fn judge(
        &mut self,
        trainer: &Trainer<Reconstruction>,
        _epoch: u64,
    ) -> Result<Option<f64>, BoxError> {
        if let Some(error) = self.error.take() {
            return Err(error.into());
        }
        let begun = Instant::now();
        // Without the graph of gradients, which would hold every step's states.
        let model = trainer.model().valid();
        let Corpus {
            validation,
            vectors,
            ..
        } = self.corpus;
        let device = Device::flex();
        let judgement = judge(&model, validation, vectors, &self.settings.loss, &device);
        let taken = begun.elapsed();
        self.steps.count_judging(taken);
        self.judged = Some((judgement, taken));
        Ok(Some(judgement.loss))
    }
}
