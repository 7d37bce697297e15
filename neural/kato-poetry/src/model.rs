//! The autoencoder: a chunk's vectors to one code, and back.

use kato_neural::burn::module::Module;
use kato_neural::burn::nn::Linear;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::{
    Attended, Bottleneck, Dropout, Feed, Recurrent, RecurrentOptions, SequenceDecoder,
    SequenceDecoderOptions, StateProjection, apply_linear, last_valid, linear,
};
use kato_neural::{Initializer, Pass};

use crate::batch::Batch;
use crate::settings::ModelOptions;

/// First numbers of the draws of each part; a part has fewer than a hundred.
const ENCODER_STREAM: u64 = 0;
const BOTTLENECK_STREAM: u64 = 100;
const DECODER_STREAM: u64 = 200;
const OUTPUT_STREAM: u64 = 300;

/// Parts the draws of the layer of words from those of all other weights.
const WORDS_SEED: u64 = 0x776f_7264;

/// Gain of the layer of words, as of the other linear layers.
const WORDS_GAIN: f64 = 0.5;

/// A sequence autoencoder: a recurrent encoder whose state at a chunk's last token is compressed to
/// a code, and a recurrent decoder that begins from states made of the code.
///
/// Parameters have PyTorch's names and shapes where PyTorch has the layer.
#[derive(Module, Debug)]
pub struct Autoencoder {
    encoder: Recurrent,
    bottleneck: Bottleneck,
    projection: StateProjection,
    decoder: SequenceDecoder,
    words: Option<Linear>,
}

impl Autoencoder {
    /// Makes a model of fresh weights for vectors of `dims` numbers: a function of shape and seed.
    ///
    /// # Panics
    ///
    /// When the shape is impossible: [`ModelOptions::check`] says so beforehand.
    #[must_use]
    pub fn new(options: &ModelOptions, dims: usize, seed: u64, device: &Device) -> Self {
        let mut initializer = Initializer::from_seed(seed);
        let initializer = &mut initializer;
        let recurrent = |stream| {
            RecurrentOptions::new(options.cell, dims, options.hidden)
                .with_layers(options.layers)
                .with_dropout(options.dropout, stream)
        };
        let mut decoder = SequenceDecoderOptions::new(recurrent(DECODER_STREAM))
            .with_output_dropout(options.dropout, OUTPUT_STREAM);
        if options.attends() {
            decoder = decoder.with_attention(options.heads);
        }
        Self {
            encoder: recurrent(ENCODER_STREAM).init(initializer, device),
            bottleneck: Bottleneck::new(
                options.hidden,
                options.bottleneck,
                Dropout::new(options.dropout, BOTTLENECK_STREAM),
                options.batch_norm,
                initializer,
                device,
            ),
            projection: StateProjection::new(
                options.bottleneck,
                options.cell,
                options.layers,
                options.hidden,
                initializer,
                device,
            ),
            decoder: decoder.init(initializer, device),
            words: None,
        }
    }

    /// Adds a linear layer from a rebuilt vector to one logit a word, for losses that need it.
    #[must_use]
    pub fn with_words(mut self, n_words: usize, dims: usize, seed: u64, device: &Device) -> Self {
        // A stream of its own: all other weights are those of a model without the layer.
        let mut initializer = Initializer::from_seed(seed ^ WORDS_SEED);
        self.words = Some(linear(dims, n_words, WORDS_GAIN, &mut initializer, device));
        self
    }

    /// Returns whether the model guesses words.
    #[must_use]
    pub const fn has_words(&self) -> bool {
        self.words.is_some()
    }

    /// Returns the logits of all words for each rebuilt vector, `[batch, time, words]`; `None` where
    /// the model has no layer for them.
    #[must_use]
    pub fn logits(&self, rebuilt: Tensor<3>, pass: &Pass) -> Option<Tensor<3>> {
        let words = self.words.as_ref()?;
        Some(apply_linear(words, rebuilt, pass))
    }

    /// Returns whether the decoder attends to the encoder's states, so that a code alone is not enough
    /// to rebuild a chunk.
    #[must_use]
    pub const fn attends(&self) -> bool {
        self.decoder.attention().is_some()
    }

    /// Compresses chunks, `[batch, time, dims]`, to codes, `[batch, bottleneck]`.
    ///
    /// # Panics
    ///
    /// When shapes do not fit each other.
    #[must_use]
    pub fn encode(&self, vectors: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<2> {
        let states = self.encoder.encode(vectors, lengths, pass);
        self.bottleneck.forward(states, pass)
    }

    /// Compresses chunks as [`encode`](Self::encode) does, and returns what the decoder attends to
    /// besides.
    pub(crate) fn read(
        &self,
        vectors: Tensor<3>,
        lengths: &[usize],
        pass: &Pass,
    ) -> (Tensor<2>, Option<Attended>) {
        if !self.attends() {
            return (self.encode(vectors, lengths, pass), None);
        }
        let states = self.encoder.outputs(vectors, lengths, pass);
        let seen = self.decoder.attend(states.clone(), lengths, pass);
        let codes = self.bottleneck.forward(last_valid(states, lengths), pass);
        (codes, Some(seen))
    }

    /// Rebuilds as many vectors from each code as `lengths` says: `[batch, longest, dims]`. Zeros lie
    /// behind a chunk's end.
    ///
    /// # Panics
    ///
    /// When shapes do not fit each other, or there is no token.
    #[must_use]
    pub fn decode(
        &self,
        codes: Tensor<2>,
        lengths: &[usize],
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        self.rebuilt(codes, None, lengths, feed, pass)
    }

    /// Rebuilds as [`decode`](Self::decode) does, attending to what was seen.
    pub(crate) fn rebuilt(
        &self,
        codes: Tensor<2>,
        seen: Option<&Attended>,
        lengths: &[usize],
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        let n_steps = lengths.iter().copied().max().unwrap_or(0);
        let state = self.projection.forward(codes, pass);
        let decoder = &self.decoder;
        match seen {
            Some(seen) => decoder.forward_attending(state, seen, lengths, n_steps, feed, pass),
            None => decoder.forward_valid(state, lengths, n_steps, feed, pass),
        }
    }

    /// Compresses and rebuilds chunks as they are judged: without chance, on its own words alone.
    /// Returns codes, row by row, and vectors in the form of [`Batch::vectors`].
    ///
    /// # Panics
    ///
    /// When the vectors have another number of dimensions than the model.
    #[must_use]
    pub fn rebuild(&self, batch: &Batch, device: &Device) -> (Vec<f32>, Vec<f32>) {
        let pass = Pass::evaluation();
        let lengths = &batch.lengths;
        let (codes, seen) = self.read(tensor_of(batch, device), lengths, &pass);
        let rebuilt = self.rebuilt(codes.clone(), seen.as_ref(), lengths, Feed::Own, &pass);
        (values(codes), values(rebuilt))
    }
}

/// Returns the vectors of a batch as a tensor, `[batch, time, dims]`.
pub(crate) fn tensor_of(batch: &Batch, device: &Device) -> Tensor<3> {
    let shape = [batch.n_rows(), batch.n_steps, batch.dims];
    Tensor::from_data(TensorData::new(batch.vectors.clone(), shape), device)
}

/// Returns which word has the highest score of each token, `[batch, time, words]`, row by row.
pub(crate) fn best_words(scores: Tensor<3>) -> Vec<u32> {
    let best = scores.argmax(2).into_data().convert::<i64>();
    let best: Vec<i64> = best
        .try_into_vec()
        .expect("converted to this type just now");
    // A vocabulary has far fewer than 2³² words.
    best.into_iter().map(|word| word as u32).collect()
}

/// Returns the numbers of a tensor, row by row.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data()
        .convert::<f32>()
        .try_into_vec()
        .expect("converted to this type just now")
}
