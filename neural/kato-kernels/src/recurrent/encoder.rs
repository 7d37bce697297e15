//! Runs a recurrent net over given inputs.

mod back;
mod input;

use rayon::prelude::*;

use super::layer::LayerWeights;
use super::options::{PassKind, RecurrentStackOptions};
use super::plan::divide;
use super::stack::Stack;
use super::tape::Task;
use crate::dropout::Draw;
use crate::error::{Error, check};

pub use input::{EncoderGradients, EncoderInput, EncoderUpstream};

/// Recurrent net over given inputs, with its packed weights and what a pass leaves for the way
/// back. Its buffers are kept, so that a pass of the shape of the one before allocates none.
///
/// Sequences are independent, and sums over them have one order: results have the same bits for
/// any number of threads. The pool is the caller's (`rayon::ThreadPool::install`).
///
/// ```
/// use kato_kernels::{
///     Cell, EncoderInput, LayerWeights, PassKind, RecurrentEncoder, RecurrentStackOptions,
/// };
///
/// // One unit of a vanilla net that adds its input to half of its state.
/// let weights = LayerWeights {
///     input: &[1.0],
///     recurrent: &[0.5],
///     input_bias: &[0.0],
///     recurrent_bias: &[0.0],
/// };
/// let mut encoder = RecurrentEncoder::new(RecurrentStackOptions::new(Cell::Tanh, 1, 1))?;
/// encoder.pack(&[weights], PassKind::Inference)?;
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
    packed: Option<PassKind>,
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
    pub fn new(options: RecurrentStackOptions) -> Result<Self, Error> {
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
    pub const fn options(&self) -> &RecurrentStackOptions {
        &self.stack.options
    }

    /// Packs the weights; call it whenever they have changed.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a weight has another shape.
    pub fn pack(&mut self, weights: &[LayerWeights<'_>], pass: PassKind) -> Result<(), Error> {
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
            // Inputs are put in the order of steps, so that a step's rows lie together.
            for t in 0..task.plan.n_steps() {
                let at = task.at(t);
                let x = &mut task.layers[0].x[at.rows(k)];
                for (x, &row) in x.chunks_exact_mut(k).zip(&task.plan.rows) {
                    x.copy_from_slice(&inputs[(row * steps + t) * k..][..k]);
                }
            }
            let steps = 0..task.plan.n_steps();
            stack.steps(task, steps, draw);
        });
        // Only now: where an argument did not fit, the tapes are still those of the pass before.
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
                    // A sequence's last state lies at its own length, not at that of the longest.
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
}
