//! Names the weights of a transformer block, and packs them.

use super::options::BlockOptions;
use crate::error::{Error, check};
use crate::panels::Panels;
use crate::recurrent::PassKind;

/// Number of tensors of a block.
pub(super) const N_TENSORS: usize = 12;

/// Tensors of a transformer block: [weights](BlockWeights), or [their gradients](BlockGradients). A linear layer's are
/// `[outputs, inputs]`, as in PyTorch.
#[derive(Clone, Copy, Debug)]
pub struct BlockTensors<T> {
    /// Gain of the norm before attention, `[width]`.
    pub norm_1: T,
    /// Its bias.
    pub norm_1_bias: T,
    /// Queries, keys and values, one below the other, `[3 · width, width]`.
    pub qkv: T,
    /// Their bias.
    pub qkv_bias: T,
    /// Projection of attention's outputs, `[width, width]`.
    pub out: T,
    /// Its bias.
    pub out_bias: T,
    /// Gain of the norm before the feed-forward net, `[width]`.
    pub norm_2: T,
    /// Its bias.
    pub norm_2_bias: T,
    /// First layer of that net, `[hidden, width]`.
    pub up: T,
    /// Its bias.
    pub up_bias: T,
    /// Second layer, `[width, hidden]`.
    pub down: T,
    /// Its bias.
    pub down_bias: T,
}

/// Weights of a transformer block.
pub type BlockWeights<'a> = BlockTensors<&'a [f32]>;

/// Where gradients of [`BlockWeights`] go; what was there is overwritten.
pub type BlockGradients<'a> = BlockTensors<&'a mut [f32]>;

impl<T> BlockTensors<T> {
    /// Names tensors that stand in the order of the fields.
    #[must_use]
    pub fn from_tensors(tensors: [T; N_TENSORS]) -> Self {
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
    pub(super) const fn tensors(&mut self) -> [&mut T; N_TENSORS] {
        [
            &mut self.norm_1,
            &mut self.norm_1_bias,
            &mut self.qkv,
            &mut self.qkv_bias,
            &mut self.out,
            &mut self.out_bias,
            &mut self.norm_2,
            &mut self.norm_2_bias,
            &mut self.up,
            &mut self.up_bias,
            &mut self.down,
            &mut self.down_bias,
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
