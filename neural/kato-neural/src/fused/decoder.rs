//! A recurrent decoder over whole sequences, scheduled sampling inside, as one node.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels::{
    DecoderGradients, DecoderInput, Draw, Pass as Direction, Projection, RecurrentDecoder,
    RecurrentOptions, State as Initial, StateGradients,
};

use super::encoder::{gradient_buffers, layer_gradients, layer_weights};
use super::tensors::{Tracked, Values, contiguous, slice, tensor, tracked, values};
use super::workspace::{Held, Lease};
use super::{Form, Pool, flat_weights, options};
use crate::Pass;
use crate::layers::{Recurrent, RecurrentState};

/// What a decoder runs over.
pub(crate) struct DecoderCall<'a> {
    pub(crate) net: &'a Recurrent,
    pub(crate) pool: &'a Pool<RecurrentDecoder>,
    /// The first input, `[width]`.
    pub(crate) start: Tensor<1>,
    pub(crate) state: RecurrentState,
    /// Weight `[hidden, width]` and bias of the output layer.
    pub(crate) output: (Tensor<2>, Tensor<1>),
    pub(crate) output_dropout: f64,
    pub(crate) n_steps: usize,
    pub(crate) lengths: Option<&'a [usize]>,
    /// True vectors, `[batch, time, width]`, and which steps are fed with the one before.
    pub(crate) truth: Option<(Tensor<3>, Vec<bool>)>,
    pub(crate) draw: Option<Draw>,
}

/// Tensors that every decoder has beside its layers.
const N_FIXED: usize = 5;

/// Predicts `[batch, n_steps, width]`.
pub(crate) fn decode(call: &DecoderCall<'_>, form: Form, pass: &Pass) -> Tensor<3> {
    let [width] = call.start.dims();
    let options = options(call.net, width, call.output_dropout, pass);
    let weights = call.net.layers().iter().flat_map(flat_weights);
    let (output_weight, output_bias) = call.output.clone();
    let n = output_weight.shape().num_elements();
    // Turned by an operation of the graph, as the kernels have a row an output.
    let output_weight = output_weight.transpose().reshape([n]);
    let n = call.state.hidden.shape().num_elements();
    let hidden = call.state.hidden.clone().reshape([n]);
    // A cell without a memory gets the state once more, whose gradient is not asked for.
    let memory = call
        .state
        .memory
        .clone()
        .map_or_else(|| hidden.clone().detach(), |memory| memory.reshape([n]));
    let fixed = [
        call.start.clone(),
        hidden,
        memory,
        output_weight,
        output_bias,
    ];
    let all = fixed.into_iter().chain(weights);
    let truth = call
        .truth
        .as_ref()
        .map(|(vectors, _)| values(vectors.clone()));
    if form == Form::Plain {
        let all: Vec<Values> = all.map(values).collect();
        let (output, _) = forward(call, options, &all, truth.as_ref(), Direction::Inference);
        return Tensor::from_primitive::<Flex>(output);
    }
    let parents: Vec<Tracked> = all.map(tracked).collect();
    // A node's number of parents is part of its type.
    let output = match call.net.layers().len() {
        1 => node::<9>(call, options, parents, truth.as_ref()),
        2 => node::<13>(call, options, parents, truth.as_ref()),
        3 => node::<17>(call, options, parents, truth.as_ref()),
        _ => node::<21>(call, options, parents, truth.as_ref()),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// Runs forward, and returns the output with the workspace that its way back needs.
fn forward(
    call: &DecoderCall<'_>,
    options: RecurrentOptions,
    tensors: &[Values],
    truth: Option<&Values>,
    direction: Direction,
) -> (Values, Lease<RecurrentDecoder>) {
    let [_, n_rows, _] = call.state.hidden.dims();
    let [start, hidden, memory, weight, bias] = [0, 1, 2, 3, 4].map(|at| slice(&tensors[at]));
    let mut lease = call.pool.take(
        |decoder| *decoder.options() == options,
        || RecurrentDecoder::new(options).expect("options of a net that exists"),
    );
    let decoder = lease.get();
    let layers = layer_weights(&tensors[N_FIXED..]);
    let projection = Projection {
        weights: weight,
        bias,
    };
    decoder
        .pack(&layers, projection, direction)
        .expect("weights of a net that exists");
    // The stand-in of a cell without a memory is not looked at.
    let memory = if options.cell.has_cell_state() {
        memory
    } else {
        &[]
    };
    let initial = Initial {
        hidden,
        cell: memory,
    };
    let mut batch = DecoderInput::new(start, initial, n_rows, call.n_steps);
    batch.draw = call.draw;
    batch.lengths = call.lengths;
    batch.truth = truth
        .zip(call.truth.as_ref())
        .map(|(vectors, (_, steps))| (slice(vectors), &steps[..]));
    let mut predictions = vec![0.0; n_rows * call.n_steps * start.len()];
    decoder
        .forward(batch, &mut predictions)
        .expect("the caller has checked the batch");
    (
        tensor(predictions, [n_rows, call.n_steps, start.len()]),
        lease,
    )
}

/// What the way back needs.
#[derive(Debug, Clone)]
struct State {
    decoder: Held<RecurrentDecoder>,
    n_rows: usize,
}

#[derive(Debug)]
struct DecodeBackward;

/// Registers the forward pass with its parents.
fn node<const N: usize>(
    call: &DecoderCall<'_>,
    options: RecurrentOptions,
    parents: Vec<Tracked>,
    truth: Option<&Values>,
) -> Tracked {
    let guards: Vec<_> = parents.iter().map(Tracked::node).collect();
    let guards: [_; N] = guards.try_into().expect("as many as the match says");
    let tensors: Vec<Values> = parents
        .into_iter()
        .map(|parent| contiguous(parent.into_primitive()))
        .collect();
    let run = |direction| forward(call, options, &tensors, truth, direction);
    let prepared = DecodeBackward.prepare::<NoCheckpointing>(guards);
    match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (output, lease) = run(Direction::Training);
            let [_, n_rows, _] = call.state.hidden.dims();
            prepared.finish(
                State {
                    decoder: Held::new(lease),
                    n_rows,
                },
                output,
            )
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run(Direction::Inference).0),
    }
}

impl<const N: usize> Backward<Flex, N> for DecodeBackward {
    type State = State;

    fn backward(self, ops: Ops<State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let State { decoder, n_rows } = ops.state;
        let buffers = decoder.with(|decoder| backward(decoder, n_rows, slice(&upstream)));
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
fn backward(decoder: &mut RecurrentDecoder, n_rows: usize, upstream: &[f32]) -> Vec<Vec<f32>> {
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
    decoder
        .backward(upstream, &mut gradients)
        .expect("the way back of its own pass");
    fixed
        .into_iter()
        .chain(buffers.into_iter().flatten())
        .collect()
}
