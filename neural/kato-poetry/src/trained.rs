//! A trained model with the words that it knows: encodes, rebuilds and walks between poems.

use std::path::Path;

use kato_neural::Pass;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::checkpoint::best_or_latest;
use kato_neural::layers::Feed;
use kato_neural::run::RunFolder;
use serde::Serialize;

use crate::artifacts::read_words;
use crate::batch::Batch;
use crate::chunks::{Chunk, ChunkOptions, chunks_of};
use crate::error::PoetryError;
use crate::metrics::cosine;
use crate::model::{Autoencoder, best_words, tensor_of, values};
use crate::poem::Poem;
use crate::run::fresh_model;
use crate::settings::Settings;
use crate::tokens::Special;
use crate::vectors::WordVectors;
use crate::vocabulary::PoemVocabulary;

/// Chunks that are encoded at a time.
const N_ROWS: usize = 64;

/// A trained model with the words that it knows.
#[derive(Debug)]
pub struct Trained {
    settings: Settings,
    vocabulary: PoemVocabulary,
    words: WordVectors,
    model: Autoencoder,
    device: Device,
    step: u64,
}

/// A token of a poem and what came back of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RebuiltToken {
    /// The number of its word.
    pub word: u32,
    /// The number of the word that the model guesses, or else of the one whose vector is nearest to
    /// the rebuilt one.
    pub rebuilt: u32,
    /// The cosine of the rebuilt vector with the word's own.
    pub cosine: f64,
}

impl Trained {
    /// Loads the best model of a run, or the newest where none was judged yet.
    ///
    /// # Errors
    ///
    /// When there is no run, no checkpoint of it, or a file is damaged.
    pub fn load(folder: &Path) -> Result<Self, PoetryError> {
        let settings = Settings::of_run(folder)?;
        let (vocabulary, words) = read_words(&folder.join(RunFolder::PREPARED))?;
        let device = Device::flex();
        let model = fresh_model(&settings, words.dims(), words.len(), &device);
        let found = best_or_latest(&folder.join(RunFolder::CHECKPOINTS))?;
        let model = found.checkpoint.load_model(model)?;
        let step = found.checkpoint.progress().step;
        Ok(Self {
            settings,
            vocabulary,
            words,
            model,
            device,
            step,
        })
    }

    /// Returns the settings of its run.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the words that it knows.
    #[must_use]
    pub fn vocabulary(&self) -> &PoemVocabulary {
        &self.vocabulary
    }

    /// Returns after how many steps it was saved.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Autoencoder {
        &self.model
    }

    /// Returns the numbers of a code.
    #[must_use]
    pub fn n_units(&self) -> usize {
        self.settings.model.bottleneck
    }

    /// Returns the code of each poem, poem after poem: the mean of the codes of its chunks, weighted
    /// by their tokens. A poem without a word has that of its start and end.
    #[must_use]
    pub fn encode(&self, poems: &[Poem]) -> Vec<f32> {
        let chunks: Vec<Chunk> = poems
            .iter()
            .enumerate()
            .flat_map(|(at, poem)| self.chunks(at, poem))
            .collect();
        let n_units = self.n_units();
        let mut sums = vec![0.0_f64; poems.len() * n_units];
        let mut n_tokens = vec![0.0_f64; poems.len()];
        for rows in chunks.chunks(N_ROWS) {
            let codes = self.codes(rows);
            for (chunk, code) in rows.iter().zip(codes.chunks_exact(n_units)) {
                let weight = chunk.ids.len() as f64;
                n_tokens[chunk.poem] += weight;
                let sums = &mut sums[chunk.poem * n_units..][..n_units];
                sums.iter_mut()
                    .zip(code)
                    .for_each(|(sum, unit)| *sum += weight * f64::from(*unit));
            }
        }
        let rows = sums.chunks_exact(n_units).zip(&n_tokens);
        rows.flat_map(|(row, n)| row.iter().map(move |sum| (sum / n) as f32))
            .collect()
    }

    /// Rebuilds a poem, chunk by chunk. Of tokens that two chunks have, the first one's are taken.
    #[must_use]
    pub fn reconstruct(&self, poem: &Poem) -> Vec<RebuiltToken> {
        let chunks = self.chunks(0, poem);
        let mut tokens: Vec<RebuiltToken> = Vec::new();
        for rows in chunks.chunks(N_ROWS) {
            let batch = Batch::new(rows, &self.words, usize::MAX);
            let (_, rebuilt) = self.model.rebuild(&batch, &self.device);
            for (row, chunk) in rows.iter().enumerate() {
                let vectors = batch.row(row, &rebuilt);
                let n_seen = tokens.len() - chunk.start;
                let new = &vectors[n_seen * batch.dims..];
                let guessed = self.guessed(new);
                let places = chunk.ids[n_seen..].iter().zip(new.chunks_exact(batch.dims));
                tokens.extend(places.zip(guessed).map(|((word, vector), rebuilt)| {
                    let cosine = cosine(vector, self.words.vector(*word));
                    RebuiltToken {
                        word: *word,
                        rebuilt,
                        cosine,
                    }
                }));
            }
        }
        tokens
    }

    /// Decodes codes on the straight way from the beginning of one poem to that of another, both ends
    /// included: a text each.
    ///
    /// The beginning of a poem is its first chunk. A text ends where the model says so, or at a
    /// length between those of the two.
    ///
    /// # Errors
    ///
    /// When the model's decoder attends to the text, which there is none of between two poems.
    pub fn walk(&self, from: &Poem, to: &Poem, n_steps: usize) -> Result<Vec<String>, PoetryError> {
        if self.model.attends() {
            return Err(PoetryError::NeedsText);
        }
        let ends =
            [self.chunks(0, from), self.chunks(0, to)].map(|mut chunks| chunks.swap_remove(0));
        let codes = self.codes(&ends);
        let (from, to) = codes.split_at(self.n_units());
        let share = |step: usize| step as f32 / (n_steps.max(2) - 1) as f32;
        let steps = 0..n_steps.max(2);
        let texts = steps
            .map(|step| {
                let share = share(step);
                let code = from
                    .iter()
                    .zip(to)
                    .map(|(a, b)| a * (1.0 - share) + b * share)
                    .collect();
                let lengths = ends.each_ref().map(|chunk| chunk.ids.len() as f32);
                let length = lengths[0] * (1.0 - share) + lengths[1] * share;
                self.text_of(code, length.round() as usize)
            })
            .collect();
        Ok(texts)
    }

    /// Decodes a code to a text of so many tokens at most.
    fn text_of(&self, code: Vec<f32>, n_tokens: usize) -> String {
        let code = Tensor::from_data(TensorData::new(code, [1, self.n_units()]), &self.device);
        let pass = Pass::evaluation();
        let rebuilt = values(
            self.model
                .decode(code, &[n_tokens.max(1)], Feed::Own, &pass),
        );
        let ids = self.guessed(&rebuilt).into_iter();
        let ids: Vec<u32> = ids.take_while(|id| *id != Special::PoemEnd.id()).collect();
        self.vocabulary.text(&ids)
    }

    /// Returns the word of each rebuilt vector: the one that the model guesses, or else the nearest.
    fn guessed(&self, vectors: &[f32]) -> Vec<u32> {
        let shape = [1, vectors.len() / self.words.dims(), self.words.dims()];
        let tensor = Tensor::from_data(TensorData::new(vectors.to_vec(), shape), &self.device);
        match self.model.logits(tensor, &Pass::evaluation()) {
            Some(logits) => best_words(logits),
            None => self
                .words
                .nearest(vectors)
                .into_iter()
                .map(|(id, _)| id)
                .collect(),
        }
    }

    /// Cuts a poem as the run's were, but for the least length: a poem has at least two tokens.
    fn chunks(&self, at: usize, poem: &Poem) -> Vec<Chunk> {
        let options = ChunkOptions {
            min_tokens: 1,
            ..self.settings.chunks.clone()
        };
        chunks_of(at, &self.vocabulary.encode(&poem.text), &options)
    }

    /// Returns the codes of chunks, one after another.
    fn codes(&self, chunks: &[Chunk]) -> Vec<f32> {
        let batch = Batch::new(chunks, &self.words, usize::MAX);
        let vectors = tensor_of(&batch, &self.device);
        values(
            self.model
                .encode(vectors, &batch.lengths, &Pass::evaluation()),
        )
    }
}

/// Returns the positions of the `k` codes nearest to one by cosine, the nearest first and equals in
/// their order, with the cosines.
///
/// ```
/// use kato_poetry::nearest_codes;
///
/// let codes = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
/// let found = nearest_codes(&codes, &[2.0, 1.0], 2);
/// assert_eq!((found[0].0, found[1].0), (2, 0));
/// ```
#[must_use]
pub fn nearest_codes(codes: &[f32], query: &[f32], k: usize) -> Vec<(usize, f64)> {
    let rows = codes.chunks_exact(query.len().max(1)).enumerate();
    let mut found: Vec<(usize, f64)> = rows.map(|(at, code)| (at, cosine(code, query))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(k);
    found
}
