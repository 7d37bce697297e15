//! Describes what an encoder is given, and where its gradients go.

use super::super::layer::LayerGradients;
use super::super::options::{State, StateGradients};
use crate::dropout::Draw;

/// Batch for a [`RecurrentEncoder`](crate::RecurrentEncoder).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EncoderInput<'a> {
    /// Inputs, `[batch, steps, inputs]`.
    pub inputs: &'a [f32],
    /// Number of sequences.
    pub batch: usize,
    /// Number of steps of the longest sequence.
    pub steps: usize,
    /// Valid steps of each sequence; all where there are none. What lies behind is not read.
    pub lengths: Option<&'a [usize]>,
    /// States at the start; zero where there are none.
    pub initial: Option<State<'a>>,
    /// Draw of dropout; nothing is dropped where there is none.
    pub draw: Option<Draw>,
}

impl<'a> EncoderInput<'a> {
    /// Begins with whole sequences, zero states and no dropout.
    #[must_use]
    pub const fn new(inputs: &'a [f32], batch: usize, steps: usize) -> Self {
        Self {
            inputs,
            batch,
            steps,
            lengths: None,
            initial: None,
            draw: None,
        }
    }

    /// Sets the lengths, `[batch]`.
    #[must_use]
    pub const fn with_lengths(mut self, lengths: &'a [usize]) -> Self {
        self.lengths = Some(lengths);
        self
    }

    /// Sets the states at the start.
    #[must_use]
    pub const fn with_initial(mut self, initial: State<'a>) -> Self {
        self.initial = Some(initial);
        self
    }

    /// Sets the draw of dropout.
    #[must_use]
    pub const fn with_draw(mut self, draw: Draw) -> Self {
        self.draw = Some(draw);
        self
    }
}

/// Gradients that reach a [`RecurrentEncoder`](crate::RecurrentEncoder) from behind; none is zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncoderUpstream<'a> {
    /// Of the last hidden states, `[layers, batch, hidden]`.
    pub hidden: Option<&'a [f32]>,
    /// Of the last cell states, likewise.
    pub cell: Option<&'a [f32]>,
    /// Of the last layer's outputs, `[batch, steps, hidden]`; what lies behind a sequence's end is
    /// not read.
    pub outputs: Option<&'a [f32]>,
}

/// Where gradients of a [`RecurrentEncoder`](crate::RecurrentEncoder) go; what was there is overwritten. What is not asked
/// for is not computed.
#[derive(Debug)]
pub struct EncoderGradients<'a, 'b> {
    /// Of the weights of each layer.
    pub layers: &'a mut [LayerGradients<'b>],
    /// Of the inputs, `[batch, steps, inputs]`.
    pub inputs: Option<&'a mut [f32]>,
    /// Of the states at the start.
    pub initial: Option<StateGradients<'a>>,
}
