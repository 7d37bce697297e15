//! Runs the steps of a decoder's task, forward and backward.

use std::ops::Range;

use super::super::attend::{Attend, Memory};
use super::super::layer::At;
use super::super::stack::{OUTPUT_PLACE, add};
use super::super::tape::Task;
use super::{DecoderInput, RecurrentDecoder, Shape};
use crate::dropout::Dropout;
use crate::rows::{Rows, grow};
use crate::simd::Begin;

impl RecurrentDecoder {
    /// Runs one task through all steps.
    pub(super) fn run(&self, task: &mut Task, input: &DecoderInput<'_>) {
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
        let mut first = 0;
        while first < task.plan.n_steps() {
            let steps = self.known_from(first, task.plan.n_steps());
            first = steps.end;
            for t in steps.clone() {
                self.read(task, task.at(t), input);
            }
            self.stack.steps(task, steps.clone(), input.draw);
            for t in steps {
                self.predict(task, task.at(t), attend, dropout);
            }
        }
    }

    /// Returns the steps from `first` on whose inputs are known when it begins: the true values behind it. They go
    /// through one layer after another.
    fn known_from(&self, first: usize, n_steps: usize) -> Range<usize> {
        let taught = self.truth[first + 1..n_steps].iter();
        first..first + 1 + taught.take_while(|&&truth| truth).count()
    }

    /// Returns such steps by the end of them.
    fn known_until(&self, end: usize) -> Range<usize> {
        let taught = self.truth[1..end].iter().rev();
        end - 1 - taught.take_while(|&&truth| truth).count()..end
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
        // States after a step are kept one step further on.
        let mut after = &task.layers[top].h[at.next().rows(n)];
        if let Some((attend, memory)) = attend {
            let (tape, pairs) = (&mut task.attend, &mut task.pairs);
            attend.forward(tape, (&task.plan, at), after, memory, pairs);
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
            .multiply(rows, &mut task.pairs, out, k, Begin::Bias(&self.bias));
    }

    /// Puts the inputs of a step on the tape.
    fn read(&self, task: &mut Task, at: At, input: &DecoderInput<'_>) {
        let k = self.stack.options.n_inputs;
        let x = &mut task.layers[0].x[at.rows(k)];
        // There is no value before the first: a learnt one stands for it.
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

    /// Goes one task back through all steps.
    pub(super) fn run_back(
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
        let length = task.plan.n_steps() * task.plan.n_rows() * n;
        grow(&mut task.between, length);
        task.between[..length].fill(0.0);
        let (mut end, mut read_later) = (task.plan.n_steps(), 0);
        while end > 0 {
            let steps = self.known_until(end);
            end = steps.start;
            for t in steps.clone().rev() {
                let at = task.at(t);
                let d_predictions = &mut task.wide[at.rows(k)];
                for (d, &row) in d_predictions.chunks_exact_mut(k).zip(&task.plan.rows) {
                    d.copy_from_slice(&predictions[(row * shape.steps + t) * k..][..k]);
                }
                // The step behind these may have read the last prediction; `dx` holds what comes back from it.
                let read = std::mem::take(&mut read_later) * k;
                add(&mut d_predictions[..read], &task.dx[..read]);
                self.predict_back(task, at, attend, dropout);
            }
            self.stack
                .steps_back(task, steps, shape.draw, (false, true));
            // True values have no gradient; predictions that were read have, and so has the learnt first input.
            let first = task.at(end);
            self.stack.inputs_back(task, first);
            read_later = first.active;
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
        let (n, k) = (options.n_hidden, options.n_inputs);
        let values = &task.wide[at.rows(k)];
        let rows = Rows {
            values,
            stride: k,
            n_rows: at.active,
        };
        // Layer after layer, gradients of all these steps are needed before the first layer runs.
        let sum = &mut task.between[at.rows(n)];
        let (out, begin) = match attend {
            Some(_) => (&mut task.attend.d_merged[at.rows(n)], Begin::Zero),
            None => (&mut *sum, Begin::Add),
        };
        let pairs = &mut task.pairs;
        match dropout {
            Some(dropout) => {
                let dropped = &mut task.dx[..at.active * n];
                self.projection_back
                    .multiply(rows, pairs, dropped, n, Begin::Zero);
                let number = |r| task.plan.number(at.t, r);
                self.stack
                    .drop_rows(dropout, number, dropped, out, attend.is_none());
            }
            None => self.projection_back.multiply(rows, pairs, out, n, begin),
        }
        if let Some((attend, memory)) = attend {
            attend.backward(&mut task.attend, (&task.plan, at), memory, pairs, sum);
        }
    }
}
