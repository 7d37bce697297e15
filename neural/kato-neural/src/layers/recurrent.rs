//! Recurrent nets of any number of layers, with PyTorch's weights.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use kato_kernels::{Draw, RecurrentEncoder};

use super::dropout::sequence_mask;
use super::{Cell, check_lengths, last_valid};
use crate::fused::{self, EncoderCall, Pool};
use crate::{Initializer, Pass, initialize::parameter};

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
            cell: self.cell,
            workspaces: Pool::default(),
        }
    }
}

/// Weights of one layer, in PyTorch's shapes and gate order.
#[derive(Module, Debug)]
pub struct RecurrentLayer {
    /// `[n_gates · hidden, input]`.
    pub weight_ih: Param<Tensor<2>>,
    /// `[n_gates · hidden, hidden]`.
    pub weight_hh: Param<Tensor<2>>,
    /// `[n_gates · hidden]`, added to the product with the input.
    pub bias_ih: Param<Tensor<1>>,
    /// `[n_gates · hidden]`, added to the product with the state.
    pub bias_hh: Param<Tensor<1>>,
}

impl RecurrentLayer {
    fn new(
        cell: Cell,
        n_in: usize,
        width: usize,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let n_rows = cell.n_gates() * width;
        let mut bias = vec![0.0; n_rows];
        if cell == Cell::Lstm {
            bias[width..2 * width].fill(1.0);
        }
        Self {
            weight_ih: parameter(
                initializer.xavier_uniform(n_rows, n_in, 1.0),
                [n_rows, n_in],
                device,
            ),
            weight_hh: parameter(
                initializer.orthogonal(n_rows, width),
                [n_rows, width],
                device,
            ),
            bias_ih: parameter(bias, [n_rows], device),
            // PyTorch's second bias stays 0, so that the forget gate begins at 1 and not at 2.
            bias_hh: parameter(vec![0.0; n_rows], [n_rows], device),
        }
    }
}

/// States of all layers between two time steps.
#[derive(Debug, Clone)]
pub struct RecurrentState {
    /// `[n_layers, batch, hidden]`.
    pub hidden: Tensor<3>,
    /// The LSTM's memory, `[n_layers, batch, hidden]`; other cells have none.
    pub memory: Option<Tensor<3>>,
}

/// A recurrent net over sequences `[batch, time, width]`.
#[derive(Module, Debug)]
pub struct Recurrent {
    layers: Vec<RecurrentLayer>,
    dropout: f64,
    stream: u64,
    #[module(skip)]
    cell: Cell,
    #[module(skip)]
    workspaces: Pool<RecurrentEncoder>,
}

impl Recurrent {
    /// The cell of every layer.
    #[must_use]
    pub const fn cell(&self) -> Cell {
        self.cell
    }

    /// Weights, layer by layer.
    #[must_use]
    pub fn layers(&self) -> &[RecurrentLayer] {
        &self.layers
    }

    /// Width of every layer's state.
    #[must_use]
    pub fn hidden_size(&self) -> usize {
        self.layers[0].weight_hh.dims()[1]
    }

    /// Probability of dropout between layers.
    #[must_use]
    pub const fn dropout(&self) -> f64 {
        self.dropout
    }

    /// Runs over the input `[batch, time, input]` from `state`, or from zero: the last layer's states
    /// at every step, `[batch, time, hidden]`, and all layers' states after the last step.
    ///
    /// # Panics
    ///
    /// Panics if shapes do not fit, or there is no time step.
    #[must_use]
    pub fn forward(
        &self,
        input: Tensor<3>,
        state: Option<RecurrentState>,
        pass: &Pass,
    ) -> (Tensor<3>, RecurrentState) {
        let [n_rows, n_steps, n_in] = input.dims();
        let mut unrolled = self.unroll(
            n_rows,
            n_steps,
            state,
            pass.dropout(self.stream),
            &input.device(),
            pass,
        );
        let inputs = input.split(1, 1).into_iter().enumerate();
        let outputs =
            inputs.map(|(step, input)| unrolled.step(step, input.reshape([n_rows, n_in])));
        let outputs = outputs.collect();
        (Tensor::stack(outputs, 1), unrolled.into_state())
    }

    /// Runs over sequences of the given lengths and returns the last layer's state at each one's
    /// last valid step, `[batch, hidden]`; zero where there is none. What lies behind a sequence's
    /// end has no influence.
    ///
    /// # Panics
    ///
    /// Panics if shapes do not fit, there is not one length a sequence, or one is longer than the
    /// time axis.
    #[must_use]
    pub fn encode(&self, input: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<2> {
        let [n_rows, n_steps, n_in] = input.dims();
        check_lengths(lengths, n_rows, n_steps);
        assert_eq!(
            n_in,
            self.layers[0].weight_ih.dims()[1],
            "the input's width"
        );
        if let Some(form) = fused::form(self, pass) {
            let (net, pool, draw) = (self, &self.workspaces, pass.dropout(self.stream));
            return fused::encode(
                &EncoderCall {
                    net,
                    pool,
                    input,
                    lengths,
                    draw,
                },
                form,
                pass,
            );
        }
        let outputs = self.forward(input, None, pass).0;
        let last = last_valid(outputs, lengths);
        if !lengths.contains(&0) {
            return last;
        }
        let full = lengths
            .iter()
            .map(|&length| f32::from(u8::from(length > 0)))
            .collect();
        let full = Tensor::from_data(TensorData::new(full, [n_rows, 1]), &last.device());
        last * full
    }

    /// Prepares what all time steps share: weights turned and rounded once, masks drawn once.
    pub(super) fn unroll(
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

/// A net in the middle of a sequence.
pub(super) struct Unrolled {
    cell: Cell,
    pass: Pass,
    weights: Vec<(Tensor<2>, Tensor<2>, Tensor<2>, Tensor<2>)>,
    masks: Vec<Option<Tensor<3>>>,
    hidden: Vec<Tensor<2>>,
    memory: Vec<Option<Tensor<2>>>,
}

impl Unrolled {
    /// Takes the input of a time step, `[batch, input]`, through all layers; returns the last's state.
    pub(super) fn step(&mut self, step: usize, input: Tensor<2>) -> Tensor<2> {
        let precision = self.pass.precision();
        let mut input = input;
        for (layer, (weight_ih, bias_ih, weight_hh, bias_hh)) in self.weights.iter().enumerate() {
            if let Some(mask) = layer
                .checked_sub(1)
                .and_then(|below| self.masks[below].as_ref())
            {
                input = input.clone() * mask.clone().narrow(1, step, 1).reshape(input.dims());
            }
            let hidden = self.hidden[layer].clone();
            let from_input = precision.round(input).matmul(weight_ih.clone()) + bias_ih.clone();
            let from_state =
                precision.round(hidden.clone()).matmul(weight_hh.clone()) + bias_hh.clone();
            let memory = self.memory[layer].take();
            let (hidden, memory) = self.cell.advance(from_input, from_state, hidden, memory);
            self.memory[layer] = memory;
            self.hidden[layer] = hidden.clone();
            input = hidden;
        }
        input
    }

    /// Ends the sequence.
    pub(super) fn into_state(self) -> RecurrentState {
        let memory: Option<Vec<_>> = self.memory.into_iter().collect();
        RecurrentState {
            hidden: Tensor::stack(self.hidden, 0),
            memory: memory.map(|memory| Tensor::stack(memory, 0)),
        }
    }
}
