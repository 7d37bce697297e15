//! From a sample's rows to what is predicted of it.

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::activation::gelu;
use kato_neural::burn::tensor::{Device, Tensor};
use kato_neural::layers::{Affine, AttentionPooling, Transformer, TransformerOptions, Valid};
use kato_neural::{Initializer, Pass};

use super::CategoryFusion;
use crate::batch::SampleBatch;
use crate::settings::{HeadKind, MicroformerOptions};

/// Numbers of the draws of its stacks.
const TARGET_STREAM: u64 = 2;
const COUNT_STREAM: u64 = 3;

/// A stack, a pooling and a head over an encoder's rows, with a sample's categories where it is told any; and where abundances are predicted, a stack and
/// a number a row.
#[derive(Module, Debug)]
pub struct Predictor {
    stack: Transformer,
    pooling: AttentionPooling,
    categories: Option<CategoryFusion>,
    hidden: Option<Affine>,
    added: Option<Affine>,
    head: Affine,
    count_stack: Option<Transformer>,
    count_head: Option<Affine>,
}

/// What a predictor is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Predicted {
    /// Numbers that are predicted of a sample.
    pub n_outputs: usize,
    /// Whether the abundances of its sequences are predicted as well.
    pub counts: bool,
}

impl Predicted {
    /// Predicts so many numbers of a sample.
    #[must_use]
    pub const fn new(n_outputs: usize) -> Self {
        Self {
            n_outputs,
            counts: false,
        }
    }

    /// Predicts abundances as well.
    #[must_use]
    pub const fn with_counts(mut self, counts: bool) -> Self {
        self.counts = counts;
        self
    }
}

impl Predictor {
    pub(super) fn new(
        options: &MicroformerOptions,
        predicted: Predicted,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let width = options.width;
        let stack = |stream| {
            TransformerOptions::new(width, options.heads, options.target_layers)
                .with_dropout(options.dropout, stream)
        };
        let square = |has: bool, initializer: &mut Initializer| {
            has.then(|| Affine::new(width, width, initializer, device))
        };
        let counts = predicted.counts;
        Self {
            stack: stack(TARGET_STREAM).init(initializer, device),
            pooling: AttentionPooling::new(width, initializer, device),
            categories: CategoryFusion::new(options, initializer, device),
            hidden: square(options.head != HeadKind::Linear, initializer),
            added: square(options.head == HeadKind::Residual, initializer),
            head: Affine::new(width, predicted.n_outputs, initializer, device),
            count_stack: counts.then(|| stack(COUNT_STREAM).init(initializer, device)),
            count_head: counts.then(|| Affine::new(width, 1, initializer, device)),
        }
    }

    /// Its stacks of blocks.
    pub(super) fn stacks(&self) -> impl Iterator<Item = &Transformer> {
        [&self.stack].into_iter().chain(&self.count_stack)
    }

    pub(super) fn forward(&self, rows: Tensor<3>, batch: &SampleBatch, pass: &Pass) -> Tensor<2> {
        let valid = Valid::Lengths(&batch.lengths);
        let rows = self.stack.forward(rows, valid, pass);
        let pooled = self.pooling.forward(rows, valid);
        let pooled = match &self.categories {
            Some(fusion) => fusion.forward(pooled, &batch.categories, pass),
            None => pooled,
        };
        let pooled = pooled.unsqueeze::<3>();
        let pooled = match (&self.hidden, &self.added) {
            (Some(hidden), Some(added)) => {
                let change = added.forward(gelu(hidden.forward(pooled.clone(), pass)), pass);
                pooled + change
            }
            (Some(hidden), None) => gelu(hidden.forward(pooled, pass)),
            _ => pooled,
        };
        let outputs = self.head.forward(pooled, pass);
        let [_, n_samples, n_outputs] = outputs.dims();
        outputs.reshape([n_samples, n_outputs])
    }

    /// Predicts the abundance of each sequence of each sample, `[samples, n_rows]`; `None` where it was
    /// not made to.
    pub(super) fn counts(
        &self,
        rows: Tensor<3>,
        lengths: &[usize],
        pass: &Pass,
    ) -> Option<Tensor<2>> {
        let (stack, head) = self.count_stack.as_ref().zip(self.count_head.as_ref())?;
        let rows = stack.forward(rows, Valid::Lengths(lengths), pass);
        let [n_samples, n_rows, _] = rows.dims();
        Some(head.forward(rows, pass).reshape([n_samples, n_rows]))
    }

    pub(super) fn attention(&self, rows: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<2> {
        let valid = Valid::Lengths(lengths);
        self.pooling
            .weights(self.stack.forward(rows, valid, pass), valid)
    }
}
