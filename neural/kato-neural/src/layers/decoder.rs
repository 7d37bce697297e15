//! A decoder of sequences that feeds on true vectors or on its own.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};

use super::{Dropout, Recurrent, RecurrentOptions, RecurrentState, apply_linear, linear};
use crate::{Initializer, Pass, initialize::parameter};

/// What a decoder gets as the input of each time step after the first.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Feed<'a> {
    /// Its own prediction of the step before.
    Own,
    /// The true vector of the step before, from `[batch, time, width]`.
    True(&'a Tensor<3>),
    /// The true vector where the step's coin says so, else its own prediction, through which the
    /// gradient flows. One coin a time step for the whole batch; the first is not used.
    ///
    /// Source: Bengio et al., "Scheduled sampling for sequence prediction", 2015.
    Sampled(&'a Tensor<3>, &'a [bool]),
}

impl Feed<'_> {
    /// Returns the true vector of `step`, `[batch, 1, width]`, if the step is to be fed with it.
    fn true_input(&self, step: usize) -> Option<Tensor<3>> {
        match self {
            Self::Own => None,
            Self::True(targets) => Some((*targets).clone().narrow(1, step - 1, 1)),
            Self::Sampled(targets, coins) => {
                coins[step].then(|| (*targets).clone().narrow(1, step - 1, 1))
            }
        }
    }
}

/// Shape of a decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SequenceDecoderOptions {
    /// The recurrent net; its input size is the width of the vectors.
    pub recurrent: RecurrentOptions,
    /// Probability of dropout before the output layer, in [0, 1).
    pub output_dropout: f64,
    /// Number of that dropout's draws.
    pub output_stream: u64,
    /// Gain of the output layer's weights.
    pub output_gain: f64,
}

impl SequenceDecoderOptions {
    /// No dropout before the output layer, whose weights have gain 0.5.
    #[must_use]
    pub const fn new(recurrent: RecurrentOptions) -> Self {
        Self {
            recurrent,
            output_dropout: 0.0,
            output_stream: 0,
            output_gain: 0.5,
        }
    }

    /// Drops before the output layer, with the draws of `stream`.
    #[must_use]
    pub const fn with_output_dropout(mut self, probability: f64, stream: u64) -> Self {
        self.output_dropout = probability;
        self.output_stream = stream;
        self
    }

    /// Makes the decoder; the start vector is normal with deviation 0.1.
    #[must_use]
    pub fn init(&self, initializer: &mut Initializer, device: &Device) -> SequenceDecoder {
        let (width, hidden) = (self.recurrent.input_size, self.recurrent.hidden_size);
        SequenceDecoder {
            start: parameter(initializer.normal(width, 0.1), [width], device),
            recurrent: self.recurrent.init(initializer, device),
            dropout: Dropout::new(self.output_dropout, self.output_stream),
            output: linear(hidden, width, self.output_gain, initializer, device),
        }
    }
}

/// Rebuilds sequences of vectors from a state, one step at a time.
#[derive(Module, Debug)]
pub struct SequenceDecoder {
    start: Param<Tensor<1>>,
    recurrent: Recurrent,
    dropout: Dropout,
    output: Linear,
}

impl SequenceDecoder {
    /// The recurrent net inside.
    #[must_use]
    pub const fn recurrent(&self) -> &Recurrent {
        &self.recurrent
    }

    /// Predicts `n_steps` vectors from `state`: `[batch, n_steps, width]`.
    ///
    /// The first input is the learned start vector. Each further step gets what `feed` says.
    ///
    /// # Panics
    ///
    /// Panics if there is no step, shapes do not fit, or `feed` has fewer steps or coins.
    #[must_use]
    pub fn forward(
        &self,
        state: RecurrentState,
        n_steps: usize,
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        let [_, n_rows, hidden] = state.hidden.dims();
        let (device, [width]) = (state.hidden.device(), self.start.dims());
        let mask = self.dropout.mask([n_rows, n_steps, hidden], &device, pass);
        let mut unrolled = self
            .recurrent
            .unroll(n_rows, n_steps, Some(state), &device, pass);
        let mut predictions: Vec<Tensor<2>> = Vec::with_capacity(n_steps);
        for step in 0..n_steps {
            let input = match predictions.last() {
                None => self.start.val().unsqueeze::<2>().expand([n_rows, width]),
                Some(prediction) => match feed.true_input(step) {
                    Some(target) => target.reshape([n_rows, width]),
                    None => prediction.clone(),
                },
            };
            let mut output = unrolled.step(step, input);
            if let Some(mask) = &mask {
                output = output * mask.clone().narrow(1, step, 1).reshape([n_rows, hidden]);
            }
            predictions.push(apply_linear(&self.output, output, pass));
        }
        Tensor::stack(predictions, 1)
    }
}
