//! The narrow middle of an autoencoder, and the way from it into a decoder's state.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};

use super::{BatchNorm, Cell, Dropout, RecurrentState, apply_linear, linear};
use crate::{Initializer, Pass};

/// Gain of a projection's weights: small ones begin close to zero.
const fn projection_gain(n_out: usize) -> f64 {
    if n_out < 30 { 0.1 } else { 0.5 }
}

/// Dropout, a linear layer to few units, and batch norm over them if asked for.
#[derive(Module, Debug)]
pub struct Bottleneck {
    dropout: Dropout,
    linear: Linear,
    norm: Option<BatchNorm>,
}

impl Bottleneck {
    /// Creates a bottleneck from `n_in` to `n_units`, with gain 0.5, or 0.1 below 30 units.
    #[must_use]
    pub fn new(
        n_in: usize,
        n_units: usize,
        dropout: Dropout,
        batch_norm: bool,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        Self {
            dropout,
            // A code that begins close to zero lets the decoder learn its own part first.
            linear: linear(n_in, n_units, projection_gain(n_units), initializer, device),
            norm: batch_norm.then(|| BatchNorm::new(n_units, device)),
        }
    }

    /// Compresses `[batch, n_in]` to `[batch, n_units]`.
    #[must_use]
    pub fn forward(&self, input: Tensor<2>, pass: &Pass) -> Tensor<2> {
        // Dropped before it is narrow: each of few units would be missed far more.
        let units = apply_linear(&self.linear, self.dropout.forward(input, pass), pass);
        // After the product: it is the code whose spread is to be fixed.
        match &self.norm {
            Some(norm) => norm.forward(units, pass),
            None => units,
        }
    }
}

/// Makes a decoder's first state of a vector: `tanh` of a linear layer, and for an LSTM's memory of
/// a second one.
#[derive(Module, Debug)]
pub struct StateProjection {
    hidden: Linear,
    memory: Option<Linear>,
    n_layers: usize,
}

impl StateProjection {
    /// Creates a projection from `n_units` to `n_layers` states of `hidden_size`.
    #[must_use]
    pub fn new(
        n_units: usize,
        cell: Cell,
        n_layers: usize,
        hidden_size: usize,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let n_out = n_layers * hidden_size;
        let mut project = || linear(n_units, n_out, projection_gain(n_out), initializer, device);
        Self {
            hidden: project(),
            // Drawn after the first, so that cells without a memory begin the same.
            memory: cell.has_memory().then(&mut project),
            n_layers,
        }
    }

    /// Projects `[batch, n_units]`.
    #[must_use]
    pub fn forward(&self, units: Tensor<2>, pass: &Pass) -> RecurrentState {
        let memory = self
            .memory
            .as_ref()
            .map(|layer| self.project(layer, units.clone(), pass));
        RecurrentState {
            hidden: self.project(&self.hidden, units, pass),
            memory,
        }
    }

    fn project(&self, layer: &Linear, units: Tensor<2>, pass: &Pass) -> Tensor<3> {
        // Into the range that a state has inside the net.
        let states = apply_linear(layer, units, pass).tanh();
        let [n_rows, n_out] = states.dims();
        states
            .reshape([n_rows, self.n_layers, n_out / self.n_layers])
            // Layers are the first axis of a state, as in PyTorch.
            .swap_dims(0, 1)
    }
}
