#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Linear`] is a product by packed weights with its gradients. [`RecurrentEncoder`] runs a
//! recurrent net over given sequences, [`RecurrentDecoder`] one that reads its own predictions.
//! [`TransformerBlock`] is a block of a transformer, [`Attention`] attention alone. [`Precision`]
//! and [`Instructions`] say how products are computed.
//!
//! # How it works
//!
//! A product's right factor lies in panels of 32 columns, its left one in strips of 8 rows; a
//! micro-kernel adds a strip times a panel to a tile of 8 × 32 sums that stay in registers. Every
//! sum runs over its terms in one order, one rounding a step, whatever the instructions. A batch is
//! divided into tasks of up to 16 sequences, a function of its size alone, which run through all
//! steps apart from one another; gradients of weights are one product over all steps at the end.

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
mod rows;
mod simd;

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
