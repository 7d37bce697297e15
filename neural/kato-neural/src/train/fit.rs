//! The way through all epochs: batches, steps, judgements, checkpoints, the end.

use std::path::Path;
use std::time::Instant;

use kato_gradient::stop::{EarlyStop, EarlyStopSettings, EarlyStopState, StopVerdict};

use super::{
    Batches, Ending, FitEvent, FitOptions, FitReport, Observer, StepPlace, Task, Trainer,
    TrainerOptions,
};
use crate::Error;
use crate::checkpoint::{CheckpointKind, CheckpointPath, CheckpointWriter, checkpoints, latest};

impl<T: Task> Trainer<T> {
    /// Goes on from the newest whole checkpoint of a folder, or begins a run where there is none.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new) and [`resume`](Self::resume).
    pub fn begin_or_resume(
        task: T,
        model: T::Model,
        options: TrainerOptions,
        folder: &Path,
    ) -> Result<Self, Error> {
        let is_step = |place: &CheckpointPath| place.kind == CheckpointKind::Step;
        if !checkpoints(folder)?.iter().any(is_step) {
            return Self::new(task, model, options);
        }
        let latest = latest(folder, CheckpointKind::Step)?;
        Self::resume(task, model, options, &latest.checkpoint)
    }

    /// Runs through the epochs from where the run stands, and saves into `writer` as it goes.
    ///
    /// `rate` is the schedule: the same place has the same rate.
    ///
    /// # Errors
    ///
    /// Those of [`step`](Self::step), of the batches, of the observer's judgement and of the writer.
    pub fn fit<B, O>(
        &mut self,
        batches: &mut B,
        rate: &dyn Fn(&StepPlace) -> f64,
        options: &FitOptions,
        writer: Option<&CheckpointWriter>,
        observer: &mut O,
    ) -> Result<FitReport, Error>
    where
        B: Batches<Batch = T::Batch>,
        O: Observer<T>,
    {
        let mut stop = self.early_stop_of(options)?;
        let mut run = Run {
            rate,
            options,
            writer,
            observer,
        };
        while self.progress.epoch < options.n_epochs {
            // A run that had already been stopped stays so, when it is taken up again.
            let settings = options.early_stop.as_ref();
            let state = self.early_stop.as_ref();
            if let Some(verdict) = settings
                .zip(state)
                .and_then(|(settings, state)| ended(settings, state))
            {
                return self.ended(Ending::EarlyStop(verdict));
            }
            if !self.epoch(batches, &mut run)? {
                self.save(&mut run, false)?;
                return self.ended(Ending::Interrupted);
            }
            let verdict = self.end_epoch(stop.as_mut(), &mut run)?;
            self.save(&mut run, false)?;
            match verdict {
                Judgement::Stop(verdict) => return self.ended(Ending::EarlyStop(verdict)),
                Judgement::Interrupt => return self.ended(Ending::Interrupted),
                Judgement::GoOn => {}
            }
        }
        self.ended(Ending::Complete)
    }

    fn early_stop_of(&self, options: &FitOptions) -> Result<Option<EarlyStop>, Error> {
        let Some(settings) = options.early_stop else {
            return Ok(None);
        };
        let state = self.early_stop.unwrap_or_default();
        let stop = EarlyStop::from_state(settings, state).map_err(|error| Error::Mismatch {
            reason: error.to_string(),
        })?;
        Ok(Some(stop))
    }

    fn ended(&mut self, ending: Ending) -> Result<FitReport, Error> {
        self.gather_weights(true)?;
        Ok(FitReport {
            ending,
            n_steps: self.progress.step,
            early_stop: self.early_stop,
        })
    }

    /// Runs what is left of an epoch; `false` where the observer ended it.
    fn epoch<B, O>(&mut self, batches: &mut B, run: &mut Run<'_, O>) -> Result<bool, Error>
    where
        B: Batches<Batch = T::Batch>,
        O: Observer<T>,
    {
        let (epoch, n_batches) = (self.progress.epoch, batches.n_batches(self.progress.epoch));
        let n_accumulated = run.options.n_accumulated.max(1);
        // Optimiser steps and not batches: a schedule by batches would end too early.
        let steps_in_epoch = n_batches.div_ceil(n_accumulated as u64);
        // From where the run stands: an epoch that was interrupted goes on inside.
        let mut source = batches.batches(epoch, self.progress.batch);
        loop {
            let begin = Instant::now();
            // Taken at once: the totals of a step are known before its first forward pass.
            // Grown as it is filled: an epoch may have far fewer than a step could.
            let mut group = Vec::new();
            for batch in source.by_ref().take(n_accumulated) {
                let place = self.progress.batch + group.len() as u64;
                let failed = |source| Error::Batch {
                    epoch,
                    batch: place,
                    source,
                };
                group.push(batch.map_err(failed)?);
            }
            // The last group of an epoch may be smaller, and is a step like all others.
            if group.is_empty() {
                return Ok(true);
            }
            let waited = begin.elapsed();
            let place = StepPlace {
                step: self.progress.step,
                epoch,
                step_in_epoch: self.progress.epoch_steps,
                steps_in_epoch,
            };
            let report = self.step((run.rate)(&place), &group)?;
            // Only after the step, so that a checkpoint never counts a batch that was not learned.
            self.progress.batch += group.len() as u64;
            self.progress.epoch_steps += 1;
            let sum = f64::from_bits(self.progress.epoch_loss_bits) + report.loss;
            self.progress.epoch_loss_bits = sum.to_bits();
            let computed = begin.elapsed() - waited;
            let event = FitEvent::Step {
                report: &report,
                place,
                waited,
                computed,
            };
            // Asked after the position has moved: a stop here is a place to go on from.
            let go_on = self.all_agree(run.observer.on_event(event))?;
            let due = run.options.save_every.is_some_and(|every| {
                // The end of the epoch saves anyway.
                self.progress.step.is_multiple_of(every.max(1)) && self.progress.batch < n_batches
            });
            if !go_on {
                return Ok(false);
            }
            if due {
                self.save(run, false)?;
            }
        }
    }

    /// Judges an epoch, and moves to the next.
    fn end_epoch<O: Observer<T>>(
        &mut self,
        stop: Option<&mut EarlyStop>,
        run: &mut Run<'_, O>,
    ) -> Result<Judgement, Error> {
        let (epoch, batch) = (self.progress.epoch, self.progress.batch);
        let loss =
            f64::from_bits(self.progress.epoch_loss_bits) / self.progress.epoch_steps.max(1) as f64;
        self.gather_weights(false)?;
        // By one for all: the models are the same to the bit, and judging takes long.
        let judged = match self.rank() {
            0 => run.observer.judge(self, epoch),
            _ => Ok(None),
        };
        let metric = judged.map_err(|source| Error::Batch {
            epoch,
            batch,
            source,
        })?;
        let metric = self.said_by_first(metric)?;
        // Moved on before saving: a run taken up from here begins the next epoch.
        self.progress.epoch += 1;
        self.progress.batch = 0;
        self.progress.epoch_steps = 0;
        self.progress.epoch_loss_bits = 0;
        let verdict = stop.zip(metric).map(|(stop, metric)| {
            let verdict = stop.observe(metric);
            self.early_stop = Some(*stop.state());
            verdict
        });
        let improved = matches!(
            verdict,
            Some(StopVerdict::Improved | StopVerdict::ReachedTarget)
        );
        if improved {
            self.save(run, true)?;
        }
        let go_on = self.all_agree(run.observer.on_event(FitEvent::Judged {
            epoch,
            loss,
            metric,
            improved,
        }))?;
        Ok(match verdict.filter(|verdict| verdict.is_stop()) {
            Some(verdict) => Judgement::Stop(verdict),
            None if go_on => Judgement::GoOn,
            None => Judgement::Interrupt,
        })
    }

    fn save<O: Observer<T>>(&mut self, run: &mut Run<'_, O>, best: bool) -> Result<(), Error> {
        let begin = Instant::now();
        // Asked on every replica: each has a share of it, and all of them save at the same places.
        if run.options.sharded_checkpoints && self.is_sharded() {
            self.save_shares(run.writer, best)?;
        } else {
            self.gather_weights(false)?;
            let moments = self.all_moments()?;
            if let Some(writer) = run.writer {
                let snapshot = self.snapshot().with_moments(&moments);
                writer.save(if best { snapshot.as_best() } else { snapshot })?;
            }
        }
        if run.writer.is_none() {
            return Ok(());
        }
        let stalled = begin.elapsed();
        // Not asked whether to go on: the step or the judgement beside it is.
        let _ = run.observer.on_event(FitEvent::Saved {
            step: self.progress.step,
            stalled,
        });
        Ok(())
    }
}

/// What one call of `fit` was given.
struct Run<'a, O> {
    rate: &'a dyn Fn(&StepPlace) -> f64,
    options: &'a FitOptions,
    writer: Option<&'a CheckpointWriter>,
    observer: &'a mut O,
}

enum Judgement {
    GoOn,
    Stop(StopVerdict),
    Interrupt,
}

/// Returns the verdict that a run had already ended with when it was saved.
fn ended(settings: &EarlyStopSettings, state: &EarlyStopState) -> Option<StopVerdict> {
    let reached = |best: f64| {
        settings
            .target
            .is_some_and(|target| settings.goal.reaches(best, target))
    };
    if state.best.is_some_and(reached) {
        return Some(StopVerdict::ReachedTarget);
    }
    (state.n_without >= settings.patience).then_some(StopVerdict::OutOfPatience)
}
