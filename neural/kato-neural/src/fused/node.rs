//! A block as one node of the graph, which keeps its input alone.

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
/// The rows, and they.
const N_PARENTS: usize = N_TENSORS + 1;

/// What computes a block: from its rows, which it has, and from its weights in the kernels' order.
pub(super) trait BlockRun: Clone + Debug + Send + 'static {
    /// Runs forward.
    fn forward(&self, weights: &[Values]) -> Values;
    /// Computes the gradients of rows and weights.
    fn backward(
        &self,
        weights: &[Values],
        upstream: Values,
    ) -> (Option<Values>, Vec<Option<Values>>);
}

/// Computes a block of rows; `run` makes of the rows what computes it.
pub(super) fn node<R: BlockRun>(
    rows: Tensor<3>,
    weights: [Tensor<1>; N_TENSORS],
    run: impl FnOnce(Values) -> R,
) -> Tensor<3> {
    let parents = [tracked(rows)].into_iter().chain(weights.map(tracked));
    let (numbers, guards) = parted(parents);
    let mut numbers = numbers.into_iter();
    let run = run(numbers.next().expect("the rows are first"));
    // Laid out once; tensors that are so already are shared and not copied.
    let weights: Vec<Values> = numbers.map(contiguous).collect();
    let prepared = BlockBackward(PhantomData).prepare::<NoCheckpointing>(guards);
    let output = run.forward(&weights);
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((run, weights), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

#[derive(Debug)]
struct BlockBackward<R>(PhantomData<fn() -> R>);

impl<R: BlockRun> Backward<Flex, N_PARENTS> for BlockBackward<R> {
    type State = (R, Vec<Values>);

    fn backward(
        self,
        ops: Ops<Self::State, N_PARENTS>,
        grads: &mut Gradients,
        _: &mut Checkpointer,
    ) {
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
