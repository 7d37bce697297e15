#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Linear`] is a product by packed weights with its gradients. [`RecurrentEncoder`] runs a
//! recurrent net over given sequences, [`RecurrentDecoder`] one that reads its own predictions.
//! [`Precision`] and [`Instructions`] say how products are computed.

mod adam;
mod dropout;
mod error;
mod gather;
mod instructions;
mod linear;
mod math;
mod panels;
mod precision;
mod recurrent;
mod simd;
mod strips;
mod weight_gradient;

pub use adam::{Adam, sum_of_squares};
pub use dropout::Draw;
pub use error::Error;
pub use instructions::{InstructionSet, Instructions};
pub use linear::Linear;
pub use precision::{Precision, round_to_bf16};
pub use recurrent::{
    Cell, DecoderGradients, DecoderInput, EncoderGradients, EncoderInput, EncoderUpstream,
    LayerGradients, LayerWeights, Pass, Projection, RecurrentDecoder, RecurrentEncoder,
    RecurrentOptions, State, StateGradients,
};
