//! Batches of the training samples, in an order that is a function of seed and epoch.

use kato_gradient::sampler::{EpochPlan, Sampler, Shuffled};
use kato_neural::BoxError;
use kato_neural::train::BatchSource;

use super::objective::Objective;
use super::task::LearningBatch;
use crate::batch::{BatchDraw, SampleBatch, mixed};
use crate::error::MicrobesError;
use crate::settings::MicrobesSettings;
use crate::work::{Truth, Work};

/// Batches of the training samples.
#[derive(Debug)]
pub(crate) struct SampleBatches<'a> {
    work: &'a Work,
    train: &'a [usize],
    settings: &'a MicrobesSettings,
    objective: Objective,
    sampler: Sampler,
}

impl<'a> SampleBatches<'a> {
    pub(crate) fn new(
        work: &'a Work,
        train: &'a [usize],
        settings: &'a MicrobesSettings,
        objective: Objective,
    ) -> Result<Self, MicrobesError> {
        let training = &settings.training;
        let shuffled = Shuffled::new(training.batch);
        let sampler = Sampler::from_n_items(shuffled, train.len(), training.seed)?;
        Ok(Self {
            work,
            train,
            settings,
            objective,
            sampler,
        })
    }

    /// Returns what is made small.
    pub(crate) const fn objective(&self) -> &Objective {
        &self.objective
    }

    /// Returns the number of optimiser steps of every epoch: schedules are by these.
    pub(crate) fn n_steps_an_epoch(&self) -> u64 {
        let accumulate = self.settings.training.accumulate as u64;
        self.n_batches().div_ceil(accumulate)
    }

    /// Makes a batch of an epoch, whose items are given.
    pub(crate) fn batch(&self, epoch: u64, index: u64, items: &[usize]) -> LearningBatch {
        let places: Vec<usize> = items.iter().map(|&item| self.train[item]).collect();
        let samples: Vec<usize> = places
            .iter()
            .map(|&place| self.work.samples[place])
            .collect();
        // By its place, so that a run that goes on hides the same.
        let seed = mixed(mixed(self.settings.training.seed, epoch), index);
        let draw = match &self.work.truth {
            Truth::Distances(_) => self.settings.loss.draw(seed),
            Truth::Target { .. } => BatchDraw::new(seed, 0.0),
        };
        LearningBatch {
            samples: SampleBatch::new(&self.work.microbes, &samples, &self.settings.model, draw),
            truth: self.objective.truth(self.work, &places),
        }
    }
}

impl BatchSource for SampleBatches<'_> {
    type Batch = LearningBatch;

    fn n_batches(&self) -> u64 {
        self.sampler.n_batches() as u64
    }

    fn plan(&self, epoch: u64) -> EpochPlan {
        self.sampler.plan(epoch)
    }

    fn make(&self, epoch: u64, index: u64, items: &[usize]) -> Result<LearningBatch, BoxError> {
        Ok(self.batch(epoch, index, items))
    }
}
