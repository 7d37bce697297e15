//! A block in Burn's own operations as one node, which keeps its input alone.

use std::fmt;
use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;

use super::block::{N_PARENTS, N_TENSORS};
use super::divided::{BlockRun, DividedBlock, divided};
use super::tensors::{Values, contiguous, parted, tracked};

/// What a block computes from its rows and its tensors, laid flat.
type Compute = dyn Fn(Tensor<3>, [Tensor<1>; N_TENSORS]) -> Tensor<3> + Send + Sync;

/// Runs a block without a graph, and once more with one on the way back. Outputs and gradients have the bits of a
/// block that is in the graph.
pub(crate) fn recomputed(
    rows: Tensor<3>,
    weights: [Tensor<1>; N_TENSORS],
    compute: Arc<Compute>,
) -> Tensor<3> {
    let parents = [tracked(rows)].into_iter().chain(weights.map(tracked));
    let (numbers, guards) = parted(parents);
    let mut numbers = numbers.into_iter();
    let rows = numbers.next().expect("the rows are first");
    let run = Run {
        rows,
        weights: numbers.collect(),
        compute,
    };
    let prepared = RecomputedBackward.prepare::<NoCheckpointing>(guards);
    let output = run.forward();
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(run, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// Runs a block whose weights replicas have divided: without a graph, and once more with one on the way back.
pub(crate) fn divided_recomputed(
    rows: Tensor<3>,
    compute: Arc<Compute>,
    block: DividedBlock,
) -> Tensor<3> {
    divided(block, rows, |rows| Run {
        rows,
        weights: Vec::new(),
        compute,
    })
}

#[derive(Clone)]
struct Run {
    rows: Values,
    weights: Vec<Values>,
    compute: Arc<Compute>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl BlockRun for Run {
    fn with_weights(&self, weights: Vec<Values>) -> Self {
        Self {
            weights,
            ..self.clone()
        }
    }

    fn output(&self) -> Values {
        contiguous(self.forward())
    }

    fn gradients(&self, upstream: Values) -> (Option<Values>, Vec<Values>) {
        let (rows, weights) = self.backward(upstream);
        let weights =
            weights.map(|weight| contiguous(weight.expect("a block uses all its tensors")));
        (rows, weights.into())
    }
}

impl Run {
    fn rows(&self) -> Tensor<3> {
        Tensor::from_primitive::<Flex>(self.rows.clone())
    }

    fn weights(&self) -> [Tensor<1>; N_TENSORS] {
        let weights = self.weights.iter();
        let weights = weights.map(|weight| Tensor::from_primitive::<Flex>(weight.clone()));
        let weights: Vec<Tensor<1>> = weights.collect();
        weights.try_into().expect("the block's tensors")
    }

    /// Runs forward by the operations that a graph has, and records none: outside of one the back end's softmax
    /// is another, whose sums differ in their last bits.
    fn forward(&self) -> Values {
        let rows = Tensor::from_inner(self.rows());
        let weights = self.weights().map(Tensor::from_inner);
        numbers((self.compute)(rows, weights).without_autodiff())
    }

    /// Computes the gradients of rows and weights by a graph of their own.
    fn backward(&self, upstream: Values) -> (Option<Values>, [Option<Values>; N_TENSORS]) {
        let rows = Tensor::from_inner(self.rows()).require_grad();
        let weights = self
            .weights()
            .map(|weight| Tensor::from_inner(weight).require_grad());
        let output = (self.compute)(rows.clone(), weights.clone());
        let upstream = Tensor::from_inner(Tensor::<3>::from_primitive::<Flex>(upstream));
        // The gradient of this sum is what the output got, bit for bit: a product with ones.
        let mut found = (output * upstream).sum().backward();
        let rows = rows.grad_remove(&mut found).map(numbers);
        let weights = weights.map(|weight| weight.grad_remove(&mut found).map(numbers));
        (rows, weights)
    }
}

/// Takes the numbers of a tensor that is in no graph.
fn numbers<const D: usize>(tensor: Tensor<D>) -> Values {
    let numbers = tensor.try_into_primitive::<Flex>();
    numbers.expect("the caller asked for the back end")
}

#[derive(Debug)]
struct RecomputedBackward;

impl Backward<Flex, N_PARENTS> for RecomputedBackward {
    type State = Run;

    fn backward(self, ops: Ops<Run, N_PARENTS>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let (rows, weights) = ops.state.backward(upstream);
        let found = [rows].into_iter().chain(weights);
        for (node, found) in ops.parents.iter().zip(found) {
            if let Some((node, found)) = node.as_ref().zip(found) {
                grads.register::<Flex>(node.id, found);
            }
        }
    }
}
