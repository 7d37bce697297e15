//! What a trainer has to know of a model: its batches and its loss.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Tensor;

use super::Gather;
use crate::Pass;
use crate::layers::Transformer;

/// Something that is trained: a model, its batches and its loss.
///
/// A loss is a sum of terms, each a mean over something: tokens, rows. The trainer asks for the
/// weights of a batch first, adds them over all batches of a step, and lets the task divide each
/// term's sum by the total. So a step over many small batches has the gradient of one over a large
/// batch, however uneven they are.
pub trait Task {
    /// The model.
    type Model: Module;
    /// What the loss of one forward pass is computed from.
    type Batch;

    /// Counts what each term of the loss is a mean over: valid tokens, rows.
    ///
    /// The first weight says how much there is to learn from: a step whose total is zero is refused.
    fn weights(&self, batch: &Self::Batch) -> Vec<f64>;

    /// How many rows the batch has; draws of the rows of later batches of the step begin behind them.
    fn n_rows(&self, batch: &Self::Batch) -> usize;

    /// How many tokens each row takes, in the unit of
    /// [`max_tokens_at_once`](super::TrainerOptions::max_tokens_at_once): its length, say. A row is one
    /// token unless told.
    fn sizes(&self, batch: &Self::Batch) -> Vec<usize> {
        // A budget in rows, then, for tasks whose rows are all alike.
        vec![1; self.n_rows(batch)]
    }

    /// Takes some rows out of a batch that does not fit, so that they are computed apart; `None`, unless
    /// told, where a batch cannot be cut, as its loss depends on pairs of rows, say.
    fn part(&self, batch: &Self::Batch, rows: Range<usize>) -> Option<Self::Batch> {
        let _ = (batch, rows);
        None
    }

    /// The task as one whose loss is over all rows of a step together; `None`, unless told, where each
    /// row's loss is its own. Then [`loss`](Self::loss) is what a step over one batch at once would take,
    /// and the trainer does not ask for it.
    fn gather(&self) -> Option<&dyn Gather<Self::Model, Self::Batch>> {
        None
    }

    /// The stacks whose blocks replicas divide, where they are [asked to](super::TrainerOptions::sharded); none
    /// unless told. All else of a model is held whole by each.
    fn stacks<'m>(&self, model: &'m Self::Model) -> Vec<&'m Transformer> {
        let _ = model;
        Vec::new()
    }

    /// Computes this batch's share of the step's loss: the sum over terms of
    /// `factor · share.of(term, sum)`.
    fn loss(
        &self,
        model: &Self::Model,
        batch: &Self::Batch,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss;
}

/// What the terms of a step's loss are divided by.
#[derive(Debug, Clone, Copy)]
pub struct Share<'a> {
    totals: &'a [f64],
}

impl<'a> Share<'a> {
    /// Takes a total a term.
    #[must_use]
    pub const fn new(totals: &'a [f64]) -> Self {
        Self { totals }
    }

    /// Divides the sum of a term by the term's total over the step.
    ///
    /// # Panics
    ///
    /// Panics if the task gave fewer weights.
    #[must_use]
    pub fn of<const D: usize>(&self, term: usize, sum: Tensor<D>) -> Tensor<D> {
        // Nothing is a mean over nothing.
        // A factor and no division of tensors: one pass over one number.
        sum.mul_scalar(if self.totals[term] > 0.0 {
            1.0 / self.totals[term]
        } else {
            0.0
        })
    }

    /// The total of a term over the step.
    ///
    /// # Panics
    ///
    /// Panics if the task gave fewer weights.
    #[must_use]
    pub const fn total(&self, term: usize) -> f64 {
        self.totals[term]
    }
}

/// The loss of one batch, and what else is to be told of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loss {
    /// The batch's share of the step's loss, one number.
    pub value: Tensor<1>,
    /// Sums that are added over the step's batches and told with it.
    pub sums: Vec<f64>,
}

impl Loss {
    /// A loss without further sums.
    #[must_use]
    pub const fn new(value: Tensor<1>) -> Self {
        Self {
            value,
            sums: Vec::new(),
        }
    }

    /// Adds a sum to be told.
    #[must_use]
    pub fn with_sum(mut self, sum: f64) -> Self {
        self.sums.push(sum);
        self
    }
}
