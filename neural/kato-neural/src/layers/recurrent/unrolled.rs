//! A recurrent net in Burn's own operations, one time step after another.

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use kato_kernels::Draw;

use super::{Recurrent, RecurrentState};
use crate::Pass;
use crate::layers::Cell;
use crate::layers::dropout::sequence_mask;

/// A net in the middle of a sequence.
pub(in crate::layers) struct Unrolled {
    cell: Cell,
    pass: Pass,
    weights: Vec<(Tensor<2>, Tensor<2>, Tensor<2>, Tensor<2>)>,
    masks: Vec<Option<Tensor<3>>>,
    hidden: Vec<Tensor<2>>,
    memory: Vec<Option<Tensor<2>>>,
}

impl Unrolled {
    /// Takes the input of a time step, `[batch, input]`, through all layers; returns the last's state.
    pub(in crate::layers) fn step(&mut self, step: usize, input: Tensor<2>) -> Tensor<2> {
        let precision = self.pass.precision();
        let mut input = input;
        for (layer, (weight_ih, bias_ih, weight_hh, bias_hh)) in self.weights.iter().enumerate() {
            if let Some(mask) = layer
                .checked_sub(1)
                .and_then(|below| self.masks[below].as_ref())
            {
                input = input.clone() * mask.clone().narrow(1, step, 1).reshape(input.dims());
            }
            // Needed twice: by the product, and by cells that mix old and new.
            let hidden = self.hidden[layer].clone();
            let from_input = precision.round(input).matmul(weight_ih.clone()) + bias_ih.clone();
            let from_state =
                precision.round(hidden.clone()).matmul(weight_hh.clone()) + bias_hh.clone();
            // Taken, so that the operation may write into its buffer.
            let memory = self.memory[layer].take();
            let (hidden, memory) = self.cell.advance(from_input, from_state, hidden, memory);
            self.memory[layer] = memory;
            self.hidden[layer] = hidden.clone();
            input = hidden;
        }
        input
    }

    /// Ends the sequence.
    pub(in crate::layers) fn into_state(self) -> RecurrentState {
        // All layers have one or none has.
        let memory: Option<Vec<_>> = self.memory.into_iter().collect();
        RecurrentState {
            hidden: Tensor::stack(self.hidden, 0),
            memory: memory.map(|memory| Tensor::stack(memory, 0)),
        }
    }
}

impl Recurrent {
    /// Prepares what all time steps share: weights turned and rounded once, masks drawn once.
    pub(in crate::layers) fn unroll(
        &self,
        n_rows: usize,
        n_steps: usize,
        state: Option<RecurrentState>,
        draw: Option<Draw>,
        device: &Device,
        pass: &Pass,
    ) -> Unrolled {
        let (precision, width) = (pass.precision(), self.hidden_size());
        let n_layers = self.layers.len();
        let by_layer = |states: Tensor<3>| -> Vec<Tensor<2>> {
            let states = states.split(1, 0).into_iter();
            states.map(|state| state.reshape([n_rows, width])).collect()
        };
        let (hidden, memory) = match state {
            Some(state) => (by_layer(state.hidden), state.memory.map(by_layer)),
            None => (
                (0..n_layers)
                    .map(|_| Tensor::zeros([n_rows, width], device))
                    .collect(),
                None,
            ),
        };
        Unrolled {
            // Everything below is made once a pass: a step has products and nothing else.
            cell: self.cell,
            pass: *pass,
            weights: self
                .layers
                .iter()
                .map(|layer| {
                    let turned =
                        |weight: &Param<Tensor<2>>| precision.round(weight.val()).transpose();
                    let bias = |bias: &Param<Tensor<1>>| bias.val().unsqueeze();
                    let (input, recurrent) = (turned(&layer.weight_ih), turned(&layer.weight_hh));
                    (input, bias(&layer.bias_ih), recurrent, bias(&layer.bias_hh))
                })
                .collect(),
            masks: (1..n_layers as u64)
                .map(|layer| {
                    let shape = [n_rows, n_steps, width];
                    sequence_mask(draw, self.dropout, layer - 1, shape, device)
                })
                .collect(),
            hidden,
            memory: match memory {
                Some(memory) => memory.into_iter().map(Some).collect(),
                None => vec![None; n_layers],
            },
        }
    }
}
