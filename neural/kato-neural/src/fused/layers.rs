//! Between a recurrent net's tensors and what the kernels take and give.

use burn::tensor::Tensor;
use kato_kernels::{Cell as KernelCell, LayerGradients, LayerWeights, RecurrentStackOptions};

use super::tensors::{Values, slice};
use super::{N_LAYERS, precision};
use crate::Pass;
use crate::layers::{Cell, Recurrent, RecurrentLayer};

/// Says to the kernels what a net is made of.
pub(super) fn options(
    net: &Recurrent,
    n_in: usize,
    output_dropout: f64,
    pass: &Pass,
) -> RecurrentStackOptions {
    let cell = match net.cell() {
        Cell::Vanilla => KernelCell::Tanh,
        Cell::Gru => KernelCell::Gru,
        Cell::Lstm => KernelCell::Lstm,
    };
    RecurrentStackOptions::new(cell, n_in, net.hidden_size())
        .with_layers(net.layers().len())
        .with_dropout(net.dropout() as f32)
        .with_output_dropout(output_dropout as f32)
        .with_precision(precision(pass))
}

/// The weights of a net as parents of a node: four tensors a layer, or all in one.
pub(super) fn parents(net: &Recurrent) -> Vec<Tensor<1>> {
    let weights: Vec<_> = net.layers().iter().flat_map(flat_weights).collect();
    // A node's number of parents is part of its type, so that deep nets are joined into one tensor;
    // the copy is left to them, as it costs some percent of a step.
    if net.layers().len() > N_LAYERS {
        vec![Tensor::cat(weights, 0)]
    } else {
        weights
    }
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

/// How long the tensors of each layer are.
fn lengths(options: &RecurrentStackOptions) -> impl Iterator<Item = [usize; 4]> {
    let n_hidden = options.n_hidden;
    let n_rows = options.cell.n_gates() * n_hidden;
    let n_inputs = options.n_inputs;
    (0..options.n_layers).map(move |layer| {
        // Layers above the first read the states of the one below.
        let n_in = if layer == 0 { n_inputs } else { n_hidden };
        [n_rows * n_in, n_rows * n_hidden, n_rows, n_rows]
    })
}

/// Parents as the kernels take them.
pub(super) fn layer_weights<'a>(
    options: &RecurrentStackOptions,
    weights: &'a [Values],
) -> Vec<LayerWeights<'a>> {
    let mut rest = weights.iter().map(slice);
    let mut joined: &[f32] = &[];
    let is_joined = options.n_layers > N_LAYERS;
    if is_joined {
        joined = rest.next().expect("all layers in one");
    }
    let layers = lengths(options).map(|lengths| {
        let [input, recurrent, input_bias, recurrent_bias] = lengths.map(|length| {
            if !is_joined {
                return rest.next().expect("four tensors a layer");
            }
            let (tensor, others) = joined.split_at(length);
            joined = others;
            tensor
        });
        LayerWeights {
            input,
            recurrent,
            input_bias,
            recurrent_bias,
        }
    });
    layers.collect()
}

/// Room for the gradients of a net's weights, four tensors a layer.
pub(super) fn gradient_buffers(options: &RecurrentStackOptions) -> Vec<[Vec<f32>; 4]> {
    // New each step: the graph takes them away as tensors.
    let layers = lengths(options).map(|lengths| lengths.map(|n| vec![0.0; n]));
    layers.collect()
}

/// Lends the room to the kernels.
pub(super) fn layer_gradients(buffers: &mut [[Vec<f32>; 4]]) -> Vec<LayerGradients<'_>> {
    let layers = buffers.iter_mut();
    layers
        .map(
            |[input, recurrent, input_bias, recurrent_bias]| LayerGradients {
                input,
                recurrent,
                input_bias,
                recurrent_bias,
            },
        )
        .collect()
}

/// Gradients in the order of the [`parents`].
pub(super) fn parent_gradients(buffers: Vec<[Vec<f32>; 4]>) -> Vec<Vec<f32>> {
    // The same rule as for the parents, or gradients would meet other tensors.
    let is_joined = buffers.len() > N_LAYERS;
    let buffers: Vec<Vec<f32>> = buffers.into_iter().flatten().collect();
    if is_joined {
        vec![buffers.concat()]
    } else {
        buffers
    }
}
