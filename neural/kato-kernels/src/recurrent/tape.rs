//! Keeps what a pass over sequences leaves for the way back.

use super::attend::AttendTape;
use super::layer::At;
use super::options::{RecurrentStackOptions, State};
use super::plan::Plan;
use crate::rows::{RowPairs, grow};

/// What one layer leaves: a step after another, each with a row for every sequence of the task.
#[derive(Debug, Default)]
pub(super) struct LayerTape {
    /// Inputs.
    pub(super) x: Vec<f32>,
    /// Hidden states, the first one before the first step.
    pub(super) h: Vec<f32>,
    /// Cell states likewise, for cells that have them.
    pub(super) c: Vec<f32>,
    /// Activated gates; on the way back their gradients.
    pub(super) gates: Vec<f32>,
    /// Gradient of the hidden state, of the step that the way back has reached.
    pub(super) d_state: Vec<f32>,
    /// Gradient of the cell state likewise.
    pub(super) d_cell: Vec<f32>,
}

/// Some sequences of a batch: they run through all steps without meeting others.
#[derive(Debug, Default)]
pub(super) struct Task {
    pub(super) plan: Plan,
    pub(super) layers: Vec<LayerTape>,
    pub(super) pairs: RowPairs,
    /// Gradient of the inputs of a layer, at the step that the way back has reached.
    pub(super) dx: Vec<f32>,
    /// Outputs as a decoder's projection sees them, where some are dropped.
    pub(super) dropped: Vec<f32>,
    /// Predictions of a decoder, then their gradients; gradients of inputs of an encoder.
    pub(super) wide: Vec<f32>,
    /// Gradients between two layers, or of the last one's outputs, at every step.
    pub(super) between: Vec<f32>,
    /// What attention leaves.
    pub(super) attend: AttendTape,
}

impl AsRef<Plan> for Task {
    fn as_ref(&self) -> &Plan {
        &self.plan
    }
}

impl AsMut<Plan> for Task {
    fn as_mut(&mut self) -> &mut Plan {
        &mut self.plan
    }
}

impl Task {
    /// Returns the place of step `t`.
    pub(super) fn at(&self, t: usize) -> At {
        At {
            t,
            n_rows: self.plan.n_rows(),
            active: self.plan.active[t],
        }
    }

    /// Makes room for the plan, and puts the states at the start where they belong.
    pub(super) fn begin(
        &mut self,
        options: &RecurrentStackOptions,
        initial: Option<State<'_>>,
        batch: usize,
    ) {
        let (n, steps) = (self.plan.n_rows(), self.plan.n_steps());
        let hidden = options.n_hidden;
        self.layers
            .resize_with(options.n_layers, LayerTape::default);
        // Gradients of inputs of any layer pass through it, one layer at a time.
        grow(&mut self.dx, n * options.n_inputs.max(hidden));
        for (l, tape) in self.layers.iter_mut().enumerate() {
            grow(&mut tape.x, steps * n * options.layer_inputs(l));
            // One more: the states at the start come first.
            grow(&mut tape.h, (steps + 1) * n * hidden);
            grow(
                &mut tape.gates,
                steps * n * options.cell.n_blocks() * hidden,
            );
            if options.cell.has_cell_state() {
                grow(&mut tape.c, (steps + 1) * n * hidden);
            }
            for (r, &row) in self.plan.rows.iter().enumerate() {
                let (to, from) = (r * hidden, (l * batch + row) * hidden);
                let put = |states: &mut [f32], given: Option<&[f32]>| {
                    let state = &mut states[to..][..hidden];
                    match given {
                        Some(given) => state.copy_from_slice(&given[from..][..hidden]),
                        // The buffer may hold the states of another batch.
                        None => state.fill(0.0),
                    }
                };
                put(&mut tape.h, initial.map(|state| state.hidden));
                if options.cell.has_cell_state() {
                    put(&mut tape.c, initial.map(|state| state.cell));
                }
            }
        }
    }

    /// Begins the way back with gradients of the last states; none are zero.
    pub(super) fn begin_back(
        &mut self,
        options: &RecurrentStackOptions,
        hidden: Option<&[f32]>,
        cell: Option<&[f32]>,
        batch: usize,
    ) {
        let n = options.n_hidden;
        for (l, tape) in self.layers.iter_mut().enumerate() {
            grow(&mut tape.d_state, self.plan.n_rows() * n);
            if options.cell.has_cell_state() {
                grow(&mut tape.d_cell, self.plan.n_rows() * n);
            }
            for (r, &row) in self.plan.rows.iter().enumerate() {
                let put = |to: &mut [f32], given: Option<&[f32]>| match given {
                    Some(given) => to.copy_from_slice(&given[(l * batch + row) * n..][..n]),
                    // The same buffers served the way back before.
                    None => to.fill(0.0),
                };
                put(&mut tape.d_state[r * n..][..n], hidden);
                if options.cell.has_cell_state() {
                    put(&mut tape.d_cell[r * n..][..n], cell);
                }
            }
        }
    }
}
