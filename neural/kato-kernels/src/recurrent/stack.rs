//! Runs all layers of a recurrent net over some steps, a layer at a time.

mod gradients;

use std::ops::Range;

use super::layer::{At, Layer, LayerWeights};
use super::options::{PassKind, RecurrentStackOptions};
use super::tape::Task;
use crate::dropout::{Draw, Dropout};
use crate::error::{Error, check};
use crate::simd::{self, Kernel};
use crate::weight_gradient::Scratches;

/// All layers of a net, packed.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) options: RecurrentStackOptions,
    layers: Vec<Layer>,
    pub(super) scratches: Scratches,
}

/// Place of the dropout in front of a decoder's projection; places of layers are their numbers.
pub(super) const OUTPUT_PLACE: u64 = Draw::OUTPUT;

impl Stack {
    /// Begins without weights.
    pub(super) fn new(options: RecurrentStackOptions) -> Result<Self, Error> {
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
    pub(super) fn pack(
        &mut self,
        weights: &[LayerWeights<'_>],
        pass: PassKind,
    ) -> Result<(), Error> {
        check("weights", "layers", weights.len(), self.layers.len())?;
        for (l, weights) in weights.iter().enumerate() {
            weights.check(&self.options, l)?;
        }
        for (layer, &weights) in self.layers.iter_mut().zip(weights) {
            layer.pack(weights, pass);
        }
        Ok(())
    }

    /// Runs some steps, whose inputs are on the tape, through one layer after another: weights of one layer stay nearer
    /// than those of all, and those of inputs are read once for many steps.
    pub(super) fn steps(&self, task: &mut Task, steps: Range<usize>, draw: Option<Draw>) {
        for (l, layer) in self.layers.iter().enumerate() {
            for run in task.plan.runs(steps.clone()) {
                layer.read(&mut task.layers[l], run, &mut task.pairs);
            }
            for t in steps.clone() {
                let at = task.at(t);
                layer.forward(&mut task.layers[l], at, &mut task.pairs);
                self.hand_up(task, l, at, draw);
            }
        }
    }

    /// Makes the outputs of a layer the inputs of the next one, if there is one.
    fn hand_up(&self, task: &mut Task, l: usize, at: At, draw: Option<Draw>) {
        let n = self.options.n_hidden;
        // The last layer hands up nothing.
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
            // A copy: the states stay where the next step reads them.
            None => to.copy_from_slice(from),
        }
    }

    /// Goes some steps back through one layer after another; the gradients of the states after them are on the tape. With
    /// `outputs`, `between` has gradients of the last layer's outputs. Leaves those of the first layer's inputs in `wide`
    /// where they are asked for.
    pub(super) fn steps_back(
        &self,
        task: &mut Task,
        steps: Range<usize>,
        draw: Option<Draw>,
        (inputs, outputs): (bool, bool),
    ) {
        let n = self.options.n_hidden;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            for t in steps.clone().rev() {
                let at = task.at(t);
                let d_state = &mut task.layers[l].d_state[..at.active * n];
                let from = &task.between[at.rows(n)];
                // Only the last layer's outputs have gradients from outside.
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
            for run in task.plan.runs(steps.clone()) {
                layer.read_back(&task.layers[l], run, &mut task.pairs, &mut out[run.rows(k)]);
            }
        }
    }

    /// Leaves the gradients of a step's inputs in `dx`.
    pub(super) fn inputs_back(&self, task: &mut Task, at: At) {
        self.layers[0].read_back(&task.layers[0], at, &mut task.pairs, &mut task.dx);
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
