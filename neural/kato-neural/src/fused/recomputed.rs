//! A block in Burn's own operations as one node, which keeps its input alone.

use std::fmt;
use std::sync::Arc;

use burn::backend::Flex;
use burn::tensor::Tensor;

use super::divided::{DividedBlock, divided};
use super::node::{BlockRun, N_TENSORS, node};
use super::tensors::Values;

/// What a block computes from its rows and its tensors, laid flat.
type Compute = dyn Fn(Tensor<3>, [Tensor<1>; N_TENSORS]) -> Tensor<3> + Send + Sync;

/// Runs a block without a graph, and once more with one on the way back. Outputs and gradients have the bits of a
/// block that is in the graph.
pub(crate) fn recomputed(
    rows: Tensor<3>,
    weights: [Tensor<1>; N_TENSORS],
    compute: Arc<Compute>,
) -> Tensor<3> {
    node(rows, weights.into(), |rows| Run { rows, compute })
}

/// Runs a block whose weights replicas have divided: without a graph, and once more with one on the way back.
pub(crate) fn divided_recomputed(
    rows: Tensor<3>,
    compute: Arc<Compute>,
    block: DividedBlock,
) -> Tensor<3> {
    divided(block, rows, |rows| Run { rows, compute })
}

#[derive(Clone)]
struct Run {
    rows: Values,
    compute: Arc<Compute>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl BlockRun for Run {
    /// Runs by the operations that a graph has, and records none: outside of one the back end's softmax is another,
    /// whose sums differ in their last bits.
    fn forward(&mut self, weights: &[Values], _: bool) -> Values {
        let rows = Tensor::from_inner(self.rows());
        let weights = tensors(weights).map(Tensor::from_inner);
        numbers((self.compute)(rows, weights).without_autodiff())
    }

    /// Goes back through a graph of its own.
    fn backward(
        &self,
        weights: &[Values],
        upstream: Values,
    ) -> (Option<Values>, Vec<Option<Values>>) {
        let rows = Tensor::from_inner(self.rows()).require_grad();
        let weights = tensors(weights).map(|weight| Tensor::from_inner(weight).require_grad());
        let output = (self.compute)(rows.clone(), weights.clone());
        let upstream = Tensor::from_inner(Tensor::<3>::from_primitive::<Flex>(upstream));
        // The gradient of this sum is what the output got, bit for bit: a product with ones.
        let mut found = (output * upstream).sum().backward();
        let rows = rows.grad_remove(&mut found).map(numbers);
        let weights = weights.map(|weight| weight.grad_remove(&mut found).map(numbers));
        (rows, weights.into())
    }
}

impl Run {
    fn rows(&self) -> Tensor<3> {
        Tensor::from_primitive::<Flex>(self.rows.clone())
    }
}

fn tensors(weights: &[Values]) -> [Tensor<1>; N_TENSORS] {
    let weights = weights.iter();
    let weights = weights.map(|weight| Tensor::from_primitive::<Flex>(weight.clone()));
    let weights: Vec<Tensor<1>> = weights.collect();
    weights.try_into().expect("the block's tensors")
}

/// Takes the numbers of a tensor that is in no graph.
fn numbers<const D: usize>(tensor: Tensor<D>) -> Values {
    let numbers = tensor.try_into_primitive::<Flex>();
    numbers.expect("the caller asked for the back end")
}
