//! Runs a recurrent net that reads its own predictions, or the true values, step by step.

use rayon::prelude::*;

use super::attend::{Attend, CrossAttention, CrossGradients, Memory};
use super::layer::{At, LayerGradients, LayerWeights};
use super::options::{Pass, RecurrentOptions, State, StateGradients};
use super::plan::divide;
use super::stack::{OUTPUT_PLACE, Stack, add};
use super::tape::Task;
use crate::dropout::{Draw, Dropout};
use crate::error::{Error, check};
use crate::panels::{Begin, Panels};
use crate::strips::{Rows, grow};
use crate::weight_gradient::Segment;

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

/// Linear map from a decoder's outputs to its predictions, which have the width of its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// Weights, `[inputs, hidden]`.
    pub weights: &'a [f32],
    /// Bias, `[inputs]`.
    pub bias: &'a [f32],
}

/// Batch for a [`RecurrentDecoder`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DecoderInput<'a> {
    /// Input of the first step, `[inputs]`, for every sequence.
    pub start: &'a [f32],
    /// States at the start.
    pub initial: State<'a>,
    /// Number of sequences.
    pub batch: usize,
    /// Number of steps of the longest sequence.
    pub steps: usize,
    /// True values, `[batch, steps, inputs]`, and for each step whether its input is the true value
    /// of the step before. The first step's says nothing. Own predictions are read where there
    /// are none.
    pub truth: Option<(&'a [f32], &'a [bool])>,
    /// Valid steps of each sequence; all where there are none.
    pub lengths: Option<&'a [usize]>,
    /// What is attended to; the decoder does not attend where there is none.
    pub memory: Option<Memory<'a>>,
    /// Draw of dropout; nothing is dropped where there is none.
    pub draw: Option<Draw>,
}

impl<'a> DecoderInput<'a> {
    /// Begins with whole sequences, own predictions and no dropout.
    #[must_use]
    pub const fn new(start: &'a [f32], initial: State<'a>, batch: usize, steps: usize) -> Self {
        Self {
            start,
            initial,
            batch,
            steps,
            truth: None,
            lengths: None,
            memory: None,
            draw: None,
        }
    }

    /// Gives the true values and the steps whose input is one.
    #[must_use]
    pub const fn with_truth(mut self, values: &'a [f32], steps: &'a [bool]) -> Self {
        self.truth = Some((values, steps));
        self
    }

    /// Sets the lengths, `[batch]`.
    #[must_use]
    pub const fn with_lengths(mut self, lengths: &'a [usize]) -> Self {
        self.lengths = Some(lengths);
        self
    }

    /// Sets what is attended to, by the weights of
    /// [`pack_attention`](RecurrentDecoder::pack_attention).
    #[must_use]
    pub const fn with_memory(mut self, memory: Memory<'a>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Sets the draw of dropout.
    #[must_use]
    pub const fn with_draw(mut self, draw: Draw) -> Self {
        self.draw = Some(draw);
        self
    }

    /// Checks the batch.
    fn check(&self, options: &RecurrentOptions) -> Result<(), Error> {
        check("start", "inputs", self.start.len(), options.n_inputs)?;
        self.initial.check(options, self.batch)?;
        if let Some(memory) = &self.memory {
            memory.check(options, self.batch)?;
        }
        if let Some((values, steps)) = self.truth {
            let n = self.batch * self.steps * options.n_inputs;
            check("truth", "batch × steps × inputs", values.len(), n)?;
            check("truth", "steps", steps.len(), self.steps)?;
        }
        Ok(())
    }
}

/// Where gradients of a [`RecurrentDecoder`] go; what was there is overwritten.
#[derive(Debug)]
pub struct DecoderGradients<'a, 'b> {
    /// Of the weights of each layer.
    pub layers: &'a mut [LayerGradients<'b>],
    /// Of the projection's weights, `[inputs, hidden]`.
    pub projection: &'a mut [f32],
    /// Of the projection's bias, `[inputs]`.
    pub projection_bias: &'a mut [f32],
    /// Of the first input, `[inputs]`.
    pub start: &'a mut [f32],
    /// Of the states at the start.
    pub initial: StateGradients<'a>,
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

    /// Runs one task through all steps.
    fn run(&self, task: &mut Task, input: &DecoderInput<'_>) {
        let options = &self.stack.options;
        let (n, k) = (options.n_hidden, options.n_inputs);
        task.begin(options, Some(input.initial), input.batch);
        let dropout = Dropout::new(input.draw, options.output_dropout, OUTPUT_PLACE);
        let length = task.plan.n_steps() * task.plan.n_rows();
        grow(&mut task.wide, length * k);
        if dropout.is_some() {
            grow(&mut task.dropped, length * n);
        }
        let attend = self.attend.as_ref().zip(input.memory);
        if let Some((attend, memory)) = &attend {
            task.attend.begin(length, n, attend.n_heads * memory.n_keys);
        }
        let attend = attend.as_ref().map(|(attend, memory)| (*attend, memory));
        if self.taught() {
            for t in 0..task.plan.n_steps() {
                self.read(task, task.at(t), input);
            }
            self.stack.all_steps(task, input.draw);
        }
        for t in 0..task.plan.n_steps() {
            let at = task.at(t);
            if !self.taught() {
                self.read(task, at, input);
                self.stack.step(task, at, input.draw);
            }
            self.predict(task, at, attend, dropout);
        }
    }

    /// Tells whether every step reads the true value: then layers can go one after another.
    fn taught(&self) -> bool {
        self.truth.iter().skip(1).all(|&truth| truth)
    }

    /// Computes the predictions of a step from the outputs.
    fn predict(
        &self,
        task: &mut Task,
        at: At,
        attend: Option<(&Attend, &Memory<'_>)>,
        dropout: Option<Dropout>,
    ) {
        let options = &self.stack.options;
        let (n, k, top) = (options.n_hidden, options.n_inputs, options.n_layers - 1);
        let mut after = &task.layers[top].h[at.next().rows(n)];
        if let Some((attend, memory)) = attend {
            let (tape, strips) = (&mut task.attend, &mut task.strips);
            attend.forward(tape, (&task.plan, at), after, memory, strips);
            after = &task.attend.merged[at.rows(n)];
        }
        if let Some(dropout) = dropout {
            let dropped = &mut task.dropped[at.rows(n)];
            let number = |r| task.plan.number(at.t, r);
            self.stack.drop_rows(dropout, number, after, dropped, false);
            after = dropped;
        }
        let rows = Rows {
            values: after,
            stride: n,
            n_rows: at.active,
        };
        let out = &mut task.wide[at.rows(k)];
        self.projection
            .multiply(rows, &mut task.strips, out, k, Begin::Bias(&self.bias));
    }

    /// Puts the inputs of a step on the tape.
    fn read(&self, task: &mut Task, at: At, input: &DecoderInput<'_>) {
        let k = self.stack.options.n_inputs;
        let x = &mut task.layers[0].x[at.rows(k)];
        if at.t == 0 {
            x.chunks_exact_mut(k)
                .for_each(|x| x.copy_from_slice(input.start));
            return;
        }
        match input.truth {
            Some((values, steps)) if steps[at.t] => {
                for (x, &row) in x.chunks_exact_mut(k).zip(&task.plan.rows) {
                    x.copy_from_slice(&values[(row * input.steps + at.t - 1) * k..][..k]);
                }
            }
            _ => x.copy_from_slice(&task.wide[At { t: at.t - 1, ..at }.rows(k)]),
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

    /// Goes one task back through all steps.
    fn run_back(
        &self,
        task: &mut Task,
        shape: Shape,
        predictions: &[f32],
        memory: Option<Memory<'_>>,
    ) {
        let options = &self.stack.options;
        let (n, k) = (options.n_hidden, options.n_inputs);
        let dropout = Dropout::new(shape.draw, options.output_dropout, OUTPUT_PLACE);
        task.begin_back(options, None, None, shape.batch);
        let attend = self.attend.as_ref().zip(memory);
        if let Some(memory) = &memory {
            task.attend.begin_back(&task.plan, n, memory.n_keys);
        }
        let attend = attend.as_ref().map(|(attend, memory)| (*attend, memory));
        let taught = self.taught();
        if taught {
            let length = task.plan.n_steps() * task.plan.n_rows() * n;
            grow(&mut task.between, length);
            task.between[..length].fill(0.0);
        }
        let mut read_later = 0;
        for t in (0..task.plan.n_steps()).rev() {
            let at = task.at(t);
            let d_predictions = &mut task.wide[at.rows(k)];
            for (d, &row) in d_predictions.chunks_exact_mut(k).zip(&task.plan.rows) {
                d.copy_from_slice(&predictions[(row * shape.steps + t) * k..][..k]);
            }
            // The next step may have read the prediction; `dx` holds what comes back from it.
            add(
                &mut d_predictions[..read_later * k],
                &task.dx[..read_later * k],
            );
            self.predict_back(task, at, attend, dropout);
            if taught {
                continue;
            }
            let own = t > 0 && !self.truth[t];
            self.stack.step_back(task, at, shape.draw, own || t == 0);
            read_later = if own { at.active } else { 0 };
        }
        if taught {
            self.stack.all_steps_back(task, shape.draw, false, true);
            self.stack.first_inputs_back(task);
        }
    }

    /// Goes from the predictions of a step back to the outputs, whose gradient is added up.
    fn predict_back(
        &self,
        task: &mut Task,
        at: At,
        attend: Option<(&Attend, &Memory<'_>)>,
        dropout: Option<Dropout>,
    ) {
        let options = &self.stack.options;
        let (n, k, top) = (options.n_hidden, options.n_inputs, options.n_layers - 1);
        let values = &task.wide[at.rows(k)];
        let rows = Rows {
            values,
            stride: k,
            n_rows: at.active,
        };
        let sum = if self.taught() {
            &mut task.between[at.rows(n)]
        } else {
            &mut task.layers[top].d_state[..at.active * n]
        };
        let (out, begin) = match attend {
            Some(_) => (&mut task.attend.d_merged[at.rows(n)], Begin::Zero),
            None => (&mut *sum, Begin::Add),
        };
        let strips = &mut task.strips;
        match dropout {
            Some(dropout) => {
                let dropped = &mut task.dx[..at.active * n];
                self.projection_back
                    .multiply(rows, strips, dropped, n, Begin::Zero);
                let number = |r| task.plan.number(at.t, r);
                self.stack
                    .drop_rows(dropout, number, dropped, out, attend.is_none());
            }
            None => self.projection_back.multiply(rows, strips, out, n, begin),
        }
        if let Some((attend, memory)) = attend {
            attend.backward(&mut task.attend, (&task.plan, at), memory, strips, sum);
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
