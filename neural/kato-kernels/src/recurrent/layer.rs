//! Runs one recurrent layer a step forward or backward.

use super::cell::{Backward, Forward};
use super::options::{Cell, PassKind, RecurrentStackOptions};
use super::tape::LayerTape;
use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::panels::Panels;
use crate::rows::{RowPairs, Rows};
use crate::simd::{self, Begin};

/// Weights of a layer, in the layout and with the names' order of PyTorch.
#[derive(Clone, Copy, Debug)]
pub struct LayerWeights<'a> {
    /// Weights of inputs, `[gates · hidden, inputs]` (`weight_ih`).
    pub input: &'a [f32],
    /// Weights of hidden states, `[gates · hidden, hidden]` (`weight_hh`).
    pub recurrent: &'a [f32],
    /// Bias of inputs, `[gates · hidden]` (`bias_ih`).
    pub input_bias: &'a [f32],
    /// Bias of hidden states, `[gates · hidden]` (`bias_hh`).
    pub recurrent_bias: &'a [f32],
}

/// Where gradients of [`LayerWeights`] go; what was there is overwritten.
#[derive(Debug)]
pub struct LayerGradients<'a> {
    /// Of the weights of inputs.
    pub input: &'a mut [f32],
    /// Of the weights of hidden states.
    pub recurrent: &'a mut [f32],
    /// Of the bias of inputs.
    pub input_bias: &'a mut [f32],
    /// Of the bias of hidden states.
    pub recurrent_bias: &'a mut [f32],
}

impl LayerWeights<'_> {
    /// Checks the lengths for layer `layer`.
    pub(super) fn check(&self, options: &RecurrentStackOptions, layer: usize) -> Result<(), Error> {
        let rows = options.cell.n_gates() * options.n_hidden;
        let n = rows * options.layer_inputs(layer);
        check("input", "gates × hidden × inputs", self.input.len(), n)?;
        let n = rows * options.n_hidden;
        check(
            "recurrent",
            "gates × hidden × hidden",
            self.recurrent.len(),
            n,
        )?;
        check("input_bias", "gates × hidden", self.input_bias.len(), rows)?;
        check(
            "recurrent_bias",
            "gates × hidden",
            self.recurrent_bias.len(),
            rows,
        )
    }
}

impl LayerGradients<'_> {
    /// Returns the shapes as weights, to check them.
    pub(super) const fn as_weights(&self) -> LayerWeights<'_> {
        LayerWeights {
            input: self.input,
            recurrent: self.recurrent,
            input_bias: self.input_bias,
            recurrent_bias: self.recurrent_bias,
        }
    }
}

/// Place on a tape.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// Step.
    pub(super) t: usize,
    /// Rows from a step to the next.
    pub(super) n_rows: usize,
    /// Rows that have this step; or those of some steps that all rows have.
    pub(super) active: usize,
}

impl At {
    /// Returns where the rows of a step lie, at `width` values a row.
    pub(super) const fn rows(self, width: usize) -> std::ops::Range<usize> {
        let first = self.t * self.n_rows * width;
        first..first + self.active * width
    }

    /// Returns the rows one step later: states after step `t` are kept there.
    pub(super) const fn next(self) -> Self {
        Self {
            t: self.t + 1,
            ..self
        }
    }
}

/// Weights of a layer, packed.
#[derive(Debug)]
pub(super) struct Layer {
    instructions: Instructions,
    cell: Cell,
    n_inputs: usize,
    n_hidden: usize,
    input: Panels,
    recurrent: Panels,
    input_back: Panels,
    recurrent_back: Panels,
    /// Bias of every block of gates.
    bias: Vec<f32>,
}

impl Layer {
    /// Begins without weights.
    pub(super) fn new(options: &RecurrentStackOptions, layer: usize) -> Self {
        let panels = || Panels::new(options.instructions, options.precision);
        Self {
            instructions: options.instructions,
            cell: options.cell,
            n_inputs: options.layer_inputs(layer),
            n_hidden: options.n_hidden,
            input: panels(),
            recurrent: panels(),
            input_back: panels(),
            recurrent_back: panels(),
            bias: vec![0.0; options.cell.n_blocks() * options.n_hidden],
        }
    }

    /// Packs the weights.
    pub(super) fn pack(&mut self, weights: LayerWeights<'_>, pass: PassKind) {
        let (cell, n, k) = (self.cell, self.n_hidden, self.n_inputs);
        let rows = cell.n_gates() * n;
        // A GRU's new gate comes first on the tape, so that blocks of states lie together.
        let input_row = |row: usize| cell.input_gate(row / n) * n + row % n;
        self.input.pack_rows(weights.input, rows, k, input_row);
        self.recurrent
            .pack_rows(weights.recurrent, rows, n, |row| row);
        if pass == PassKind::Training {
            self.input_back
                .pack_columns(weights.input, rows, k, input_row);
            self.recurrent_back
                .pack_columns(weights.recurrent, rows, n, |row| row);
        }
        self.bias.fill(0.0);
        // Both biases are added here once, instead of at every step.
        for (row, bias) in self.bias[..rows].iter_mut().enumerate() {
            *bias = weights.input_bias[input_row(row)];
        }
        for (sum, bias) in self.bias[cell.first_state_block() * n..]
            .iter_mut()
            .zip(weights.recurrent_bias)
        {
            *sum += bias;
        }
    }

    /// Values of a row of gates on the tape.
    fn width(&self) -> usize {
        self.cell.n_blocks() * self.n_hidden
    }

    /// Begins gates with bias and inputs, of any rows of the tape that lie together.
    pub(super) fn read(&self, tape: &mut LayerTape, at: At, pairs: &mut RowPairs) {
        let (k, width) = (self.n_inputs, self.width());
        let gates = &mut tape.gates[at.rows(width)];
        let inputs = Rows {
            values: &tape.x[at.rows(k)],
            stride: k,
            n_rows: at.active,
        };
        self.input
            .multiply(inputs, pairs, gates, width, Begin::Bias(&self.bias));
    }

    /// Computes one step from such gates and the states on the tape.
    pub(super) fn forward(&self, tape: &mut LayerTape, at: At, pairs: &mut RowPairs) {
        let (n, width) = (self.n_hidden, self.width());
        let gates = &mut tape.gates[at.rows(width)];
        let states = self.cell.first_state_block() * n;
        let only_states = self.cell.n_gates() * n;
        // A GRU's last block has no inputs: it begins with its bias alone.
        if only_states < width {
            for row in gates.chunks_exact_mut(width) {
                row[only_states..].copy_from_slice(&self.bias[only_states..]);
            }
        }
        let before = Rows {
            values: &tape.h[at.rows(n)],
            stride: n,
            n_rows: at.active,
        };
        self.recurrent
            .multiply(before, pairs, &mut gates[states..], width, Begin::Add);
        // States after a step lie behind those before it on one tape.
        let boundary = at.next().rows(n).start;
        let (before, after) = tape.h.split_at_mut(boundary);
        let has_cell = self.cell.has_cell_state();
        let (cell_before, cell_after) = tape.c.split_at_mut(if has_cell { boundary } else { 0 });
        let used = at.active * n;
        let kernel = Forward {
            cell: self.cell,
            n_hidden: n,
            gates,
            before: &before[at.rows(n)],
            after: &mut after[..used],
            // Cells without such a state have an empty tape, which has no such rows.
            cell_before: if has_cell {
                &cell_before[at.rows(n)]
            } else {
                &[]
            },
            cell_after: if has_cell {
                &mut cell_after[..used]
            } else {
                &mut []
            },
        };
        simd::run(self.instructions, kernel);
    }

    /// Goes one step back: turns gates into their gradients, and the gradient of the state after
    /// the step into that of the one before.
    pub(super) fn backward(&self, tape: &mut LayerTape, at: At, pairs: &mut RowPairs) {
        let (n, width) = (self.n_hidden, self.width());
        let has_cell = self.cell.has_cell_state();
        let used = at.active * n;
        let gates = &mut tape.gates[at.rows(width)];
        let kernel = Backward {
            cell: self.cell,
            n_hidden: n,
            gates,
            before: &tape.h[at.rows(n)],
            after: &tape.h[at.next().rows(n)],
            cell_before: if has_cell { &tape.c[at.rows(n)] } else { &[] },
            cell_after: if has_cell {
                &tape.c[at.next().rows(n)]
            } else {
                &[]
            },
            d_state: &mut tape.d_state[..used],
            d_cell: if has_cell {
                &mut tape.d_cell[..used]
            } else {
                &mut []
            },
        };
        simd::run(self.instructions, kernel);
        // A GRU's state also reaches the next one past the gates.
        let begin = if self.cell == Cell::Gru {
            Begin::Add
        } else {
            Begin::Zero
        };
        let d_gates = &gates[self.cell.first_state_block() * n..];
        let d_gates = Rows {
            values: d_gates,
            stride: width,
            n_rows: at.active,
        };
        self.recurrent_back
            .multiply(d_gates, pairs, &mut tape.d_state, n, begin);
    }

    /// Writes the gradients of inputs from those of gates, of any rows of the tape that lie
    /// together.
    pub(super) fn read_back(
        &self,
        tape: &LayerTape,
        at: At,
        pairs: &mut RowPairs,
        out: &mut [f32],
    ) {
        let width = self.width();
        let d_gates = &tape.gates[at.rows(width)];
        let d_gates = Rows {
            values: d_gates,
            stride: width,
            n_rows: at.active,
        };
        self.input_back
            .multiply(d_gates, pairs, out, self.n_inputs, Begin::Zero);
    }
}
