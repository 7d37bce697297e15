//! Names the weights of a transformer block, and packs them.

use super::options::BlockOptions;
use crate::error::{Error, check};
use crate::panels::Panels;
use crate::recurrent::PassKind;

/// Number of tensors of a block.
pub(super) const N_TENSORS: usize = 12;

/// Weights of a transformer block; a linear layer's are `[outputs, inputs]`, as in PyTorch.
#[derive(Clone, Copy, Debug)]
pub struct BlockWeights<'a> {
    /// Gain of the norm before attention, `[width]`.
    pub norm_1: &'a [f32],
    /// Its bias.
    pub norm_1_bias: &'a [f32],
    /// Queries, keys and values, one below the other, `[3 · width, width]`.
    pub qkv: &'a [f32],
    /// Their bias.
    pub qkv_bias: &'a [f32],
    /// Projection of attention's outputs, `[width, width]`.
    pub out: &'a [f32],
    /// Its bias.
    pub out_bias: &'a [f32],
    /// Gain of the norm before the feed-forward net, `[width]`.
    pub norm_2: &'a [f32],
    /// Its bias.
    pub norm_2_bias: &'a [f32],
    /// First layer of that net, `[hidden, width]`.
    pub up: &'a [f32],
    /// Its bias.
    pub up_bias: &'a [f32],
    /// Second layer, `[width, hidden]`.
    pub down: &'a [f32],
    /// Its bias.
    pub down_bias: &'a [f32],
}

/// Where gradients of [`BlockWeights`] go; what was there is overwritten.
#[derive(Debug)]
pub struct BlockGradients<'a> {
    /// Of the gain of the norm before attention.
    pub norm_1: &'a mut [f32],
    /// Of its bias.
    pub norm_1_bias: &'a mut [f32],
    /// Of queries, keys and values.
    pub qkv: &'a mut [f32],
    /// Of their bias.
    pub qkv_bias: &'a mut [f32],
    /// Of the projection of attention's outputs.
    pub out: &'a mut [f32],
    /// Of its bias.
    pub out_bias: &'a mut [f32],
    /// Of the gain of the norm before the feed-forward net.
    pub norm_2: &'a mut [f32],
    /// Of its bias.
    pub norm_2_bias: &'a mut [f32],
    /// Of that net's first layer.
    pub up: &'a mut [f32],
    /// Of its bias.
    pub up_bias: &'a mut [f32],
    /// Of the second layer.
    pub down: &'a mut [f32],
    /// Of its bias.
    pub down_bias: &'a mut [f32],
}

impl<'a> BlockWeights<'a> {
    /// Names tensors that stand in the order of the fields.
    #[must_use]
    pub const fn from_tensors(tensors: [&'a [f32]; N_TENSORS]) -> Self {
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
        ] = tensors;
        Self {
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
        }
    }

    /// Returns the tensors in the order of their fields.
    pub(super) const fn tensors(&self) -> [&[f32]; N_TENSORS] {
        [
            self.norm_1,
            self.norm_1_bias,
            self.qkv,
            self.qkv_bias,
            self.out,
            self.out_bias,
            self.norm_2,
            self.norm_2_bias,
            self.up,
            self.up_bias,
            self.down,
            self.down_bias,
        ]
    }
}

impl<'a> BlockGradients<'a> {
    /// Names room for gradients that stands in the order of the fields.
    #[must_use]
    pub const fn from_tensors(tensors: [&'a mut [f32]; N_TENSORS]) -> Self {
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
        ] = tensors;
        Self {
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
        }
    }

    /// Returns the tensors in the order of their fields.
    pub(super) const fn tensors(&mut self) -> [&mut [f32]; N_TENSORS] {
        [
            self.norm_1,
            self.norm_1_bias,
            self.qkv,
            self.qkv_bias,
            self.out,
            self.out_bias,
            self.norm_2,
            self.norm_2_bias,
            self.up,
            self.up_bias,
            self.down,
            self.down_bias,
        ]
    }
}

/// Returns the lengths of a block's tensors.
pub(super) const fn lengths(options: &BlockOptions) -> [usize; N_TENSORS] {
    let (d, f) = (options.width, options.n_hidden);
    [d, d, 3 * d * d, 3 * d, d * d, d, d, d, f * d, f, d * f, d]
}

/// Checks that tensors have their lengths.
pub(super) fn check_lengths(
    options: &BlockOptions,
    found: [usize; N_TENSORS],
) -> Result<(), Error> {
    const NAMES: [(&str, &str); N_TENSORS] = [
        ("norm_1", "width"),
        ("norm_1_bias", "width"),
        ("qkv", "3 · width × width"),
        ("qkv_bias", "3 · width"),
        ("out", "width × width"),
        ("out_bias", "width"),
        ("norm_2", "width"),
        ("norm_2_bias", "width"),
        ("up", "hidden × width"),
        ("up_bias", "hidden"),
        ("down", "width × hidden"),
        ("down_bias", "width"),
    ];
    for (((name, shape), found), expected) in NAMES.into_iter().zip(found).zip(lengths(options)) {
        check(name, shape, found, expected)?;
    }
    Ok(())
}

/// Linear layer, packed in both directions.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) forward: Panels,
    pub(super) back: Panels,
    pub(super) bias: Vec<f32>,
    pub(super) n: usize,
    pub(super) k: usize,
}

impl Packed {
    /// Begins without weights, for `n` outputs of `k` inputs.
    pub(super) const fn new(options: &BlockOptions, n: usize, k: usize) -> Self {
        let forward = Panels::new(options.instructions, options.precision);
        let back = Panels::new(options.instructions, options.precision);
        Self {
            forward,
            back,
            bias: Vec::new(),
            n,
            k,
        }
    }

    /// Packs the weights.
    pub(super) fn pack(&mut self, weights: &[f32], bias: &[f32], pass: PassKind) {
        self.forward.pack_rows(weights, self.n, self.k, |row| row);
        // Inference never multiplies back.
        if pass == PassKind::Training {
            self.back.pack_columns(weights, self.n, self.k, |row| row);
        }
        self.bias.clear();
        self.bias.extend_from_slice(bias);
    }
}

/// All weights of a block, packed.
#[derive(Debug)]
pub(super) struct PackedBlock {
    /// Gain and bias of the norms.
    pub(super) norms: [[Vec<f32>; 2]; 2],
    pub(super) qkv: Packed,
    pub(super) out: Packed,
    pub(super) up: Packed,
    pub(super) down: Packed,
}

impl PackedBlock {
    /// Begins without weights.
    pub(super) const fn new(options: &BlockOptions) -> Self {
        let (d, f) = (options.width, options.n_hidden);
        Self {
            norms: [const { [const { Vec::new() }; 2] }; 2],
            qkv: Packed::new(options, 3 * d, d),
            out: Packed::new(options, d, d),
            up: Packed::new(options, f, d),
            down: Packed::new(options, d, f),
        }
    }

    /// Packs the weights.
    pub(super) fn pack(&mut self, weights: &BlockWeights<'_>, pass: PassKind) {
        // Copies: weights may change while what was packed is still in use.
        let norms = [
            [weights.norm_1, weights.norm_1_bias],
            [weights.norm_2, weights.norm_2_bias],
        ];
        for (to, from) in self.norms.iter_mut().flatten().zip(norms.iter().flatten()) {
            to.clear();
            to.extend_from_slice(from);
        }
        self.qkv.pack(weights.qkv, weights.qkv_bias, pass);
        self.out.pack(weights.out, weights.out_bias, pass);
        self.up.pack(weights.up, weights.up_bias, pass);
        self.down.pack(weights.down, weights.down_bias, pass);
    }
}
