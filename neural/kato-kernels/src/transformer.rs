//! Runs transformer blocks that keep nothing but their inputs.

mod block;
mod sequence;
#[cfg(test)]
mod tests;
mod weights;

pub use block::{BlockInput, BlockOptions, TransformerBlock};
pub use weights::{BlockGradients, BlockWeights};
