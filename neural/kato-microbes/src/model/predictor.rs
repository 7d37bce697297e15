//! From a sample's rows to what is predicted of it.

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::activation::gelu;
use kato_neural::burn::tensor::{Device, Tensor};
use kato_neural::layers::{Affine, AttentionPooling, Transformer, TransformerOptions, Valid};
use kato_neural::{Initializer, Pass};

use crate::settings::{Head, ModelOptions};

/// Number of the draws of its stack.
const TARGET_STREAM: u64 = 2;

/// A stack, a pooling and a head over an encoder's rows.
#[derive(Module, Debug)]
pub struct Predictor {
    stack: Transformer,
    pooling: AttentionPooling,
    hidden: Option<Affine>,
    head: Affine,
}

impl Predictor {
    pub(super) fn new(
        options: &ModelOptions,
        n_outputs: usize,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let width = options.width;
        let stack = TransformerOptions::new(width, options.heads, options.target_layers)
            .with_dropout(options.dropout, TARGET_STREAM);
        let hidden = options.head == Head::Mlp;
        Self {
            stack: stack.init(initializer, device),
            pooling: AttentionPooling::new(width, initializer, device),
            hidden: hidden.then(|| Affine::new(width, width, initializer, device)),
            head: Affine::new(width, n_outputs, initializer, device),
        }
    }

    pub(super) fn forward(&self, rows: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<2> {
        let valid = Valid::Lengths(lengths);
        let rows = self.stack.forward(rows, valid, pass);
        let pooled = self.pooling.forward(rows, valid).unsqueeze::<3>();
        let pooled = match &self.hidden {
            Some(hidden) => gelu(hidden.forward(pooled, pass)),
            None => pooled,
        };
        let outputs = self.head.forward(pooled, pass);
        let [_, n_samples, n_outputs] = outputs.dims();
        outputs.reshape([n_samples, n_outputs])
    }

    pub(super) fn attention(&self, rows: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<2> {
        let valid = Valid::Lengths(lengths);
        self.pooling
            .weights(self.stack.forward(rows, valid, pass), valid)
    }
}
