//! Runs a recurrent net that reads its own predictions, or the true values, step by step.

mod back;
mod input;
mod steps;

use rayon::prelude::*;

use super::attend::{Attend, CrossAttentionWeights, CrossGradients, Memory};
use super::layer::LayerWeights;
use super::options::{PassKind, RecurrentStackOptions};
use super::plan::divide;
use super::stack::Stack;
use super::tape::Task;
use crate::dropout::Draw;
use crate::error::{Error, check};
use crate::panels::Panels;

pub use input::{DecoderGradients, DecoderInput, Projection};

/// Recurrent net with a projection of its outputs, whose next input is the true value or its own
/// prediction, as the input says for each step.
///
/// Steps in a row that read true values go through one layer after another, which is faster than step by step.
/// Gradients flow through predictions that were read. As with [`RecurrentEncoder`](crate::RecurrentEncoder),
/// buffers are kept and the bits do not depend on the number of threads.
///
/// ```
/// use kato_kernels::{
///     Cell, DecoderInput, LayerWeights, PassKind, Projection, RecurrentDecoder, RecurrentStackOptions, State,
/// };
///
/// let weights = LayerWeights {
///     input: &[1.0],
///     recurrent: &[0.0],
///     input_bias: &[0.0],
///     recurrent_bias: &[0.0],
/// };
/// let projection = Projection { weights: &[2.0], bias: &[0.0] };
/// let mut decoder = RecurrentDecoder::new(RecurrentStackOptions::new(Cell::Tanh, 1, 1))?;
/// decoder.pack(&[weights], projection, PassKind::Inference)?;
/// let initial = State { hidden: &[0.0], cell: &[] };
/// let mut predictions = [0.0; 2];
/// decoder.forward(DecoderInput::new(&[0.5], initial, 1, 2), &mut predictions)?;
/// assert!((predictions[1] - 2.0 * predictions[0].tanh()).abs() < 1e-6);
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Debug)]
pub struct RecurrentDecoder {
    stack: Stack,
    projection: Panels,
    projection_back: Panels,
    bias: Vec<f32>,
    attend: Option<Attend>,
    tasks: Vec<Task>,
    order: Vec<usize>,
    packed: Option<PassKind>,
    /// For each step, whether its input was the true value.
    truth: Vec<bool>,
    last: Option<Shape>,
}

/// Shape of the last forward pass, and whether its tapes are still whole.
#[derive(Clone, Copy, Debug)]
struct Shape {
    batch: usize,
    steps: usize,
    draw: Option<Draw>,
    /// Keys that were attended to.
    n_keys: Option<usize>,
    whole: bool,
}

impl RecurrentDecoder {
    /// Begins without weights.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] where an option is out of range.
    pub fn new(options: RecurrentStackOptions) -> Result<Self, Error> {
        Ok(Self {
            stack: Stack::new(options)?,
            projection: Panels::new(options.instructions, options.precision),
            projection_back: Panels::new(options.instructions, options.precision),
            bias: Vec::new(),
            attend: None,
            tasks: Vec::new(),
            order: Vec::new(),
            packed: None,
            truth: Vec::new(),
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
    pub fn pack(
        &mut self,
        weights: &[LayerWeights<'_>],
        projection: Projection<'_>,
        pass: PassKind,
    ) -> Result<(), Error> {
        let (n, k) = (self.stack.options.n_inputs, self.stack.options.n_hidden);
        check(
            "projection",
            "inputs × hidden",
            projection.weights.len(),
            n * k,
        )?;
        check("projection's bias", "inputs", projection.bias.len(), n)?;
        self.stack.pack(weights, pass)?;
        self.projection
            .pack_rows(projection.weights, n, k, |row| row);
        if pass == PassKind::Training {
            self.projection_back
                .pack_columns(projection.weights, n, k, |row| row);
        }
        self.bias.clear();
        self.bias.extend_from_slice(projection.bias);
        self.packed = Some(pass);
        Ok(())
    }

    /// Packs the weights of attention; call it whenever they have changed.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a weight has another shape, [`Error::Option`] where the number of
    /// heads does not divide that of hidden units; then those that were packed before stay.
    pub fn pack_attention(
        &mut self,
        weights: CrossAttentionWeights<'_>,
        pass: PassKind,
    ) -> Result<(), Error> {
        Attend::pack(&mut self.attend, &self.stack.options, &weights, pass)
    }

    /// Runs over a batch and writes the predictions, `[batch, steps, inputs]`, zero behind a
    /// sequence's end.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] or [`Error::Option`] where the batch does not fit, [`Error::Order`] before
    /// [`pack`](Self::pack).
    pub fn forward(
        &mut self,
        input: DecoderInput<'_>,
        predictions: &mut [f32],
    ) -> Result<(), Error> {
        if self.packed.is_none() {
            return Err(Error::Order {
                call: "forward",
                before: "pack",
            });
        }
        input.check(&self.stack.options)?;
        // A memory without weights would be passed over in silence.
        if input.memory.is_some() && self.attend.is_none() {
            return Err(Error::Order {
                call: "forward",
                before: "pack_attention",
            });
        }
        let DecoderInput {
            batch, steps, draw, ..
        } = input;
        let k = self.stack.options.n_inputs;
        check(
            "predictions",
            "batch × steps × inputs",
            predictions.len(),
            batch * steps * k,
        )?;
        divide(
            &mut self.tasks,
            &mut self.order,
            batch,
            steps,
            input.lengths,
        )?;
        self.truth.clear();
        match input.truth {
            Some((_, steps)) => self.truth.extend_from_slice(steps),
            // Without true values, every input is a prediction.
            None => self.truth.resize(steps, false),
        }
        // Tasks are written while the weights beside them are read.
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.par_iter_mut().for_each(|task| self.run(task, &input));
        self.tasks = tasks;
        self.hand_out(steps, predictions);
        self.last = Some(Shape {
            batch,
            steps,
            draw,
            n_keys: input.memory.map(|memory| memory.n_keys),
            whole: true,
        });
        Ok(())
    }

    /// Copies the predictions out of the tapes.
    fn hand_out(&self, steps: usize, predictions: &mut [f32]) {
        let k = self.stack.options.n_inputs;
        // Nothing is predicted behind a sequence's end.
        predictions.fill(0.0);
        for task in &self.tasks {
            for t in 0..task.plan.n_steps() {
                let rows = task.wide[task.at(t).rows(k)].chunks_exact(k);
                for (prediction, &row) in rows.zip(&task.plan.rows) {
                    predictions[(row * steps + t) * k..][..k].copy_from_slice(prediction);
                }
            }
        }
    }

    /// Goes the last pass back from the gradient of its predictions, `[batch, steps, inputs]`; what
    /// lies behind a sequence's end is not read. It uses up what the pass left.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a gradient has another shape, [`Error::Order`] without a pass
    /// before it, after one that attended, or where weights were packed for inference.
    pub fn backward(
        &mut self,
        predictions: &[f32],
        gradients: &mut DecoderGradients<'_, '_>,
    ) -> Result<(), Error> {
        self.go_back(predictions, gradients, None)
    }

    /// Goes back a pass that attended; `memory` is that of the pass.
    ///
    /// # Errors
    ///
    /// As [`backward`](Self::backward).
    pub fn backward_attended(
        &mut self,
        predictions: &[f32],
        gradients: &mut DecoderGradients<'_, '_>,
        memory: Memory<'_>,
        attention: &mut CrossGradients<'_>,
    ) -> Result<(), Error> {
        self.go_back(predictions, gradients, Some((memory, attention)))
    }
}
