//! Goes a decoder's last pass back.

use rayon::prelude::*;

use super::super::attend::{CrossGradients, Memory};
use super::super::options::PassKind;
use super::super::plan::{n_units, unit};
use super::super::stack::{OUTPUT_PLACE, add};
use super::{DecoderGradients, RecurrentDecoder, Shape};
use crate::dropout::Dropout;
use crate::error::{Error, check};
use crate::weight_gradient::Segment;

impl RecurrentDecoder {
    /// Goes back; `attention` is there where the pass attended.
    pub(super) fn go_back(
        &mut self,
        predictions: &[f32],
        gradients: &mut DecoderGradients<'_, '_>,
        attention: Option<(Memory<'_>, &mut CrossGradients<'_>)>,
    ) -> Result<(), Error> {
        let memory = attention.as_ref().map(|(memory, _)| *memory);
        if let Some((memory, gradients)) = &attention {
            let batch = self.last.map_or(0, |shape| shape.batch);
            memory.check(&self.stack.options, batch)?;
            gradients.check(self.stack.options.n_hidden, memory)?;
        }
        let shape = self.checked(predictions, gradients, memory)?;
        let k = self.stack.options.n_inputs;
        // Tasks are written while the weights beside them are read.
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks
            .par_iter_mut()
            .for_each(|task| self.run_back(task, shape, predictions, memory));
        self.tasks = tasks;
        self.stack.weight_gradients(&self.tasks, gradients.layers);
        self.projection_gradients(shape, memory.is_some(), gradients);
        self.stack
            .initial_gradients(&self.tasks, shape.batch, &mut gradients.initial);
        if let Some((memory, attention)) = attention {
            self.attention_gradients(memory, attention);
        }
        // Sequences share one first input: their gradients are added, task after task.
        gradients.start.fill(0.0);
        for task in &self.tasks {
            // The first step is the last on the way back, so its gradients are still there.
            let n_rows = task.plan.active.first().copied().unwrap_or(0);
            for dx in task.dx.chunks_exact(k).take(n_rows) {
                add(gradients.start, dx);
            }
        }
        Ok(())
    }

    /// Computes the gradients of the projection.
    fn projection_gradients(
        &mut self,
        shape: Shape,
        attended: bool,
        gradients: &mut DecoderGradients<'_, '_>,
    ) {
        let (n, k) = (self.stack.options.n_hidden, self.stack.options.n_inputs);
        let top = self.stack.options.n_layers - 1;
        let dropped = Dropout::new(shape.draw, self.stack.options.output_dropout, OUTPUT_PLACE);
        let segment = |number: usize| {
            let (task, rows) = unit(&self.tasks, number);
            // The projection read what it was given: with what was attended to, and after dropout.
            let after = if attended {
                &task.attend.merged
            } else {
                task.layers[top]
                    .h
                    .get(task.plan.n_rows() * n..)
                    .unwrap_or_default()
            };
            let x = if dropped.is_some() {
                &task.dropped
            } else {
                after
            };
            Segment {
                dy: &task.wide,
                dy_stride: k,
                x,
                x_stride: n,
                rows,
            }
        };
        let product = self.stack.product(k, n, n_units(&self.tasks));
        product.compute(
            &mut self.stack.scratches,
            segment,
            gradients.projection,
            Some(gradients.projection_bias),
        );
    }

    /// Computes the gradients of attention's weights, and copies those of the memory.
    fn attention_gradients(&mut self, memory: Memory<'_>, gradients: &mut CrossGradients<'_>) {
        let n = self.stack.options.n_hidden;
        let (top, own) = (self.stack.options.n_layers - 1, memory.n_keys * n);
        let product = self.stack.product(n, n, n_units(&self.tasks));
        let segment = |number: usize| {
            let (task, rows) = unit(&self.tasks, number);
            let dy = &task.attend.query;
            let x = task.layers[top]
                .h
                .get(task.plan.n_rows() * n..)
                .unwrap_or_default();
            Segment {
                dy,
                dy_stride: n,
                x,
                x_stride: n,
                rows,
            }
        };
        let scratches = &mut self.stack.scratches;
        product.compute(
            scratches,
            segment,
            gradients.query,
            Some(gradients.query_bias),
        );
        let segment = |number: usize| {
            let (task, rows) = unit(&self.tasks, number);
            let (dy, x) = (&task.attend.d_merged, &task.attend.context);
            Segment {
                dy,
                dy_stride: n,
                x,
                x_stride: n,
                rows,
            }
        };
        product.compute(scratches, segment, gradients.out, Some(gradients.out_bias));
        for task in &self.tasks {
            // Tasks hold sequences by length; the caller's order is the batch's.
            for (r, &row) in task.plan.rows.iter().enumerate() {
                let (from, to) = (r * own..(r + 1) * own, row * own..(row + 1) * own);
                gradients.keys[to.clone()].copy_from_slice(&task.attend.d_keys[from.clone()]);
                gradients.values[to].copy_from_slice(&task.attend.d_values[from]);
            }
        }
    }

    /// Checks the arguments of a way back, and notes that the tapes are used up.
    fn checked(
        &mut self,
        predictions: &[f32],
        gradients: &DecoderGradients<'_, '_>,
        memory: Option<Memory<'_>>,
    ) -> Result<Shape, Error> {
        let shape = self.ready(memory)?;
        let options = &self.stack.options;
        let (n, k) = (options.n_hidden, options.n_inputs);
        let length = shape.batch * shape.steps * k;
        check(
            "predictions",
            "batch × steps × inputs",
            predictions.len(),
            length,
        )?;
        check("layers", "layers", gradients.layers.len(), options.n_layers)?;
        for (l, layer) in gradients.layers.iter().enumerate() {
            layer.as_weights().check(options, l)?;
        }
        check(
            "projection",
            "inputs × hidden",
            gradients.projection.len(),
            k * n,
        )?;
        check(
            "projection_bias",
            "inputs",
            gradients.projection_bias.len(),
            k,
        )?;
        check("start", "inputs", gradients.start.len(), k)?;
        gradients.initial.as_state().check(options, shape.batch)?;
        // From here on nothing can fail, and the tapes will be used up.
        self.last = Some(Shape {
            whole: false,
            ..shape
        });
        Ok(shape)
    }

    /// Returns the shape of the last pass, where one can be gone back.
    fn ready(&self, memory: Option<Memory<'_>>) -> Result<Shape, Error> {
        let shape = self.last.filter(|shape| shape.whole);
        let shape = shape.ok_or(Error::Order {
            call: "backward",
            before: "forward",
        })?;
        if self.packed != Some(PassKind::Training) {
            return Err(Error::Order {
                call: "backward",
                before: "pack for training",
            });
        }
        // Another number of keys would read probabilities of other keys.
        if memory.map(|memory| memory.n_keys) != shape.n_keys {
            return Err(Error::Order {
                call: "backward",
                before: "forward with this memory",
            });
        }
        let packed = self
            .attend
            .as_ref()
            .is_none_or(|attend| attend.pass == PassKind::Training);
        if memory.is_some() && !packed {
            return Err(Error::Order {
                call: "backward",
                before: "pack_attention for training",
            });
        }
        Ok(shape)
    }
}
