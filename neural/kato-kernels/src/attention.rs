//! Attends: softmax of scaled products of queries and keys, times values, over several heads.

pub(crate) mod head;
mod input;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::pool::Pool;
use crate::rows::grow;
use head::{Columns, ColumnsMut, Head, Targets, Work, score_stride};

pub use input::{AttentionGradients, AttentionInput};

/// What attention keeps between forward and backward. Both forms give the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttentionForm {
    /// Nothing: probabilities are computed again, a block of queries at a time. Memory is linear in the
    /// number of keys. A transformer block keeps those of a sequence all the same where they take half a megabyte at
    /// most.
    #[default]
    Tiled,
    /// All probabilities. Memory is queries × keys for each head and sequence.
    Plain,
}

/// Attention over several heads, after Vaswani and others, "Attention is all you need" (2017):
/// `softmax(Q Kᵀ / √width) V` for each head, forward and backward.
///
/// Sequences are independent, and every sum has one order: results have the same bits for any
/// number of threads. A query all of whose keys are masked gets zero, and no gradient.
///
/// ```
/// use kato_kernels::{Attention, AttentionForm, AttentionInput, Instructions};
///
/// // One head of width 1: a query, two keys of which the second is masked.
/// let mut attention = Attention::new(1, 1, AttentionForm::Tiled, Instructions::detect())?;
/// let input = AttentionInput::new((&[1.0], 1), (&[1.0, 5.0], 2), &[0.25, 4.0], 1)
///     .with_mask(&[true, false]);
/// let mut out = [0.0];
/// attention.forward(input, &mut out)?;
/// assert_eq!(out, [0.25]);
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Debug)]
pub struct Attention {
    n_heads: usize,
    width: usize,
    form: AttentionForm,
    instructions: Instructions,
    works: Pool<Work>,
    kept: Vec<f32>,
    kept_values: usize,
}

impl Attention {
    /// Makes attention over `n_heads` heads of `width` values.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] where one of them is 0.
    pub fn new(
        n_heads: usize,
        width: usize,
        form: AttentionForm,
        instructions: Instructions,
    ) -> Result<Self, Error> {
        if n_heads == 0 || width == 0 {
            return Err(Error::Option {
                option: "n_heads or width",
                reason: "at least 1",
            });
        }
        let (works, kept) = (Pool::new(), Vec::new());
        Ok(Self {
            n_heads,
            width,
            form,
            instructions,
            works,
            kept,
            kept_values: 0,
        })
    }

    fn check(&self, input: &AttentionInput<'_>) -> Result<(), Error> {
        let AttentionInput {
            queries,
            n_queries,
            keys,
            n_keys,
            values,
            batch,
            mask,
        } = *input;
        let row = self.n_heads * self.width;
        let shape = "batch × rows × heads × width";
        check("queries", shape, queries.len(), batch * n_queries * row)?;
        check("keys", shape, keys.len(), batch * n_keys * row)?;
        check("values", shape, values.len(), batch * n_keys * row)?;
        match mask {
            Some(mask) => check("mask", "batch × keys", mask.len(), batch * n_keys),
            None => Ok(()),
        }
    }

    /// Describes one head of one sequence.
    fn head<'a>(&self, input: &AttentionInput<'a>, sequence: usize, head: usize) -> Head<'a> {
        let (stride, first) = (self.n_heads * self.width, head * self.width);
        let (n_queries, n_keys) = (input.n_queries, input.n_keys);
        let columns = |values: &'a [f32], n: usize| Columns {
            values: &values[sequence * n * stride..][..n * stride],
            stride,
            first,
        };
        Head {
            instructions: self.instructions,
            queries: columns(input.queries, n_queries),
            keys: columns(input.keys, n_keys),
            values: columns(input.values, n_keys),
            n_queries,
            n_keys,
            width: self.width,
            mask: input.mask.map(|mask| &mask[sequence * n_keys..][..n_keys]),
        }
    }

    /// Values that are kept for one head of one sequence.
    const fn kept_length(&self, input: &AttentionInput<'_>) -> usize {
        match self.form {
            AttentionForm::Plain => input.n_queries * score_stride(input.n_keys),
            AttentionForm::Tiled => 0,
        }
    }

    /// Writes the outputs, shaped as the queries.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ.
    pub fn forward(&mut self, input: AttentionInput<'_>, out: &mut [f32]) -> Result<(), Error> {
        self.check(&input)?;
        check("out", "as the queries", out.len(), input.queries.len())?;
        // The buffer leaves `self` for the pass, since threads borrow both.
        let length = self.kept_length(&input);
        let mut kept = std::mem::take(&mut self.kept);
        self.kept_values = input.batch * self.n_heads * length;
        grow(&mut kept, self.kept_values);
        // Heads make room themselves: how much depends on the longest row of keys alone.
        self.works.prepare(|_| ());
        let row = self.n_heads * self.width;
        let attend = |sequence: usize, out: &mut [f32], kept: &mut [f32]| {
            self.works.with(|work| {
                for head in 0..self.n_heads {
                    let to = ColumnsMut {
                        values: out,
                        stride: row,
                        first: head * self.width,
                    };
                    let kept = (length > 0).then(|| &mut kept[head * length..][..length]);
                    self.head(&input, sequence, head).forward(work, kept, to);
                }
            });
        };
        let outputs = out
            .par_chunks_mut((input.n_queries * row).max(1))
            .enumerate();
        // Without anything kept there would be nothing to divide among sequences.
        if length > 0 {
            let kept = kept[..self.kept_values].par_chunks_mut(length * self.n_heads);
            outputs
                .zip(kept)
                .for_each(|((i, out), kept)| attend(i, out, kept));
        } else {
            outputs.for_each(|(i, out)| attend(i, out, &mut []));
        }
        self.kept = kept;
        Ok(())
    }

    /// Writes the gradients; `input` is that of the last forward pass.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ, [`Error::Order`] where the plain form has not kept
    /// the probabilities of such an input.
    pub fn backward(
        &mut self,
        input: AttentionInput<'_>,
        d_out: &[f32],
        gradients: &mut AttentionGradients<'_>,
    ) -> Result<(), Error> {
        self.check(&input)?;
        check("d_out", "as the queries", d_out.len(), input.queries.len())?;
        gradients.check(&input)?;
        let length = self.kept_length(&input);
        // A pass of another shape left probabilities that mean something else.
        if self.kept_values != input.batch * self.n_heads * length {
            return Err(Error::Order {
                call: "backward",
                before: "forward",
            });
        }
        let (row, width) = (self.n_heads * self.width, self.width);
        self.works.prepare(|_| ());
        let (n_queries, n_keys) = ((input.n_queries * row).max(1), (input.n_keys * row).max(1));
        // Keys and values belong to a sequence as queries do: no thread meets another.
        let of_keys = gradients
            .keys
            .par_chunks_mut(n_keys)
            .zip(gradients.values.par_chunks_mut(n_keys));
        let parts = gradients.queries.par_chunks_mut(n_queries).zip(of_keys);
        parts
            .enumerate()
            .for_each(|(sequence, (d_queries, (d_keys, d_values)))| {
                self.works.with(|work| {
                    for head in 0..self.n_heads {
                        let first = head * width;
                        let values = &d_out[sequence * input.n_queries * row..];
                        let d_out = Columns {
                            values,
                            stride: row,
                            first,
                        };
                        let at = (sequence * self.n_heads + head) * length;
                        let kept = (length > 0).then(|| &self.kept[at..][..length]);
                        let to = [&mut *d_queries, &mut *d_keys, &mut *d_values];
                        let to = Targets::Apart(to.map(|values| ColumnsMut {
                            values,
                            stride: row,
                            first,
                        }));
                        self.head(&input, sequence, head)
                            .backward(work, kept, d_out, to);
                    }
                });
            });
        // Without queries or keys no product runs, and nobody would write the gradients.
        if input.n_queries == 0 || input.n_keys == 0 {
            gradients.queries.fill(0.0);
            gradients.keys.fill(0.0);
            gradients.values.fill(0.0);
        }
        Ok(())
    }
}
