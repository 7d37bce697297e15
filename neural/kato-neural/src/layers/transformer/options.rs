//! The shape of a transformer, and its weights at the start.

use burn::tensor::Device;

use super::divided::Division;
use super::{RowNorm, Transformer, TransformerLayer};
use crate::Initializer;
use crate::fused::Pool;

/// Shape of a transformer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TransformerOptions {
    /// Values of a row, a multiple of the number of heads.
    pub width: usize,
    /// Heads of attention.
    pub n_heads: usize,
    /// Blocks, at least 1.
    pub n_layers: usize,
    /// Units of a block's net; four times the width unless set.
    pub hidden_size: usize,
    /// Probability of dropout of what a branch adds to a row, in [0, 1).
    pub dropout: f64,
    /// Number of the draws of its dropout.
    pub stream: u64,
    /// Whether a norm follows the last block.
    pub final_norm: bool,
}

impl TransformerOptions {
    /// Nets of four times the width, no dropout, no norm behind the last block.
    #[must_use]
    pub const fn new(width: usize, n_heads: usize, n_layers: usize) -> Self {
        Self {
            width,
            n_heads,
            n_layers,
            // The share of the paper and of nearly all models since.
            hidden_size: 4 * width,
            // Asked for by name together with its stream, which no default can know.
            dropout: 0.0,
            stream: 0,
            // Pooling and heads mostly bring their own.
            final_norm: false,
        }
    }

    /// Sets the units of a block's net.
    #[must_use]
    pub const fn with_hidden(mut self, hidden_size: usize) -> Self {
        self.hidden_size = hidden_size;
        self
    }

    /// Drops what branches add, with the draws of `stream`.
    #[must_use]
    pub const fn with_dropout(mut self, dropout: f64, stream: u64) -> Self {
        self.dropout = dropout;
        self.stream = stream;
        self
    }

    /// Puts a norm behind the last block.
    #[must_use]
    pub const fn with_final_norm(mut self) -> Self {
        self.final_norm = true;
        self
    }

    /// Makes the stack: weights Xavier-uniform, biases 0, norms 1.
    ///
    /// # Panics
    ///
    /// Panics if there is no block, no unit or no head, the width is no multiple of the number of
    /// heads, or the dropout's probability is outside [0, 1).
    #[must_use]
    pub fn init(&self, initializer: &mut Initializer, device: &Device) -> Transformer {
        assert!(self.n_layers > 0, "a transformer has at least one block");
        assert!(self.hidden_size > 0, "a net has at least one unit");
        assert!(
            self.n_heads > 0 && self.width > 0 && self.width.is_multiple_of(self.n_heads),
            "a width of {} is not shared by {} heads",
            self.width,
            self.n_heads
        );
        assert!(
            (0.0..1.0).contains(&self.dropout),
            "dropout {} is not in [0, 1)",
            self.dropout
        );
        let layers = (0..self.n_layers).map(|_| TransformerLayer::new(self, initializer, device));
        Transformer {
            layers: layers.collect(),
            norm: self.final_norm.then(|| RowNorm::new(self.width, device)),
            n_heads: self.n_heads,
            dropout: self.dropout,
            stream: self.stream,
            workspaces: Pool::default(),
            division: Division::default(),
        }
    }
}
