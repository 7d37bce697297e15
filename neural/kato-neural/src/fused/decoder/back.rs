//! The way back of a decoder's node.

use burn::backend::Flex;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use kato_kernels::{CrossGradients, DecoderGradients, Memory, RecurrentDecoder, StateGradients};

use crate::fused::layers::{gradient_buffers, layer_gradients, parent_gradients};
use crate::fused::tensors::{Values, contiguous, slice, tensor};
use crate::fused::workspace::Held;

/// What the way back needs.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) decoder: Held<RecurrentDecoder>,
    pub(super) n_rows: usize,
    pub(super) looked: Option<Looked>,
}

/// What a decoder has attended to.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    pub(super) keys: Values,
    pub(super) values: Values,
    pub(super) n_keys: usize,
    pub(super) mask: Vec<bool>,
}

#[derive(Debug)]
pub(super) struct DecodeBackward;

impl<const N: usize> Backward<Flex, N> for DecodeBackward {
    type State = State;

    fn backward(self, ops: Ops<State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let State {
            decoder,
            n_rows,
            looked,
        } = ops.state;
        let buffers =
            decoder.with(|decoder| backward(decoder, n_rows, looked.as_ref(), slice(&upstream)));
        for (node, buffer) in ops.parents.iter().zip(buffers) {
            // Empty where a cell has no memory.
            if let Some(node) = node.as_ref().filter(|_| !buffer.is_empty()) {
                let n = buffer.len();
                grads.register::<Flex>(node.id, tensor(buffer, [n]));
            }
        }
    }
}

/// Computes the gradients of all parents, in their order.
fn backward(
    decoder: &mut RecurrentDecoder,
    n_rows: usize,
    looked: Option<&Looked>,
    upstream: &[f32],
) -> Vec<Vec<f32>> {
    let options = *decoder.options();
    let (width, n_hidden) = (options.n_inputs, options.n_hidden);
    let n_state = options.n_layers * n_rows * n_hidden;
    let n_memory = if options.cell.has_cell_state() {
        n_state
    } else {
        0
    };
    let mut fixed = [width, n_state, n_memory, width * n_hidden, width].map(|n| vec![0.0; n]);
    let mut buffers = gradient_buffers(&options);
    let mut layers = layer_gradients(&mut buffers);
    let [start, hidden, cell, projection, projection_bias] = &mut fixed;
    let mut gradients = DecoderGradients {
        layers: &mut layers,
        projection,
        projection_bias,
        start,
        initial: StateGradients { hidden, cell },
    };
    let mut attending = Vec::new();
    let done = match looked {
        Some(looked) => {
            let n_keys = slice(&looked.keys).len();
            let lengths = [n_hidden * n_hidden, n_hidden];
            let lengths = [lengths, lengths, [n_keys, n_keys]];
            attending.extend(lengths.as_flattened().iter().map(|&n| vec![0.0; n]));
            let mut cross = cross_gradients(&mut attending);
            decoder.backward_attended(upstream, &mut gradients, memory(looked), &mut cross)
        }
        None => decoder.backward(upstream, &mut gradients),
    };
    done.expect("the way back of its own pass");
    fixed
        .into_iter()
        .chain(attending)
        .chain(parent_gradients(buffers))
        .collect()
}

fn memory(looked: &Looked) -> Memory<'_> {
    Memory {
        keys: slice(&looked.keys),
        values: slice(&looked.values),
        n_keys: looked.n_keys,
        mask: Some(&looked.mask),
    }
}

fn cross_gradients(buffers: &mut [Vec<f32>]) -> CrossGradients<'_> {
    let buffers: &mut [Vec<f32>; 6] = buffers.try_into().expect("a buffer a tensor");
    let [query, query_bias, out, out_bias, keys, values] = buffers;
    CrossGradients {
        query,
        query_bias,
        out,
        out_bias,
        keys,
        values,
    }
}
