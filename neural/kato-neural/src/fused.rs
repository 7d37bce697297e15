//! Whole sequences as one node of Burn's graph each, computed by `kato-kernels`.
//!
//! They serve on the back end flex, in `f32` and bf16, without Burn's gradient checkpointing.
//! Everything else takes the plain form in [`layers`](crate::layers), which is also what these are
//! compared with.

mod block;
mod decoder;
mod divided;
mod encoder;
mod layers;
mod node;
mod recomputed;
pub(crate) mod tensors;
mod workspace;

pub(crate) use block::{BlockCall, blocks, blocks_at_once, divided_block};
pub(crate) use decoder::{Attending, DecoderCall, decode};
pub(crate) use divided::DividedBlock;
pub(crate) use encoder::{EncoderCall, encode_all, encode_last};
pub(crate) use recomputed::{divided_recomputed, recomputed};
pub(crate) use workspace::Pool;

use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels as kernels;

use crate::{Pass, Precision};

/// The most layers of which a node has each tensor as a parent.
const N_LAYERS: usize = 4;

/// How the tensors of a call are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Without gradients.
    Plain,
    /// In a graph.
    Graph,
}

/// Returns how a call over layers of such weights can be fused, or `None` where it has to take Burn's
/// own operations. All weights of a layer are on one device, so that one tells for all.
pub(crate) fn form<const D: usize>(weight: &Tensor<D>, pass: &Pass) -> Option<Form> {
    // The kernels have no products of half precision.
    if !pass.is_fused() || pass.precision() == Precision::F16 {
        return None;
    }
    form_of(weight)
}

/// Returns how a tensor of the back end flex is kept; `None` where it is on another one.
pub(crate) fn form_of<const D: usize>(weight: &Tensor<D>) -> Option<Form> {
    // Asked of a tensor, as a device says only its kind and not whether a graph lies above.
    if weight.clone().try_into_primitive::<Flex>().is_ok() {
        return Some(Form::Plain);
    }
    weight
        .clone()
        .try_into_primitive::<Autodiff<Flex>>()
        .is_ok()
        .then_some(Form::Graph)
}

/// Says to the kernels how products are computed.
pub(crate) const fn precision(pass: &Pass) -> kernels::Precision {
    match pass.precision() {
        Precision::Bf16 => kernels::Precision::Bf16,
        _ => kernels::Precision::F32,
    }
}
