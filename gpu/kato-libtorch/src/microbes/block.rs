//! Pre-norm transformer blocks, and stacks of them.

use tch::nn::{Init, Path};
use tch::{Device, Kind, Tensor};

use super::{MicrobesOptions, Precision};
use crate::parameters::Linear;
use crate::{Error, native};

/// Normalises each row to mean 0 and variance 1, then scales and shifts it.
#[derive(Debug)]
pub(super) struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
}

impl LayerNorm {
    pub(super) fn new(place: &Path<'_>, width: i64) -> Self {
        Self {
            weight: place.var("weight", &[width], Init::Const(1.0)),
            bias: place.var("bias", &[width], Init::Const(0.0)),
        }
    }

    pub(super) fn forward(&self, input: &Tensor) -> Tensor {
        let shape = self.weight.size();
        input.layer_norm(shape, Some(&self.weight), Some(&self.bias), 1e-5, true)
    }

    fn shared(&self) -> Self {
        Self {
            weight: self.weight.shallow_clone(),
            bias: self.bias.shallow_clone(),
        }
    }
}

/// `x + attention(norm(x))`, then `x + inner(norm(x))` with GELU between two linear layers.
///
/// Source: Vaswani et al., "Attention is all you need", 2017; the norm before, as Xiong et al., "On
/// layer normalization in the transformer architecture", 2020.
#[derive(Debug)]
struct Block {
    norm_1: LayerNorm,
    /// Queries, keys and values in one product.
    qkv: Linear,
    out: Linear,
    norm_2: LayerNorm,
    up: Linear,
    down: Linear,
}

/// How a block is computed.
#[derive(Debug, Clone, Copy)]
struct Settings {
    heads: i64,
    dropout: f64,
    fused: bool,
    bf16: bool,
    device: Device,
}

impl Block {
    fn new(place: &Path<'_>, width: i64) -> Self {
        let linear = |name: &str, n_in, n_out| Linear::new(&(place / name), n_in, n_out, 1.0);
        Self {
            norm_1: LayerNorm::new(&(place / "norm1"), width),
            qkv: linear("qkv", width, 3 * width),
            out: linear("out", width, width),
            norm_2: LayerNorm::new(&(place / "norm2"), width),
            up: linear("up", width, 4 * width),
            down: linear("down", 4 * width, width),
        }
    }

    /// A second handle on the same weights, which another thread may hold.
    fn shared(&self) -> Self {
        Self {
            norm_1: self.norm_1.shared(),
            qkv: self.qkv.shared(),
            out: self.out.shared(),
            norm_2: self.norm_2.shared(),
            up: self.up.shared(),
            down: self.down.shared(),
        }
    }

    /// Computes `[rows, length, width]`; `mask`, `[rows, 1, 1, length]`, is false where there is nothing.
    fn forward(&self, input: &Tensor, mask: &Tensor, settings: &Settings, train: bool) -> Tensor {
        let dropout = |tensor: Tensor| tensor.dropout(settings.dropout, train);
        let attended = self.attend(&self.norm_1.forward(input), mask, settings);
        let input = input + dropout(self.out.forward(&attended));
        let inner = dropout(self.up.forward(&self.norm_2.forward(&input)).gelu("none"));
        &input + dropout(self.down.forward(&inner))
    }

    fn attend(&self, input: &Tensor, mask: &Tensor, settings: &Settings) -> Tensor {
        let [n_rows, length, width] = input.size()[..] else {
            unreachable!("rows of tokens have three axes")
        };
        let (heads, size) = (settings.heads, width / settings.heads);
        let parts = self
            .qkv
            .forward(input)
            .view([n_rows, length, 3, heads, size]);
        let parts = parts.permute([2, 0, 3, 1, 4]).unbind(0);
        let [queries, keys, values] = &parts[..] else {
            unreachable!("three were asked for")
        };
        let attended = if settings.fused {
            Tensor::scaled_dot_product_attention(
                queries,
                keys,
                values,
                Some(mask),
                0.0,
                false,
                None,
                false,
            )
        } else {
            let scores = queries.matmul(&keys.transpose(2, 3)) / (size as f64).sqrt();
            let scores = scores.masked_fill(&mask.logical_not(), f64::NEG_INFINITY);
            scores.softmax(-1, None::<Kind>).matmul(values)
        };
        attended.transpose(1, 2).reshape([n_rows, length, width])
    }
}

/// Blocks one after another.
#[derive(Debug)]
pub(super) struct Stack {
    blocks: Vec<Block>,
    settings: Settings,
    recompute: bool,
}

impl Stack {
    pub(super) fn new(place: &Path<'_>, options: &MicrobesOptions) -> Self {
        let blocks = (0..options.layers)
            .map(|layer| Block::new(&(&(place / "blocks") / layer), options.width));
        Self {
            blocks: blocks.collect(),
            settings: Settings {
                heads: options.heads,
                dropout: options.dropout,
                fused: options.fused,
                bf16: options.precision == Precision::Bf16,
                device: place.device(),
            },
            recompute: options.recompute,
        }
    }

    /// Computes `[rows, length, width]` of which `valid`, `[rows, length]`, says what there is. Rows
    /// without anything come out finite, and mean nothing.
    pub(super) fn forward(
        &self,
        input: Tensor,
        valid: &Tensor,
        train: bool,
    ) -> Result<Tensor, Error> {
        // Such a row attends to its padding: a softmax over nothing would be no number.
        let empty = valid.any_dim(1, true).logical_not();
        let mask = valid.logical_or(&empty).unsqueeze(1).unsqueeze(1);
        let mut output = input;
        for block in &self.blocks {
            output = if self.recompute && train {
                self.recomputed(block, &output, &mask)?
            } else {
                block.forward(&output, &mask, &self.settings, train)
            };
        }
        Ok(output)
    }

    fn recomputed(&self, block: &Block, input: &Tensor, mask: &Tensor) -> Result<Tensor, Error> {
        let (block, mask, settings) = (block.shared(), mask.shallow_clone(), self.settings);
        let run = move |input: &Tensor| {
            // The thread that computes gradients has modes of its own.
            let scope = settings
                .bf16
                .then(|| native::Autocast::enter(settings.device));
            let _scope = scope.transpose().expect("autocast needs no memory");
            block.forward(input, &mask, &settings, true)
        };
        native::recompute(input, Box::new(run), self.settings.dropout > 0.0)
    }
}
