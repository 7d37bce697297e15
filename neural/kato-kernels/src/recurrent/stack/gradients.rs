//! Computes gradients of weights and states from the tapes of a whole way back.

use super::super::layer::LayerGradients;
use super::super::options::StateGradients;
use super::super::plan::{n_units, unit};
use super::super::tape::Task;
use super::Stack;
use crate::weight_gradient::{Segment, WeightGradient};

impl Stack {
    /// Computes the gradients of all weights from the tapes of a whole way back.
    pub(in super::super) fn weight_gradients(
        &mut self,
        tasks: &[Task],
        gradients: &mut [LayerGradients<'_>],
    ) {
        let (cell, n) = (self.options.cell, self.options.n_hidden);
        let width = cell.n_blocks() * n;
        for (l, gradients) in gradients.iter_mut().enumerate() {
            let k = self.options.layer_inputs(l);
            // Blocks that lie together on tape and in the weights are one product.
            for &(block, gate, n_blocks) in cell.input_runs() {
                let outputs = gate * n..(gate + n_blocks) * n;
                let segment = |number: usize| {
                    let (task, rows) = unit(tasks, number);
                    let tape = &task.layers[l];
                    // A task without steps has an empty tape.
                    let dy = tape.gates.get(block * n..).unwrap_or_default();
                    Segment {
                        dy,
                        dy_stride: width,
                        x: &tape.x,
                        x_stride: k,
                        rows,
                    }
                };
                let weights = &mut gradients.input[outputs.start * k..outputs.end * k];
                let bias = Some(&mut gradients.input_bias[outputs.clone()]);
                self.product(outputs.len(), k, n_units(tasks)).compute(
                    &mut self.scratches,
                    segment,
                    weights,
                    bias,
                );
            }
            let segment = |number: usize| {
                let (task, rows) = unit(tasks, number);
                let tape = &task.layers[l];
                let dy = tape
                    .gates
                    .get(cell.first_state_block() * n..)
                    .unwrap_or_default();
                Segment {
                    dy,
                    dy_stride: width,
                    // States before a step lie at the step's own rows: the tape begins with those
                    // at the start.
                    x: &tape.h,
                    x_stride: n,
                    rows,
                }
            };
            let product = self.product(cell.n_gates() * n, n, n_units(tasks));
            product.compute(
                &mut self.scratches,
                segment,
                gradients.recurrent,
                Some(gradients.recurrent_bias),
            );
        }
    }

    /// Prepares a weight gradient over units.
    pub(in super::super) const fn product(
        &self,
        n: usize,
        k: usize,
        n_segments: usize,
    ) -> WeightGradient {
        WeightGradient {
            instructions: self.options.instructions,
            precision: self.options.precision,
            n,
            k,
            n_segments,
        }
    }

    /// Copies the gradients of the states at the start out of the tapes.
    pub(in super::super) fn initial_gradients(
        &self,
        tasks: &[Task],
        batch: usize,
        out: &mut StateGradients<'_>,
    ) {
        let n = self.options.n_hidden;
        for task in tasks {
            for (l, tape) in task.layers.iter().enumerate() {
                for (r, &row) in task.plan.rows.iter().enumerate() {
                    let to = (l * batch + row) * n..(l * batch + row + 1) * n;
                    out.hidden[to.clone()].copy_from_slice(&tape.d_state[r * n..][..n]);
                    if self.options.cell.has_cell_state() {
                        out.cell[to].copy_from_slice(&tape.d_cell[r * n..][..n]);
                    }
                }
            }
        }
    }
}
