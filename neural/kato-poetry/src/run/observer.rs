//! Watches a training: tells progress, judges epochs, says when the run is good enough.

use kato_neural::burn::tensor::Device;
use kato_neural::run::{EndedEpoch, StepRecord, WatchedRun};
use kato_neural::train::StepReport;

use super::Run;
use super::history::EpochRecord;
use crate::corpus::Corpus;
use crate::metrics::{Collapse, Judgement};
use crate::model::Autoencoder;
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
    pub(super) run: &'a Run,
    pub(super) on_event: &'a mut dyn FnMut(PoetryEvent<'_>) -> bool,
    /// Whether the cosine asked for was reached.
    pub(super) has_reached_target: bool,
}

impl WatchedRun for Watch<'_> {
    type Task = Reconstruction;
    type Judgement = Judgement;
    type Epoch = EpochRecord;

    fn n_items(&self, report: &StepReport) -> f64 {
        // The second weight is the number of chunks.
        report.weights.get(1).copied().unwrap_or(0.0)
    }

    fn judge(&self, model: &Autoencoder) -> (Judgement, f64) {
        let Corpus {
            validation,
            vectors,
            ..
        } = &self.run.corpus;
        let (loss, device) = (&self.run.settings.loss, Device::flex());
        let judgement = judge(model, validation, vectors, loss, &device);
        (judgement, judgement.loss)
    }

    fn record(&self, ended: EndedEpoch, validation: Judgement) -> EpochRecord {
        let steps = ended.steps;
        EpochRecord {
            epoch: ended.epoch,
            step: ended.step,
            train_loss: ended.train_loss,
            validation,
            is_best: ended.is_best,
            rate: steps.rate,
            gradient_norm: steps.gradient_norm,
            chunks_per_s: steps.n_items / steps.train_s,
            wait_share: steps.wait_share,
            train_s: steps.train_s,
            judge_s: ended.judge_s,
            saving_s: steps.saving_s,
        }
    }

    fn on_step(&mut self, step: &StepRecord) -> bool {
        (self.on_event)(PoetryEvent::Step(step))
    }

    fn on_epoch(&mut self, record: &EpochRecord) -> bool {
        let mut goes_on = (self.on_event)(PoetryEvent::Epoch(record));
        let collapse = record.validation.collapse();
        if let Some(collapse) = collapse.filter(|_| record.epoch >= N_PATIENT) {
            goes_on &= (self.on_event)(PoetryEvent::Collapse(collapse));
        }
        self.has_reached_target = self.run.is_good_enough(record);
        goes_on && !self.has_reached_target
    }
}
