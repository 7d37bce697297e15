//! Runs stacks of transformer blocks that keep nothing but what the first one is given.

mod branch;
mod matrix;
mod options;
mod product;
mod sequence;
mod stack;
#[cfg(test)]
mod tests;
mod weights;

pub use options::{BlockInput, BlockOptions};
pub use stack::TransformerStack;
pub use weights::{BlockGradients, BlockTensors, BlockWeights};
