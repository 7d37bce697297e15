//! Whole sequences as one node of Burn's graph each, computed by `kato-kernels`.
//!
//! They serve on the back end flex, in `f32` and bf16, for up to four layers, without gradient
//! checkpointing. Everything else takes the plain form in [`layers`](crate::layers), which is also
//! what these are compared with.

mod decoder;
mod encoder;
mod tensors;
mod workspace;

pub(crate) use decoder::{DecoderCall, decode};
pub(crate) use encoder::{EncoderCall, encode_all, encode_last};
pub(crate) use workspace::Pool;

use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels as kernels;

use crate::layers::{Cell, Recurrent, RecurrentLayer};
use crate::{Pass, Precision};

/// The most layers that a node has parents for.
const N_LAYERS: usize = 4;

/// How the tensors of a call are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Without gradients.
    Plain,
    /// In a graph.
    Graph,
}

/// Returns how a net's call can be fused, or `None` where it has to take Burn's own operations.
pub(crate) fn form(net: &Recurrent, pass: &Pass) -> Option<Form> {
    if !pass.is_fused() || net.layers().len() > N_LAYERS || pass.precision() == Precision::F16 {
        return None;
    }
    // All weights of a net are on one device, so one tells for all.
    let weight = net.layers()[0].weight_hh.val();
    if weight.clone().try_into_primitive::<Flex>().is_ok() {
        return Some(Form::Plain);
    }
    weight
        .try_into_primitive::<Autodiff<Flex>>()
        .is_ok()
        .then_some(Form::Graph)
}

/// Says to the kernels what a net is made of.
fn options(
    net: &Recurrent,
    n_in: usize,
    output_dropout: f64,
    pass: &Pass,
) -> kernels::RecurrentOptions {
    let cell = match net.cell() {
        Cell::Vanilla => kernels::Cell::Tanh,
        Cell::Gru => kernels::Cell::Gru,
        Cell::Lstm => kernels::Cell::Lstm,
    };
    let precision = match pass.precision() {
        Precision::Bf16 => kernels::Precision::Bf16,
        _ => kernels::Precision::F32,
    };
    kernels::RecurrentOptions::new(cell, n_in, net.hidden_size())
        .with_layers(net.layers().len())
        .with_dropout(net.dropout() as f32)
        .with_output_dropout(output_dropout as f32)
        .with_precision(precision)
}

/// Tensors of a layer in the kernels' order, matrices laid flat.
fn flat_weights(layer: &RecurrentLayer) -> [Tensor<1>; 4] {
    let flat = |weight: Tensor<2>| {
        let n = weight.shape().num_elements();
        weight.reshape([n])
    };
    [
        flat(layer.weight_ih.val()),
        flat(layer.weight_hh.val()),
        layer.bias_ih.val(),
        layer.bias_hh.val(),
    ]
}
