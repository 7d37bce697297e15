//! Layers of sequence models, each in Burn's own operations: what runs on every back end, and the
//! oracle of the fused forms.

mod batch_norm;
mod bottleneck;
mod cell;
mod decoder;
mod dropout;
mod embedding;
mod recurrent;
mod transformer;

pub use batch_norm::BatchNorm;
pub use bottleneck::{Bottleneck, StateProjection};
pub use cell::Cell;
pub use decoder::{Attended, CrossAttention, Feed, SequenceDecoder, SequenceDecoderOptions};
pub use dropout::Dropout;
pub use embedding::{Positions, embedding, sinusoidal_positions};
pub use recurrent::{Recurrent, RecurrentLayer, RecurrentOptions, RecurrentState};
pub use transformer::{
    Affine, AttentionPooling, RowNorm, SelfAttention, Transformer, TransformerLayer,
    TransformerOptions, Valid,
};

use burn::nn::Linear;
use burn::tensor::module::linear as affine;
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::{Initializer, Pass, initialize::parameter};

/// Makes a linear layer of Xavier-uniform weights and zero bias.
///
/// The layer is Burn's, whose weight has a row an input.
#[must_use]
pub fn linear(
    n_in: usize,
    n_out: usize,
    gain: f64,
    initializer: &mut Initializer,
    device: &Device,
) -> Linear {
    Linear {
        weight: parameter(
            initializer.xavier_uniform(n_in, n_out, gain),
            [n_in, n_out],
            device,
        ),
        bias: Some(parameter(vec![0.0; n_out], [n_out], device)),
    }
}

/// Applies a linear layer, `x·W + b`, with factors in the pass's precision.
///
/// # Panics
///
/// Panics if the last axis of `input` is not as long as the weight has rows.
#[must_use]
pub fn apply_linear<const D: usize>(layer: &Linear, input: Tensor<D>, pass: &Pass) -> Tensor<D> {
    let precision = pass.precision();
    // The bias is added to sums, which are f32 in every precision.
    let bias = layer.bias.as_ref().map(burn::module::Param::val);
    affine(
        precision.round(input),
        precision.round(layer.weight.val()),
        bias,
    )
}

/// Takes each sequence's last valid position: `[batch, time, width]` to `[batch, width]`.
///
/// A sequence without a valid position gives its first.
///
/// # Panics
///
/// Panics if there is not one length a sequence, or one is longer than the time axis.
#[must_use]
pub fn last_valid(outputs: Tensor<3>, lengths: &[usize]) -> Tensor<2> {
    let [n_rows, n_steps, width] = outputs.dims();
    check_lengths(lengths, n_rows, n_steps);
    let lengths = lengths.iter().enumerate();
    // Rows lie one after another when batch and time are one axis.
    let places: Vec<i64> = lengths
        .map(|(row, &length)| (row * n_steps + length.saturating_sub(1)) as i64)
        .collect();
    let device = outputs.device();
    let places = Tensor::<1, Int>::from_data(TensorData::new(places, [n_rows]), &device);
    outputs.reshape([n_rows * n_steps, width]).select(0, places)
}

fn check_lengths(lengths: &[usize], n_rows: usize, n_steps: usize) {
    assert_eq!(lengths.len(), n_rows, "one length a sequence");
    let longest = lengths.iter().max().copied().unwrap_or(0);
    assert!(
        longest <= n_steps,
        "a length of {longest} exceeds {n_steps} steps"
    );
}

/// One where a sequence has a step, else zero: `[batch, time, 1]`.
fn valid_steps(lengths: &[usize], n_steps: usize, device: &Device) -> Tensor<3> {
    let steps = lengths
        .iter()
        .flat_map(|&length| (0..n_steps).map(move |step| step < length));
    let mask: Vec<f32> = steps.map(|valid| f32::from(u8::from(valid))).collect();
    Tensor::from_data(TensorData::new(mask, [lengths.len(), n_steps, 1]), device)
}
