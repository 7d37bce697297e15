//! The shape of a decoder, and its weights at the start.

use burn::tensor::Device;

use super::{CrossAttention, SequenceDecoder};
use crate::draws::mix;
use crate::fused::Pool;
use crate::layers::{RecurrentOptions, linear};
use crate::{Initializer, initialize::parameter};

/// Shape of a decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SequenceDecoderOptions {
    /// The recurrent net; its input size is the width of the vectors.
    pub recurrent: RecurrentOptions,
    /// Probability of dropout before the output layer, in [0, 1).
    pub output_dropout: f64,
    /// With the net's number it tells the decoder's draws from others.
    pub output_stream: u64,
    /// Gain of the output layer's weights.
    pub output_gain: f64,
    /// Heads by which each step attends to an encoder's states; none where it does not.
    pub attention_heads: Option<usize>,
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
            attention_heads: None,
        }
    }

    /// Drops before the output layer; `stream` tells the decoder's draws from those of others.
    #[must_use]
    pub const fn with_output_dropout(mut self, probability: f64, stream: u64) -> Self {
        self.output_dropout = probability;
        self.output_stream = stream;
        self
    }

    /// Lets each step attend to the states of an encoder of the same width.
    #[must_use]
    pub const fn with_attention(mut self, n_heads: usize) -> Self {
        self.attention_heads = Some(n_heads);
        self
    }

    /// Makes the decoder; the start vector is normal with deviation 0.1.
    ///
    /// # Panics
    ///
    /// Panics if there is no layer, or the number of heads does not divide that of hidden units.
    #[must_use]
    pub fn init(&self, initializer: &mut Initializer, device: &Device) -> SequenceDecoder {
        let (width, hidden) = (self.recurrent.input_size, self.recurrent.hidden_size);
        SequenceDecoder {
            start: parameter(initializer.normal(width, 0.1), [width], device),
            recurrent: self.recurrent.init(initializer, device),
            output_dropout: self.output_dropout,
            // One draw for all places of the decoder, which both numbers tell from others.
            stream: mix(self.recurrent.stream, self.output_stream),
            output: linear(hidden, width, self.output_gain, initializer, device),
            // Drawn last: all else begins as it would without.
            attention: self
                .attention_heads
                .map(|n_heads| CrossAttention::new(hidden, n_heads, initializer, device)),
            workspaces: Pool::default(),
        }
    }
}
