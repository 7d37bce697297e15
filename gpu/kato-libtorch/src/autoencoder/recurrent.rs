//! A recurrent net through LibTorch's own, which is cuDNN's on a GPU.

use tch::nn::{Init, Path};
use tch::{Tensor, no_grad};

use super::{AutoencoderOptions, Cell};
use crate::parameters::xavier;

/// States of all layers between two time steps, `[layers, batch, hidden]` each.
#[derive(Debug)]
pub(super) struct State {
    pub(super) hidden: Tensor,
    /// The LSTM's memory; other cells have none.
    pub(super) memory: Option<Tensor>,
}

/// Weights of all layers, in PyTorch's order: input, recurrent, and their biases.
#[derive(Debug)]
pub(super) struct Recurrent {
    weights: Vec<Tensor>,
    cell: Cell,
    hidden: i64,
    layers: i64,
    dropout: f64,
}

impl Recurrent {
    pub(super) fn new(place: &Path<'_>, options: &AutoencoderOptions) -> Self {
        let AutoencoderOptions {
            cell,
            width,
            hidden,
            layers,
            dropout,
            ..
        } = *options;
        let n_rows = cell.n_gates() * hidden;
        let mut weights = Vec::new();
        for layer in 0..layers {
            // Layers above the first read the states of the one below.
            let n_in = if layer == 0 { width } else { hidden };
            let mut add = |name: &str, shape: &[i64], init| {
                weights.push(place.var(&format!("{name}_l{layer}"), shape, init));
            };
            add("weight_ih", &[n_rows, n_in], xavier(n_rows, n_in, 1.0));
            add(
                "weight_hh",
                &[n_rows, hidden],
                Init::Orthogonal { gain: 1.0 },
            );
            add("bias_ih", &[n_rows], Init::Const(0.0));
            add("bias_hh", &[n_rows], Init::Const(0.0));
        }
        let net = Self {
            weights,
            cell,
            hidden,
            layers,
            dropout,
        };
        net.open_forget_gates();
        net.flatten(width);
        net
    }

    /// Lets an LSTM remember at first: the sum of its forget gates' biases is 1.
    fn open_forget_gates(&self) {
        if self.cell != Cell::Lstm {
            return;
        }
        for bias in self.weights.iter().skip(2).step_by(4) {
            let _ = no_grad(|| bias.narrow(0, self.hidden, self.hidden).fill_(1.0));
        }
    }

    /// Moves all weights into one buffer; cuDNN would copy them there at every call.
    fn flatten(&self, width: i64) {
        if !self.weights[0].device().is_cuda() || !tch::Cuda::cudnn_is_available() {
            return;
        }
        // cuDNN's numbers of the cells.
        let mode = match self.cell {
            Cell::Vanilla => 1,
            Cell::Lstm => 2,
            Cell::Gru => 3,
        };
        let (hidden, layers) = (self.hidden, self.layers);
        let _ = no_grad(|| {
            Tensor::internal_cudnn_rnn_flatten_weight(
                &self.weights,
                4,
                width,
                mode,
                hidden,
                0,
                layers,
                true,
                false,
            )
        });
    }

    /// Runs over `[batch, time, input]` from a state, or from zero: the last layer's states at every
    /// step, and all layers' states after the last one.
    pub(super) fn forward(
        &self,
        input: &Tensor,
        state: Option<State>,
        train: bool,
    ) -> (Tensor, State) {
        let zeros = || {
            Tensor::zeros(
                [self.layers, input.size()[0], self.hidden],
                (input.kind(), input.device()),
            )
        };
        let State { hidden, memory } = state.unwrap_or_else(|| State {
            hidden: zeros(),
            memory: (self.cell == Cell::Lstm).then(zeros),
        });
        let (weights, layers) = (&self.weights, self.layers);
        // Dropout lies between layers; LibTorch warns where there is only one.
        let dropout = if layers > 1 { self.dropout } else { 0.0 };
        match memory {
            Some(memory) => {
                let (outputs, hidden, memory) = input.lstm(
                    &[hidden, memory],
                    weights,
                    true,
                    layers,
                    dropout,
                    train,
                    false,
                    true,
                );
                let memory = Some(memory);
                (outputs, State { hidden, memory })
            }
            None => {
                let run = if self.cell == Cell::Gru {
                    Tensor::gru::<Tensor>
                } else {
                    Tensor::rnn_tanh::<Tensor>
                };
                let (outputs, hidden) = run(
                    input, &hidden, weights, true, layers, dropout, train, false, true,
                );
                (
                    outputs,
                    State {
                        hidden,
                        memory: None,
                    },
                )
            }
        }
    }
}
