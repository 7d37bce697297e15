//! Lets a decoder attend to an encoder's outputs, whose keys and values are projected once.

mod look;

use super::layer::At;
use super::options::{PassKind, RecurrentStackOptions};
use super::plan::Plan;
use crate::error::{Error, check};
use crate::panels::Panels;
use crate::rows::{RowPairs, Rows, grow};
use crate::simd::{self, Begin};
use look::{Look, LookBack, Part};

/// Weights by which a decoder attends: its output becomes `h + out(attention(query(h)))`.
#[derive(Clone, Copy, Debug)]
pub struct CrossAttentionWeights<'a> {
    /// Heads; their number divides that of hidden units.
    pub n_heads: usize,
    /// Weights of queries, `[hidden, hidden]`.
    pub query: &'a [f32],
    /// Their bias, `[hidden]`.
    pub query_bias: &'a [f32],
    /// Weights of the projection of what was attended to, `[hidden, hidden]`.
    pub out: &'a [f32],
    /// Their bias, `[hidden]`.
    pub out_bias: &'a [f32],
}

/// What a decoder attends to, projected before by two [`Linear`](crate::Linear) layers, say.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    /// Keys, `[batch, n_keys, hidden]`.
    pub keys: &'a [f32],
    /// Values, shaped likewise.
    pub values: &'a [f32],
    /// Keys of a sequence.
    pub n_keys: usize,
    /// Keys that count, `[batch, n_keys]`; all where there is none. Where no key of a sequence
    /// counts, nothing is attended to.
    pub mask: Option<&'a [bool]>,
}

/// Where gradients of attention go; what was there is overwritten.
#[derive(Debug)]
pub struct CrossGradients<'a> {
    /// Of the weights of queries.
    pub query: &'a mut [f32],
    /// Of their bias.
    pub query_bias: &'a mut [f32],
    /// Of the weights of the projection.
    pub out: &'a mut [f32],
    /// Of their bias.
    pub out_bias: &'a mut [f32],
    /// Of the keys, `[batch, n_keys, hidden]`.
    pub keys: &'a mut [f32],
    /// Of the values, shaped likewise.
    pub values: &'a mut [f32],
}

impl Memory<'_> {
    pub(super) fn check(&self, options: &RecurrentStackOptions, batch: usize) -> Result<(), Error> {
        let n = batch * self.n_keys * options.n_hidden;
        check("keys", "batch × keys × hidden", self.keys.len(), n)?;
        check("values", "batch × keys × hidden", self.values.len(), n)?;
        let n = batch * self.n_keys;
        self.mask
            .map_or(Ok(()), |mask| check("mask", "batch × keys", mask.len(), n))
    }
}

impl CrossGradients<'_> {
    pub(super) fn check(&self, n: usize, memory: &Memory<'_>) -> Result<(), Error> {
        check("query", "hidden × hidden", self.query.len(), n * n)?;
        check("query_bias", "hidden", self.query_bias.len(), n)?;
        check("out", "hidden × hidden", self.out.len(), n * n)?;
        check("out_bias", "hidden", self.out_bias.len(), n)?;
        check(
            "keys",
            "batch × keys × hidden",
            self.keys.len(),
            memory.keys.len(),
        )?;
        check(
            "values",
            "batch × keys × hidden",
            self.values.len(),
            memory.values.len(),
        )
    }
}

/// What attention leaves for the way back, a step after another.
#[derive(Debug, Default)]
pub(super) struct AttendTape {
    /// Queries; on the way back their gradients.
    pub(super) query: Vec<f32>,
    probabilities: Vec<f32>,
    /// What was attended to.
    pub(super) context: Vec<f32>,
    /// Outputs with what was attended to.
    pub(super) merged: Vec<f32>,
    /// Gradients of these.
    pub(super) d_merged: Vec<f32>,
    d_context: Vec<f32>,
    d_scores: Vec<f32>,
    /// Gradients of the keys and values of the task's sequences.
    pub(super) d_keys: Vec<f32>,
    pub(super) d_values: Vec<f32>,
}

impl AttendTape {
    /// Makes room for `length` rows of `n` values.
    pub(super) fn begin(&mut self, length: usize, n: usize, n_scores: usize) {
        for buffer in [&mut self.query, &mut self.context, &mut self.merged] {
            grow(buffer, length * n);
        }
        grow(&mut self.probabilities, length * n_scores);
    }

    /// Begins the way back.
    pub(super) fn begin_back(&mut self, plan: &Plan, n: usize, n_keys: usize) {
        grow(&mut self.d_merged, plan.n_steps() * plan.n_rows() * n);
        grow(&mut self.d_context, plan.n_rows() * n);
        grow(&mut self.d_scores, n_keys);
        for sums in [&mut self.d_keys, &mut self.d_values] {
            sums.clear();
            // Steps add to these, so they begin with zeros each time.
            sums.resize(plan.n_rows() * n_keys * n, 0.0);
        }
    }
}

/// Weights of attention, packed.
#[derive(Debug)]
pub(super) struct Attend {
    options: RecurrentStackOptions,
    pub(super) n_heads: usize,
    query: [Panels; 2],
    out: [Panels; 2],
    biases: [Vec<f32>; 2],
    pub(super) pass: PassKind,
}

impl Attend {
    /// Packs the weights into `packed`, whose buffers serve again; weights that do not fit leave it as it is.
    pub(super) fn pack(
        packed: &mut Option<Self>,
        options: &RecurrentStackOptions,
        weights: &CrossAttentionWeights<'_>,
        pass: PassKind,
    ) -> Result<(), Error> {
        let n = options.n_hidden;
        if weights.n_heads == 0 || !n.is_multiple_of(weights.n_heads) {
            let reason = "at least 1, and a divisor of the number of hidden units";
            return Err(Error::Option {
                option: "n_heads",
                reason,
            });
        }
        check("query", "hidden × hidden", weights.query.len(), n * n)?;
        check("query_bias", "hidden", weights.query_bias.len(), n)?;
        check("out", "hidden × hidden", weights.out.len(), n * n)?;
        check("out_bias", "hidden", weights.out_bias.len(), n)?;
        let panels = || [0; 2].map(|_| Panels::new(options.instructions, options.precision));
        // Buffers of the packing before are used again: this runs once a step.
        let packed = packed.get_or_insert_with(|| Self {
            options: *options,
            n_heads: 0,
            query: panels(),
            out: panels(),
            biases: [Vec::new(), Vec::new()],
            pass,
        });
        (packed.n_heads, packed.pass) = (weights.n_heads, pass);
        let both = [
            (&mut packed.query, weights.query),
            (&mut packed.out, weights.out),
        ];
        for ([forward, back], weights) in both {
            forward.pack_rows(weights, n, n, |row| row);
            if pass == PassKind::Training {
                back.pack_columns(weights, n, n, |row| row);
            }
        }
        for (to, from) in packed
            .biases
            .iter_mut()
            .zip([weights.query_bias, weights.out_bias])
        {
            to.clear();
            to.extend_from_slice(from);
        }
        Ok(())
    }

    /// Computes one step from the outputs `h`; the result is in `merged`.
    pub(super) fn forward(
        &self,
        tape: &mut AttendTape,
        (plan, at): (&Plan, At),
        h: &[f32],
        memory: &Memory<'_>,
        pairs: &mut RowPairs,
    ) {
        let n = self.options.n_hidden;
        let rows = |values| Rows {
            values,
            stride: n,
            n_rows: at.active,
        };
        let query = &mut tape.query[at.rows(n)];
        self.query[0].multiply(rows(h), pairs, query, n, Begin::Bias(&self.biases[0]));
        let n_scores = self.n_heads * memory.n_keys;
        // Every sequence has a memory of its own, so queries do not share products.
        for r in 0..at.active {
            let row = at.t * at.n_rows + r;
            let kernel = Look {
                instructions: self.options.instructions,
                n_heads: self.n_heads,
                memory: Part::of(memory, plan.rows[r], n),
                query: &tape.query[row * n..][..n],
                probabilities: &mut tape.probabilities[row * n_scores..][..n_scores],
                context: &mut tape.context[row * n..][..n],
            };
            simd::run(self.options.instructions, kernel);
        }
        let merged = &mut tape.merged[at.rows(n)];
        let context = rows(&tape.context[at.rows(n)]);
        self.out[0].multiply(context, pairs, merged, n, Begin::Bias(&self.biases[1]));
        for (merged, h) in merged.iter_mut().zip(h) {
            // What was attended to is added to the output, so that it can be nothing.
            *merged += h;
        }
    }

    /// Goes one step back from `d_merged`, and adds the gradient of the outputs to `d_state`.
    pub(super) fn backward(
        &self,
        tape: &mut AttendTape,
        (plan, at): (&Plan, At),
        memory: &Memory<'_>,
        pairs: &mut RowPairs,
        d_state: &mut [f32],
    ) {
        let n = self.options.n_hidden;
        let rows = |values| Rows {
            values,
            stride: n,
            n_rows: at.active,
        };
        let d_merged = &tape.d_merged[at.rows(n)];
        for (d_state, d_merged) in d_state.iter_mut().zip(d_merged) {
            // The residual's gradient, past attention.
            *d_state += d_merged;
        }
        self.out[1].multiply(rows(d_merged), pairs, &mut tape.d_context, n, Begin::Zero);
        let (n_scores, own) = (self.n_heads * memory.n_keys, memory.n_keys * n);
        for r in 0..at.active {
            let row = at.t * at.n_rows + r;
            let kernel = LookBack {
                instructions: self.options.instructions,
                n_heads: self.n_heads,
                memory: Part::of(memory, plan.rows[r], n),
                query: &mut tape.query[row * n..][..n],
                probabilities: &tape.probabilities[row * n_scores..][..n_scores],
                d_context: &tape.d_context[r * n..][..n],
                d_scores: &mut tape.d_scores,
                d_keys: &mut tape.d_keys[r * own..][..own],
                d_values: &mut tape.d_values[r * own..][..own],
            };
            simd::run(self.options.instructions, kernel);
        }
        let d_query = rows(&tape.query[at.rows(n)]);
        self.query[1].multiply(d_query, pairs, d_state, n, Begin::Add);
    }
}
