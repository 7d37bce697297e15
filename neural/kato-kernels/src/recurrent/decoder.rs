//! Runs a recurrent net that reads its own predictions, or the true values, step by step.

mod input;
mod steps;

use rayon::prelude::*;

use super::attend::{Attend, CrossAttention, CrossGradients, Memory};
use super::layer::LayerWeights;
use super::options::{Pass, RecurrentOptions};
use super::plan::divide;
use super::stack::{OUTPUT_PLACE, Stack, add};
use super::tape::Task;
use crate::dropout::{Draw, Dropout};
use crate::error::{Error, check};
use crate::panels::Panels;
use crate::weight_gradient::Segment;

pub use input::{DecoderGradients, DecoderInput, Projection};

/// Recurrent net with a projection of its outputs, whose next input is the true value or its own
/// prediction, as a draw for each step says.
///
/// A step of training with any draws costs what one with true inputs alone costs. Gradients flow
/// through predictions that were read. As with [`RecurrentEncoder`](crate::RecurrentEncoder),
/// buffers are kept and the bits do not depend on the number of threads.
///
/// ```
/// use kato_kernels::{
///     Cell, DecoderInput, LayerWeights, Pass, Projection, RecurrentDecoder, RecurrentOptions, State,
/// };
///
/// let weights = LayerWeights {
///     input: &[1.0],
///     recurrent: &[0.0],
///     input_bias: &[0.0],
///     recurrent_bias: &[0.0],
/// };
/// let projection = Projection { weights: &[2.0], bias: &[0.0] };
/// let mut decoder = RecurrentDecoder::new(RecurrentOptions::new(Cell::Tanh, 1, 1))?;
/// decoder.pack(&[weights], projection, Pass::Inference)?;
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
    packed: Option<Pass>,
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
    pub fn new(options: RecurrentOptions) -> Result<Self, Error> {
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
    pub const fn options(&self) -> &RecurrentOptions {
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
        pass: Pass,
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
        if pass == Pass::Training {
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
    /// heads does not divide that of hidden units.
    pub fn pack_attention(&mut self, weights: CrossAttention<'_>, pass: Pass) -> Result<(), Error> {
        let former = self.attend.take();
        self.attend = Some(Attend::pack(&self.stack.options, former, &weights, pass)?);
        Ok(())
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
            None => self.truth.resize(steps, false),
        }
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks.par_iter_mut().for_each(|task| self.run(task, &input));
        self.tasks = tasks;
        predictions.fill(0.0);
        for task in &self.tasks {
            for t in 0..task.plan.n_steps() {
                let rows = task.wide[task.at(t).rows(k)].chunks_exact(k);
                for (prediction, &row) in rows.zip(&task.plan.rows) {
                    predictions[(row * steps + t) * k..][..k].copy_from_slice(prediction);
                }
            }
        }
        self.last = Some(Shape {
            batch,
            steps,
            draw,
            n_keys: input.memory.map(|memory| memory.n_keys),
            whole: true,
        });
        Ok(())
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

    fn go_back(
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
        let (n, k) = (self.stack.options.n_hidden, self.stack.options.n_inputs);
        let top = self.stack.options.n_layers - 1;
        let mut tasks = std::mem::take(&mut self.tasks);
        tasks
            .par_iter_mut()
            .for_each(|task| self.run_back(task, shape, predictions, memory));
        self.tasks = tasks;
        self.stack.weight_gradients(&self.tasks, gradients.layers);
        let dropped = Dropout::new(shape.draw, self.stack.options.output_dropout, OUTPUT_PLACE);
        let segment = |task: usize| {
            let task = &self.tasks[task];
            let after = match memory {
                Some(_) => &task.attend.merged,
                None => task.layers[top]
                    .h
                    .get(task.plan.n_rows() * n..)
                    .unwrap_or_default(),
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
                rows: &task.plan.valid,
            }
        };
        let product = self.stack.product(k, n, self.tasks.len());
        product.compute(
            &mut self.stack.scratches,
            segment,
            gradients.projection,
            Some(gradients.projection_bias),
        );
        self.stack
            .initial_gradients(&self.tasks, shape.batch, &mut gradients.initial);
        if let Some((memory, attention)) = attention {
            self.attention_gradients(memory, attention);
        }
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

    /// Computes the gradients of attention's weights, and copies those of the memory.
    fn attention_gradients(&mut self, memory: Memory<'_>, gradients: &mut CrossGradients<'_>) {
        let n = self.stack.options.n_hidden;
        let (top, own) = (self.stack.options.n_layers - 1, memory.n_keys * n);
        let product = self.stack.product(n, n, self.tasks.len());
        let segment = |task: usize| {
            let task = &self.tasks[task];
            let (dy, rows) = (&task.attend.query, &task.plan.valid);
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
        let segment = |task: usize| {
            let task = &self.tasks[task];
            let (dy, x, rows) = (
                &task.attend.d_merged,
                &task.attend.context,
                &task.plan.valid,
            );
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
        let shape = self.last.filter(|shape| shape.whole);
        let shape = shape.ok_or(Error::Order {
            call: "backward",
            before: "forward",
        })?;
        if self.packed != Some(Pass::Training) {
            return Err(Error::Order {
                call: "backward",
                before: "pack for training",
            });
        }
        if memory.map(|memory| memory.n_keys) != shape.n_keys {
            return Err(Error::Order {
                call: "backward",
                before: "forward with this memory",
            });
        }
        let packed = self
            .attend
            .as_ref()
            .is_none_or(|attend| attend.pass == Pass::Training);
        if memory.is_some() && !packed {
            return Err(Error::Order {
                call: "backward",
                before: "pack_attention for training",
            });
        }
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
        self.last = Some(Shape {
            whole: false,
            ..shape
        });
        Ok(shape)
    }
}
