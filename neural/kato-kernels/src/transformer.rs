//! Runs transformer blocks that keep nothing but their inputs.

mod block;
mod branch;
mod matrix;
mod options;
mod product;
mod sequence;
#[cfg(test)]
mod tests;
mod weights;

pub use block::TransformerBlock;
pub use options::{BlockInput, BlockOptions};
pub use weights::{BlockGradients, BlockWeights};
