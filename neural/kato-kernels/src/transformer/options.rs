//! Says what a transformer block is made of, and what it is given.

use super::sequence::Place;
use crate::attention::AttentionForm;
use crate::dropout::Draw;
use crate::error::Error;
use crate::instructions::Instructions;
use crate::precision::Precision;

/// What a transformer block is made of.
///
/// ```
/// use kato_kernels::{BlockOptions, Precision};
///
/// let options = BlockOptions::new(128, 4).with_dropout(0.1).with_precision(Precision::Bf16);
/// assert_eq!(options.n_hidden, 512);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BlockOptions {
    /// Values of a row, a multiple of the number of heads.
    pub width: usize,
    /// Heads of attention.
    pub n_heads: usize,
    /// Units of the feed-forward net; four times the width unless set.
    pub n_hidden: usize,
    /// Share that is dropped of what attention and net add to a row, 0 ≤ rate < 1.
    pub dropout: f32,
    /// What attention keeps of a sequence on the way back. Tiled keeps probabilities as well where they are so few
    /// that they stay in the cache. It changes no bit.
    pub attention: AttentionForm,
    /// Precision of the linear layers; attention is f32.
    pub precision: Precision,
    /// Instructions to use.
    pub instructions: Instructions,
}

impl BlockOptions {
    /// Begins with a net of four times the width, no dropout, f32 and the best instructions.
    #[must_use]
    pub fn new(width: usize, n_heads: usize) -> Self {
        Self {
            width,
            n_heads,
            n_hidden: 4 * width,
            dropout: 0.0,
            attention: AttentionForm::Tiled,
            precision: Precision::F32,
            instructions: Instructions::detect(),
        }
    }

    /// Sets the units of the feed-forward net.
    #[must_use]
    pub const fn with_hidden(mut self, n_hidden: usize) -> Self {
        self.n_hidden = n_hidden;
        self
    }

    /// Sets the share that is dropped.
    #[must_use]
    pub const fn with_dropout(mut self, rate: f32) -> Self {
        self.dropout = rate;
        self
    }

    /// Sets what attention keeps.
    #[must_use]
    pub const fn with_attention(mut self, form: AttentionForm) -> Self {
        self.attention = form;
        self
    }

    /// Sets the precision of the linear layers.
    #[must_use]
    pub const fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets the instructions.
    #[must_use]
    pub const fn with_instructions(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        // Heads are columns side by side: each has as many as the next.
        if self.n_heads == 0 || self.width == 0 || !self.width.is_multiple_of(self.n_heads) {
            let reason = "a multiple of the number of heads, at least 1";
            return Err(Error::Option {
                option: "width",
                reason,
            });
        }
        if self.n_hidden == 0 {
            return Err(Error::Option {
                option: "n_hidden",
                reason: "at least 1",
            });
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::Option {
                option: "dropout",
                reason: "from 0 to less than 1",
            });
        }
        Ok(())
    }
}

/// Batch for a [`TransformerStack`](crate::TransformerStack).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BlockInput<'a> {
    /// Rows, `[batch, rows, width]`.
    pub x: &'a [f32],
    /// Number of sequences.
    pub batch: usize,
    /// Rows of the longest sequence.
    pub rows: usize,
    /// Valid rows of each sequence; all where there are none. Nothing is computed for others.
    pub lengths: Option<&'a [usize]>,
    /// Draw of dropout and the first block's number; nothing is dropped where there is none.
    pub draw: Option<(Draw, u32)>,
    /// What the blocks above the first began with, as a forward pass wrote it: backward computes less where it is
    /// there.
    pub inputs: Option<&'a [f32]>,
}

impl<'a> BlockInput<'a> {
    /// Describes one sequence.
    pub(super) fn place(&self, sequence: usize) -> Place {
        // Without lengths every row is valid.
        let length = self.lengths.map_or(self.rows, |lengths| lengths[sequence]);
        Place {
            sequence,
            length,
            draw: self.draw,
        }
    }

    /// Begins with whole sequences and no dropout.
    #[must_use]
    pub const fn new(x: &'a [f32], batch: usize, rows: usize) -> Self {
        Self {
            x,
            batch,
            rows,
            lengths: None,
            draw: None,
            inputs: None,
        }
    }

    /// Sets the lengths, `[batch]`.
    #[must_use]
    pub const fn with_lengths(mut self, lengths: &'a [usize]) -> Self {
        self.lengths = Some(lengths);
        self
    }

    /// Sets the draw of dropout and the number of the first block; the others have those that follow.
    #[must_use]
    pub const fn with_draw(mut self, draw: Draw, block: u32) -> Self {
        self.draw = Some((draw, block));
        self
    }

    /// Sets what the blocks above the first began with.
    #[must_use]
    pub const fn with_inputs(mut self, inputs: &'a [f32]) -> Self {
        self.inputs = Some(inputs);
        self
    }
}
