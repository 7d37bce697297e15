//! One optimiser step over any number of batches.

mod blocks;
mod cut;
mod gradients;
mod replicas;
mod shards;
mod shares;

use std::sync::Arc;

use burn::module::Module;
use kato_gradient::scaler::{LossScaler, ScaledStep};
use kato_gradient::stop::EarlyStopState;

use super::{Task, TrainerOptions};
use crate::checkpoint::{TrainerCheckpoint, TrainerProgress, TrainerSnapshot};
use crate::collective::Collective;
use crate::{Adam, Error, Precision};
use gradients::Total;
use shards::Shards;

/// A task with its model, optimiser and place in the run.
///
/// Everything random is a function of the seed and of the step, so that weights, optimiser state and
/// [`TrainerProgress`] are all that a run needs to go on bit for bit.
#[derive(Debug)]
pub struct Trainer<T: Task> {
    task: T,
    /// Absent only while the optimiser has it.
    model: Option<T::Model>,
    adam: Adam,
    options: TrainerOptions,
    scaler: Option<LossScaler>,
    pub(crate) progress: TrainerProgress,
    /// The best metric's state, by which `fit` stops.
    pub(crate) early_stop: Option<EarlyStopState>,
    /// The replicas that train together, if there are several.
    collective: Option<Arc<dyn Collective>>,
    /// Who of them has which parameters, if not each of them all.
    shards: Option<Shards>,
}

/// What one optimiser step did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StepReport {
    /// The number of the step, from 0.
    pub step: u64,
    /// The step's loss.
    pub loss: f64,
    /// Totals of the task's weights over the step.
    pub weights: Vec<f64>,
    /// The task's further sums.
    pub sums: Vec<f64>,
    /// The learning rate.
    pub rate: f64,
    /// The norm over all gradients, before the clip.
    pub norm: f64,
    /// Whether the gradients were scaled down.
    pub clipped: bool,
    /// Whether the step was passed over because the loss scale was too large.
    pub skipped: bool,
}

impl<T: Task> Trainer<T> {
    /// Begins a run.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] where the settings of the loss scale contradict each other.
    pub fn new(task: T, model: T::Model, options: TrainerOptions) -> Result<Self, Error> {
        let scaler = match options.precision {
            Precision::F16 => {
                Some(LossScaler::new(options.scaler).map_err(|error| mismatch(&error))?)
            }
            _ => None,
        };
        let progress = TrainerProgress {
            seed: options.seed,
            ..TrainerProgress::default()
        };
        let adam = Adam::new(options.adam.clone());
        Ok(Self {
            task,
            model: Some(model),
            adam,
            options,
            scaler,
            progress,
            early_stop: None,
            collective: None,
            shards: None,
        })
    }

    /// Goes on from a checkpoint: its seed, optimiser and place hold, and the precision of `options`.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] where the checkpoint is of another model, and what reading it may bring.
    pub fn resume(
        task: T,
        model: T::Model,
        options: TrainerOptions,
        checkpoint: &TrainerCheckpoint,
    ) -> Result<Self, Error> {
        // Moments go where the weights are.
        let device = model.devices().into_iter().next().unwrap_or_default();
        let mut trainer = Self::new(task, checkpoint.load_model(model)?, options)?;
        trainer.adam = checkpoint.load_adam(&device)?;
        trainer.progress = checkpoint.progress().clone();
        // Another seed would be another run from here on.
        trainer.options.seed = trainer.progress.seed;
        trainer.early_stop = trainer.progress.early_stop;
        if let (Some(_), Some(state)) = (&trainer.scaler, trainer.progress.scaler) {
            let scaler = LossScaler::from_state(trainer.options.scaler, state);
            trainer.scaler = Some(scaler.map_err(|error| mismatch(&error))?);
        }
        Ok(trainer)
    }

    /// The task.
    #[must_use]
    pub const fn task(&self) -> &T {
        &self.task
    }

    /// The model, as it is now. Where replicas have divided its weights, a step leaves each with its own;
    /// [`fit`](Self::fit) gives all of them to whoever judges, and to every one in the end, and so does
    /// [`whole`](Self::whole).
    ///
    /// # Panics
    ///
    /// Panics after a panic inside a step, which loses the model.
    #[must_use]
    pub const fn model(&self) -> &T::Model {
        self.model
            .as_ref()
            .expect("only a panic in a step loses the model")
    }

    /// Gives every replica all weights, where they are divided; all have to call it.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`] where one does not come along.
    pub fn whole(&mut self) -> Result<&T::Model, Error> {
        self.gather_weights(true)?;
        Ok(self.model())
    }

    /// Ends the run and returns the model.
    ///
    /// # Panics
    ///
    /// As [`model`](Self::model).
    #[must_use]
    pub fn into_model(self) -> T::Model {
        self.model.expect("only a panic in a step loses the model")
    }

    /// The optimiser.
    #[must_use]
    pub const fn adam(&self) -> &Adam {
        &self.adam
    }

    /// Where the run stands.
    #[must_use]
    pub const fn progress(&self) -> &TrainerProgress {
        &self.progress
    }

    /// How many steps of the run were passed over because the loss scale was too large, those before a
    /// resume included.
    #[must_use]
    pub fn n_skipped(&self) -> u64 {
        let scaler = self.scaler.as_ref();
        scaler.map_or(0, |scaler| scaler.state().n_skipped)
    }

    /// Takes the state, to be written while training goes on. Where replicas have divided it, that is this one's
    /// share alone, with weights of others that are no numbers: [`fit`](Self::fit) saves the whole.
    #[must_use]
    pub fn snapshot(&self) -> TrainerSnapshot {
        TrainerSnapshot::new(self.model(), &self.adam, self.place())
    }

    /// Where the run stands, with all that decides how it goes on.
    fn place(&self) -> TrainerProgress {
        let mut progress = self.progress.clone();
        progress.scaler = self.scaler.as_ref().map(|scaler| *scaler.state());
        progress.early_stop = self.early_stop;
        progress
    }

    /// Takes one optimiser step over a group of batches, as if they were one.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyStep`] where there is nothing to learn from, [`Error::Uncut`] where a batch does
    /// not fit and cannot be cut, [`Error::BatchNorm`] where statistics would be those of parts,
    /// [`Error::Collective`] where replicas do not come along, and [`Error::NotFinite`] where a gradient is lost and no loss scale explains it; the weights are
    /// unchanged then.
    ///
    /// # Panics
    ///
    /// As [`model`](Self::model).
    pub fn step(&mut self, rate: f64, group: &[T::Batch]) -> Result<StepReport, Error> {
        let step = self.progress.step;
        // Before any forward pass, so that each batch's loss has its final share at once.
        let totals = self.totals(group);
        if totals.first().is_none_or(|&total| total <= 0.0) {
            return Err(Error::EmptyStep { step });
        }
        self.begin_divided();
        let Total {
            gradients,
            loss,
            sums,
        } = self.gradients(group, &totals)?;
        let norm = self.norm(&gradients)?;

        let scale = self
            .scaler
            .as_ref()
            .map_or(1.0, |scaler| f64::from(scaler.inverse_scale()));
        // Handed over whole: a second handle would make the update copy all weights.
        let model = self
            .model
            .take()
            .expect("only a panic in a step loses the model");
        let (model, taken) = self.adam.step_of_norm(rate, model, gradients, scale, norm);
        self.model = Some(model);
        self.exchange_weights()?;

        // Told of good steps too, which let the scale grow.
        let verdict = self
            .scaler
            .as_mut()
            .map(|scaler| scaler.update(taken.applied));
        // At the smallest scale an overflow has another cause, and going on would skip for ever.
        let explained = matches!(verdict, Some(ScaledStep::Apply | ScaledStep::Skip));
        if !taken.applied && !explained {
            let parameter = taken
                .not_finite
                .unwrap_or_else(|| "all together".to_owned());
            return Err(Error::NotFinite { step, parameter });
        }
        // Skipped steps count: draws and schedule go on, and a resume finds the same place.
        self.progress.step += 1;
        Ok(StepReport {
            step,
            loss,
            weights: totals,
            sums,
            rate,
            norm: taken.norm,
            clipped: taken.clipped,
            skipped: !taken.applied,
        })
    }

    /// Adds up what the terms of the loss are means over.
    fn totals(&self, group: &[T::Batch]) -> Vec<f64> {
        let mut totals = Vec::new();
        for batch in group {
            add(&mut totals, self.task.weights(batch));
        }
        totals
    }
}

fn add(totals: &mut Vec<f64>, more: Vec<f64>) {
    totals.resize(totals.len().max(more.len()), 0.0);
    totals
        .iter_mut()
        .zip(more)
        .for_each(|(total, more)| *total += more);
}

fn mismatch(error: &kato_gradient::GradientError) -> Error {
    Error::Mismatch {
        reason: error.to_string(),
    }
}
