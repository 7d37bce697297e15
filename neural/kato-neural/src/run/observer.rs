//! Watches a run: tells its steps, judges its epochs, keeps their history.

use std::time::{Duration, Instant};

use burn::module::Module;

use super::{EpochHistory, EpochNumber, EpochSteps, RunError, RunFolder, StepRecord, StepWatch};
use crate::checkpoint::{CheckpointWriter, WriterOptions};
use crate::train::{FitEvent, FitReport, Observer, StepPlace, StepReport, Task, Trainer};
use crate::{BoxError, Error};

/// What a program makes of the steps and epochs of its run.
pub trait WatchedRun {
    /// What is trained.
    type Task: Task;
    /// What a model made of the samples that choose the best epoch.
    type Judgement;
    /// What is kept of an epoch.
    type Epoch: EpochNumber;

    /// Returns over how many items a step went.
    fn n_items(&self, report: &StepReport) -> f64;

    /// Judges a model, which has no graph of gradients; the metric of the best epoch stands beside.
    fn judge(&self, model: &<Self::Task as Task>::Model) -> (Self::Judgement, f64);

    /// Returns what is kept of an epoch.
    fn record(&self, epoch: EndedEpoch, judgement: Self::Judgement) -> Self::Epoch;

    /// Tells a step; `false` ends the run.
    fn on_step(&mut self, step: &StepRecord) -> bool;

    /// Tells an epoch that is in the history; `false` ends the run.
    fn on_epoch(&mut self, epoch: &Self::Epoch) -> bool;
}

/// What every run knows of an epoch that is over.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EndedEpoch {
    /// The epoch, from 0.
    pub epoch: u64,
    /// Steps of the run when it ended.
    pub step: u64,
    /// Mean training loss of its steps.
    pub train_loss: f64,
    /// Whether it was the best so far.
    pub is_best: bool,
    /// What its steps took.
    pub steps: EpochSteps,
    /// Seconds that its judgement took.
    pub judge_s: f64,
}

/// Watches one training of a run.
#[derive(Debug)]
pub struct RunObserver<'a, W: WatchedRun> {
    watched: &'a mut W,
    history: EpochHistory,
    steps: StepWatch,
    judged: Option<(W::Judgement, Duration)>,
    error: Option<RunError>,
}

impl<W: WatchedRun> RunObserver<'_, W> {
    /// Counts a step and tells it.
    fn step(&mut self, report: &StepReport, place: StepPlace, times: (Duration, Duration)) -> bool {
        let n_items = self.watched.n_items(report);
        let record = self.steps.count(report, place, n_items, times);
        self.watched.on_step(&record)
    }

    /// Writes an epoch down and tells it.
    fn epoch(&mut self, epoch: u64, train_loss: f64, is_best: bool) -> bool {
        let Some((judgement, judging)) = self.judged.take() else {
            return true;
        };
        let ended = EndedEpoch {
            epoch,
            step: self.steps.step(),
            train_loss,
            is_best,
            steps: self.steps.end_epoch(),
            judge_s: judging.as_secs_f64(),
        };
        let record = self.watched.record(ended, judgement);
        // The next judgement, or the end of the run, tells it; until then the trainer may save.
        self.error = self.history.push(&record).err();
        self.watched.on_epoch(&record)
    }
}

impl<W: WatchedRun> Observer<W::Task> for RunObserver<'_, W> {
    fn on_event(&mut self, event: FitEvent<'_>) -> bool {
        match event {
            FitEvent::Step {
                report,
                place,
                waited,
                computed,
            } => self.step(report, place, (waited, computed)),
            FitEvent::Saved { stalled, .. } => {
                self.steps.count_saving(stalled);
                true
            }
            FitEvent::Judged {
                epoch,
                loss,
                improved,
                ..
            } => self.epoch(epoch, loss, improved),
        }
    }

    fn judge(&mut self, trainer: &Trainer<W::Task>, _: u64) -> Result<Option<f64>, BoxError> {
        if let Some(error) = self.error.take() {
            return Err(error.into());
        }
        let begun = Instant::now();
        // Without the graph of gradients, which would hold every step's states.
        let (judgement, metric) = self.watched.judge(&trainer.model().valid());
        let taken = begun.elapsed();
        self.steps.count_judging(taken);
        self.judged = Some((judgement, taken));
        Ok(Some(metric))
    }
}

/// Lets `fit` train a run of so many steps from where its trainer stands, with a writer of checkpoints
/// and an observer, which forgets epochs that were not saved.
///
/// # Errors
///
/// Those of `fit`, and when a checkpoint or the history cannot be written.
pub fn watch_run<W, E>(
    folder: &RunFolder,
    trainer: &mut Trainer<W::Task>,
    (n_steps, options): (u64, WriterOptions),
    watched: &mut W,
    fit: impl FnOnce(
        &mut Trainer<W::Task>,
        &CheckpointWriter,
        &mut RunObserver<'_, W>,
    ) -> Result<FitReport, E>,
) -> Result<FitReport, E>
where
    W: WatchedRun,
    E: From<RunError> + From<Error>,
{
    let progress = trainer.progress();
    let path = folder.file(RunFolder::HISTORY);
    let mut observer = RunObserver {
        watched,
        history: EpochHistory::open::<W::Epoch>(&path, progress.epoch)?,
        steps: StepWatch::new(progress.step..n_steps),
        judged: None,
        error: None,
    };
    let writer = CheckpointWriter::new(folder.file(RunFolder::CHECKPOINTS), options)?;
    let fitted = fit(trainer, &writer, &mut observer);
    // What was handed over is written whatever happened.
    let written = writer.finish();
    let fitted = fitted?;
    written?;
    observer.error.map_or(Ok(fitted), |error| Err(error.into()))
}
