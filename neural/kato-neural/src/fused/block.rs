//! A transformer block as one node, which keeps its input alone.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use kato_kernels::{
    BlockGradients, BlockInput, BlockOptions, BlockWeights, Draw, Pass as Direction,
    TransformerBlock,
};

use super::divided::{BlockRun, DividedBlock, divided};
use super::tensors::{Values, contiguous, parted, slice, tensor, tracked, values};
use super::workspace::Lease;
use super::{Form, Pool};

/// Tensors of a block.
pub(super) const N_TENSORS: usize = 12;
/// The rows, and they.
pub(super) const N_PARENTS: usize = N_TENSORS + 1;

/// What a block runs over.
pub(crate) struct BlockCall<'a> {
    pub(crate) pool: &'a Pool<TransformerBlock>,
    pub(crate) options: BlockOptions,
    pub(crate) lengths: &'a [usize],
    /// The draw of dropout, and the block's number.
    pub(crate) draw: Option<(Draw, u32)>,
}

/// Computes a block of rows `[batch, rows, width]` from weights in the kernels' order.
pub(crate) fn block(
    call: &BlockCall<'_>,
    rows: Tensor<3>,
    weights: [Tensor<1>; N_TENSORS],
    form: Form,
) -> Tensor<3> {
    let shape = rows.dims();
    let run = |rows, weights| Run::new(call, shape, rows, weights);
    if form == Form::Plain {
        let run = run(values(rows), weights.map(values).into());
        return Tensor::from_primitive::<Flex>(run.forward());
    }
    let parents = [tracked(rows)].into_iter().chain(weights.map(tracked));
    let (numbers, guards) = parted(parents);
    // Laid out once; tensors that are so already are shared and not copied.
    let mut numbers = numbers.into_iter().map(contiguous);
    let rows = numbers.next().expect("the rows are first");
    let run = run(rows, numbers.collect());
    let prepared = BlockBackward.prepare::<NoCheckpointing>(guards);
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let output = run.forward();
            prepared.finish(run, output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(run.forward()),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// Computes a block whose weights replicas have divided.
pub(crate) fn divided_block(
    call: &BlockCall<'_>,
    rows: Tensor<3>,
    block: DividedBlock,
) -> Tensor<3> {
    let shape = rows.dims();
    divided(block, rows, |rows| Run::new(call, shape, rows, Vec::new()))
}

/// A block's numbers: all that its way back needs, which computes the block anew.
#[derive(Debug, Clone)]
struct Run {
    /// A workspace is taken for each direction and given back at once: blocks of a stack take turns
    /// with one, and packing the weights again costs far less than a product with them.
    pool: Pool<TransformerBlock>,
    options: BlockOptions,
    lengths: Vec<usize>,
    draw: Option<(Draw, u32)>,
    shape: [usize; 3],
    rows: Values,
    weights: Vec<Values>,
}

impl BlockRun for Run {
    fn with_weights(&self, weights: Vec<Values>) -> Self {
        Self {
            weights,
            ..self.clone()
        }
    }

    fn output(&self) -> Values {
        self.forward()
    }

    fn gradients(&self, upstream: Values) -> (Option<Values>, Vec<Values>) {
        let (rows, buffers) = self.backward(slice(&upstream));
        let flat = |buffer: Vec<f32>| {
            let n = buffer.len();
            tensor(buffer, [n])
        };
        let weights = buffers.into_iter().map(flat).collect();
        (Some(tensor(rows, self.shape)), weights)
    }
}

impl Run {
    fn new(call: &BlockCall<'_>, shape: [usize; 3], rows: Values, weights: Vec<Values>) -> Self {
        Self {
            pool: call.pool.clone(),
            options: call.options,
            // The graph outlives the call's borrow.
            lengths: call.lengths.to_vec(),
            draw: call.draw,
            shape,
            rows,
            weights,
        }
    }

    /// Runs forward. The way back packs the weights once more, in its own layout.
    fn forward(&self) -> Values {
        let mut output = vec![0.0; self.shape.iter().product()];
        self.packed(Direction::Inference)
            .get()
            .forward(self.input(), &mut output)
            .expect("the caller has checked the batch");
        tensor(output, self.shape)
    }

    /// Computes the gradients of the rows, and of the weights in their order.
    fn backward(&self, upstream: &[f32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        // Written whole, padding too, which has no gradient.
        let mut rows = vec![0.0; self.shape.iter().product()];
        let lengths = self.weights.iter().map(|weight| slice(weight).len());
        let mut buffers: Vec<Vec<f32>> = lengths.map(|n| vec![0.0; n]).collect();
        self.packed(Direction::Training)
            .get()
            .backward(
                self.input(),
                upstream,
                &mut rows,
                &mut gradients(&mut buffers),
            )
            .expect("the way back of its own pass");
        (rows, buffers)
    }

    /// Takes a workspace, and packs the weights into it.
    fn packed(&self, direction: Direction) -> Lease<TransformerBlock> {
        let mut lease = self.pool.take(
            |block| *block.options() == self.options,
            || TransformerBlock::new(self.options).expect("options of a stack that exists"),
        );
        lease
            .get()
            .pack(&weights(&self.weights), direction)
            .expect("weights of a stack that exists");
        lease
    }

    fn input(&self) -> BlockInput<'_> {
        let [batch, n_rows, _] = self.shape;
        // Rows behind a sequence's end are not computed at all.
        let input = BlockInput::new(slice(&self.rows), batch, n_rows).with_lengths(&self.lengths);
        match self.draw {
            Some((draw, number)) => input.with_draw(draw, number),
            None => input,
        }
    }
}

/// Twelve tensors as the kernels take them.
fn weights(tensors: &[Values]) -> BlockWeights<'_> {
    let at = |place: usize| slice(&tensors[place]);
    BlockWeights {
        norm_1: at(0),
        norm_1_bias: at(1),
        qkv: at(2),
        qkv_bias: at(3),
        out: at(4),
        out_bias: at(5),
        norm_2: at(6),
        norm_2_bias: at(7),
        up: at(8),
        up_bias: at(9),
        down: at(10),
        down_bias: at(11),
    }
}

/// Room for their gradients.
fn gradients(buffers: &mut [Vec<f32>]) -> BlockGradients<'_> {
    let buffers: &mut [Vec<f32>; N_TENSORS] = buffers.try_into().expect("a buffer a tensor");
    let [
        norm_1,
        norm_1_bias,
        qkv,
        qkv_bias,
        out,
        out_bias,
        norm_2,
        norm_2_bias,
        up,
        up_bias,
        down,
        down_bias,
    ] = buffers;
    BlockGradients {
        norm_1,
        norm_1_bias,
        qkv,
        qkv_bias,
        out,
        out_bias,
        norm_2,
        norm_2_bias,
        up,
        up_bias,
        down,
        down_bias,
    }
}

#[derive(Debug)]
struct BlockBackward;

impl Backward<Flex, N_PARENTS> for BlockBackward {
    type State = Run;

    fn backward(self, ops: Ops<Run, N_PARENTS>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = contiguous(grads.consume::<Flex>(&ops.node));
        let run = ops.state;
        let (rows, buffers) = run.backward(slice(&upstream));
        // The first block of a model may stand on a constant.
        if let Some(node) = &ops.parents[0] {
            grads.register::<Flex>(node.id, tensor(rows, run.shape));
        }
        for (node, buffer) in ops.parents[1..].iter().zip(buffers) {
            if let Some(node) = node {
                let n = buffer.len();
                grads.register::<Flex>(node.id, tensor(buffer, [n]));
            }
        }
    }
}
