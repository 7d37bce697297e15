//! The model: nucleotides to sequences, sequences to samples, samples to predictions.

mod encoder;
mod fusion;
mod predictor;

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::Transformer;
use kato_neural::{Initializer, Pass};

use crate::batch::SampleBatch;
use crate::settings::MicroformerOptions;

pub use encoder::{EncodedSamples, EncodedSequences, Encoder};
pub use fusion::CategoryFusion;
pub use predictor::{Predicted, Predictor};

/// The whole model. Without a predictor it makes rows that stand for samples, whose distances are
/// those of the samples.
///
/// Parameters have PyTorch's names and shapes where PyTorch has the layer.
#[derive(Module, Debug)]
pub struct Microformer {
    encoder: Encoder,
    predictor: Option<Predictor>,
}

impl Microformer {
    /// Makes a model of fresh weights for sequences of up to `max_bp` nucleotides, with
    /// a predictor or none: a function of shape and seed.
    ///
    /// # Panics
    ///
    /// When the shape is impossible: [`MicroformerOptions::check`] says so beforehand.
    #[must_use]
    pub fn new(
        options: &MicroformerOptions,
        max_bp: usize,
        predicted: Option<Predicted>,
        seed: u64,
        device: &Device,
    ) -> Self {
        let mut initializer = Initializer::from_seed(seed);
        let encoder = Encoder::new(options, max_bp, &mut initializer, device);
        let predictor =
            predicted.map(|predicted| Predictor::new(options, predicted, &mut initializer, device));
        Self { encoder, predictor }
    }

    /// Takes the encoder of another model, pre-trained, in the place of its own.
    #[must_use]
    pub fn with_encoder_of(mut self, other: Self) -> Self {
        self.encoder = other.encoder;
        self
    }

    /// Returns the encoder.
    #[must_use]
    pub const fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Returns all its stacks of blocks.
    pub(crate) fn stacks(&self) -> Vec<&Transformer> {
        let own = self.encoder.stacks().into_iter();
        own.chain(self.predictor.iter().flat_map(Predictor::stacks))
            .collect()
    }

    /// Predicts from what the encoder made of a batch, `[samples, outputs]`.
    ///
    /// # Panics
    ///
    /// When the model has no predictor.
    #[must_use]
    pub fn predict(&self, encoded: Tensor<3>, batch: &SampleBatch, pass: &Pass) -> Tensor<2> {
        let predictor = self.predictor.as_ref();
        let predictor = predictor.expect("a model that was made to predict");
        predictor.forward(encoded, batch, pass)
    }

    /// Predicts the abundance of each sequence of a batch, `[samples, n_rows]`, on the scale of
    /// [`SampleBatch::abundances`]; `None` where the model was not made to.
    #[must_use]
    pub fn counts(
        &self,
        encoded: Tensor<3>,
        batch: &SampleBatch,
        pass: &Pass,
    ) -> Option<Tensor<2>> {
        let predictor = self.predictor.as_ref()?;
        predictor.counts(encoded, &batch.lengths, pass)
    }

    /// Says how much each sequence of a batch counts for the prediction, by the attention of the last
    /// pooling: `[samples, n_rows]`, 0 at padding, each sample's sum 1.
    ///
    /// # Panics
    ///
    /// When the model has no predictor.
    #[must_use]
    pub fn attention(&self, encoded: Tensor<3>, batch: &SampleBatch, pass: &Pass) -> Tensor<2> {
        let predictor = self.predictor.as_ref();
        let predictor = predictor.expect("a model that was made to predict");
        predictor.attention(encoded, &batch.lengths, pass)
    }
}

/// Returns the numbers of a tensor, row by row.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    let data = tensor.into_data().convert::<f32>();
    data.try_into_vec()
        .expect("converted to this type just now")
}

/// Makes a tensor of numbers.
pub(crate) fn tensor<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}
