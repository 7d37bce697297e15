//! Runs the steps of a decoder's task, forward and backward.

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
        // All inputs are known: layers run one after another, which reads weights less often.
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
            // True values have no gradient; the learnt first input has.
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
        // Layer after layer, gradients of all steps are needed before the first layer runs.
        let sum = if self.taught() {
            &mut task.between[at.rows(n)]
        } else {
            &mut task.layers[top].d_state[..at.active * n]
        };
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
