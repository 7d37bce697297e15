//! Runs all layers of a recurrent net, a step at a time or a layer at a time.

use super::layer::{At, Layer, LayerGradients, LayerWeights};
use super::options::{Pass, RecurrentOptions, StateGradients};
use super::tape::Task;
use crate::dropout::{Draw, Dropout};
use crate::error::{Error, check};
use crate::simd::{self, Kernel};
use crate::weight_gradient::{Scratches, Segment, WeightGradient};

/// All layers of a net, packed.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) options: RecurrentOptions,
    layers: Vec<Layer>,
    pub(super) scratches: Scratches,
}

/// Place of the dropout in front of a decoder's projection; places of layers are their numbers.
pub(super) const OUTPUT_PLACE: u64 = Draw::OUTPUT;

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
        for (l, layer) in self.layers.iter().enumerate() {
            layer.read(&mut task.layers[l], at, &mut task.pairs);
            layer.forward(&mut task.layers[l], at, &mut task.pairs);
            self.hand_up(task, l, at, draw);
        }
    }

    /// Runs all steps through one layer after another: weights of one layer stay nearer than those
    /// of all, and those of inputs are read once for many steps.
    pub(super) fn all_steps(&self, task: &mut Task, draw: Option<Draw>) {
        for (l, layer) in self.layers.iter().enumerate() {
            for run in task.plan.runs() {
                layer.read(&mut task.layers[l], run, &mut task.pairs);
            }
            for t in 0..task.plan.n_steps() {
                let at = task.at(t);
                layer.forward(&mut task.layers[l], at, &mut task.pairs);
                self.hand_up(task, l, at, draw);
            }
        }
    }

    /// Makes the outputs of a layer the inputs of the next one, if there is one.
    fn hand_up(&self, task: &mut Task, l: usize, at: At, draw: Option<Draw>) {
        let n = self.options.n_hidden;
        let (below, above) = task.layers.split_at_mut(l + 1);
        let Some(above) = above.first_mut() else {
            return;
        };
        let from = &below[l].h[at.next().rows(n)];
        let to = &mut above.x[at.rows(n)];
        match Dropout::new(draw, self.options.dropout, l as u64) {
            Some(dropout) => {
                let number = |r| task.plan.number(at.t, r);
                self.drop_rows(dropout, number, from, to, false);
            }
            None => to.copy_from_slice(from),
        }
    }

    /// Goes a step back through all layers; the gradient of the last state is on the tape. Leaves
    /// that of the first layer's inputs in `dx` where it is asked for.
    pub(super) fn step_back(&self, task: &mut Task, at: At, draw: Option<Draw>, inputs: bool) {
        let n = self.options.n_hidden;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            layer.backward(&mut task.layers[l], at, &mut task.pairs);
            if l > 0 || inputs {
                layer.read_back(&task.layers[l], at, &mut task.pairs, &mut task.dx);
            }
            if l > 0 {
                let to = &mut task.layers[l - 1].d_state[..at.active * n];
                let number = |r| task.plan.number(at.t, r);
                self.hand_down(l, number, &task.dx[..at.active * n], to, draw);
            }
        }
    }

    /// Goes all steps back through one layer after another. With `outputs`, `between` has gradients
    /// of the last layer's outputs. Leaves those of the first layer's inputs in `wide` where they
    /// are asked for.
    pub(super) fn all_steps_back(
        &self,
        task: &mut Task,
        draw: Option<Draw>,
        inputs: bool,
        outputs: bool,
    ) {
        let n = self.options.n_hidden;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            for t in (0..task.plan.n_steps()).rev() {
                let at = task.at(t);
                let d_state = &mut task.layers[l].d_state[..at.active * n];
                let from = &task.between[at.rows(n)];
                if l + 1 < self.layers.len() {
                    let number = |r| task.plan.number(at.t, r);
                    self.hand_down(l + 1, number, from, d_state, draw);
                } else if outputs {
                    add(d_state, from);
                }
                layer.backward(&mut task.layers[l], at, &mut task.pairs);
            }
            // The layer above has been through, so what it read may be overwritten.
            let (out, k) = match l {
                0 if inputs => (&mut task.wide, self.options.n_inputs),
                0 => return,
                _ => (&mut task.between, n),
            };
            for run in task.plan.runs() {
                layer.read_back(&task.layers[l], run, &mut task.pairs, &mut out[run.rows(k)]);
            }
        }
    }

    /// Leaves the gradients of the first step's inputs in `dx`.
    pub(super) fn first_inputs_back(&self, task: &mut Task) {
        if task.plan.n_steps() > 0 {
            let at = task.at(0);
            self.layers[0].read_back(&task.layers[0], at, &mut task.pairs, &mut task.dx);
        }
    }

    /// Adds the gradient of a layer's inputs to that of the state below.
    fn hand_down(
        &self,
        l: usize,
        number: impl Fn(usize) -> u64,
        from: &[f32],
        to: &mut [f32],
        draw: Option<Draw>,
    ) {
        match Dropout::new(draw, self.options.dropout, l as u64 - 1) {
            Some(dropout) => self.drop_rows(dropout, number, from, to, true),
            None => add(to, from),
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
