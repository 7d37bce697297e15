//! Transformer blocks as one node, computed by the kernels.

use std::sync::Arc;

use burn::backend::Flex;
use burn::tensor::Tensor;
use kato_kernels::{
    BlockGradients, BlockInput, BlockOptions, BlockWeights, Draw, PassKind, TransformerStack,
};

use super::divided::{DividedBlock, divided};
use super::node::{BlockRun, MAX_BLOCKS, N_TENSORS, node};
use super::tensors::{Values, contiguous, slice, tensor, values};
use super::workspace::{Kept, Lease};
use super::{Form, Pool};

/// Weights of the blocks of a node at most, where there are several: the sums of their gradients, of which the
/// kernels keep some, are to stay few beside what a batch holds.
const MAX_WEIGHTS: usize = 1 << 20;

/// What blocks run over.
pub(crate) struct BlockCall<'a> {
    pub(crate) pool: &'a Pool<TransformerStack>,
    pub(crate) options: BlockOptions,
    pub(crate) lengths: &'a [usize],
    /// The draw of dropout, and the first block's number.
    pub(crate) draw: Option<(Draw, u32)>,
}

/// Says how many blocks of so many weights go into a node: what goes from one to the next is not kept.
pub(crate) fn blocks_at_once(n_weights: usize) -> usize {
    (MAX_WEIGHTS / n_weights.max(1)).clamp(1, MAX_BLOCKS)
}

/// Computes blocks of rows `[batch, rows, width]` from their weights in the kernels' order, block behind block.
pub(crate) fn blocks(
    call: &BlockCall<'_>,
    rows: Tensor<3>,
    weights: Vec<Tensor<1>>,
    form: Form,
) -> Tensor<3> {
    let shape = rows.dims();
    let run = |rows| Run::new(call, shape, rows);
    if form == Form::Plain {
        let weights: Vec<Values> = weights.into_iter().map(values).collect();
        let output = run(values(rows)).forward(&weights, false);
        return Tensor::from_primitive::<Flex>(output);
    }
    node(rows, weights, run)
}

/// Computes a block whose weights replicas have divided.
pub(crate) fn divided_block(
    call: &BlockCall<'_>,
    rows: Tensor<3>,
    block: DividedBlock,
) -> Tensor<3> {
    let shape = rows.dims();
    divided(block, rows, |rows| Run::new(call, shape, rows))
}

/// All that the way back needs beside the weights: it computes the blocks anew, and less where their inputs are few
/// and kept.
#[derive(Debug, Clone)]
struct Run {
    /// A workspace is taken for each direction and given back at once: nodes of a stack take turns
    /// with one, and packing the weights again costs far less than a product with them.
    pool: Pool<TransformerStack>,
    options: BlockOptions,
    lengths: Vec<usize>,
    draw: Option<(Draw, u32)>,
    shape: [usize; 3],
    rows: Values,
    kept: Option<Arc<Kept>>,
}

impl BlockRun for Run {
    /// The way back packs the weights once more, in its own layout.
    fn forward(&mut self, weights: &[Values], goes_back: bool) -> Values {
        let mut output = vec![0.0; self.shape.iter().product()];
        let mut lease = self.packed(weights, PassKind::Inference);
        let (stack, input) = (lease.get(), self.input());
        let n_inputs = stack.n_inputs(&input);
        let mut kept = goes_back.then(|| self.pool.keep(n_inputs)).flatten();
        match &mut kept {
            Some(kept) => stack.forward_keeping(input, &mut output, &mut kept.values),
            None => stack.forward(input, &mut output),
        }
        .expect("the caller has checked the batch");
        self.kept = kept.map(Arc::new);
        tensor(output, self.shape)
    }

    fn backward(
        &self,
        weights: &[Values],
        upstream: Values,
    ) -> (Option<Values>, Vec<Option<Values>>) {
        let upstream = contiguous(upstream);
        // Written whole, padding too, which has no gradient.
        let mut rows = vec![0.0; self.shape.iter().product()];
        let lengths = weights.iter().map(|weight| slice(weight).len());
        let mut buffers: Vec<Vec<f32>> = lengths.map(|n| vec![0.0; n]).collect();
        let blocks = buffers.chunks_exact_mut(N_TENSORS);
        let mut blocks: Vec<_> = blocks.map(gradients).collect();
        self.packed(weights, PassKind::Training)
            .get()
            .backward(self.input(), slice(&upstream), &mut rows, &mut blocks)
            .expect("the way back of its own pass");
        let flat = |buffer: Vec<f32>| {
            let n = buffer.len();
            Some(tensor(buffer, [n]))
        };
        let weights = buffers.into_iter().map(flat).collect();
        (Some(tensor(rows, self.shape)), weights)
    }
}

impl Run {
    fn new(call: &BlockCall<'_>, shape: [usize; 3], rows: Values) -> Self {
        Self {
            pool: call.pool.clone(),
            options: call.options,
            // The graph outlives the call's borrow.
            lengths: call.lengths.to_vec(),
            draw: call.draw,
            shape,
            rows: contiguous(rows),
            kept: None,
        }
    }

    /// Takes a workspace, and packs the weights into it.
    fn packed(&self, tensors: &[Values], direction: PassKind) -> Lease<TransformerStack> {
        let blocks: Vec<_> = tensors.chunks_exact(N_TENSORS).map(weights).collect();
        let mut lease = self.pool.take(
            |stack| *stack.options() == self.options,
            || TransformerStack::new(self.options).expect("options of a stack that exists"),
        );
        lease
            .get()
            .pack(&blocks, direction)
            .expect("weights of a stack that exists");
        lease
    }

    fn input(&self) -> BlockInput<'_> {
        let [batch, n_rows, _] = self.shape;
        // Rows behind a sequence's end are not computed at all.
        let input = BlockInput::new(slice(&self.rows), batch, n_rows).with_lengths(&self.lengths);
        let input = match &self.kept {
            Some(kept) => input.with_inputs(&kept.values),
            None => input,
        };
        match self.draw {
            Some((draw, number)) => input.with_draw(draw, number),
            None => input,
        }
    }
}

/// A block's tensors as the kernels take them.
fn weights(tensors: &[Values]) -> BlockWeights<'_> {
    let tensors: &[Values; N_TENSORS] = tensors.try_into().expect("a block's tensors");
    BlockWeights::from_tensors(tensors.each_ref().map(slice))
}

/// Room for their gradients.
fn gradients(buffers: &mut [Vec<f32>]) -> BlockGradients<'_> {
    let buffers: &mut [Vec<f32>; N_TENSORS] = buffers.try_into().expect("a buffer a tensor");
    BlockGradients::from_tensors(buffers.each_mut().map(Vec::as_mut_slice))
}
