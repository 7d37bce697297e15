//! A recurrent encoder over whole sequences as one node.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels::{
    Draw, EncoderGradients, EncoderInput, EncoderUpstream, LayerGradients, LayerWeights,
    Pass as Direction, RecurrentEncoder, RecurrentOptions,
};

use super::tensors::{Tracked, Values, contiguous, slice, tensor, tracked, values};
use super::workspace::{Held, Lease};
use super::{Form, Pool, flat_weights, options};
use crate::Pass;
use crate::layers::Recurrent;

/// What an encoder runs over.
pub(crate) struct EncoderCall<'a> {
    pub(crate) net: &'a Recurrent,
    pub(crate) pool: &'a Pool<RecurrentEncoder>,
    /// `[batch, time, input]`.
    pub(crate) input: Tensor<3>,
    pub(crate) lengths: &'a [usize],
    pub(crate) draw: Option<Draw>,
}

/// Returns the last layer's state at each sequence's last valid step, `[batch, hidden]`.
pub(crate) fn encode(call: &EncoderCall<'_>, form: Form, pass: &Pass) -> Tensor<2> {
    let options = options(call.net, call.input.dims()[2], 0.0, pass);
    let weights = call.net.layers().iter().flat_map(flat_weights);
    if form == Form::Plain {
        let weights: Vec<Values> = weights.map(values).collect();
        let input = values(call.input.clone());
        let (output, _) = forward(call, options, &weights, &input, Direction::Inference);
        return Tensor::from_primitive::<Flex>(output);
    }
    let parents: Vec<Tracked> = std::iter::once(tracked(call.input.clone()))
        .chain(weights.map(tracked))
        .collect();
    // A node's number of parents is part of its type.
    let output = match call.net.layers().len() {
        1 => node::<5>(call, options, parents),
        2 => node::<9>(call, options, parents),
        3 => node::<13>(call, options, parents),
        _ => node::<17>(call, options, parents),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// Runs forward, and returns the output with the workspace that its way back needs.
fn forward(
    call: &EncoderCall<'_>,
    options: RecurrentOptions,
    weights: &[Values],
    input: &Values,
    direction: Direction,
) -> (Values, Lease<RecurrentEncoder>) {
    let [n_rows, n_steps, _] = call.input.dims();
    let mut lease = call.pool.take(
        |encoder| *encoder.options() == options,
        || RecurrentEncoder::new(options).expect("options of a net that exists"),
    );
    let encoder = lease.get();
    let layers = layer_weights(weights);
    encoder
        .pack(&layers, direction)
        .expect("weights of a net that exists");
    let mut batch = EncoderInput::new(slice(input), n_rows, n_steps).with_lengths(call.lengths);
    batch.draw = call.draw;
    encoder
        .forward(batch)
        .expect("the caller has checked the batch");
    let (n_layers, n_hidden) = (options.n_layers, options.n_hidden);
    let mut hidden = vec![0.0; n_layers * n_rows * n_hidden];
    encoder.hidden(&mut hidden).expect("there was a pass");
    let last = hidden.split_off((n_layers - 1) * n_rows * n_hidden);
    (tensor(last, [n_rows, n_hidden]), lease)
}

/// Four tensors a layer, as the kernels take them.
pub(crate) fn layer_weights(weights: &[Values]) -> Vec<LayerWeights<'_>> {
    let layers = weights.chunks_exact(4);
    layers
        .map(|layer| LayerWeights {
            input: slice(&layer[0]),
            recurrent: slice(&layer[1]),
            input_bias: slice(&layer[2]),
            recurrent_bias: slice(&layer[3]),
        })
        .collect()
}

/// Room for the gradients of a net's weights, four tensors a layer.
pub(crate) fn gradient_buffers(options: &RecurrentOptions) -> Vec<[Vec<f32>; 4]> {
    let n_rows = options.cell.n_gates() * options.n_hidden;
    (0..options.n_layers)
        .map(|layer| {
            let n_in = if layer == 0 {
                options.n_inputs
            } else {
                options.n_hidden
            };
            [n_rows * n_in, n_rows * options.n_hidden, n_rows, n_rows].map(|n| vec![0.0; n])
        })
        .collect()
}

/// Lends the room to the kernels.
pub(crate) fn layer_gradients(buffers: &mut [[Vec<f32>; 4]]) -> Vec<LayerGradients<'_>> {
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

/// What the way back needs.
#[derive(Debug, Clone)]
struct State {
    encoder: Held<RecurrentEncoder>,
    input_shape: [usize; 3],
}

#[derive(Debug)]
struct EncodeBackward;

/// Registers the forward pass with its parents: the input, then four tensors a layer.
fn node<const N: usize>(
    call: &EncoderCall<'_>,
    options: RecurrentOptions,
    parents: Vec<Tracked>,
) -> Tracked {
    let guards: Vec<_> = parents.iter().map(Tracked::node).collect();
    let guards: [_; N] = guards.try_into().expect("as many as the match says");
    let mut numbers = parents
        .into_iter()
        .map(|parent| contiguous(parent.into_primitive()));
    let input = numbers.next().expect("the input is first");
    let weights: Vec<Values> = numbers.collect();
    let run = |direction| forward(call, options, &weights, &input, direction);
    let prepared = EncodeBackward.prepare::<NoCheckpointing>(guards);
    match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (output, lease) = run(Direction::Training);
            let state = State {
                encoder: Held::new(lease),
                input_shape: call.input.dims(),
            };
            prepared.finish(state, output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run(Direction::Inference).0),
    }
}

impl<const N: usize> Backward<Flex, N> for EncodeBackward {
    type State = State;

    fn backward(self, ops: Ops<State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let (encoder, shape) = (ops.state.encoder, ops.state.input_shape);
        let mut input = ops.parents[0]
            .is_some()
            .then(|| vec![0.0; shape.iter().product()]);
        let buffers = encoder.with(|encoder| {
            let options = *encoder.options();
            let mut buffers = gradient_buffers(&options);
            // The layers below are reached through the last one alone.
            let n_below = (options.n_layers - 1) * shape[0] * options.n_hidden;
            let mut hidden = vec![0.0; n_below];
            hidden.extend_from_slice(slice(&upstream));
            let upstream = EncoderUpstream {
                hidden: Some(&hidden),
                ..EncoderUpstream::default()
            };
            let mut layers = layer_gradients(&mut buffers);
            let mut gradients = EncoderGradients {
                layers: &mut layers,
                inputs: input.as_deref_mut(),
                initial: None,
            };
            encoder
                .backward(upstream, &mut gradients)
                .expect("the way back of its own pass");
            buffers
        });
        if let (Some(node), Some(input)) = (&ops.parents[0], input) {
            grads.register::<Flex>(node.id, tensor(input, shape));
        }
        for (node, buffer) in ops.parents[1..].iter().zip(buffers.into_iter().flatten()) {
            if let Some(node) = node {
                let n = buffer.len();
                grads.register::<Flex>(node.id, tensor(buffer, [n]));
            }
        }
    }
}
