//! Blocks as one node of the graph, which keeps the first one's input alone.

use std::fmt::Debug;
use std::marker::PhantomData;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;

use super::tensors::{Values, contiguous, parted, tracked};

/// Tensors of a block.
pub(super) const N_TENSORS: usize = 12;
/// The most blocks of a node: how many parents it has is part of its type.
pub(super) const MAX_BLOCKS: usize = 4;

/// What computes blocks: from the first one's rows, which it has, and from their weights in the kernels' order.
pub(super) trait BlockRun: Clone + Debug + Send + 'static {
    /// Runs forward; where it goes back afterwards, it may keep what shortens the way.
    fn forward(&mut self, weights: &[Values], goes_back: bool) -> Values;
    /// Computes the gradients of rows and weights.
    fn backward(
        &self,
        weights: &[Values],
        upstream: Values,
    ) -> (Option<Values>, Vec<Option<Values>>);
}

/// Computes blocks of rows; `run` makes of the rows what computes them.
pub(super) fn node<R: BlockRun>(
    rows: Tensor<3>,
    weights: Vec<Tensor<1>>,
    run: impl FnOnce(Values) -> R,
) -> Tensor<3> {
    // The rows are a parent too.
    match weights.len() / N_TENSORS {
        1 => node_of::<R, { N_TENSORS + 1 }>(rows, weights, run),
        2 => node_of::<R, { 2 * N_TENSORS + 1 }>(rows, weights, run),
        3 => node_of::<R, { 3 * N_TENSORS + 1 }>(rows, weights, run),
        _ => node_of::<R, { MAX_BLOCKS * N_TENSORS + 1 }>(rows, weights, run),
    }
}

fn node_of<R: BlockRun, const N: usize>(
    rows: Tensor<3>,
    weights: Vec<Tensor<1>>,
    run: impl FnOnce(Values) -> R,
) -> Tensor<3> {
    let parents = [tracked(rows)]
        .into_iter()
        .chain(weights.into_iter().map(tracked));
    let (numbers, guards) = parted::<N>(parents);
    let mut numbers = numbers.into_iter();
    let mut run = run(numbers.next().expect("the rows are first"));
    // Laid out once; tensors that are so already are shared and not copied.
    let weights: Vec<Values> = numbers.map(contiguous).collect();
    let prepared = BlockBackward::<R, N>(PhantomData).prepare::<NoCheckpointing>(guards);
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let output = run.forward(&weights, true);
            prepared.finish((run, weights), output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run.forward(&weights, false)),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

#[derive(Debug)]
struct BlockBackward<R, const N: usize>(PhantomData<fn() -> R>);

impl<R: BlockRun, const N: usize> Backward<Flex, N> for BlockBackward<R, N> {
    type State = (R, Vec<Values>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let (run, weights) = ops.state;
        let (rows, weights) = run.backward(&weights, upstream);
        let found = [rows].into_iter().chain(weights);
        for (node, found) in ops.parents.iter().zip(found) {
            // The first block of a model may stand on a constant.
            if let Some((node, found)) = node.as_ref().zip(found) {
                grads.register::<Flex>(node.id, found);
            }
        }
    }
}
