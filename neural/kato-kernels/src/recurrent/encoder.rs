//! Runs a recurrent net over given inputs.

mod input;

use rayon::prelude::*;

use super::layer::LayerWeights;
use super::options::{Pass, RecurrentOptions};
use super::plan::divide;
use super::stack::Stack;
use super::tape::Task;
use crate::dropout::Draw;
use crate::error::{Error, check};
use crate::rows::grow;

pub use input::{EncoderGradients, EncoderInput, EncoderUpstream};

/// Recurrent net over given inputs, with its packed weights and what a pass leaves for the way
/// back. Its buffers are kept, so that only the first pass of a shape allocates.
///
/// Sequences are independent, and sums over them have one order: results have the same bits for
/// any number of threads. The pool is the caller's (`rayon::ThreadPool::install`).
///
/// ```
/// use kato_kernels::{
///     Cell, EncoderInput, LayerWeights, Pass, RecurrentEncoder, RecurrentOptions,
/// };
///
/// // One unit of a vanilla net that adds its input to half of its state.
/// let weights = LayerWeights {
///     input: &[1.0],
///     recurrent: &[0.5],
///     input_bias: &[0.0],
///     recurrent_bias: &[0.0],
/// };
/// let mut encoder = RecurrentEncoder::new(RecurrentOptions::new(Cell::Tanh, 1, 1))?;
/// encoder.pack(&[weights], Pass::Inference)?;
/// encoder.forward(EncoderInput::new(&[0.1, 0.2], 1, 2))?;
/// let mut hidden = [0.0];
/// encoder.hidden(&mut hidden)?;
/// assert!((hidden[0] - (0.2 + 0.5 * 0.1_f32.tanh()).tanh()).abs() < 1e-6);
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Debug)]
pub struct RecurrentEncoder {
    stack: Stack,
    tasks: Vec<Task>,
    order: Vec<usize>,
    packed: Option<Pass>,
    last: Option<Shape>,
}

/// Shape of the last forward pass, and whether its tapes are still whole.
#[derive(Clone, Copy, Debug)]
struct Shape {
    batch: usize,
    steps: usize,
    draw: Option<Draw>,
    whole: bool,
}

impl RecurrentEncoder {
    /// Begins without weights.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] where an option is out of range.
    pub fn new(options: RecurrentOptions) -> Result<Self, Error> {
        let stack = Stack::new(options)?;
        Ok(Self {
            stack,
            tasks: Vec::new(),
            order: Vec::new(),
            packed: None,
            last: None,
        })
    }

    /// Returns what the net is made of.
    #[must_use]
    pub const fn options(&self) -> &RecurrentOptions {
        &self.stack.options
    }

    /// Packs the weights; call it whenever they have changed.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a weight has another shape.
    pub fn pack(&mut self, weights: &[LayerWeights<'_>], pass: Pass) -> Result<(), Error> {
        self.stack.pack(weights, pass)?;
        self.packed = Some(pass);
        Ok(())
    }

    /// Runs over a batch.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] or [`Error::Option`] where the batch does not fit, [`Error::Order`] before
    /// [`pack`](Self::pack).
    pub fn forward(&mut self, input: EncoderInput<'_>) -> Result<(), Error> {
        if self.packed.is_none() {
            return Err(Error::Order {
                call: "forward",
                before: "pack",
            });
        }
        let options = &self.stack.options;
        let EncoderInput {
            inputs,
            batch,
            steps,
            lengths,
            initial,
            draw,
        } = input;
        let k = options.n_inputs;
        check(
            "inputs",
            "batch × steps × inputs",
            inputs.len(),
            batch * steps * k,
        )?;
        if let Some(state) = initial {
            state.check(options, batch)?;
        }
        divide(&mut self.tasks, &mut self.order, batch, steps, lengths)?;
        let stack = &self.stack;
        self.tasks.par_iter_mut().for_each(|task| {
            task.begin(&stack.options, initial, batch);
            for t in 0..task.plan.n_steps() {
                let at = task.at(t);
                let x = &mut task.layers[0].x[at.rows(k)];
                for (x, &row) in x.chunks_exact_mut(k).zip(&task.plan.rows) {
                    x.copy_from_slice(&inputs[(row * steps + t) * k..][..k]);
                }
            }
            stack.all_steps(task, draw);
        });
        self.last = Some(Shape {
            batch,
            steps,
            draw,
            whole: true,
        });
        Ok(())
    }

    /// Returns the shape of the last pass.
    fn shape(&self, call: &'static str) -> Result<Shape, Error> {
        self.last.ok_or(Error::Order {
            call,
            before: "forward",
        })
    }

    /// Copies the hidden states at each sequence's last valid step, `[layers, batch, hidden]`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where `out` has another length, [`Error::Order`] before a pass.
    pub fn hidden(&self, out: &mut [f32]) -> Result<(), Error> {
        let Shape { batch, .. } = self.shape("hidden")?;
        self.last_states(batch, out, |task, l| &task.layers[l].h)
    }

    /// Copies the cell states at each sequence's last valid step, `[layers, batch, hidden]`.
    ///
    /// # Errors
    ///
    /// As [`hidden`](Self::hidden), and [`Error::Option`] where the cells have none.
    pub fn cell(&self, out: &mut [f32]) -> Result<(), Error> {
        let Shape { batch, .. } = self.shape("cell")?;
        if !self.stack.options.cell.has_cell_state() {
            return Err(Error::Option {
                option: "cell",
                reason: "only an LSTM has cell states",
            });
        }
        self.last_states(batch, out, |task, l| &task.layers[l].c)
    }

    fn last_states(
        &self,
        batch: usize,
        out: &mut [f32],
        states: impl Fn(&Task, usize) -> &[f32],
    ) -> Result<(), Error> {
        let (n, layers) = (self.stack.options.n_hidden, self.stack.options.n_layers);
        check(
            "out",
            "layers × batch × hidden",
            out.len(),
            layers * batch * n,
        )?;
        for task in &self.tasks {
            let rows = task.plan.rows.iter().zip(&task.plan.lengths);
            for (r, (&row, &length)) in rows.enumerate() {
                for l in 0..layers {
                    let from = &states(task, l)[(length * task.plan.n_rows() + r) * n..][..n];
                    out[(l * batch + row) * n..][..n].copy_from_slice(from);
                }
            }
        }
        Ok(())
    }

    /// Copies the last layer's outputs, `[batch, steps, hidden]`, zero behind a sequence's end.
    ///
    /// # Errors
    ///
    /// As [`hidden`](Self::hidden).
    pub fn outputs(&self, out: &mut [f32]) -> Result<(), Error> {
        let Shape { batch, steps, .. } = self.shape("outputs")?;
        let (n, top) = (self.stack.options.n_hidden, self.stack.options.n_layers - 1);
        check(
            "out",
            "batch × steps × hidden",
            out.len(),
            batch * steps * n,
        )?;
        out.fill(0.0);
        for task in &self.tasks {
            for t in 0..task.plan.n_steps() {
                let states = &task.layers[top].h[task.at(t).next().rows(n)];
                for (state, &row) in states.chunks_exact(n).zip(&task.plan.rows) {
                    out[(row * steps + t) * n..][..n].copy_from_slice(state);
                }
            }
        }
        Ok(())
    }

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
            stack.all_steps_back(task, draw, wants_inputs, upstream.outputs.is_some());
        });
        self.stack.weight_gradients(&self.tasks, gradients.layers);
        let stack = &self.stack;
        if let Some(initial) = &mut gradients.initial {
            stack.initial_gradients(&self.tasks, batch, initial);
        }
        if let Some(inputs) = &mut gradients.inputs {
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
        if !shape.whole {
            return Err(Error::Order {
                call: "backward",
                before: "forward",
            });
        }
        if self.packed != Some(Pass::Training) {
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
        self.last = Some(Shape {
            whole: false,
            ..shape
        });
        Ok(shape)
    }
}
