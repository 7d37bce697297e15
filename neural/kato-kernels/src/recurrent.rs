//! Runs recurrent nets over whole sequences, forward and backward.

mod attend;
mod cell;
mod decoder;
mod encoder;
mod layer;
mod options;
mod plan;
mod stack;
mod tape;
#[cfg(test)]
mod tests;

pub use attend::{CrossAttentionWeights, CrossGradients, Memory};
pub use decoder::{DecoderGradients, DecoderInput, Projection, RecurrentDecoder};
pub use encoder::{EncoderGradients, EncoderInput, EncoderUpstream, RecurrentEncoder};
pub use layer::{LayerGradients, LayerWeights};
pub use options::{Cell, PassKind, RecurrentStackOptions, State, StateGradients};
