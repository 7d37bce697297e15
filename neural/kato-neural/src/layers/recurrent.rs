//! Recurrent nets of any number of layers, with PyTorch's weights.

mod options;
mod unrolled;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use kato_kernels::RecurrentEncoder;

use super::{Cell, check_lengths, last_valid, valid_steps};
use crate::fused::{self, EncoderCall, Pool};
use crate::{Initializer, Pass, initialize::parameter};

pub use options::RecurrentOptions;

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
        // Split once: the gradient of a slice a step would write the whole input for each.
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
        self.check(&input, lengths);
        if let Some(form) = fused::form(&self.layers[0].weight_hh.val(), pass) {
            return fused::encode_last(&self.call(input, lengths, pass), form, pass);
        }
        let last = last_valid(self.forward(input, None, pass).0, lengths);
        let [n_rows, _] = last.dims();
        let full = lengths
            .iter()
            .map(|&length| f32::from(u8::from(length > 0)));
        let full = TensorData::new(full.collect(), [n_rows, 1]);
        // A sequence without a step has seen nothing, so its state is still zero.
        last.clone() * Tensor::from_data(full, &last.device())
    }

    /// Runs as [`encode`](Self::encode) does and returns the last layer's states at every step,
    /// `[batch, time, hidden]`, zero behind a sequence's end: what a decoder attends to.
    /// [`last_valid`](super::last_valid) takes the last ones out of them.
    ///
    /// # Panics
    ///
    /// As [`encode`](Self::encode).
    #[must_use]
    pub fn outputs(&self, input: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<3> {
        self.check(&input, lengths);
        if let Some(form) = fused::form(&self.layers[0].weight_hh.val(), pass) {
            return fused::encode_all(&self.call(input, lengths, pass), form, pass);
        }
        let outputs = self.forward(input, None, pass).0;
        let [_, n_steps, _] = outputs.dims();
        outputs.clone() * valid_steps(lengths, n_steps, &outputs.device())
    }

    fn check(&self, input: &Tensor<3>, lengths: &[usize]) {
        let [n_rows, n_steps, n_in] = input.dims();
        check_lengths(lengths, n_rows, n_steps);
        assert_eq!(
            n_in,
            self.layers[0].weight_ih.dims()[1],
            "the input's width"
        );
    }

    fn call<'a>(&'a self, input: Tensor<3>, lengths: &'a [usize], pass: &Pass) -> EncoderCall<'a> {
        let draw = pass.dropout(self.stream);
        EncoderCall {
            net: self,
            pool: &self.workspaces,
            input,
            lengths,
            draw,
        }
    }
}
