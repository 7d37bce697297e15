//! A recurrent encoder over whole sequences as one node.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels::{
    Draw, EncoderGradients, EncoderInput, EncoderUpstream, PassKind, RecurrentEncoder,
    RecurrentStackOptions,
};

use super::layers::{
    gradient_buffers, layer_gradients, layer_weights, options, parent_gradients, parents,
};
use super::tensors::{Tracked, Values, contiguous, parted, slice, tensor, tracked, values};
use super::workspace::{Held, Lease};
use super::{Form, Pool};
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
pub(crate) fn encode_last(call: &EncoderCall<'_>, form: Form, pass: &Pass) -> Tensor<2> {
    encode(call, Output::Last, form, pass)
}

/// Returns the last layer's states at every valid step, `[batch, time, hidden]`.
pub(crate) fn encode_all(call: &EncoderCall<'_>, form: Form, pass: &Pass) -> Tensor<3> {
    encode(call, Output::All, form, pass)
}

/// Which of the last layer's states are the node's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Last,
    All,
}

fn encode<const D: usize>(
    call: &EncoderCall<'_>,
    output: Output,
    form: Form,
    pass: &Pass,
) -> Tensor<D> {
    let options = options(call.net, call.input.dims()[2], 0.0, pass);
    let weights = parents(call.net).into_iter();
    // Without a graph nothing has to be kept, and the workspace is free at once.
    if form == Form::Plain {
        let weights: Vec<Values> = weights.map(values).collect();
        let input = values(call.input.clone());
        let run = Run {
            options,
            output,
            weights: &weights,
            input: &input,
        };
        return Tensor::from_primitive::<Flex>(run.forward(call, PassKind::Inference).0);
    }
    let parents = std::iter::once(tracked(call.input.clone()))
        .chain(weights.map(tracked))
        .collect();
    // A node's number of parents is part of its type.
    let output = match call.net.layers().len() {
        1 => node::<5>(call, options, output, parents),
        2 => node::<9>(call, options, output, parents),
        3 => node::<13>(call, options, output, parents),
        4 => node::<17>(call, options, output, parents),
        // All layers in one.
        _ => node::<2>(call, options, output, parents),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// The numbers of a call.
struct Run<'a> {
    options: RecurrentStackOptions,
    output: Output,
    weights: &'a [Values],
    input: &'a Values,
}

impl Run<'_> {
    /// Runs forward, and returns the output with the workspace that its way back needs.
    fn forward(
        &self,
        call: &EncoderCall<'_>,
        direction: PassKind,
    ) -> (Values, Lease<RecurrentEncoder>) {
        let ([n_rows, n_steps, _], options) = (call.input.dims(), self.options);
        let mut lease = call.pool.take(
            |encoder| *encoder.options() == options,
            || RecurrentEncoder::new(options).expect("options of a net that exists"),
        );
        let encoder = lease.get();
        let layers = layer_weights(&options, self.weights);
        encoder
            .pack(&layers, direction)
            .expect("weights of a net that exists");
        let batch = EncoderInput::new(slice(self.input), n_rows, n_steps);
        // Steps behind a sequence's end are not computed at all.
        let mut batch = batch.with_lengths(call.lengths);
        batch.draw = call.draw;
        encoder
            .forward(batch)
            .expect("the caller has checked the batch");
        let (n_layers, n_hidden) = (options.n_layers, options.n_hidden);
        // Copied out: the workspace stays with the pass until its way back.
        let output = match self.output {
            Output::Last => {
                let mut hidden = vec![0.0; n_layers * n_rows * n_hidden];
                encoder.hidden(&mut hidden).expect("there was a pass");
                tensor(
                    hidden.split_off((n_layers - 1) * n_rows * n_hidden),
                    [n_rows, n_hidden],
                )
            }
            Output::All => {
                let mut outputs = vec![0.0; n_rows * n_steps * n_hidden];
                encoder.outputs(&mut outputs).expect("there was a pass");
                tensor(outputs, [n_rows, n_steps, n_hidden])
            }
        };
        (output, lease)
    }
}

/// What the way back needs.
#[derive(Debug, Clone)]
struct State {
    encoder: Held<RecurrentEncoder>,
    output: Output,
    input_shape: [usize; 3],
}

#[derive(Debug)]
struct EncodeBackward;

/// Registers the forward pass with its parents: the input, then the weights.
fn node<const N: usize>(
    call: &EncoderCall<'_>,
    options: RecurrentStackOptions,
    output: Output,
    parents: Vec<Tracked>,
) -> Tracked {
    let (numbers, guards) = parted::<N>(parents);
    let mut numbers = numbers.into_iter().map(contiguous);
    let input = numbers.next().expect("the input is first");
    let weights: Vec<Values> = numbers.collect();
    let run = Run {
        options,
        output,
        weights: &weights,
        input: &input,
    };
    let prepared = EncodeBackward.prepare::<NoCheckpointing>(guards);
    match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (numbers, lease) = run.forward(call, PassKind::Training);
            let encoder = Held::new(lease);
            prepared.finish(
                State {
                    encoder,
                    output,
                    input_shape: call.input.dims(),
                },
                numbers,
            )
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run.forward(call, PassKind::Inference).0),
    }
}

impl<const N: usize> Backward<Flex, N> for EncodeBackward {
    type State = State;

    fn backward(self, ops: Ops<State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let State {
            encoder,
            output,
            input_shape: shape,
        } = ops.state;
        let mut input = ops.parents[0]
            .is_some()
            .then(|| vec![0.0; shape.iter().product()]);
        let buffers = encoder.with(|encoder| {
            let options = *encoder.options();
            let mut buffers = gradient_buffers(&options);
            // The layers below are reached through the last one alone.
            let n_below = (options.n_layers - 1) * shape[0] * options.n_hidden;
            let mut hidden = Vec::new();
            let upstream = match output {
                Output::All => EncoderUpstream {
                    outputs: Some(slice(&upstream)),
                    ..EncoderUpstream::default()
                },
                Output::Last => {
                    hidden.resize(n_below, 0.0);
                    hidden.extend_from_slice(slice(&upstream));
                    EncoderUpstream {
                        hidden: Some(&hidden),
                        ..EncoderUpstream::default()
                    }
                }
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
        for (node, buffer) in ops.parents[1..].iter().zip(parent_gradients(buffers)) {
            if let Some(node) = node {
                let n = buffer.len();
                grads.register::<Flex>(node.id, tensor(buffer, [n]));
            }
        }
    }
}
