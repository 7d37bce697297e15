//! A recurrent decoder over whole sequences, scheduled sampling and attention inside, as one node.

mod back;

use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::ops::{Backward, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels::{
    CrossAttentionWeights, DecoderInput, Draw, Memory, PassKind, Projection, RecurrentDecoder,
    RecurrentStackOptions, State as Initial,
};

use super::layers::{layer_weights, options, parents};
use super::tensors::{Tracked, Values, contiguous, parted, slice, tensor, tracked, values};
use super::workspace::{Held, Lease};
use super::{Form, Pool};
use crate::Pass;
use crate::layers::{Recurrent, RecurrentState};
use back::{DecodeBackward, Looked, State};

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
    pub(crate) attending: Option<Attending<'a>>,
}

/// What a decoder attends to, and by which weights.
pub(crate) struct Attending<'a> {
    pub(crate) n_heads: usize,
    /// Of queries and of the projection: matrix and bias each, laid flat.
    pub(crate) weights: [Tensor<1>; 4],
    /// Keys and values, laid flat.
    pub(crate) memory: [Tensor<1>; 2],
    pub(crate) n_keys: usize,
    /// Keys that count, `[batch, keys]`.
    pub(crate) mask: &'a [bool],
}

/// Tensors that every decoder has beside its layers.
const N_FIXED: usize = 5;
/// Tensors of one that attends: its weights, keys and values.
const N_ATTENDING: usize = 6;

/// Predicts `[batch, n_steps, width]`.
pub(crate) fn decode(call: &DecoderCall<'_>, form: Form, pass: &Pass) -> Tensor<3> {
    let [width] = call.start.dims();
    let options = options(call.net, width, call.output_dropout, pass);
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
    let attending = call.attending.iter();
    let attending =
        attending.flat_map(|attending| attending.weights.iter().chain(&attending.memory).cloned());
    let all = fixed.into_iter().chain(attending).chain(parents(call.net));
    // A constant of the graph: no gradient flows into what is true.
    let truth = call
        .truth
        .as_ref()
        .map(|(vectors, _)| values(vectors.clone()));
    // Without a graph nothing has to be kept, and the workspace is free at once.
    if form == Form::Plain {
        let all: Vec<Values> = all.map(values).collect();
        let (output, _) = forward(call, options, &all, truth.as_ref(), PassKind::Inference);
        return Tensor::from_primitive::<Flex>(output);
    }
    let parents: Vec<Tracked> = all.map(tracked).collect();
    // A node's number of parents is part of its type.
    let output = match parents.len() {
        6 => node::<6>(call, options, parents, truth.as_ref()),
        9 => node::<9>(call, options, parents, truth.as_ref()),
        12 => node::<12>(call, options, parents, truth.as_ref()),
        13 => node::<13>(call, options, parents, truth.as_ref()),
        15 => node::<15>(call, options, parents, truth.as_ref()),
        17 => node::<17>(call, options, parents, truth.as_ref()),
        19 => node::<19>(call, options, parents, truth.as_ref()),
        21 => node::<21>(call, options, parents, truth.as_ref()),
        23 => node::<23>(call, options, parents, truth.as_ref()),
        27 => node::<27>(call, options, parents, truth.as_ref()),
        n => unreachable!("5, and 6 of attention, and 1 or 4 a layer of up to 4, are not {n}"),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// Runs forward, and returns the output with the workspace that its way back needs.
fn forward(
    call: &DecoderCall<'_>,
    options: RecurrentStackOptions,
    tensors: &[Values],
    truth: Option<&Values>,
    direction: PassKind,
) -> (Values, Lease<RecurrentDecoder>) {
    let [_, n_rows, _] = call.state.hidden.dims();
    let [start, hidden, memory, weight, bias] = [0, 1, 2, 3, 4].map(|at| slice(&tensors[at]));
    let mut lease = call.pool.take(
        |decoder| *decoder.options() == options,
        || RecurrentDecoder::new(options).expect("options of a net that exists"),
    );
    let decoder = lease.get();
    let n_attending = call.attending.as_ref().map_or(0, |_| N_ATTENDING);
    let (attending, layers) = tensors[N_FIXED..].split_at(n_attending);
    let layers = layer_weights(&options, layers);
    let projection = Projection {
        weights: weight,
        bias,
    };
    decoder
        .pack(&layers, projection, direction)
        .expect("weights of a net that exists");
    if let Some(call) = &call.attending {
        decoder
            .pack_attention(cross_attention(call, attending), direction)
            .expect("weights of a net that exists");
    }
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
    batch.memory = call.attending.as_ref().map(|call| Memory {
        keys: slice(&attending[4]),
        values: slice(&attending[5]),
        n_keys: call.n_keys,
        mask: Some(call.mask),
    });
    let mut predictions = vec![0.0; n_rows * call.n_steps * start.len()];
    decoder
        .forward(batch, &mut predictions)
        .expect("the caller has checked the batch");
    (
        tensor(predictions, [n_rows, call.n_steps, start.len()]),
        lease,
    )
}

/// The weights of attention as the kernels take them.
fn cross_attention<'a>(call: &Attending<'_>, tensors: &'a [Values]) -> CrossAttentionWeights<'a> {
    CrossAttentionWeights {
        n_heads: call.n_heads,
        query: slice(&tensors[0]),
        query_bias: slice(&tensors[1]),
        out: slice(&tensors[2]),
        out_bias: slice(&tensors[3]),
    }
}

/// Registers the forward pass with its parents.
fn node<const N: usize>(
    call: &DecoderCall<'_>,
    options: RecurrentStackOptions,
    parents: Vec<Tracked>,
    truth: Option<&Values>,
) -> Tracked {
    let (numbers, guards) = parted::<N>(parents);
    let tensors: Vec<Values> = numbers.into_iter().map(contiguous).collect();
    let run = |direction| forward(call, options, &tensors, truth, direction);
    let prepared = DecodeBackward.prepare::<NoCheckpointing>(guards);
    match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (output, lease) = run(PassKind::Training);
            let [_, n_rows, _] = call.state.hidden.dims();
            prepared.finish(
                State {
                    decoder: Held::new(lease),
                    n_rows,
                    looked: call.attending.as_ref().map(|call| Looked {
                        keys: tensors[N_FIXED + 4].clone(),
                        values: tensors[N_FIXED + 5].clone(),
                        n_keys: call.n_keys,
                        mask: call.mask.to_vec(),
                    }),
                },
                output,
            )
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run(PassKind::Inference).0),
    }
}
