//! Keeps what a pass over sequences leaves for the way back, and runs all layers of a step.

use super::attend::AttendTape;
use super::layer::{At, Layer, LayerGradients, LayerWeights};
use super::options::{Pass, RecurrentOptions, State, StateGradients};
use super::plan::Plan;
use crate::dropout::{Draw, Dropout};
use crate::error::{Error, check};
use crate::simd::{self, Kernel};
use crate::strips::{Strips, grow};
use crate::weight_gradient::{Scratches, Segment, WeightGradient};

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
    pub(super) strips: Strips,
    /// Gradient of the inputs of a layer, at the step that the way back has reached.
    pub(super) dx: Vec<f32>,
    /// Outputs as a decoder's projection sees them, where some are dropped.
    pub(super) dropped: Vec<f32>,
    /// Predictions of a decoder, then their gradients; gradients of inputs of an encoder.
    pub(super) wide: Vec<f32>,
    /// What attention leaves.
    pub(super) attend: AttendTape,
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
        options: &RecurrentOptions,
        initial: Option<State<'_>>,
        batch: usize,
    ) {
        let (n, steps) = (self.plan.n_rows(), self.plan.n_steps());
        let hidden = options.n_hidden;
        self.layers
            .resize_with(options.n_layers, LayerTape::default);
        grow(&mut self.dx, n * options.n_inputs.max(hidden));
        for (l, tape) in self.layers.iter_mut().enumerate() {
            grow(&mut tape.x, steps * n * options.layer_inputs(l));
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
        options: &RecurrentOptions,
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

/// All layers of a net, packed.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) options: RecurrentOptions,
    layers: Vec<Layer>,
    pub(super) scratches: Scratches,
}

/// Place of the dropout in front of a decoder's projection; places of layers are their numbers.
pub(super) const OUTPUT_PLACE: u64 = 1 << 32;

impl Stack {
    /// Begins without weights.
    pub(super) fn new(options: RecurrentOptions) -> Result<Self, Error> {
        options.validate()?;
        let layers = (0..options.n_layers)
            .map(|layer| Layer::new(&options, layer))
            .collect();
        Ok(Self {
            options,
            layers,
            scratches: Scratches::default(),
        })
    }

    /// Packs the weights of all layers.
    pub(super) fn pack(&mut self, weights: &[LayerWeights<'_>], pass: Pass) -> Result<(), Error> {
        check("weights", "layers", weights.len(), self.layers.len())?;
        for (l, weights) in weights.iter().enumerate() {
            weights.check(&self.options, l)?;
        }
        for (layer, &weights) in self.layers.iter_mut().zip(weights) {
            layer.pack(weights, pass);
        }
        Ok(())
    }

    /// Runs a step through all layers; the inputs of the first are on the tape.
    pub(super) fn step(&self, task: &mut Task, at: At, draw: Option<Draw>) {
        let n = self.options.n_hidden;
        for (l, layer) in self.layers.iter().enumerate() {
            layer.forward(&mut task.layers[l], at, &mut task.strips);
            if l + 1 == self.layers.len() {
                return;
            }
            let (below, above) = task.layers.split_at_mut(l + 1);
            let from = &below[l].h[at.next().rows(n)];
            let to = &mut above[0].x[at.rows(n)];
            match Dropout::new(draw, self.options.dropout, l as u64) {
                Some(dropout) => {
                    let number = |r| task.plan.number(at.t, r);
                    self.drop_rows(dropout, number, from, to, false);
                }
                None => to.copy_from_slice(from),
            }
        }
    }

    /// Goes a step back through all layers; the gradient of the last state is on the tape. Leaves
    /// that of the first layer's inputs in `dx` where it is asked for.
    pub(super) fn step_back(&self, task: &mut Task, at: At, draw: Option<Draw>, inputs: bool) {
        let n = self.options.n_hidden;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let wanted = l > 0 || inputs;
            let dx = if wanted { Some(&mut task.dx[..]) } else { None };
            layer.backward(&mut task.layers[l], at, &mut task.strips, dx);
            if l == 0 {
                return;
            }
            let from = &task.dx[..at.active * n];
            let to = &mut task.layers[l - 1].d_state[..at.active * n];
            match Dropout::new(draw, self.options.dropout, l as u64 - 1) {
                Some(dropout) => {
                    let number = |r| task.plan.number(at.t, r);
                    self.drop_rows(dropout, number, from, to, true);
                }
                None => add(to, from),
            }
        }
    }

    /// Multiplies rows by their masks; `number` gives each row's number.
    pub(super) fn drop_rows(
        &self,
        dropout: Dropout,
        number: impl Fn(usize) -> u64,
        from: &[f32],
        to: &mut [f32],
        adds: bool,
    ) {
        let n = self.options.n_hidden;
        let kernel = DropRows {
            dropout,
            number,
            n,
            from,
            to,
            adds,
        };
        simd::run(self.options.instructions, kernel);
    }

    /// Computes the gradients of all weights from the tapes of a whole way back.
    pub(super) fn weight_gradients(
        &mut self,
        tasks: &[Task],
        gradients: &mut [LayerGradients<'_>],
    ) {
        let (cell, n) = (self.options.cell, self.options.n_hidden);
        let width = cell.n_blocks() * n;
        for (l, gradients) in gradients.iter_mut().enumerate() {
            let k = self.options.layer_inputs(l);
            for &(block, gate, n_blocks) in cell.input_runs() {
                let rows = gate * n..(gate + n_blocks) * n;
                let segment = |task: usize| {
                    let tape = &tasks[task].layers[l];
                    let dy = tape.gates.get(block * n..).unwrap_or_default();
                    Segment {
                        dy,
                        dy_stride: width,
                        x: &tape.x,
                        x_stride: k,
                        rows: &tasks[task].plan.valid,
                    }
                };
                let weights = &mut gradients.input[rows.start * k..rows.end * k];
                let bias = Some(&mut gradients.input_bias[rows.clone()]);
                self.product(rows.len(), k, tasks.len()).compute(
                    &mut self.scratches,
                    segment,
                    weights,
                    bias,
                );
            }
            let segment = |task: usize| {
                let tape = &tasks[task].layers[l];
                let dy = tape
                    .gates
                    .get(cell.first_state_block() * n..)
                    .unwrap_or_default();
                Segment {
                    dy,
                    dy_stride: width,
                    x: &tape.h,
                    x_stride: n,
                    rows: &tasks[task].plan.valid,
                }
            };
            let product = self.product(cell.n_gates() * n, n, tasks.len());
            product.compute(
                &mut self.scratches,
                segment,
                gradients.recurrent,
                Some(gradients.recurrent_bias),
            );
        }
    }

    /// Prepares a weight gradient over the tasks.
    pub(super) const fn product(&self, n: usize, k: usize, n_segments: usize) -> WeightGradient {
        WeightGradient {
            instructions: self.options.instructions,
            precision: self.options.precision,
            n,
            k,
            n_segments,
        }
    }

    /// Copies the gradients of the states at the start out of the tapes.
    pub(super) fn initial_gradients(
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

/// Adds `from` to `to`.
pub(super) fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

struct DropRows<'a, F> {
    dropout: Dropout,
    number: F,
    n: usize,
    from: &'a [f32],
    to: &'a mut [f32],
    adds: bool,
}

impl<F: Fn(usize) -> u64> Kernel for DropRows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self
            .from
            .chunks_exact(self.n)
            .zip(self.to.chunks_exact_mut(self.n));
        for (r, (from, to)) in rows.enumerate() {
            let mask = self.dropout.row((self.number)(r));
            for (j, (from, to)) in from.iter().zip(to).enumerate() {
                let dropped = from * mask.factor(j);
                *to = if self.adds { *to + dropped } else { dropped };
            }
        }
    }
}
