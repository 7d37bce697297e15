//! A block whose weights replicas have divided, as one node: they are gathered for each direction.

use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;

use super::node::BlockRun;
use super::tensors::{Values, contiguous, parted, tracked};
use crate::divided::DividedBlocks;

/// One of the blocks that are divided.
#[derive(Debug, Clone)]
pub(crate) struct DividedBlock {
    /// Weak, as a graph that nobody goes back through stays for a while: it must not keep this replica in the group.
    pub(crate) blocks: Weak<DividedBlocks>,
    pub(crate) number: usize,
    /// Whether its weights are learned.
    pub(crate) learns: bool,
}

impl DividedBlock {
    fn blocks(&self) -> Arc<DividedBlocks> {
        let blocks = self.blocks.upgrade();
        blocks.expect("the trainer has them as long as its step runs")
    }

    fn weights(&self) -> Vec<Values> {
        self.blocks().weights(self.number)
    }
}

/// Computes a block of rows; `run` makes of the rows what computes it.
pub(super) fn divided<R: BlockRun>(
    block: DividedBlock,
    rows: Tensor<3>,
    run: impl FnOnce(Values) -> R,
) -> Tensor<3> {
    let has_graph = block.learns || rows.is_autodiff();
    // Weights are no parents here: rows have to lead back to them.
    let rows = match block.learns && !rows.is_tracked() {
        true => Tensor::from_inner(rows.without_autodiff()).require_grad(),
        false => rows,
    };
    let (numbers, guards) = parted::<1>([tracked(rows)]);
    let numbers = numbers.into_iter().map(contiguous).next();
    let mut run = run(numbers.expect("the rows are all"));
    let prepared = DividedBackward(PhantomData).prepare::<NoCheckpointing>(guards);
    let output = contiguous(run.forward(&block.weights(), true));
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((run, block), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    let output = Tensor::from_primitive::<Autodiff<Flex>>(output);
    match has_graph {
        true => output,
        // Numbers alone would not meet others that are in a graph.
        false => output.without_autodiff(),
    }
}

#[derive(Debug)]
struct DividedBackward<R>(PhantomData<fn() -> R>);

impl<R: BlockRun> Backward<Flex, 1> for DividedBackward<R> {
    type State = (R, DividedBlock);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let (run, block) = ops.state;
        let (rows, weights) = run.backward(&block.weights(), upstream);
        if block.learns {
            let all = weights
                .into_iter()
                .map(|weight| contiguous(weight.expect("a block uses all its tensors")));
            block.blocks().add(block.number, all.collect());
        }
        if let Some((node, rows)) = ops.parents[0].as_ref().zip(rows) {
            grads.register::<Flex>(node.id, rows);
        }
    }
}
