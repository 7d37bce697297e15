//! Describes what a decoder is given, and where its gradients go.

use super::super::attend::Memory;
use super::super::layer::LayerGradients;
use super::super::options::{RecurrentStackOptions, State, StateGradients};
use crate::dropout::Draw;
use crate::error::{Error, check};

/// Linear map from a decoder's outputs to its predictions, which have the width of its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// Weights, `[inputs, hidden]`.
    pub weights: &'a [f32],
    /// Bias, `[inputs]`.
    pub bias: &'a [f32],
}

/// Batch for a [`RecurrentDecoder`](crate::RecurrentDecoder).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DecoderInput<'a> {
    /// Input of the first step, `[inputs]`, for every sequence.
    pub start: &'a [f32],
    /// States at the start.
    pub initial: State<'a>,
    /// Number of sequences.
    pub batch: usize,
    /// Number of steps of the longest sequence.
    pub steps: usize,
    /// True values, `[batch, steps, inputs]`, and for each step whether its input is the true value
    /// of the step before. The first step's says nothing. Own predictions are read where there
    /// are none.
    pub truth: Option<(&'a [f32], &'a [bool])>,
    /// Valid steps of each sequence; all where there are none.
    pub lengths: Option<&'a [usize]>,
    /// What is attended to; the decoder does not attend where there is none.
    pub memory: Option<Memory<'a>>,
    /// Draw of dropout; nothing is dropped where there is none.
    pub draw: Option<Draw>,
}

impl<'a> DecoderInput<'a> {
    /// Begins with whole sequences, own predictions and no dropout.
    #[must_use]
    pub const fn new(start: &'a [f32], initial: State<'a>, batch: usize, steps: usize) -> Self {
        Self {
            start,
            initial,
            batch,
            steps,
            truth: None,
            lengths: None,
            memory: None,
            draw: None,
        }
    }

    /// Gives the true values and the steps whose input is one.
    #[must_use]
    pub const fn with_truth(mut self, values: &'a [f32], steps: &'a [bool]) -> Self {
        self.truth = Some((values, steps));
        self
    }

    /// Sets the lengths, `[batch]`.
    #[must_use]
    pub const fn with_lengths(mut self, lengths: &'a [usize]) -> Self {
        self.lengths = Some(lengths);
        self
    }

    /// Sets what is attended to, by the weights of
    /// [`pack_attention`](crate::RecurrentDecoder::pack_attention).
    #[must_use]
    pub const fn with_memory(mut self, memory: Memory<'a>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the draw of dropout.
    #[must_use]
    pub const fn with_draw(mut self, draw: Draw) -> Self {
        self.draw = Some(draw);
        self
    }

    /// Checks the batch.
    pub(super) fn check(&self, options: &RecurrentStackOptions) -> Result<(), Error> {
        check("start", "inputs", self.start.len(), options.n_inputs)?;
        self.initial.check(options, self.batch)?;
        if let Some(memory) = &self.memory {
            memory.check(options, self.batch)?;
        }
        if let Some((values, steps)) = self.truth {
            let n = self.batch * self.steps * options.n_inputs;
            check("truth", "batch × steps × inputs", values.len(), n)?;
            check("truth", "steps", steps.len(), self.steps)?;
        }
        Ok(())
    }
}

/// Where gradients of a [`RecurrentDecoder`](crate::RecurrentDecoder) go; what was there is overwritten.
#[derive(Debug)]
pub struct DecoderGradients<'a, 'b> {
    /// Of the weights of each layer.
    pub layers: &'a mut [LayerGradients<'b>],
    /// Of the projection's weights, `[inputs, hidden]`.
    pub projection: &'a mut [f32],
    /// Of the projection's bias, `[inputs]`.
    pub projection_bias: &'a mut [f32],
    /// Of the first input, `[inputs]`.
    pub start: &'a mut [f32],
    /// Of the states at the start.
    pub initial: StateGradients<'a>,
}
