//! The three-level transformer over 16S samples, over LibTorch: nucleotides to a sequence, sequences to
//! a sample.

mod block;
mod loss;
mod options;
mod pooling;

use tch::nn::{Init, Path, VarStore};
use tch::{Device, Kind, Tensor};

use crate::parameters::Linear;
use crate::{Error, native};

pub use loss::{masked_nucleotide_sum, unifrac_loss};
pub use options::{MicrobesOptions, Precision};

use block::Stack;
use pooling::Pooling;

/// What a position of a sequence may hold: padding, A, C, G, T, a start, and what is to be guessed.
const N_TOKENS: i64 = 7;
const PADDING: i64 = 0;
const START: i64 = 5;
const MASKED: i64 = 6;
/// Targets of positions that are not guessed.
const IGNORED: i64 = -100;

/// Samples side by side, padded with empty sequences.
#[derive(Debug)]
#[non_exhaustive]
pub struct MicrobesBatch {
    /// Tokens, `[samples, sequences, length]`; some are masked.
    pub tokens: Tensor,
    /// What was masked, elsewhere -100; the same shape.
    pub targets: Tensor,
    /// UniFrac distances, `[samples, samples]`.
    pub distances: Tensor,
}

impl MicrobesBatch {
    /// Makes samples of random sequences, none of them padded, with 15 % of their letters masked.
    #[must_use]
    pub fn random(n_samples: i64, n_sequences: i64, length: i64, device: Device) -> Self {
        let integers = (Kind::Int64, device);
        let shape = [n_samples, n_sequences, length];
        let letters = Tensor::randint_low(1, 5, shape, integers);
        let _ = letters.narrow(2, 0, 1).fill_(START);
        let hidden = Tensor::rand(shape, (Kind::Float, device)).lt(0.15);
        let hidden = hidden.logical_and(&letters.not_equal(START));
        let distances = Tensor::rand([n_samples, n_samples], (Kind::Float, device));
        Self {
            targets: letters.masked_fill(&hidden.logical_not(), IGNORED),
            tokens: letters.masked_fill(&hidden, MASKED),
            distances: (&distances + distances.transpose(0, 1)) / 2.0,
        }
    }

    /// Replaces sequences behind the first `n_sequences` of each sample, and letters behind the first
    /// `length` of each sequence, by padding.
    #[must_use]
    pub fn padded(self, n_sequences: i64, length: i64) -> Self {
        let [_, all, longest] = self.tokens.size()[..] else {
            unreachable!("tokens have three axes")
        };
        for (tensor, value) in [(&self.tokens, PADDING), (&self.targets, IGNORED)] {
            let _ = tensor
                .narrow(1, n_sequences, all - n_sequences)
                .fill_(value);
            let _ = tensor.narrow(2, length, longest - length).fill_(value);
        }
        self
    }
}

/// The model: a stack over the nucleotides of each sequence, pooled; a stack over the sequences of a
/// sample; and a third one, pooled to the sample's vector.
#[derive(Debug)]
pub struct Microbes {
    store: VarStore,
    options: MicrobesOptions,
    tokens: Tensor,
    nucleotide_positions: Tensor,
    nucleotides: Stack,
    sequence_pooling: Pooling,
    head: Linear,
    sequence_positions: Tensor,
    sequences: Stack,
    samples: Stack,
    sample_pooling: Pooling,
}

impl Microbes {
    /// Makes a model of fresh weights, drawn from LibTorch's generator.
    ///
    /// # Errors
    ///
    /// When the shape is impossible.
    pub fn new(options: &MicrobesOptions, device: Device) -> Result<Self, Error> {
        options.check()?;
        let store = VarStore::new(device);
        let root = store.root();
        let width = options.width;
        let table = |place: &Path<'_>, name: &str, n: i64| {
            place.var(
                name,
                &[n, width],
                Init::Randn {
                    mean: 0.0,
                    stdev: 0.02,
                },
            )
        };
        let nucleotides = &root / "nucleotides";
        let (sequences, samples) = (&root / "sequences", &root / "samples");
        Ok(Self {
            tokens: table(&nucleotides, "tokens", N_TOKENS),
            nucleotide_positions: table(&nucleotides, "positions", options.length),
            nucleotides: Stack::new(&nucleotides, options),
            sequence_pooling: Pooling::new(&(&nucleotides / "pooling"), width),
            head: Linear::new(&(&nucleotides / "head"), width, N_TOKENS, 1.0),
            sequence_positions: table(&sequences, "positions", options.sequences),
            sequences: Stack::new(&sequences, options),
            samples: Stack::new(&samples, options),
            sample_pooling: Pooling::new(&(&samples / "pooling"), width),
            options: *options,
            store,
        })
    }

    /// The weights.
    #[must_use]
    pub const fn store(&self) -> &VarStore {
        &self.store
    }

    /// Computes the loss of a step: of distances between samples, and of masked letters.
    ///
    /// # Errors
    ///
    /// What LibTorch refuses.
    pub fn loss(&self, batch: &MicrobesBatch, train: bool) -> Result<Tensor, Error> {
        // Ends before the backward pass, which has the formats of the forward one.
        let bf16 = self.options.precision == Precision::Bf16;
        let scope = bf16.then(|| native::Autocast::enter(self.store.device()));
        let _scope = scope.transpose()?;
        let (sequences, letters) = self.encode_sequences(batch, train)?;
        let samples = self.encode_samples(&sequences, &batch.tokens, train)?;
        let n_hidden = batch
            .targets
            .not_equal(IGNORED)
            .sum(Kind::Float)
            .clamp_min(1.0);
        Ok(unifrac_loss(&samples, &batch.distances) + letters / n_hidden)
    }

    /// Encodes every sequence, `[samples, sequences, width]`, zero where there is none; returns the sum
    /// of the loss of masked letters beside it.
    fn encode_sequences(
        &self,
        batch: &MicrobesBatch,
        train: bool,
    ) -> Result<(Tensor, Tensor), Error> {
        let [n_samples, n_sequences, length] = batch.tokens.size()[..] else {
            unreachable!("tokens have three axes")
        };
        let rows = batch.tokens.view([-1, length]);
        let targets = batch.targets.view([-1, length]);
        // Rows of padding alone are not computed, and stay zero.
        let present = rows
            .not_equal(PADDING)
            .any_dim(1, false)
            .nonzero()
            .view([-1]);
        let mut encoded = Vec::new();
        let mut letters = Tensor::zeros([0_i64; 0], (Kind::Float, rows.device()));
        // Nothing is split into one part of nothing.
        let parts = present.split(self.options.chunk, 0).into_iter();
        for part in parts.filter(|part| part.numel() > 0) {
            let tokens = rows.index_select(0, &part);
            let valid = tokens.not_equal(PADDING);
            let positions = self.nucleotide_positions.narrow(0, 0, length);
            let input = Tensor::embedding(&self.tokens, &tokens, -1, false, false) + positions;
            let output = self.nucleotides.forward(input, &valid, train)?;
            let logits = self.head.forward(&output);
            letters += masked_nucleotide_sum(&logits, &targets.index_select(0, &part));
            encoded.push(self.sequence_pooling.forward(&output, &valid));
        }
        let width = self.options.width;
        let all = Tensor::zeros(
            [n_samples * n_sequences, width],
            (Kind::Float, rows.device()),
        );
        if encoded.is_empty() {
            return Ok((all.view([n_samples, n_sequences, width]), letters));
        }
        let all = all.index_add(0, &present, &Tensor::cat(&encoded, 0));
        Ok((all.view([n_samples, n_sequences, width]), letters))
    }

    /// Encodes samples, `[samples, width]`, of their sequences; zero where a sample has none.
    fn encode_samples(
        &self,
        sequences: &Tensor,
        tokens: &Tensor,
        train: bool,
    ) -> Result<Tensor, Error> {
        let valid = tokens.not_equal(PADDING).any_dim(2, false);
        let positions = self.sequence_positions.narrow(0, 0, sequences.size()[1]);
        let output = self
            .sequences
            .forward(sequences + positions, &valid, train)?;
        let output = self.samples.forward(output, &valid, train)?;
        Ok(self.sample_pooling.forward(&output, &valid))
    }
}
