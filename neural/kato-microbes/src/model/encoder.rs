//! From nucleotides to a row for each sample.

use kato_neural::burn;
use kato_neural::burn::module::{Module, Param};
use kato_neural::burn::nn::Embedding;
use kato_neural::burn::tensor::{Device, Int, Tensor, TensorData};
use kato_neural::layers::{
    Affine, AttentionPooling, Positions, Transformer, TransformerOptions, Valid, embedding,
};
use kato_neural::{Initializer, Pass, parameter};

use super::tensor;
use crate::batch::{SampleBatch, SequenceChunk};
use crate::settings::MicroformerOptions;
use crate::tokens::N_TOKENS;

/// Numbers of the draws of each stack.
const NUCLEOTIDE_STREAM: u64 = 0;
const SAMPLE_STREAM: u64 = 1;

/// Deviation of vectors of tokens and places at the start.
pub(super) const DEVIATION: f64 = 0.02;

/// Nucleotides that can be guessed.
const N_LETTERS: usize = 4;

/// Nucleotides to sequences to samples.
#[derive(Module, Debug)]
pub struct Encoder {
    tokens: Embedding,
    positions: Positions,
    nucleotides: Transformer,
    sequence_pooling: AttentionPooling,
    letters: Affine,
    ranks: Positions,
    abundance: Option<Param<Tensor<1>>>,
    sequences: Transformer,
    sample_pooling: AttentionPooling,
}

/// What an encoder makes of the sequences of a batch.
#[derive(Debug)]
#[non_exhaustive]
pub struct EncodedSequences {
    /// A row a distinct sequence, `[distinct, width]`.
    pub rows: Tensor<2>,
    /// For each hidden nucleotide, chunk after chunk, a score for each of the four, `[hidden, 4]`;
    /// `None` where none is hidden.
    pub letters: Option<Tensor<2>>,
}

/// What an encoder makes of a batch.
#[derive(Debug)]
#[non_exhaustive]
pub struct EncodedSamples {
    /// A row a sequence of a sample, `[samples, n_rows, width]`; zeros at padding.
    pub rows: Tensor<3>,
    /// For each hidden nucleotide, chunk after chunk, a score for each of the four, `[hidden, 4]`;
    /// `None` where none is hidden.
    pub letters: Option<Tensor<2>>,
}

impl Encoder {
    pub(super) fn new(
        options: &MicroformerOptions,
        max_bp: usize,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let width = options.width;
        let stack = |n_layers, stream| {
            TransformerOptions::new(width, options.heads, n_layers)
                .with_dropout(options.dropout, stream)
        };
        // Wider than the tokens', so that abundance is seen among them from the first step.
        let levels = |initializer: &mut Initializer| {
            parameter(initializer.normal(width, 0.5), [width], device)
        };
        Self {
            tokens: embedding(N_TOKENS, width, DEVIATION, initializer, device),
            // One more for START.
            positions: Positions::new(max_bp + 1, width, DEVIATION, initializer, device),
            nucleotides: stack(options.nucleotide_layers, NUCLEOTIDE_STREAM)
                .init(initializer, device),
            sequence_pooling: AttentionPooling::new(width, initializer, device),
            letters: Affine::new(width, N_LETTERS, initializer, device),
            ranks: Positions::new(options.max_sequences, width, DEVIATION, initializer, device),
            abundance: options.abundance.then(|| levels(initializer)),
            sequences: stack(options.sample_layers, SAMPLE_STREAM).init(initializer, device),
            sample_pooling: AttentionPooling::new(width, initializer, device),
        }
    }

    /// Its stacks of blocks.
    pub(super) const fn stacks(&self) -> [&Transformer; 2] {
        [&self.nucleotides, &self.sequences]
    }

    /// Encodes a batch.
    ///
    /// # Panics
    ///
    /// When a sequence is longer than the model was made for, or the batch holds no sequence.
    #[must_use]
    pub fn forward(&self, batch: &SampleBatch, device: &Device, pass: &Pass) -> EncodedSamples {
        let EncodedSequences { rows, letters } = self.encode_sequences(batch, device, pass);
        let rows = self.encode_samples(rows, batch, pass);
        EncodedSamples { rows, letters }
    }

    /// Encodes the sequences of a batch, or of a [part](SampleBatch::part) of one.
    #[must_use]
    pub fn encode_sequences(
        &self,
        batch: &SampleBatch,
        device: &Device,
        pass: &Pass,
    ) -> EncodedSequences {
        let mut distinct = vec![Tensor::zeros([0, self.sequences.width()], device)];
        let mut letters = Vec::new();
        let mut first_row = pass.first_row();
        for chunk in batch.chunks.iter().chain(&batch.guesses) {
            // Rows of later chunks get draws of their own, as they would in one.
            let pass = pass.with_first_row(first_row);
            first_row += chunk.lengths.len() as u64;
            let rows = self.chunk(chunk, device, &pass);
            if chunk.hidden.is_empty() {
                let valid = Valid::Lengths(&chunk.lengths);
                distinct.push(self.sequence_pooling.forward(rows, valid));
            } else {
                letters.push(self.scores(rows, chunk, &pass));
            }
        }
        // Behind those of the chunks may come guesses of which nothing is hidden by chance.
        distinct.truncate(batch.chunks.len() + 1);
        EncodedSequences {
            rows: Tensor::cat(distinct, 0),
            letters: (!letters.is_empty()).then(|| Tensor::cat(letters, 0)),
        }
    }

    /// Encodes the samples of a batch, whose distinct sequences are encoded: a row a sequence of
    /// a sample, `[samples, n_rows, width]`.
    #[must_use]
    pub fn encode_samples(
        &self,
        sequences: Tensor<2>,
        batch: &SampleBatch,
        pass: &Pass,
    ) -> Tensor<3> {
        let (width, device) = (self.sequences.width(), sequences.device());
        // Padding is the first row, and all zeros.
        let distinct = vec![Tensor::zeros([1, width], &device), sequences];
        let shape = [batch.n_samples(), batch.n_rows, width];
        let n = batch.places.len();
        let places = TensorData::new(batch.places.clone(), [n]);
        let places = Tensor::<1, Int>::from_data(places, &device);
        let rows = Tensor::cat(distinct, 0).select(0, places).reshape(shape);
        let rows = self.ranks.forward(rows);
        let rows = match &self.abundance {
            Some(direction) => {
                let levels = tensor(batch.abundances.clone(), [shape[0], shape[1], 1], &device);
                rows + levels * direction.val().reshape([1, 1, width])
            }
            None => rows,
        };
        self.sequences
            .forward(rows, Valid::Lengths(&batch.lengths), pass)
    }

    /// Makes one row of each sample's, `[samples, width]`: rows whose distances are those of the
    /// samples.
    #[must_use]
    pub fn pool(&self, encoded: Tensor<3>, batch: &SampleBatch) -> Tensor<2> {
        self.sample_pooling
            .forward(encoded, Valid::Lengths(&batch.lengths))
    }

    /// Encodes the nucleotides of sequences, `[n, longest, width]`.
    fn chunk(&self, chunk: &SequenceChunk, device: &Device, pass: &Pass) -> Tensor<3> {
        let shape = [chunk.lengths.len(), chunk.n_steps];
        let tokens = TensorData::new(chunk.tokens.clone(), shape);
        let tokens = Tensor::<2, Int>::from_data(tokens, device);
        let rows = self.positions.forward(self.tokens.forward(tokens));
        self.nucleotides
            .forward(rows, Valid::Lengths(&chunk.lengths), pass)
    }

    /// Scores the hidden nucleotides of sequences that were encoded, `[hidden, 4]`.
    fn scores(&self, rows: Tensor<3>, chunk: &SequenceChunk, pass: &Pass) -> Tensor<2> {
        let ([n, n_steps, width], n_hidden) = (rows.dims(), chunk.hidden.len());
        let places = TensorData::new(chunk.hidden.clone(), [n_hidden]);
        let places = Tensor::<1, Int>::from_data(places, &rows.device());
        let hidden = rows.reshape([n * n_steps, width]).select(0, places);
        let scores = self.letters.forward(hidden.unsqueeze::<3>(), pass);
        scores.reshape([n_hidden, N_LETTERS])
    }
}
