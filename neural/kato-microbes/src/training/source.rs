//! Batches of the training samples, in an order that is a function of seed and epoch.

use kato_gradient::sampler::{Sampler, Shuffled};
use kato_neural::BoxError;

use super::task::{LearningBatch, Objective};
use crate::batch::{BatchDraw, SampleBatch, mixed};
use crate::error::MicrobesError;
use crate::settings::Settings;
use crate::work::{Truth, Work};

/// Batches of the training samples.
#[derive(Debug)]
pub(crate) struct Batches<'a> {
    work: &'a Work,
    train: &'a [usize],
    settings: &'a Settings,
    objective: Objective,
    sampler: Sampler,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(
        work: &'a Work,
        train: &'a [usize],
        settings: &'a Settings,
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

    /// Returns the number of batches of every epoch.
    pub(crate) fn n_batches_an_epoch(&self) -> u64 {
        self.sampler.n_batches() as u64
    }

    /// Returns the number of optimiser steps of every epoch: schedules are by these.
    pub(crate) fn n_steps_an_epoch(&self) -> u64 {
        let accumulate = self.settings.training.accumulate as u64;
        self.n_batches_an_epoch().div_ceil(accumulate)
    }

    /// Makes a batch of an epoch, whose items are given.
    fn batch(&self, epoch: u64, index: u64, items: &[usize]) -> LearningBatch {
        let places: Vec<usize> = items.iter().map(|&item| self.train[item]).collect();
        let samples: Vec<usize> = places
            .iter()
            .map(|&place| self.work.samples[place])
            .collect();
        let loss = &self.settings.loss;
        let is_hidden = matches!(self.work.truth, Truth::Distances(_)) && loss.nucleotides > 0.0;
        let masked = if is_hidden { loss.masked } else { 0.0 };
        // By its place, so that a run that goes on hides the same.
        let seed = mixed(mixed(self.settings.training.seed, epoch), index);
        let draw = BatchDraw::new(seed, masked);
        LearningBatch {
            samples: SampleBatch::new(&self.work.microbes, &samples, &self.settings.model, draw),
            truth: self.objective.truth(self.work, &places),
        }
    }
}

impl kato_neural::train::Batches for Batches<'_> {
    type Batch = LearningBatch;

    fn n_batches(&self, _epoch: u64) -> u64 {
        self.n_batches_an_epoch()
    }

    fn batches(
        &mut self,
        epoch: u64,
        first: u64,
    ) -> Box<dyn Iterator<Item = Result<LearningBatch, BoxError>> + '_> {
        let plan = self.sampler.plan(epoch);
        let this = &*self;
        Box::new((first..this.n_batches_an_epoch()).map_while(move |index| {
            let items = plan.batch(usize::try_from(index).ok()?)?;
            Some(Ok(this.batch(epoch, index, items)))
        }))
    }
}
