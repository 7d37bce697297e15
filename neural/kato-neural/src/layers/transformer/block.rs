//! Weights of one transformer block.

use burn::module::{Module, Param, ParamId};
use burn::tensor::{Device, Tensor};

use super::{Affine, RowNorm, TransformerOptions};
use crate::{Initializer, initialize::parameter};

/// Weights of attention, as PyTorch's `nn.MultiheadAttention` has them.
#[derive(Module, Debug)]
pub struct SelfAttention {
    /// Queries, keys and values, one below the other, `[3 · width, width]`.
    pub in_proj_weight: Param<Tensor<2>>,
    /// `[3 · width]`.
    pub in_proj_bias: Param<Tensor<1>>,
    /// What attention gives is projected by it, `[width, width]`.
    pub out_proj: Affine,
}

/// Weights of one block, as PyTorch's `nn.TransformerEncoderLayer` has them.
#[derive(Module, Debug)]
pub struct TransformerLayer {
    /// Attention.
    pub self_attn: SelfAttention,
    /// First layer of the net, `[hidden, width]`.
    pub linear1: Affine,
    /// Second layer of the net, `[width, hidden]`.
    pub linear2: Affine,
    /// Norm before attention.
    pub norm1: RowNorm,
    /// Norm before the net.
    pub norm2: RowNorm,
}

impl TransformerLayer {
    /// Makes a block of Xavier-uniform weights and zero biases.
    pub(super) fn new(
        options: &TransformerOptions,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let (width, n_hidden) = (options.width, options.hidden_size);
        // As one matrix of 3·width outputs, which is how PyTorch draws it too.
        let weight = initializer.xavier_uniform(3 * width, width, 1.0);
        Self {
            self_attn: SelfAttention {
                in_proj_weight: parameter(weight, [3 * width, width], device),
                in_proj_bias: parameter(vec![0.0; 3 * width], [3 * width], device),
                out_proj: Affine::new(width, width, initializer, device),
            },
            linear1: Affine::new(width, n_hidden, initializer, device),
            linear2: Affine::new(n_hidden, width, initializer, device),
            norm1: RowNorm::new(width, device),
            norm2: RowNorm::new(width, device),
        }
    }

    /// Puts tensors of the kernels' order back into a block, in whatever graph they are.
    pub(super) fn from_flat(flat: [Tensor<1>; 12]) -> Self {
        fn param<const D: usize>(value: Tensor<D>) -> Param<Tensor<D>> {
            Param::initialized(ParamId::new(), value)
        }
        let [
            norm_1,
            norm_1_bias,
            qkv,
            qkv_bias,
            out,
            out_bias,
            norm_2,
            norm_2_bias,
            up,
            up_bias,
            down,
            down_bias,
        ] = flat;
        let width = norm_1.dims()[0];
        let matrix = |flat: Tensor<1>, bias: &Tensor<1>| {
            let n_rows = bias.dims()[0];
            let n_columns = flat.dims()[0] / n_rows;
            param(flat.reshape([n_rows, n_columns]))
        };
        let affine = |flat, bias: Tensor<1>| Affine {
            weight: matrix(flat, &bias),
            bias: param(bias),
        };
        let norm = |weight, bias| RowNorm {
            weight: param(weight),
            bias: param(bias),
        };
        debug_assert_eq!(qkv.dims()[0], 3 * width * width, "queries, keys and values");
        Self {
            self_attn: SelfAttention {
                in_proj_weight: matrix(qkv, &qkv_bias),
                in_proj_bias: param(qkv_bias),
                out_proj: affine(out, out_bias),
            },
            linear1: affine(up, up_bias),
            linear2: affine(down, down_bias),
            norm1: norm(norm_1, norm_1_bias),
            norm2: norm(norm_2, norm_2_bias),
        }
    }

    /// Tensors in the kernels' order, matrices laid flat.
    pub(super) fn flat(&self) -> [Tensor<1>; 12] {
        let flat = |weight: &Param<Tensor<2>>| {
            let weight = weight.val();
            let n = weight.shape().num_elements();
            weight.reshape([n])
        };
        // The order is that of the kernels' fields, which follows the way of a row.
        let attention = &self.self_attn;
        [
            self.norm1.weight.val(),
            self.norm1.bias.val(),
            flat(&attention.in_proj_weight),
            attention.in_proj_bias.val(),
            flat(&attention.out_proj.weight),
            attention.out_proj.bias.val(),
            self.norm2.weight.val(),
            self.norm2.bias.val(),
            flat(&self.linear1.weight),
            self.linear1.bias.val(),
            flat(&self.linear2.weight),
            self.linear2.bias.val(),
        ]
    }
}
