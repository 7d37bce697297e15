#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Linear`] is a product by packed weights with its gradients. [`RecurrentEncoder`] runs a
//! recurrent net over given sequences, [`RecurrentDecoder`] one that reads its own predictions.
//! [`Precision`] and [`Instructions`] say how products are computed.

mod activation;
mod adam;
mod attention;
mod dropout;
mod error;
mod gather;
mod instructions;
mod linear;
mod math;
mod norm;
mod panels;
mod pool;
mod precision;
mod recurrent;
mod simd;
mod strips;
#[cfg(test)]
mod testing;
mod transformer;
mod weight_gradient;

pub use activation::Activation;
pub use adam::{Adam, sum_of_squares};
pub use attention::{Attention, AttentionForm, AttentionGradients, AttentionInput};
pub use dropout::Draw;
pub use error::Error;
pub use instructions::{InstructionSet, Instructions};
pub use linear::Linear;
pub use norm::{BatchNorm, LayerNorm};
pub use precision::{Precision, round_to_bf16};
pub use recurrent::{
    Cell, CrossAttention, CrossGradients, DecoderGradients, DecoderInput, EncoderGradients,
    EncoderInput, EncoderUpstream, LayerGradients, LayerWeights, Memory, Pass, Projection,
    RecurrentDecoder, RecurrentEncoder, RecurrentOptions, State, StateGradients,
};
pub use transformer::{BlockGradients, BlockInput, BlockOptions, BlockWeights, TransformerBlock};
