//! Batches of chunks, in an order that is a function of seed and epoch.

use kato_gradient::sampler::{
    Bucketed, EpochPlan, Sampler, SamplerSettings, Shuffled, TokenBudget,
};
use kato_neural::BoxError;
use kato_neural::run::check_setting;
use kato_neural::train::BatchSource;

use super::task::TrainingBatch;
use crate::batch::Batch;
use crate::chunks::Chunk;
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::settings::{Batching, PoetryTrainingOptions, Settings};
use crate::vectors::WordVectors;

/// Batches of the training chunks.
pub(crate) struct ChunkBatches<'a> {
    chunks: &'a [Chunk],
    words: &'a WordVectors,
    options: &'a PoetryTrainingOptions,
    sampler: Sampler,
}

impl<'a> ChunkBatches<'a> {
    /// Puts the training chunks into batches as the settings say.
    ///
    /// # Errors
    ///
    /// When the settings are impossible, also because a batch would be cut where a step has to be whole.
    pub(crate) fn new(corpus: &'a Corpus, settings: &'a Settings) -> Result<Self, PoetryError> {
        let (chunks, options) = (&corpus.train, &settings.training);
        let kind: SamplerSettings = match options.batching {
            Batching::Shuffled => Shuffled::new(options.batch).into(),
            Batching::Bucketed => Bucketed::new(options.batch).into(),
            Batching::TokenBudget => {
                TokenBudget::new(options.max_tokens, options.max_chunks).into()
            }
        };
        // A chunk has at most a window of 10,000 tokens.
        let lengths = chunks.iter().map(|chunk| chunk.ids.len() as u32).collect();
        let sampler = Sampler::new(kind, lengths, options.seed)?;
        let batches = Self {
            chunks,
            words: &corpus.vectors,
            options,
            sampler,
        };
        batches.check_uncut(settings)?;
        Ok(batches)
    }

    /// Returns the number of optimiser steps of every epoch.
    pub(crate) fn n_steps_an_epoch(&self) -> u64 {
        self.n_batches().div_ceil(self.options.accumulate as u64)
    }

    /// Refuses settings by which a batch of the first epoch is cut, where a step has to be whole.
    fn check_uncut(&self, settings: &Settings) -> Result<(), PoetryError> {
        let most = self.options.max_tokens_at_once;
        let Some(most) = most.filter(|_| settings.needs_whole_steps()) else {
            return Ok(());
        };
        let n_tokens = |(index, items): (usize, &[usize])| {
            let max_length = self.options.at(self.position(0, index as u64)).max_length;
            let lengths = items.iter().map(|item| self.chunks[*item].ids.len());
            items.len() * lengths.max().unwrap_or(0).min(max_length)
        };
        let plan = self.plan(0);
        // A row is never cut.
        let batches = plan.iter().enumerate().filter(|(_, items)| items.len() > 1);
        let is_whole = batches.map(n_tokens).all(|n_tokens| n_tokens <= most);
        Ok(check_setting(
            is_whole,
            "training.max_tokens_at_once",
            &most,
            "as many as a batch has with its padding, as batch norm would see each part alone; set \
             `training.batch_norm_by_part = true` to allow that, or `model.batch_norm = false`",
        )?)
    }

    /// Makes a batch of the longest chunks there are: what needs most memory.
    pub(crate) fn longest(&self) -> TrainingBatch {
        let plan = self.sampler.plan(0);
        let n_tokens = |items: &&[usize]| {
            let lengths = items.iter().map(|item| self.chunks[*item].ids.len());
            items.len() * lengths.max().unwrap_or(0)
        };
        let n_rows = plan.iter().max_by_key(n_tokens).map_or(0, <[usize]>::len);
        let mut items: Vec<usize> = (0..self.chunks.len()).collect();
        items.sort_by_key(|item| std::cmp::Reverse(self.chunks[*item].ids.len()));
        items.truncate(n_rows);
        self.batch(0.0, &items)
    }

    /// Makes a batch of an epoch.
    pub(crate) fn of_epoch(&self, epoch: u64, index: u64, items: &[usize]) -> TrainingBatch {
        self.batch(self.position(epoch, index), items)
    }

    /// Returns the position of a batch in the training, in epochs.
    fn position(&self, epoch: u64, index: u64) -> f64 {
        epoch as f64 + index as f64 / self.n_batches() as f64
    }

    /// Makes a batch for a position in the training, in epochs.
    fn batch(&self, position: f64, items: &[usize]) -> TrainingBatch {
        let step = self.options.at(position);
        let chunks = items.iter().map(|item| &self.chunks[*item]);
        TrainingBatch {
            batch: Batch::new(chunks, self.words, step.max_length),
            forcing: step.forcing,
        }
    }
}

impl BatchSource for ChunkBatches<'_> {
    type Batch = TrainingBatch;

    fn n_batches(&self) -> u64 {
        self.sampler.n_batches() as u64
    }

    fn plan(&self, epoch: u64) -> EpochPlan {
        self.sampler.plan(epoch)
    }

    fn make(&self, epoch: u64, index: u64, items: &[usize]) -> Result<TrainingBatch, BoxError> {
        Ok(self.of_epoch(epoch, index, items))
    }
}
