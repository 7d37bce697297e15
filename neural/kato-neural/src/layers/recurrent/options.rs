//! The shape of a recurrent net, and its weights at the start.

use burn::tensor::Device;

use super::{Recurrent, RecurrentLayer};
use crate::Initializer;
use crate::fused::Pool;
use crate::layers::Cell;

/// Shape of a recurrent net.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RecurrentOptions {
    /// The cell of every layer.
    pub cell: Cell,
    /// Width of the input.
    pub input_size: usize,
    /// Width of every layer's state.
    pub hidden_size: usize,
    /// How many layers, at least 1.
    pub n_layers: usize,
    /// Probability of dropout between layers, in [0, 1).
    pub dropout: f64,
    /// Number of the draws of its dropout.
    pub stream: u64,
}

impl RecurrentOptions {
    /// One layer without dropout.
    #[must_use]
    pub const fn new(cell: Cell, input_size: usize, hidden_size: usize) -> Self {
        Self {
            cell,
            input_size,
            hidden_size,
            n_layers: 1,
            dropout: 0.0,
            stream: 0,
        }
    }

    /// Stacks this many layers.
    #[must_use]
    pub const fn with_layers(mut self, n_layers: usize) -> Self {
        self.n_layers = n_layers;
        self
    }

    /// Drops between layers, with the draws of `stream`.
    #[must_use]
    pub const fn with_dropout(mut self, dropout: f64, stream: u64) -> Self {
        self.dropout = dropout;
        self.stream = stream;
        self
    }

    /// Makes the net: input weights Xavier-uniform, recurrent weights orthogonal, biases 0 except
    /// the LSTM's forget gate, whose sum of biases is 1.
    ///
    /// # Panics
    ///
    /// Panics if there is no layer.
    #[must_use]
    pub fn init(&self, initializer: &mut Initializer, device: &Device) -> Recurrent {
        assert!(self.n_layers > 0, "a recurrent net has at least one layer");
        let layers = (0..self.n_layers).map(|layer| {
            // Layers above the first read the states of the one below.
            let n_in = if layer == 0 {
                self.input_size
            } else {
                self.hidden_size
            };
            RecurrentLayer::new(self.cell, n_in, self.hidden_size, initializer, device)
        });
        Recurrent {
            layers: layers.collect(),
            dropout: self.dropout,
            stream: self.stream,
            // Skipped by records: it is part of the code and not of what is learned.
            cell: self.cell,
            workspaces: Pool::default(),
        }
    }
}
