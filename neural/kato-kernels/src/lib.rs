#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! [`Linear`] is a product by packed weights with its gradients. [`RecurrentEncoder`] runs a
//! recurrent net over given sequences, [`RecurrentDecoder`] one that reads its own predictions.
//! [`TransformerStack`] is a stack of a transformer's blocks, [`Attention`] attention alone. [`Precision`]
//! and [`Instructions`] say how products are computed.
//!
//! # How it works
//!
//! A micro-kernel adds up to 8 rows of the left factor of a product times 32 columns of the right one to
//! tiles of sums that stay in registers. Both are read where they lie, in rows or across them; only
//! weights are packed, into panels of 32 columns. Every sum runs over its terms in one order, whatever the
//! instructions. Transformer blocks run one sequence at a time,
//! whose rows stay in the cache, and compute forward again on the way back. A recurrent batch is
//! divided into units of up to 16 sequences, a function of its size and lengths alone, which run
//! through all steps apart from one another, up to four as one task; gradients of weights are sums over the units, in
//! their order, at the end.

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

pub use adam::{AdamStep, sum_of_squares};
pub use attention::{Attention, AttentionForm, AttentionGradients, AttentionInput};
pub use dropout::Draw;
pub use error::Error;
pub use instructions::{InstructionSet, Instructions};
pub use linear::Linear;
pub use norm::LayerNorm;
pub use precision::{Precision, round_to_bf16};
pub use recurrent::{
    Cell, CrossAttentionWeights, CrossGradients, DecoderGradients, DecoderInput, EncoderGradients,
    EncoderInput, EncoderUpstream, LayerGradients, LayerWeights, Memory, PassKind, Projection,
    RecurrentDecoder, RecurrentEncoder, RecurrentStackOptions, State, StateGradients,
};
pub use transformer::{
    BlockGradients, BlockInput, BlockOptions, BlockTensors, BlockWeights, TransformerStack,
};
