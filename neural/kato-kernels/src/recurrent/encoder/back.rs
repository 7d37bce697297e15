//! Goes an encoder's last pass back.

use rayon::prelude::*;

use super::super::options::PassKind;
use super::{EncoderGradients, EncoderUpstream, RecurrentEncoder, Shape};
use crate::error::{Error, check};
use crate::rows::grow;

impl RecurrentEncoder {
    /// Goes the last pass back. It uses up what the pass left: the next way back needs a pass of
    /// its own.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a gradient has another shape, [`Error::Order`] without a pass
    /// before it, or where weights were packed for inference.
    pub fn backward(
        &mut self,
        upstream: EncoderUpstream<'_>,
        gradients: &mut EncoderGradients<'_, '_>,
    ) -> Result<(), Error> {
        let Shape {
            batch, steps, draw, ..
        } = self.checked(&upstream, gradients)?;
        let stack = &self.stack;
        let (n, k) = (stack.options.n_hidden, stack.options.n_inputs);
        let wants_inputs = gradients.inputs.is_some();
        self.tasks.par_iter_mut().for_each(|task| {
            task.begin_back(&stack.options, upstream.hidden, upstream.cell, batch);
            let length = task.plan.n_steps() * task.plan.n_rows();
            // Gradients of outputs come in the batch's order and leave in that of the tape.
            grow(&mut task.between, length * n);
            if wants_inputs {
                grow(&mut task.wide, length * k);
            }
            if let Some(outputs) = upstream.outputs {
                for t in 0..task.plan.n_steps() {
                    let rows = task.at(t).rows(n);
                    let rows = task.between[rows].chunks_exact_mut(n).zip(&task.plan.rows);
                    for (to, &row) in rows {
                        to.copy_from_slice(&outputs[(row * steps + t) * n..][..n]);
                    }
                }
            }
            let steps = 0..task.plan.n_steps();
            let wants = (wants_inputs, upstream.outputs.is_some());
            stack.steps_back(task, steps, draw, wants);
        });
        self.stack.weight_gradients(&self.tasks, gradients.layers);
        let stack = &self.stack;
        if let Some(initial) = &mut gradients.initial {
            stack.initial_gradients(&self.tasks, batch, initial);
        }
        if let Some(inputs) = &mut gradients.inputs {
            // Behind a sequence's end there is no step that would write.
            inputs.fill(0.0);
            for task in &self.tasks {
                for t in 0..task.plan.n_steps() {
                    let rows = task.wide[task.at(t).rows(k)].chunks_exact(k);
                    for (dx, &row) in rows.zip(&task.plan.rows) {
                        inputs[(row * steps + t) * k..][..k].copy_from_slice(dx);
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the arguments of a way back, and notes that the tapes are used up.
    fn checked(
        &mut self,
        upstream: &EncoderUpstream<'_>,
        gradients: &EncoderGradients<'_, '_>,
    ) -> Result<Shape, Error> {
        let shape = self.shape("backward")?;
        // The way back turns gates into gradients: a second one would read these.
        if !shape.whole {
            return Err(Error::Order {
                call: "backward",
                before: "forward",
            });
        }
        if self.packed != Some(PassKind::Training) {
            return Err(Error::Order {
                call: "backward",
                before: "pack for training",
            });
        }
        let options = &self.stack.options;
        let Shape { batch, steps, .. } = shape;
        let states = options.n_layers * batch * options.n_hidden;
        if let Some(hidden) = upstream.hidden {
            check("hidden", "layers × batch × hidden", hidden.len(), states)?;
        }
        if let Some(cell) = upstream.cell {
            let n = if options.cell.has_cell_state() {
                states
            } else {
                0
            };
            check(
                "cell",
                "layers × batch × hidden for an LSTM, else 0",
                cell.len(),
                n,
            )?;
        }
        if let Some(outputs) = upstream.outputs {
            let n = batch * steps * options.n_hidden;
            check("outputs", "batch × steps × hidden", outputs.len(), n)?;
        }
        if let Some(inputs) = &gradients.inputs {
            let n = batch * steps * options.n_inputs;
            check("inputs", "batch × steps × inputs", inputs.len(), n)?;
        }
        check("layers", "layers", gradients.layers.len(), options.n_layers)?;
        for (l, layer) in gradients.layers.iter().enumerate() {
            layer.as_weights().check(options, l)?;
        }
        if let Some(initial) = &gradients.initial {
            initial.as_state().check(options, batch)?;
        }
        // From here on nothing can fail, and the tapes will be used up.
        self.last = Some(Shape {
            whole: false,
            ..shape
        });
        Ok(shape)
    }
}
