//! Batches of chunks, in an order that is a function of seed and epoch.

use kato_gradient::sampler::{Bucketed, Sampler, SamplerSettings, Shuffled};
use kato_neural::BoxError;
use kato_neural::train::Batches;

use super::task::TrainingBatch;
use crate::batch::Batch;
use crate::chunks::Chunk;
use crate::error::PoetryError;
use crate::settings::{Batching, TrainingOptions};
use crate::vectors::WordVectors;

/// Batches of the training chunks.
pub(crate) struct ChunkBatches<'a> {
    chunks: &'a [Chunk],
    words: &'a WordVectors,
    options: &'a TrainingOptions,
    sampler: Sampler,
}

impl<'a> ChunkBatches<'a> {
    /// Puts chunks into batches as the options say.
    pub(crate) fn new(
        chunks: &'a [Chunk],
        words: &'a WordVectors,
        options: &'a TrainingOptions,
    ) -> Result<Self, PoetryError> {
        let settings: SamplerSettings = match options.batching {
            Batching::Shuffled => Shuffled::new(options.batch).into(),
            Batching::Bucketed => Bucketed::new(options.batch).into(),
        };
        // A chunk has at most a window of 10,000 tokens.
        let lengths = chunks.iter().map(|chunk| chunk.ids.len() as u32).collect();
        let sampler = Sampler::new(settings, lengths, options.seed)?;
        Ok(Self {
            chunks,
            words,
            options,
            sampler,
        })
    }

    /// Returns the number of batches of every epoch.
    pub(crate) fn n_batches_an_epoch(&self) -> u64 {
        self.sampler.n_batches() as u64
    }

    /// Makes a batch of an epoch, whose items are given.
    fn batch(&self, epoch: u64, index: u64, items: &[usize]) -> TrainingBatch {
        let position = epoch as f64 + index as f64 / self.n_batches_an_epoch() as f64;
        let step = self.options.at(position);
        let chunks = items.iter().map(|item| &self.chunks[*item]);
        TrainingBatch {
            batch: Batch::new(chunks, self.words, step.max_length),
            forcing: step.forcing,
        }
    }
}

impl Batches for ChunkBatches<'_> {
    type Batch = TrainingBatch;

    fn n_batches(&self, _epoch: u64) -> u64 {
        self.n_batches_an_epoch()
    }

    fn batches(
        &mut self,
        epoch: u64,
        first: u64,
    ) -> Box<dyn Iterator<Item = Result<TrainingBatch, BoxError>> + '_> {
        let plan = self.sampler.plan(epoch);
        let this = &*self;
        Box::new((first..this.n_batches_an_epoch()).map_while(move |index| {
            let items = plan.batch(usize::try_from(index).ok()?)?;
            Some(Ok(this.batch(epoch, index, items)))
        }))
    }
}
